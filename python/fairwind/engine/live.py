"""Figures of a run under way: what flows and queues did in the last second of the experiment.

The core counts when it is asked to (`Progress.live_counts`): totals since the measurement began, or
since the end of the warm-up. Figures are differences between two such counts.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairwind.engine.engines import CellProgress

WINDOW_S = 1.0
"""Seconds of the experiment that figures are about, or more where counts are further apart."""

MOST_COUNTS = 64
"""Counts that are kept to find one that is so long ago."""


@dataclass(frozen=True)
class LiveGroup:
    """Figures of a group of flows.

    Attributes
    ----------
    name : str
    goodput_bits_per_second : float
        Payload read in the window over its duration.
    ack_latency_s : float, optional
        Median of the ACK latencies in the window, in seconds: the round-trip time, and the wait for
        retransmissions and delayed ACKs. None if nothing was acknowledged.
    packets_lost : int
        Since the measurement began, as the column of this name.
    retransmission_ratio : float, optional
        Data segments retransmitted over those sent, since the measurement began.
    timeouts : int
        Since the measurement began.
    """

    name: str
    goodput_bits_per_second: float
    ack_latency_s: float | None
    packets_lost: int
    retransmission_ratio: float | None
    timeouts: int


@dataclass(frozen=True)
class LiveQueue:
    """Figures of a queue.

    Attributes
    ----------
    name : str
    backlog_packets, backlog_bytes : float, optional
        Mean of what packets accepted in the window found waiting; None if there were none.
    dropped_packets, marked_packets : int
        Since the measurement began; losses on the link behind the queue are among the drops.
    """

    name: str
    backlog_packets: float | None
    backlog_bytes: float | None
    dropped_packets: int
    marked_packets: int


@dataclass(frozen=True)
class LiveFigures:
    """Figures of a run at one instant.

    Attributes
    ----------
    time_s : float
        Seconds since the experiment began.
    window_s : float
        Duration of the window that ends there.
    is_warm : bool
        Whether the warm-up is over; totals begin anew then.
    groups : tuple of LiveGroup
    queues : tuple of LiveQueue
    """

    time_s: float
    window_s: float
    is_warm: bool
    groups: tuple[LiveGroup, ...]
    queues: tuple[LiveQueue, ...]


class LiveWatch:
    """Follows one run.

    Parameters
    ----------
    run : CellProgress
        Such as the object that an engine's ``new_progress`` makes.
    """

    def __init__(self, run: CellProgress) -> None:
        self._run = run
        self._counts: deque[Mapping[str, Any]] = deque(maxlen=MOST_COUNTS)

    def look(self) -> LiveFigures | None:
        """Return new figures, if the run has counted since the last look, and ask for the next."""
        text = self._run.live_counts()
        if text is None:
            return None
        now = json.loads(text)
        if self._counts and now["time_s"] <= self._counts[-1]["time_s"]:
            return None
        figures = _figures(self._begin(now), now)
        self._counts.append(now)
        return figures

    def _begin(self, now: Mapping[str, Any]) -> Mapping[str, Any]:
        """Find the latest counts that are a window ago; the beginning where totals began anew."""
        if self._counts and self._counts[-1]["counted_from_s"] != now["counted_from_s"]:
            self._counts.clear()
        limit = now["time_s"] - WINDOW_S
        while len(self._counts) > 1 and self._counts[1]["time_s"] <= limit:
            self._counts.popleft()
        if self._counts:
            return self._counts[0]
        return {"time_s": now["counted_from_s"], "groups": [], "queues": []}


def _figures(begin: Mapping[str, Any], end: Mapping[str, Any]) -> LiveFigures:
    window_s = end["time_s"] - begin["time_s"]
    # Groups of a shell and queues stay in their order; more may come.
    groups = {group["name"]: group for group in begin["groups"]}
    queues = {queue["name"]: queue for queue in begin["queues"]}
    return LiveFigures(
        time_s=end["time_s"],
        window_s=window_s,
        is_warm=end["is_warm"],
        groups=tuple(_group(groups.get(one["name"], {}), one, window_s) for one in end["groups"]),
        queues=tuple(_queue(queues.get(one["name"], {}), one) for one in end["queues"]),
    )


def _group(begin: Mapping[str, Any], end: Mapping[str, Any], window_s: float) -> LiveGroup:
    read = end["payload_bytes_read"] - begin.get("payload_bytes_read", 0)
    sent = end["data_segments_sent"]
    return LiveGroup(
        name=end["name"],
        goodput_bits_per_second=8 * read / window_s if window_s > 0 else 0.0,
        ack_latency_s=_median_s(begin.get("ack_latency_ns", []), end["ack_latency_ns"]),
        packets_lost=end["packets_lost"],
        retransmission_ratio=end["data_segments_retransmitted"] / sent if sent else None,
        timeouts=end["timeouts"],
    )


def _queue(begin: Mapping[str, Any], end: Mapping[str, Any]) -> LiveQueue:
    accepted = end["enqueued_packets"] - begin.get("enqueued_packets", 0)
    mean = {
        key: (end[key] - begin.get(key, 0)) / accepted if accepted > 0 else None
        for key in ("backlog_packets_sum", "backlog_bytes_sum")
    }
    return LiveQueue(
        name=end["name"],
        backlog_packets=mean["backlog_packets_sum"],
        backlog_bytes=mean["backlog_bytes_sum"],
        dropped_packets=end["dropped_packets"],
        marked_packets=end["marked_packets"],
    )


def _median_s(begin: list[list[int]], end: list[list[int]]) -> float | None:
    """Give the median of the samples of one histogram that another does not have yet."""
    before = {upper: count for upper, count in begin}
    new = [(upper, count - before.get(upper, 0)) for upper, count in end]
    middle = sum(count for _, count in new) / 2
    below = 0
    for upper, count in new:
        below += count
        if count > 0 and below >= middle:
            return upper / 1e9
    return None
