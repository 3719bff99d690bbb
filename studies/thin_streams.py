"""Thin streams against greedy ones: variants, and the claims that several studies judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.comparisons import (
    IS_BEYOND,
    IS_INCREASED,
    IS_REDUCED,
    IS_SIGNIFICANT,
    IS_WITHIN,
    LATENCIES,
    MARGIN_RATIO,
    between_groups,
    differences,
)
from fairwind.studies.panels import (
    HOLDS,
    HOLDS_NOT,
    IS_OPEN,
    REFERENCE,
    VARIANT,
    Panels,
    largest_difference,
    where_it_holds,
)
from fairwind.studies.workloads import group_of, payload_bits_per_second, wire_bits_per_second

SOURCE_VARIANTS = (REFERENCE, "mFR", "LT", "LT+mFR")
"""The variants that the sources compare; a form may have more."""

IN_FULL = {
    "mFR": "mFR (modified fast retransmit)",
    "LT": "LT (linear time-outs)",
    "LT+mFR": "LT+mFR (both)",
    "today": "today's default (SACK, RACK, tail loss probe)",
}
"""Names of variants in sentences; others have their label."""

VARIANT_COLOURS = {REFERENCE: "#4d4d4d"}


def offered_bits_per_second(experiment: dict[str, Any]) -> float | None:
    """Rate of one thin stream on the wire without losses, IP headers included; None if unknown."""
    return wire_bits_per_second(group_of(experiment, "thin"))


def offered_payload_bits_per_second(experiment: dict[str, Any]) -> float | None:
    """Rate at which the application of one thin stream writes; None if unknown."""
    return payload_bits_per_second(group_of(experiment, "thin"))


def variants(results: Results) -> list[str]:
    """Give the variants in the order of the scenario."""
    return list(results.manifest.plan.axis(VARIANT).labels)


def source_variants(results: Results) -> list[str]:
    """Give those variants that the source has, in the order of the scenario."""
    return [variant for variant in variants(results) if variant in SOURCE_VARIANTS]


def mechanisms(names: Sequence[str]) -> list[str]:
    """Give the variants that are compared with the reference."""
    return [variant for variant in names if variant != REFERENCE]


def unharmed(
    results: Results, statement: str, measure: str, panels: Panels, group: str = "greedy"
) -> Claim:
    """Judge: a measure of a group that uses no mechanism does not differ between the variants."""
    compared = mechanisms(source_variants(results))
    details = differences(results, group, [measure], compared, panels.columns)
    within, beyond = details.filter(IS_WITHIN).height, details.filter(IS_BEYOND).height
    verdict = Verdict.of(whole=within == details.height, part=within and beyond, refuted=beyond)
    cases = {HOLDS: IS_WITHIN, HOLDS_NOT: IS_BEYOND, IS_OPEN: ~IS_WITHIN & ~IS_BEYOND}
    ranges = "; ".join(
        f"{variant}: {_harm_in_words(details.filter(pl.col(VARIANT) == variant), panels)}"
        for variant in compared
    )
    return Claim(
        statement=statement,
        rule=(
            f"{compared_in_words(results)}, Holm-corrected over all comparisons. In one "
            f"panel, borne out: the 95 % interval lies within {MARGIN_RATIO:.0%}; fails: a "
            f"significant difference above {MARGIN_RATIO:.0%}; otherwise undecided. In all: borne "
            "out in every panel, in part if in some and not in others."
        ),
        verdict=verdict,
        evidence=(
            f"{ranges}. Significant, of whatever size: {details.filter(IS_SIGNIFICANT).height} of "
            f"{details.height} differences; the largest: {largest_difference(details, panels)}."
        ),
        details=details,
        in_short=where_it_holds(details, panels, cases),
    )


def latency_reduced(results: Results, panels: Panels) -> list[Claim]:
    """Judge, mechanism by mechanism: it reduces the thin streams' ACK latency."""
    compared = mechanisms(variants(results))
    every = differences(results, "thin", list(LATENCIES), compared, panels.columns)
    return [
        _latency_reduced_by(
            variant,
            every.filter(pl.col(VARIANT) == variant),
            compared_in_words(results),
            panels,
        )
        for variant in compared
    ]


