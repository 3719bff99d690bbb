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
    in_short : str
        In one sentence what holds and what does not; needed where the verdict is in part.

    Raises
    ------
    ValueError
        If a verdict in part does not say which part.
    """

    statement: str
    rule: str
    verdict: Verdict
    evidence: str
    details: pl.DataFrame
    in_short: str = ""

    def __post_init__(self) -> None:
        """Refuse a verdict in part that does not say which."""
        if self.verdict is Verdict.BORNE_OUT_IN_PART and not self.in_short:
            raise ValueError(f"borne out in part, but in which? {self.statement}")

    @property
    def which_part(self) -> str:
        """In one sentence what of it holds and what does not; nothing of whole verdicts."""
        return self.in_short if self.verdict is Verdict.BORNE_OUT_IN_PART else ""
