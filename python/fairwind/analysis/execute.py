"""The loop of an analysis: advance, take rows, report progress, write a folder."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl

from fairwind.analysis.core import OTHER, CoreAnalysis
from fairwind.analysis.folder import MOST_ROWS, Keep, new_folder
from fairwind.analysis.settings import AnalysisSettings, Draw, span_ns
from fairwind.analysis.source import STANDARD_INPUT, Source, Taps, find_source, total
from fairwind.errors import FairwindError
from fairwind.execution.folder import with_leading_columns
from fairwind.folder.store import storage_errors
from fairwind.results import Results

WAIT_SECONDS = 0.05
"""Pause between reads of a capture that is being written."""


@dataclass
class AnalysisState:
    """Progress of an analysis.

    Attributes
    ----------
    packets : int
        Packets read so far.
    bytes_read : int
        Bytes read so far, of all inputs.
    bytes_total : int, optional
        Bytes that there are; None where nobody knows.
    snapshot : callable
        Gives the tables as they are now, of the inputs that are being read.
    """

    packets: int
    bytes_read: int
    bytes_total: int | None
    snapshot: Callable[[], dict[str, pl.DataFrame]]

    @property
    def fraction(self) -> float | None:
        """Share of the bytes that have been read, 0 to 1; None where nobody knows how many."""
        if not self.bytes_total:
            return None
        return min(1.0, self.bytes_read / self.bytes_total)


Watch = Callable[[AnalysisState], None]


def analyse_source(
    source: Source,
    settings: AnalysisSettings,
    out: Path,
    *,
    force: bool = False,
    follow: bool = False,
    watch: Watch | None = None,
) -> Results:
    """Analyse captures into a run's folder.

    An interruption (Ctrl-C) ends the reading, not the analysis: what was read is in the folder,
    and its manifest says that it is not all, unless the input has no end (`follow`).

    Parameters
    ----------
    out : Path
        The folder; an earlier analysis of the same captures in it is replaced.
    force : bool
        Replace whatever run is in the folder.
    follow : bool
        Wait for more at the end of the captures, until interrupted.
    watch : callable, optional
        Called several times a second.

    Raises
    ------
    CaptureError
        If nothing can be read, or a filter is wrong.
    FairwindError
        If the folder cannot be used, or the disk is full.
    """
    facts: list[dict[str, Any]] = []
    notes: list[str] = []
    is_complete = True
    is_drawn_later = _is_drawn_later(source, settings)
    full = f"{out} could not be written, and nothing is left there"
    hint = "free some space, or name a folder on another disk with --out"
    folder = new_folder(out, source, settings, force=force)
    with storage_errors(out, full, hint), folder as keep:
        before = AnalysisState(0, 0, total(taps.bytes for taps in source.taps), dict)
        for taps in source.taps:
            chosen = source.settings_of(taps, settings)
            analysis = CoreAnalysis(taps.sender, taps.receiver, chosen, follow=follow)
            pair = _Pair(source, taps, analysis, keep)
            was_interrupted = pair.read(before, watch or (lambda _: None))
            is_complete = follow or not was_interrupted
            before.packets += analysis.packets
            before.bytes_read += analysis.bytes_read
            found = pair.finish()
            facts.append(found["facts"])
            notes += found["notes"]
            if was_interrupted:
                break
            if is_drawn_later:
                pair.draw_largest(chosen)
        keep.add(facts=tuple(facts), notes=tuple(notes), is_complete=is_complete)
    return Results(out)


def _is_drawn_later(source: Source, settings: AnalysisSettings) -> bool:
    """Return whether captures are read a second time; refuse input that cannot be."""
    if settings.draw is None or settings.draw.largest == 0:
        return False
    if any(STANDARD_INPUT in taps.sender + taps.receiver for taps in source.taps):
        raise FairwindError(
            "--draw NUMBER reads the capture twice, but standard input can be read only once",
            "choose the connections by a filter: --draw 'port 80'",
        )
    return True


@dataclass
class _Pair:
    """The analysis of one or two inputs."""

    source: Source
    taps: Taps
    analysis: CoreAnalysis
    keep: Keep

    def read(self, before: AnalysisState, watch: Watch) -> bool:
        """Read to the end; give whether it was interrupted."""
        with requested_interruption() as interruption:
            while (step := self.analysis.advance()) != "done":
                self._add(self.analysis.take_rows(MOST_ROWS))
                watch(self._state(before))
                if interruption.is_set():
                    return True
                if step == "waiting":
                    time.sleep(WAIT_SECONDS)
        # Connections that end with the captures may be a million: they come in parts, too.
        while rows := self.analysis.take_rows(MOST_ROWS):
            self._add(rows)
        return False

    def finish(self) -> dict[str, Any]:
        """Keep the rest of the rows; give the facts and notes of the core, with their place."""
        tables, results = self.analysis.finish()
        groups = tables.get("groups", pl.DataFrame())
        if groups.height:
            place = (self.taps.cell.index, self.taps.replicate)
            self.keep.rows.measured[place] = groups["measured_s"][0]
            others = groups.filter(pl.col("group") == OTHER)
            counted = ("flows", "packets_sent", "packets_received")
            if groups.height > 1 and not any(others[name].sum() for name in counted):
                self.keep.rows.without_others.append(place)
        self._add(tables)
        of = {"cell": self.taps.cell.index, "replicate": self.taps.replicate}
        is_alone = len(self.source.taps) == 1
        where = "" if is_alone else f"cell {of['cell']}, replicate {of['replicate']}: "
        notes = [f"{where}{note}" for note in results["notes"]]
        return {"facts": of | results["facts"], "notes": notes}

    def draw_largest(self, settings: AnalysisSettings) -> None:
        """Read once more, for the points of what turned out to be the largest connections."""
        assert settings.draw is not None, "the caller has looked"
        place = (self.taps.cell.index, self.taps.replicate)
        names = self.keep.rows.largest_names(place, settings.draw.largest)
        chosen = replace(settings, draw=Draw(names=names))
        again = CoreAnalysis(self.taps.sender, self.taps.receiver, chosen)
        with requested_interruption() as interruption:
            while again.advance() != "done" and not interruption.is_set():
                again.take_rows(MOST_ROWS)
            while again.take_rows(MOST_ROWS):
                pass
        tables, _ = again.finish()
        self._add({name: tables[name] for name in ("traces",) if name in tables})

    def _state(self, before: AnalysisState) -> AnalysisState:
        return AnalysisState(
            packets=before.packets + self.analysis.packets,
            bytes_read=before.bytes_read + self.analysis.bytes_read,
            bytes_total=before.bytes_total,
            snapshot=self.analysis.snapshot,
        )

    def _add(self, tables: dict[str, pl.DataFrame]) -> None:
        plan, cell, replicate = self.source.plan, self.taps.cell, self.taps.replicate
        seed = plan.seed_of(replicate)
        self.keep.rows.add(with_leading_columns(tables, plan.axes, cell, replicate, seed))


Inputs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def analyse(
    sender: Inputs,
    receiver: Inputs = (),
    *,
    groups: Mapping[str, str] | None = None,
    intervals: Sequence[str] | None = None,
    settings: AnalysisSettings | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Watch | None = None,
) -> Results:
    """Analyse captures of one side or both, and give their tables.

    Parameters
    ----------
    sender : path or sequence of paths
        Captures taken at the side that sends the data: files (pcap or pcapng, plain, gzip or zstd),
        folders of rotated ones; several are read one after the other. Or one folder of a run.
    receiver : path or sequence of paths
        The same of the other side.
    groups : mapping of str to str, optional
        Filter of each group of connections, in pcap-filter syntax: ``{"thin": "dst port 5000"}``. A
        connection belongs to the first that fits, all others to ``other``.
    intervals : sequence of str, optional
        Lengths of the windows that series are given in: ``["100 ms"]``.
    settings : AnalysisSettings, optional
        All that can be said of an analysis; groups and intervals replace those in it.
    out : path, optional
        The folder that is written; a temporary one, which lasts as long as the results, if not
        given.
    force : bool
        Replace whatever run is in the folder.
    progress : callable, optional
        Called with an `AnalysisState` several times a second.

    Raises
    ------
    CaptureError
        If nothing can be read, or a filter is wrong.
    FairwindError
        If a capture is not there, or the folder cannot be used.
    """
    source = find_source(_paths(sender), _paths(receiver))
    chosen = settings or AnalysisSettings()
    if groups is not None:
        chosen = replace(chosen, groups=tuple(groups.items()))
    if intervals is not None:
        lengths = tuple(span_ns(text, "interval") for text in intervals)
        chosen = replace(chosen, intervals_ns=lengths)
    if out is not None:
        return analyse_source(source, chosen, Path(out), force=force, watch=progress)
    folder = tempfile.mkdtemp(prefix="fairwind-")
    try:
        results = analyse_source(source, chosen, Path(folder), watch=progress)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(results, shutil.rmtree, folder, ignore_errors=True)
    return results


def _paths(inputs: Inputs) -> list[str]:
    if isinstance(inputs, (str, os.PathLike)):
        return [os.fspath(inputs)]
    return [os.fspath(path) for path in inputs]


@contextmanager
def requested_interruption() -> Iterator[threading.Event]:
    """Take the first Ctrl-C as a request while the block lasts; a second one raises as usual.

    Only the main thread can; in any other one, interruptions are as they were.
    """
    interruption = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(_signal: int, _frame: FrameType | None) -> None:
        interruption.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
