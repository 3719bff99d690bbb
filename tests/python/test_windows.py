"""`fairwind windows`: what it prints, and what it says where it cannot."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairwind import _core
from fairwind.cli.doctor import diagnosis
from process import fairwind

NOBODY = 65534

pytestmark = [pytest.mark.alone, pytest.mark.kernel]


def version_two() -> Path | None:
    """Find where control groups of version 2 are mounted."""
    mounts = Path("/proc/self/mounts").read_text().splitlines() if os.name == "posix" else []
    places = [line.split(" ")[1] for line in mounts if line.split(" ")[2] == "cgroup2"]
    return Path(places[0]) if places else None


@pytest.fixture
def group() -> Iterator[Path]:
    root = version_two()
    if os.geteuid() != 0 or root is None:
        pytest.skip("needs root and control groups of version 2")
    folder = root / f"fairwind-test-windows-{os.getpid()}"
    folder.mkdir()
    try:
        _core.show_windows(str(folder))
    except _core.WindowsError as error:
        if "remembers no windows" not in str(error):
            folder.rmdir()
            pytest.skip(str(error))
    yield folder
    with contextlib.suppress(_core.WindowsError):
        _core.stop_windows(str(folder))
    folder.rmdir()


def windows(*words: object, cwd: Path) -> tuple[int, str, str]:
    return fairwind("windows", *words, cwd=cwd)


def test_what_is_started_is_shown_cleared_and_stopped(group, tmp_path):
    code, out, _ = windows(
        "start", "--cgroup", group, "--lifetime", "20 s", "--entries", 7, cwd=tmp_path
    )
    number = group.stat().st_ino
    assert (code, out) == (0, f"/sys/fs/bpf/fairwind-windows-{number}\n")
    code, out, _ = windows("show", "--cgroup", group, "--json", cwd=tmp_path)
    shown = json.loads(out)
    assert code == 0
    assert shown["windows"] == []
    assert shown["options"] == {
        "lifetime_s": 20.0,
        "entries": 7,
        "largest_window_packets": 100,
        "exact": False,
        "outgoing": False,
        "at_close": False,
    }
    assert set(shown["counts"].values()) == {0}
    code, out, text = windows("show", "--cgroup", group, cwd=tmp_path)
    assert out.split() == ["peer", "window_packets", "age_s", "is_outdated", "least_rtt_s"]
    assert text.startswith("0 of 7 entries; 0 used")
    code, _, text = windows("start", "--cgroup", group, cwd=tmp_path)
    assert code == 2
    assert "already remembers windows; `fairwind windows stop` ends that" in text
    sockets = next(one for one in diagnosis() if "sock_ops" in one.what)
    assert "windows are remembered in" in sockets.found
    assert windows("clear", "--cgroup", group, cwd=tmp_path)[::2] == (0, "deleted windows: 0\n")
    assert windows("stop", "--cgroup", group, cwd=tmp_path)[0] == 0
    code, _, text = windows("stop", "--cgroup", group, cwd=tmp_path)
    assert code == 2
    assert f"{group} remembers no windows" in text


def test_what_cannot_be_started_says_why_and_what_to_do(group, tmp_path):
    refused = [
        (["--entries", "0"], "--entries 0 remembers nothing"),
        (["--lifetime", "0 s"], "--lifetime 0 remembers nothing"),
        (["--largest-window", "0"], "--largest-window 0 remembers nothing"),
        (["--lifetime", "long"], "cannot read the quantity 'long'"),
        (["--cgroup", tmp_path], "is not a control group of version 2"),
        (["--cgroup", tmp_path / "none"], "No such file or directory"),
    ]
    for words, expected in refused:
        code, _, text = windows("start", "--cgroup", group, *words, cwd=tmp_path)
        assert code == 2
        assert expected in text
    code, _, text = windows("show", "--cgroup", group, cwd=tmp_path)
    assert "start with `fairwind windows start`" in text


def test_non_root_gets_a_hint(group):
    program = (
        "import os, sys; from fairwind import _core\n"
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "try: _core.show_windows(sys.argv[1])\n"
        "except _core.WindowsError as error: print(error)\n"
    )
    text = subprocess.run(
        [sys.executable, "-c", program, group], capture_output=True, text=True, check=True
    )
    assert "requires root; run with sudo" in text.stdout
