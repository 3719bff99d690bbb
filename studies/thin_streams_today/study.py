"""30 thin against 10 greedy streams of Linux 6.18: RACK-TLP, redundant bundling and fair queues.

This study compares four kinds of loss recovery behind three queue disciplines. It measures the
latency of the thin streams and the goodput of the greedy ones.
"""

from __future__ import annotations

import polars as pl

from fairwind.plots import Figure, estimates_by_setting, latency_distribution
from fairwind.results import Claim, Results, summarise
from fairwind.results.tidy import latency_buckets
from fairwind.studies import Part, Study
from fairwind.studies.comparisons import (
    CONTRAST,
    Contrast,
    contrasted,
    in_words,
    pairing_in_words,
)
from fairwind.studies.effects import (
    BENEFIT_RULE,
    DELIVERY_LATENCIES,
    GOODPUT,
    HARM_RULE,
    benefits,
    verdict_of,
    with_effects,
    without_harm,
)
from fairwind.studies.panels import REFERENCE, VARIANT

from ..thin_streams import mechanisms, variants

DISCIPLINE = "discipline"
PLAIN = "pfifo"
"""The discipline that the others are compared with."""


def disciplines(results: Results) -> list[str]:
    """Give the disciplines in the order of the scenario."""
    return list(results.manifest.plan.axis(DISCIPLINE).labels)


def claims(results: Results) -> list[Claim]:
    """Judge every mechanism behind the plain queue, then every queue without mechanisms."""
    by_variant = [
        (name, _of_variant(name, "thin"), _of_variant(name, "greedy"))
        for name in mechanisms(variants(results))
    ]
    by_discipline = [
        (name, _of_discipline(name, "thin"), _of_discipline(name, "greedy"))
        for name in disciplines(results)
        if name != PLAIN
    ]
    judged = []
    for name, thin, greedy in by_variant + by_discipline:
        judged.append(_latency_reduced(results, name, thin))
        judged.append(_greedy_unhurt(results, name, greedy))
    return judged


def _latency_reduced(results: Results, name: str, contrast: Contrast) -> Claim:
    details = with_effects(contrasted(results, [contrast], list(DELIVERY_LATENCIES)))
    return Claim(
        statement=f"{name} reduces the latency that applications of thin streams perceive (H1).",
        rule=(
            "Delivery latency of the thin streams (mean, median, 99th percentile) against "
            f"{REFERENCE} behind {PLAIN}, {pairing_in_words(results)}. {BENEFIT_RULE}"
        ),
        verdict=verdict_of(benefits(details, [CONTRAST])),
        evidence=in_words(details, DELIVERY_LATENCIES),
        details=details,
    )


def _greedy_unhurt(results: Results, name: str, contrast: Contrast) -> Claim:
    details = with_effects(contrasted(results, [contrast], list(GOODPUT)))
    return Claim(
        statement=f"{name} does not hurt greedy streams (H2).",
        rule=(
            f"Goodput of the greedy streams against {REFERENCE} behind {PLAIN}, "
            f"{pairing_in_words(results)}. {HARM_RULE}"
        ),
        verdict=verdict_of(without_harm(details, [CONTRAST])),
        evidence=in_words(details, GOODPUT),
        details=details,
    )


def _of_variant(name: str, group: str) -> Contrast:
    return Contrast(name, _cell(PLAIN, REFERENCE, group), _cell(PLAIN, name, group))


def _of_discipline(name: str, group: str) -> Contrast:
    return Contrast(name, _cell(PLAIN, REFERENCE, group), _cell(name, REFERENCE, group))


def _cell(discipline: str, variant: str, group: str) -> dict[str, str]:
    return {DISCIPLINE: discipline, VARIANT: variant, "group": group}


SLOWEST_FROM = 0.9


def figures(results: Results) -> list[Figure]:
    """Draw the slowest deliveries, their 99th percentile, and goodput."""
    return [_slowest(results), _percentile(results), _goodput(results)]


def _slowest(results: Results) -> Figure:
    buckets = latency_buckets(results, "delivery").filter(pl.col("group") == "thin")
    return Figure(
        name="delivery-latency-by-mechanism",
        title="Delivery latency of thin streams, by mechanism and queue",
        caption=(
            "From the application's write to the read in order of its last byte: the slowest "
            f"{1 - SLOWEST_FROM:.0%} of the messages of all seeds, one panel per discipline. Where "
            "fewer curves are seen than mechanisms, they coincide."
        ),
        chart=latency_distribution(
            buckets.with_columns(pl.col(VARIANT).alias("group")),
            panels=DISCIPLINE,
            title="delivery latency",
            lowest_share=SLOWEST_FROM,
        ),
    )


def _percentile(results: Results) -> Figure:
    return Figure(
        name="delivery-latency-p99",
        title="99th percentile of the delivery latency of thin streams",
        caption="Mean over seeds; bars: 95 % interval.",
        chart=_estimates(
            results, "delivery_latency_p99_s", 1000, ["thin"], "delivery latency, p99 / ms"
        ),
    )


def _goodput(results: Results) -> Figure:
    return Figure(
        name="goodput-by-mechanism",
        title="Goodput of greedy and thin streams",
        caption="Sum over the streams of a group, mean over seeds; bars: 95 % interval.",
        chart=_estimates(
            results, "goodput_bits_per_second", 0.001, ["greedy", "thin"], "goodput / kbit/s"
        ),
    )


def _estimates(
    results: Results, measure: str, scale: float, groups: list[str], title: str
) -> object:
    frame = summarise(results, [measure]).frame.filter(pl.col("group").is_in(groups))
    return estimates_by_setting(
        frame.with_columns(pl.col("mean", "low", "high") * scale),
        setting=VARIANT,
        order=variants(results),
        measure_title=title,
        setting_title="",
        panels=DISCIPLINE,
    )


STUDY = Study(
    name="thin-streams-today",
    title="Thin streams today: RACK-TLP, redundant bundling and fair queues",
    source="the hypotheses of J. Markussen, Univ. of Oslo 2014, asked of what has come since",
    package=__package__,
    forms={
        "full": "scenario.toml",
        "reduced": "reduced.toml",
        "kernel": "kernel.toml",
        "kernel-reduced": Part("kernel.toml", {"sweep.repeat": "5"}),
    },
    kernel_forms={"full": "kernel", "reduced": "kernel-reduced"},
    kernel_jobs=4,
    figures=figures,
    claims=claims,
)
