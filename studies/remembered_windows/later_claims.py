"""Verdicts on forgetting: whether a memory finds a path that has worsened, transfer by transfer."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results

from .price import WORSE_AXES, against, last_transfers
from .transfers import AFTER, INITIAL, LIMIT, MEMORY
from .verdicts import CLASSIC, FADING, FORGETTING, Question

MEASURES = ("speed_up", "more_lost", "longer_wait_s")
"""What is told of a cell."""

TRANSFERS = (
    "Sixth transfers of 3 MB, of which the first met 20 Mbit/s and the others 5 or 2, by the "
    "report's cache with a forgetfulness of 50 % at the end of each, and of 10 % at a sample every "
    "second as well, "
)


def later_claims(later: Results | None) -> list[Claim]:
    """Judge forgetting against the report's rule, whose windows cannot fall, and against none."""
    done = None if later is None else last_transfers(later, WORSE_AXES)
    return [
        forgetting_loses_less(None if done is None else against(done, WORSE_AXES, CLASSIC)),
        forgetting_loses_no_more(None if done is None else against(done, WORSE_AXES, INITIAL)),
    ]


FINDS_THE_PATH = Question(
    statement="Where the path has worsened, a memory that forgets comes to lose fewer packets than "
    "the report's, whose windows cannot fall.",
    rule=f"{TRANSFERS}against the report's rule (0 %), seed by seed. Holds where fewer packets are "
    "lost, with the whole 95 % interval. Borne out: by both in all cells; in part: in some; "
    "otherwise not.",
    by=(MEMORY, AFTER, LIMIT),
    measures=MEASURES,
    otherwise="; elsewhere it is not sure",
)

LOSES_NO_MORE = Question(
    statement="After five transfers over the worsened path a memory that forgets loses no more "
    "packets than none.",
    rule=f"{TRANSFERS}against an initial window of ten, seed by seed. Holds where the 95 % "
    "interval of how many more are lost is not wholly above 0. Borne out: by both in all cells; in "
    "part: in some; otherwise not. Told as well: speed-up, and how much longer packets wait in the "
    "first second after the call.",
    by=(MEMORY, AFTER, LIMIT),
    measures=MEASURES,
    otherwise="; elsewhere more are lost",
)


def forgetting_loses_less(by_classic: pl.DataFrame | None) -> Claim:
    """Judge whether forgetting helps at all."""
    if by_classic is None:
        return FINDS_THE_PATH.undecided()
    cells = _forgetful(by_classic)
    return FINDS_THE_PATH.answered(cells, cells["more_lost_high"] < 0, cells)


def forgetting_loses_no_more(priced: pl.DataFrame | None) -> Claim:
    """Judge whether it helps so far that no losses are left to be told from those of none."""
    if priced is None:
        return LOSES_NO_MORE.undecided()
    cells = _forgetful(priced)
    others = priced.filter(pl.col(MEMORY) != INITIAL)
    return LOSES_NO_MORE.answered(cells, cells["more_lost_low"] <= 0, others)


def _forgetful(compared: pl.DataFrame) -> pl.DataFrame:
    return compared.filter(pl.col(MEMORY).is_in([FORGETTING, FADING]))
