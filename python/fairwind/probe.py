"""A live queue of the running kernel: `fairwind probe` as functions.

`probe_queue` watches the queue at a device's root for a while, by programs at the kernel's
tracepoints. It changes nothing there. `QueueMeasurement.write` makes the folder of a run of it,
which `report` and `results` read like any other. Nothing is printed here.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
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
"""Tables of queues; beside them `groups` names the protocols."""

MOST_TIME_S = 1e6
"""Longest time that is watched, in seconds."""

POLL_INTERVAL_S = 0.05
"""Longest wait for events, and for an interrupt, in seconds."""

LEAST_TIME_S = 0.01
"""Shortest time that is watched, and shortest window, in seconds."""

QUEUELESS = ("noqueue", "noop")
"""Disciplines that keep no packet."""

ROOT = "root"

PATIENCE_S = 10
"""Longest wait for ``tc``, in seconds."""

PER_TRANSMIT_QUEUE = ("mq", "mqprio", "taprio")
"""Disciplines that only hold one for each transmit queue of the device."""


@dataclass(frozen=True)
class Discipline:
    """A queue discipline at a device, and its counters since it was set up (tc(8)).

    Attributes
    ----------
    kind : str
        As ``tc`` calls it.
    options : str
        Options of the one at the root, as ``tc`` writes them.
    handle, parent : str
        Its name, such as ``1:``, and the class that it is in; ``root`` directly at the device.
    sent_packets, sent_bytes : int
        What left it. A packet that is divided into segments later counts as these.
    dropped_packets : int
        What it dropped, those that its children dropped included. A packet that is divided
        later counts once.
    requeued_packets : int
        Packets that the device did not take, so that they left once more.
    """

    kind: str
    options: str
    handle: str
    parent: str
    sent_packets: int
    sent_bytes: int
    dropped_packets: int
    requeued_packets: int

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
    options = _options(_tc(device))
    return [_discipline(one, options) for one in json.loads(_tc(device, "-s", "-j") or "[]")]


def _tc(device: str, *options: str) -> str:
    """Let ``tc`` show the queue disciplines of a device."""
    command = ["tc", *options, "qdisc", "show", "dev", device]
    try:
        asked = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
    except FileNotFoundError as error:
        raise FairwindError(
            "`tc` is missing; queues of a device are listed by it", "apt-get install iproute2"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise FairwindError(
            f"`tc` has not listed the queues of {device} in {PATIENCE_S} s", "try again"
        ) from error
    if asked.returncode != 0:
        reason = asked.stderr.strip().splitlines()[:1] or ["no reason was given"]
        raise FairwindError(
            f"tc knows nothing of the device {device!r}: {reason[0]}",
            "`ip link` lists the devices of this network namespace; another one's is watched by "
            "`ip netns exec NAME fairwind probe DEV`",
        )
    return asked.stdout


def _discipline(found: dict[str, Any], options: str) -> Discipline:
    is_root = bool(found.get("root"))
    return Discipline(
        kind=found.get("kind", "unknown"),
        options=options if is_root else "",
        handle=found.get("handle", ""),
        parent=ROOT if is_root else found.get("parent", ""),
        sent_packets=found.get("packets", 0),
        sent_bytes=found.get("bytes", 0),
        dropped_packets=found.get("drops", 0),
        requeued_packets=found.get("requeues", 0),
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
    dropped_without_reason : int
        Of the dropped ones, those of which the kernel says no more than that a queue discipline
        dropped them; tables count them among those of a full queue.
    dequeued_without_enqueue : int
        Packets whose wait is unknown: they were there before, were put back once, or were made of
        another packet in the queue.
    enqueued_without_end : int
        Packets that went in and are gone, and have no event of leaving or being dropped.
    missed_events : int
        Events that came faster than they were read, and are lost.
    """

    enqueued_packets: int
    dequeued_packets: int
    dequeued_segments: int
    dropped_packets: int
    dropped_without_reason: int
    dequeued_without_enqueue: int
    enqueued_without_end: int
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
class QueueMeasurement:
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
    def sent_without_event(self) -> int:
        """Segments that the kernel counts as sent and that have no event of leaving the queue."""
        taken = self.counts.dequeued_segments - self.discipline.requeued_packets
        return max(0, self.discipline.sent_packets - taken)

    @property
    def dropped_without_event(self) -> int:
        """Packets that the kernel counts as dropped and that have no event."""
        return max(0, self.discipline.dropped_packets - self.counts.dropped_packets)

    @property
    def has_offload(self) -> bool:
        """Whether some packets stood for several segments."""
        return self.counts.dequeued_segments > self.counts.dequeued_packets

    @property
    def lacks_counters(self) -> bool:
        """Whether the kernel's counters are unknown, as of a device that is gone."""
        return not self.discipline.sent_packets and self.counts.dequeued_packets > 0

    @property
    def loss_ratio(self) -> float | None:
        """Share of dropped packets: of segments and drops by the kernel's counters.

        With segmentation offload it is that of packets by events, since the kernel counts sent
        segments, but dropped packets. None where there was no packet.
        """
        dropped, sent = self.discipline.dropped_packets, self.discipline.sent_packets
        if self.has_offload or self.lacks_counters:
            dropped, sent = self.counts.dropped_packets, self.counts.dequeued_packets
        return dropped / (dropped + sent) if dropped + sent else None

    @property
    def caveats(self) -> list[str]:
        """What limits the numbers, in sentences."""
        return [*self._missing(), *self._unknown()]

    def _missing(self) -> list[str]:
        counts, discipline = self.counts, self.discipline
        cause = (
            ""
            if counts.missed_events
            else ": most disciplines let a packet pass that finds them empty"
        )
        found = []
        if self.lacks_counters:
            found.append(
                "the kernel's counters at the end are unknown: the device or its queue is gone"
            )
        if counts.missed_events:
            found.append(
                f"{counts.missed_events} events came faster than they were read and are missing; "
                "the kernel's own counters have all packets"
            )
        if self.dropped_without_event:
            found.append(
                f"{self.dropped_without_event} of {discipline.dropped_packets} drops have no event"
            )
        if self.sent_without_event:
            found.append(
                f"{self.sent_without_event} of {discipline.sent_packets} sent packets have no "
                f"event and are in no distribution of waits{cause}"
            )
        return found

    def _unknown(self) -> list[str]:
        counts = self.counts
        found = []
        if counts.dequeued_without_enqueue or counts.enqueued_without_end:
            found.append(
                f"of {counts.dequeued_packets} packets that left, "
                f"{counts.dequeued_without_enqueue} have no event of entering (there before, put "
                "back, or divided in the queue); "
                f"{counts.enqueued_without_end} entered and have no event of leaving"
            )
        if counts.dropped_without_reason:
            found.append(
                f"of {counts.dropped_without_reason} drops the kernel gives no closer reason; they "
                "count as those of a full queue"
            )
        if self.has_offload:
            segments = counts.dequeued_segments / counts.dequeued_packets
            found.append(
                f"packets stood for {segments:.1f} segments each (segmentation offload): backlog, "
                "waits and drops count packets, the kernel's counter of sent packets segments"
            )
        return found

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
    """The kernel reports no packets of a queue, such as to who is not root."""


