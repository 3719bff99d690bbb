"""Ordinary captures say the same to tcptrace, to tshark and to the analyser.

What is counted alike has to agree to the packet and byte, per connection and direction. What is
counted otherwise stands in ``docs/guides/from-other-tools.md``, and here as a rule between the
numbers wherever there is one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import fairwind
import ordinary
import others
from process import fairwind as command

Row = dict[str, object]

TICK_MS = 0.0501
"""tcptrace prints milliseconds with one digit."""

LOSSY = """
name = "loss"
description = "thin and greedy streams, and requests, over a path that loses"
duration = "6 s"

[path]
rate = "3 Mbit/s"
rtt = "60 ms"
queue = { discipline = "pfifo", limit = "1 bdp" }
loss = "2 %"

[[flows]]
name = "greedy"
count = 2
workload = { kind = "greedy" }

[[flows]]
name = "thin"
count = 3
workload = { kind = "thin", packet = "160 B", interval = "80 ms" }

[[flows]]
name = "plain"
count = 2
workload = { kind = "greedy" }
tcp = { sack = false, timestamps = false }

[[flows]]
name = "requests"
count = 2
[flows.workload]
kind = "request-response"
request = "200 B"
response = "30 kB"
pause = "40 ms"

[capture]
"""

KINDS = (
    *(f"loopback {family} {layer}" for family in "46" for layer in ("EN10MB", "LINUX_SLL")),
    "loopback 4 LINUX_SLL2",
    "merged",
    "simulated sender",
    "simulated receiver",
    "kernel sender",
    "kernel receiver",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.fixture(scope="module", params=KINDS)
def capture(request, made) -> Path:
    """Make one capture of each kind."""
    kind = str(request.param)
    need("tshark")
    path = made / f"{kind.replace(' ', '-')}.pcap"
    if kind == "merged":
        need("mergecap")
        parts = [loopback(made / f"part-{family}.pcap", family, "EN10MB") for family in "46"]
        others.run("mergecap", "-F", "pcap", "-w", str(path), *map(str, parts))
    elif kind.startswith("loopback"):
        loopback(path, *kind.split()[1:])
    else:
        engine, side = kind.split()
        as_pcap(experiment(made, engine) / f"{side}.pcapng", path)
    return path


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def loopback(path: Path, family: str, layer: str) -> Path:
    need("tcpdump")
    if os.geteuid() != 0:
        pytest.skip("capturing needs root")
    program = ("unshare", "--net", sys.executable, ordinary.__file__, str(path), family, layer)
    subprocess.run(program, check=True, timeout=100)
    return path


def experiment(folder: Path, engine: str) -> Path:
    """Run the lossy scenario once by each engine; gives the folder of its captures."""
    run = folder / engine
    if not run.exists():
        if engine == "kernel" and os.geteuid() != 0:
            pytest.skip("experiments on the kernel need root")
        (folder / "lossy.toml").write_text(LOSSY)
        on = ["--on", "kernel"] if engine == "kernel" else []
        code, _, error = command("run", "lossy.toml", "--out", engine, *on, cwd=folder)
        if code != 0 and engine == "kernel":
            pytest.skip(f"no experiment on the kernel: {error}")
        assert code == 0, error
    return run / "cells" / "0000-0000"


def as_pcap(source: Path, path: Path) -> None:
    """Write what tcptrace knows: microseconds, and not from 0 on, which it takes for no time."""
    need("editcap")
    others.run("editcap", "-F", "pcap", "-t", "1000000000", str(source), str(path))


@dataclass
class Direction:
    """Ours of one direction, and the other tool's numbers of what went there and what came back."""

    name: str
    connection: Row
    side: str
    """The prefix of its columns."""
    flow: Row
    stream: Row
    """Empty, as is the flow, where no data went."""
    sizes: Row
    sent: others.Numbers
    back: others.Numbers

    def ours(self, column: str) -> object:
        return self.connection[f"{self.side}_{column}"]

    def repeated(self) -> float:
        """Give the SYN and FIN that went again."""
        return number(self.stream, "fin_retransmissions") + (
            number(self.connection, "syn_retries" if self.side == "opener" else "syn_ack_retries")
        )


