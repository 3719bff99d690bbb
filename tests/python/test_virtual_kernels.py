"""Experiments on a built kernel in virtual time."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import fairwind as package
from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError
from fairwind.folder.manifest import read_manifest
from fairwind.kernels import catalogue
from fairwind.kernels.catalogue import built_kernels
from process import fairwind, start

KERNELS = built_kernels()
REASON = "no kernel for virtual time is built: fairwind kernel build 6.12"
MISSING = not KERNELS or not catalogue.WORKER.exists()

pytestmark = pytest.mark.skipif(MISSING, reason=REASON)

SCENARIO = """
name = "a little of both"
duration = "{seconds} s"
seed = 3

[path]
rate = "2 Mbit/s"
rtt = "20 ms"
queue = {{ discipline = "pfifo", limit = "20 packets" }}

[[flows]]
name = "greedy"
workload = {{ kind = "greedy" }}

[[flows]]
name = "thin"
workload = {{ kind = "thin", payload = "120 B", interval = "50 ms" }}

[measure]
intervals = ["500 ms"]
"""


@pytest.fixture(params=sorted({kernel.name for kernel in KERNELS}) or ["none"])
def kernel(request) -> str:
    return request.param


@pytest.fixture
def scenario(tmp_path) -> Path:
    path = tmp_path / "both.toml"
    path.write_text(SCENARIO.format(seconds=4))
    return path


def instances() -> list[int]:
    """Find processes of built kernels, whoever started them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            program = (folder / "exe").readlink()
        except OSError:
            continue
        if program.name == "linux" and catalogue.cache() in program.parents:
            found.append(int(folder.name))
    return found


def test_run_gives_tables_of_the_kernel(kernel, scenario, tmp_path):
    code, _, error = fairwind("run", scenario, "--on", kernel, "--out", "run", cwd=tmp_path)
    assert code == 0, error
    results = package.open(tmp_path / "run")
    greedy = results.groups.filter(pl.col("group") == "greedy")
    assert 1.5e6 < greedy["throughput_bits_per_second"][0] < 2.0e6
    assert results.lateness["lateness_p99_s"][0] < 50e-6
    manifest = read_manifest(tmp_path / "run")
    assert manifest.engine == kernel
    assert not manifest.is_real_time
    assert not list((tmp_path / "run").rglob(".instance"))


def test_same_seed_gives_same_tables(kernel, scenario, tmp_path):
    # A minute, because interrupts stir the kernel's random numbers only after a while.
    loaded = package.load(scenario).with_settings({"duration": "60 s"})
    runs = [loaded.run(on=kernel, out=tmp_path / name) for name in ("one", "two")]
    tables = sorted((tmp_path / "one").glob("*.parquet"))
    assert tables
    for file in tables:
        one, two = (pl.read_parquet(run.folder / file.name) for run in runs)
        if kernel.endswith("hz1000") and not one.equals(two):
            pytest.xfail("times differ by less than 1 us (docs/concepts/virtual-kernels.md)")
        assert one.equals(two), file.name


def test_check_reports_refusals_and_remarks(kernel, scenario, tmp_path):
    code, _, error = fairwind("check", scenario, "--on", kernel, cwd=tmp_path)
    assert code == 0, error
    assert "remark: measure: " in error
    every = ("--set", "measure.endpoint_every_ack=true")
    code, _, error = fairwind("check", scenario, "--on", kernel, *every, cwd=tmp_path)
    assert code == 2
    assert "measure.endpoint_every_ack = true" in error


