"""Verdicts on what a remembered window takes from a greedy flow."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from fairwind.results import Claim, Results

from .price import GREEDY_AXES, against, second_transfers
from .transfers import AFTER, INITIAL, LIMIT, MEMORY, PRESENCE
from .verdicts import CLASSIC, Question

SINCE, BEFORE = "has come since", "was there before"
"""When the greedy flow came: after the first transfer, or before it."""


def greedy_claims(greedy: Results | None) -> list[Claim]:
    """Judge what it takes from one that has come since, and from one that was there before."""
    beside = None if greedy is None else against(
        second_transfers(greedy, GREEDY_AXES, "greedy"), GREEDY_AXES
    )  # fmt: skip
    return [harms_greedy_flows(beside), harms_those_before(beside)]


TAKES_FROM_GREEDY = Question(
    statement="A greedy flow that has come since loses goodput to a remembered window in the first "
    "second.",
    rule="Second transfers of 3 MB beside a greedy flow, by the report's cache, against an initial "
    "window of ten, seed by seed; harm is what the flow loses of its goodput. Holds where it is "
    "above 0 with its whole 95 % interval in the second after the call. Borne out: in all cells; "
    "in part: in some; otherwise not. Told as well: that from before the call to the end of the "
    "run.",
    by=(AFTER, LIMIT),
    measures=("speed_up", "greedy_first_harm", "greedy_harm", "greedy_more_lost"),
    otherwise="; elsewhere it is not sure",
)

TAKES_FROM_ONE_BEFORE = replace(
    TAKES_FROM_GREEDY,
    statement="A greedy flow that was there before the first transfer loses goodput in the first "
    "second, too, though what is remembered is a share of the path.",
    rule=f"The first transfer was beside the flow, too. {TAKES_FROM_GREEDY.rule}",
)


def harms_greedy_flows(priced: pl.DataFrame | None) -> Claim:
    """Judge what a remembered window takes from a greedy flow that has come since."""
    return _judged(TAKES_FROM_GREEDY, priced, SINCE)


def harms_those_before(priced: pl.DataFrame | None) -> Claim:
    """Judge what a window that was found beside a greedy flow takes from it."""
    return _judged(TAKES_FROM_ONE_BEFORE, priced, BEFORE)


def _judged(question: Question, priced: pl.DataFrame | None, presence: str) -> Claim:
    if priced is None:
        return question.undecided()
    beside = priced.filter((pl.col(PRESENCE) == presence) & (pl.col(MEMORY) != INITIAL))
    cells = beside.filter(pl.col(MEMORY) == CLASSIC)
    return question.answered(cells, cells["greedy_first_harm_low"] > 0, beside)
