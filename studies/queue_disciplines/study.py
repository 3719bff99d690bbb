"""30 thin against 30 greedy streams behind queue disciplines (Markussen 2014, section 5.1).

This study compares the loss and the latency of both kinds of stream: behind the two queues of the
source, limited by packets and by bytes, and behind newer disciplines.
"""

from __future__ import annotations

import polars as pl

from fairwind.plots import BOX, Figure, box_numbers, boxes_by_setting
from fairwind.results import Claim, Results, Verdict
from fairwind.studies import Study
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
    HARM_RULE,
    IS_BENEFIT,
    IS_WITHOUT_BENEFIT,
    MARGIN_RATIO,
    benefits,
    effects_in_words,
    verdict_of,
    with_effects,
    without_harm,
)
from fairwind.studies.panels import signed

AXIS = "discipline"
REFERENCE = "pfifo"
"""The discipline that the others are compared with."""

FAIR = ("sfq", "fq_codel", "fq_pie", "cake")
"""Disciplines that keep flows apart."""


def disciplines(results: Results) -> list[str]:
    """Give the disciplines in the order of the scenario."""
    return list(results.manifest.plan.axis(AXIS).labels)


def claims(results: Results) -> list[Claim]:
    """Judge the source's queues, and newer disciplines."""
    return [
        small_packets_find_room(results),
        packets_count_alike(results),
        latency_falls(results),
        greedy_keep_goodput(results),
    ]


def small_packets_find_room(results: Results) -> Claim:
    """Judge: a limit in bytes spares small packets."""
    details = _byte_losses(results, _against_reference("thin", "bfifo"))
    row = details.row(0, named=True)
    return Claim(
        statement=(
            "Thin streams lose a smaller part of their bytes in a queue that is limited in bytes "
            "than in one that is limited in packets: small packets find the room that is left."
        ),
        rule=(
            "Relative byte loss of the thin streams, bfifo against pfifo, "
            f"{pairing_in_words(results)}. {BENEFIT_RULE}"
        ),
        verdict=verdict_of(benefits(details, [CONTRAST])),
        evidence=(
            f"bfifo {row['mean_variant']:.2%}, pfifo {row['mean_reference']:.2%}: {signed(row)}."
        ),
        details=details,
    )


def packets_count_alike(results: Results) -> Claim:
    """Judge: a limit in packets treats small packets no better than large ones."""
    sides = [{AXIS: REFERENCE, "group": group} for group in ("greedy", "thin")]
    details = _byte_losses(results, Contrast(REFERENCE, *sides))
    row = details.row(0, named=True)
    return Claim(
        statement=(
            "In a queue that is limited in packets thin streams lose at least as large a part of "
            "their bytes as greedy ones, although they send few."
        ),
        rule=(
            "Relative byte loss in pfifo, thin against greedy streams of the same run, "
            f"{pairing_in_words(results)}. It holds if the whole 95 % interval excludes that thin "
            f"streams lose less by {MARGIN_RATIO:.0%}; it fails if it lies beyond; otherwise it is "
            "undecided."
        ),
        verdict=Verdict.of_cells(
            holds=details.select(IS_WITHOUT_BENEFIT).to_series(),
            fails=details.select(IS_BENEFIT).to_series(),
        ),
        evidence=(
            f"thin {row['mean_variant']:.2%}, greedy {row['mean_reference']:.2%}: {signed(row)}."
        ),
        details=details,
    )


def _byte_losses(results: Results, contrast: Contrast) -> pl.DataFrame:
    return with_effects(contrasted(results, [contrast], ["wire_byte_loss_ratio"]))


