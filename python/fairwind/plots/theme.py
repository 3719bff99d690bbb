"""The common look of all figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import altair as alt
import polars as pl

GROUP_COLOURS = {"greedy": "#c8352b", "thin": "#2166ac"}
"""Colours of groups that the literature has colours for."""

PALETTE = ("#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#0072b2", "#d55e00", "#4d4d4d")
"""Colours of all other groups, told apart with any colour vision (after Okabe and Ito)."""

FONT = "DejaVu Sans, Helvetica Neue, Helvetica, Arial, sans-serif"

CHARACTER = 7
"""About the width of a label's character, in points."""


def group_colours(groups: Iterable[str], chosen: Mapping[str, str] | None = None) -> alt.Scale:
    """Give every group its colour, in the order given.

    Parameters
    ----------
    groups : iterable of str
        Group names.
    chosen : mapping of str to str, optional
        Colours that replace the defaults.
    """
    names = list(dict.fromkeys(groups))
    known = GROUP_COLOURS | dict(chosen or {})
    others = (name for name in names if name not in known)
    colours = known | {
        name: PALETTE[position % len(PALETTE)] for position, name in enumerate(others)
    }
    return alt.Scale(domain=names, range=[colours[name] for name in names])


def inline(frame: pl.DataFrame) -> alt.InlineData:
    """Embed a frame into a chart, so that the chart stands alone."""
    return alt.InlineData(values=frame.to_dicts())


def themed(chart: Any) -> alt.TopLevelMixin:  # noqa: ANN401 - chart classes share no base
    """Give a finished chart the common look."""
    complete: alt.TopLevelMixin = (
        chart.configure(font=FONT, background="white")
        .configure_axis(
            labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#e6e6e6"
        )
        .configure_legend(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_header(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_title(fontSize=14, fontWeight="bold", anchor="start")
        .configure_view(stroke="#bbbbbb")
    )
    return complete
