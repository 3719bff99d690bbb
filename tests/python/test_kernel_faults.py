"""What goes wrong while experiments run on the kernel, and the warnings before they do.

A full disk, a run that is killed, a user who is not root, and what dead runs leave behind.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairwind as package
from fairwind.engine.selection import engine_named
from process import fairwind, start

PROBLEM = engine_named("kernel").obstacle()

pytestmark = [
    pytest.mark.alone,
    pytest.mark.kernel,
    pytest.mark.skipif(PROBLEM is not None, reason=f"no run on the kernel: {PROBLEM}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes disks and what runs leave"),
]

SCENARIO = """
name = "one greedy stream"
duration = "1 s"

[path]
rate = "5 Mbit/s"
rtt = "10 ms"
queue = { discipline = "pfifo", limit = "20 packets" }

[[flows]]
name = "greedy"
workload = { kind = "greedy" }

[sweep]
repeat = 8
"""
DEAD = "fairwind-1.ffffffff.1"
"""A run of process 1, which was not started at that instant."""


@pytest.fixture
def scenario(tmp_path) -> Path:
    path = tmp_path / "greedy.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """Give a folder on a disk of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def cells(folder: Path) -> dict[str, dict[str, bytes]]:
    """Read what finished runs have left: their tables and captures."""
    return {
        cell.name: {file.name: file.read_bytes() for file in cell.iterdir()}
        for cell in (folder / "cells").iterdir()
    }


@pytest.mark.parametrize("full_of", ["tables", "captures"])
def test_full_disk_is_reported_and_run_resumes(scenario, disk, tmp_path, full_of):
    ballast = disk / "ballast"
    if full_of == "captures":
        # A second at 5 Mbit/s is 0.6 MB at each end.
        scenario.write_text(SCENARIO + "\n[capture]\n")
    else:
        ballast.write_bytes(bytes(3_000_000))
    command = ("run", scenario, "--on", "kernel", "--out", "disk/run")
    code, out, error = fairwind(*command, cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "the disk is full: disk/run could not be written" in error
    assert "run the same command again to continue" in error
    finished = cells(disk / "run")
    assert 1 <= len(finished) < 8
    assert not any(name.startswith(".tmp-") for name in finished)
    ballast.unlink(missing_ok=True)
    subprocess.run(["mount", "-o", "remount,size=60m", str(disk)], check=True)
    code, _, error = fairwind(*command, cwd=tmp_path)
    assert code == 0, error
    assert f"8 runs, {len(finished)} of them resumed" in error
    after = cells(disk / "run")
    assert len(after) == 8
    assert {name: after[name] for name in finished} == finished


def test_what_was_finished_when_a_run_is_killed_is_there_when_it_goes_on(scenario, tmp_path):
    process = start("run", scenario, "--on", "kernel", "--out", "run", cwd=tmp_path)
    folder = tmp_path / "run"
    deadline = time.monotonic() + 120
    while not (folder / "cells" / "0000-0001").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=60)
    finished = {
        name: files for name, files in cells(folder).items() if not name.startswith(".tmp-")
    }
    assert 2 <= len(finished) < 8
    code, _, error = fairwind("run", scenario, "--on", "kernel", "--out", "run", cwd=tmp_path)
    assert code == 0, error
    assert f"{len(finished)} of them resumed" in error
    assert {name: cells(folder)[name] for name in finished} == finished
    assert package.open(folder).groups["replicate"].unique().len() == 8


def test_check_knows_whether_this_kernel_can_carry_the_packets(scenario, tmp_path):
    check = ("check", scenario, "--on", "kernel", "--set", "path.router=kernel")
    code, _, error = fairwind(*check, "--set", "path.rtt=0 ms", cwd=tmp_path)
    if code == 0:
        assert "remark: path.router: htb on" in error
    code, _, error = fairwind(*check, cwd=tmp_path)
    if code != 0:
        assert 'path.router = "kernel": ' in error
        assert "leave out path.router" in error


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv here")
def test_check_knows_what_the_user_may_not(scenario):
    many = ["--set", "flows.greedy.count=400", "--set", "measure.endpoint_every_ack=true"]
    text = check_as_nobody(scenario, 0o666, *many)
    assert text.returncode == 2, text.stderr
    assert "measure.endpoint_every_ack = true: only eBPF programs" in text.stderr
    assert "flows.*.count = 400: the process of host greedy-sender needs 464" in text.stderr
    text = check_as_nobody(scenario, 0o600)
    assert text.returncode == 2, text.stderr
    assert "chmod 666 /dev/net/tun" in text.stderr
    assert check_as_nobody(scenario, 0o666).returncode == 0


def check_as_nobody(scenario: Path, device: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Check as a user without rights and with few files, where a TUN device has this mode.

    The repository may lie below a folder that others may not enter, so it is mounted elsewhere.
    """
    root = Path(__file__).parents[2]
    python = Path(sys.executable)
    if python.is_relative_to(root):
        python = Path("/mnt/repository") / python.relative_to(root)
    script = (
        "cd / && umask 022 && "
        f"mount -t tmpfs -o mode=0755 none /mnt && mknod -m {device:04o} /mnt/tun c 10 200 && "
        f"mkdir /mnt/repository && mount --bind {root} /mnt/repository && "
        f"cp {scenario} /mnt/scenario.toml && "
        "mount --bind /mnt/tun /dev/net/tun && ulimit -n 300 && "
        'exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'
    )
    done = subprocess.run(
        [
            *("unshare", "--mount", "sh", "-c", script, "sh", str(python), "-m", "fairwind.cli"),
            *("check", "/mnt/scenario.toml", "--on", "kernel", *words),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"PYTHONPATH": "/mnt/repository/python"},
    )
    if "No module named" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip(f"this Python is not for everybody: {done.stderr}")
    return done


@pytest.mark.skipif(shutil.which("nft") is None, reason="no nftables here")
def test_doctor_removes_what_dead_runs_have_left_of_every_kind(tmp_path):
    group = Path(control_groups()) / f"{DEAD}-group"
    folder = Path("/tmp") / f"{DEAD}-folder"
    script = f"""
        set -e
        mkdir -p /run/netns
        mount -t tmpfs none /run/netns
        ip netns add {DEAD}-sender
        ip netns exec {DEAD}-sender sleep 600 &
        echo $! > inhabitant
        until [ /proc/$!/ns/net -ef /run/netns/{DEAD}-sender ]; do sleep 0.1; done
        mkdir {folder} {group}
        echo one > {folder}/file
        sleep 600 &
        echo $! > member
        echo $! > {group}/cgroup.procs
        nft add table ip {DEAD}-masquerade
        nft add table ip somebody-elses
        "$@" doctor --clean
        "$@" doctor --clean
        ls /run/netns
        nft list tables
    """
    done = subprocess.run(
        [
            "unshare",
            "--net",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
            sys.executable,
            "-m",
            "fairwind.cli",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "python")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in ("process", "namespace", "control group", "folder", "table of nftables"):
        of_the_run = [
            line for line in done.stdout.splitlines() if line.startswith(f"removed: {kind} ")
        ]
        assert any(line.endswith(f"of {DEAD}") for line in of_the_run), (kind, done.stdout)
    assert "could not remove" not in done.stdout
    assert done.stdout.endswith("table ip somebody-elses\n"), done.stdout
    for name in ("inhabitant", "member"):
        process = Path("/proc") / (tmp_path / name).read_text().strip()
        assert not (process / "exe").exists(), name
    assert not group.exists()
    assert not folder.exists()


def control_groups() -> str:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            return place
    pytest.skip("no control groups of version 2 here")
