"""Estimate of what a plan costs before it runs: segments, processor time and memory.

The model. A simulation moves data packets and ACKs. On each bottleneck, groups that write a known
volume come first, and greedy ones share the rest of rate times duration. Its time is proportional
to these packets and to its connections; its memory to its connections, to the packets that links
and queues can hold, and to the rows of tables that were asked for. The factors were measured on one
machine (2025, 2 processors); other machines differ by a factor of two or three, and so does a path
that no single bottleneck describes. `tests/python/test_preview.py` holds the model against runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairwind.preview.network import Link, Network, bottleneck_of, queue_limit
from fairwind.preview.traffic import Traffic, traffic_of
from fairwind.quantities import parse_seconds

START_SECONDS = 1.2
RUN_SECONDS = 6e-3
PACKET_SECONDS = 0.5e-6
CONNECTION_SECONDS = 30e-6
"""Processor time: of the command and the merged tables, of a simulation, of a packet (sent, queued
and received, on one or two links), and of a connection with its rows in the tables."""

PLANNED_SECONDS = 5e-6
"""Processor time for each transfer that a scenario plans, begun or not."""

START_BYTES = 160e6
CONNECTION_BYTES = 8.5e3
PACKET_BYTES = 130.0
ROW_BYTES = 150.0
"""Memory: of Python with its libraries, of a connection with both endpoints and its statistics, of
a packet under way, and of a row of a table that grows with time."""

WINDOW_BYTES = 64 * 2.0**20
"""Receive buffer of profiles, the largest window of a connection."""

FILLED = ("pfifo", "bfifo", "tbf")
"""Disciplines with a queue that greedy flows fill up to its limit."""

MOST_CELLS = 300
"""So many cells are computed; of larger grids this many, evenly spaced."""


@dataclass(frozen=True)
class Cost:
    """Cost of one simulation.

    Attributes
    ----------
    packets : float
        Data packets and ACKs that hosts send.
    connections : float
        Connections, those after one another included.
    held_packets : float
        Packets that links and queues hold at most.
    rows : float
        Rows of series that the scenario asks for.
    planned : float
        Transfers that the scenario plans.
    """

    packets: float
    connections: float
    held_packets: float
    rows: float
    planned: float = 0.0

    @property
    def seconds(self) -> float:
        """Processor time in the simulator."""
        per_flow = CONNECTION_SECONDS * self.connections + PLANNED_SECONDS * self.planned
        return RUN_SECONDS + PACKET_SECONDS * self.packets + per_flow

    @property
    def memory_bytes(self) -> float:
        """Memory while it runs, in addition to that of the process."""
        held = PACKET_BYTES * self.held_packets + ROW_BYTES * self.rows
        return CONNECTION_BYTES * max(self.connections, self.planned) + held


@dataclass(frozen=True)
class Estimate:
    """Cost of a plan in the simulator.

    Attributes
    ----------
    packets : float
        Data packets and ACKs of all simulations.
    seconds : float
        Time until the tables are written, on an idle machine.
    memory_bytes : float
        Largest use of memory.
    """

    packets: float
    seconds: float
    memory_bytes: float


def estimate(experiments: Iterable[Mapping[str, Any]], replicates: int, jobs: int) -> Estimate:
    """Estimate the cost of a plan in the simulator.

    Parameters
    ----------
    experiments : iterable of mapping
        The resolved experiment of each cell.
    replicates : int
        Simulations of each cell.
    jobs : int
        Simulations at once.
    """
    every = list(experiments)
    step = max(-(-len(every) // MOST_CELLS), 1)
    costs = [cost_of(experiment) for experiment in every[::step]]
    share = len(every) / len(costs)
    runs = len(every) * replicates
    seconds = [cost.seconds for cost in costs for _ in range(min(replicates, 2))]
    work_s = sum(cost.seconds for cost in costs) * share * replicates
    at_once = min(jobs, runs)
    largest = sorted(cost.memory_bytes for cost in costs for _ in range(min(replicates, at_once)))
    return Estimate(
        packets=sum(cost.packets for cost in costs) * share * replicates,
        seconds=START_SECONDS + max(work_s / at_once, *seconds),
        memory_bytes=START_BYTES + sum(largest[-at_once:]),
    )


def cost_of(experiment: Mapping[str, Any]) -> Cost:
    """Estimate the cost of one simulation of a resolved experiment."""
    network = Network.of(experiment["network"])
    traffic = traffic_of(experiment, network)
    duration_s = parse_seconds(experiment["duration"])
    by_link: dict[str | None, tuple[Link | None, list[Traffic]]] = {}
    for one in traffic:
        link = bottleneck_of(network.route(one.start, one.end))
        by_link.setdefault(None if link is None else link.name, (link, []))[1].append(one)
    packets = sum(_packets(*those, network) for those in by_link.values())
    held = sum(_held_packets(*those, network) for those in by_link.values())
    connections = sum(one.connections for one in traffic)
    rows = _rows(experiment, traffic, packets, duration_s)
    planned = sum(
        float(group.get("count", 1) * group["workload"]["transfers"])
        for group in experiment["flows"]
        if group["workload"]["kind"] == "transfers"
    )
    return Cost(packets, connections, held, rows, planned)


def _packets(link: Link | None, those: list[Traffic], network: Network) -> float:
    """Give the packets of the groups with one bottleneck, ACKs included."""
    active_s = max(one.active_s for one in those)
    rate = None if link is None else link.rate_bits_per_second
    if rate is None:
        capacity = sum(
            WINDOW_BYTES * one.connections / max(network.rtt_s(one.start, one.end), 1e-3)
            for one in those
        )
        capacity *= active_s
    else:
        capacity = rate / 8 * active_s
    limited = [one for one in those if not one.is_greedy and one.volume_bytes < capacity]
    greedy = [one for one in those if one.is_greedy or one.volume_bytes >= capacity]
    volume = sum(one.volume_bytes for one in limited)
    fits = min(1.0, capacity / volume) if volume else 1.0
    packets = fits * sum(one.packets * (1 + one.acks_per_packet) for one in limited)
    if greedy:
        packets += 1.5 * max(capacity - volume, 0.0) / network.mtu_bytes
    return packets


def _held_packets(link: Link | None, those: list[Traffic], network: Network) -> float:
    """Give the packets that a bottleneck's queue and links hold while it is busy."""
    windows = sum(WINDOW_BYTES * one.connections for one in those)
    if link is None or link.rate_bits_per_second is None:
        held = windows
    else:
        rtt_s = max(network.rtt_s(one.start, one.end) for one in those)
        product = link.rate_bits_per_second / 8 * rtt_s
        limit = queue_limit(link, network.mtu_bytes)
        # Whoever drops early keeps far less than the limit.
        is_filled = limit is not None and link.queue.get("discipline") in FILLED
        held = min(windows, product + (limit[0] if limit and is_filled else product))
    volume = sum(one.volume_bytes for one in those)
    return min(held, volume) / network.mtu_bytes


def _rows(
    experiment: Mapping[str, Any], traffic: list[Traffic], packets: float, duration_s: float
) -> float:
    """Give the rows of series and logs that grow with time."""
    measure = experiment.get("measure", {})
    connections = sum(one.connections for one in traffic)
    rows = 0.0
    for interval in measure.get("intervals", ()):
        series = len(traffic) + (connections if measure.get("per_flow_intervals") else 0)
        rows += series * duration_s / parse_seconds(interval)
    if interval := measure.get("endpoint_interval"):
        rows += connections * duration_s / parse_seconds(interval)
    if measure.get("endpoint_every_ack"):
        rows += packets / 2
    if events := measure.get("queue_events"):
        logged = 2 * packets
        rows += min(logged, events.get("most") or logged)
    return rows


def available_memory_bytes() -> float | None:
    """Give the memory that this machine can still give; None where it is not known."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"^MemAvailable: +(\d+) kB$", text, re.MULTILINE)
    return None if found is None else 1024.0 * int(found[1])
