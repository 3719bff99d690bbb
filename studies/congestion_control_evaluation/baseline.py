"""Congestion controls against standard TCP, cell by cell, with the same seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import polars as pl

from fairwind.results import Verdict
from fairwind.statistics import mean_interval, paired_difference

from .measures import ALL_PLACES, CONTROL, STANDARD


class Worse(Enum):
    """Direction in which a measure is worse."""

    LESS = -1
    MORE = 1


@dataclass(frozen=True)
class Fault:
    """Something that a congestion control may do worse than standard TCP, or than a bound.

    Attributes
    ----------
    name : str
        What the measure is called in a sentence.
    statement : str
        That a congestion control, ``{}``, has the fault.
    measured : str
        What is measured, for the rule.
    measure : str
        The column that it is seen in.
    margin : float
        An interval counts if it lies beyond this, in the unit of the measure.
    unit : str
        Of the measure, for sentences.
    than : str
        What it is compared with, for sentences.
    compared : str
        The same for the rule.
    """

    name: str
    statement: str
    measured: str
    measure: str
    worse: Worse
    margin: float
    unit: str = ""
    than: str = "standard TCP"
    compared: str = "standard TCP in every cell, paired by seed"


FAIRNESS = Fault(
    "Fairness",
    "{} shares unfairly even where paths and congestion controls are the same.",
    "Smaller goodput by larger",
    "fairness",
    Worse.LESS,
    0.1,
)
"""The smaller share by the larger is less by more than 0.1."""

JOINED_FAIRNESS = Fault(
    "Fairness after joining",
    "{} shares unfairly even where paths and congestion controls are the same, and the second "
    "flow starts when the first one fills the path.",
    "Smaller goodput by larger in the last half of the time that the second flow was watched",
    "settled_fairness",
    Worse.LESS,
    0.1,
)
"""The same in the last half of the run, where the second flow has joined a first one."""

RTT_UNFAIRNESS = Fault(
    "Advantage of the shorter round trip in powers of ten",
    "{} favours short round trips more than standard TCP does.",
    "Goodput of the flow with the shorter round trip by that of the longer, as a power of ten, "
    "at most 3",
    "advantage_decades",
    Worse.MORE,
    0.1,
)
"""The shorter round trip has more of an advantage, by more than a tenth of a power of ten."""

BEYOND_BOUND = replace(
    RTT_UNFAIRNESS,
    statement="{} favours short round trips by more than (RTT2/RTT1)^2.",
    than="(RTT2/RTT1)^2",
    compared="what rates as 1/RTT^2 give in every cell, which is the source's bound",
)
"""The shorter round trip has more of an advantage than rates as 1/RTT^2 give it."""

CONVERGENCE = Fault(
    "Time to converge",
    "{} converges slowly after a flow has joined: it waits long for its share.",
    "Time until a window of a second gives the second flow 80 % of its fair share, at most as "
    "long as it was watched; slow start alone may do that",
    "convergence_capped_s",
    Worse.MORE,
    1.0,
    " s",
)
"""A flow that joins needs longer, by more than a window."""

EVENNESS = Fault(
    "Time until shares are even",
    "{} converges slowly after a flow has joined: both are long until they share evenly.",
    "Time until in a window of a second both flows have the same but for 10 % of what both "
    "have, at most as long as they were watched",
    "delta_fair_capped_s",
    Worse.MORE,
    1.0,
    " s",
)
"""Both take longer until they share evenly but for 10 %, by more than a window."""

MOST_RATIO = 0.5
"""A fault holds if it is seen in more than this part of the cells."""

SOME_RATIO = 0.1
"""A fault holds for some in more than this part, of which chance makes a quarter; where more than
this part may still be worse, it is not excluded."""


def against_standard(frame: pl.DataFrame, fault: Fault) -> pl.DataFrame:
    """Compare every congestion control with standard TCP in every cell.

    Returns
    -------
    DataFrame
        `CONTROL`, the columns of `ALL_PLACES` that the frame has, ``measure``, ``mean_standard``,
        ``mean``, ``difference`` with ``low`` and ``high`` (95 % interval over pairs of runs with
        one seed), ``pairs``, ``is_worse`` and ``is_better``: the whole interval lies on that side
        of zero, beyond the margin; ``may_be_worse``: it reaches beyond the margin.
    """
    places = [name for name in ALL_PLACES if name in frame.columns]
    rows = []
    for key, cell in frame.group_by(places, maintain_order=True):
        standard = cell.filter(pl.col(CONTROL) == STANDARD).select("seed", fault.measure)
        for (control,), own in cell.group_by([CONTROL], maintain_order=True):
            if control == STANDARD:
                continue
            pairs = standard.join(own, on="seed", suffix="_own").sort("seed")
            found = paired_difference(
                pairs[fault.measure].to_numpy(), pairs[f"{fault.measure}_own"].to_numpy()
            )
            rows.append(
                {CONTROL: control}
                | dict(zip(places, key, strict=True))
                | {
                    "measure": fault.measure,
                    "mean_standard": found.mean_a,
                    "mean": found.mean_b,
                    "difference": found.estimate,
                    "low": found.low,
                    "high": found.high,
                    "pairs": found.samples_a,
                    **_sides(fault, found.low, found.high),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def against_bound(frame: pl.DataFrame, fault: Fault, bound: str) -> pl.DataFrame:
    """Compare every congestion control, standard TCP too, with a bound in every cell.

    Parameters
    ----------
    bound : str
        The column of the bound, which is the same for all runs of a cell.

    Returns
    -------
    DataFrame
        As `against_standard`, with ``bound`` in the place of ``mean_standard``, and the 95 %
        interval over runs.
    """
    places = [name for name in ALL_PLACES if name in frame.columns]
    rows = []
    for key, own in frame.group_by([CONTROL, *places], maintain_order=True):
        limit = float(own[bound][0])
        found = mean_interval(own[fault.measure].to_numpy() - limit)
        rows.append(
            dict(zip((CONTROL, *places), key, strict=True))
            | {
                "measure": fault.measure,
                "bound": limit,
                "mean": found.estimate + limit,
                "difference": found.estimate,
                "low": found.low,
                "high": found.high,
                "pairs": found.samples,
                **_sides(fault, found.low, found.high),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _sides(fault: Fault, low: float, high: float) -> dict[str, bool]:
    """Say on which side the interval lies beyond the margin as a whole, and whether in part."""
    bad = fault.worse.value
    return {
        "may_be_worse": max(bad * low, bad * high) > fault.margin,
        "is_worse": min(bad * low, bad * high) > fault.margin,
        "is_better": max(bad * low, bad * high) < -fault.margin,
    }


def verdict_of_fault(own: pl.DataFrame) -> Verdict:
    """Judge that a congestion control has a fault, by the cells that are worse and better.

    Parameters
    ----------
    own : DataFrame
        Its rows of `against_standard`.

    Returns
    -------
    Verdict
        Holds: worse in more than `MOST_RATIO` of the cells, better in `SOME_RATIO` at most; for
        some: worse in more than `SOME_RATIO`, and in more cells than it is better. Fails: it may be
        worse in `SOME_RATIO` at most, or is better in more, and in as many as it may be worse in;
        else undecided.
    """
    known = own.filter(pl.col("low").is_not_nan() & pl.col("low").is_not_null())
    if known.is_empty():
        return Verdict.UNDECIDED
    worse, better, open_or_worse = (
        known[side].sum() / known.height for side in ("is_worse", "is_better", "may_be_worse")
    )
    if worse > MOST_RATIO and better <= SOME_RATIO:
        return Verdict.HOLDS
    if worse > SOME_RATIO and worse > better:
        return Verdict.HOLDS_FOR_SOME
    if better > SOME_RATIO and better >= open_or_worse:
        return Verdict.FAILS
    return Verdict.UNDECIDED if open_or_worse > SOME_RATIO else Verdict.FAILS


def verdict_of_innocence(compared: list[pl.DataFrame]) -> Verdict:
    """Judge that a congestion control has none of several faults, wherever else it is better."""
    is_better = pl.lit(value=False).alias("is_better")
    verdicts = {verdict_of_fault(own.with_columns(is_better)) for own in compared}
    if Verdict.HOLDS in verdicts:
        return Verdict.FAILS
    if Verdict.HOLDS_FOR_SOME in verdicts:
        return Verdict.HOLDS_FOR_SOME
    return Verdict.UNDECIDED if Verdict.UNDECIDED in verdicts else Verdict.HOLDS
