"""A queue of the running kernel that somebody else set up: `fairwind probe` as functions.

`probe_queue` watches the queue at a device's root for a while, by programs at the kernel's
tracepoints. It changes nothing there. `Probed.write` makes the folder of a run of it, which
`report` and `results` read like any other. Nothing is printed here.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwind import _core
from fairwind.engine.core import core_versions, table_columns
from fairwind.engine.engines import frames_of
from fairwind.errors import FairwindError, translated
from fairwind.execution.folder import discard, make_folder, with_leading_columns
from fairwind.folder.manifest import CAPTURE_ENGINE, MANIFEST, Captured, CaptureInput, Manifest
from fairwind.folder.store import locked, write_frame
from fairwind.scenario.plan import Plan

if TYPE_CHECKING:
    import polars as pl

TABLES = (
    "queues",
    "queue_drops",
    "queue_intervals",
    "queue_sojourn_histogram",
    "queue_loss_run_lengths",
)
"""Tables that a queue alone can tell of; beside them `groups` names the protocols."""

GLANCE_S = 0.05
"""Longest wait for events, and for an interrupt, in seconds."""

LEAST_TIME_S = 0.01
"""Shortest time that is watched, and shortest window, in seconds."""

QUEUELESS = ("noqueue", "noop")
"""Disciplines that keep no packet."""

PER_TRANSMIT_QUEUE = ("mq", "mqprio", "taprio")
"""Disciplines that only hold one for each transmit queue of the device."""

CHILDREN_SHOWN = 4


@dataclass(frozen=True)
class Discipline:
    """A queue discipline at a device, and its counters since it was set up (tc(8)).

    Attributes
    ----------
    kind : str
        As ``tc`` calls it.
    options : str
        Options of the one at the root, as ``tc`` writes them.
    is_root : bool
        Whether it is directly at the device.
    sent_packets, sent_bytes : int
        What left it. A packet that is divided into segments later counts as these.
    dropped_packets : int
        What it dropped, those that its children dropped included.
    """

    kind: str
    options: str
    is_root: bool
    sent_packets: int
    sent_bytes: int
    dropped_packets: int

    @property
    def words(self) -> str:
        """Kind and options in a line."""
        return f"{self.kind} {self.options}".strip()


def disciplines(device: str) -> list[Discipline]:
    """Read the queue disciplines of a device of this network namespace.

    Raises
    ------
    FairwindError
        If there is no such device, or ``tc`` is missing.
    """
    return [_discipline(one, device) for one in json.loads(_tc(device, "-s", "-j") or "[]")]


def _tc(device: str, *options: str) -> str:
    """Let ``tc`` show the queue disciplines of a device."""
    command = ["tc", *options, "qdisc", "show", "dev", device]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except FileNotFoundError as error:
        raise FairwindError(
            "`tc` is missing, which tells what queue a device has", "apt-get install iproute2"
        ) from error
    if asked.returncode != 0:
        reason = asked.stderr.strip().splitlines()[:1] or ["no reason was given"]
        raise FairwindError(
            f"tc knows nothing of the device {device!r}: {reason[0]}",
            "`ip link` lists the devices of this network namespace; another one's is watched by "
            "`ip netns exec NAME fairwind probe DEV`",
        )
    return asked.stdout


def _discipline(found: dict[str, Any], device: str) -> Discipline:
    is_root = bool(found.get("root"))
    return Discipline(
        kind=found.get("kind", "unknown"),
        options=_options(_tc(device)) if is_root else "",
        is_root=is_root,
        sent_packets=found.get("packets", 0),
        sent_bytes=found.get("bytes", 0),
        dropped_packets=found.get("drops", 0),
    )


def _options(listing: str) -> str:
    """Give the options of the root discipline, which JSON has without units."""
    of_root = re.search(r"^qdisc \S+ \S+ (?:\[\w+\] )?root (?:refcnt \d+ )?(.*)$", listing, re.M)
    return of_root[1].strip() if of_root else ""


@dataclass(frozen=True)
class EventCounts:
    """Events at the queue while it was watched.

    Attributes
    ----------
    enqueued_packets, dequeued_packets, dropped_packets : int
        Packets that it took, sent and dropped; one that is divided later counts once.
    dequeued_segments : int
        Segments that the sent packets became.
    unseen_beginnings : int
        Packets that waited before, so that nobody knows how long.
    unseen_ends : int
        Packets that went in and are gone, but were not seen to leave or to be dropped.
    missed_events : int
        Events that came faster than they were read, and are lost.
    """

    enqueued_packets: int
    dequeued_packets: int
    dequeued_segments: int
    dropped_packets: int
    unseen_beginnings: int
    unseen_ends: int
    missed_events: int


@dataclass(frozen=True)
class ConnectionCounts:
    """What became of the packets of a connection, in the direction that the queue is in.

    Attributes
    ----------
    protocol : str
        ``tcp``, ``udp`` or ``other``.
    source, destination : str
        Addresses with ports; port 0 where there is none.
    sent_packets, sent_bytes, dropped_packets : int
        As the queue counts them; only packets that were seen to go in.
    waited_s, longest_wait_s : float
        Sum and longest of the waits of sent packets, in seconds.
    """

    protocol: str
    source: str
    destination: str
    sent_packets: int
    sent_bytes: int
    dropped_packets: int
    waited_s: float
    longest_wait_s: float

    @property
    def mean_wait_s(self) -> float | None:
        """Mean wait of sent packets in seconds; None where none was sent."""
        return self.waited_s / self.sent_packets if self.sent_packets else None


@dataclass(frozen=True)
class Probed:
    """Measures of a device's queue.

    Attributes
    ----------
    device : str
        The device.
    discipline : Discipline
        The one at its root, with what its counters grew by.
    queues : tuple of str
        Names of the measured queues: the device, or one for each transmit queue.
    interval_s, measured_s : float
        Length of windows, and how long it was watched, in seconds.
    counts : EventCounts
        What the programs saw.
    connections : list of ConnectionCounts
        Those with most bytes first.
    tables : dict
        Frames of `TABLES`, of `groups` with the protocols that were there, and of `flows` without
        rows.
    is_interrupted : bool
        Whether it was ended before its time.
    """

    device: str
    discipline: Discipline
    queues: tuple[str, ...]
    interval_s: float
    measured_s: float
    counts: EventCounts
    connections: list[ConnectionCounts]
    tables: dict[str, pl.DataFrame]
    is_interrupted: bool = False

    @property
    def unqueued_segments(self) -> int:
        """Segments that the kernel counts as sent and that never stood in the queue.

        Many disciplines let a packet that finds them empty pass at once; events that nobody saw
        are among them.
        """
        return max(0, self.discipline.sent_packets - self.counts.dequeued_segments)

    @property
    def unseen_drops(self) -> int:
        """Packets that the kernel counts as dropped and that no event told of."""
        return max(0, self.discipline.dropped_packets - self.counts.dropped_packets)

    @property
    def loss_ratio(self) -> float | None:
        """Share of dropped packets, by the kernel's counters; None where there was no packet."""
        offered = self.discipline.sent_packets + self.discipline.dropped_packets
        return self.discipline.dropped_packets / offered if offered else None

    @property
    def caveats(self) -> list[str]:
        """What a reader has to know before believing a number."""
        return [*self._missing(), *self._offloads()]

    def _missing(self) -> list[str]:
        found = []
        if self.counts.missed_events:
            found.append(
                f"{self.counts.missed_events} events came faster than they were read and are "
                "missing; the kernel's own counters have all packets"
            )
        if self.unseen_drops:
            found.append(
                f"{self.unseen_drops} of {self.discipline.dropped_packets} drops have no event: "
                "this kernel does not say of them that a queue dropped them"
            )
        if self.unqueued_segments:
            found.append(
                f"{self.unqueued_segments} of {self.discipline.sent_packets} sent packets never "
                "stood in the queue, which was empty: they are in no distribution of waits"
            )
        return found

    def _offloads(self) -> list[str]:
        dequeued, segments = self.counts.dequeued_packets, self.counts.dequeued_segments
        if segments <= dequeued:
            return []
        return [
            f"packets stood for {segments / dequeued:.1f} segments each (segmentation offload): "
            "backlog and drops count packets, the kernel's counters segments"
        ]

    def write(self, out: Path, *, force: bool = False) -> None:
        """Write the folder of a run, with the tables.

        Raises
        ------
        FairwindError
            If the folder is none, is in use, or holds a run and ``force`` is not given.
        """
        check_folder(out, force=force)
        with locked(out):
            if (out / MANIFEST).exists():
                discard(out)
            manifest = self._manifest()
            cell = manifest.plan.cells[0]
            for name, frame in with_leading_columns(self.tables, (), cell, 0, None).items():
                write_frame(out / f"{name}.parquet", frame)
            manifest.write(out)

    def _manifest(self) -> Manifest:
        plan = Plan.of_one_cell(
            f"queue of {self.device}",
            f"The queue at {self.device}: {self.discipline.words}.",
            {"duration": f"{self.measured_s:.3f} s"},
        )
        return Manifest.of_run(
            plan,
            CAPTURE_ENGINE,
            dict(core_versions()),
            columns=list(table_columns()),
            facts={},
            study=None,
            captured=Captured(
                inputs=(CaptureInput(self.device, "queue"),),
                settings={"interval_s": self.interval_s},
                facts=({"discipline": asdict(self.discipline), "events": asdict(self.counts)},),
                caveats=tuple(self.caveats),
                is_complete=not self.is_interrupted,
            ),
        )


