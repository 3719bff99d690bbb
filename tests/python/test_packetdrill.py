"""The command `fairwind packetdrill`."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from process import fairwind, start

LOST_SYN = """\
// Nobody answers a SYN: again after one second.
0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 0:0(0) <...>
+1 > S 0:0(0) <...>
"""

NEEDS_KERNEL = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/net/tun").exists(),
    reason="the kernel under test needs root and /dev/net/tun",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "good.pkt").write_text(LOST_SYN)
    (tmp_path / "deep" / "wrong.pkt").write_text(LOST_SYN.replace("+1 >", "+2 >"))
    (tmp_path / "strange.pkt").write_text(f"`dance`\n{LOST_SYN}")
    (tmp_path / "notes.txt").write_text("no script")
    return tmp_path


def test_passed_script_prints_one_line(folder: Path) -> None:
    code, out, error = fairwind("packetdrill", "good.pkt", cwd=folder)
    assert (code, error) == (0, "")
    assert out == "passed       good.pkt\n1 passed, 0 failed\n"


def test_a_folder_means_all_scripts_below_it(folder: Path) -> None:
    code, out, _ = fairwind("packetdrill", ".", cwd=folder)
    assert code == 1
    lines = out.splitlines()
    assert lines[0].startswith("failed       deep/wrong.pkt:5: the time: expected 2 s, seen 1 s")
    assert lines[1] == "passed       good.pkt"
    assert lines[2].startswith("unsupported  strange.pkt:1: ")
    assert lines[3] == "1 passed, 1 failed, 1 unsupported"


def test_an_unsupported_script_has_not_passed(folder: Path) -> None:
    code, out, _ = fairwind("packetdrill", "strange.pkt", cwd=folder)
    assert code == 1
    assert out.splitlines()[-1] == "0 passed, 0 failed, 1 unsupported"


def test_verbose_shows_the_dialogue_up_to_the_failing_line(folder: Path) -> None:
    _, out, _ = fairwind("packetdrill", "--verbose", "deep/wrong.pkt", cwd=folder)
    assert " line  expected" in out
    assert "    5  +2 > S 0:0(0) <...>" in out


def test_option_lines_and_definitions_come_from_outside_too(folder: Path) -> None:
    # Half of two seconds may be missing.
    code, _, _ = fairwind("packetdrill", "--tolerance_percent=50", "deep/wrong.pkt", cwd=folder)
    assert code == 0
    (folder / "named.pkt").write_text(LOST_SYN.replace("(3, ..., ...)", "(FD, ..., ...)"))
    code, _, _ = fairwind("packetdrill", "-D", "FD=3", "named.pkt", cwd=folder)
    assert code == 0


def test_what_cannot_be_read_is_wrong_input(folder: Path) -> None:
    for arguments in [
        ["nowhere.pkt"],
        ["deep/wrong.pkt", "nowhere.pkt"],
        ["--profile", "linux-0.99", "good.pkt"],
        ["--on", "moon", "good.pkt"],
        ["--on", "kernel", "--profile", "rfc", "good.pkt"],
        ["-D", "NAME", "good.pkt"],
        [],
    ]:
        code, out, error = fairwind("packetdrill", *arguments, cwd=folder)
        assert (code, out) == (2, ""), arguments
        assert error, arguments


def test_a_script_that_cannot_be_read_does_not_hide_the_others(folder: Path) -> None:
    (folder / "binary.pkt").write_bytes(b"\xff\xfe\x00")
    code, out, error = fairwind("packetdrill", "binary.pkt", "good.pkt", cwd=folder)
    assert (code, out) == (2, "passed       good.pkt\n1 passed, 0 failed\n")
    assert "binary.pkt is not UTF-8 text" in error


@pytest.mark.kernel
@NEEDS_KERNEL
@pytest.mark.alone
def test_the_kernel_is_judged_in_the_same_way(folder: Path) -> None:
    code, out, error = fairwind(
        "packetdrill", "--on", "kernel", "good.pkt", "deep/wrong.pkt", cwd=folder
    )
    assert (code, error) == (1, "")
    assert "passed       good.pkt\n" in out
    assert re.search(
        r"^failed       deep/wrong\.pkt:5: the time: expected 2\.\d+ s, seen 1", out, re.M
    )
    assert out.endswith("1 passed, 1 failed\n")


def is_in_a_namespace(pid: int) -> bool:
    """Say whether a thread of the process is in another network namespace."""
    ours = Path("/proc/self/ns/net").readlink()
    for net in Path(f"/proc/{pid}/task").glob("*/ns/net"):
        with suppress(FileNotFoundError):  # a thread that has ended meanwhile
            if net.readlink() != ours:
                return True
    return False


@pytest.mark.kernel
@NEEDS_KERNEL
@pytest.mark.alone
def test_a_run_on_the_kernel_can_be_interrupted(folder: Path) -> None:
    (folder / "long.pkt").write_text(f"{LOST_SYN}+60 `true`\n")
    process = start("packetdrill", "--on", "kernel", "long.pkt", cwd=folder)
    deadline = time.monotonic() + 30
    while not is_in_a_namespace(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert time.monotonic() - begin < 10


CLOSING = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,TS val 7 ecr 0>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 1 ecr 8>
"""


def test_strictness_is_an_option(tmp_path: Path) -> None:
    (tmp_path / "echo.pkt").write_text(CLOSING)
    assert fairwind("packetdrill", "echo.pkt", cwd=tmp_path)[0] == 0
    for option in ("--strict", "--strict-echo"):
        code, out, _ = fairwind("packetdrill", option, "echo.pkt", cwd=tmp_path)
        assert code == 1
        assert "echo.pkt:4: the options" in out


@NEEDS_KERNEL
def test_two_systems_are_compared_line_by_line(folder: Path) -> None:
    code, out, _ = fairwind("packetdrill", "--against", "kernel", "good.pkt", cwd=folder)
    assert (code, out.splitlines()[-1]) == (0, "0 of 1 differ between sim and kernel")
    (folder / "name.pkt").write_text(
        LOST_SYN + "+0 `sysctl -q net.ipv4.tcp_congestion_control=nobody`\n"
    )
    code, out, _ = fairwind("packetdrill", "--against", "kernel", "name.pkt", cwd=folder)
    assert code == 1
    assert "differs at line 6" in out
