"""The numbers behind claims: variants against the reference, in every panel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from fairwind.results import Results
from fairwind.statistics import holm, paired_difference, relative_change, welch_difference
from fairwind.studies.streams import COUNT, REFERENCE, VARIANT


def differences(
    results: Results,
    group: str,
    measures: Sequence[str],
    mechanisms: Sequence[str],
    panels: Sequence[str] = (COUNT,),
) -> pl.DataFrame:
    """Compare variants with the reference in every panel.

    In virtual time they are paired by seed. In real time a seed does not decide what happens to
    each packet, so they are independent samples there (Welch).

    Parameters
    ----------
    results : Results
    group : str
        Whose measures: ``greedy`` or ``thin``.
    measures : sequence of str
        Columns of the groups table.
    mechanisms : sequence of str
        The variants to compare with the reference.
    panels : sequence of str
        The columns of the axes beside the variant; each of their combinations is a panel.

    Returns
    -------
    DataFrame
        The columns of the panels, ``variant``, ``measure``, ``mean_reference``, ``mean_variant``,
        ``difference`` with ``low`` and ``high`` (95 % interval), in the unit that the measure's
        name ends in; the same relative to the reference, as ratios, never beyond -100 %
        (`statistics.relative_change`); ``p_value`` (two-sided) and ``p_value_holm`` (corrected over
        all rows); ``pairs`` (0 of independent samples).
    """
    groups = results.groups.filter(pl.col("group") == group)
    return differences_among(results, groups, measures, mechanisms, panels)


def differences_among(
    results: Results,
    groups: pl.DataFrame,
    measures: Sequence[str],
    mechanisms: Sequence[str],
    panels: Sequence[str],
) -> pl.DataFrame:
    """Compare variants as `differences` does, among rows of the groups table of one group."""
    rows = list(_rows(results, groups, measures, mechanisms, panels))
    p_values = [row["p_value"] for row in rows]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.Series("p_value_holm", holm(p_values))
    )


def counts_where(frame: pl.DataFrame, condition: pl.Expr, count: str = COUNT) -> list[int]:
    """Give the stream counts of the rows in which a condition holds."""
    counts: list[int] = frame.filter(condition)[count].unique().sort().to_list()
    return counts


def _rows(
    results: Results,
    groups: pl.DataFrame,
    measures: Sequence[str],
    mechanisms: Sequence[str],
    panels: Sequence[str],
) -> Iterator[dict[str, Any]]:
    ordered = groups.sort("seed", maintain_order=True)
    for key, panel in ordered.group_by(list(panels), maintain_order=True):
        place = dict(zip(panels, key, strict=True))
        reference = panel.filter(pl.col(VARIANT) == REFERENCE)
        for variant in mechanisms:
            changed = panel.filter(pl.col(VARIANT) == variant)
            for measure in measures:
                found = compared(results, reference, changed, measure)
                yield {**place, VARIANT: variant, "measure": measure, **found}


def compared(
    results: Results, reference: pl.DataFrame, changed: pl.DataFrame, measure: str
) -> dict[str, float | int]:
    """Compare a measure of two sets of rows of the groups table: by seed in virtual time.

    Returns
    -------
    dict
        Columns of a table; those of `differences` tell what they are.
    """
    is_paired = not results.manifest.is_real_time
    if is_paired:
        pairs = reference.join(changed, on="seed", suffix="_variant").sort("seed")
        one, other = pairs[measure].to_numpy(), pairs[f"{measure}_variant"].to_numpy()
        difference = paired_difference(one, other)
    else:
        one, other = reference[measure].to_numpy(), changed[measure].to_numpy()
        difference = welch_difference(one, other)
    relative = relative_change(one, other, is_paired=is_paired)
    return {
        "mean_reference": difference.mean_a,
        "mean_variant": difference.mean_b,
        "difference": difference.estimate,
        "low": difference.low,
        "high": difference.high,
        "relative_ratio": relative.estimate,
        "relative_low_ratio": relative.low,
        "relative_high_ratio": relative.high,
        "p_value": difference.p_value,
        "pairs": difference.samples_a if is_paired else 0,
    }
