"""Two sides of an experiment against each other, whatever tells them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fairwind.results import Results, Verdict
from fairwind.statistics import holm
from fairwind.studies.comparisons import compared
from fairwind.studies.hypotheses import MARGIN_RATIO
from fairwind.studies.panels import signed


@dataclass(frozen=True)
class Contrast:
    """What is compared with what.

    Attributes
    ----------
    name : str
        What the comparison is called in a table.
    reference, changed : mapping of str to str
        The values of columns of the groups table that make each side, such as its ``group`` and
        the labels of axes.
    """

    name: str
    reference: Mapping[str, str]
    changed: Mapping[str, str]


def contrasted(
    results: Results, contrasts: Sequence[Contrast], measures: Sequence[str]
) -> pl.DataFrame:
    """Compare both sides of every contrast in every measure.

    In virtual time they are paired by seed. In real time a seed does not decide what happens to
    each packet, so they are independent samples there (Welch).

    Parameters
    ----------
    results : Results
    contrasts : sequence of Contrast
    measures : sequence of str
        Columns of the groups table.

    Returns
    -------
    DataFrame
        ``contrast``, ``measure``, and of the difference what `comparisons.differences` has.
    """
    rows = [
        {
            "contrast": contrast.name,
            "measure": measure,
            **_compared(results, contrast, measure),
        }
        for contrast in contrasts
        for measure in measures
    ]
    p_values = [row["p_value"] for row in rows]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.Series("p_value_holm", holm(p_values))
    )


def harmless(details: pl.DataFrame, harm: pl.Expr) -> Verdict:
    """Judge that nothing is harmed.

    Parameters
    ----------
    details : DataFrame
        As `contrasted` gives it.
    harm : Expr
        Which rows are worse, significantly.

    Returns
    -------
    Verdict
        Borne out: every interval lies within the margin or on the harmless side of it; not: some
        row is worse by more than the margin, significantly; otherwise undecided.
    """
    beyond = harm & (pl.col("relative_ratio").abs() > MARGIN_RATIO)
    if details.filter(beyond).height:
        return Verdict.NOT_BORNE_OUT
    return Verdict.BORNE_OUT if details.filter(~unharmed()).height == 0 else Verdict.UNDECIDED


def unharmed() -> pl.Expr:
    """Tell of rows with ``less_is_worse`` that no harm beyond the margin is possible."""
    # A single replicate has no interval; polars takes NaN for greater than every number.
    loss = pl.col("relative_low_ratio").fill_nan(None) > -MARGIN_RATIO
    gain = pl.col("relative_high_ratio").fill_nan(None) < MARGIN_RATIO
    return pl.when("less_is_worse").then(loss).otherwise(gain).fill_null(value=False)


def in_words(details: pl.DataFrame, measures: Mapping[str, str]) -> str:
    """Tell all differences, contrast by contrast.

    Parameters
    ----------
    details : DataFrame
        As `contrasted` gives it.
    measures : mapping of str to str
        What each measure is called in a sentence.
    """
    parts = []
    for (contrast,), rows in details.group_by("contrast", maintain_order=True):
        told = ", ".join(
            f"{measures[row['measure']]} {signed(row)}" for row in rows.iter_rows(named=True)
        )
        parts.append(f"{contrast}: {told}")
    return f"{'; '.join(parts)}."


def _compared(results: Results, contrast: Contrast, measure: str) -> dict[str, float | int]:
    reference, changed = _side(results, contrast.reference), _side(results, contrast.changed)
    return compared(results, reference, changed, measure)


def _side(results: Results, values: Mapping[str, str]) -> pl.DataFrame:
    rows = results.groups
    for column, value in values.items():
        rows = rows.filter(pl.col(column) == value)
    return rows.sort("seed")
