"""Questions of a study, whose answers are claims with a verdict."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fairwind.results import Claim, Verdict

NOT_RUN = "This part of the study was not run."


@dataclass(frozen=True)
class Question:
    """A statement, and the rule that decides whether results bear it out.

    Attributes
    ----------
    statement, rule : str
        As of the `Claim` that answers it.
    """

    statement: str
    rule: str

    def not_run(self) -> Claim:
        """Answer: undecided, because the part of the study was not run."""
        return self.answered(Verdict.UNDECIDED, NOT_RUN, pl.DataFrame())

    def answered(
        self, verdict: Verdict, evidence: str, details: pl.DataFrame, in_short: str = ""
    ) -> Claim:
        """Answer by results; the parameters are those of a `Claim`."""
        return Claim(self.statement, self.rule, verdict, evidence, details, in_short)
