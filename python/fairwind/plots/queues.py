"""Charts of queue drops, by group and by run of losses."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fairwind.plots import composed
from fairwind.plots.theme import (
    PANEL_WIDTH,
    PLOT_WIDTH,
    WHOLE,
    are_far_apart,
    fields,
    group_colours,
    group_lines,
    group_points,
    in_panels,
    inline,
    legend_of,
    numbers,
    panel_facet,
    themed,
)

GAP_RATIO = 1.5
"""Between windows that begin farther apart than so many of the least distance some are missing."""


def drops_by_group(drops: pl.DataFrame, *, setting: str, setting_title: str) -> alt.TopLevelMixin:
    """Draw dropped packets per setting as stacked bars, one colour per group.

    Parameters
    ----------
    drops : DataFrame
        Columns ``group``, ``packets``, and the setting's column; rows are averaged, so one row
        per replicate gives packets per run.
    setting : str
        The column with one bar per value.
    """
    frame = drops.group_by([setting, "group"], maintain_order=True).agg(pl.col("packets").mean())
    order = drops[setting].unique(maintain_order=True).to_list()
    chart = (
        alt.Chart(inline(frame))
        .mark_bar()
        .encode(
            y=_settings(setting, order, setting_title),
            x=alt.X("packets:Q", title="packets dropped per run", stack="zero"),
            color=alt.Color(
                "group:N",
                scale=group_colours(drops["group"]),
                legend=legend_of(drops["group"].unique()),
            ),
            tooltip=[*fields(f"{setting}:N", "group:N"), *numbers("packets", form=".5g")],
        )
        .properties(width=460, height=alt.Step(22))
    )
    return themed(chart)


def loss_by_group(losses: pl.DataFrame, *, setting: str, setting_title: str) -> alt.TopLevelMixin:
    """Draw the relative loss of groups per setting, in packets and in bytes, each in a panel.

    Parameters
    ----------
    losses : DataFrame
        Columns ``group``, ``counted`` (the panel), ``loss_ratio``, and the setting's column;
        rows are averaged.
    setting : str
        The column with one row of points per value.
    """
    keys = [setting, "counted", "group"]
    frame = losses.group_by(keys, maintain_order=True).agg((pl.col("loss_ratio") * 100).mean())
    order = losses[setting].unique(maintain_order=True).to_list()
    colour, shape = group_points(losses["group"])
    chart = (
        alt.Chart(inline(frame))
        .mark_point(filled=True, size=70, opacity=0.9)
        .encode(
            y=_settings(setting, order, setting_title),
            x=alt.X("loss_ratio:Q", title="dropped at the queue / %", scale=alt.Scale(zero=True)),
            color=colour,
            shape=shape,
            tooltip=[*fields(f"{setting}:N", "group:N", "counted:N"), *numbers("loss_ratio")],
        )
        .properties(width=230, height=alt.Step(22))
    )
    facet = alt.Facet("counted:N", sort=["packets", "bytes"], title=None)
    return themed(composed.panels(chart, facet, columns=2))


def _settings(setting: str, order: list[Any], title: str) -> alt.Y:
    """Give the axis of settings. Its title lies above the labels, so it covers none."""
    names = title.split(", ")
    lines = [f"{name}," for name in names[:-1]] + names[-1:]
    axis = alt.Axis(
        labelLimit=WHOLE,
        titleAngle=0,
        titleAlign="right",
        titleAnchor="end",
        titleX=-8,
        titleY=-6 - TITLE_LINE * (len(lines) - 1),
    )
    return alt.Y(f"{setting}:N", sort=order, title=lines, axis=axis)


TITLE_LINE = 14
"""Height of a line of a title, in points."""


def run_lengths(
    lengths: pl.DataFrame,
    *,
    panels: str | None = None,
    columns: int = 3,
    curve: str = "group",
    curve_title: str | None = None,
) -> alt.TopLevelMixin:
    """Draw how many losses were in runs of which length, one colour per curve.

    Parameters
    ----------
    lengths : DataFrame
        Columns ``length_packets``, ``runs``, that of the curves, and the panels' column if there
        is one; rows of one curve and length are added up.
    """
    keys = [curve] if panels is None else [panels, curve]
    losses = pl.col("length_packets") * pl.col("runs")
    frame = (
        lengths.group_by([*keys, "length_packets"], maintain_order=True)
        .agg(losses.sum().alias("losses"))
        .with_columns((pl.col("losses") / pl.col("losses").sum()).over(keys).alias("share_ratio"))
        .sort([*keys, "length_packets"], maintain_order=True)
    )
    colour, dash = group_lines(lengths[curve], curve, title=curve_title)
    chart = (
        alt.Chart(inline(frame))
        .mark_line(point=alt.OverlayMarkDef(filled=True, size=30), strokeWidth=1)
        .encode(
            x=alt.X(
                "length_packets:Q",
                title="length of the run / packets",
                scale=alt.Scale(type="log", base=2, nice=False),
                axis=alt.Axis(format="d", values=[2**power for power in range(16)]),
            ),
            y=alt.Y("share_ratio:Q", title="share of losses", scale=alt.Scale(domain=[0, 1])),
            color=colour,
            strokeDash=dash,
            tooltip=[
                alt.Tooltip(f"{curve}:N", title=curve_title or curve),
                *fields("length_packets:Q", "losses:Q"),
                *numbers("share_ratio", form=".4f"),
            ],
        )
    )
    return in_panels(chart, lengths, panels, columns, 170)


def queue_over_time(
    windows: pl.DataFrame,
    *,
    panels: str | None = None,
    columns: int = 3,
    curve: str | None = None,
    curve_title: str | None = None,
) -> alt.TopLevelMixin:
    """Draw what waited in a queue over time: in one row packets, in the next how long.

    Parameters
    ----------
    windows : DataFrame
        Columns ``start_s`` (start of the window, seconds), ``measure`` (the panel's title),
        ``mean`` and ``most`` of the window, and the panels' column if there is one; one row per
        window, measure and replicate. Lines are means over replicates, the band reaches up to the
        most of all. Where windows are missing both are broken; one between two that are missing
        is a point.
    """
    keys = [*(key for key in (panels, curve) if key is not None), "measure", "start_s"]
    frame = _in_stretches(
        windows.group_by(keys, maintain_order=True).agg(
            pl.col("mean").mean(), pl.col("most").max()
        ),
        keys[:-1],
    )
    measures = windows["measure"].unique(maintain_order=True).to_list()
    colour = None if curve is None else group_lines(windows[curve], curve, title=curve_title)[0]
    rows = []
    order = windows[panels].unique(maintain_order=True).to_list() if panels else []
    for measure in measures:
        of_one = frame.filter(pl.col("measure") == measure)
        is_own = are_far_apart(of_one, panels, "most")
        # Points where each axis has some: a layer without rows makes browsers warn.
        parts = of_one.partition_by(panels) if panels is not None and is_own else [of_one]
        has_points = all(part["is_alone"].any() for part in parts)
        row: Any = composed.layers(
            *_backlog(frame, colour, has_points=has_points),
            transform=[alt.FilterTransform(alt.datum.measure == measure)],
            width=PLOT_WIDTH if panels is None else PANEL_WIDTH,
            height=170 if panels is None else 120,
            title=measure if panels is None else alt.Undefined,
        )
        if panels is not None:
            facet = panel_facet(panels, order, PANEL_WIDTH)
            resolve = composed.axes(is_own=is_own)
            row = composed.panels(row, facet, columns=columns, title=measure, resolve=resolve)
        rows.append(row)
    shared = alt.Resolve(scale=alt.ScaleResolveMap(x="shared"))
    return themed(composed.rows(*rows, resolve=shared))


def _backlog(frame: pl.DataFrame, colour: alt.Color | None, *, has_points: bool) -> list[alt.Chart]:
    """Draw the layers of a panel: the mean as a line, and a band up to the most.

    Windows without neighbours are points, or else round ends of lines.
    """
    start = alt.X(
        "start_s:Q",
        title="start of the window / s",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(tickCount=5),
    )
    base = alt.Chart(inline(frame)).encode(x=start, detail=alt.Detail("stretch:Q"))
    if colour is not None:
        base = base.encode(color=colour)
    # Bands of several curves lie over one another.
    band = base.mark_area(opacity=0.25 if colour is None else 0.08).encode(
        y=alt.Y("most:Q", title=None), y2=alt.Y2("mean:Q")
    )
    line = base.mark_line(strokeWidth=1.4, strokeCap="round").encode(
        y=alt.Y("mean:Q", scale=alt.Scale(zero=True)),
        tooltip=[*fields("start_s:Q"), *numbers("mean", "most")],
    )
    layers = [band, line]
    if has_points:
        points = base.transform_filter(alt.datum.is_alone)
        layers.append(points.mark_point(filled=True, size=6, opacity=1).encode(y=alt.Y("mean:Q")))
    return layers


def _in_stretches(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Give stretches in which no window is missing a number, and tell which are of one window."""
    ordered = frame.sort([*keys, "start_s"], maintain_order=True).with_columns(
        pl.col("start_s").diff().over(keys).alias("step")
    )
    usual = pl.col("step").filter(pl.col("step") > 0).min()
    is_gap = (pl.col("step") > GAP_RATIO * usual).fill_null(value=False)
    return (
        ordered.with_columns(is_gap.alias("is_gap"))
        .with_columns(pl.col("is_gap").cum_sum().over(keys).alias("stretch"))
        .with_columns((pl.len() == 1).over([*keys, "stretch"]).alias("is_alone"))
        .drop("step", "is_gap")
    )
