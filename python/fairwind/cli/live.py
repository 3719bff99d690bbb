"""Live output while a capture is read: a bar, or with --follow a changing table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import polars as pl
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fairwind.analysis import AnalysisState
from fairwind.analysis.summary import brief_measures, readable_rows, summary_of
from fairwind.results import significant
from fairwind.run.progress import LINE_SECONDS

REFRESH_SECONDS = 1.0
BUSIEST = 10
"""Connections in the live view."""

Watch = Callable[[AnalysisState], None]


@contextmanager
def shown_analysis(console: Console, *, is_live: bool) -> Iterator[Watch]:
    """Show an analysis on standard error while the block lasts.

    Parameters
    ----------
    console : rich.console.Console
        On standard error.
    is_live : bool
        Show groups and the busiest connections, once a second, and not only how far it is.
    """
    if not console.is_terminal:
        yield _Lines(console)
    elif is_live:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            yield _View(live)
    else:
        with _bar(console) as watch:
            yield watch


@contextmanager
def _bar(console: Console) -> Iterator[Watch]:
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[packets]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task("reading", total=None, packets="")

        def tell(state: AnalysisState) -> None:
            total = None if state.fraction is None else 1.0
            bar.update(task, total=total, completed=state.fraction or 0.0, packets=_packets(state))

        yield tell


@dataclass
class _View:
    """Groups and the busiest connections, as they are now."""

    live: Live
    last: float = -REFRESH_SECONDS

    def __call__(self, state: AnalysisState) -> None:
        now = time.monotonic()
        if now - self.last < REFRESH_SECONDS:
            return
        self.last = now
        self.live.update(_shown(state), refresh=True)


def _shown(state: AnalysisState) -> RenderableType:
    tables = state.snapshot()
    parts: list[RenderableType] = [Text(_packets(state))]
    groups = summary_of(tables, "group", BUSIEST)
    connections = summary_of(tables, "connection", BUSIEST)
    for title, rows in (("group", groups), ("busiest connections", connections)):
        if rows.height:
            parts.append(_table(title, rows))
    return Group(*parts)


def _table(title: str, rows: pl.DataFrame) -> Table:
    headers, cells = readable_rows(rows, brief_measures(rows))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, header in enumerate(headers):
        if place == 0:
            table.add_column(title, no_wrap=True)
        else:
            table.add_column(header, justify="right")
    for row in cells:
        table.add_row(*map(_cell, row))
    return table


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return significant(value) if isinstance(value, float) else str(value)


@dataclass
class _Lines:
    """Progress as a line of text now and then."""

    console: Console
    last: float = field(default_factory=time.monotonic)

    def __call__(self, state: AnalysisState) -> None:
        now = time.monotonic()
        if now - self.last < LINE_SECONDS:
            return
        self.last = now
        share = "" if state.fraction is None else f", {state.fraction:.0%} of the bytes"
        line = f"{_packets(state)}{share}"
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)


def _packets(state: AnalysisState) -> str:
    return f"{state.packets:,} packets"
