"""Progress of a run: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from fairwind.run.execute import RunState

LINE_SECONDS = 15.0
"""Shortest time between two lines without a terminal."""


@contextmanager
def shown_progress(console: Console) -> Iterator[Callable[[RunState], None]]:
    """Show a run's progress on standard error while the block lasts.

    Parameters
    ----------
    console : rich.console.Console
        On standard error.

    Yields
    ------
    callable
        To be given to `fairwind.run.run_plan`.
    """
    if not console.is_terminal:
        yield _Lines(console)
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[cells]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task("simulating", total=1.0, cells="")
        warned = _Warnings(console)

        def tell(state: RunState) -> None:
            warned(state)
            bar.update(task, completed=state.fraction, cells=_counts(state))

        yield tell


@dataclass
class _Warnings:
    """Warnings of a run, each printed once."""

    console: Console
    printed: int = 0

    def __call__(self, state: RunState) -> None:
        for text in state.warnings[self.printed :]:
            self.console.print(f"warning: {text}", highlight=False, markup=False, soft_wrap=True)
        self.printed = len(state.warnings)


@dataclass
class _Lines:
    """Progress as lines of text."""

    console: Console
    started: float = field(default_factory=time.monotonic)
    last: float | None = None
    warned: _Warnings = field(init=False)

    def __post_init__(self) -> None:
        self.warned = _Warnings(self.console)

    def __call__(self, state: RunState) -> None:
        self.warned(state)
        now = time.monotonic()
        if self.last is None:
            self.last = now
            if state.resumed:
                self._print(f"{_counts(state)} were finished before")
        elif now - self.last >= LINE_SECONDS:
            self.last = now
            self._print(f"{_counts(state)}{self._remaining(state, now)}")

    def _remaining(self, state: RunState, now: float) -> str:
        if state.fraction <= 0:
            return ""
        seconds = (now - self.started) * (1 - state.fraction) / state.fraction
        return f", about {seconds:.0f} s left"

    def _print(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)


def _counts(state: RunState) -> str:
    failed = f", {state.failed} failed" if state.failed else ""
    each = "simulations" if state.expected_s is None else "runs"
    return f"{state.finished} of {state.total} {each}{failed}"
