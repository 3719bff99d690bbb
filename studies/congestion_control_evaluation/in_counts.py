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
from .measures import BANDWIDTH, CONTROL, LIMIT, PLACE, controls, shares


def main(folder: str) -> None:
    """Print all tables."""
    results = fairwind.open(folder)
    alike, compared = shares(results), comparisons(results)
    names = controls(alike)
    _head("identical flows", names)
    for measure in ("fairness", "efficiency"):
        means = [_by(alike, name, BANDWIDTH, pl.col(measure).mean(), ".2f") for name in names]
        print(f"| mean {measure} at {_levels(alike, BANDWIDTH)} |", " | ".join(means), "|")
    for side in ("worse", "better"):
        counts = [_by(compared[FAIRNESS], name, BANDWIDTH, _count(side), "d") for name in names]
        print(f"| cells {side} at {_levels(alike, BANDWIDTH)} |", " | ".join(counts), "|")
    for fault, found in compared.items():
        _fault(fault, found, names)


def _fault(fault: Fault, found: pl.DataFrame, names: list[str]) -> None:
    print()
    _head(f"{fault.name}, than {fault.than}", names)
    column = LIMIT if LIMIT in found.columns else BANDWIDTH
    for side in ("worse", "better"):
        counts = [_by(found, name, column, _count(side), "d") for name in names]
        print(f"| {side} at {_levels(found, column)} |", " | ".join(counts), "|")
    totals = [_total(found.filter(pl.col(CONTROL) == name)) for name in names]
    print("| worse / better / all |", " | ".join(totals), "|")
    worst = [_worst(fault, found.filter(pl.col(CONTROL) == name)) for name in names]
    print("| worst |", " | ".join(worst), "|")


def _head(title: str, names: list[str]) -> None:
    print(f"| {title} |", " | ".join(names), "|")
    print("|---|" + "---:|" * len(names))


def _levels(frame: pl.DataFrame, column: str) -> str:
    return " / ".join(str(it) for it in frame[column].unique(maintain_order=True))


def _count(side: str) -> pl.Expr:
    return pl.col(f"is_{side}").sum()


def _by(frame: pl.DataFrame, control: str, column: str, number: pl.Expr, form: str) -> str:
    """Tell a number of a congestion control for each level of an axis."""
    own = frame.filter(pl.col(CONTROL) == control)
    found = own.group_by(column, maintain_order=True).agg(number.alias("number"))
    return " / ".join(format(value, form) for value in found["number"]) or "-"


def _total(own: pl.DataFrame) -> str:
    if own.is_empty():
        return "-"
    return f"{own['is_worse'].sum()} / {own['is_better'].sum()} / {own.height}"


def _worst(fault: Fault, own: pl.DataFrame) -> str:
    """Tell the cell with the largest difference of those that are worse."""
    faulty = own.filter("is_worse").sort("difference", descending=fault.worse is Worse.MORE)
    if faulty.is_empty():
        return "-"
    row = faulty.row(0, named=True)
    than = row["bound"] if "bound" in row else row["mean_standard"]
    place = ", ".join(str(row[name]) for name in PLACE if name in row)
    return f"{row['mean']:.2f} by {than:.2f} at {place} ms"


if __name__ == "__main__":
    main(*sys.argv[1:2])
