"""A peer behind a lossy path, which answers what our endpoint sends."""

from __future__ import annotations

from dataclasses import dataclass, field

from .comparison import WHEEL
from .recordings import lines_of
from .scripts import Accepted, Builder


@dataclass
class Road:
    """What the path does to packets of the system under test and to what answers them."""

    loss: float = 0.0
    ack_loss: float = 0.0
    reordering: float = 0.0
    duplication: float = 0.0
    delayed: float = 0.0
    window: int = 512
    random_window: float = 0.0
    blackout: tuple[float, float] | None = None


@dataclass
class Arrival:
    """Data that reaches the peer, counted at the instant when its answer is back."""

    at: float
    first: int
    end: int
    heard: bool
    """Whether the answer arrives."""


@dataclass
class Peer:
    """A receiver behind a path: it acknowledges what our endpoint sends."""

    make: Builder
    agreed: Accepted
    path: Road
    next: int = 1
    above: set[tuple[int, int]] = field(default_factory=set)
    recent: list[tuple[int, int]] = field(default_factory=list)
    carried: set[int] = field(default_factory=set)
    seen: int = 0
    sent: int = 1
    """Our own next sequence number."""
    arrivals: list[Arrival] = field(default_factory=list)

    def converse(self, until: float) -> None:
        """Answer everything that is sent up to an instant."""
        while True:
            self.notice(until)
            if not self.arrivals:
                return
            self.arrivals.sort(key=lambda arrival: arrival.at)
            at = self.arrivals[0].at
            if at > until:
                return
            together = [arrival for arrival in self.arrivals if arrival.at == at]
            self.arrivals = [arrival for arrival in self.arrivals if arrival.at != at]
            for arrival in together:
                self.answer(arrival)

    def notice(self, until: float) -> None:
        """Send what our endpoint has sent since over the path."""
        horizon = min([until, *(arrival.at for arrival in self.arrivals)])
        last = max((at for at, _ in self.make.stimuli), default=0)
        text = self.make.recorder.record("sim", self.make.text(), watch=max(0.001, horizon - last))
        packets = [line for line in lines_of(text) if line.packet]
        for line in packets[self.seen :]:
            packet = line.packet
            assert packet is not None
            first, end, fin = int(packet["seq"]), int(packet["end"]), "F" in packet["flags"]
            if end > first or fin:
                self.carry(line.at, first, end + fin)
        self.seen = len(packets)

    def carry(self, at: float, first: int, end: int) -> None:
        """Bring data to the peer, if the path lets it through."""
        make, path = self.make, self.path
        dark = path.blackout and path.blackout[0] <= at < path.blackout[1]
        if dark or make.chance(path.loss):
            return
        delay = self.agreed.rtt
        if all(abs(at - stimulus) > 0.002 for stimulus, _ in make.stimuli):
            # A timer sent it, which may be late elsewhere.
            delay += WHEEL
        if first in self.carried:
            # Not so near the least round-trip time that chance decides which it was.
            delay += 0.005
        self.carried.add(first)
        if make.chance(path.reordering):
            delay += make.pick(0.005, 0.011, 0.027, 0.061)
        heard = not make.chance(path.ack_loss)
        self.arrivals.append(Arrival(round(at + delay, 3), first, end, heard))
        if make.chance(path.duplication):
            delay += make.pick(0.0, 0.013)
            self.arrivals.append(Arrival(round(at + delay, 3), first, end, heard))

    def answer(self, arrival: Arrival) -> None:
        """Take data in, and acknowledge as RFC 2018 and RFC 2883 want it."""
        at, first, end = arrival.at, arrival.first, arrival.end
        known = any(left <= first and end <= right for left, right in self.merged())
        duplicate = end <= self.next or known
        if first <= self.next < end:
            self.next = end
            for left, right in sorted(self.above):
                if left <= self.next:
                    self.next = max(self.next, right)
            self.above = {block for block in self.above if block[1] > self.next}
        elif not duplicate:
            self.above.add((first, end))
            self.recent.insert(0, (first, end))
        if not arrival.heard or (
            self.path.delayed and not self.above and self.make.chance(self.path.delayed)
        ):
            return
        blocks = self.blocks()
        if duplicate:
            blocks = [(first, end), *blocks]
        room = 3 if self.agreed.stamps else 4
        shown = (
            " ".join(f"{left}:{right}" for left, right in blocks[:room]) if self.agreed.sack else ""
        )
        window = self.path.window
        if self.make.chance(self.path.random_window):
            window = self.make.pick(0, 1, 5, 8, 16, 20, 40, 100)
        options = self.agreed.options(at, shown)
        self.make.now = at
        self.make.add(f"< . {self.sent}:{self.sent}(0) ack {self.next} win {window}{options}")

    def merged(self) -> list[tuple[int, int]]:
        """List the blocks above the first hole in order."""
        merged: list[tuple[int, int]] = []
        for left, right in sorted(self.above):
            if merged and left <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(right, merged[-1][1]))
            else:
                merged.append((left, right))
        return merged

    def blocks(self) -> list[tuple[int, int]]:
        """List the blocks most recent first, as RFC 2018 wants it."""
        blocks: list[tuple[int, int]] = []
        merged = self.merged()
        for left, right in self.recent:
            for block in merged:
                if block[0] <= left and right <= block[1] and block not in blocks:
                    blocks.append(block)
        return blocks