def at_a_disadvantage(results: Results, panels: Panels) -> Claim:
    """Judge: thin streams lose a larger share of their packets than greedy ones, in any variant."""
    keys = (VARIANT, *panels.columns)
    details = between_groups(results.groups, "greedy", "thin", "packet_loss_ratio", keys)
    more, less = details.filter(IS_INCREASED).height, details.filter(IS_REDUCED).height
    verdict = Verdict.of(whole=more == details.height, part=more, refuted=less)
    sides = {"more for": IS_INCREASED, "less for": IS_REDUCED}
    ranges = "; ".join(
        f"{variant}: {panels.sides(details.filter(pl.col(VARIANT) == variant), sides)}"
        for variant in variants(results)
    )
    is_last = pl.col(panels.count) == pl.col(panels.count).max()
    last = details.filter(is_last & (pl.col(VARIANT) == REFERENCE))
    shares = "; ".join(
        f"{row[VARIANT]}, {panels.title(row)}: thin {row['mean_second']:.1%}, "
        f"greedy {row['mean_first']:.1%}"
        for row in last.iter_rows(named=True)
    )
    return Claim(
        statement=(
            "Thin streams, with the modifications or without, are at a disadvantage beside greedy "
            "streams: they lose a larger share of their packets."
        ),
        rule=(
            "Relative packet loss of the thin streams less that of the greedy ones of the same "
            "run, Student's t over seeds, Holm-corrected over all panels and variants. Holds: "
            "significantly more in every one, for some: in some; fails: less in some and more in "
            "none; otherwise undecided."
        ),
        verdict=verdict,
        evidence=f"{ranges}. {shares}.",
        details=details,
        in_short=where_it_holds(
            details,
            panels,
            {
                "they lose more": IS_INCREASED,
                "they lose less": IS_REDUCED,
                "neither is significant": ~IS_INCREASED & ~IS_REDUCED,
            },
        ),
    )


def compared_in_words(results: Results) -> str:
    """Describe the comparison of variants with the reference."""
    if results.manifest.is_real_time:
        return f"Compared with {REFERENCE} as independent samples (Welch)"
    return f"Paired by seed against {REFERENCE}"


def _latency_reduced_by(
    variant: str, details: pl.DataFrame, compared: str, panels: Panels
) -> Claim:
    reduced = panels.places(details.filter(IS_REDUCED))
    increased = panels.places(details.filter(IS_INCREASED))
    verdict = Verdict.of(
        whole=reduced == panels.places(details) and not increased,
        part=bool(reduced),
        refuted=bool(increased),
    )
    changes = {"reduced": (IS_REDUCED, False), "increased": (IS_INCREASED, True)}
    measures = "; ".join(
        f"{name} {panels.extremes(details.filter(pl.col('measure') == measure), changes)}"
        for measure, name in LATENCIES.items()
    )
    return Claim(
        statement=_purpose(variant),
        rule=(
            f"ACK latency (mean, median, 99th percentile). {compared}, "
            "Holm-corrected over all comparisons of all variants. Holds: for every N one of "
            "the three falls significantly, and none rises anywhere; for some: some fall; fails: some "
            "rise and none falls; otherwise undecided."
        ),
        verdict=verdict,
        evidence=f"{measures}.",
        details=details,
        in_short=where_it_holds(
            details.with_columns(pl.col("measure").replace_strict(LATENCIES)),
            panels,
            {"latency falls": IS_REDUCED, "it rises": IS_INCREASED},
            by="measure",
            preposition="in the",
        ),
    )


def _harm_in_words(own: pl.DataFrame, panels: Panels) -> str:
    """Name the panels in which one variant does no harm, does some, or may do some."""
    sides = {
        "borne out for": IS_WITHIN,
        "not for": IS_BEYOND,
        "undecided for": ~IS_WITHIN & ~IS_BEYOND,
    }
    return panels.sides(own, sides)


def _purpose(variant: str) -> str:
    name = IN_FULL.get(variant, variant)
    beyond = "" if variant in SOURCE_VARIANTS else "Beyond the source: "
    return f"{beyond}{name} reduces the latency that thin streams feel."
