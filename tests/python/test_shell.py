"""Programs behind emulated paths, by the command line."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import typer

from fairwind import _core
from fairwind.cli import shell as command
from fairwind.errors import FairwindError
from fairwind.packetdrill import kernel_problem
from fairwind.shell import Ended, PathOptions, ShellSettings, path_scenario, run_shell
from outside import BYTES, ECHO
from process import SCENARIO, fairwind

PROBLEM = kernel_problem()
needs_the_kernel = pytest.mark.skipif(PROBLEM is not None, reason=f"no shell here: {PROBLEM}")

ROOT = Path(__file__).parents[2]
SHELL = [sys.executable, "-W", "error", "-m", "fairwind.cli", "shell"]

PING = f"""
import os, socket, sys, time
name = "FAIRWIND_OUTERMOST" + sys.argv[1]
family = socket.AF_INET6 if sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as ping:
    ping.connect((os.environ[name], {ECHO}))
    ping.settimeout(5)
    times = []
    for _ in range(10):
        begun = time.monotonic()
        ping.send(b"are you there?")
        ping.recv(100)
        times.append(time.monotonic() - begun)
print(min(times))
"""

FETCH = f"""
import os, socket, sys, time
begun = time.monotonic()
with socket.create_connection((os.environ["FAIRWIND_OUTSIDE"], {BYTES})) as connection:
    connection.sendall(sys.argv[1].encode() + b"\\n")
    received = 0
    while data := connection.recv(65536):
        received += len(data)
print(received, time.monotonic() - begun)
"""


def behind(
    *arguments: object, cwd: Path, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a shell in a namespace with servers in it."""
    return subprocess.run(
        [
            *("unshare", "--net", sys.executable, str(ROOT / "tests/python/outside.py")),
            *(*SHELL, *options, "--", *map(str, arguments)),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
    )


def seconds(done: subprocess.CompletedProcess[str]) -> float:
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[-1])


def test_what_is_said_once_holds_in_both_directions():
    text = path_scenario(PathOptions(rate="5 Mbit/s", rtt="100 ms", loss="1 %")).text
    assert text.count('rate = "5 Mbit/s"') == 2
    assert text.count('delay = "50 ms"') == 2
    assert text.count('loss = "1 %"') == 2
    assert text.count('limit = "100 ms"') == 2, "a bandwidth-delay product is an RTT's worth"


def test_the_way_back_can_be_another():
    path = PathOptions("5 Mbit/s", "15 ms", "20 % bdp", reverse_rate="1 Mbit/s", reverse_loss="2 %")
    text = path_scenario(path).text
    assert text.count("rate = ") == 2
    assert 'rate = "1 Mbit/s"' in text
    assert text.count("loss = ") == 1
    assert text.count('limit = "3 ms"') == 2


def test_wrong_options_say_what_is_wrong(tmp_path):
    code, _, error = fairwind("shell", "--rate", "5", "--", "true", cwd=tmp_path)
    assert code == 2
    assert "has no unit" in error
    code, _, error = fairwind("shell", "--capture", "--", "true", cwd=tmp_path)
    assert code == 2
    assert "--report" in error


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--rtt", "100", "--rate", "5mbit"), '--rtt 100: "100" has no unit'),
        (("--rtt=-5ms", "--rate", "5mbit"), '--rtt -5ms: "-5ms" is negative'),
        (("--mtu", "9000"), '--mtu 9000: "9000" has no unit'),
        (("--rtt", "20ms", "--loss", "0.01"), '--loss 0.01: "0.01" has no unit'),
        (("--reverse-loss", "2"), '--reverse-loss 2: "2" has no unit'),
        (("--rate", "5mbit", "--set", "path.rate=1mbit"), "--set path.rate: without --scenario"),
    ],
)
def test_a_wrong_option_is_named_once_and_nothing_that_nobody_wrote(tmp_path, options, text):
    code, _, error = fairwind("shell", *options, "--", "true", cwd=tmp_path)
    assert code == 2
    assert error.startswith(f"error: {text}")
    assert error.count("has no unit") + error.count("is negative") <= 1
    assert "topology" not in error


@pytest.mark.kernel
@needs_the_kernel
@pytest.mark.alone
def test_a_shell_refuses_the_kernels_own_router(tmp_path):
    (tmp_path / "here.toml").write_text(SCENARIO, encoding="utf-8")
    options = ("--scenario", "here.toml", "--set", "path.router=kernel")
    code, _, error = fairwind("shell", *options, "--", "true", cwd=tmp_path)
    assert code == 2
    assert "leave path.router out" in error


