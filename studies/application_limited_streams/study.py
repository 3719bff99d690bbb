"""N greedy against N application-limited streams (Petlund et al., position paper, Figure 1).

This study asks whether thin streams with faster retransmission take throughput from greedy streams.
It compares four variants over ten numbers of streams. A form for a running Linux 6.18 adds that
kernel's defaults as a fifth variant.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots import (
    BOX,
    Figure,
    box_numbers,
    composed,
    group_colours,
    group_lines,
    inline,
    themed,
)
from fairwind.results import Claim, Results, Verdict
from fairwind.results.tidy import group_windows
from fairwind.statistics import mean_interval
from fairwind.studies import Study
from fairwind.studies.effects import ACK_LATENCIES
from fairwind.studies.panels import COUNT, VARIANT, Panels, interval_in_words, where_it_holds

from .. import thin_streams
from ..thin_streams import VARIANT_COLOURS, fair_bits_per_second, source_variants, variants


def fair_shares(results: Results) -> pl.DataFrame:
    """Max-min fair share of the thin aggregate for every stream count: min(N * rate, C / 2).

    Returns
    -------
    DataFrame
        ``flows_count``, ``fair_bits_per_second``.
    """
    rows = {}
    for cell in results.manifest.plan.cells:
        count = int(cell.settings["flows.*.count"])
        rows[count] = fair_bits_per_second(cell.experiment)
    return pl.DataFrame(
        {COUNT: list(rows), "fair_bits_per_second": list(rows.values())},
        schema={COUNT: pl.Int64, "fair_bits_per_second": pl.Float64},
    )


def share_ratios(results: Results) -> pl.DataFrame:
    """Give the thin aggregate's throughput over its fair share, per panel and variant.

    Returns
    -------
    DataFrame
        ``flows_count``, ``variant``, ``fair_bits_per_second``, ``ratio`` with ``low_ratio`` and
        ``high_ratio`` (95 % interval of the mean over seeds), ``replicates``.
    """
    thin = results.groups.filter(pl.col("group") == "thin").join(
        fair_shares(results), on=COUNT, maintain_order="left"
    )
    ratio = pl.col("throughput_bits_per_second") / pl.col("fair_bits_per_second")
    rows = []
    for (count, variant), part in thin.group_by([COUNT, VARIANT], maintain_order=True):
        interval = mean_interval(part.select(ratio).to_series().to_numpy())
        rows.append(
            {
                COUNT: count,
                VARIANT: variant,
                "fair_bits_per_second": part["fair_bits_per_second"][0],
                "ratio": interval.estimate,
                "low_ratio": interval.low,
                "high_ratio": interval.high,
                "replicates": interval.samples,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


# A single replicate has no interval; polars takes NaN for greater than every number.
IS_BELOW = pl.col("high_ratio").fill_nan(None) < 1
IS_ABOVE = pl.col("low_ratio").fill_nan(None) > 1


def claims(results: Results) -> list[Claim]:
    """Judge the source's two claims, and the purpose of each mechanism."""
    return [greedy_unharmed(results), thin_below_share(results), *latency_reduced(results)]


def greedy_unharmed(results: Results) -> Claim:
    """Judge H2: greedy streams lose no throughput to any variant."""
    return thin_streams.unharmed(
        results, "H2", "throughput_bits_per_second", "throughput", Panels()
    )


def latency_reduced(results: Results) -> list[Claim]:
    """Judge H1, variant by variant: it reduces the thin streams' delivery latency."""
    return thin_streams.latency_reduced(results, Panels())


def thin_below_share(results: Results) -> Claim:
    """Judge: thin streams fall below their fair share as competition grows."""
    names = source_variants(results)
    details = share_ratios(results).filter(pl.col(VARIANT).is_in(names))
    of_variant = {name: details.filter(pl.col(VARIANT) == name) for name in names}
    falling = [name for name, own in of_variant.items() if _is_below_to_the_end(own)]
    last = details.filter(pl.col(COUNT) == pl.col(COUNT).max())
    above = last.filter(IS_ABOVE).height
    verdict = Verdict.of(
        whole=len(falling) == len(of_variant),
        part=above and details.filter(IS_BELOW).height,
        refuted=above,
    )
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
            "interval. Holds: for every variant there is an N from which on all intervals lie "
            "below 1. If some variant's interval lies above 1 at the largest N: for some if an "
            "interval lies below 1 anywhere, else fails. Otherwise undecided."
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
    """Return whether there is an N from which on every interval lies below 1."""
    largest = own.filter(pl.col(COUNT) == pl.col(COUNT).max())
    return bool((largest["high_ratio"] < 1).all())


SECONDS = [step * 10.0**power for power in range(-3, 4) for step in (1, 2, 5)]
"""Where an axis of latency has its lines."""

COLUMNS = 5
"""Panels in one row: ten panels make two rows."""


def figures(results: Results) -> list[Figure]:
    """Draw throughput and ACK latency by variant and number of streams."""
    return [_throughput(results), _latency(results)]


def _throughput(results: Results) -> Figure:
    return Figure(
        name="throughput-by-variant",
        title="Throughput of N greedy and N thin streams, by the thin streams' retransmission",
        caption=(
            "Each panel: N greedy (red) against N thin streams (blue). Boxes: aggregate "
            "throughput on the wire, IP headers and retransmissions included, in windows of 30 s, "
            "all windows of all seeds; the box holds the middle half, whiskers reach the extremes. "
            "Dotted line: fair share of the thin aggregate, min(N x rate, C / 2)."
        ),
        chart=throughput_chart(group_windows(results), fair_shares(results), variants(results)),
    )