QUEUES = {
    "pfifo": '{ limit = "20 packets" }',
    "bfifo": '{ discipline = "bfifo", limit = "30 kB" }',
    "codel": '"codel"',
    "red": '{ discipline = "red", limit = "60 kB" }',
    "pie": '"pie"',
    "choke": '{ discipline = "choke", limit = "60 packets" }',
    "sfq": '{ discipline = "sfq", limit = "30 packets" }',
    "fq_codel": '"fq_codel"',
    "fq_pie": '"fq_pie"',
    "cake": '"cake"',
    "prio": '{ discipline = "prio", bands = [{ limit = "20 packets" }, { limit = "20 packets" }] }',
    "drr": '{ discipline = "drr", classes = [{ filters = [{ group = "thin" }], '
    'child = { limit = "20 packets" } }, { child = { limit = "20 packets" } }] }',
    "htb": '{ discipline = "htb", rate = "2 Mbit/s", child = { limit = "20 packets" } }',
    "hfsc": '{ discipline = "hfsc", default = "rest", classes = [{ name = "all", ls = "2 Mbit/s", '
    'ul = "2 Mbit/s" }, { parent = "all", sc = { umax = "600 B", dmax = "10 ms", '
    'rate = "300 kbit/s" }, filters = [{ group = "thin" }], child = { limit = "20 packets" } }, '
    '{ name = "rest", parent = "all", ls = "1 Mbit/s", child = { limit = "20 packets" } }] }',
    "tbf": '{ discipline = "tbf", rate = "2 Mbit/s", burst = "3 kB", limit = "30 kB" }',
}


@pytest.mark.parametrize("discipline", QUEUES)
def test_kernel_router_carries_as_much_as_ours(discipline, tmp_path):
    results = run_with_router(KERNELS[0].name, QUEUES[discipline], ("user", "kernel"), tmp_path)
    queues = results.queues.filter(pl.col("queue") == "bottleneck").sort("path_router")
    assert queues["path_router"].to_list() == ["kernel", "user"]
    theirs, ours = results.groups.filter(pl.col("group") == "greedy").sort("path_router").to_dicts()
    goodputs = [one["goodput_bits_per_second"] for one in (ours, theirs)]
    # The kernel's CAKE without a bandwidth carries 6 % more than ours here; why is not known.
    assert goodputs[1] == pytest.approx(goodputs[0], rel=0.08)
    assert results.lateness["events_missed"].to_list() == [0, 0]
    # Each drop is seen once: as a packet that did not arrive, and at the queue.
    lost = results.groups.filter(pl.col("path_router") == "kernel")["packets_lost"].sum()
    assert lost == queues["drops_packets"][0]
    assert queues["drops_packets"].min() > 0
    backlogs = queues["backlog_mean_packets"]
    assert abs(backlogs[0] - backlogs[1]) < 0.3 * backlogs[1] + 2


def run_with_router(kernel, queue, routers, tmp_path):
    text = SCENARIO.format(seconds=10)
    text = text.replace('{ discipline = "pfifo", limit = "20 packets" }', queue)
    path = tmp_path / "routers.toml"
    names = ", ".join(f'"{router}"' for router in routers)
    path.write_text(f'{text}\n[sweep]\n"path.router" = [{names}]\n')
    return package.load(path).run(on=kernel, out=tmp_path / "run")


def test_kernel_router_works_on_every_kernel(kernel, tmp_path):
    results = run_with_router(kernel, QUEUES["fq_codel"], ("kernel",), tmp_path)
    assert results.lateness["events_missed"].to_list() == [0]
    greedy = results.groups.filter(pl.col("group") == "greedy")
    assert 1.7e6 < greedy["goodput_bits_per_second"][0] < 2e6
    assert results.queues["drops_packets"].sum() == results.groups["packets_lost"].sum() > 0


def test_kernel_router_counts_losses_of_netem_and_marks(kernel, tmp_path):
    path = tmp_path / "lossy.toml"
    text = SCENARIO.format(seconds=10).replace(
        '"pfifo", limit = "20 packets"', '"codel", ecn = true'
    )
    path.write_text(text.replace("[path]", '[path]\nrouter = "kernel"\nloss = "1%"'))
    settings = {"flows.greedy.tcp.ecn": "classic"}
    results = package.load(path).with_settings(settings).run(on=kernel, out=tmp_path / "run")
    queues = results.queues.filter(pl.col("queue") == "bottleneck")
    lost = queues["drops_link_loss_packets"][0]
    sent = results.groups["packets_sent"].sum()
    assert 0.003 * sent < lost < 0.02 * sent
    assert results.lateness["events_missed"].to_list() == [0]
    assert queues["marks_packets"][0] > 0
    assert queues["drops_early_packets"][0] < queues["marks_packets"][0]


