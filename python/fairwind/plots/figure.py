"""A chart with what a reader needs beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One figure of a report.

    Attributes
    ----------
    name : str
        Its file name without an ending.
    title : str
        One line.
    caption : str
        What is drawn, in which unit, and what the marks mean.
    chart : altair chart
        Complete, with its data.
    still : altair chart, optional
        What is written as files, where that is less than what can be looked at closer in the page.
    """

    name: str
    title: str
    caption: str
    chart: Any
    still: Any = None
