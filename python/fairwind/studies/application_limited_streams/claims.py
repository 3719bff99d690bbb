"""What the source says, judged by our results: a verdict, and the panels in which it holds."""

from __future__ import annotations

import math

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.application_limited_streams.comparisons import (
    counts_where,
    differences,
    share_ratios,
)
from fairwind.studies.application_limited_streams.ranges import panels_in_words
from fairwind.studies.application_limited_streams.shares import (
    COUNT,
    REFERENCE,
    SOURCE_VARIANTS,
    VARIANT,
    source_variants,
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

IN_FULL = {
    "mFR": "mFR (modified fast retransmit)",
    "LT": "LT (linear time-outs)",
    "LT+mFR": "LT+mFR (both)",
    "today": "today's default (SACK, RACK, tail loss probe)",
}
"""What a variant is called in a sentence; one that is not here is called by its label."""

IS_SIGNIFICANT = pl.col("p_value_holm") < SIGNIFICANCE
IS_REDUCED = IS_SIGNIFICANT & (pl.col("difference") < 0)
IS_INCREASED = IS_SIGNIFICANT & (pl.col("difference") > 0)
IS_WITHIN = (pl.col("relative_low_ratio") > -MARGIN_RATIO) & (
    pl.col("relative_high_ratio") < MARGIN_RATIO
)
IS_BEYOND = IS_SIGNIFICANT & (pl.col("relative_ratio").abs() > MARGIN_RATIO)
# A single replicate has no interval; polars takes NaN for greater than every number.
IS_BELOW = pl.col("high_ratio").fill_nan(None) < 1
IS_ABOVE = pl.col("low_ratio").fill_nan(None) > 1


def claims(results: Results) -> list[Claim]:
    """Judge the source's two claims, and the purpose of each mechanism."""
    return [greedy_unharmed(results), thin_below_share(results), *latency_reduced(results)]


def greedy_unharmed(results: Results) -> Claim:
    """Judge: greedy throughput does not differ between the variants."""
    mechanisms = _mechanisms(source_variants(results))
    details = differences(results, "greedy", ["throughput_bits_per_second"], mechanisms)
    within, beyond = details.filter(IS_WITHIN).height, details.filter(IS_BEYOND).height
    if within == details.height:
        verdict = Verdict.BORNE_OUT
    elif within and beyond:
        verdict = Verdict.BORNE_OUT_IN_PART
    else:
        verdict = Verdict.NOT_BORNE_OUT if beyond else Verdict.UNDECIDED
    ranges = "; ".join(
        f"{variant}: {_harm_in_words(details.filter(pl.col(VARIANT) == variant))}"
        for variant in mechanisms
    )
    return Claim(
        statement=(
            "The throughput of the greedy streams does not differ significantly between the four "
            "variants of the thin streams, in any panel."
        ),
        rule=(
            f"{_compared_in_words(results)}, Holm-corrected over all comparisons. In one "
            f"panel, borne out: the 95 % interval lies within {MARGIN_RATIO:.0%}; not: a "
            f"significant difference above {MARGIN_RATIO:.0%}; otherwise undecided. In all: borne "
            "out in every panel, in part if in some and not in others."
        ),
        verdict=verdict,
        evidence=(
            f"{ranges}. Significant, of whatever size: {details.filter(IS_SIGNIFICANT).height} of "
            f"{details.height} differences; the largest: {_largest(details)}."
        ),
        details=details,
    )


def thin_below_share(results: Results) -> Claim:
    """Judge: thin streams fall below their fair share as competition grows."""
    names = source_variants(results)
    details = share_ratios(results).filter(pl.col(VARIANT).is_in(names))
    of_variant = {name: details.filter(pl.col(VARIANT) == name) for name in names}
    falling = [name for name, own in of_variant.items() if _is_below_to_the_end(own)]
    last = details.filter(pl.col(COUNT) == pl.col(COUNT).max())
    if len(falling) == len(of_variant):
        verdict = Verdict.BORNE_OUT
    elif last.filter(IS_ABOVE).height:
        below = details.filter(IS_BELOW).height
        verdict = Verdict.BORNE_OUT_IN_PART if below else Verdict.NOT_BORNE_OUT
    else:
        verdict = Verdict.UNDECIDED
    ranges = "; ".join(f"{name}: {_share_in_words(own)}" for name, own in of_variant.items())
    shares = "; ".join(
        f"{row[VARIANT]} {row['ratio']:.2f}{_interval(row['low_ratio'], row['high_ratio'], '.2f')}"
        for row in last.iter_rows(named=True)
    )
    return Claim(
        statement=(
            "As competition grows, the thin streams consistently fall below their fair share "
            "(the dotted line)."
        ),
        rule=(
            "Thin aggregate throughput over min(N x rate, C / 2), mean over seeds with 95 % "
            "interval. Borne out: for every variant there is an N from which on all intervals lie "
            "below 1. If some variant's interval lies above 1 at the largest N: in part if some "
            "interval lies below 1 anywhere, else not borne out. Otherwise undecided."
        ),
        verdict=verdict,
        evidence=f"{ranges}. Ratios at N = {last[COUNT][0]}: {shares}.",
        details=details,
    )


def latency_reduced(results: Results) -> list[Claim]:
    """Judge, mechanism by mechanism: it reduces the thin streams' ACK latency."""
    mechanisms = _mechanisms(variants(results))
    every = differences(results, "thin", list(LATENCIES), mechanisms)
    compared = _compared_in_words(results)
    return [
        _latency_reduced_by(variant, every.filter(pl.col(VARIANT) == variant), compared)
        for variant in mechanisms
    ]


def _latency_reduced_by(variant: str, details: pl.DataFrame, compared: str) -> Claim:
    reduced, increased = counts_where(details, IS_REDUCED), counts_where(details, IS_INCREASED)
    if reduced == _counts(details) and not increased:
        verdict = Verdict.BORNE_OUT
    elif reduced:
        verdict = Verdict.BORNE_OUT_IN_PART
    else:
        verdict = Verdict.NOT_BORNE_OUT if increased else Verdict.UNDECIDED
    measures = "; ".join(
        f"{name} {_latency_in_words(details.filter(pl.col('measure') == measure))}"
        for measure, name in LATENCIES.items()
    )
    return Claim(
        statement=_purpose(variant),
        rule=(
            f"ACK latency (mean, median, 99th percentile). {compared}, "
            "Holm-corrected over all comparisons of all variants. Borne out: for every N one of "
            "the three falls significantly, and none rises anywhere; in part: some fall; not: some "
            "rise and none falls; otherwise undecided."
        ),
        verdict=verdict,
        evidence=f"{measures}.",
        details=details,
    )


def _mechanisms(names: list[str]) -> list[str]:
    return [variant for variant in names if variant != REFERENCE]


def _purpose(variant: str) -> str:
    name = IN_FULL.get(variant, variant)
    beyond = "" if variant in SOURCE_VARIANTS else "Beyond the source: "
    return f"{beyond}{name} reduces the latency that thin streams feel."


def _compared_in_words(results: Results) -> str:
    if results.manifest.is_real_time:
        return f"Compared with {REFERENCE} as independent samples (Welch)"
    return f"Paired by seed against {REFERENCE}"


def _counts(frame: pl.DataFrame) -> list[int]:
    counts: list[int] = frame[COUNT].unique().sort().to_list()
    return counts


def _harm_in_words(own: pl.DataFrame) -> str:
    """Name the panels in which one variant does no harm, does some, or may do some."""
    sides = {
        "borne out for": IS_WITHIN,
        "not for": IS_BEYOND,
        "undecided for": ~IS_WITHIN & ~IS_BEYOND,
    }
    return _sides_in_words(own, sides)


def _share_in_words(own: pl.DataFrame) -> str:
    """Name the panels in which one variant's thin streams lie below and above their fair share."""
    return _sides_in_words(own, {"below it for": IS_BELOW, "above it for": IS_ABOVE})


def _latency_in_words(own: pl.DataFrame) -> str:
    """Name the panels in which one measure falls and rises, and the greatest of each."""
    sides = {"reduced": (IS_REDUCED, False), "increased": (IS_INCREASED, True)}
    told = []
    for side, (condition, descending) in sides.items():
        rows = own.filter(condition).sort("relative_ratio", descending=descending)
        if rows.height:
            counts = panels_in_words(counts_where(own, condition), _counts(own))
            best = rows.row(0, named=True)
            told.append(f"{side} for {counts} (most at N = {best[COUNT]}: {_signed(best)})")
    return ", ".join(told) or "not changed significantly for any N"


def _sides_in_words(own: pl.DataFrame, sides: dict[str, pl.Expr]) -> str:
    found = {side: counts_where(own, condition) for side, condition in sides.items()}
    told = [
        f"{side} {panels_in_words(counts, _counts(own))}"
        for side, counts in found.items()
        if counts
    ]
    return ", ".join(told) or "neither for any N"


def _is_below_to_the_end(own: pl.DataFrame) -> bool:
    """Tell whether there is an N from which on every interval lies below 1."""
    largest = own.filter(pl.col(COUNT) == pl.col(COUNT).max())
    return bool((largest["high_ratio"] < 1).all())


def _largest(details: pl.DataFrame) -> str:
    row = details.sort(pl.col("relative_ratio").abs(), descending=True).row(0, named=True)
    return f"{_signed(row)} ({row[VARIANT]}, N = {row[COUNT]})"


def _signed(row: dict[str, float]) -> str:
    low, high = row["relative_low_ratio"], row["relative_high_ratio"]
    return f"{row['relative_ratio']:+.1%}{_interval(low, high, '+.1%')}"


def _interval(low: float, high: float, form: str) -> str:
    """Write an interval behind its estimate; nothing where one replicate tells of none."""
    return "" if math.isnan(low) else f" [{low:{form}}, {high:{form}}]"
