"""Questions of a study, and claims: statements judged by results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import NamedTuple

import polars as pl

from fairwind.html import block, line


class Verdict(StrEnum):
    """Verdict of results on a claim."""

    BORNE_OUT = "borne out"
    BORNE_OUT_IN_PART = "borne out in part"
    NOT_BORNE_OUT = "not borne out"
    UNDECIDED = "undecided"

    @classmethod
    def of(cls, *, whole: int, part: int = False, refuted: int = True) -> Verdict:
        """Judge by three findings, of which the first that is true decides.

        Parameters
        ----------
        whole : bool or int
            All of the statement holds: borne out.
        part : bool or int
            Some of it holds: borne out in part.
        refuted : bool or int
            It is contradicted: not borne out; else undecided.
        """
        if whole:
            return cls.BORNE_OUT
        if part:
            return cls.BORNE_OUT_IN_PART
        return cls.NOT_BORNE_OUT if refuted else cls.UNDECIDED

    @classmethod
    def of_cells(cls, holds: pl.Series, fails: pl.Series | None = None) -> Verdict:
        """Judge by cells: it holds in all, in some, in none; undecided if it fails in none."""
        refuted = True if fails is None else bool(fails.any())
        return cls.of(whole=bool(holds.all()), part=bool(holds.any()), refuted=refuted)


@dataclass(frozen=True)
class Claim:
    """A statement of the source, judged by our results.

    Attributes
    ----------
    statement : str
        What the source says, in our words.
    rule : str
        How the verdict was reached, so that a reader can disagree with it.
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
            raise ValueError(f"a claim that is borne out in part needs in_short: {self.statement}")

    @property
    def which_part(self) -> str:
        """In one sentence what of it holds and what does not; nothing of whole verdicts."""
        return self.in_short if self.verdict is Verdict.BORNE_OUT_IN_PART else ""

    def _repr_html_(self) -> str:
        """Show verdict, evidence and rule in a notebook."""
        verdict = f"{self.verdict}: {self.which_part}" if self.which_part else str(self.verdict)
        return block(self.statement, line(verdict), line(self.evidence), line(f"Rule: {self.rule}"))


NOT_RUN = "This part of the study was not run."


class StudyAnswer(NamedTuple):
    """An answer to a question; the attributes are those of a `Claim`."""

    verdict: Verdict
    evidence: str
    details: pl.DataFrame
    in_short: str = ""


@dataclass(frozen=True)
class Question:
    """A statement, and the rule that decides whether results bear it out.

    As a decorator it makes a function that gives a `StudyAnswer` give a `Claim`. The claim is
    undecided if an argument is None, because a part of the study was not run, or if the answer is
    None.

    Attributes
    ----------
    statement, rule : str
        As of the `Claim` that answers it.
    """

    statement: str
    rule: str

    def __call__(self, answer: Callable[..., StudyAnswer | None]) -> Callable[..., Claim]:
        """Decorate a function from results to an answer."""

        @wraps(answer)
        def judge(*results: object) -> Claim:
            if any(one is None for one in results):
                return self.not_run()
            found = answer(*results)
            return self.not_run() if found is None else self.answered(*found)

        return judge

    def not_run(self) -> Claim:
        """Answer: undecided, because the part of the study was not run."""
        return self.answered(Verdict.UNDECIDED, NOT_RUN, pl.DataFrame())

    def answered(
        self, verdict: Verdict, evidence: str, details: pl.DataFrame, in_short: str = ""
    ) -> Claim:
        """Answer by results; the parameters are those of a `Claim`."""
        return Claim(self.statement, self.rule, verdict, evidence, details, in_short)