def number(row: Row, column: str) -> float:
    value = row.get(column)
    return float(value) if isinstance(value, int | float) else 0.0


def directions(capture: Path, found: list[others.Connection]) -> Iterator[Direction]:
    results = fairwind.analyse(capture)
    connections = results.table("connections").sort("connection").to_dicts()
    assert len(connections) == len(found)
    flows, streams, sizes = (
        by_name(results, name) for name in ("flows", "transport", "stream_sizes")
    )
    seen: Counter[str] = Counter()
    for connection, other in zip(connections, found, strict=True):
        sides = (connection["opener"], connection["answerer"])
        assert sides[0] == other.sides[0] or (
            "[" in sides[0] and port(sides[0]) == port(other.sides[0])
        )
        for at, side in enumerate(("opener", "answerer")):
            name = f"{sides[at]}>{sides[1 - at]}"
            order = seen[name]
            seen[name] += number(connection, f"{side}_data_packets") > 0 or side == "opener"
            mine = [
                table[name][order] if order < len(table[name]) else {}
                for table in (flows, streams, sizes)
            ]
            yield Direction(name, connection, side, *mine, other.numbers[at], other.numbers[1 - at])


def port(end: str) -> str:
    """Give the port alone: tcptrace writes ::1 as :0001."""
    return end.rpartition(":")[2]


def by_name(results: fairwind.Results, name: str) -> defaultdict[str, list[Row]]:
    table = results.table(name)
    if "scope" in table.columns:
        table = table.filter(pl.col("scope") == "flow")
    rows = defaultdict(list)
    for row in table.sort("flow").to_dicts():
        rows[row["name"]].append(row)
    return rows


def is_beside_its_sender(direction: Direction) -> bool:
    """Tell whether the tap is known to be near the sender.

    After a repeated SYN or SYN-ACK the set-up does not show where the tap is, and the analyser
    only assumes that it is near the sender of the first data.
    """
    connection = direction.connection
    is_assumed = connection["vantage"] == "unknown" and (
        number(connection, "syn_retries") + number(connection, "syn_ack_retries") > 0
    )
    return direction.flow.get("data_segments_sent") is not None and not is_assumed


def test_tcptrace_counts_the_same_packets_and_bytes(capture):
    need("tcptrace")
    for direction in directions(capture, sane(capture)):
        sent = direction.sent
        for column, theirs in (
            ("packets", "total_packets"),
            ("data_packets", "actual_data_pkts"),
            ("payload_bytes", "actual_data_bytes"),
            ("bare_acknowledgments", "pure_acks_sent"),
            ("largest_payload_bytes", "max_segm_size"),
        ):
            assert direction.ours(column) == sent[theirs], f"{direction.name} {column}"
        # It keeps an MSS in 16 bits with a sign.
        assert (direction.ours("mss_bytes") or 0) == int(sent["mss_requested"]) % 65_536
        flags = str(direction.ours("flags"))
        assert ("S" in flags, "F" in flags) == (sent["SYN"] > 0, sent["FIN"] > 0)
        assert ("R" in flags) == (sent["resets_sent"] > 0)


def test_tcptrace_counts_the_same_repetitions_windows_and_reports(capture):
    need("tcptrace")
    for direction in directions(capture, sane(capture)):
        sent, back, stream, name = direction.sent, direction.back, direction.stream, direction.name
        if not stream:
            assert sent["actual_data_pkts"] == 0, name
            continue
        again = number(stream, "retransmitted_segments") + number(stream, "bundles")
        late = number(stream, "out_of_order_segments")
        assert (
            again + late + direction.repeated() == sent["rexmt_data_pkts"] + sent["outoforder_pkts"]
        ), name
        if is_beside_its_sender(direction):
            bytes_again = number(direction.flow, "bytes_retransmitted")
            bytes_again += number(direction.flow, "bundled_bytes_sent")
            assert bytes_again + direction.repeated() == sent["rexmt_data_bytes"], name
            unique = number(direction.flow, "payload_bytes_sent") - bytes_again
            assert unique == sent["unique_bytes_sent"], name
            assert number(stream, "initial_window_mean_bytes") == sent["initial_window_bytes"], name
            assert number(stream, "initial_window_mean_packets") == sent["initial_window_pkts"], (
                name
            )
        assert stream["sack_segments"] == back["sacks_sent"], name
        assert stream["reports_of_duplicates"] == back["dsack_pkts_sent"], name
        assert number(stream, "window_max_bytes") == back["max_win_adv"], name
        assert (number(stream, "zero_windows") > 0) == (back["zero_win_adv"] > 0), name
        if direction.side == "opener":
            assert number(stream, "window_min_bytes") == back["min_win_adv"], name
            assert int(number(stream, "window_mean_bytes")) == back["avg_win_adv"], name
        if direction.sizes:
            assert direction.sizes["min_bytes"] == sent["min_segm_size"], name


