"""Scripts of stimuli in the making."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TypeVar

from .recordings import Recorder

T = TypeVar("T")


@dataclass
class Builder:
    """A script of stimuli in the making."""

    random: random.Random
    recorder: Recorder
    now: float = 0.0
    head: list[str] = field(
        default_factory=lambda: ['sysctl -q net.ipv4.tcp_rmem="4096 131072 6291456"']
    )
    stimuli: list[tuple[float, str]] = field(default_factory=list)

    def pick(self, *choices: T) -> T:
        """Choose one."""
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        """Toss a coin that falls so with this probability."""
        return self.random.random() < probability

    def add(self, what: str, after: float = 0.0) -> None:
        """Add a stimulus so many seconds later."""
        self.now = round(self.now + after, 3)
        self.stimuli.append((self.now, what))

    def text(self) -> str:
        """Give the script."""
        stimuli = sorted(self.stimuli, key=lambda stimulus: stimulus[0])
        head = "`" + "\n".join(self.head) + "`\n" if self.head else ""
        return head + "".join(f"{at:.3f} {what}\n" for at, what in stimuli)

    def sysctl(self, name: str, value: str) -> None:
        """Set a parameter of the kernel."""
        self.head.append(f'sysctl -q net.ipv4.{name}="{value}"')


@dataclass
class Accepted:
    """What was agreed on when the connection was opened."""

    mss: int
    sack: bool
    stamps: bool
    scale: int
    rtt: float

    @property
    def payload(self) -> int:
        """Tell the payload of a full-sized segment."""
        return self.mss - (12 if self.stamps else 0)

    def options(self, now: float, blocks: str = "") -> str:
        """Write the options of a segment of the peer."""
        parts = []
        if self.stamps:
            # The peer's clock counts milliseconds from 1000, ours from 100 at the SYN-ACK; what is
            # echoed was sent a round trip ago.
            echo = max(100, 100 + round(1000 * (now - self.rtt)))
            parts.append(f"nop,nop,TS val {1000 + round(1000 * now)} ecr {echo}")
        if blocks:
            parts.append(f"nop,nop,sack {blocks}")
        return f" <{','.join(parts)}>" if parts else ""


def opened(
    make: Builder, *, window: int = 512, calls: tuple[str, ...] = (), mss: int | None = None
) -> Accepted:
    """Let the peer open a connection, which is accepted as descriptor 4."""
    agreed = Accepted(
        mss=mss or make.pick(1000, 1000, 1000, 1460, 536),
        sack=make.chance(0.75),
        stamps=make.chance(0.35),
        scale=7,
        rtt=make.pick(0.053, 0.079, 0.1, 0.137),
    )
    make.add("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3")
    make.add("setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0")
    for call in calls:
        make.add(call)
    make.add("bind(3, ..., ...) = 0")
    make.add("listen(3, 1) = 0")
    options = [f"mss {agreed.mss}"]
    options += {
        (True, True): ["sackOK", "TS val 1000 ecr 0"],
        (True, False): ["nop", "nop", "sackOK"],
        (False, True): ["nop", "nop", "TS val 1000 ecr 0"],
        (False, False): [],
    }[agreed.sack, agreed.stamps]
    options += ["nop", f"wscale {agreed.scale}"]
    make.add(f"< S 0:0(0) win 65535 <{','.join(options)}>")
    make.add(f"< . 1:1(0) ack 1 win {window}{agreed.options(agreed.rtt)}", agreed.rtt)
    make.add("accept(3, ..., ...) = 4")
    return agreed