def check_folder(out: Path, *, force: bool = False) -> None:
    """Make a folder for measures, or refuse it; before measuring, so that nothing is lost.

    Raises
    ------
    FairwindError
        If the folder is none, or holds a run and ``force`` is not given.
    """
    make_folder(out)
    if (out / MANIFEST).exists() and not force:
        raise FairwindError(
            f"{out} holds a run",
            "name another folder with --out, or discard what is there with --force",
        )


class ProbeError(FairwindError):
    """The kernel does not report packets of a queue."""


def probe_queue(
    device: str,
    duration_s: float,
    *,
    interval_s: float = 0.1,
    watch: Callable[[float, EventCounts], None] | None = None,
) -> Probed:
    """Watch the queue at the root of a device of this network namespace; needs root.

    An interrupt (`KeyboardInterrupt`) ends it early, and what was measured is returned.

    Parameters
    ----------
    duration_s : float
        How long, in seconds.
    interval_s : float
        Length of the windows of the table `queue_intervals`, in seconds.
    watch : callable, optional
        Told the elapsed seconds and the counts so far, twenty times a second.

    Raises
    ------
    FairwindError
        If there is no such device, or it has no queue, or a time is too short.
    ProbeError
        If the kernel does not report, such as to who is not root.
    """
    if min(duration_s, interval_s) < LEAST_TIME_S:
        raise FairwindError(
            f"the watched time and its windows must last {LEAST_TIME_S:g} s at least",
            "give longer times",
        )
    found = disciplines(device)
    root = _root(device, found)
    queues = _queues(device, root, found)
    if not hasattr(_core, "Probe"):
        raise FairwindError("`fairwind probe` requires Linux", "use a machine with Linux")
    with translated(_core.KernelUnavailable, ProbeError):
        running = _core.Probe(device, list(queues), round(interval_s * 1e9))
        # Counters are read inside the watched time, so that none of their packets is unseen.
        before = _root(device, disciplines(device))
        is_interrupted = _watch(running, duration_s, watch)
        after = _root(device, disciplines(device))
        tables, facts = running.finish()
    told = json.loads(facts)
    connections = [ConnectionCounts(**one) for one in told["connections"]]
    return Probed(
        device,
        _grown(before, after),
        queues,
        interval_s,
        told["measured_s"],
        EventCounts(**told["counts"]),
        connections,
        _told(frames_of(tables), Counter(one.protocol for one in connections)),
        is_interrupted,
    )


