"""60 thin against 10 greedy streams, half of the thin ones modified (Markussen 2014, section 5.2).

This study judges three hypotheses of the source: whether faster retransmission helps thin streams,
and whether it hurts others. Two forms replace it by redundant data bundling and by RACK-TLP.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from fairwind.plots import Figure, box_numbers, boxes_by_setting, latency_distribution
from fairwind.quantities import parse_seconds
from fairwind.results import Claim, Results
from fairwind.results.tidy import group_windows, latency_buckets
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
    IS_HARM,
    IS_WITHOUT_HARM,
    LOSS,
    LOSS_RULE,
    benefits,
    effects_in_words,
    loses_more,
    verdict_of,
    with_effects,
    without_harm,
)
from fairwind.studies.panels import listed, sentence
from fairwind.studies.workloads import group_of, mean_of

MINIMUM_VARIANCE_S = 0.2
"""Linux adds at least this much to the smoothed round trip for its time-out."""


def expected_steps(round_trip_s: float, interval_s: float) -> pl.DataFrame:
    """Give the ACK latency of a lost segment, by the event that repairs it.

    A duplicate acknowledgment comes one round trip after each later write, and the repair takes
    one more. The time-out runs from the acknowledgment of the segment before, which comes one
    interval earlier. What was written behind a lost segment waits for it, each an interval less.

    Parameters
    ----------
    round_trip_s : float
        With the queue that is usually met, seconds.
    interval_s : float
        From one write to the next, seconds.

    Returns
    -------
    DataFrame
        ``label``, ``latency_ms``.
    """
    timeout_s = round_trip_s + MINIMUM_VARIANCE_S
    before_s = round_trip_s - interval_s
    repaired_s = 3 * interval_s + 2 * round_trip_s
    steps_s = {
        "not lost": round_trip_s,
        "three behind": repaired_s - 3 * interval_s,
        "two behind": repaired_s - 2 * interval_s,
        "one behind a lost one": repaired_s - interval_s,
        "third duplicate ACK, or time-out": repaired_s,
        "": before_s + timeout_s + round_trip_s,
        "second time-out, linear": before_s + 2 * timeout_s + round_trip_s,
        "second time-out, doubled": before_s + 3 * timeout_s + round_trip_s,
    }
    return pl.DataFrame(
        {"label": list(steps_s), "latency_ms": [1000 * step for step in steps_s.values()]}
    )


AXIS = "modified"
"""Column of the share of thin streams with modified retransmission: none, half, all."""

ACK_LATENCY = {"ack_latency_p99_s": "99th percentile of the ACK latency"}

LATENCIES = DELIVERY_LATENCIES | ACK_LATENCY
"""Latency of the application, and one of the sender beside it."""

MECHANISMS = {
    "redundant_bundling": "redundant data bundling",
    "tail_loss_probe": "RACK and the tail loss probe",
}
"""Mechanisms of the forms that do not use those of the source."""


def claims(results: Results) -> list[Claim]:
    """Judge the three hypotheses."""
    return [
        latency_improved(results),
        unhurt(results, "H2", "greedy", "greedy streams", ("half", "all"), GOODPUT, beside=LOSS),
        unhurt(
            results,
            "H3",
            "thin",
            "unmodified thin streams",
            ("half",),
            GOODPUT | LOSS | DELIVERY_LATENCIES,
            beside=ACK_LATENCY,
        ),
        still_disadvantaged(results),
    ]


def changed_by(results: Results) -> str:
    """Name the mechanism of the modified streams."""
    cells = results.manifest.plan.cells
    plain, changed = (group_of(cells[place].experiment, "modified")["tcp"] for place in (0, -1))
    differing = (key for key in MECHANISMS if plain.get(key) != changed.get(key))
    return MECHANISMS.get(next(differing, ""), "the modifications")


def latency_improved(results: Results) -> Claim:
    """Judge H1: the modifications improve the latency that applications perceive."""
    contrasts = [_against_none("modified", amount) for amount in ("half", "all")]
    details = with_effects(contrasted(results, contrasts, list(LATENCIES)))
    judged = benefits(details.filter(pl.col("measure").is_in([*DELIVERY_LATENCIES])), [CONTRAST])
    return Claim(
        statement=(
            "H1. The latency that applications perceive under congestion loss is improved by "
            f"{changed_by(results)}."
        ),
        rule=(
            "Delivery latency of the modified streams (mean, median, 99th percentile) against the "
            "same streams without modifications, when half and when all are modified; "
            f"{pairing_in_words(results)}. A place is the share that is modified. {BENEFIT_RULE} "
            "ACK latency is shown beside it."
        ),
        verdict=verdict_of(judged),
        evidence=in_words(details, LATENCIES),
        details=details,
        in_short=effects_in_words(details, LATENCIES),
    )


def unhurt(
    results: Results,
    label: str,
    group: str,
    name: str,
    amounts: tuple[str, ...],
    measures: Mapping[str, str],
    beside: Mapping[str, str],
) -> Claim:
    """Judge H2 or H3: a group is served no worse when other streams are modified.

    Parameters
    ----------
    measures, beside : mapping of str to str
        The columns that are judged and those that are only shown, with names for sentences.
    """
    contrasts = [_against_none(group, amount) for amount in amounts]
    shown = {**measures, **beside}
    details = with_effects(contrasted(results, contrasts, list(shown)))
    judged = details.filter(pl.col("measure").is_in([*measures]))
    return Claim(
        statement=f"{label}. {name[0].upper()}{name[1:]} are not hurt by {changed_by(results)}.",
        rule=(
            f"{', '.join(measures.values())} of the {name} against the run in which nobody is "
            f"modified; {pairing_in_words(results)}. A place is the share that is modified. "
            f"{HARM_RULE} Shown beside it: {', '.join(beside.values())}."
        ),
        verdict=verdict_of(without_harm(judged, [CONTRAST])),
        evidence=in_words(details, shown),
        details=details,
        in_short=effects_in_words(judged, measures),
    )


def still_disadvantaged(results: Results) -> Claim:
    """Judge the thesis' outcome: modified thin streams lose more packets than greedy ones."""
    contrasts = [
        Contrast(
            f"{group} ({amount} modified)",
            {AXIS: amount, "group": "greedy"},
            {AXIS: amount, "group": group},
        )
        for amount, group in (("none", "thin"), ("half", "modified"), ("all", "modified"))
    ]
    details = with_effects(contrasted(results, contrasts, ["packet_loss_ratio"]))
    text = "; ".join(
        f"{row['contrast']}: {row['mean_variant']:.2%} of packets lost, greedy "
        f"{row['mean_reference']:.2%}"
        for row in details.iter_rows(named=True)
    )
    return Claim(
        statement=(
            "Thin streams, modified or not, are at a disadvantage when they share a resource "
            "with greedy ones: they lose a larger part of their packets."
        ),
        rule=(
            "Relative packet loss of the thin group against the greedy one of the same run, "
            f"{pairing_in_words(results)}. {LOSS_RULE}"
        ),
        verdict=loses_more(details),
        evidence=f"{text}.",
        details=details,
        in_short=_who_loses_more(details),
    )


