"""Differences between variants, between groups, and between any two sides of an experiment.

In virtual time samples are paired by seed. In real time a seed does not decide what happens to each
packet, so samples are independent there (Welch). `details` are frames of `contrasted`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairwind.results import Results
from fairwind.results.pairs import by_seed
from fairwind.results.summary import estimate
from fairwind.statistics import holm, paired_difference, relative_change, welch_difference
from fairwind.studies.panels import COUNT, REFERENCE, VARIANT, signed

SIGNIFICANCE = 0.05

CONTRAST = "contrast"
"""Column of the comparison that a row is of."""

IS_SIGNIFICANT = pl.col("p_value_holm") < SIGNIFICANCE

IS_REDUCED = IS_SIGNIFICANT & (pl.col("difference") < 0)

IS_INCREASED = IS_SIGNIFICANT & (pl.col("difference") > 0)


def differences(
    results: Results,
    group: str,
    measures: Sequence[str],
    mechanisms: Sequence[str],
    panels: Sequence[str] = (COUNT,),
) -> pl.DataFrame:
    """Compare variants with the reference in every panel.

    Parameters
    ----------
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
        all rows), which `effects` do not use; ``pairs`` (0 of independent samples).
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
    rows = []
    # Of hundreds of columns, these are all that the panels need.
    needed = dict.fromkeys([*panels, VARIANT, "seed", *measures])
    ordered = groups.select(*needed).sort("seed", maintain_order=True)
    for key, panel in ordered.group_by(list(panels), maintain_order=True):
        place = dict(zip(panels, key, strict=True))
        of_variant = panel.partition_by(VARIANT, as_dict=True, maintain_order=True)
        none = panel.clear()
        reference = of_variant.get((REFERENCE,), none)
        for variant in mechanisms:
            changed = of_variant.get((variant,), none)
            for measure in measures:
                found = compared(results, reference, changed, measure)
                rows.append({**place, VARIANT: variant, "measure": measure, **found})
    return _corrected(rows)


def _corrected(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Make a frame of rows, with their p-values corrected over all of them."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.Series("p_value_holm", holm(frame["p_value"].to_list())))


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
        one, other = by_seed(reference, changed, measure)
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


def pairing_in_words(results: Results) -> str:
    """Name how both sides of a comparison are matched: by seed only in virtual time."""
    return "as independent samples (Welch)" if results.manifest.is_real_time else "paired by seed"


def interval_per_panel(frame: pl.DataFrame, measure: str, panels: Sequence[str]) -> pl.DataFrame:
    """Estimate the mean of a measure over the rows of each panel.

    Returns
    -------
    DataFrame
        The columns of the panels, ``mean``, ``low`` and ``high`` (95 % interval; missing of a
        single row), ``replicates``.
    """
    return estimate(frame, panels, [measure]).frame.drop("measure")


def between_groups(
    groups: pl.DataFrame, first: str, second: str, measure: str, panels: Sequence[str]
) -> pl.DataFrame:
    """Compare two groups of flows of the same runs, run by run.

    Parameters
    ----------
    groups : DataFrame
        Rows of the groups table.
    first, second : str
        Names of the groups.
    measure : str
        A column of the table.
    panels : sequence of str
        The columns of the axes; runs that agree in them are replicates.

    Returns
    -------
    DataFrame
        The columns of the panels, ``measure``, ``mean_first``, ``mean_second``, ``difference``
        (second less first) with ``low`` and ``high`` (95 % interval), the same relative to the
        first, ``p_value_holm`` (corrected over all rows), ``pairs``.
    """
    keys = [*panels, "seed"]
    others = groups.filter(pl.col("group") == second)
    others = others.select(*keys, pl.col(measure).alias("second"))
    pairs = groups.filter(pl.col("group") == first).join(others, on=keys, maintain_order="left")
    rows = []
    for key, part in pairs.group_by(list(panels), maintain_order=True):
        sides = part[measure].to_numpy(), part["second"].to_numpy()
        found, relative = paired_difference(*sides), relative_change(*sides, is_paired=True)
        rows.append(
            dict(zip(panels, key, strict=True))
            | {
                "measure": measure,
                "mean_first": found.mean_a,
                "mean_second": found.mean_b,
                "difference": found.estimate,
                "low": found.low,
                "high": found.high,
                "relative_ratio": relative.estimate,
                "relative_low_ratio": relative.low,
                "relative_high_ratio": relative.high,
                "p_value": found.p_value,
                "pairs": found.samples_a,
            }
        )
    return _corrected(rows)


@dataclass(frozen=True)
class Contrast:
    """Two sides of a comparison.

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

    Parameters
    ----------
    measures : sequence of str
        Columns of the groups table.

    Returns
    -------
    DataFrame
        ``contrast``, ``measure``, and of the difference what `comparisons.differences` has.
    """
    rows: list[dict[str, Any]] = []
    for contrast in contrasts:
        reference, changed = _side(results, contrast.reference), _side(results, contrast.changed)
        rows += (
            {CONTRAST: contrast.name, "measure": name} | compared(results, reference, changed, name)
            for name in measures
        )
    return _corrected(rows)


def in_words(details: pl.DataFrame, measures: Mapping[str, str]) -> str:
    """Format all differences, by contrast.

    Parameters
    ----------
    measures : mapping of str to str
        What each measure is called in a sentence.
    """
    parts = []
    for (contrast,), rows in details.group_by(CONTRAST, maintain_order=True):
        text = ", ".join(
            f"{measures[row['measure']]} {signed(row)}" for row in rows.iter_rows(named=True)
        )
        parts.append(f"{contrast}: {text}")
    return f"{'; '.join(parts)}."


def _side(results: Results, values: Mapping[str, str]) -> pl.DataFrame:
    conditions = (pl.col(name) == value for name, value in values.items())
    return results.groups.filter(pl.lit(value=True), *conditions).sort("seed")
