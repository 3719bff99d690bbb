"""Experiments on the running kernel, from the command line to what is left when something dies.

Nothing here asks how fast anything was: other programs use the machine as well.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

import fairwind as package
from fairwind.engine.core import core_file
from fairwind.engine.selection import engine_named
from process import fairwind, start

PROBLEM = engine_named("kernel").obstacle()

pytestmark = [
    pytest.mark.alone,
    pytest.mark.kernel,
    pytest.mark.skipif(PROBLEM is not None, reason=f"no run on the kernel: {PROBLEM}"),
]

SCENARIO = """
name = "a little of both"
duration = "2 s"

[path]
rate = "2 Mbit/s"
rtt = "20 ms"
queue = { discipline = "pfifo", limit = "20 packets" }

[[flows]]
name = "greedy"
workload = { kind = "greedy" }

[[flows]]
name = "thin"
workload = { kind = "thin", payload = "120 B", interval = "50 ms" }
tcp = { sack = false, tail_loss_probe = false }

[measure]
warmup = "500 ms"
intervals = ["500 ms"]
"""


@pytest.fixture
def scenario(tmp_path) -> Path:
    path = tmp_path / "both.toml"
    path.write_text(SCENARIO)
    return path


def hosts_of(process: int) -> list[int]:
    """Find the host processes that a run has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rsplit(")", 1)[1].split()[1])
            command = (status.parent / "cmdline").read_bytes()
        except (OSError, IndexError, ValueError):
            continue  # it has ended meanwhile
        if parent == process and b"serve_as_host" in command:
            found.append(int(status.parent.name))
    return sorted(found)


def wait_for_hosts(process: int, number: int) -> list[int]:
    deadline = time.monotonic() + 60
    while len(found := hosts_of(process)) < number and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(found) >= number
    return found


def exists(process: int) -> bool:
    return Path(f"/proc/{process}/exe").exists()


def test_both_engines_give_the_same_tables_of_the_same_scenario(scenario, tmp_path):
    described = package.load(scenario)
    simulated = described.run(out=tmp_path / "sim")
    real = described.run("kernel", out=tmp_path / "kernel")
    assert real.failures == []
    assert set(real.table_names) == set(simulated.table_names) | {"lateness", "hosts"}
    for name in simulated.table_names:
        assert real.table(name).schema == simulated.table(name).schema, name
    assert real.groups["group"].to_list() == simulated.groups["group"].to_list()
    assert real.flows["established"].to_list() == [True, True]
    assert (real.groups["payload_bytes_read"] > 0).all()
    greedy, thin = real.senders.iter_rows(named=True)
    assert greedy["busy_s"] > 0.9 * greedy["open_s"], "a greedy sender always has something out"
    # The kernel is asked when the run is over, a little late.
    assert 0.5 < thin["busy_s"] <= thin["open_s"] + 0.5
    # The warm-up does not count in the table of flows.
    assert greedy["total_segments_retransmitted"] >= real.flows["data_segments_retransmitted"][0]
    assert real.lateness["deliveries"][0] > 100
    assert real.hosts["timed_writes"].sum() >= 30


CALL = """
name = "a call beside a download"
duration = "3 s"

[path]
rate = "2 Mbit/s"
rtt = "20 ms"
queue = { discipline = "pfifo", limit = "20 packets" }

[[flows]]
name = "greedy"
stop = "2 s"
workload = { kind = "greedy" }

[[flows]]
name = "call"
stop = "2 s"
workload = { kind = "constant", rate = "1 Mbit/s", packet = "500 B" }
"""


def test_datagrams_are_counted_on_the_kernel_as_in_the_simulator(tmp_path):
    path = tmp_path / "call.toml"
    path.write_text(CALL)
    code, _, error = fairwind("run", path, "--on", "kernel", "--out", "kernel", cwd=tmp_path)
    assert code == 0, error
    real = package.open(tmp_path / "kernel")
    simulated = package.load(path).run(out=tmp_path / "sim")
    assert real.flows.schema == simulated.flows.schema
    calls = [run.flows.row(1, named=True) for run in (real, simulated)]
    for call in calls:
        # 1 Mbit/s for 2 s in packets of 4000 bits.
        assert abs(call["packets_sent"] - 500) <= 1
        assert call["packets_sent"] == call["packets_received"] + call["packets_lost"]
        assert call["payload_bytes_read"] == 472 * call["packets_received"]
        assert call["delivery_latency_p50_s"] >= 0.012
    known = [{name for name, value in call.items() if value is not None} for call in calls]
    assert known[0] == known[1], "what a stream without a connection cannot tell is missing in both"


