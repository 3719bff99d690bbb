"""Errors of users, as `fairwind run` reports them.

Each ends with exit code 2 and one plain message, and leaves earlier results as they were.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from process import SCENARIO, fairwind, start

TABLES = {".parquet", ".arrows"}

UNJOINED = """
name = "no way"
duration = "10 s"
[topology]
hosts = ["a", "b"]
routers = ["r", "s"]
[[topology.links]]
from = "a"
to = "r"
[[topology.links]]
from = "s"
to = "b"
[[flows]]
name = "greedy"
from = "a"
to = "b"
workload = { kind = "greedy" }
"""


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def earlier(tmp_path) -> Path:
    """Give the folder of an earlier run, beside the scenario that it came from."""
    (tmp_path / "two.toml").write_text(SCENARIO)
    code, _, error = fairwind("run", "two.toml", "--out", "run", cwd=tmp_path)
    assert code == 0, error
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            SCENARIO.replace('rate = "1 Mbit/s"', 'rate = "-1 Mbit/s"'),
            ("path.rate", "-1 Mbit/s", "negative"),
        ),
        (SCENARIO.replace('rtt = "100 ms"', "rtt = 100"), ("path.rtt", "needs a unit", "20 ms")),
        (
            SCENARIO.replace("start_pattern", "start_patern"),
            ("start_patern", "unknown key", 'did you mean "start_pattern"'),
        ),
        (UNJOINED, ("flows[0].to", "no links lead from a to b")),
        ("name = ", ("not TOML",)),
    ],
    ids=["negative rate", "missing unit", "unknown key", "impossible topology", "no TOML"],
)
def test_scenario_error_has_file_line_key_and_rule(earlier, text, words):
    before = content(earlier)
    (earlier.parent / "wrong.toml").write_text(text)
    code, out, error = fairwind("run", "wrong.toml", "--out", "run", cwd=earlier.parent)
    assert (code, out) == (2, "")
    assert error.startswith("wrong.toml:")
    for part in words:
        assert part in error
    assert content(earlier) == before


def test_truncated_table_is_reported_and_rewritten(earlier):
    table = earlier / "groups.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[: len(whole) // 2])
    for command in (("report", "run"), ("compare", "run", "run")):
        code, out, error = fairwind(*command, cwd=earlier.parent)
        assert (code, out) == (2, "")
        assert "groups.parquet is damaged" in error
        assert "run the same scenario again" in error
    code, _, error = fairwind("run", "two.toml", "--out", "run", cwd=earlier.parent)
    assert code == 0, error
    assert "4 of them resumed" in error
    assert table.read_bytes() == whole


def test_truncated_manifest_is_reported(earlier):
    manifest = earlier / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:200])
    code, out, error = fairwind("report", "run", cwd=earlier.parent)
    assert (code, out) == (2, "")
    assert "manifest.json is damaged" in error


def test_a_lost_simulation_is_run_again(earlier):
    before = {name: file for name, file in content(earlier).items() if name.suffix in TABLES}
    shutil.rmtree(earlier / "cells" / "0001-0000")
    code, _, error = fairwind("run", "two.toml", "--out", "run", cwd=earlier.parent)
    assert code == 0, error
    assert "3 of them resumed" in error
    after = {name: file for name, file in content(earlier).items() if name.suffix in TABLES}
    assert after == before


def test_two_processes_cannot_run_into_one_folder(earlier):
    folder = earlier.parent
    (folder / "long.toml").write_text(SCENARIO.replace("repeat = 2", "repeat = 2000"))
    first = start("run", "long.toml", "--out", "long", "--jobs", 1, cwd=folder)
    try:
        deadline = time.monotonic() + 60
        while not (folder / "long" / "manifest.json").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        code, out, error = fairwind("run", "long.toml", "--out", "long", cwd=folder)
        assert first.poll() is None, "the first run ended too soon for this test"
        assert (code, out) == (2, "")
        assert f"long is in use by process {first.pid}" in error
    finally:
        first.kill()
        first.communicate(timeout=60)


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """Give a folder on a disk of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and shutil.which("mount") is not None
    if mounted:
        command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
        mounted = subprocess.run(command, check=False, capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("a small disk can only be mounted by root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("capture", ["", "\n[capture]\n"], ids=["tables", "captures"])
def test_full_disk_is_reported_and_results_stay(small_disk, tmp_path, capture):
    # Captures of 12 s at 1 Mbit/s, both ways and at both ends, do not fit into 3 MB; tables of
    # many simulations do not, either.
    (tmp_path / "two.toml").write_text(SCENARIO.replace("repeat = 2", "repeat = 200") + capture)
    code, out, error = fairwind("run", "two.toml", "--out", "disk/run", "--jobs", 1, cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "the disk is full: disk/run could not be written" in error
    assert "run the same command again to continue" in error
    for folder in (small_disk / "run" / "cells").iterdir():
        assert not folder.name.startswith(".tmp-")
        assert "tables.arrows" in {path.name for path in folder.iterdir()}
