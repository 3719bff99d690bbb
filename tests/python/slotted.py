"""A start-up over slots, packet by packet: small enough to be read, and none of the project's code.

One terminal measures what arrives in each request period and requests ``k`` times that rate, which
replaces the request before; a master plans at each allocation period with the last request that it
has heard; a plan holds from the first frame on that begins after it has been heard. Half a round
trip lies each way. A slot carries one segment; one slot is guaranteed. Slow start sends two
segments for each acknowledgment, nothing is lost, the forward link takes no time.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

RTT_S, FRAME_S, SLOTS, SLOT_RATE, MOST_SLOTS = 0.84, 0.273, 48, 44_000.0, 27
SEGMENT_BITS = 12_000.0


@dataclass
class Transfer:
    """One transfer that begins ``start_s`` after the begin of a frame, a request and a plan."""

    segments: int
    multiplier: float
    start_s: float
    initial: int = 3
    request_frames: int = 3
    allocation_frames: int = 2
    queue: int = 0
    written: int = 0
    measured: int = 0
    sent: int = 0
    acknowledged: int = 0
    assigned: int = 0
    heard_bits_per_second: float = 0.0
    plan: int = 1
    events: list[tuple[float, int, str, float]] = field(default_factory=list)
    order: int = 0

    def run(self) -> tuple[float, float]:
        """Give the time until the last acknowledgment, and the share of slots that were used."""
        self.after(self.start_s, "arrive", self.initial)
        self.after(self.request_frames * FRAME_S, "request")
        self.after(0.0, "plan")
        self.after(0.0, "frame")
        now = 0.0
        while self.acknowledged < self.segments:
            now, _, kind, value = heapq.heappop(self.events)
            getattr(self, f"on_{kind}")(now, value)
        return now - self.start_s, self.sent / self.assigned

    def after(self, at: float, kind: str, value: float = 0.0) -> None:
        self.order += 1
        heapq.heappush(self.events, (at, self.order, kind, value))

    def on_arrive(self, now: float, segments: float) -> None:
        new = min(int(segments), self.segments - self.written)
        self.written += new
        self.queue += new
        self.measured += new

    def on_request(self, now: float, _: float) -> None:
        period = self.request_frames * FRAME_S
        self.after(now + RTT_S / 2, "hear", self.multiplier * self.measured * SEGMENT_BITS / period)
        self.after(now + period, "request")
        self.measured = 0

    def on_hear(self, now: float, rate: float) -> None:
        self.heard_bits_per_second = rate

    def on_plan(self, now: float, _: float) -> None:
        wanted = math.ceil(self.heard_bits_per_second / SLOT_RATE - 1e-9)
        self.after(now + RTT_S / 2, "learn", min(MOST_SLOTS, max(1, wanted)))
        self.after(now + self.allocation_frames * FRAME_S, "plan")

    def on_learn(self, now: float, slots: float) -> None:
        self.plan = int(slots)

    def on_frame(self, now: float, _: float) -> None:
        for slot in range(self.plan):
            self.after(now + FRAME_S * (slot + 1) / SLOTS, "slot")
        self.after(now + FRAME_S, "frame")

    def on_slot(self, now: float, _: float) -> None:
        # Slots count from the first segment's arrival until the last one's departure.
        if self.written and self.sent < self.segments:
            self.assigned += 1
        if self.queue:
            self.queue -= 1
            self.sent += 1
            self.after(now + RTT_S, "acknowledge")

    def on_acknowledge(self, now: float, _: float) -> None:
        self.acknowledged += 1
        self.on_arrive(now, 2)


@dataclass
class Served(Transfer):
    """The same where assigned slots are a rate: no segment waits for a frame or for a slot in it.

    A plan holds as soon as it has been heard. Idle guaranteed slots do not count as assigned.
    """

    rate: float = SLOT_RATE
    left_bits: float = 0.0
    since: float = 0.0
    ticket: int = 0
    assigned_bits: float = 0.0

    def run(self) -> tuple[float, float]:
        time, _ = super().run()
        return time, self.segments * SEGMENT_BITS / self.assigned_bits

    def on_frame(self, now: float, _: float) -> None:
        self.assigned = 1  # frames mean nothing here

    def on_arrive(self, now: float, segments: float) -> None:
        super().on_arrive(now, segments)
        self.serve(now)

    def on_learn(self, now: float, slots: float) -> None:
        self.pass_time(now)
        self.rate = slots * SLOT_RATE
        if self.left_bits > 0:
            self.promise(now)

    def on_leave(self, now: float, ticket: float) -> None:
        if ticket != self.ticket:
            return  # the rate has changed since
        self.pass_time(now)
        self.left_bits = 0.0
        self.sent += 1
        self.after(now + RTT_S, "acknowledge")
        self.serve(now)

    def serve(self, now: float) -> None:
        """Begin with the next segment, if none is being sent."""
        self.pass_time(now)
        if self.left_bits == 0 and self.queue:
            self.queue -= 1
            self.left_bits = SEGMENT_BITS
            self.promise(now)

    def promise(self, now: float) -> None:
        self.ticket += 1
        self.after(now + self.left_bits / self.rate, "leave", self.ticket)

    def pass_time(self, now: float) -> None:
        """Count what was assigned, and sent, since the last time."""
        span = now - max(self.since, self.start_s)
        self.since = now
        if span <= 0 or self.sent == self.segments:
            return
        if self.left_bits > 0:
            self.left_bits = max(self.left_bits - self.rate * span, 1e-9)
            self.assigned_bits += self.rate * span
        else:
            self.assigned_bits += (self.rate - SLOT_RATE) * span


def simulated(
    segments: int,
    multiplier: float,
    phases: int,
    periods: tuple[int, int] = (3, 2),
    kind: type[Transfer] = Transfer,
) -> tuple[float, float]:
    """Give means of time and of slots used over starts spread evenly over what repeats itself.

    ``periods`` are those of requests and of plans, in frames.
    """
    repeats = math.lcm(*periods) * FRAME_S
    starts = [6 * repeats + repeats * (phase + 0.5) / phases for phase in range(phases)]
    runs = [kind(segments, multiplier, start, 3, *periods).run() for start in starts]
    return sum(time for time, _ in runs) / phases, sum(use for _, use in runs) / phases
