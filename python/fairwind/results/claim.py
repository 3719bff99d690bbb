"""A statement judged by results."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import polars as pl


class Verdict(StrEnum):
    """What our results say about a claim."""

    BORNE_OUT = "borne out"
    BORNE_OUT_IN_PART = "borne out in part"
    NOT_BORNE_OUT = "not borne out"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Claim:
    """A statement of the source, judged by our results.

    Attributes
    ----------
    statement : str
        What the source says, in our words.
    rule : str
        How the verdict was reached, so that a reader can disagree with it.
    verdict : Verdict
    evidence : str
        The decisive numbers with their intervals.
    details : DataFrame
        All numbers behind it.
    """

    statement: str
    rule: str
    verdict: Verdict
    evidence: str
    details: pl.DataFrame
