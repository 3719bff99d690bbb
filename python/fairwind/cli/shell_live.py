"""Live figures below a program that writes to the same terminal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group

from fairwind.cli.live import LINE_SECONDS, Picture, draws_graphs, in_words, print_line
from fairwind.engine.engines import CellProgress
from fairwind.engine.live import LiveFigures, LiveWatch

PICTURE_SECONDS = 0.5
"""Time between two pictures: the program's output goes on meanwhile."""

PANEL_HEIGHT = 8
"""Lines at the bottom of the terminal: a title, two headings, three groups and two queues."""

LEAST_HEIGHT = 2 * PANEL_HEIGHT
"""A lower terminal is the program's alone, and figures are lines."""


@contextmanager
def shown_live(console: Console, run: CellProgress) -> Iterator[None]:
    """Show figures of a program's flows while the block lasts, from a thread of their own.

    On a terminal they stand in its last lines, and the program's output scrolls above. Elsewhere
    they are a line a second.

    Parameters
    ----------
    console : rich.console.Console
        On standard error.
    run : CellProgress
        What the path counts.
    """
    has_panel = console.is_terminal and console.size.height >= LEAST_HEIGHT
    panel = Panel(console) if has_panel else None
    ended = threading.Event()

    def follow() -> None:
        # The program's own shell may own the terminal; ours writes to it nevertheless.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        watch = LiveWatch(run)
        watch.look()
        while not ended.wait(PICTURE_SECONDS if panel else LINE_SECONDS):
            if (figures := watch.look()) is None:
                continue
            if panel is None:
                print_line(console, f"{figures.time_s:.1f} s: {in_words(figures)}")
            else:
                panel.draw(figures)

    thread = threading.Thread(target=follow, name="fairwind-live", daemon=True)
    if panel is not None:
        panel.open()
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if panel is not None:
            panel.close()


@dataclass
class Panel:
    """The last lines of a terminal, kept free of what scrolls above (DECSTBM, as apt does it)."""

    console: Console
    rows: int = 0
    picture: Picture = field(default_factory=Picture)

    def open(self) -> None:
        """Move what stands in the last lines up, and keep them."""
        self.rows = self.console.size.height
        height = PANEL_HEIGHT
        self._write("\n" * height + f"\x1b7{self._region()}\x1b8\x1b[{height}A")

    def draw(self, figures: LiveFigures) -> None:
        """Draw figures into the lines; the cursor stays where the program has it."""
        self.picture.take(figures)
        self.rows = self.console.size.height
        title = f"behind the path for {figures.time_s:.1f} s"
        parts = self.picture.shown(title, PANEL_HEIGHT, has_graphs=draws_graphs(self.console))
        with self.console.capture() as capture:
            self.console.print(Group(*parts))
        lines = capture.get().splitlines()[:PANEL_HEIGHT]
        lines += [""] * (PANEL_HEIGHT - len(lines))
        # The program may have taken the lines back, and the terminal another size.
        written = "".join(
            f"\x1b[{self._first + place};1H\x1b[2K{line}" for place, line in enumerate(lines)
        )
        self._write(f"\x1b7{self._region()}{written}\x1b8")

    def close(self) -> None:
        """Give the lines back, empty."""
        self._write(f"\x1b7\x1b[r\x1b[{self._first};1H\x1b[J\x1b8")

    @property
    def _first(self) -> int:
        return self.rows - PANEL_HEIGHT + 1

    def _region(self) -> str:
        return f"\x1b[1;{self.rows - PANEL_HEIGHT}r"

    def _write(self, text: str) -> None:
        self.console.file.write(text)
        self.console.file.flush()
