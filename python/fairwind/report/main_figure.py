"""The figure that shows what an axis does: latencies above, goodput below."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from fairwind.plots import Figure, Panel, stacked_by_setting
from fairwind.report.overlay import axis_titles
from fairwind.results import Results, rows_of, scaled_unit
from fairwind.results.main_measures import main_measures
from fairwind.results.summary import GROUPS, TRANSFERS, estimate, is_known, title_of

TYPICAL = {"_p99_s": "_p50_s", "_p90_s": "_p50_s"}
"""Endings of a measure of the worst cases, and of that of the typical one."""

TITLES = {"_s": "time", "_bits_per_second": "goodput"}
"""What a panel is called, by the ending of its measures."""


def main_figure(results: Results) -> Iterator[Figure]:
    """Draw the main measure of each group against the axis, where there is a single one."""
    axes = results.manifest.plan.varied_axes
    if len(axes) != 1:
        return
    (axis,) = axes
    rows = {one.table: rows_of(results, one) for one in (GROUPS, TRANSFERS)}
    found = [
        _estimates(rows[table].filter(group=group), axis.column, measure)
        for table, group, main in main_measures(results)
        for measure in _with_typical(rows[table], main)
    ]
    panels = [
        _panel(pl.concat(those), title, ending)
        for ending, title in TITLES.items()
        if (those := [one for one in found if one["measure"][0].endswith(ending)])
    ]
    if not panels:
        return
    intervals = "; lines: 95 % interval of the mean (Student's t), above zero"
    yield Figure(
        name="by-setting",
        title=f"What {axis.name} does",
        caption=(
            "The main measure of each group, as in the answer, with the typical case beside the "
            f"worst ones. Points: mean over replicates"
            f"{intervals if results.manifest.plan.replicates > 1 else ''}."
        ),
        chart=stacked_by_setting(
            panels,
            setting=axis.column,
            order=axis.values,
            setting_title=axis_titles(results)[axis.name],
        ),
    )


def _with_typical(rows: pl.DataFrame, measure: str) -> list[str]:
    """Give a measure behind that of the typical case, if there is one."""
    for worst, typical in TYPICAL.items():
        name = measure.removesuffix(worst) + typical
        if measure.endswith(worst) and is_known(rows, name):
            return [name, measure]
    return [measure]


def _estimates(rows: pl.DataFrame, column: str, measure: str) -> pl.DataFrame:
    """Estimate one measure of one group along the axis: one series of the figure."""
    series = pl.format("{} {}", "group", pl.lit(title_of(measure))).alias("series")
    return estimate(rows, (column, "group"), [measure]).frame.with_columns(series)


def _panel(frame: pl.DataFrame, title: str, ending: str) -> Panel:
    unit, scale = scaled_unit(ending, frame["mean"].drop_nulls().to_list())
    return Panel(
        frame.drop_nulls("mean").with_columns(pl.col("mean", "low", "high") * scale),
        f"{title} / {unit}",
    )
