"""What queues dropped, and of whom."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots.theme import group_colours, inline, themed


def drops_by_group(drops: pl.DataFrame, *, setting: str, setting_title: str) -> alt.TopLevelMixin:
    """Draw dropped packets per setting as stacked bars, one colour per group.

    Parameters
    ----------
    drops : DataFrame
        Columns ``group``, ``packets``, and the setting's column; rows are averaged, so one row
        per replicate gives packets per run.
    setting : str
        The column with one bar per value.
    setting_title : str
        Title of its axis.
    """
    frame = drops.group_by([setting, "group"], maintain_order=True).agg(pl.col("packets").mean())
    order = drops[setting].unique(maintain_order=True).to_list()
    # Lying above its labels, the title is never longer than the bars are high, and covers none.
    axis = alt.Axis(
        labelLimit=320, titleAngle=0, titleAlign="right", titleAnchor="end", titleX=-8, titleY=-6
    )
    chart = (
        alt.Chart(inline(frame))
        .mark_bar()
        .encode(
            y=alt.Y(f"{setting}:N", sort=order, title=setting_title, axis=axis),
            x=alt.X("packets:Q", title="packets dropped per run", stack="zero"),
            color=alt.Color(
                "group:N", scale=group_colours(drops["group"]), legend=alt.Legend(title=None)
            ),
            tooltip=[
                alt.Tooltip(f"{setting}:N"),
                alt.Tooltip("group:N"),
                alt.Tooltip("packets:Q", format=".5g"),
            ],
        )
        .properties(width=460, height=alt.Step(22))
    )
    return themed(chart)