def test_same_seed_gives_same_tables_behind_kernel_router(kernel, tmp_path):
    runs = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        runs.append(run_with_router(kernel, QUEUES["fq_codel"], ("kernel",), folder))
    for file in sorted(runs[0].folder.glob("*.parquet")):
        one, two = (pl.read_parquet(run.folder / file.name) for run in runs)
        if kernel.endswith("hz1000") and not one.equals(two):
            pytest.xfail("times differ by less than 1 us (docs/concepts/virtual-kernels.md)")
        assert one.equals(two), file.name


def test_script_runs_on_kernel(kernel, tmp_path):
    script = tmp_path / "connect.pkt"
    script.write_text(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
        "+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0\n"
        "+0 bind(3, ..., ...) = 0\n"
        "+0 listen(3, 1) = 0\n"
        "+0 < S 0:0(0) win 32792 <mss 1000,nop,wscale 7>\n"
        "+0 > S. 0:0(0) ack 1 <...>\n"
        "+.1 < . 1:1(0) ack 1 win 257\n"
        "+0 accept(3, ..., ...) = 4\n"
    )
    code, printed, error = fairwind("packetdrill", script, "--on", kernel, cwd=tmp_path)
    assert (code, printed.splitlines()[-1]) == (0, "1 passed, 0 failed"), printed + error


