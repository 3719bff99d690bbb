"""The thesis' first two hypotheses, asked of mechanisms and queues of today."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.contrasts import Contrast, contrasted, harmless, in_words
from fairwind.studies.hypotheses import IS_INCREASED, IS_REDUCED, MARGIN_RATIO
from fairwind.studies.in_part import how_each_changes
from fairwind.studies.streams import REFERENCE, VARIANT, mechanisms, variants

DISCIPLINE = "discipline"
PLAIN = "pfifo"
"""The discipline that the others are compared with."""

LATENCIES = {
    "delivery_latency_mean_s": "mean",
    "delivery_latency_p99_s": "99th percentile",
}
GOODPUT = {"goodput_bits_per_second": "goodput"}


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
    details = contrasted(results, [contrast], list(LATENCIES))
    less, more = details.filter(IS_REDUCED).height, details.filter(IS_INCREASED).height
    if less == details.height:
        verdict = Verdict.BORNE_OUT
    elif less:
        verdict = Verdict.BORNE_OUT_IN_PART
    else:
        verdict = Verdict.NOT_BORNE_OUT if more else Verdict.UNDECIDED
    return Claim(
        statement=f"{name} reduces the latency that applications of thin streams perceive (H1).",
        rule=(
            f"Delivery latency of the thin streams against {REFERENCE} behind {PLAIN}, paired by "
            "seed, Holm-corrected. Borne out: mean and 99th percentile fall significantly; in "
            "part: one does; not: one rises and none falls; otherwise undecided."
        ),
        verdict=verdict,
        evidence=in_words(details, LATENCIES),
        details=details,
        in_short=how_each_changes(details, LATENCIES, IS_REDUCED, IS_INCREASED),
    )


def _greedy_unhurt(results: Results, name: str, contrast: Contrast) -> Claim:
    details = contrasted(results, [contrast], list(GOODPUT)).with_columns(
        pl.lit(value=True).alias("less_is_worse")
    )
    return Claim(
        statement=f"{name} does not hurt greedy streams (H2).",
        rule=(
            f"Goodput of the greedy streams against {REFERENCE} behind {PLAIN}, paired by seed. "
            f"Borne out: the 95 % interval excludes a loss of {MARGIN_RATIO:.0%}; not: a "
            "significant loss beyond it; otherwise undecided."
        ),
        verdict=harmless(details, IS_REDUCED),
        evidence=in_words(details, GOODPUT),
        details=details,
    )


def _of_variant(name: str, group: str) -> Contrast:
    return Contrast(name, _cell(PLAIN, REFERENCE, group), _cell(PLAIN, name, group))


def _of_discipline(name: str, group: str) -> Contrast:
    return Contrast(name, _cell(PLAIN, REFERENCE, group), _cell(name, REFERENCE, group))


def _cell(discipline: str, variant: str, group: str) -> dict[str, str]:
    return {DISCIPLINE: discipline, VARIANT: variant, "group": group}
