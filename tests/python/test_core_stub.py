"""The types that we write for the compiled core are those that it has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fairwind import _core
from fairwind.engine.core import misfit

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


def test_core_of_another_state_is_detected(tmp_path):
    assert misfit(_core.interface()) is None
    assert "make build" in (misfit(_core.interface() + "def more() -> None: ...\n") or "")
    assert "make build" in (misfit(None) or "")
    assert misfit(None, tmp_path / "none.pyi") is None, "nothing to compare with"