def probe_queue(
    device: str,
    duration_s: float,
    *,
    interval_s: float = 0.1,
) -> QueueMeasurement:
    """Watch the queue at the root of a device of this network namespace; needs root.

    An interrupt (`KeyboardInterrupt`) ends it early, and what was measured is returned.

    Parameters
    ----------
    duration_s : float
        How long, in seconds.
    interval_s : float
        Length of the windows of the table `queue_intervals`, in seconds.

    Raises
    ------
    FairwindError
        If there is no such device, or it has no queue, or a time is too short.
    ProbeError
        If the kernel does not report, such as to who is not root.
    """
    if not LEAST_TIME_S <= interval_s <= duration_s <= MOST_TIME_S:
        raise FairwindError(
            f"a probe of {duration_s:g} s cannot have windows of {interval_s:g} s",
            f"windows last {LEAST_TIME_S:g} s at least and no longer than the probe, which lasts "
            f"{MOST_TIME_S:g} s at most",
        )
    if not hasattr(_core, "Probe"):
        raise FairwindError("`fairwind probe` requires Linux", "use a machine with Linux")
    found = disciplines(device)
    queues = _queues(device, _root(device, found), found)
    running = _start(device, queues, interval_s)
    growth, is_interrupted = _observe(running, device, duration_s)
    tables, facts = running.finish()
    told = json.loads(facts)
    connections = [ConnectionCounts(**one) for one in told["connections"]]
    return QueueMeasurement(
        device,
        growth,
        queues,
        interval_s,
        told["measured_s"],
        EventCounts(**told["counts"]),
        connections,
        _queue_tables(frames_of(tables), Counter(one.protocol for one in connections)),
        is_interrupted,
    )


@translated(_core.KernelUnavailable, ProbeError)
def _start(device: str, queues: tuple[str, ...], interval_s: float) -> _core.Probe:
    return _core.Probe(device, list(queues), round(interval_s * 1e9))


def _observe(running: _core.Probe, device: str, duration_s: float) -> tuple[Discipline, bool]:
    """Read events for so long; give the growth of the counters, and whether it was interrupted."""
    # Counters are read inside the measured time.
    before = after = _root(device, disciplines(device))
    is_interrupted = False
    try:
        end = time.monotonic() + duration_s
        while (left := end - time.monotonic()) > 0:
            running.advance(min(left, POLL_INTERVAL_S))
    except KeyboardInterrupt:
        is_interrupted = True
    # A device that is gone by now has lost its counters, but not what was measured.
    with suppress(FairwindError):
        after = _root(device, disciplines(device))
    return _counter_growth(before, after), is_interrupted


def _queue_tables(
    frames: dict[str, pl.DataFrame], connections: Counter[str]
) -> dict[str, pl.DataFrame]:
    """Leave out tables that are not of queues, and protocols that were not there."""
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
    root = next((one for one in found if one.parent == ROOT), None)
    if root is None or root.kind in QUEUELESS:
        raise FairwindError(
            f"{device} has no queue: its discipline is {root.kind if root else 'none'}",
            "packets wait elsewhere, or nowhere; `tc qdisc show` lists the queues of all devices",
        )
    return root


def _queues(device: str, root: Discipline, found: list[Discipline]) -> tuple[str, ...]:
    """Name the queues: one for each transmit queue, if each has a discipline of its own."""
    # One for each transmit queue is directly in the root; others are below these, or for arrivals.
    major = root.handle.removesuffix(":").removeprefix("0")
    children = sum(one.parent.split(":")[0] == major for one in found if one.parent != ROOT)
    if root.kind not in PER_TRANSMIT_QUEUE or children < 2:
        return (device,)
    return tuple(f"{device} queue {number}" for number in range(children))


def _counter_growth(before: Discipline, after: Discipline) -> Discipline:
    """Give a discipline with what its counters grew by; all of a new one that has replaced it."""
    if (before.kind, before.handle) != (after.kind, after.handle):
        return after
    grown = {name: getattr(after, name) - getattr(before, name) for name in COUNTERS}
    # A new one may have the name of the old one.
    return after if min(grown.values()) < 0 else replace(after, **grown)


COUNTERS = ("sent_packets", "sent_bytes", "dropped_packets", "requeued_packets")
