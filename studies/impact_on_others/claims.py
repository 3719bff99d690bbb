"""The thesis' three hypotheses, each judged by what changes when thin streams are modified."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.contrasts import (
    Contrast,
    contrasted,
    harmless,
    in_words,
)
from fairwind.studies.hypotheses import IS_INCREASED, IS_REDUCED, MARGIN_RATIO
from fairwind.studies.in_part import how_each_changes, listed, sentence
from fairwind.studies.streams import group_of

AXIS = "modified"
"""Column of the axis that tells whose retransmissions are modified: none, half, all."""

LATENCIES = {
    "delivery_latency_mean_s": "mean",
    "delivery_latency_p50_s": "median",
    "delivery_latency_p99_s": "99th percentile",
    "ack_latency_p99_s": "99th percentile of the ACK latency",
}
"""What the application perceives: from its write to the read in order at the other side."""

SERVICE = {"goodput_bits_per_second": "goodput", "packet_loss_ratio": "packet loss"}
LESS_IS_WORSE = ("goodput_bits_per_second",)


MECHANISMS = {
    "redundant_bundling": "redundant data bundling",
    "tail_loss_probe": "RACK and the tail loss probe",
}
"""What forms change that change something else than the source."""


def claims(results: Results) -> list[Claim]:
    """Judge the three hypotheses."""
    return [
        latency_improved(results),
        unhurt(results, "greedy", "greedy streams", ("half", "all"), SERVICE, "H2"),
        unhurt(results, "thin", "unmodified thin streams", ("half",), SERVICE | LATENCIES, "H3"),
        still_disadvantaged(results),
    ]


def changed_by(results: Results) -> str:
    """Name what the modified streams do otherwise than all others."""
    cells = results.manifest.plan.cells
    plain, changed = (group_of(cells[place].experiment, "modified")["tcp"] for place in (0, -1))
    differing = (key for key in MECHANISMS if plain.get(key) != changed.get(key))
    return MECHANISMS.get(next(differing, ""), "the modifications")


def latency_improved(results: Results) -> Claim:
    """Judge H1: the modifications improve the latency that applications perceive."""
    contrasts = [_against_none("modified", amount) for amount in ("half", "all")]
    details = contrasted(results, contrasts, list(LATENCIES))
    less, more = details.filter(IS_REDUCED).height, details.filter(IS_INCREASED).height
    if less and not more:
        verdict = Verdict.BORNE_OUT
    elif less:
        verdict = Verdict.BORNE_OUT_IN_PART
    else:
        verdict = Verdict.NOT_BORNE_OUT if more else Verdict.UNDECIDED
    return Claim(
        statement=(
            "H1. The latency that applications perceive under congestion loss is improved by "
            f"{changed_by(results)}."
        ),
        rule=(
            "The modified streams against the same streams without modifications, when half and "
            "when all are modified; paired by seed, Holm-corrected. Borne out: some measure of "
            "latency falls significantly and none rises; in part: some rise; not: none falls and "
            "some rise; otherwise undecided."
        ),
        verdict=verdict,
        evidence=in_words(details, LATENCIES),
        details=details,
        in_short=how_each_changes(details, LATENCIES, IS_REDUCED, IS_INCREASED),
    )


def unhurt(
    results: Results,
    group: str,
    name: str,
    amounts: tuple[str, ...],
    measures: dict[str, str],
    label: str,
) -> Claim:
    """Judge H2 or H3: a group is served no worse when other streams are modified."""
    contrasts = [_against_none(group, amount) for amount in amounts]
    details = contrasted(results, contrasts, list(measures)).with_columns(
        pl.col("measure").is_in(LESS_IS_WORSE).alias("less_is_worse")
    )
    worse = (pl.col("less_is_worse") & IS_REDUCED) | (~pl.col("less_is_worse") & IS_INCREASED)
    return Claim(
        statement=f"{label}. {name[0].upper()}{name[1:]} are not hurt by {changed_by(results)}.",
        rule=(
            f"{', '.join(measures.values())} of the {name} against the run in which nobody is "
            f"modified; paired by seed, Holm-corrected. Borne out: every 95 % interval excludes "
            f"harm beyond {MARGIN_RATIO:.0%} of the value; not: significant harm beyond it; "
            "otherwise undecided."
        ),
        verdict=harmless(details, worse),
        evidence=in_words(details, measures),
        details=details,
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
    details = contrasted(results, contrasts, ["packet_loss_ratio"])
    more, rows = details.filter(IS_INCREASED).height, details.height
    if more == rows:
        verdict = Verdict.BORNE_OUT
    elif details.filter(IS_REDUCED).height == rows:
        verdict = Verdict.NOT_BORNE_OUT
    else:
        verdict = Verdict.BORNE_OUT_IN_PART if more else Verdict.UNDECIDED
    told = "; ".join(
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
            "paired by seed, Holm-corrected. Borne out: larger everywhere, significantly; not: "
            "smaller everywhere; in part: larger somewhere."
        ),
        verdict=verdict,
        evidence=f"{told}.",
        details=details,
        in_short=_who_loses_more(details),
    )


def _who_loses_more(details: pl.DataFrame) -> str:
    cases = {
        "a larger part is lost of": IS_INCREASED,
        "a smaller one of": IS_REDUCED,
        "neither is significant of": ~IS_INCREASED & ~IS_REDUCED,
    }
    parts = [(opening, details.filter(when)["contrast"]) for opening, when in cases.items()]
    return sentence(
        [f"{opening} {listed(names.to_list())}" for opening, names in parts if names.len()]
    )


def _against_none(group: str, amount: str) -> Contrast:
    reference, changed = ({AXIS: value, "group": group} for value in ("none", amount))
    return Contrast(f"{amount} modified", reference, changed)
