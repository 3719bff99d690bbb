"""N thin against N greedy streams (Markussen 2014, section 4.1).

This study asks who gets the capacity, who loses packets, and from which number of streams on thin
connections no longer work.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots import Figure
from fairwind.results import Claim, Results, Verdict
from fairwind.studies import Part, Study
from fairwind.studies.comparisons import interval_per_panel
from fairwind.studies.panels import (
    COUNT,
    KILO,
    PER_CENT,
    REFERENCE,
    SEEDS,
    VARIANT,
    Panels,
    estimates,
    interval_in_words,
    measure_by_count,
    setting_in_words,
    where_it_holds,
)

from ..thin_streams import at_a_disadvantage, latency_reduced, unharmed

TOO_MANY_RATIO = 0.1
"""From this share of problematic connections on we call a path too congested."""


def claims(results: Results) -> list[Claim]:
    """Judge hypotheses 1 and 2, the source's conclusion, and whether it is too congested."""
    panels = Panels.of(results, COUNT)
    return [
        *latency_reduced(results, panels),
        unharmed(results, "H2", "goodput_bits_per_second", "goodput", panels),
        at_a_disadvantage(results, panels),
        too_congested(results, panels),
    ]


def too_congested(results: Results, panels: Panels) -> Claim:
    """Judge: beside as many greedy streams, unmodified thin connections become problematic."""
    thin = results.groups.filter((pl.col("group") == "thin") & (pl.col(VARIANT) == REFERENCE))
    share = (pl.col("flows_problematic") / pl.col("flows")).alias("problematic_ratio")
    details = interval_per_panel(thin.with_columns(share), "problematic_ratio", panels.columns)
    is_above, is_below = pl.col("low") > TOO_MANY_RATIO, pl.col("high") < TOO_MANY_RATIO
    last = details.filter(pl.col(COUNT) == pl.col(COUNT).max())
    verdict = Verdict.of(
        whole=last.filter(is_above).height == last.height,
        part=details.filter(is_above).height,
        refuted=details.filter(is_below).height == details.height,
    )
    sides = {f"above {TOO_MANY_RATIO:.0%} for": is_above, "below it for": is_below}
    return Claim(
        statement=(
            "With as many greedy as thin streams the path becomes too congested for thin "
            "connections: many of them are problematic."
        ),
        rule=(
            "Share of the unmodified thin connections that are problematic, 95 % interval of the "
            f"mean over seeds. Holds: above {TOO_MANY_RATIO:.0%} at the largest N, for some: at "
            "some N; fails: below it at every N; otherwise undecided."
        ),
        verdict=verdict,
        evidence=(
            f"{panels.sides(details, sides)}. At N = {last[COUNT][0]}: {_shares(last, panels)}."
        ),
        details=details,
        in_short=where_it_holds(
            details,
            panels,
            {"it is": is_above, "it is not": is_below, "it is undecided": ~is_above & ~is_below},
            by=None,
        ),
    )


def _shares(rows: pl.DataFrame, panels: Panels) -> str:
    return "; ".join(
        ", ".join(
            [
                *(setting_in_words(name, row[name]) for name in panels.beside),
                f"{row['mean']:.1%}{interval_in_words(row['low'], row['high'], '.1%')}",
            ]
        )
        for row in rows.iter_rows(named=True)
    )


def figures(results: Results) -> list[Figure]:
    """Draw goodput, relative loss, problematic connections and latency against N."""
    return [
        Figure(
            name="aggregated-goodput",
            title="Aggregated goodput of N greedy and N thin streams (figure 4.1)",
            caption=(
                "Payload that the receiving applications read, each byte once, summed over all "
                f"streams of a kind. {SEEDS}"
            ),
            chart=_chart(results, "goodput_bits_per_second", KILO, "aggregated goodput / kbit/s"),
        ),
        Figure(
            name="relative-loss",
            title="Relative loss of N greedy and N thin streams (figure 4.2)",
            caption=f"Packets lost over packets sent, of all streams of a kind. {SEEDS}",
            chart=_chart(results, "packet_loss_ratio", PER_CENT, "relative loss / %"),
        ),
        Figure(
            name="problematic-connections",
            title="Problematic connections among N greedy and N thin ones (table 4.1)",
            caption=(
                "Connections that never came to be or were given up, that repeated their SYN, had "
                "three or more time-outs in a row, or let a write wait for 10 s or more. "
                f"{SEEDS}"
            ),
            chart=_chart(results, "flows_problematic", 1.0, "problematic connections"),
        ),
        Figure(
            name="ack-latency-by-count",
            title="ACK latency of N greedy and N thin streams, 99th percentile",
            caption=(
                "Time from the first transmission of a segment to its cumulative acknowledgement "
                f"at the sender. {SEEDS}"
            ),
            chart=_chart(results, "ack_latency_p99_s", 1.0, "ACK latency p99 / s"),
        ),
    ]


def _chart(results: Results, measure: str, scale: float, title: str) -> alt.TopLevelMixin:
    frame: pl.DataFrame = estimates(results, measure, scale)
    return measure_by_count(frame, Panels.of(results, COUNT), title)


STUDY = Study(
    name="thin-vs-greedy",
    title="N thin against N greedy streams: goodput, loss and failing connections",
    source="J. Markussen, thesis, University of Oslo 2014, section 4.1",
    package=__package__,
    forms={
        "full": "scenario.toml",
        "together": "together.toml",
        "intervals": "intervals.toml",
        "reduced": "reduced.toml",
        "kernel": "kernel.toml",
        "kernel-reduced": Part(
            "kernel.toml", {"sweep.repeat": "5", "sweep.flows.*.count": "[1, 10, 30, 60]"}
        ),
    },
    kernel_forms={"full": "kernel", "reduced": "kernel-reduced"},
    kernel_jobs=4,
    figures=figures,
    claims=claims,
)
