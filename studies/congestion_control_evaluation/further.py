"""More than two flows, flows that stop, and other traffic beside two flows, run by run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from fairwind.results import Results
from fairwind.statistics import convergence_time, efficiency, jain_index, min_to_max

from .measures import (
    ALL_PLACES,
    BANDWIDTH,
    CONTROL,
    NUMBER,
    PLACE,
    WINDOW_S,
    part_of,
    payload_capacity,
    shares,
    with_places,
)

CROSS, BACK = "cross", "back-responses"
"""Groups of the traffic beside two flows: the same way, and the other way."""


def among_many(results: Results) -> pl.DataFrame:
    """Give how evenly all flows of a run share.

    Returns
    -------
    DataFrame
        `CONTROL`, `NUMBER` (of flows, as a number), the columns of `PLACE`, ``seed``, ``fairness``
        (the smallest goodput by the largest), ``jain_index`` and ``efficiency`` (of what the path
        carries of payload).
    """
    flows = with_places(results.flows)
    keys = [CONTROL, *ALL_PLACES, "seed"]
    rows = []
    for key, own in flows.group_by(keys, maintain_order=True):
        place = dict(zip(keys, key, strict=True))
        rates = own["goodput_bits_per_second"].to_list()
        rows.append(
            place
            | {
                NUMBER: int(place[NUMBER]),
                "fairness": min_to_max(rates),
                "jain_index": jain_index(rates),
                "efficiency": efficiency(rates, payload_capacity(place[BANDWIDTH])),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def leaving(results: Results) -> pl.DataFrame:
    """Give how long the first flow takes to use what the second one leaves.

    Parameters
    ----------
    results : Results
        With windows of a second, measured from when the second flow stops.

    Returns
    -------
    DataFrame
        `CONTROL`, the columns of `PLACE`, ``seed``, ``taken_s`` (until the first flow has 80 % of
        what the path carries of payload; infinite if it never has), ``observed_s`` (how long it was
        watched), ``taken_capped_s`` (with ``observed_s`` in the place of infinity) and
        ``efficiency`` (of the first flow in that time).
    """
    windows = with_places(results.intervals.filter(pl.col("interval_s") == WINDOW_S))
    first = windows.filter(pl.col("group") == "first").sort("start_s")
    keys = [CONTROL, *PLACE, "seed"]
    rows = []
    for key, run in first.group_by(keys, maintain_order=True):
        place = dict(zip(keys, key, strict=True))
        rates = run["goodput_bits_per_second"].to_numpy()
        since = run["start_s"].to_numpy() - run["start_s"][0]
        capacity = payload_capacity(place[BANDWIDTH])
        observed = float(since[-1]) + WINDOW_S
        taken = convergence_time(since, rates, WINDOW_S, capacity)
        rows.append(
            place
            | {
                "taken_s": taken,
                "observed_s": observed,
                "taken_capped_s": min(taken, observed),
                "efficiency": efficiency((float(rates.mean()),), capacity),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def beside(results: Results, group: str) -> pl.DataFrame:
    """Give the shares of two flows, as `shares` does, and what the traffic beside them has.

    Parameters
    ----------
    group : str
        `CROSS` or `BACK`.

    Returns
    -------
    DataFrame
        The columns of `shares`, and ``other_ratio``: goodput of the other traffic by what the path
        carries of payload in its direction. ``efficiency`` is that of the two flows.
    """
    keys = [CONTROL, *PLACE, "seed"]
    other = with_places(results.groups.filter(pl.col("group") == group))
    capacities = {name: payload_capacity(name) for name in other[BANDWIDTH].unique()}
    capacity = pl.col(BANDWIDTH).replace_strict(capacities)
    ratios = other.select(
        *keys, (pl.col("goodput_bits_per_second") / capacity).alias("other_ratio")
    )
    return shares(results).join(ratios, on=keys, how="left", maintain_order="left")


READERS: Mapping[str, Callable[[Results], pl.DataFrame]] = {
    "many": among_many,
    "cross": lambda results: beside(results, CROSS),
    "reverse": lambda results: beside(results, BACK),
    "leaving": leaving,
}
"""The parts beyond two flows alone, and what reads each."""


def further_part(results: Results, name: str) -> pl.DataFrame | None:
    """Read one of these parts of the study; None where it has not been run."""
    return part_of(results, name, READERS[name])
