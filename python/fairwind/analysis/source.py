"""Input of an analysis: capture files, folders of rotated files, standard input, or runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from fairwind.analysis.settings import AnalysisSettings, When, span_ns
from fairwind.errors import FairwindError
from fairwind.folder.manifest import MANIFEST, CaptureInput, Manifest, read_manifest
from fairwind.folder.store import CELLS, cell_folder
from fairwind.results.tidy import ANSWERED_KINDS, ANSWERS
from fairwind.scenario.plan import Cell, Plan

STANDARD_INPUT = "-"

HEAD_BYTES = 65_536
"""So much of a file's beginning is digested: enough to tell files apart, however long they are."""

FIRST_RECEIVER_PORT = 60_000
"""In runs of ours the first group's receivers listen here, and each group's on the next port."""

DATAGRAMS = "udp"
"""The transport of workloads that have no connection."""

BEHIND_PATH = ("from-program", "to-program")
"""Groups of a program behind a path: what it sends, and what is sent to it."""

WAYS = ("src", "dst")

SENDER_FILE = "sender.pcapng"
RECEIVER_FILE = "receiver.pcapng"


@dataclass(frozen=True)
class Taps:
    """Captures of one cell and replicate, at one point or two.

    Attributes
    ----------
    sender : tuple of str
        Files or folders that are read one after the other; ``-`` for the standard input.
    receiver : tuple of str
        The same at the other side; empty if there is no such capture.
    """

    sender: tuple[str, ...]
    receiver: tuple[str, ...]
    cell: Cell
    replicate: int = 0

    def inputs(self) -> tuple[CaptureInput, ...]:
        """Describe them for a manifest."""
        return tuple(
            _described(name, point, self.cell.index, self.replicate)
            for point, names in (("sender", self.sender), ("receiver", self.receiver))
            for name in names
        )

    @property
    def bytes(self) -> int | None:
        """Size of all files; None if one has none, such as the standard input."""
        return total(_size(name) for name in (*self.sender, *self.receiver))


@dataclass(frozen=True)
class Program:
    """A program that was behind a path of ours.

    Attributes
    ----------
    addresses : tuple of str
        Those that its data came from.
    measured_s : float, optional
        How long it was there, in seconds.
    """

    addresses: tuple[str, ...]
    measured_s: float | None


@dataclass(frozen=True)
class Source:
    """Input of an analysis.

    Attributes
    ----------
    plan : Plan
        Of the run that made the captures, or of one cell without seeds.
    made_by : str, optional
        The engine of the run that made the captures, if it was ours.
    program : Program, optional
        The program that was behind a path of ours.
    """

    plan: Plan
    taps: tuple[Taps, ...]
    made_by: str | None = None
    program: Program | None = None

    def settings_of(self, taps: Taps, settings: AnalysisSettings) -> AnalysisSettings:
        """Complete settings by what the experiment says, where it was a run of ours."""
        if self.made_by is None:
            return settings
        if self.program is not None:
            return _as_behind_path(self.program, taps.cell.experiment, settings)
        return _as_measured(taps.cell.experiment, settings)


def total(sizes: Iterable[int | None]) -> int | None:
    """Add sizes; None if one is unknown."""
    known = [*sizes]
    return None if None in known else sum(size or 0 for size in known)


def find_source(
    senders: Sequence[str], receivers: Sequence[str] = (), *, name: str | None = None
) -> Source:
    """Find out what is to be read.

    Parameters
    ----------
    senders : sequence of str
        Capture files, folders of rotated ones, or ``-``, all taken at the sender's side. Or one
        folder of a run of ours, or of one of its cells.
    receivers : sequence of str
        The same of the receiver's side.
    name : str, optional
        What it is called; by its first file if not given.

    Raises
    ------
    FairwindError
        If something is not there, or cannot be read together.
    """
    for path in (*senders, *receivers):
        if path != STANDARD_INPUT and not Path(path).exists():
            raise FairwindError(f"there is no capture {path}", "give a file, a folder, or -")
        _check_readable(path)
    if [*senders, *receivers].count(STANDARD_INPUT) > 1:
        raise FairwindError(
            "standard input can be read only once", "give a file for the other side"
        )
    of_runs = [path for path in (*senders, *receivers) if _run_of(path) is not None]
    if of_runs:
        if len(senders) + len(receivers) > 1:
            raise FairwindError(
                f"{of_runs[0]} is the folder of a run, which has the captures of both sides",
                "give that folder alone, or name capture files in it",
            )
        return _source_of_run(of_runs[0])
    first = senders[0]
    title = "standard input" if first == STANDARD_INPUT else Path(first).name or first
    plan = Plan.of_one_cell(
        name or title, "", {"sender": list(senders), "receiver": list(receivers)}
    )
    return Source(plan, (Taps(tuple(senders), tuple(receivers), plan.cells[0]),))


def _check_readable(path: str) -> None:
    """Refuse a file that this user may not read, before anything is written."""
    if path == STANDARD_INPUT or not Path(path).is_file():
        return
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise FairwindError(
            f"cannot read the capture {path}: {error.strerror or error}",
            "captures often belong to root: give yourself the file (sudo chown), or use sudo",
        ) from error


def _run_of(path: str) -> Path | None:
    """Give the folder of the run that a folder is, or is a cell of."""
    folder = Path(path)
    if path == STANDARD_INPUT or not folder.is_dir():
        return None
    if (folder / MANIFEST).exists():
        return folder
    run = folder.resolve().parent.parent
    is_cell = folder.resolve().parent.name == CELLS and (run / MANIFEST).exists()
    return run if is_cell else None


