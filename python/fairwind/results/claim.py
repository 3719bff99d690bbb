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
    """Grade of a claim; those for some need a sentence that says for which."""

    HOLDS = "holds"
    HOLDS_FOR_SOME = "holds for some"
    FAILS_FOR_SOME = "fails for some"
    FAILS = "fails"
    UNDECIDED = "undecided"

    @property
    def is_for_some(self) -> bool:
        """Whether the grade is one of some cells only."""
        return self in (Verdict.HOLDS_FOR_SOME, Verdict.FAILS_FOR_SOME)

    @classmethod
    def of(cls, *, whole: int, part: int = False, refuted: int = True) -> Verdict:
        """Judge by three findings, of which the first that is true decides.

        Parameters
        ----------
        whole : bool or int
            All of the statement holds.
        part : bool or int
            Some of it holds.
        refuted : bool or int
            It is contradicted: fails; else undecided.
        """
        if whole:
            return cls.HOLDS
        if part:
            return cls.HOLDS_FOR_SOME
        return cls.FAILS if refuted else cls.UNDECIDED

    @classmethod
    def of_cells(cls, holds: pl.Series, fails: pl.Series | None = None) -> Verdict:
        """Judge by cells.

        Parameters
        ----------
        holds, fails : Series of bool
            For each cell; those that do neither are undecided. Without ``fails``, all cells that
            do not hold fail.

        Returns
        -------
        Verdict
            ``HOLDS`` in all cells, ``HOLDS_FOR_SOME`` in some; else ``FAILS`` in all,
            ``FAILS_FOR_SOME`` in some; else ``UNDECIDED``, also of no cells.
        """
        failed = ~holds if fails is None else fails
        if holds.len() and holds.all():
            return cls.HOLDS
        if holds.any():
            return cls.HOLDS_FOR_SOME
        if failed.len() and failed.all():
            return cls.FAILS
        return cls.FAILS_FOR_SOME if failed.any() else cls.UNDECIDED


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
        In one sentence what holds and what does not; needed of a grade for some.

    Raises
    ------
    ValueError
        If a grade for some does not say for which.
    """

    statement: str
    rule: str
    verdict: Verdict
    evidence: str
    details: pl.DataFrame
    in_short: str = ""

    def __post_init__(self) -> None:
        """Refuse a grade for some that does not say for which."""
        if self.verdict.is_for_some and not self.in_short:
            raise ValueError(f"a claim that {self.verdict} needs in_short: {self.statement}")

    @property
    def which_part(self) -> str:
        """In one sentence what of it holds and what does not; nothing of whole verdicts."""
        return self.in_short if self.verdict.is_for_some else ""

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
    """A statement, and the rule by which results are judged.

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