def latency_falls(results: Results) -> Claim:
    """Judge: disciplines that keep flows apart reduce the latency of thin streams."""
    contrasts = [_against_reference("thin", name) for name in _others(results)]
    details = with_effects(contrasted(results, contrasts, list(DELIVERY_LATENCIES)))
    fair = details.filter(pl.col(CONTRAST).is_in(FAIR))
    judged = benefits(fair, [CONTRAST])
    return Claim(
        statement=(
            "Beyond the source: disciplines that keep flows apart (sfq, fq_codel, fq_pie, cake) "
            "reduce the latency that thin streams' applications perceive."
        ),
        rule=(
            "Delivery latency (mean, median, 99th percentile) against pfifo, "
            f"{pairing_in_words(results)}. A place is a discipline. {BENEFIT_RULE}"
        ),
        verdict=verdict_of(judged),
        evidence=in_words(details, DELIVERY_LATENCIES),
        details=details,
        in_short=effects_in_words(fair, DELIVERY_LATENCIES),
    )


def greedy_keep_goodput(results: Results) -> Claim:
    """Judge: no discipline costs the greedy streams goodput."""
    measures = {"goodput_bits_per_second": "goodput"}
    contrasts = [_against_reference("greedy", name) for name in _others(results)]
    details = with_effects(contrasted(results, contrasts, list(measures)))
    return Claim(
        statement="Beyond the source: none of the disciplines takes goodput from greedy streams.",
        rule=(
            "Goodput of the greedy streams against pfifo, "
            f"{pairing_in_words(results)}. A place is a discipline. {HARM_RULE}"
        ),
        verdict=verdict_of(without_harm(details, [CONTRAST])),
        evidence=in_words(details, measures),
        details=details,
        in_short=effects_in_words(details, measures),
    )


def _others(results: Results) -> list[str]:
    return [name for name in disciplines(results) if name != REFERENCE]


def _against_reference(group: str, discipline: str) -> Contrast:
    reference, changed = ({AXIS: name, "group": group} for name in (REFERENCE, discipline))
    return Contrast(discipline, reference, changed)


PERCENTILES = dict(zip(BOX, ("p1_s", "p25_s", "p50_s", "p75_s", "p99_s"), strict=True))
"""Percentiles for the numbers of a box of latency."""


def figures(results: Results) -> list[Figure]:
    """Draw figures 5.1 and 5.2, and the latency that applications perceive."""
    return [
        _byte_loss(results),
        _latency(results, "ack", "ACK latency", ["greedy", "thin"], "figure 5.2"),
        _latency(results, "delivery", "delivery latency", ["thin"], "beyond the source"),
    ]


def _byte_loss(results: Results) -> Figure:
    value = 100 * pl.col("wire_byte_loss_ratio")
    return Figure(
        name="byte-loss-by-discipline",
        title="Relative byte loss of greedy and thin streams, by queue discipline (figure 5.1)",
        caption=(
            "Bytes on the wire that were dropped over those that were sent, one value per seed; "
            "the box holds the middle half, whiskers reach the extremes."
        ),
        chart=boxes_by_setting(
            box_numbers(results.groups, value, [AXIS, "group"]),
            setting=AXIS,
            order=disciplines(results),
            measure_title="byte loss / %",
        ),
    )


def _latency(results: Results, kind: str, name: str, groups: list[str], where: str) -> Figure:
    chosen = results.latencies.filter(
        (pl.col("scope") == "group") & (pl.col("kind") == kind) & pl.col("group").is_in(groups)
    )
    boxes = chosen.group_by([AXIS, "group"], maintain_order=True).agg(
        (1000 * pl.col(column)).mean().alias(number) for number, column in PERCENTILES.items()
    )
    return Figure(
        name=f"{kind}-latency-by-discipline",
        title=f"{name[0].upper()}{name[1:]} by queue discipline ({where})",
        caption=(
            "Percentiles of all samples of a group, mean over seeds: the box holds the middle "
            "half, whiskers reach from the 1st to the 99th percentile."
        ),
        chart=boxes_by_setting(
            boxes,
            setting=AXIS,
            order=disciplines(results),
            measure_title=f"{name} / ms",
        ),
    )


STUDY = Study(
    name="queue-disciplines",
    title="30 thin against 30 greedy streams: what does the queue discipline change?",
    source="J. Markussen, master's thesis, Univ. of Oslo 2014, section 5.1, figures 5.1, 5.2",
    package=__package__,
    forms={"full": "scenario.toml", "reduced": "reduced.toml"},
    figures=figures,
    claims=claims,
)
