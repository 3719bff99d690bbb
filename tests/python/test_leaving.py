"""How the command line ends: at once, after all that has to happen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from process import SCENARIO

LEAVE = """
import atexit, sys, threading, time
from fairwind.cli import main
{before}
class Kept:
    def __del__(self):
        print("taken apart")
kept = Kept()
sys.argv = ["fairwind", "check", "{file}"]
main()
"""

THREAD = """
def late():
    time.sleep(0.5)
    print("thread")
threading.Thread(target=late).start()
"""


def left(tmp_path: Path, before: str = "", file: str = "scenario.toml") -> tuple[int, str]:
    """Run a command after these lines; give its exit code and what it printed."""
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    command = [sys.executable, "-c", LEAVE.format(before=before, file=file)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(("file", "code"), [("scenario.toml", 0), ("missing.toml", 2)])
def test_exit_code_is_that_of_the_command(tmp_path, file, code):
    found, output = left(tmp_path, file=file)
    assert found == code
    assert ("path" in output) == (code == 0)


def test_nothing_is_taken_apart_but_what_was_registered_runs(tmp_path):
    _, output = left(tmp_path, 'atexit.register(print, "registered")')
    assert "taken apart" not in output
    assert output.endswith("registered\n")


def test_threads_are_waited_for(tmp_path):
    code, output = left(tmp_path, THREAD)
    assert code == 0
    assert "thread\n" in output


def test_output_that_is_not_taken_is_an_error(tmp_path):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    command = [sys.executable, "-m", "fairwind.cli", "check", "scenario.toml"]
    with full.open("w") as output:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode != 0
    assert "No space left on device" in done.stderr
