"""Live figures of runs: per group goodput, RTT and losses, per queue its backlog and drops."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fairwind.engine.live import LiveFigures, LiveGroup, LiveQueue, LiveWatch
from fairwind.execution.execute import RunState
from fairwind.execution.workers import RunningCell
from fairwind.quantities import LATENCIES, RATES, SIZES, Unit, significant, unit_for

REFRESH_SECONDS = 0.2
"""Shortest time between two pictures on a terminal."""

LINE_SECONDS = 1.0
"""Shortest time between two lines of one simulation without a terminal."""

GRAPH = "▁▂▃▄▅▆▇█"
GRAPH_WIDTH = 24
"""Pictures that the graph of goodput goes back."""

LEAST_BACKLOG = 0.05
"""A queue with a mean backlog that is rounded to nothing, without drops and marks, is not shown."""


@dataclass
class Picture:
    """The newest figures of one run, and how its goodput came about."""

    figures: LiveFigures | None = None
    goodput: dict[str, deque[float]] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    """Queues that have had something to do, which stay in the picture."""

    def take(self, figures: LiveFigures) -> None:
        """Replace the figures, and lengthen the graphs."""
        self.figures = figures
        for group in figures.groups:
            past = self.goodput.setdefault(group.name, deque(maxlen=GRAPH_WIDTH))
            past.append(group.goodput_bits_per_second)
        self.busy.update(queue.name for queue in figures.queues if _is_busy(queue))

    def shown(self, title: str, height: int, *, has_graphs: bool) -> list[RenderableType]:
        """Draw it in so many lines at most, of which the title is the first.

        Parameters
        ----------
        title : str
        height : int
            In lines, at least 3.
        has_graphs : bool
            Whether the terminal has the characters of graphs.
        """
        parts: list[RenderableType] = [Text(title, style="bold", no_wrap=True, overflow="ellipsis")]
        if self.figures is None:
            return parts
        groups = self.figures.groups[: max(1, height - 2)]
        parts.append(self._groups_table(groups, has_graphs=has_graphs))
        queues = [one for one in self.figures.queues if one.name in self.busy]
        room = height - 2 - len(groups) - 1
        if queues and room > 0:
            # Where not all fit, those with the longest backlog.
            chosen = sorted(queues, key=lambda one: one.backlog_bytes or 0.0, reverse=True)[:room]
            parts.append(_queues_table([one for one in queues if one in chosen]))
        return parts

    def _groups_table(self, groups: Iterable[LiveGroup], *, has_graphs: bool) -> Table:
        table = _table("group", ("goodput", "RTT", "lost", "retransmitted", "time-outs"))
        if has_graphs:
            table.add_column("goodput over time", no_wrap=True, min_width=GRAPH_WIDTH)
        for group in groups:
            graph = [_graph(self.goodput[group.name])] if has_graphs else []
            share = group.retransmission_ratio
            table.add_row(
                group.name,
                _scaled(group.goodput_bits_per_second, RATES),
                _optional(group.ack_latency_s, LATENCIES),
                str(group.packets_lost),
                "-" if share is None else f"{share:.2%}",
                str(group.timeouts),
                *graph,
            )
        return table


@dataclass
class _Watched:
    watch: LiveWatch
    began: float
    picture: Picture = field(default_factory=Picture)
    looked: float = 0.0
    printed: float = float("-inf")
    line: str = ""


class LiveRuns:
    """The simulations under way, as often as they are looked at."""

    def __init__(self) -> None:
        self._watched: dict[tuple[int, int], _Watched] = {}

    def look(self, state: RunState) -> list[tuple[RunningCell, _Watched]]:
        """Look at what is under way or has just ended, and forget what has ended before."""
        now = time.monotonic()
        before, self._watched = self._watched, {}
        shown = []
        for one in (*state.running, *state.ended):
            key = (one.cell.index, one.replicate)
            known = before.get(key) or _Watched(LiveWatch(one.progress), now)
            self._watched[key] = known
            if (figures := known.watch.look()) is not None:
                known.picture.take(figures)
                known.looked = now
            shown.append((one, known))
        return shown


@dataclass
class LiveLines:
    """Figures as lines of text, one line a second for each simulation."""

    console: Console
    runs: LiveRuns = field(default_factory=LiveRuns)
    began: float = field(default_factory=time.monotonic)

    def __call__(self, state: RunState) -> None:
        """Print what is new; of a run that lasts a moment its end."""
        now = time.monotonic()
        is_over = state.finished == state.total and now - self.began < LINE_SECONDS
        for one, watched in self.runs.look(state):
            figures = watched.picture.figures
            is_due = watched.looked >= now and now - watched.printed >= LINE_SECONDS
            if figures is None or not (is_due or is_over):
                continue
            line = f"{_title(one, watched, state)}: {in_words(figures)}"
            if line != watched.line:
                watched.printed, watched.line = now, line
                print_line(self.console, line)


@dataclass
class LiveScreen:
    """Figures below each other, as many simulations as there is room for."""

    console: Console
    runs: LiveRuns = field(default_factory=LiveRuns)
    last: float = float("-inf")
    has_drawn: bool = False

    def draw(self, state: RunState, head: RenderableType) -> RenderableType | None:
        """Draw the simulations under way below a line; None if that was done just before.

        A run that lasts a moment is drawn at its end, and stays.
        """
        now = time.monotonic()
        watched = self.runs.look(state)
        known = [(one, known) for one, known in watched if known.picture.figures is not None]
        if state.finished == state.total and known and not self.has_drawn:
            self.has_drawn = True
            self.console.print(Group(*self._parts(known, state)))
            return None
        if now - self.last < REFRESH_SECONDS:
            return None
        self.last = now
        self.has_drawn = self.has_drawn or bool(known)
        return Group(head, *self._parts(watched, state))

    def _parts(
        self, watched: Sequence[tuple[RunningCell, _Watched]], state: RunState
    ) -> Iterator[RenderableType]:
        # The line above, and one for the cursor.
        room = self.console.size.height - 2
        for place, (one, known) in enumerate(watched):
            need = _height(known.picture)
            is_last = place + 1 == len(watched)
            # Of the lines, one says how many more there are.
            if place and need > room - (0 if is_last else 1):
                yield Text(f"and {len(watched) - place} more under way", style="dim")
                return
            height = max(3, min(need, room))
            title = _title(one, known, state)
            yield from known.picture.shown(title, height, has_graphs=draws_graphs(self.console))
            room -= height


def draws_graphs(console: Console) -> bool:
    """Whether a terminal has the characters of graphs, and room for them."""
    return console.encoding.startswith("utf") and console.width >= 100


def in_words(figures: LiveFigures) -> str:
    """Write figures as one line of text."""
    groups = (
        f"{one.name} {_scaled(one.goodput_bits_per_second, RATES)}, RTT "
        f"{_optional(one.ack_latency_s, LATENCIES)}, {one.packets_lost} lost"
        for one in figures.groups
    )
    queues = (
        f"queue {one.name} {_packets(one.backlog_packets)}, {one.dropped_packets} dropped"
        for one in figures.queues
        if _is_busy(one)
    )
    return "; ".join((*groups, *queues))


def print_line(console: Console, line: str) -> None:
    """Print a line as it is."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def _title(one: RunningCell, watched: _Watched, state: RunState) -> str:
    """Say which simulation it is, how far it is, and how fast."""
    settings = ", ".join(f"{axis} = {label}" for axis, label in one.cell.settings.items())
    cell = f"cell {one.cell.index}, " if settings else ""
    name = f"{cell}replicate {one.replicate}"
    figures = watched.picture.figures
    if figures is None:
        return ", ".join(part for part in (name, settings) if part)
    share = one.progress.fraction
    whole = f" ({share:.0%})" if share > 0 else ""
    time_s = f"{figures.time_s:.1f} s{whole}{'' if figures.is_warm else ', warm-up'}"
    elapsed = watched.looked - watched.began
    is_fast = state.expected_s is None and elapsed > 0
    speed = f"{figures.time_s / elapsed:.3g}x real time" if is_fast else ""
    return ", ".join(part for part in (name, settings, time_s, speed) if part)


