"""Tables of the page over the whole grid.

    python -m fairwind_studies.congestion_control_evaluation.in_counts DIR

First what identical flows get, by bandwidth; then, for each fault, in how many cells a congestion
control is worse and better than standard TCP, by queue and over all, and where it is worst. Parts
that were not run are left out.
"""

import sys

import polars as pl

import fairwind

from .baseline import FAIRNESS, Fault, Worse
from .claims import comparisons
from .fault_claims import place_in_words
from .further_claims import further_comparisons
from .measures import BANDWIDTH, CONTROL, LIMIT, NUMBER, controls, shares


def main(folder: str) -> None:
    """Print all tables."""
    results = fairwind.open(folder)
    alike = shares(results)
    compared = comparisons(results) | further_comparisons(results)
    names = controls(alike)
    _head("identical flows", names)
    for measure in ("fairness", "efficiency"):
        _rows(f"mean {measure}", alike, names, BANDWIDTH, pl.col(measure).mean(), ".2f")
    for side in ("worse", "better"):
        _rows(f"cells {side}", compared[FAIRNESS], names, BANDWIDTH, _count(side), "d")
    for fault, found in compared.items():
        _fault(fault, found, names)


def _fault(fault: Fault, found: pl.DataFrame, names: list[str]) -> None:
    print()
    _head(f"{fault.name}, than {fault.than}", names)
    for side in ("worse", "better"):
        _rows(side, found, names, _rows_by(found), _count(side), "d")
    for label, number in (
        ("worse in all", _count("worse")),
        ("better in all", _count("better")),
        ("cells", pl.len()),
    ):
        totals = [_number(found, name, number, "d") for name in names]
        print(f"| {label} |", " | ".join(totals), "|")
    worst = [_worst(fault, found.filter(pl.col(CONTROL) == name)) for name in names]
    print("| worst |", " | ".join(worst), "|")


def _rows_by(found: pl.DataFrame) -> str:
    """Choose the axis of the rows: the number of flows, or the queue, if several were run."""
    several = (
        name for name in (NUMBER, LIMIT) if name in found.columns and found[name].n_unique() > 1
    )
    return next(several, BANDWIDTH)


def _head(title: str, names: list[str]) -> None:
    print(f"| {title} |", " | ".join(names), "|")
    print("|---|" + "---:|" * len(names))


def _count(side: str) -> pl.Expr:
    return pl.col(f"is_{side}").sum()


def _rows(
    label: str, frame: pl.DataFrame, names: list[str], column: str, number: pl.Expr, form: str
) -> None:
    """Print a number of every congestion control, a row for each level of an axis."""
    for level in frame[column].unique(maintain_order=True):
        own = frame.filter(pl.col(column) == level)
        numbers = [_number(own, name, number, form) for name in names]
        print(f"| {label} at {level} |", " | ".join(numbers), "|")


def _number(frame: pl.DataFrame, control: str, number: pl.Expr, form: str) -> str:
    own = frame.filter(pl.col(CONTROL) == control)
    return format(own.select(number).item(), form) if own.height else "-"


def _worst(fault: Fault, own: pl.DataFrame) -> str:
    """Name the worse cell with the largest difference."""
    faulty = own.filter("is_worse").sort("difference", descending=fault.worse is Worse.MORE)
    if faulty.is_empty():
        return "-"
    row = faulty.row(0, named=True)
    than = row["bound"] if "bound" in row else row["mean_standard"]
    return f"{row['mean']:.2f} by {than:.2f} at {place_in_words(row)}"


if __name__ == "__main__":
    main(*sys.argv[1:2])