def test_killed_command_leaves_no_instance(kernel, tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(SCENARIO.format(seconds=100_000))
    before = set(instances())
    process = start("run", path, "--on", kernel, "--out", "run", cwd=tmp_path)
    assert _becomes(lambda: set(instances()) - before)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert _becomes(lambda: not set(instances()) - before)


def test_killed_instance_fails_its_run_only(kernel, tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(SCENARIO.format(seconds=100_000))
    before = set(instances())
    process = start("run", path, "--on", kernel, "--out", "run", cwd=tmp_path)
    try:
        assert _becomes(lambda: set(instances()) - before)
        for one in set(instances()) - before:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                continue
        _, error = process.communicate(timeout=30)
    finally:
        process.kill()  # its instances end with it
    assert process.returncode == 2
    assert "ended without a result" in str(error)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk can only be mounted by root")
def test_full_disk_keeps_finished_runs(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], check=True)
    try:
        (disk / "ballast").write_bytes(bytes(3_000_000))
        path = tmp_path / "eight.toml"
        path.write_text(SCENARIO.format(seconds=4) + "\n[sweep]\nrepeat = 8\n")
        before = set(instances())
        command = ("run", path, "--on", KERNELS[0].name, "--out", "disk/run", "--jobs", "1")
        code, _, error = fairwind(*command, cwd=tmp_path)
        assert code == 2, error
        assert "the disk is full: disk/run could not be written" in error
        assert "run the same command again to continue" in error
        finished = {cell.name for cell in (disk / "run" / "cells").iterdir()}
        assert 1 <= len(finished) < 8
        assert not any(name.startswith(".tmp-") for name in finished)
        assert _becomes(lambda: not set(instances()) - before)
        (disk / "ballast").unlink()
        code, _, error = fairwind(*command, cwd=tmp_path)
        assert code == 0, error
        assert f"{len(finished)} of them resumed" in error
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_unknown_kernel_names_the_build_command(scenario, tmp_path):
    code, _, error = fairwind("run", scenario, "--on", "linux-2.4", cwd=tmp_path)
    assert code == 2
    assert "fairwind kernel build 2.4" in error


def test_python_class_is_refused(kernel, scenario):
    with pytest.raises(FairwindError, match="class of Python"):
        engine_named(kernel, {"mine": object})  # type: ignore[dict-item]


def _becomes(condition, within_s: float = 20) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


SERVER = f"exec {shlex.quote(sys.executable)} -m http.server 8000 --directory ."
FETCH = """
import os, sys, time, urllib.request
begin = time.monotonic()
with urllib.request.urlopen(f"http://{os.environ['FAIRWIND_OUTSIDE']}:8000/big") as answer:
    size = len(answer.read())
print(size, f"{time.monotonic() - begin:.6f}")
print("to standard error", file=sys.stderr)
sys.exit(3)
"""


def test_program_fetches_a_file_behind_the_path(kernel, tmp_path):
    (tmp_path / "big").write_bytes(bytes(500_000))
    command = ["shell", "--on", kernel, "--rate", "1mbit", "--rtt", "100ms", "--outside", SERVER]
    outputs = []
    for name in ("one", "two"):
        code, printed, error = fairwind(
            *command, "--report", name, "--", sys.executable, "-c", FETCH, cwd=tmp_path
        )
        assert code == 3, error
        assert "to standard error" in error
        assert printed.startswith("Serving HTTP")  # the command outside
        outputs.append(printed.splitlines()[-1])
    size, seconds = outputs[0].split()
    assert int(size) == 500_000
    # The payload alone takes 4 s at 1 Mbit/s; headers, handshake and slow start less than 1 s more.
    assert 4.0 < float(seconds) < 5.0
    assert outputs[0] == outputs[1]
    tables = [package.open(tmp_path / name).groups for name in ("one", "two")]
    assert tables[0].equals(tables[1])


CLOCKS = """
import mmap, struct, time
device = open("/dev/fairwind-clock")
page = mmap.mmap(device.fileno(), 4096, mmap.MAP_SHARED, mmap.PROT_READ)
shown = lambda: struct.unpack_from("=Q", page)[0]
apart = set()
for pause in (0, 1e-6, 0.001234567, 0.1):
    time.sleep(pause)
    apart.add(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - shown())
before = shown()
assert shown() == before
print(len(apart))
"""


def test_page_shows_the_clock_of_the_kernel(kernel, tmp_path):
    """It differs from what the system call gives by a constant, and stands still in between."""
    code, printed, error = fairwind(
        "shell", "--on", kernel, "--", sys.executable, "-c", CLOCKS, cwd=tmp_path
    )
    assert (code, printed) == (0, "1\n"), error


def test_command_outside_that_fails_is_named(kernel, tmp_path):
    code, _, error = fairwind(
        "shell", "--on", kernel, "--outside", "exit 7", "--", "true", cwd=tmp_path
    )
    assert code != 0
    assert "`exit 7`" in error
    assert "before the program began" in error


def test_shell_refuses_the_simulator_and_an_interactive_program(kernel, tmp_path):
    code, _, error = fairwind("shell", "--on", "sim", "--", "true", cwd=tmp_path)
    assert code == 2
    assert "no real program runs there" in error
    code, _, error = fairwind("shell", "--on", kernel, cwd=tmp_path)
    assert code == 2
    assert "no standard input" in error


def test_missing_program_has_its_reason_and_code(kernel, tmp_path):
    code, _, error = fairwind("shell", "--on", kernel, "--", "nosuchprogram", cwd=tmp_path)
    assert code == 127
    assert "nosuchprogram" in error


def test_programs_find_the_same_variables_in_every_instance(kernel, tmp_path):
    printed = [
        fairwind("shell", "--on", kernel, "--rtt", "10ms", "--", "env", cwd=tmp_path)[1]
        for _ in range(2)
    ]
    assert printed[0] == printed[1]
    names = {line.split("=")[0] for line in printed[0].splitlines()}
    assert {"PATH", "HOME", "FAIRWIND_OUTSIDE"} <= names
    assert not {"FAIRWIND_TASK", "FAIRWIND_KERNEL_SEED"} & names
