"""The types that we write for the compiled core are those that it has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_stub_agrees_with_the_core():
    checked = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "fairwind._core", "--concise"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
