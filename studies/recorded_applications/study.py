"""The applications of table 2.1, each beside greedy streams (Markussen 2014).

This study asks which applications that were recorded gain from faster retransmission, under the
conditions of the thesis' experiments, and whether greedy streams pay for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from fairwind.plots import Figure, Heat, heat_maps
from fairwind.results import Claim, Results
from fairwind.studies import Part, Study
from fairwind.studies.comparisons import between_groups, differences, interval_per_panel
from fairwind.studies.effects import (
    BENEFIT_RULE,
    DELIVERY_LATENCIES,
    FAILED,
    HARM_RULE,
    HELD,
    IS_HARM,
    IS_WITHOUT_HARM,
    LOSS_RULE,
    MARGIN_RATIO,
    MORE_IS_BETTER,
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
    alike,
    interval_in_words,
    listed,
    sentence,
    signed,
)

from ..thin_streams import (
    IN_FULL,
    SOURCE_VARIANTS,
    compared_in_words,
    fair_bits_per_second,
    mechanisms,
    offered_bits_per_second,
    offered_payload_bits_per_second,
    variants,
)

APPLICATION = "application"
"""Column of the axis of applications."""

NAMES = IN_FULL | {"RDB": "redundant data bundling", "RACK-TLP": "RACK-TLP (Linux 6.18)"}

GOODPUT, LOSS = "goodput_bits_per_second", "packet_loss_ratio"


def claims(results: Results) -> list[Claim]:
    """Judge who gains by each mechanism, who pays, and who loses more packets."""
    compared = mechanisms(variants(results))
    thin = with_effects(
        differences(results, "thin", [*DELIVERY_LATENCIES], compared, [APPLICATION])
    )
    return [
        *(_gains(results, variant, thin) for variant in compared),
        _unharmed(results, compared),
        _lose_more(results),
        _get_their_share(results),
    ]


def _gains(results: Results, variant: str, every: pl.DataFrame) -> Claim:
    """Judge H1 for a mechanism: it reduces the delivery latency of each application."""
    details = every.filter(pl.col(VARIANT) == variant)
    judged = benefits(details, [APPLICATION])
    opening = "" if variant in SOURCE_VARIANTS else "Beyond the source: "
    return Claim(
        statement=(
            f"{opening}{NAMES.get(variant, variant)} reduces the latency that recorded "
            "applications experience (H1)."
        ),
        rule=(
            "Delivery latency of the application's streams: mean, median, 99th percentile. "
            f"{compared_in_words(results)}. A place is an application. {BENEFIT_RULE}"
        ),
        verdict=verdict_of(judged),
        evidence=f"{_changes(details)}.",
        details=details,
        in_short=_where(judged, pl.col(HELD), pl.col(FAILED)),
    )


def _unharmed(results: Results, compared: list[str]) -> Claim:
    """Judge H2: greedy streams lose no goodput to any mechanism of any application."""
    details = with_effects(differences(results, "greedy", [GOODPUT], compared, [APPLICATION]))
    worst = details.sort("relative_ratio").row(0, named=True)
    cases = {
        variant: _where(own, IS_WITHOUT_HARM, IS_HARM).rstrip(".")
        for (variant,), own in details.group_by(VARIANT, maintain_order=True)
    }
    same = alike((text, str(variant)) for variant, text in cases.items())
    return Claim(
        statement="H2. Greedy streams lose no goodput to any mechanism of the applications.",
        rule=(
            f"Goodput of the greedy streams. {compared_in_words(results)}. A place is a mechanism "
            f"of an application. {HARM_RULE}"
        ),
        verdict=verdict_of(without_harm(details, [VARIANT, APPLICATION])),
        evidence=f"The largest loss: {signed(worst)} ({worst[VARIANT]}, {worst[APPLICATION]}).",
        details=details,
        in_short=sentence([_with(listed(names), text) for text, names in same.items()]),
    )


def _lose_more(results: Results) -> Claim:
    """Judge: applications lose a larger share of their packets than the greedy streams."""
    keys = [VARIANT, APPLICATION]
    details = with_effects(between_groups(results.groups, "greedy", "thin", LOSS, keys))
    plain = details.filter(pl.col(VARIANT) == REFERENCE)
    shares = "; ".join(
        f"{row[APPLICATION]} {row['mean_second']:.1%}, greedy {row['mean_first']:.1%}"
        for row in plain.iter_rows(named=True)
    )
    return Claim(
        statement="Recorded applications lose a larger share of their packets than greedy streams.",
        rule=(
            "Relative packet loss of the application's streams against that of the greedy ones of "
            f"the same run. A place is a mechanism of an application. {LOSS_RULE}"
        ),
        verdict=loses_more(details),
        evidence=f"With {REFERENCE}: {shares}.",
        details=details,
        in_short=sentence([_with(REFERENCE, _where(plain, IS_HARM, IS_WITHOUT_HARM))]),
    )


def share_ratios(results: Results) -> pl.DataFrame:
    """Give goodput over the payload of the max-min fair share, per application and mechanism.

    Returns
    -------
    DataFrame
        ``application``, ``variant``, ``fair_bits_per_second`` (payload of all streams), ``mean``
        with ``low`` and ``high`` (95 % interval of the ratio's mean over seeds), ``replicates``.
    """
    fair = pl.DataFrame(
        [
            (cell.settings[APPLICATION], cell.settings[VARIANT], _fair_payload(cell.experiment))
            for cell in results.manifest.plan.cells
        ],
        schema={APPLICATION: pl.String, VARIANT: pl.String, "fair_bits_per_second": pl.Float64},
        orient="row",
    )
    keys = [APPLICATION, VARIANT, "fair_bits_per_second"]
    thin = results.groups.filter(pl.col("group") == "thin").join(
        fair, on=keys[:2], maintain_order="left"
    )
    ratio = (pl.col(GOODPUT) / pl.col("fair_bits_per_second")).alias("ratio")
    return interval_per_panel(thin.with_columns(ratio), "ratio", keys)


def _fair_payload(experiment: dict[str, Any]) -> float:
    """Give the payload of the fair share of all streams, in bit/s; its headers take the rest."""
    on_wire = fair_bits_per_second(experiment)  # which refuses streams of unknown rates
    payload, offered = (
        rate(experiment) or math.nan
        for rate in (offered_payload_bits_per_second, offered_bits_per_second)
    )
    return on_wire * payload / offered


def _get_their_share(results: Results) -> Claim:
    """Judge: applications get the goodput that max-min fairness gives them."""
    details = share_ratios(results)
    is_whole, is_less = pl.col("low") > 1 - MARGIN_RATIO, pl.col("high") < 1 - MARGIN_RATIO
    judged = details.select(
        APPLICATION,
        VARIANT,
        is_whole.fill_null(value=False).alias(HELD),
        is_less.fill_null(value=False).alias(FAILED),
    )
    plain = judged.filter(pl.col(VARIANT) == REFERENCE)
    least = details.sort("mean").row(0, named=True)
    return Claim(
        statement="Recorded applications get the goodput that max-min fairness gives them.",
        rule=(
            "Goodput of the application's streams over the payload of their max-min fair share of "
            "the bottleneck, beside greedy streams that take the rest; mean over seeds. A place is "
            "a mechanism of an application. At one place it holds if the whole 95 % interval lies "
            f"above {1 - MARGIN_RATIO:.0%}; it fails if it lies below; otherwise it is undecided."
        ),
        verdict=verdict_of(judged),
        evidence=(
            f"The least: {least['mean']:.1%}{interval_in_words(least['low'], least['high'], '.1%')}"
            f" ({least[VARIANT]}, {least[APPLICATION]})."
        ),
        details=details,
        in_short=sentence([_with(REFERENCE, _where(plain, pl.col(HELD), pl.col(FAILED)))]),
    )


def _with(mechanism: str, text: str) -> str:
    """Put the mechanism that a sentence is about before it."""
    return f"with {mechanism} {text[0].lower()}{text[1:]}".rstrip(".")


def _where(rows: pl.DataFrame, holds: pl.Expr, fails: pl.Expr) -> str:
    """Name the applications for which a claim holds, fails, and is undecided."""
    cases = {HOLDS: holds, HOLDS_NOT: fails, IS_OPEN: ~holds & ~fails}
    parts = [(opening, rows.filter(when)[APPLICATION].to_list()) for opening, when in cases.items()]
    return sentence(
        [
            f"{opening} for {'all' if len(names) == rows.height else listed(names)}"
            for opening, names in parts
            if names
        ]
    )


def _changes(details: pl.DataFrame) -> str:
    """Give the changes of mean and 99th percentile of each application."""
    shown = {"delivery_latency_mean_s": "mean", "delivery_latency_p99_s": "99th percentile"}
    return "; ".join(
        f"{application}: "
        + ", ".join(
            f"{name} {signed(own.row(by_predicate=pl.col('measure') == measure, named=True))}"
            for measure, name in shown.items()
        )
        for (application,), own in details.group_by(APPLICATION, maintain_order=True)
    )


def figures(results: Results) -> list[Figure]:
    """Draw what each mechanism does to the latencies of each application."""
    return [
        Figure(
            name="latency-by-application",
            title="Delivery latency of recorded applications, by mechanism",
            caption=(
                f"How many times sooner than with {REFERENCE} data is delivered; green is sooner. "
                "Applications from the fewest writes in a second to the most."
            ),
            chart=_heat(results, "thin", DELIVERY_LATENCIES, "times sooner"),
        ),
        Figure(
            name="greedy-goodput-by-application",
            title="Goodput of the greedy streams beside them",
            caption=f"Goodput of 10 greedy streams against {REFERENCE}, as a factor.",
            chart=_heat(results, "greedy", {GOODPUT: "goodput of greedy streams"}, "times as much"),
        ),
    ]


def _heat(results: Results, group: str, measures: Mapping[str, str], title: str) -> object:
    """Draw by which factor measures are better than with the reference."""
    compared = mechanisms(variants(results))
    ratio = 1 + pl.col("relative_ratio")
    rows = differences(results, group, list(measures), compared, [APPLICATION]).select(
        pl.lit("").alias("row"),
        pl.col("measure").replace_strict(dict(measures)).alias("column"),
        pl.col(APPLICATION, VARIANT),
        pl.when(pl.col("measure").is_in(MORE_IS_BETTER)).then(ratio).otherwise(1 / ratio)
        .alias("factor"),
    )  # fmt: skip
    order = list(results.manifest.plan.axis(APPLICATION).labels)
    return heat_maps(
        Heat(rows, VARIANT, APPLICATION, "factor", compared, order, "mechanism", "", title)
    )


STUDY = Study(
    name="recorded-applications",
    title="Eleven recorded applications beside greedy streams: who gains by faster retransmission?",
    source="J. Markussen, master's thesis, Univ. of Oslo 2014, table 2.1 and section 4",
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