def _latency(results: Results) -> Figure:
    return Figure(
        name="ack-latency-by-variant",
        title="ACK latency of thin streams, by their retransmission",
        caption=(
            "Time from the first transmission of a thin stream's segment to its cumulative "
            "acknowledgement at the sender: mean, median and 99th percentile over all segments of "
            "a run. Points: mean over seeds; bars: from the smallest to the largest seed."
        ),
        chart=latency_chart(results.groups.filter(pl.col("group") == "thin"), variants(results)),
    )


def throughput_chart(
    windows: pl.DataFrame, shares: pl.DataFrame, order: list[str]
) -> alt.TopLevelMixin:
    """Draw box plots of throughput, one panel per number of streams.

    Parameters
    ----------
    windows : DataFrame
        ``flows_count``, ``variant``, ``group``, ``throughput_bits_per_second``.
    shares : DataFrame
        ``flows_count``, ``fair_bits_per_second``.
    order : list of str
        The variants from left to right.
    """
    rate = pl.col("throughput_bits_per_second") / 1000
    rows = box_numbers(windows, rate, [COUNT, VARIANT, "group"]).join(
        shares, on=COUNT, maintain_order="left"
    )
    rows = rows.with_columns(
        pl.format("N = {}", COUNT).alias("panel"),
        (pl.col("fair_bits_per_second") / 1000).alias("fair_kbit_per_second"),
    )
    panels = rows["panel"].unique(maintain_order=True).to_list()
    data = inline(rows)
    base = alt.Chart(data).encode(
        x=alt.X(f"{VARIANT}:N", sort=order, title=None, axis=alt.Axis(labelAngle=-45)),
        xOffset=alt.XOffset("group:N", scale=alt.Scale(padding=0.1)),
        color=alt.Color(
            "group:N",
            scale=group_colours(sorted(set(rows["group"]))),
            legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
        ),
        tooltip=[alt.Tooltip(f"{VARIANT}:N"), alt.Tooltip("group:N")]
        + [alt.Tooltip(f"{name}:Q", format=".4g") for name in BOX],
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("lowest:Q", title="throughput / kbit/s", scale=alt.Scale(zero=True)),
        y2=alt.Y2("highest:Q"),
    )
    boxes = base.mark_bar(size=10, opacity=0.45).encode(
        y=alt.Y("lower_quarter:Q"), y2=alt.Y2("upper_quarter:Q")
    )
    medians = base.mark_tick(size=10, thickness=2.5, opacity=1).encode(y=alt.Y("median:Q"))
    fair = (
        alt.Chart(data)
        .mark_rule(strokeDash=[2, 3], strokeWidth=1.5, color="black")
        .encode(y=alt.Y("mean(fair_kbit_per_second):Q"))
    )
    chart = composed.layers(whiskers, boxes, medians, fair, width=130, height=230)
    facet = alt.Facet("panel:N", sort=panels, title=None)
    return themed(composed.panels(chart, facet, columns=COLUMNS))


def latency_chart(groups: pl.DataFrame, order: list[str]) -> alt.TopLevelMixin:
    """Draw mean, median and 99th percentile of ACK latency against the number of streams.

    Parameters
    ----------
    groups : DataFrame
        ``flows_count``, ``variant``, ``ack_latency_mean_s``, ``ack_latency_p50_s``,
        ``ack_latency_p99_s``; one row per replicate.
    order : list of str
        The variants, in the order of the legend.
    """
    rows = (
        groups.rename(ACK_LATENCIES)
        .unpivot(on=list(ACK_LATENCIES.values()), index=[COUNT, VARIANT], variable_name="statistic")
        .group_by([COUNT, VARIANT, "statistic"], maintain_order=True)
        .agg(
            pl.col("value").mean().alias("mean_s"),
            pl.col("value").min().alias("low_s"),
            pl.col("value").max().alias("high_s"),
        )
    )
    colour, dash = group_lines(order, VARIANT, VARIANT_COLOURS)
    base = alt.Chart(inline(rows)).encode(
        x=alt.X(
            f"{COUNT}:Q",
            title="N",
            scale=alt.Scale(type="log", base=2),
            axis=alt.Axis(
                values=groups[COUNT].unique().sort().to_list(), labelOverlap=False, labelFlush=False
            ),
        ),
        color=colour,
    )
    lines = base.mark_line(point=alt.OverlayMarkDef(filled=True, size=45)).encode(
        strokeDash=dash,
        y=alt.Y(
            "mean_s:Q",
            title="ACK latency / s",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(values=SECONDS, format="~r"),
        ),
        tooltip=[
            alt.Tooltip(f"{VARIANT}:N"),
            alt.Tooltip(f"{COUNT}:Q"),
            alt.Tooltip("mean_s:Q", format=".4g"),
        ],
    )
    ranges = base.mark_rule().encode(y=alt.Y("low_s:Q"), y2=alt.Y2("high_s:Q"))
    chart = composed.layers(ranges, lines, width=270, height=260)
    facet = alt.Facet("statistic:N", sort=list(ACK_LATENCIES.values()), title=None)
    return themed(composed.panels(chart, facet, columns=3, resolve=composed.axes(is_own=True)))


STUDY = Study(
    name="application-limited-streams",
    title="N greedy against N thin streams: does faster retransmission hurt others?",
    source="A. Petlund, A. Brunstrom, J. Markussen, M. Fuchs, position paper, Figure 1",
    package=__package__,
    forms={
        "full": "scenario.toml",
        "payload": "payload.toml",
        "reduced": "reduced.toml",
        "kernel": "kernel.toml",
        "kernel-reduced": "kernel-reduced.toml",
    },
    kernel_forms={"full": "kernel", "reduced": "kernel-reduced"},
    kernel_jobs=6,
    figures=figures,
    claims=claims,
)