def _who_loses_more(details: pl.DataFrame) -> str:
    cases = {
        "a larger part is lost of": IS_HARM,
        "no larger one of": IS_WITHOUT_HARM,
        "it is undecided of": ~IS_HARM & ~IS_WITHOUT_HARM,
    }
    parts = [(opening, details.filter(when)["contrast"]) for opening, when in cases.items()]
    return sentence(
        [f"{opening} {listed(names.to_list())}" for opening, names in parts if names.len()]
    )


def _against_none(group: str, amount: str) -> Contrast:
    reference, changed = ({AXIS: value, "group": group} for value in ("none", amount))
    return Contrast(f"{amount} modified", reference, changed)


SLOWEST_FROM = 0.84
"""Lower end of the annotated figure; above are lost segments and those behind them."""

STEPS_TOLD = (
    "Upright lines: when the repair of a lost segment is expected to be acknowledged, by the "
    "median round trip, the mean interval of writes, and a time-out of the round trip plus 200 ms. "
    "The first duplicate ACK would repair at the line of two behind."
)


def figures(results: Results) -> list[Figure]:
    """Draw figures 5.3 to 5.6."""
    half = latency_buckets(results, "ack").filter(
        (pl.col(AXIS) == "half") & pl.col("group").is_in(["thin", "modified"])
    )
    return [_throughput(results), _loss(results), _latency(half), _annotated(results, half)]


