"""What the source says, judged by our results."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.statistics import Difference, Interval, holm, mean_interval, paired_difference
from fairwind.studies.application_limited_streams.shares import (
    COUNT,
    REFERENCE,
    VARIANT,
    fair_shares,
    variants,
)

SIGNIFICANCE = 0.05
MARGIN_RATIO = 0.05
"""Differences of greedy throughput below this share of it count as none."""

LATENCIES = {
    "ack_latency_mean_s": "mean",
    "ack_latency_p50_s": "median",
    "ack_latency_p99_s": "99th percentile",
}


def claims(results: Results) -> list[Claim]:
    """Judge the source's two claims, and the purpose of the mechanisms."""
    return [greedy_unharmed(results), thin_below_share(results), latency_reduced(results)]


def greedy_unharmed(results: Results) -> Claim:
    """Judge: greedy throughput does not differ between the variants."""
    measure = "throughput_bits_per_second"
    details = _differences(results, "greedy", [measure])
    significant = details.filter(pl.col("p_value_holm") < SIGNIFICANCE)
    beyond = significant.filter(pl.col("relative_ratio").abs() > MARGIN_RATIO)
    within = details.filter(
        (pl.col("relative_low_ratio") > -MARGIN_RATIO)
        & (pl.col("relative_high_ratio") < MARGIN_RATIO)
    )
    verdict = Verdict.UNDECIDED
    if beyond.height:
        verdict = Verdict.NOT_BORNE_OUT
    elif details.height and within.height == details.height:
        verdict = Verdict.BORNE_OUT
    return Claim(
        statement=(
            "The throughput of the greedy streams does not differ significantly between the four "
            "variants of the thin streams, in any panel."
        ),
        rule=(
            f"Paired by seed against {REFERENCE}, Holm-corrected over all comparisons. Not borne "
            f"out: a significant difference above {MARGIN_RATIO:.0%}. Borne out: every 95 % "
            f"interval within {MARGIN_RATIO:.0%}. Otherwise undecided."
        ),
        verdict=verdict,
        evidence=(
            f"{significant.height} of {details.height} differences are significant, "
            f"{within.height} intervals lie within {MARGIN_RATIO:.0%}; the largest: "
            f"{_largest(details)}."
        ),
        details=details,
    )


def thin_below_share(results: Results) -> Claim:
    """Judge: thin streams fall below their fair share as competition grows."""
    details = _share_ratios(results)
    below = _always_below_from(details)
    last = details.filter(pl.col(COUNT) == pl.col(COUNT).max())
    verdict = Verdict.UNDECIDED
    if below is not None:
        verdict = Verdict.BORNE_OUT
    elif last.filter(pl.col("low_ratio") >= 1).height:
        verdict = Verdict.NOT_BORNE_OUT
    start = "no N from which on every variant stays below it"
    if below is not None:
        start = f"below it in every variant from N = {below} on"
    counts = "; ".join(_below_and_above(details, variant) for variant in variants(results))
    shares = "; ".join(
        f"{row[VARIANT]} {row['ratio']:.2f} [{row['low_ratio']:.2f}, {row['high_ratio']:.2f}]"
        for row in last.iter_rows(named=True)
    )
    return Claim(
        statement=(
            "As competition grows, the thin streams consistently fall below their fair share "
            "(the dotted line)."
        ),
        rule=(
            "Thin aggregate throughput over min(N x rate, C / 2), mean over seeds with 95 % "
            "interval. Borne out: from some N on every interval of every variant lies below 1. "
            "Not borne out: at the largest N an interval lies at or above 1. Otherwise undecided."
        ),
        verdict=verdict,
        evidence=f"{start}. {counts}. Ratios at N = {last[COUNT][0]}: {shares}.",
        details=details,
    )