def test_tcptrace_measures_the_same_round_trips_where_nothing_was_lost(capture):
    need("tcptrace")
    compared = 0
    for direction in directions(capture, sane(capture)):
        sent, stream, name = direction.sent, direction.stream, direction.name
        lossless = sent["rexmt_data_pkts"] + sent["outoforder_pkts"] == 0
        if not stream or not lossless or stream["window_probes"]:
            continue
        if direction.back["resets_sent"] and not sent["actual_data_pkts"]:
            continue  # a refusal is a round trip for tcptrace, and none here
        # The handshake is one of its samples, and apart here.
        handshake = stream["handshake_rtt_mean_s"]
        times = [stream["rtt_min_s"], stream["rtt_max_s"], handshake]
        known = [float(time) * 1e3 for time in times if isinstance(time, float)]
        samples = number(stream, "rtt_samples") + (handshake is not None)
        assert samples == sent["RTT_samples"], name
        if known:
            # tcptrace takes a least time of 0 for none yet, and so the next one in its place.
            if min(known) > 0:
                assert min(known) == pytest.approx(sent["RTT_min"], abs=TICK_MS), name
            assert max(known) == pytest.approx(sent["RTT_max"], abs=TICK_MS), name
            mean = number(stream, "rtt_mean_s") * number(stream, "rtt_samples") + (handshake or 0)
            assert mean / samples * 1e3 == pytest.approx(sent["RTT_avg"], abs=TICK_MS), name
            compared += 1
    if "loopback" in capture.name:
        assert compared > 10


def test_tshark_counts_the_same_packets_options_and_events(capture):
    need("tshark")
    for direction in directions(capture, others.tshark(capture)):
        sent, back, stream, name = direction.sent, direction.back, direction.stream, direction.name
        for column in (
            "packets",
            "wire_bytes",
            "data_packets",
            "payload_bytes",
            "bare_acknowledgments",
        ):
            assert direction.ours(column) == sent.get(column, 0), f"{name} {column}"
        assert direction.ours("mss_bytes") == sent.get("mss"), name
        assert direction.ours("window_scale") == sent.get("scale"), name
        silence = max(numbers.get("silence_max", 0) for numbers in (sent, back))
        assert direction.connection["longest_silence_s"] == pytest.approx(silence, abs=2e-6), name
        if not stream:
            continue
        assert stream["sack_segments"] == back.get("sack_packets", 0), name
        assert stream["sack_blocks"] == back.get("sack_blocks", 0), name
        assert stream["reports_of_duplicates"] == back.get("d_sack", 0), name
        assert stream["zero_windows"] == back.get("closings", 0), name
        # It calls most of Linux' probes of closed windows keep-alives: both lie below what is new.
        probes = number(stream, "window_probes") + number(stream, "keep_alives")
        assert probes == sent.get("probe", 0) + sent.get("keep_alive", 0), name
        if is_beside_its_sender(direction):
            again = number(direction.flow, "data_segments_retransmitted")
            again += number(direction.flow, "bundles_sent") + direction.repeated()
            text = sent.get("retransmission", 0) + sent.get("out_of_order", 0)
            assert again == text, name
            assert stream["duplicate_acks"] == back.get("duplicate_acks", 0), name
        assert number(stream, "window_max_bytes") >= back.get("offered_max", 0), name


def sane(capture: Path) -> list[others.Connection]:
    if "SLL2" in capture.name:
        pytest.skip("tcptrace does not read cooked captures of version 2")
    return others.tcptrace(capture)