def _height(picture: Picture) -> int:
    """Lines that a picture takes if all of it is drawn."""
    if picture.figures is None:
        return 1
    queues = 1 + len(picture.busy) if picture.busy else 0
    return 2 + len(picture.figures.groups) + queues


def _is_busy(queue: LiveQueue) -> bool:
    """Whether a queue has something to do that is worth a line."""
    backlog = queue.backlog_packets or 0.0
    return bool(backlog >= LEAST_BACKLOG or queue.dropped_packets or queue.marked_packets)


def _queues_table(queues: Iterable[LiveQueue]) -> Table:
    table = _table("queue", ("backlog", "in bytes", "dropped", "marked"))
    for queue in queues:
        table.add_row(
            queue.name,
            _packets(queue.backlog_packets),
            _optional(queue.backlog_bytes, SIZES),
            str(queue.dropped_packets),
            str(queue.marked_packets),
        )
    return table


def _table(first: str, others: Iterable[str]) -> Table:
    """Make a table with columns that do not move when numbers change."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(first, no_wrap=True, min_width=14, max_width=30)
    for header in others:
        table.add_column(header, justify="right", no_wrap=True, min_width=11)
    return table


def _graph(past: Sequence[float]) -> str:
    top = max(past, default=0.0)
    steps = len(GRAPH) - 1
    return "".join(GRAPH[round(value / top * steps)] if top > 0 else GRAPH[0] for value in past)


def _packets(packets: float | None) -> str:
    return "-" if packets is None else f"{packets:.1f} packets"


def _optional(value: float | None, units: Sequence[Unit]) -> str:
    return "-" if value is None else _scaled(value, units)


def _scaled(value: float, units: Sequence[Unit]) -> str:
    """Write a number with three digits, also behind the point, so that its width hardly changes."""
    unit = unit_for([value], units)
    number = significant(value / unit.size, 3, keeps_zeros=True)
    return f"{number if value else '0'} {unit.name}"
