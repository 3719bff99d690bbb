"""Probes of queues of the running kernel, against closed forms and the kernel's own counters."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairwind import probe
from fairwind.errors import FairwindError
from fairwind.machine import capabilities
from fairwind.probe import Discipline, EventCounts, QueueMeasurement
from loaded_queue import DEVICE, PAYLOAD
from process import fairwind

HELPER = Path(__file__).with_name("loaded_queue.py")

FRAME = PAYLOAD + 42
"""Bytes of a datagram with the headers of UDP, IPv4 and Ethernet."""

RATE = 1e6
"""Of the token bucket, in bit/s."""

LIMIT = 20 * FRAME
"""Of its queue, in bytes."""

BUCKET = f"tbf rate {RATE:.0f}bit burst 3000 limit {LIMIT}"


def obstacle() -> str | None:
    """Say why programs cannot be put at tracepoints here."""
    row = next((one for one in capabilities() if one.what == "eBPF programs"), None)
    if row is None:
        return "no Linux"
    return None if row.state == "ok" else row.found


PROBLEM = obstacle()
needs_programs = pytest.mark.skipif(PROBLEM is not None, reason=f"no probe here: {PROBLEM}")


def probed(
    queue: str, rate: float, *command: object, **more: Any
) -> subprocess.CompletedProcess[str]:
    wanted = json.dumps({"queue": queue, "rate": rate, **more})
    return subprocess.run(
        ["unshare", "--net", sys.executable, str(HELPER), wanted, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def measured(queue: str, rate: float, **more: Any) -> dict[str, Any]:
    done = probed(queue, rate, **more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@needs_programs
@pytest.mark.kernel
@pytest.mark.alone
def test_overloaded_bucket_drops_and_delays_as_its_limit_says() -> None:
    found = measured(BUCKET, 2 * RATE, duration=3.0)
    queue = found["tables"]["queues"][0]
    assert queue["queue"] == DEVICE
    # Twice the rate: half of it is dropped, and what is let in waits for the whole queue.
    assert found["loss_ratio"] == pytest.approx(0.5, abs=0.06)
    full = LIMIT * 8 / RATE
    assert queue["sojourn_max_s"] == pytest.approx(full, rel=0.15)
    assert queue["sojourn_p50_s"] == pytest.approx(full, rel=0.2)
    assert queue["arrival_backlog_max_packets"] == pytest.approx(LIMIT / FRAME, abs=2)
    # Little's law holds for the mean backlog by construction; this one is the kernel's at arrivals.
    assert queue["arrival_backlog_mean_packets"] == pytest.approx(LIMIT / FRAME, rel=0.2)
    assert queue["drops_queue_full_packets"] > 0
    assert queue["drops_early_packets"] == 0


@needs_programs
@pytest.mark.kernel
@pytest.mark.alone
def test_events_are_as_many_as_the_kernel_counts() -> None:
    # Some kernels run no program in interrupts of a process that they protect.
    for _ in range(5):
        found = measured(BUCKET, 2 * RATE, duration=4.0, is_between=True)
        kernel, seen = found["discipline"], found["events"]
        assert seen["missed_events"] == 0
        assert found["dropped_without_event"] == 0
        if seen["enqueued_without_end"] == 0:
            break
    assert seen["enqueued_without_end"] == 0
    assert seen["dropped_packets"] == kernel["dropped_packets"]
    assert seen["dequeued_segments"] == pytest.approx(kernel["sent_packets"], abs=10)
    [one] = [one for one in found["connections"] if one["protocol"] == "udp"]
    assert one["destination"] == "10.9.0.2:9"
    # The kernel looks for neighbours meanwhile.
    dropped = sum(each["dropped_packets"] for each in found["connections"])
    assert dropped == seen["dropped_packets"] >= one["dropped_packets"] > 0.9 * dropped
    assert one["sent_packets"] == pytest.approx(kernel["sent_packets"], abs=10)


def lacks_codel() -> bool:
    """Whether this kernel has no CoDel, so that its drops cannot be seen."""
    lay = "ip link add probed0 type veth peer name far0 && tc qdisc add dev probed0 root codel"
    command = ["unshare", "--net", "sh", "-c", lay]
    return subprocess.run(command, capture_output=True, check=False).returncode != 0


@needs_programs
@pytest.mark.alone
@pytest.mark.skipif(PROBLEM is not None or lacks_codel(), reason="no codel in this kernel")
def test_drops_of_codel_are_early() -> None:
    bucket = BUCKET.replace(str(LIMIT), "1000000")
    found = measured(bucket, 2 * RATE, child="codel", duration=8.0, is_between=True)
    queue = found["tables"]["queues"][0]
    # It drops ever more often what has waited for more than 5 ms, and takes seconds for a flood.
    assert queue["drops_early_packets"] > 0
    assert queue["drops_queue_full_packets"] == 0
    assert found["discipline"]["dropped_packets"] == pytest.approx(
        queue["drops_early_packets"] + found["dropped_without_event"], abs=10
    )


@needs_programs
@pytest.mark.kernel
@pytest.mark.alone
def test_packets_that_find_a_queue_empty_are_told_apart() -> None:
    found = measured("pfifo limit 100", RATE)
    assert found["loss_ratio"] == 0
    assert found["sent_without_event"] > 0.9 * found["discipline"]["sent_packets"] > 0


@needs_programs
@pytest.mark.kernel
@pytest.mark.alone
def test_each_transmit_queue_is_measured_for_itself() -> None:
    found = measured("mq", RATE, transmit_queues=2)
    names = [row["queue"] for row in found["tables"]["queues"]]
    assert names == [f"{DEVICE} queue 0", f"{DEVICE} queue 1"]
    counts = [row["enqueued_packets"] for row in found["tables"]["queues"]]
    assert sum(counts) == found["events"]["enqueued_packets"]


@needs_programs
@pytest.mark.kernel
@pytest.mark.alone
def test_command_prints_writes_and_is_drawn(tmp_path: Path) -> None:
    out = tmp_path / "probe"
    command = [sys.executable, "-W", "error", "-m", "fairwind.cli", "probe", DEVICE, "--for", "2s"]
    done = probed(BUCKET, 2 * RATE, *command, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "wait, median / p99 / longest" in done.stdout
    assert "10.9.0.2:9" in done.stdout
    again = probed(BUCKET, 2 * RATE, *command, "--out", out)
    assert again.returncode == 2
    assert "--force" in again.stderr
    code, _, error = fairwind("report", out, cwd=tmp_path)
    assert code == 0, error
    page = (out / "report.html").read_text()
    for title in ("Waiting in the queue", "The queue over time", "Relative loss at the queue"):
        assert title in page


@needs_programs
@pytest.mark.kernel
def test_device_without_a_queue_is_refused() -> None:
    done = probed("noqueue", RATE)
    assert done.returncode != 0
    assert f"{DEVICE} has no queue: its discipline is noqueue" in done.stderr


def test_unknown_device_is_refused_with_what_to_do() -> None:
    with pytest.raises(FairwindError, match="ip link"):
        probe.disciplines("nosuchdevice0")


def test_times_that_are_too_short_are_refused() -> None:
    with pytest.raises(FairwindError, match="cannot have windows"):
        probe.probe_queue("lo", 0.0)


def measurement(counts: EventCounts, tables: dict[str, pl.DataFrame]) -> QueueMeasurement:
    return QueueMeasurement(
        device="eth0",
        discipline=Discipline("fq_codel", "", "1:", "root", 1000, 1_000_000, 20, 0),
        queues=("eth0",),
        interval_s=0.1,
        measured_s=1.0,
        counts=counts,
        connections=[],
        tables=tables,
    )


def test_caveats_say_what_is_missing() -> None:
    found = measurement(EventCounts(500, 400, 800, 15, 3, 2, 1, 7), {})
    text = " | ".join(found.caveats)
    assert "7 events came faster" in text
    assert "5 of 20 drops have no event" in text
    # With missed events nobody knows whether the queue was empty.
    assert "200 of 1000 sent packets have no event and are in no distribution of waits |" in text
    assert "2.0 segments each" in text
    assert "of 3 drops the kernel gives no closer reason" in text
    # The kernel counts sent segments, but dropped packets.
    assert found.loss_ratio == pytest.approx(15 / 415)


def test_complete_events_need_no_caveat() -> None:
    found = measurement(EventCounts(1000, 1000, 1000, 20, 0, 0, 0, 0), {})
    assert found.caveats == []
    assert found.loss_ratio == pytest.approx(20 / 1020)


def test_counters_that_are_gone_are_replaced_by_events() -> None:
    found = measurement(EventCounts(100, 90, 90, 10, 0, 0, 0, 0), {})
    found = replace(found, discipline=replace(found.discipline, sent_packets=0, dropped_packets=0))
    assert found.loss_ratio == pytest.approx(0.1)
    assert "the device or its queue is gone" in found.caveats[0]


def test_folder_is_new_or_replaced_by_force(tmp_path: Path) -> None:
    found = measurement(EventCounts(1, 1, 1, 0, 0, 0, 0, 0), {"queues": pl.DataFrame({"a": [1]})})
    out = tmp_path / "probe"
    found.write(out)
    assert pl.read_parquet(out / "queues.parquet")["a"].to_list() == [1]
    with pytest.raises(FairwindError, match="holds a run"):
        found.write(out)
    found.write(out, force=True)


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        (
            "qdisc tbf 1: root refcnt 2 rate 1Mbit burst 3000b lat 143ms \n",
            "rate 1Mbit burst 3000b lat 143ms",
        ),
        ("qdisc fq_codel 0: parent :1 limit 1p\nqdisc mq 0: root \n", ""),
        ("qdisc htb 8001: [offloaded] root refcnt 9 r2q 10 default 0x1", "r2q 10 default 0x1"),
    ],
)
def test_options_are_those_of_the_root(listing: str, expected: str) -> None:
    assert probe._options(listing) == expected


def test_counters_of_a_replaced_discipline_begin_anew() -> None:
    before = Discipline("pfifo", "", "1:", "root", 5, 500, 100, 0)
    after = replace(before, sent_packets=900, dropped_packets=3)
    assert probe._counter_growth(before, after) == after
    grown = probe._counter_growth(before, replace(before, sent_packets=9, dropped_packets=103))
    assert (grown.sent_packets, grown.dropped_packets) == (4, 3)


@pytest.mark.parametrize(
    ("handle", "parents"), [("0:", [":1", ":2", "8001:1"]), ("1:", ["1:1", "1:2", "ffff:fff1"])]
)
def test_only_children_of_the_root_are_transmit_queues(handle: str, parents: list[str]) -> None:
    root = Discipline("mq", "", handle, "root", 0, 0, 0, 0)
    found = [root, *(replace(root, kind="pfifo", parent=parent) for parent in parents)]
    assert probe._queues("eth0", root, found) == ("eth0 queue 0", "eth0 queue 1")