def _source_of_run(path: str) -> Source:
    run = _run_of(path)
    assert run is not None, "the caller has asked"
    manifest = read_manifest(run)
    if manifest.captured is not None:
        raise FairwindError(
            f"{path} holds the analysis of captures, not captures", "give what was analysed there"
        )
    found = [
        taps
        for cell, replicate in manifest.plan.simulations()
        if (taps := _taps_of_cell(run, manifest, cell, replicate)) is not None
        if Path(path).resolve()
        in (run.resolve(), cell_folder(run, cell.index, replicate).resolve())
    ]
    if not found:
        raise FairwindError(
            f"the run in {path} has no captures",
            "run its scenario again with a [capture] table, or --set capture={}",
        )
    # A program behind a path has connections that nobody planned.
    groups = [group["name"] for group in manifest.plan.cells[0].experiment.get("flows", ())]
    is_of_shell = manifest.plan.name == "shell" and groups == [*BEHIND_PATH]
    program = _program(run) if is_of_shell else None
    return Source(manifest.plan, tuple(found), manifest.engine, program)


def _program(run: Path) -> Program:
    """Find out by what the run measured where a program was, and for how long."""
    file = run / "flows.parquet"
    if not file.exists():
        return Program((), None)
    flows = pl.read_parquet(file, columns=["name", "group", "measured_s"])
    names = flows.filter(pl.col("group") == BEHIND_PATH[0])["name"]
    ends = (name.split(">")[0].strip().rpartition(":")[0] for name in names)
    addresses = tuple(dict.fromkeys(end.strip("[]") for end in ends))
    return Program(addresses, flows["measured_s"][0] if flows.height else None)


def _taps_of_cell(run: Path, manifest: Manifest, cell: Cell, replicate: int) -> Taps | None:
    folder = cell_folder(run, cell.index, replicate)
    files = [folder / SENDER_FILE, folder / RECEIVER_FILE]
    sender, receiver = ((str(file),) if file.exists() else () for file in files)
    if not sender and not receiver:
        return None
    return Taps(sender, receiver, cell, replicate)


def _as_measured(experiment: dict[str, Any], settings: AnalysisSettings) -> AnalysisSettings:
    """Measure captures of our own runs as the run did: groups, windows, percentiles, warm-up."""
    measure = experiment.get("measure", {})
    completed = _completed(
        settings,
        When(span_ns(experiment["duration"], "duration")),
        groups=_groups_of(experiment["flows"]),
        intervals_ns=tuple(span_ns(text, "interval") for text in measure.get("intervals", ())),
        percentiles=tuple(measure.get("percentiles", settings.percentiles)),
        per_flow=measure.get("per_flow_intervals", False),
    )
    if settings.start is not None or settings.end is not None:
        return completed
    return replace(completed, warmup_ns=span_ns(measure.get("warmup", "0 s"), "warmup"))


def _completed(
    settings: AnalysisSettings,
    end: When | None,
    **known: Any,  # noqa: ANN401 - attributes of `AnalysisSettings`
) -> AnalysisSettings:
    """Give what the run knows where nothing else was asked for."""
    unsaid = AnalysisSettings()
    wanted = {
        name: value
        for name, value in known.items()
        if getattr(settings, name) == getattr(unsaid, name)
    }
    if settings.start is None and settings.end is None:
        wanted["end"] = end
    return replace(settings, **wanted)


def _groups_of(flows: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Give names and filters of a run's groups: responses have their own, as in the run.

    Datagrams are not analysed, so that groups of them would only look as if nothing had been sent.
    """
    asked, answered = [], []
    for port, group in enumerate(flows, start=FIRST_RECEIVER_PORT):
        name, workload = group["name"], group.get("workload", {})
        if workload.get("transport") == DATAGRAMS:
            continue
        asked.append((name, f"dst port {port}"))
        if workload.get("kind") in ANSWERED_KINDS:
            answered.append((f"{name}{ANSWERS}", f"src port {port}"))
    return (*asked, *answered)


def _as_behind_path(
    program: Program, experiment: dict[str, Any], settings: AnalysisSettings
) -> AnalysisSettings:
    """Separate the sent and received traffic of a program during its lifetime.

    The duration that the scenario of a shell names is one that nobody waits for.
    """
    rules = (" or ".join(f"{way} host {end}" for end in program.addresses) for way in WAYS)
    measure, seconds = experiment.get("measure", {}), program.measured_s
    return _completed(
        settings,
        None if seconds is None else When(round(seconds * 1e9)),
        groups=tuple(zip(BEHIND_PATH, rules, strict=True)) if program.addresses else (),
        percentiles=tuple(measure.get("percentiles", settings.percentiles)),
    )


def _described(name: str, point: str, cell: int, replicate: int) -> CaptureInput:
    file, head = Path(name), None
    if name != STANDARD_INPUT and file.is_file():
        with file.open("rb") as opened:
            head = hashlib.sha256(opened.read(HEAD_BYTES)).hexdigest()
    return CaptureInput(name, point, _size(name), head, cell, replicate)


def _size(name: str) -> int | None:
    file = Path(name)
    if name == STANDARD_INPUT:
        return None
    if file.is_dir():
        return sum(inner.stat().st_size for inner in file.iterdir() if inner.is_file())
    return file.stat().st_size if file.is_file() else None
