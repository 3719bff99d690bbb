r"""Table of the page, by round trip.

    python -m fairwind_studies.congestion_control_evaluation.in_short \
        DIR BANDWIDTH QUEUE [ROUND TRIPS]

Such as "250 Mbit/s", "20 % bdp" and "42 162 324". It prints a line per measure and round trip,
and a column for each congestion control: means over seeds, geometric ones for ratios of rates.
Parts that were not run are left out.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

import fairwind
from fairwind.results import Results

from .further import further_part
from .measures import (
    BANDWIDTH,
    CONTROL,
    LIMIT,
    NUMBER,
    RTT,
    STARVED_RATIO,
    controls,
    harms,
    joining,
    part_of,
    shares,
)

Mean = Callable[[np.ndarray], float]


def arithmetic(values: np.ndarray) -> float:
    """Give the mean of a measure."""
    return float(values.mean())


def geometric(values: np.ndarray) -> float:
    """Give the mean of ratios, limited to the ratio that counts as starved."""
    return float(10 ** np.log10(np.clip(values, 1 / STARVED_RATIO, STARVED_RATIO)).mean())


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes
    ----------
    frame : DataFrame or None
        Run by run; None where the part was not run.
    form : str
        Of its numbers.
    """

    title: str
    frame: pl.DataFrame | None
    measure: str
    form: str = ".2f"
    mean: Mean = arithmetic


def lines(results: Results) -> list[Line]:
    """Give all lines of the table."""
    alike, joined = shares(results), part_of(results, "convergence", joining)
    beside = part_of(results, "friendliness", shares)
    apart = part_of(results, "rtt-unfairness", shares)
    harmed = harms(results)
    suffering = [] if harmed is None else harmed.partition_by("suffers", maintain_order=True)
    return [
        Line("fairness, start together", alike, "fairness"),
        Line("fairness after joining, last half", joined, "settled_fairness"),
        Line("seconds to 80 % of the share", joined, "convergence_capped_s", ".0f"),
        Line("seconds until even but for 10 %", joined, "delta_fair_capped_s", ".0f"),
        Line("goodput by standard TCP's beside it", beside, "friendliness", ".2g", geometric),
        *(Line(f"harm to standard TCP: {own['suffers'][0]}", own, "harm") for own in suffering),
        Line("advantage over a flow of 162 ms", apart, "advantage", ".2g", geometric),
        Line("efficiency, start together", alike, "efficiency"),
        *_beyond_two_flows(results),
    ]


def _beyond_two_flows(results: Results) -> list[Line]:
    """Give the lines of more flows, of flows that stop, and of other traffic."""
    many = further_part(results, "many")
    numbers = [] if many is None else many.partition_by(NUMBER, maintain_order=True)
    crossed, reversed_too = (further_part(results, name) for name in ("cross", "reverse"))
    return [
        *(Line(f"fairness of {own[NUMBER][0]} flows", own, "fairness") for own in numbers),
        Line(
            "seconds to use what a flow leaves",
            further_part(results, "leaving"),
            "taken_capped_s",
            ".0f",
        ),
        Line("fairness beside cross traffic", crossed, "fairness"),
        Line("share of cross traffic", crossed, "other_ratio"),
        Line("fairness beside traffic the other way", reversed_too, "fairness"),
        Line("efficiency beside traffic the other way", reversed_too, "efficiency"),
        Line("share of the way back", reversed_too, "other_ratio"),
    ]


def main(folder: str, bandwidth: str, limit: str, chosen: str = "") -> None:
    """Print the table of one bandwidth and queue, of all round trips or some."""
    results = fairwind.open(folder)
    names = controls(shares(results))
    print(f"| {bandwidth}, queue {limit} | round trip / ms |", " | ".join(names), "|")
    print("|---|---|" + "---:|" * len(names))
    for line in lines(results):
        if line.frame is None:
            continue
        there = {BANDWIDTH: bandwidth, LIMIT: limit}
        own = line.frame.filter(
            pl.all_horizontal(
                pl.col(name) == value for name, value in there.items() if name in line.frame.columns
            )
        )
        trips = [
            trip for trip in own[RTT].unique().sort() if not chosen or str(trip) in chosen.split()
        ]
        for trip in trips:
            numbers = (_mean_of(own, line, name, trip) for name in names)
            print(f"| {line.title} | {trip} |", " | ".join(numbers), "|")


def _mean_of(own: pl.DataFrame, line: Line, control: str, trip: int) -> str:
    runs = own.filter((pl.col(CONTROL) == control) & (pl.col(RTT) == trip))
    values = runs[line.measure].drop_nulls().to_numpy()
    return format(line.mean(values), line.form) if values.size else "-"


if __name__ == "__main__":
    main(*sys.argv[1:5])
