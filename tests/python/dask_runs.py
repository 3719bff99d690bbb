"""Runs on a Dask cluster of this machine, and the same runs with one job."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dask_cluster import DaskCluster
from process import fairwind, start

Tables = dict[str, bytes]


@pytest.fixture
def dask(tmp_path) -> Iterator[DaskCluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    with DaskCluster(folder) as cluster:
        yield cluster


def tables(folder: Path) -> dict[str, bytes]:
    found = {file.name: file.read_bytes() for file in folder.glob("*.parquet")}
    assert "groups.parquet" in found
    return found


@pytest.fixture
def local(tmp_path):
    """Give the tables of a scenario with one job on this machine."""

    def run(text: str) -> dict[str, bytes]:
        (tmp_path / "scenario.toml").write_text(text)
        code, _, error = fairwind(
            "run", "scenario.toml", "--jobs", 1, "--out", "local", cwd=tmp_path
        )
        assert code == 0, error
        return tables(tmp_path / "local")

    return run


def on(workers: str, tmp_path: Path, *more: object) -> subprocess.Popen[str]:
    return start(
        *("run", "scenario.toml", "--workers", workers, "--out", "far", *more), cwd=tmp_path
    )


def ended(process: subprocess.Popen[str], dask: DaskCluster | None = None) -> str:
    try:
        _, error = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{process.communicate()[1]}\n{dask.log() if dask else ''}") from None
    assert process.returncode == 0, error
    return error


def cells(folder: Path) -> int:
    return len([*folder.glob("cells/[0-9]*")])


def wait_for_cells(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 240
    while cells(folder) < count:
        assert time.monotonic() < deadline, f"{cells(folder)} cells"
        time.sleep(0.05)
