"""What tcptrace and tshark say of a capture, per connection and direction."""

from __future__ import annotations

import csv
import io
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

Numbers = dict[str, float]


@dataclass
class Connection:
    """One connection, with its sides as the tool names them: first the one that opened it."""

    sides: tuple[str, str]
    numbers: tuple[Numbers, Numbers] = field(default_factory=lambda: ({}, {}))


def tcptrace(path: Path) -> list[Connection]:
    """Run tcptrace; connections come in the order of their first packets.

    Numbers have tcptrace's names without the direction. What belongs to the connection stands at
    both sides; what is not applicable is left out, and Y and N are 1 and 0.
    """
    text = run("tcptrace", "-n", "-l", "-r", "--csv", str(path))
    rows = csv.reader(io.StringIO(text))
    names = [name.strip() for name in next(row for row in rows if row[:1] == ["conn_#"])]
    found = []
    for row in rows:
        if not row:
            continue
        given = dict(zip(names, (value.strip() for value in row), strict=False))
        connection = Connection(
            (
                f"{bracketed(given['host_a'])}:{given['port_a']}",
                f"{bracketed(given['host_b'])}:{given['port_b']}",
            )
        )
        for name, value in given.items():
            for side, ending in enumerate(("_a2b", "_b2a")):
                if name.endswith(ending) or name in ("first_packet", "last_packet"):
                    tell(connection.numbers[side], name.removesuffix(ending), value)
        found.append(connection)
    return found


def tell(numbers: Numbers, name: str, value: str) -> None:
    first, _, second = value.partition("/")
    if second and first:
        kinds = name.split("_")[0].split("/") if name.startswith("SYN/FIN") else ("ws", "ts")
        for kind, part in zip(kinds, (first, second), strict=True):
            tell(numbers, kind, part)
    elif value in ("Y", "N"):
        numbers[name] = float(value == "Y")
    elif value not in ("", "NA"):
        numbers[name] = float(value)


FIELDS = {
    "stream": "tcp.stream",
    "time": "frame.time_epoch",
    "from4": "ip.src",
    "from6": "ipv6.src",
    "port": "tcp.srcport",
    "wire": "frame.len",
    "payload": "tcp.len",
    "sequence": "tcp.seq",
    "acknowledged": "tcp.ack",
    "syn": "tcp.flags.syn",
    "fin": "tcp.flags.fin",
    "reset": "tcp.flags.reset",
    "window": "tcp.window_size",
    "mss": "tcp.options.mss_val",
    "scale": "tcp.options.wscale.shift",
    "blocks": "tcp.options.sack.count",
    "d_sack": "tcp.options.sack.dsack",
    "retransmission": "tcp.analysis.retransmission",
    "out_of_order": "tcp.analysis.out_of_order",
    "keep_alive": "tcp.analysis.keep_alive",
    "probe": "tcp.analysis.zero_window_probe",
    "duplicate_ack": "tcp.analysis.duplicate_ack",
    "rtt": "tcp.analysis.ack_rtt",
}


def tshark(path: Path) -> list[Connection]:
    """Run tshark; connections come in the order of their first packets, sides as tshark saw them.

    The numbers are sums over the packets of a direction, except for ``*_min``, ``*_max`` and what a
    SYN says. A duplicate acknowledgment is one while something is outstanding (RFC 5681 §2), which
    it does not ask for.
    """
    wanted = [part for name in FIELDS.values() for part in ("-e", name)]
    options = ("-n", "-E", "separator=/t", "-E", "occurrence=f", "-T", "fields", "-Y", "tcp")
    text = run("tshark", "-r", str(path), *options, *wanted)
    found: dict[int, Connection] = {}
    times: dict[int, float] = {}
    closed: set[tuple[int, int]] = set()
    reached: dict[tuple[int, int], int] = {}
    for line in text.splitlines():
        packet = dict(zip(FIELDS, line.split("\t"), strict=True))
        source = f"{bracketed(packet['from4'] or packet['from6'])}:{packet['port']}"
        stream = int(packet["stream"])
        connection = found.setdefault(stream, Connection((source, "")))
        side = 0 if source == connection.sides[0] else 1
        if side == 1:
            connection.sides = (connection.sides[0], source)
        now = float(packet["time"])
        numbers = connection.numbers[side]
        count(numbers, packet, now - times.get(stream, now))
        times[stream] = now
        outstanding = reached.get((stream, 1 - side), 0) > int(packet["acknowledged"] or 0)
        if packet["duplicate_ack"] and outstanding:
            numbers["duplicate_acks"] = numbers.get("duplicate_acks", 0) + 1
        reached[stream, side] = max(reached.get((stream, side), 0), end_of(packet))
        if not any(is_set(packet, kind) for kind in ("syn", "reset")):
            has_data = connection.numbers[1 - side].get("data_packets", 0) > 0
            offer(numbers, int(packet["window"]), (stream, side), closed, has_data)
    return [found[stream] for stream in sorted(found)]


def end_of(packet: dict[str, str]) -> int:
    """Give the sequence number behind a packet, as tshark counts from the connection's first."""
    flags = sum(is_set(packet, kind) for kind in ("syn", "fin"))
    return int(packet["sequence"]) + int(packet["payload"]) + flags


def is_set(packet: dict[str, str], flag: str) -> bool:
    return packet[flag] in ("1", "True")


def offer(
    numbers: Numbers,
    window: int,
    side: tuple[int, int],
    closed: set[tuple[int, int]],
    has_data: bool,
) -> None:
    """Take the window of a packet that acknowledges; of those since the other side's first data."""
    if has_data:
        numbers["offered_min"] = min(numbers.get("offered_min", window), window)
        numbers["offered_max"] = max(numbers.get("offered_max", window), window)
    if window == 0 and side not in closed:
        numbers["closings"] = numbers.get("closings", 0) + 1
        closed.add(side)
    elif window > 0:
        closed.discard(side)


def count(numbers: Numbers, packet: dict[str, str], silence: float) -> None:
    def add(name: str, value: float = 1) -> None:
        numbers[name] = numbers.get(name, 0) + value

    def extend(name: str, value: float) -> None:
        numbers[f"{name}_min"] = min(numbers.get(f"{name}_min", value), value)
        numbers[f"{name}_max"] = max(numbers.get(f"{name}_max", value), value)

    payload = int(packet["payload"])
    flags = {kind: is_set(packet, kind) for kind in ("syn", "fin", "reset")}
    add("packets")
    add("wire_bytes", int(packet["wire"]))
    add("payload_bytes", payload)
    extend("silence", silence)
    if payload:
        add("data_packets")
        extend("payload", payload)
    elif not any(flags.values()):
        add("bare_acknowledgments")
    for kind, carried in flags.items():
        if carried:
            add(kind)
    if packet["blocks"]:
        add("sack_packets")
        add("sack_blocks", int(packet["blocks"]))
    extend("window", int(packet["window"]))
    for kind in ("d_sack", "retransmission", "out_of_order", "keep_alive", "probe"):
        if packet[kind]:
            add(kind)
    if packet["rtt"]:
        extend("rtt", float(packet["rtt"]))
        add("rtt_samples")
    if flags["syn"]:
        for kind in ("mss", "scale"):
            if packet[kind]:
                numbers[kind] = int(packet[kind])


def bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout
