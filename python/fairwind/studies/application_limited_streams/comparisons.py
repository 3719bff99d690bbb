"""The numbers behind the claims: variants against the reference, and shares of what is fair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from fairwind.results import Results
from fairwind.statistics import (
    Difference,
    Interval,
    holm,
    mean_interval,
    paired_difference,
    welch_difference,
)
from fairwind.studies.application_limited_streams.shares import (
    COUNT,
    REFERENCE,
    VARIANT,
    fair_shares,
)


def differences(
    results: Results, group: str, measures: Sequence[str], mechanisms: Sequence[str]
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

    Returns
    -------
    DataFrame
        ``flows_count``, ``variant``, ``measure``, ``mean_reference``, ``mean_variant``,
        ``difference`` with ``low`` and ``high`` (95 % interval), in the unit that the measure's
        name ends in; the same relative to the reference, as ratios; ``p_value`` (two-sided) and
        ``p_value_holm`` (corrected over all rows); ``pairs`` (0 of independent samples).
    """
    rows = [
        {COUNT: count, VARIANT: variant, "measure": measure, **_columns(difference)}
        for count, variant, measure, difference in _compared(results, group, measures, mechanisms)
    ]
    p_values = [row["p_value"] for row in rows]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.Series("p_value_holm", holm(p_values))
    )


def share_ratios(results: Results) -> pl.DataFrame:
    """Give the thin aggregate's throughput over its fair share, per panel and variant.

    Returns
    -------
    DataFrame
        ``flows_count``, ``variant``, ``fair_bits_per_second``, ``ratio`` with ``low_ratio`` and
        ``high_ratio`` (95 % interval of the mean over seeds), ``replicates``.
    """
    thin = results.groups.filter(pl.col("group") == "thin").join(
        fair_shares(results), on=COUNT, maintain_order="left"
    )
    ratio = pl.col("throughput_bits_per_second") / pl.col("fair_bits_per_second")
    rows = []
    for (count, variant), part in thin.group_by([COUNT, VARIANT], maintain_order=True):
        interval: Interval = mean_interval(part.select(ratio).to_series().to_numpy())
        rows.append(
            {
                COUNT: count,
                VARIANT: variant,
                "fair_bits_per_second": part["fair_bits_per_second"][0],
                "ratio": interval.estimate,
                "low_ratio": interval.low,
                "high_ratio": interval.high,
                "replicates": interval.samples,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def counts_where(frame: pl.DataFrame, condition: pl.Expr) -> list[int]:
    """Give the stream counts of the rows in which a condition holds."""
    counts: list[int] = frame.filter(condition)[COUNT].unique().sort().to_list()
    return counts


def _compared(
    results: Results, group: str, measures: Sequence[str], mechanisms: Sequence[str]
) -> Iterator[tuple[int, str, str, Difference]]:
    groups = results.groups.filter(pl.col("group") == group).sort("seed")
    for (count,), panel in groups.group_by(COUNT, maintain_order=True):
        reference = panel.filter(pl.col(VARIANT) == REFERENCE)
        for variant in mechanisms:
            changed = panel.filter(pl.col(VARIANT) == variant)
            for measure in measures:
                yield count, variant, measure, _difference(results, reference, changed, measure)


def _difference(
    results: Results, reference: pl.DataFrame, changed: pl.DataFrame, measure: str
) -> Difference:
    if results.manifest.is_real_time:
        return welch_difference(reference[measure].to_numpy(), changed[measure].to_numpy())
    pairs = reference.join(changed, on="seed", suffix="_variant").sort("seed")
    return paired_difference(pairs[measure].to_numpy(), pairs[f"{measure}_variant"].to_numpy())


def _columns(difference: Difference) -> dict[str, float | int]:
    relative, low, high = difference.relative
    return {
        "mean_reference": difference.mean_a,
        "mean_variant": difference.mean_b,
        "difference": difference.estimate,
        "low": difference.low,
        "high": difference.high,
        "relative_ratio": relative,
        "relative_low_ratio": low,
        "relative_high_ratio": high,
        "p_value": difference.p_value,
        "pairs": difference.samples_a if difference.is_paired else 0,
    }
