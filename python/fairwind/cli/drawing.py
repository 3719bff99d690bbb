"""Progress bar of drawing figures, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


@contextmanager
def shown_drawing(console: Console) -> Iterator[Callable[[int, int], None]]:
    """Show how many files of figures are drawn, and of how many, while the block lasts."""
    bar = Progress(
        TextColumn("drawing"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("drawing", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
