"""The source's figure, and the latency it does not show."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots import Figure, group_colours, group_lines, inline, themed
from fairwind.results import Results
from fairwind.results.tidy import group_windows
from fairwind.studies.streams import COUNT, VARIANT, VARIANT_COLOURS, variants

from .shares import fair_shares

BOX = {"lowest": 0.0, "lower_quarter": 0.25, "median": 0.5, "upper_quarter": 0.75, "highest": 1.0}
"""The numbers that a box shows, as quantiles."""

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
    rows = _boxes(windows).join(shares, on=COUNT, maintain_order="left")
    rows = rows.with_columns(
        pl.format("N = {}", COUNT).alias("panel"),
        (pl.col("fair_bits_per_second") / 1000).alias("fair_kbit_per_second"),
    )
    panels = rows["panel"].unique(maintain_order=True).to_list()
    base = alt.Chart().encode(
        x=alt.X(f"{VARIANT}:N", sort=order, title=None, axis=alt.Axis(labelAngle=-45)),
        xOffset=alt.XOffset("group:N", scale=alt.Scale(padding=0.1)),
        color=alt.Color(
            "group:N",
            scale=group_colours(sorted(set(rows["group"]))),
            legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
        ),
        tooltip=[f"{VARIANT}:N", "group:N"]
        + [alt.Tooltip(f"{name}:Q", format=".4g") for name in BOX],
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("lowest:Q", title="throughput / kbit/s", scale=alt.Scale(zero=True)), y2="highest:Q"
    )
    boxes = base.mark_bar(size=10, opacity=0.45).encode(y="lower_quarter:Q", y2="upper_quarter:Q")
    medians = base.mark_tick(size=10, thickness=2.5, opacity=1).encode(y="median:Q")
    fair = (
        alt.Chart()
        .mark_rule(strokeDash=[2, 3], strokeWidth=1.5, color="black")
        .encode(y="mean(fair_kbit_per_second):Q")
    )
    chart = (
        alt.layer(whiskers, boxes, medians, fair, data=inline(rows))
        .properties(width=130, height=230)
        .facet(facet=alt.Facet("panel:N", sort=panels, title=None), columns=COLUMNS)
    )
    return themed(chart)


def _boxes(windows: pl.DataFrame) -> pl.DataFrame:
    """Give the five numbers of each box in kbit/s, over all windows and seeds."""
    rate = pl.col("throughput_bits_per_second") / 1000
    return windows.group_by([COUNT, VARIANT, "group"], maintain_order=True).agg(
        rate.quantile(share, "linear").alias(name) for name, share in BOX.items()
    )


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
    names = {
        "ack_latency_mean_s": "mean",
        "ack_latency_p50_s": "median",
        "ack_latency_p99_s": "99th percentile",
    }
    rows = (
        groups.rename(names)
        .unpivot(on=list(names.values()), index=[COUNT, VARIANT], variable_name="statistic")
        .group_by([COUNT, VARIANT, "statistic"], maintain_order=True)
        .agg(
            pl.col("value").mean().alias("mean_s"),
            pl.col("value").min().alias("low_s"),
            pl.col("value").max().alias("high_s"),
        )
    )
    colour, dash = group_lines(order, VARIANT, VARIANT_COLOURS)
    base = alt.Chart().encode(
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
        tooltip=[f"{VARIANT}:N", f"{COUNT}:Q", alt.Tooltip("mean_s:Q", format=".4g")],
    )
    ranges = base.mark_rule().encode(y="low_s:Q", y2="high_s:Q")
    chart = (
        alt.layer(ranges, lines, data=inline(rows))
        .properties(width=270, height=260)
        .facet(facet=alt.Facet("statistic:N", sort=list(names.values()), title=None), columns=3)
        .resolve_scale(y="independent")
    )
    return themed(chart)
