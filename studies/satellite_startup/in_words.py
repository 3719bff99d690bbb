"""Numbers of this study's claims, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from fairwind.results import Claim, Verdict
from fairwind.studies.panels import interval_in_words, signed

NOT_RUN = "This part of the study was not run."


def not_run(statement: str, rule: str) -> Claim:
    """Give the claim of a part that was not run."""
    return Claim(statement, rule, Verdict.UNDECIDED, NOT_RUN, pl.DataFrame())


def changes(details: pl.DataFrame, by: str, unit: str = "segments") -> str:
    """Tell relative changes, one after the other: ``20 segments -3.0% [-4.0%, -2.0%]``."""
    return ", ".join(
        f"{row[by]:g} {unit} {signed(row)}" for row in details.iter_rows(named=True)
    )  # fmt: skip


def mean_in_words(row: Mapping[str, Any], form: str = ".2f", unit: str = "") -> str:
    """Write a mean with its interval."""
    return f"{row['mean']:{form}}{unit}{interval_in_words(row['low'], row['high'], form)}"


def verdict_of_cells(holds: pl.Series, fails: pl.Series) -> Verdict:
    """Judge cells: all hold, some hold and some fail, some fail, or nothing is sure."""
    if holds.all():
        return Verdict.BORNE_OUT
    if holds.any():
        return Verdict.BORNE_OUT_IN_PART
    return Verdict.NOT_BORNE_OUT if fails.any() else Verdict.UNDECIDED


def in_order(*, whole: bool, part: bool) -> Verdict:
    """Judge by two findings: all of it holds, or at least a part does."""
    if whole:
        return Verdict.BORNE_OUT
    return Verdict.BORNE_OUT_IN_PART if part else Verdict.NOT_BORNE_OUT