def _watch(
    running: _core.Probe, duration_s: float, watch: Callable[[float, EventCounts], None] | None
) -> bool:
    """Watch for so long; return whether it was interrupted."""
    end = time.monotonic() + duration_s
    try:
        while (left := end - time.monotonic()) > 0:
            counts = EventCounts(**json.loads(running.advance(min(left, GLANCE_S))))
            if watch is not None:
                watch(duration_s - left, counts)
    except KeyboardInterrupt:
        return True
    return False


def _told(frames: dict[str, pl.DataFrame], connections: Counter[str]) -> dict[str, pl.DataFrame]:
    """Leave out tables that a queue cannot tell of, and protocols that were not there."""
    import polars as pl

    groups = frames["groups"]
    counts = [connections[name] for name in groups["group"]]
    frames["groups"] = groups.with_columns(pl.Series("flows", counts, groups.schema["flows"]))
    drops = frames["queue_drops"]
    there = drops.filter(drops["offered_packets"] > 0)["group"].unique().to_list()
    told = {name: frames[name] for name in (*TABLES, "groups")}
    # Its rows would be of flows that stand for all packets of a protocol.
    told["flows"] = frames["flows"].clear()
    return {
        name: frame.filter(frame["group"].is_in(there)) if "group" in frame.columns else frame
        for name, frame in told.items()
    }


def _root(device: str, found: list[Discipline]) -> Discipline:
    root = next((one for one in found if one.is_root), None)
    if root is None or root.kind in QUEUELESS:
        raise FairwindError(
            f"{device} has no queue: its discipline is {root.kind if root else 'none'}",
            "packets wait elsewhere, or nowhere; `tc qdisc show` lists the queues of all devices",
        )
    return root


def _queues(device: str, root: Discipline, found: list[Discipline]) -> tuple[str, ...]:
    """Name the queues: one for each transmit queue, if each has a discipline of its own."""
    children = sum(not one.is_root for one in found)
    if root.kind not in PER_TRANSMIT_QUEUE or children < 2:
        return (device,)
    return tuple(f"{device} queue {number}" for number in range(children))


def _grown(before: Discipline, after: Discipline) -> Discipline:
    """Give a discipline with what its counters grew by; if it was replaced, since then."""
    same = before.kind == after.kind and before.sent_packets <= after.sent_packets
    if not same:
        return after
    return Discipline(
        after.kind,
        after.options,
        after.is_root,
        after.sent_packets - before.sent_packets,
        after.sent_bytes - before.sent_bytes,
        after.dropped_packets - before.dropped_packets,
    )
