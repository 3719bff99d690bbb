"""Progress on standard error: bars and live tables on a terminal, lines of text elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from fairwind.analysis.execute import AnalysisState
from fairwind.analysis.summary import brief_measures, readable_rows, summary_of
from fairwind.cli.live import LiveLines, LiveScreen, print_line
from fairwind.execution.execute import RunState
from fairwind.quantities import cell_text

LINE_SECONDS = 15.0
"""Shortest time between two lines without a terminal."""

REFRESH_SECONDS = 1.0
BUSIEST = 10
"""Connections in the live view."""

Update = Callable[..., None]
"""Sets ``total``, ``completed`` or ``note`` of a bar."""


@contextmanager
def shown_progress(
    console: Console, *, is_live: bool = False
) -> Iterator[Callable[[RunState], None]]:
    """Show the progress of a run while the block lasts; it yields a callback for `run_plan`.

    Parameters
    ----------
    console : rich.console.Console
        On standard error.
    is_live : bool
        Show also what happens in the simulations under way, as far as there is room.
    """
    warned = _Warnings(console)
    if not console.is_terminal:
        yield _RunLines(console, warned, LiveLines(console) if is_live else None)
        return
    if is_live:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            yield _LiveRun(live, warned, LiveScreen(console))
        return
    with _bar(console, "simulating", TaskProgressColumn(), NOTE, TimeRemainingColumn()) as update:

        def show(state: RunState) -> None:
            warned(state)
            update(total=1.0, completed=state.fraction, note=_counts(state))

        yield show


@contextmanager
def shown_analysis(console: Console, *, is_live: bool) -> Iterator[Callable[[AnalysisState], None]]:
    """Show an analysis while the block lasts.

    Parameters
    ----------
    console : rich.console.Console
        On standard error.
    is_live : bool
        Show groups and the busiest connections once a second instead of a bar.
    """
    if not console.is_terminal:
        began = time.monotonic()
        yield _every(LINE_SECONDS, lambda state: print_line(console, _line(state)), began)
    elif is_live:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            yield _every(REFRESH_SECONDS, lambda state: live.update(_shown(state), refresh=True))
    else:
        columns = (TaskProgressColumn(), NOTE, TimeRemainingColumn())
        with _bar(console, "reading", *columns) as update:
            yield lambda state: update(
                total=None if state.fraction is None else 1.0,
                completed=state.fraction or 0.0,
                note=_packets(state),
            )


@contextmanager
def shown_drawing(console: Console) -> Iterator[Callable[[int, int], None]]:
    """Show how many files of figures are drawn, and of how many, while the block lasts."""
    with _bar(console, "drawing", MofNCompleteColumn()) as update:
        yield lambda done, total: update(completed=done, total=total)


NOTE = TextColumn("{task.fields[note]}")


@contextmanager
def _bar(console: Console, description: str, *columns: ProgressColumn) -> Iterator[Update]:
    """Show a bar on a terminal while the block lasts; it yields what updates the bar."""
    with _columns(console, *columns, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(description, total=None, note="")
        yield lambda **changed: bar.update(task, **changed)


def _columns(console: Console, *columns: ProgressColumn, **settings: Any) -> Progress:  # noqa: ANN401 - of rich
    first = (TextColumn("{task.description}"), BarColumn())
    return Progress(*first, *columns, console=console, **settings)


@dataclass
class _Warnings:
    """Warnings and notices of runs, each printed once.

    Several runs on the same workers begin with the same notice.
    """

    console: Console
    printed: int = 0
    noticed: int = 0
    newest: str = ""

    def __call__(self, state: RunState) -> None:
        for text in state.warnings[self.printed :]:
            print_line(self.console, f"warning: {text}")
        for text in state.notices[self.noticed :]:
            if text != self.newest:
                print_line(self.console, text)
            self.newest = text
        self.printed, self.noticed = len(state.warnings), len(state.notices)


class _LiveRun:
    """The bar of a run, and below it what happens in the simulations under way."""

    def __init__(self, live: Live, warned: _Warnings, screen: LiveScreen) -> None:
        self._live, self._warned, self._screen = live, warned, screen
        columns = (TaskProgressColumn(), NOTE, TimeRemainingColumn())
        self._bar = _columns(live.console, *columns, auto_refresh=False)
        self._task = self._bar.add_task("simulating", total=1.0, note="")

    def __call__(self, state: RunState) -> None:
        self._warned(state)
        self._bar.update(self._task, completed=state.fraction, note=_counts(state))
        if (picture := self._screen.draw(state, self._bar)) is not None:
            self._live.update(picture, refresh=True)


@dataclass
class _RunLines:
    console: Console
    warned: _Warnings
    live: LiveLines | None = None
    started: float = field(default_factory=time.monotonic)
    last: float | None = None

    def __call__(self, state: RunState) -> None:
        self.warned(state)
        if self.live is not None:
            self.live(state)
        now = time.monotonic()
        if self.last is None:
            self.last = now
            if state.resumed:
                print_line(self.console, f"{_counts(state)} were finished before")
        elif now - self.last >= LINE_SECONDS:
            self.last, left = now, ""
            if (done := state.fraction) > 0:
                elapsed = now - self.started
                rate = (state.finished - state.resumed) / elapsed
                left = f", {rate:.3g} a second, about {elapsed * (1 - done) / done:.0f} s left"
            print_line(self.console, f"{_counts(state)}{left}")


def _every(
    seconds: float, show: Callable[[AnalysisState], None], last: float = float("-inf")
) -> Callable[[AnalysisState], None]:
    """Make what shows a state unless one was shown so many seconds ago."""

    def watch(state: AnalysisState) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= seconds:
            last = now
            show(state)

    return watch


def _line(state: AnalysisState) -> str:
    share = "" if state.fraction is None else f", {state.fraction:.0%} of the bytes"
    return f"{_packets(state)}{share}"


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
    table.add_column(title, no_wrap=True)
    for header in headers[1:]:
        table.add_column(header, justify="right")
    for row in cells:
        table.add_row(*map(cell_text, row))
    return table


def _packets(state: AnalysisState) -> str:
    return f"{state.packets:,} packets"


def _counts(state: RunState) -> str:
    failed = f", {state.failed} failed" if state.failed else ""
    each = "simulations" if state.expected_s is None else "runs"
    return f"{state.finished} of {state.total} {each}{failed}"