def test_a_connection_that_nobody_answers_says_why_it_failed(tmp_path):
    path = tmp_path / "reset.toml"
    path.write_text(SCENARIO.replace("queue =", 'impairments = "tc: netem loss 100%"\nqueue ='))
    settings = ("--set", "flows.thin.tcp.syn_retries=1", "--set", "flows.greedy.tcp.syn_retries=1")
    for engine in ("sim", "kernel"):
        arguments = ("--on", engine, "--out", engine, "--set", "duration=10 s")
        code, _, error = fairwind("run", path, *arguments, *settings, cwd=tmp_path)
        assert code == 0, error
        flows = package.open(tmp_path / engine).flows
        assert flows["failure"].to_list() == ["timed-out", "timed-out"], engine


def test_the_manifest_names_the_kernel(scenario, tmp_path):
    manifest = package.load(scenario).run("kernel", out=tmp_path / "run").manifest
    assert manifest.is_real_time
    assert manifest.versions["kernel"] == os.uname().release
    assert "cubic" in manifest.platform["congestion_controls"]


def test_the_command_line_tells_how_long_it_takes_and_how_punctual_it_was(scenario, tmp_path):
    code, out, error = fairwind("run", scenario, "--on", "kernel", "--out", "run", cwd=tmp_path)
    assert code == 0, error
    assert "1 run in real time, one at a time: about 3 s" in error
    assert "Lateness of the router" in error
    assert out.split("\n\n")[-1].split()[0] == "lateness"


def test_kernel_refusals_are_reported_before_runs(scenario, tmp_path):
    code, out, error = fairwind(
        *("run", scenario, "--on", "kernel", "--out", "run"),
        *("--set", "flows.thin.tcp.profile=freebsd-14"),
        cwd=tmp_path,
    )
    assert (code, out) == (2, "")
    assert 'flows.thin.tcp.profile = "freebsd-14"' in error
    assert os.uname().release in error
    assert not (tmp_path / "run").exists()
    again = fairwind(
        *("check", scenario, "--on", "kernel", "--set", "flows.thin.tcp.profile=freebsd-14"),
        cwd=tmp_path,
    )
    assert again[0] == 2
    assert 'flows.thin.tcp.profile = "freebsd-14"' in again[2]


def test_an_interruption_ends_the_run_and_its_hosts(scenario, tmp_path):
    process = start(
        *("run", scenario, "--on", "kernel", "--out", "run", "--set", "duration=60 s"), cwd=tmp_path
    )
    hosts = wait_for_hosts(process.pid, 4)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert out == ""
    assert "Traceback" not in error
    assert not any(map(exists, hosts))


def test_an_interruption_from_the_terminal_reaches_hosts_as_well_and_harms_nothing(
    scenario, tmp_path
):
    """A terminal sends Ctrl-C to the whole group of processes."""
    process = start(
        *("run", scenario, "--on", "kernel", "--out", "run", "--set", "duration=60 s"), cwd=tmp_path
    )
    hosts = wait_for_hosts(process.pid, 4)
    for one in (*hosts, process.pid):
        os.kill(one, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    assert not any(map(exists, hosts))


def test_a_host_that_is_killed_fails_its_own_run_and_the_next_one_is_made(scenario, tmp_path):
    process = start(
        *("run", scenario, "--on", "kernel", "--out", "run"),
        *("--set", "repeat=2", "--set", "duration=6 s"),
        cwd=tmp_path,
    )
    hosts = wait_for_hosts(process.pid, 4)
    time.sleep(0.5)
    os.kill(hosts[0], signal.SIGKILL)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 1, error
    results = package.open(tmp_path / "run")
    (failure,) = results.failures
    assert "host" in failure.message
    assert results.groups["replicate"].unique().to_list() == [1 - failure.replicate]


def test_nothing_is_left_when_the_run_itself_is_killed(scenario, tmp_path):
    process = start(
        *("run", scenario, "--on", "kernel", "--out", "run", "--set", "duration=60 s"), cwd=tmp_path
    )
    hosts = wait_for_hosts(process.pid, 4)
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(map(exists, hosts)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(exists, hosts))
    again = fairwind("run", scenario, "--on", "kernel", "--out", "run", "--force", cwd=tmp_path)
    assert again[0] == 0, again[2]


def test_captures_of_the_kernels_packets_lie_beside_the_tables(scenario, tmp_path):
    scenario.write_text(SCENARIO + '\n[capture]\npoints = ["sender", "receiver"]\n')
    results = package.load(scenario).run("kernel", out=tmp_path / "run")
    assert [path.name for path in results.captures] == ["receiver.pcapng", "sender.pcapng"]
    for path in results.captures:
        assert path.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
        assert path.stat().st_size > 10_000


def test_the_core_has_a_file_that_host_processes_can_load():
    file = core_file()
    assert file is not None
    assert file.exists()
