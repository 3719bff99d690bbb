"""Charts that several studies draw: a measure of each group against the number of streams."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots import estimates_by_setting
from fairwind.results import Results, summarise
from fairwind.studies.panels import VARIANT, Panels, setting_in_words

PER_CENT = 100.0
KILO = 1e-3

SEEDS = "Points: mean over seeds; bars: 95 % interval of it."
"""Meaning of points and bars, for captions."""


def estimates(results: Results, measure: str, scale: float = 1.0) -> pl.DataFrame:
    """Estimate a measure of every cell and group.

    Returns
    -------
    DataFrame
        The axes, ``group``, ``mean``, ``low`` and ``high`` (95 % interval over seeds), each times
        ``scale``; an interval that reaches below zero is cut there, for no measure can be less.
    """
    frame = summarise(results, [measure]).frame.drop("measure", "replicates")
    scaled = frame.with_columns(pl.col("mean", "low", "high") * scale)
    return scaled.with_columns(pl.col("low").clip(lower_bound=0.0))


def measure_by_count(frame: pl.DataFrame, panels: Panels, title: str) -> alt.TopLevelMixin:
    """Draw estimates of groups against the number of streams, one panel per variant and setting.

    Parameters
    ----------
    frame : DataFrame
        As from `estimates`; of each axis at least one setting.
    panels : Panels
        Which axis counts the streams.
    title : str
        The measure with its unit.
    """
    return estimates_by_setting(
        with_panel(frame, (VARIANT, *panels.beside)),
        setting=panels.count,
        order=frame[panels.count].unique().sort().to_list(),
        measure_title=title,
        setting_title="N",
        panels="panel",
    )


def measure_by_variant(
    frame: pl.DataFrame, panels: Panels, order: list[str], title: str
) -> alt.TopLevelMixin:
    """Draw estimates of groups for each variant, one panel per setting of the other axes."""
    return estimates_by_setting(
        with_panel(frame, panels.columns),
        setting=VARIANT,
        order=order,
        measure_title=title,
        setting_title="",
        panels="panel",
    )


def with_panel(frame: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """Add ``panel``: the settings that tell a row's panel from others, in words."""
    names = [
        ", ".join(
            str(value) if name == VARIANT else setting_in_words(name, value)
            for name, value in zip(columns, values, strict=True)
        )
        for values in frame.select(columns).iter_rows()
    ]
    return frame.with_columns(pl.Series("panel", names, pl.String))
