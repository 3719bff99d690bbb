"""Where two recordings part, and how such places are grouped."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .recordings import Line

# The kernel's timers of more than 63 ticks of 4 ms are as much as 8 ticks late.
WHEEL = 0.04


def is_near(one: float | None, other: float | None, before: float, slack: float = 0) -> bool:
    """Whether two times are as near as judges of scripts want them, or as ``slack``."""
    if one is None or other is None:
        return one is other
    # A kernel that counts 250 ticks a second is up to one late, and recordings are rounded.
    return abs(one - other) <= max(0.0055, 0.125 * (one - before), slack)


def code_difference(kernel: str, ours: str) -> list[str]:
    """List the fields that both tell, and tell otherwise."""
    parts = [dict(re.findall(r"assert (\w+) == (-?\d+)", text)) for text in (kernel, ours)]
    names = [name for name in parts[0] if name in parts[1]]
    return [
        f"{name} {parts[0][name]}!={parts[1][name]}"
        for name in names
        if parts[0][name] != parts[1][name]
    ]


def information_difference(
    kernel: list[Line], ours: list[Line], ignored: frozenset[str]
) -> tuple[float, list[str]] | None:
    """Tell when TCP_INFO differs for the first time, and how."""
    parts = [information_after(lines) for lines in (kernel, ours)]
    for place in sorted(set(parts[0]) & set(parts[1])):
        one, other = parts[0][place], parts[1][place]
        found = code_difference(one.text, other.text)
        found = [word for word in found if word.split()[0] not in ignored]
        if found:
            return one.at, found
    return None


def information_after(lines: list[Line]) -> dict[int, Line]:
    """Map the number of each stimulus to the TCP_INFO line after it."""
    information, stimuli = {}, 0
    for line in lines:
        if line.is_code and "assert" in line.text:
            information[stimuli] = line
        elif not line.packet:
            stimuli += 1
    return information


@dataclass
class Difference:
    """Where two recordings part."""

    level: str
    place: int
    what: str
    signature: str


def shape(line: Line | None) -> str:
    """Name what kind of event a line is, without its numbers."""
    if line is None:
        return "nothing"
    if not (packet := line.packet):
        return "stimulus"
    options = re.sub(r"[\d:]+", "", packet["options"] or "").replace("val * ecr", "")
    kind = "data" if int(packet["size"]) else "bare"
    return f"{packet['flags']} {kind} <{options}>"


def compare(
    kernel: list[Line], ours: list[Line], ignored: frozenset[str], *, noise: bool = False
) -> Difference | None:
    """Find the first difference in packets and times; else in TCP_INFO; else in windows."""
    plain = [[line for line in lines if not line.is_code] for lines in (kernel, ours)]
    # What happens just before the end may happen after it elsewhere.
    end = max((line.at for line in kernel), default=0) * 0.95 - WHEEL
    before = late = 0.0
    stimulus = ""
    for place in range(max(map(len, plain))):
        one, other = (lines[place] if place < len(lines) else None for lines in plain)
        if (one is None or one.at > end) and (other is None or other.at > end):
            break
        if one is None or other is None:
            return Difference(
                "packets", place, f"{one} | {other}", f"{shape(one)} / {shape(other)}"
            )
        if one.bare(window=False) != other.bare(window=False):
            kind = f"{shape(one)} / {shape(other)} after {stimulus}"
            return Difference("packets", place, f"{one} | {other}", kind)
        packet = one.packet
        slow = packet is not None and (int(packet["size"]) or set("SF") & set(packet["flags"]))
        slack = WHEEL + late if slow or noise else 0
        if not is_near(one.at, other.at, before, slack) or not is_near(one.end, other.end, before):
            kind = f"time of {shape(one)} after {stimulus}"
            return Difference("packets", place, f"{one} | {other}", kind)
        before = one.at
        if slow:
            late = abs(one.at - other.at)
        if not one.packet:
            stimulus = re.sub(r"[\d:.]+", "", one.text)[:24]
    if difference := information_difference(kernel, ours, ignored):
        at, found = difference
        names = " ".join(sorted(word.split()[0].removeprefix("tcpi_") for word in found))
        return Difference("information", 0, f"at {at:g}: {', '.join(found)}", names)
    for place, (one, other) in enumerate(zip(*plain, strict=False)):
        if one.bare(window=True) != other.bare(window=True):
            return Difference("windows", place, f"{one} | {other}", f"window of {shape(one)}")
    return None
