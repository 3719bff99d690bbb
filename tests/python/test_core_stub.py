"""The types that we write for the compiled core are those that it has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CORE_IS_BUILT

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.skipif(not CORE_IS_BUILT, reason="the core is not built; run `make build`")
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
