"""What the source says, judged by our results: a verdict, and the panels in which it holds."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies import hypotheses
from fairwind.studies.in_part import where_it_holds
from fairwind.studies.panels import Panels, interval_in_words
from fairwind.studies.streams import COUNT, VARIANT, source_variants

from .shares import share_ratios

# A single replicate has no interval; polars takes NaN for greater than every number.
IS_BELOW = pl.col("high_ratio").fill_nan(None) < 1
IS_ABOVE = pl.col("low_ratio").fill_nan(None) > 1


def claims(results: Results) -> list[Claim]:
    """Judge the source's two claims, and the purpose of each mechanism."""
    return [greedy_unharmed(results), thin_below_share(results), *latency_reduced(results)]


def greedy_unharmed(results: Results) -> Claim:
    """Judge: greedy throughput does not differ between the variants."""
    return hypotheses.unharmed(
        results,
        "The throughput of the greedy streams does not differ significantly between the four "
        "variants of the thin streams, in any panel.",
        "throughput_bits_per_second",
        Panels(),
    )


def latency_reduced(results: Results) -> list[Claim]:
    """Judge, mechanism by mechanism: it reduces the thin streams' ACK latency."""
    return hypotheses.latency_reduced(results, Panels())


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
    sides = {"below it for": IS_BELOW, "above it for": IS_ABOVE}
    ranges = "; ".join(f"{name}: {Panels().sides(own, sides)}" for name, own in of_variant.items())
    shares = "; ".join(
        f"{row[VARIANT]} {row['ratio']:.2f}"
        f"{interval_in_words(row['low_ratio'], row['high_ratio'], '.2f')}"
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
        in_short=where_it_holds(
            details,
            Panels(),
            {
                "they are below it": IS_BELOW,
                "they are above it": IS_ABOVE,
                "neither is sure": ~IS_BELOW & ~IS_ABOVE,
            },
        ),
    )


def _is_below_to_the_end(own: pl.DataFrame) -> bool:
    """Tell whether there is an N from which on every interval lies below 1."""
    largest = own.filter(pl.col(COUNT) == pl.col(COUNT).max())
    return bool((largest["high_ratio"] < 1).all())
