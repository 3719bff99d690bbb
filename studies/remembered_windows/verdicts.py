"""What the verdicts on all parts have in common: judged by cells, told in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fairwind.results import Claim, Verdict

from .transfers import MEMORY

NOT_RUN = "This part of the study was not run."

CLASSIC, SAFE, CAREFUL, SHARED = "classic", "classic, safe", "careful resume", "rfc9040"

FORGETTING, FADING = "classic, forgetting", "classic, fading"
"""By half at every transfer's end, and by a tenth in every second of one, too."""

FORMS = {
    "more_lost": ("{} packets lost", "+.0f"),
    "thin_harm": ("harm to thin streams {}", "+.0%"),
    "thin_more_lost": ("{} of theirs lost", "+.1f"),
    "longer_wait_s": ("{} s of waiting", "+.3f"),
    "greedy_first_harm": ("harm to the greedy flow in the first second {}", "+.0%"),
    "greedy_harm": ("in the whole {}", "+.0%"),
    "greedy_more_lost": ("{} of its packets lost in the first second", "+.0f"),
    "speed_up": ("speed-up {}", ".2f"),
}
"""How each measure of a comparison is told, and its numbers."""


def undecided(statement: str, rule: str) -> Claim:
    """Give the claim of a part that was not run."""
    return Claim(statement, rule, Verdict.UNDECIDED, NOT_RUN, pl.DataFrame())


@dataclass(frozen=True)
class Question:
    """What is judged by cells, each of which bears it out or does not.

    Attributes
    ----------
    statement, rule : str
        As of a `Claim`.
    by : tuple of str
        Columns that tell cells apart.
    measures : tuple of str
        What is told of a cell, of `FORMS`.
    otherwise : str
        What is said of the cells that do not bear it out.
    """

    statement: str
    rule: str
    by: tuple[str, ...]
    measures: tuple[str, ...]
    otherwise: str

    def undecided(self) -> Claim:
        """Give the claim where the part was not run."""
        return undecided(self.statement, self.rule)

    def answered(self, cells: pl.DataFrame, holds: pl.Series, details: pl.DataFrame) -> Claim:
        """Judge by cells: borne out where it holds in all, in part where in some."""
        return Claim(
            statement=self.statement,
            rule=self.rule,
            verdict=judged(holds),
            evidence=f"{numbers(details, _apart(details, self.by), self.measures)}.",
            details=details,
            in_short=f"So of {where(cells, holds, self.by)}{self.otherwise}.",
        )


def _apart(details: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Name the memory, too, where there are several."""
    is_several = MEMORY not in by and details[MEMORY].n_unique() > 1
    return [MEMORY, *by] if is_several else list(by)


def judged(holds: pl.Series) -> Verdict:
    """Judge what holds in all cells, in some, or in none."""
    if holds.all():
        return Verdict.BORNE_OUT
    return Verdict.BORNE_OUT_IN_PART if holds.any() else Verdict.NOT_BORNE_OUT


def numbers(details: pl.DataFrame, by: Sequence[str], measures: Sequence[str]) -> str:
    """Tell measures of every row, with their intervals."""
    return "; ".join(
        f"{', '.join(str(row[name]) for name in by)}: "
        + ", ".join(_told(row, measure) for measure in measures)
        for row in details.iter_rows(named=True)
    )


def _told(row: dict[str, float], measure: str) -> str:
    words, form = FORMS[measure]
    low, high = (_written(row[f"{measure}_{end}"], form.lstrip("+")) for end in ("low", "high"))
    return f"{words.format(_written(row[measure], form))} [{low}, {high}]"


def _written(value: float, form: str) -> str:
    """Write a number; what rounds to nothing has no sign."""
    written = f"{value:{form}}"
    return written.lstrip("+-") if not written.strip("+-0.%") else written


def where(details: pl.DataFrame, holds: pl.Series, by: Sequence[str]) -> str:
    """Name the rows of which something holds."""
    chosen = details.filter(holds)
    return "; ".join(
        ", ".join(str(value) for value in row) for row in chosen.select(by).iter_rows()
    )
