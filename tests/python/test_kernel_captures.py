"""Captures of a run on the kernel agree with its router and its tracepoints."""

from __future__ import annotations

import pytest

import fairwind as package
from fairwind.engine.selection import engine_named
from process import fairwind

PROBLEM = engine_named("kernel").obstacle()

pytestmark = [
    pytest.mark.alone,
    pytest.mark.kernel,
    pytest.mark.skipif(PROBLEM is not None, reason=f"no run on the kernel: {PROBLEM}"),
]

# Everything is over before the run is: nothing is under way when the captures end.
SCENARIO = """
name = "captured on the kernel"
duration = "9 s"

[path]
rate = "5 Mbit/s"
rtt = "100 ms"
loss = "5 %"
queue = { discipline = "pfifo", limit = "60 packets" }

[[flows]]
name = "greedy"
count = 2
workload = { kind = "greedy", volume = "150 kB" }

[[flows]]
name = "thin"
count = 10
stop = "4 s"
workload = { kind = "thin", payload = "120 B", interval = "100 ms" }

[capture]
points = ["sender", "receiver"]
snap = "96 B"
"""

SEEN = [
    "packets_sent",
    "wire_bytes_sent",
    "data_segments_sent",
    "payload_bytes_sent",
    "data_segments_retransmitted",
    "bytes_retransmitted",
    "packets_received",
    "wire_bytes_received",
    "payload_bytes_received",
    "payload_bytes_duplicate",
    "payload_bytes_read",
    "packets_lost",
    "wire_bytes_lost",
    "payload_bytes_lost",
    "ack_packets_sent",
    "ack_packets_lost",
    "syn_retries",
    "ack_latency_p50_s",
    "ack_latency_p99_s",
    "ack_latency_max_s",
]


def test_captures_of_the_kernel_tell_what_the_router_recorded(tmp_path):
    scenario, run = tmp_path / "captured.toml", tmp_path / "run"
    scenario.write_text(SCENARIO)
    code, _, error = fairwind(
        "run", str(scenario), "--on", "kernel", "--out", str(run), cwd=tmp_path
    )
    assert code == 0, error
    known = package.open(run).groups
    cell = run / "cells" / "0000-0000"
    groups = {"greedy": "dst port 60000", "thin": "dst port 60001"}
    captures = (cell / "sender.pcapng", cell / "receiver.pcapng")
    found = package.analyse(*captures, groups=groups).groups
    for group in groups:
        (truth,) = known.filter(known["group"] == group).to_dicts()
        (text,) = found.filter(found["group"] == group).to_dicts()
        differing = {name: (truth[name], text[name]) for name in SEEN if truth[name] != text[name]}
        assert not differing, group
        assert truth["packets_lost"] > 5, "this is a test of losses"
        # Tracepoints and packets may take an entry for another one now and then.
        for cause in ("timeouts", "fast_retransmits"):
            assert abs(text[cause] - truth[cause]) <= 2 + truth[cause] // 10, (group, cause)
