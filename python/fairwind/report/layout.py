"""Panels of a figure, and their cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from fairwind.results import Results
from fairwind.results.tidy import with_cell_label

MOST_PANELS = 12
"""If there are more cells than this, only a choice of them is drawn."""

USUAL_COLUMNS = 3
MOST_COLUMNS = 4
"""Panels in one row."""


def columns(results: Results) -> int:
    """Give the panels in one row: those that differ in the last axis alone, if they fit."""
    if not results.manifest.plan.axes:
        return USUAL_COLUMNS
    last = chosen_labels([axis.labels for axis in results.manifest.plan.axes])[-1]
    return len(last) if 1 < len(last) <= MOST_COLUMNS else USUAL_COLUMNS


def choice(results: Results, frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Keep the rows of as many cells as have room, and say which they are."""
    plan = results.manifest.plan
    labelled = with_cell_label(results, frame)
    if len(plan.cells) <= MOST_PANELS:
        return labelled, ""
    kept = chosen_labels([axis.labels for axis in plan.axes])
    chosen = [
        cell.index
        for cell in plan.cells
        if all(
            cell.settings[axis.name] in labels for axis, labels in zip(plan.axes, kept, strict=True)
        )
    ]
    parts = [
        f"{axis.name} = {', '.join(labels)}"
        for axis, labels in zip(plan.axes, kept, strict=True)
        if len(labels) < len(axis.labels)
    ]
    note = f" {len(chosen)} of {len(plan.cells)} cells are shown: {'; '.join(parts)}."
    return labelled.filter(pl.col("cell").is_in(chosen)), note


def chosen_labels(axes: Sequence[Sequence[str]]) -> list[list[str]]:
    """Choose labels of every axis so that the grid of the chosen ones has room on a page.

    The longest axes are thinned first, evenly and with their ends.
    """
    sizes = [len(labels) for labels in axes]
    while math.prod(sizes) > MOST_PANELS:
        longest = max(range(len(sizes)), key=lambda place: sizes[place])
        sizes[longest] -= 1
    return [_evenly(labels, size) for labels, size in zip(axes, sizes, strict=True)]


def _evenly(labels: Sequence[str], size: int) -> list[str]:
    last = len(labels) - 1
    if size == 1:
        return [labels[last]]  # with so many axes there is no room for both ends of each
    return [labels[round(place * last / (size - 1))] for place in range(size)]


def panels(results: Results) -> str | None:
    """Give the column with one panel per cell, where there are several cells."""
    return "cell_label" if len(results.manifest.plan.cells) > 1 else None
