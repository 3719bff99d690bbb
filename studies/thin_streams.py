"""Thin streams against greedy ones: variants, and the claims that several studies judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fairwind.errors import FairwindError
from fairwind.results import Claim, Results
from fairwind.statistics import max_min_shares
from fairwind.studies.comparisons import between_groups, differences, pairing_in_words
from fairwind.studies.effects import (
    ACK_LATENCIES,
    BENEFIT_RULE,
    DELIVERY_LATENCIES,
    FAILED,
    HARM_RULE,
    HELD,
    IS_BENEFIT,
    IS_HARM,
    IS_WITHOUT_HARM,
    LOSS_RULE,
    benefits,
    loses_more,
    verdict_of,
    with_effects,
    without_harm,
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
from fairwind.studies.workloads import (
    capacity_bits_per_second,
    group_of,
    payload_bits_per_second,
    wire_bits_per_second,
)

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


UNDECIDED = ~IS_WITHOUT_HARM & ~IS_HARM

HARM_SIDES = {"no harm for": IS_WITHOUT_HARM, "harm for": IS_HARM, "undecided for": UNDECIDED}

HARM_CASES = {HOLDS: IS_WITHOUT_HARM, HOLDS_NOT: IS_HARM, IS_OPEN: UNDECIDED}

LOSS = "packet_loss_ratio"

LOSS_SIDES = {"more for": IS_HARM, "not more for": IS_WITHOUT_HARM}

LOSS_CASES = {"they lose more": IS_HARM, "they do not": IS_WITHOUT_HARM, IS_OPEN: UNDECIDED}


def offered_bits_per_second(experiment: dict[str, Any]) -> float | None:
    """Rate of one thin stream on the wire without losses, IP headers included; None if unknown."""
    return wire_bits_per_second(group_of(experiment, "thin"))


def offered_payload_bits_per_second(experiment: dict[str, Any]) -> float | None:
    """Rate at which the application of one thin stream writes; None if unknown."""
    return payload_bits_per_second(group_of(experiment, "thin"))


def fair_bits_per_second(experiment: dict[str, Any]) -> float:
    """Max-min fair share of all thin streams together, on the wire; greedy ones take the rest.

    Raises
    ------
    FairwindError
        If what a thin stream asks for is not known.
    """
    offered = offered_bits_per_second(experiment)
    if offered is None:
        raise FairwindError(
            "what the thin streams are due is not known: their workload has no mean size and "
            "interval",
            'give the group "thin" a workload of the kind "thin" or "profile"',
        )
    thin, greedy = (int(group_of(experiment, name)["count"]) for name in ("thin", "greedy"))
    demands = [offered] * thin + [math.inf] * greedy
    return float(max_min_shares(demands, capacity_bits_per_second(experiment))[:thin].sum())


def variants(results: Results) -> list[str]:
    """Give the variants in the order of the scenario."""
    return list(results.manifest.plan.axis(VARIANT).labels)


def source_variants(results: Results) -> list[str]:
    """Give those variants that the source has, in the order of the scenario."""
    return [variant for variant in variants(results) if variant in SOURCE_VARIANTS]


def mechanisms(names: Sequence[str]) -> list[str]:
    """Give the variants that are compared with the reference."""
    return [variant for variant in names if variant != REFERENCE]


def unharmed(results: Results, label: str, measure: str, name: str, panels: Panels) -> Claim:
    """Judge: no variant of the thin streams harms the greedy streams.

    Parameters
    ----------
    label : str
        Of the hypothesis, for its statement.
    measure, name : str
        A column of the groups table, and what it is called in a sentence.
    """
    compared = mechanisms(variants(results))
    details = with_effects(differences(results, "greedy", [measure], compared, panels.columns))
    places = [VARIANT, *panels.columns]
    ranges = "; ".join(
        f"{variant}: {panels.sides(details.filter(pl.col(VARIANT) == variant), HARM_SIDES)}"
        for variant in compared
    )
    return Claim(
        statement=f"{label}. Greedy streams lose no {name} to any variant of the thin streams.",
        rule=(
            f"{name.capitalize()} of the greedy streams. {compared_in_words(results)}. A place is "
            f"a variant at one setting of all other axes. {HARM_RULE}"
        ),
        verdict=verdict_of(without_harm(details, places)),
        evidence=f"{ranges}. The largest difference: {largest_difference(details, panels)}.",
        details=details,
        in_short=where_it_holds(details, panels, HARM_CASES),
    )


def latency_reduced(results: Results, panels: Panels) -> list[Claim]:
    """Judge H1 for each variant: it reduces the delivery latency of the thin streams."""
    compared = mechanisms(variants(results))
    measures = [*DELIVERY_LATENCIES, *ACK_LATENCIES]
    every = with_effects(differences(results, "thin", measures, compared, panels.columns))
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
    details = with_effects(between_groups(results.groups, "greedy", "thin", LOSS, keys))
    ranges = "; ".join(
        f"{variant}: {panels.sides(details.filter(pl.col(VARIANT) == variant), LOSS_SIDES)}"
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
            "Relative packet loss of the thin streams against that of the greedy ones of the same "
            f"run. A place is a variant at one setting of all other axes. {LOSS_RULE}"
        ),
        verdict=loses_more(details),
        evidence=f"{ranges}. {shares}.",
        details=details,
        in_short=where_it_holds(details, panels, LOSS_CASES),
    )


def compared_in_words(results: Results) -> str:
    """Describe the comparison of variants with the reference."""
    return f"Compared with {REFERENCE}, {pairing_in_words(results)}"


def _latency_reduced_by(
    variant: str, details: pl.DataFrame, compared: str, panels: Panels
) -> Claim:
    delivery = details.filter(pl.col("measure").is_in([*DELIVERY_LATENCIES]))
    judged = benefits(delivery, panels.columns)
    return Claim(
        statement=_purpose(variant),
        rule=(
            f"Delivery latency of the thin streams: mean, median, 99th percentile. {compared}. A "
            f"place is a setting of all other axes. {BENEFIT_RULE} ACK latency is shown beside it."
        ),
        verdict=verdict_of(judged),
        evidence=(
            f"{_changes_in_words(details, DELIVERY_LATENCIES, panels)}. ACK latency: "
            f"{_changes_in_words(details, ACK_LATENCIES, panels)}."
        ),
        details=details,
        in_short=_where_judged(judged, panels),
    )


def _where_judged(judged: pl.DataFrame, panels: Panels) -> str:
    """Name the panels where a claim holds, fails, and is undecided."""
    holds, fails = pl.col(HELD), pl.col(FAILED)
    cases = {HOLDS: holds, HOLDS_NOT: fails, IS_OPEN: ~holds & ~fails}
    return where_it_holds(judged, panels, cases, by=None)


def _changes_in_words(details: pl.DataFrame, measures: Mapping[str, str], panels: Panels) -> str:
    """Name the panels in which each measure gets better or worse, and the largest changes."""
    changes = {"better": (IS_BENEFIT, False), "worse": (IS_HARM, True)}
    return "; ".join(
        f"{name} {panels.extremes(details.filter(pl.col('measure') == measure), changes)}"
        for measure, name in measures.items()
    )


def _purpose(variant: str) -> str:
    name = IN_FULL.get(variant, variant)
    beyond = "" if variant in SOURCE_VARIANTS else "Beyond the source: "
    return f"{beyond}{name} reduces the latency that applications of thin streams experience (H1)."