def _throughput(results: Results) -> Figure:
    return Figure(
        name="throughput-by-group",
        title="Throughput of greedy, thin and modified thin streams (figure 5.3)",
        caption=(
            "Aggregate throughput on the wire in windows of 30 s, all windows of all seeds, when "
            "none, half or all of the thin streams are modified; the box holds the middle half, "
            "whiskers reach the extremes."
        ),
        chart=_boxes(results, pl.col("throughput_bits_per_second") / 1000, "throughput / kbit/s"),
    )


def _loss(results: Results) -> Figure:
    return Figure(
        name="packet-loss-by-group",
        title="Relative packet loss of greedy, thin and modified thin streams (figure 5.4)",
        caption=(
            "Packets dropped over packets sent in windows of 30 s, all windows of all seeds; boxes "
            "as above."
        ),
        chart=_boxes(
            results, 100 * pl.col("packets_lost") / pl.col("packets_sent"), "packet loss / %"
        ),
    )


def _boxes(results: Results, value: pl.Expr, title: str) -> object:
    return boxes_by_setting(
        box_numbers(group_windows(results), value, [AXIS, "group"]),
        setting=AXIS,
        order=list(results.manifest.plan.axis(AXIS).labels),
        measure_title=title,
        setting_title="thin streams that are modified",
    )


def _latency(half: pl.DataFrame) -> Figure:
    return Figure(
        name="ack-latency-of-thin",
        title="ACK latency of thin streams, modified and not (figure 5.5)",
        caption=(
            "Time from the first transmission of a segment to its cumulative acknowledgement at "
            "the sender; half of the thin streams are modified; all segments of all seeds."
        ),
        chart=latency_distribution(half),
    )


def _annotated(results: Results, half: pl.DataFrame) -> Figure:
    interval_s = _interval_s(results)
    if interval_s is None:
        steps, text = None, "When repairs are due is not known of this workload."
    else:
        steps, text = expected_steps(_usual_round_trip_s(half), interval_s), STEPS_TOLD
    return Figure(
        name="ack-latency-annotated",
        title="What ends the wait: the steps of the ACK latency (figure 5.6)",
        caption=f"As before, the slowest {1 - SLOWEST_FROM:.0%}. {text}",
        chart=latency_distribution(half, marks=steps, lowest_share=SLOWEST_FROM),
    )


def _usual_round_trip_s(half: pl.DataFrame) -> float:
    """Give the median of the ACK latency."""
    slots = half.group_by("upper_s").agg(pl.col("count").sum()).sort("upper_s")
    reached = slots.filter(pl.col("count").cum_sum() * 2 >= pl.col("count").sum())
    return float(reached["upper_s"][0])


def _interval_s(results: Results) -> float | None:
    """Give the mean time between two writes of a thin stream; None if it is not known."""
    workload = group_of(results.manifest.plan.cells[0].experiment, "thin")["workload"]
    return mean_of(workload.get("interval", {}), parse_seconds)


STUDY = Study(
    name="impact-on-others",
    title="60 thin against 10 greedy streams: do modified thin streams hurt others?",
    source="J. Markussen, master's thesis, Univ. of Oslo 2014, section 5.2, figures 5.3 to 5.6",
    package=__package__,
    forms={
        "full": "scenario.toml",
        "reduced": "reduced.toml",
        "bundling": "bundling.toml",
        "rack": "rack.toml",
        "kernel": "kernel.toml",
        "kernel-reduced": Part("kernel.toml", {"sweep.repeat": "5"}),
    },
    kernel_forms={"full": "kernel", "reduced": "kernel-reduced"},
    kernel_jobs=4,
    figures=figures,
    claims=claims,
)
