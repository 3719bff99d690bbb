"""The source's figure: attained over nominal rate, by clock and burst."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots import Figure, group_colours, inline, themed
from fairwind.results import Results
from fairwind.studies.rate_limit_granularity.accuracy import accuracies


def figures(results: Results) -> list[Figure]:
    """Draw figure 3.6."""
    return [
        Figure(
            name="rate-accuracy",
            title="Accuracy of a rate limit at different clock granularities (figure 3.6)",
            caption=(
                "Attained over nominal rate, one panel per burst. Points: attained; lines: the "
                "closed form min(1, burst x 8 x HZ / rate)."
            ),
            chart=accuracy_chart(accuracies(results)),
        )
    ]


def accuracy_chart(table: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw what was attained and the closed form against the nominal rate.

    Parameters
    ----------
    table : DataFrame
        As `accuracies` gives it.
    """
    clocks = table["clock"].unique(maintain_order=True).to_list()
    bursts = table["burst"].unique(maintain_order=True).to_list()
    base = alt.Chart().encode(
        x=alt.X(
            "nominal_mbit_per_second:Q",
            title="nominal rate / Mbit/s",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(values=[0.1, 1, 10, 100], format="~r"),
        ),
        color=alt.Color(
            "clock:N", sort=clocks, scale=group_colours(clocks), legend=alt.Legend(title="clock")
        ),
    )
    lines = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y="expected_ratio:Q")
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        y=alt.Y("attained_ratio:Q", title="attained / nominal rate"),
        tooltip=[
            "clock:N",
            "burst:N",
            *(
                alt.Tooltip(f"{name}:Q", format=".4g")
                for name in ("nominal_mbit_per_second", "attained_ratio", "expected_ratio")
            ),
        ],
    )
    chart = (
        alt.layer(lines, points, data=inline(table))
        .properties(width=270, height=220)
        .facet(facet=alt.Facet("burst:N", sort=bursts, title=None), columns=2)
    )
    return themed(chart)