def latency_reduced(results: Results) -> Claim:
    """Judge: the mechanisms reduce the thin streams' ACK latency."""
    details = _differences(results, "thin", list(LATENCIES))
    significant = details.filter(pl.col("p_value_holm") < SIGNIFICANCE)
    reduced = significant.filter(pl.col("difference") < 0)
    increased = significant.filter(pl.col("difference") > 0)
    helped = set(reduced[VARIANT])
    verdict = Verdict.UNDECIDED
    if increased.height and not reduced.height:
        verdict = Verdict.NOT_BORNE_OUT
    elif not increased.height and helped == set(variants(results)) - {REFERENCE}:
        verdict = Verdict.BORNE_OUT
    return Claim(
        statement="Each variant reduces the latency that the thin streams perceive.",
        rule=(
            f"ACK latency (mean, median, 99th percentile) paired by seed against {REFERENCE}, "
            "Holm-corrected over all comparisons. Borne out: significant reductions for every "
            "variant and no significant increase. Not borne out: only increases. Otherwise "
            "undecided."
        ),
        verdict=verdict,
        evidence=(
            f"{reduced.height} of {details.height} differences are significant reductions, "
            f"{increased.height} significant increases; 99th percentile: {_by_variant(details)}."
        ),
        details=details,
    )


def _differences(results: Results, group: str, measures: list[str]) -> pl.DataFrame:
    """Compare every variant with the reference, paired by seed, in every panel."""
    rows = [
        {COUNT: count, VARIANT: variant, "measure": measure, **_columns(difference)}
        for count, variant, measure, difference in _compared(results, group, measures)
    ]
    p_values = [row["p_value"] for row in rows]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.Series("p_value_holm", holm(p_values))
    )


def _compared(
    results: Results, group: str, measures: list[str]
) -> Iterator[tuple[int, str, str, Difference]]:
    groups = results.groups.filter(pl.col("group") == group).sort("seed")
    for (count,), panel in groups.group_by(COUNT, maintain_order=True):
        reference = panel.filter(pl.col(VARIANT) == REFERENCE)
        for variant in variants(results):
            if variant == REFERENCE:
                continue
            pairs = reference.join(
                panel.filter(pl.col(VARIANT) == variant), on="seed", suffix="_variant"
            ).sort("seed")
            for measure in measures:
                a, b = pairs[measure].to_numpy(), pairs[f"{measure}_variant"].to_numpy()
                yield count, variant, measure, paired_difference(a, b)


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
        "pairs": difference.samples_a,
    }


def _share_ratios(results: Results) -> pl.DataFrame:
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


def _always_below_from(ratios: pl.DataFrame) -> int | None:
    """Give the smallest N from which on every interval lies below 1."""
    start: int | None = None
    for count in ratios[COUNT].unique().sort().to_list():
        panel = ratios.filter(pl.col(COUNT) == count)
        is_below = bool((panel["high_ratio"] < 1).all())
        start = (start or count) if is_below else None
    return start


def _below_and_above(ratios: pl.DataFrame, variant: str) -> str:
    """Name the N at which a variant's interval lies below and above its fair share."""
    own = ratios.filter(pl.col(VARIANT) == variant)
    below = own.filter(pl.col("high_ratio") < 1)[COUNT].cast(pl.String).to_list()
    above = own.filter(pl.col("low_ratio") > 1)[COUNT].cast(pl.String).to_list()
    sides = {"below at N = ": below, "above at N = ": above}
    told = [side + ", ".join(counts) for side, counts in sides.items() if counts]
    return f"{variant} {' and '.join(told) or 'nowhere certainly below or above'}"


def _largest(details: pl.DataFrame) -> str:
    row = details.sort(pl.col("relative_ratio").abs(), descending=True).row(0, named=True)
    return f"{_signed(row)} ({row[VARIANT]}, N = {row[COUNT]})"


def _by_variant(details: pl.DataFrame) -> str:
    """Name each variant's largest reduction of the 99th percentile."""
    tail = details.filter(pl.col("measure") == "ack_latency_p99_s")
    best = [
        part.sort("relative_ratio").row(0, named=True)
        for _, part in tail.group_by(VARIANT, maintain_order=True)
    ]
    return "; ".join(f"{row[VARIANT]} {_signed(row)} at N = {row[COUNT]}" for row in best)


def _signed(row: dict[str, float]) -> str:
    return (
        f"{row['relative_ratio']:+.1%} "
        f"[{row['relative_low_ratio']:+.1%}, {row['relative_high_ratio']:+.1%}]"
    )