def test_a_path_that_cannot_be_set_up_leaves_the_folder_free(tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise _core.KernelUnavailable("use sudo")

    out = tmp_path / "report"
    plan = path_scenario(PathOptions(rtt="20 ms")).check()
    monkeypatch.setattr(_core, "run_shell", refuse)
    for _ in range(2):
        with pytest.raises(FairwindError, match="use sudo"):
            run_shell(plan, ShellSettings(("true",), report=out))
        assert not (out / "manifest.json").exists()


@pytest.mark.kernel
@needs_the_kernel
@pytest.mark.alone
def test_exit_code_and_words_are_the_programs(tmp_path):
    script = "cat; echo err >&2; exit 9"
    done = subprocess.run(
        ["unshare", "--net", *SHELL, "--quiet", "--", "sh", "-c", script],
        input="through\n",
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
    )
    assert (done.returncode, done.stdout, done.stderr) == (9, "through\n", "err\n")


@pytest.mark.kernel
@needs_the_kernel
@pytest.mark.alone
@pytest.mark.parametrize("version", ["", "_IPV6"])
def test_an_exchange_takes_the_round_trip_time(tmp_path, version):
    done = behind(sys.executable, "-c", PING, version, cwd=tmp_path, options=("--rtt", "60ms"))
    assert 0.06 <= seconds(done) < 0.12


@pytest.mark.kernel
@needs_the_kernel
@pytest.mark.alone
@pytest.mark.parametrize("version", ["", "_IPV6"])
def test_shells_within_shells_add_their_round_trip_times(tmp_path, version):
    inner = [*SHELL, "--rtt", "20ms", "--", sys.executable, "-c", PING, version]
    done = behind(*inner, cwd=tmp_path, options=("--rtt", "20ms"))
    assert 0.04 <= seconds(done) < 0.1


@pytest.mark.kernel
@needs_the_kernel
@pytest.mark.alone
def test_of_shells_within_shells_the_lower_rate_wins(tmp_path):
    slow, fast = ("--rate", "2mbit", "--rtt", "10ms"), ("--rate", "50mbit", "--rtt", "10ms")
    fetch = (sys.executable, "-c", FETCH.replace("OUTSIDE", "OUTERMOST"), "250000")
    for outer, inner in ((slow, fast), (fast, slow)):
        done = behind(*SHELL, *inner, "--", *fetch, cwd=tmp_path, options=outer)
        # 250 kB and their headers at 2 Mbit/s; at 50 Mbit/s it would be a twentieth.
        assert seconds(done) > 1.0


@pytest.mark.kernel
@needs_the_kernel
@pytest.mark.alone
def test_the_report_of_a_program_is_the_folder_of_a_run(tmp_path):
    out = tmp_path / "report"
    path = ("--rate", "4mbit", "--rtt", "20ms", "--report", str(out), "--capture")
    done = behind(sys.executable, "-c", FETCH, "400000", cwd=tmp_path, options=path)
    assert done.returncode == 0, done.stderr
    groups = pl.read_parquet(out / "groups.parquet")
    sent = dict(groups.select("group", "payload_bytes_sent").iter_rows())
    read = dict(groups.select("group", "payload_bytes_read").iter_rows())
    assert sent["from-program"] == read["from-program"] == 7
    assert read["to-program"] == 400_000
    flows = pl.read_parquet(out / "flows.parquet")
    assert flows.filter(pl.col("group") == "to-program")["finished"].to_list() == [True]
    assert flows["established"].to_list() == [True] * 4, "both directions, and what needs no set-up"
    queues = pl.read_parquet(out / "queues.parquet")
    assert queues["queue"].to_list() == ["from-program", "to-program"]
    assert json.loads((out / "manifest.json").read_text())["engine"] == "kernel"
    fairness = pl.read_parquet(out / "fairness.parquet")
    assert fairness["name"].to_list() == ["from-program", "to-program"], "among connections only"
    code, _, error = fairwind("report", out, cwd=tmp_path)
    assert code == 0, error
    page = (out / "report.html").read_text()
    measured = groups["measured_s"][0]
    assert f"duration {measured:.1f} s." in page, "not the longest time that it might have taken"
    for name in ("sender", "receiver"):
        assert (out / "cells/0000-0000" / f"{name}.pcapng").stat().st_size > 400_000
    code, _, error = fairwind("shell", "--report", out, "--", "true", cwd=tmp_path)
    assert code == 2
    assert "holds a run already" in error


@pytest.mark.kernel
@needs_the_kernel
@pytest.mark.alone
def test_started_by_sudo_the_program_runs_as_the_user_who_called(tmp_path):
    done = subprocess.run(
        ["unshare", "--net", *SHELL, "--quiet", "--", "sh", "-c", "id -u; echo $USER $HOME"],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=os.environ | {"PYTHONPATH": str(ROOT / "python"), "SUDO_UID": "65534"},
    )
    assert done.stdout == "65534\nnobody /nonexistent\n", done.stderr


@pytest.mark.kernel
@needs_the_kernel
@pytest.mark.alone
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_a_terminal_interrupts_the_program_and_nobody_else(tmp_path):
    started, interrupted = tmp_path / "started", tmp_path / "interrupted"
    script = (
        f"trap 'echo yes > {interrupted}; exit 3' INT; touch {started}; while :; do sleep 0.1; done"
    )
    child, terminal = pty.fork()
    if child == 0:
        os.environ["PYTHONPATH"] = str(ROOT / "python")
        words = ["unshare", "--net", *SHELL, "--", "bash", "-c", script]
        os.execvp(words[0], words)
    try:
        wait_for(started.exists)
        os.write(terminal, b"\x03")
        wait_for(interrupted.exists)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 3
    finally:
        os.close(terminal)
        try:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def wait_for(happened):
    until = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < until, "it has not happened"
        time.sleep(0.05)


@pytest.mark.parametrize("is_quiet", [False, True])
def test_place_on_a_kernel_in_virtual_time_is_printed(monkeypatch, capsys, is_quiet):
    lateness = pl.DataFrame({"exceeds_bound": [False]})
    ended = Ended(0, None, {"lateness": lateness})
    monkeypatch.setattr(command, "_kernel", lambda *_: object())
    monkeypatch.setattr(command, "_run", lambda *_, **__: ended)
    with pytest.raises(typer.Exit):
        command.shell(["true"], rtt="100ms", on="linux-7.3", quiet=is_quiet)
    line = "behind the path on linux-7.3: the outside is $FAIRWIND_OUTSIDE\n"
    assert capsys.readouterr().err == ("" if is_quiet else line)
