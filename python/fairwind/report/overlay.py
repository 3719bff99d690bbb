"""Cells of a grid as curves that lie over one another, and what separates the panels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from fairwind.plots import are_far_apart, estimates_by_setting
from fairwind.results import Results, header_of, scaled_unit, summarise
from fairwind.scenario.plan import Axis, short_names

MOST_PANELS = 12
"""If a figure needs more panels than this, only a choice of cells is drawn."""

MOST_CURVES = 9
"""Curves in one panel that differ in colour or dash."""

USUAL_COLUMNS = 3
MOST_COLUMNS = 4
"""Panels in one row."""

CURVE, PANEL = "curve", "panel"
"""Columns that `overlaid` adds."""


@dataclass(frozen=True)
class Overlay:
    """Rows of a table, ready to be drawn with variants over one another.

    Attributes
    ----------
    frame : DataFrame
        The rows of the cells that are drawn, with the columns ``curve`` and ``panel``.
    panels : str, optional
        The panels' column; None if all curves share one panel.
    columns : int
        Panels in one row.
    curve_title : str, optional
        What curves differ in; None for groups, which need no title.
    note : str
        Which cells are drawn, where not all are; empty otherwise.
    """

    frame: pl.DataFrame
    panels: str | None
    columns: int
    curve_title: str | None
    note: str

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a chart of curves."""
        return {
            "panels": self.panels,
            "columns": self.columns,
            "curve": CURVE,
            "curve_title": self.curve_title,
        }


def overlaid(results: Results, frame: pl.DataFrame, *, separates: str | None = "group") -> Overlay:
    """Lay the cells of a run over one another, as many as fit, and separate the rest by panels.

    Curves are settings of the axes that a reader compares: the last named axis, or else the last
    one, and further axes as long as there are at most `MOST_CURVES` combinations. Groups and the
    settings of the other axes separate panels. Without a grid curves are groups.

    Parameters
    ----------
    frame : DataFrame
        Rows of a table, with the columns of the axes.
    separates : str, optional
        A further column that separates panels; None if there is none.
    """
    axes = results.manifest.plan.varied_axes
    groups = frame[separates].unique(maintain_order=True).to_list() if separates else []
    if not axes:
        curves = pl.col(separates) if separates else pl.lit("all")
        return Overlay(frame.with_columns(curves.alias(CURVE)), None, USUAL_COLUMNS, None, "")
    over = overlaid_axes(axes)
    others = [axis for axis in axes if axis not in over]
    kept = {axis: evenly(axis.labels, MOST_CURVES) for axis in over} if len(over) == 1 else {}
    room = max(1, MOST_PANELS // max(1, len(groups)))
    kept |= dict(zip(others, chosen_labels([axis.labels for axis in others], room), strict=True))
    note = _note(results, axes, kept)
    for axis, labels in kept.items():
        frame = frame.filter(pl.col(axis.column).is_in([axis.value(label) for label in labels]))
    # The settings of a single axis stand below its name, which is the legend's title.
    curves = pl.col(over[0].column).cast(pl.String) if len(over) == 1 else settings(results, over)
    frame = frame.with_columns(curves.alias(CURVE))
    separate = [pl.col(separates)] if len(groups) > 1 and separates else []
    if others:
        separate.append(settings(results, others))
    if separate:
        frame = frame.with_columns(pl.concat_str(separate, separator=", ").alias(PANEL))
        if separates:  # panels of one group stand beside one another
            frame = frame.sort(pl.col(separates).cast(pl.Enum(groups)), maintain_order=True)
    count = frame[PANEL].n_unique() if separate else 1
    title = ", ".join(axis_titles(results)[axis.name] for axis in over)
    columns = _columns(count, len(groups), [len(kept[axis]) for axis in others])
    return Overlay(frame, PANEL if count > 1 else None, columns, title, note)


def overlaid_axes(axes: Sequence[Axis]) -> list[Axis]:
    """Choose the axes of which all combinations are curves of one panel."""
    named = [axis for axis in axes if "." not in axis.name]
    first = (named or list(axes))[-1]
    chosen = [first]
    for axis in sorted(axes, key=lambda one: len(one.labels)):
        combinations = math.prod(len(one.labels) for one in (*chosen, axis))
        if axis not in chosen and combinations <= MOST_CURVES:
            chosen.append(axis)
    return [axis for axis in axes if axis in chosen]


def measure_chart(results: Results, measure: str, along: Axis | None = None) -> alt.TopLevelMixin:
    """Draw a measure of the groups against an axis; the settings of the others separate panels.

    Parameters
    ----------
    measure : str
        A column of the table of groups.
    along : Axis, optional
        The first axis along which values are near each other if not given: one along which they are
        far apart separates panels, each with its own scale. Groups where there is no axis.
    """
    axes = results.manifest.plan.axes
    estimates = summarise(results, [measure]).frame
    greatest = estimates.select(pl.max_horizontal(pl.col("mean", "high").max())).item()
    unit, scale = scaled_unit(measure, [greatest])
    estimates = estimates.with_columns(pl.col("mean", "low", "high") * scale)
    near = [axis for axis in axes if not are_far_apart(estimates, axis.column, "high")]
    along = along or next(iter(near or axes), None)
    others = [axis for axis in axes if axis is not along]
    if others:
        estimates = estimates.with_columns(settings(results, others).alias(PANEL))
    return estimates_by_setting(
        estimates,
        setting=along.column if along else "group",
        order=list(along.values) if along else estimates["group"].to_list(),
        measure_title=header_of(measure, unit),
        setting_title=axis_titles(results)[along.name] if along else "group",
        panels=PANEL if others else None,
    )


def axis_titles(results: Results) -> dict[str, str]:
    """Give short names of the axes, without the braces of a key with alternatives."""
    names = short_names(results.manifest.plan.axes)
    return {name: re.sub("[{}]", "", short) for name, short in names.items()}


def settings(results: Results, axes: Sequence[Axis]) -> pl.Expr:
    """Name the settings of axes, each behind the short name of its axis."""
    titles = axis_titles(results)
    parts = [pl.format("{} {}", pl.lit(titles[axis.name]), axis.column) for axis in axes]
    return pl.concat_str(parts, separator=", ")


def _columns(panels: int, groups: int, others: Sequence[int]) -> int:
    """Give the panels in one row: those that differ in the last axis alone, if they fit."""
    last = others[-1] if others else groups
    return last if 1 < last <= min(MOST_COLUMNS, panels) else min(USUAL_COLUMNS, max(panels, 1))


def _note(results: Results, axes: Sequence[Axis], kept: dict[Axis, list[str]]) -> str:
    """Say which cells are drawn, where not all are."""
    parts = [
        f"{axis.name} = {', '.join(labels)}"
        for axis in axes
        if (labels := kept.get(axis, list(axis.labels))) and len(labels) < len(axis.labels)
    ]
    if not parts:
        return ""
    shown = math.prod(len(kept.get(axis, axis.labels)) for axis in axes)
    total = len(results.manifest.plan.cells)
    return f" {shown} of {total} cells are shown: {'; '.join(parts)}."


def chosen_labels(axes: Sequence[Sequence[str]], most: int = MOST_PANELS) -> list[list[str]]:
    """Choose labels of every axis so that the grid of the chosen ones has room on a page.

    The longest axes are thinned first, evenly and with their ends.
    """
    sizes = [len(labels) for labels in axes]
    while math.prod(sizes) > most:
        longest = max(range(len(sizes)), key=lambda place: sizes[place])
        sizes[longest] -= 1
    return [evenly(labels, size) for labels, size in zip(axes, sizes, strict=True)]


def evenly(labels: Sequence[str], size: int) -> list[str]:
    """Choose at most so many labels, evenly and with both ends."""
    last = len(labels) - 1
    if last < size:
        return list(labels)
    if size == 1:
        return [labels[last]]  # with so many axes there is no room for both ends of each
    return [labels[round(place * last / (size - 1))] for place in range(size)]
