"""Kernels on the workers of a cluster: sent by their digest, or allowed by the worker."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from dask_runs import dask, ended, on, tables
from fairwind.engine.selection import engine_named
from fairwind.kernels import catalogue
from fairwind.kernels.catalogue import BuiltKernel, built_kernels
from fairwind.kernels.transfer import install_kernel, pack_kernel
from process import fairwind

__all__ = ["dask"]  # a fixture

pytest.importorskip("distributed", reason="requires the extra cluster")

KERNELS = built_kernels()
IS_MISSING = not KERNELS or not catalogue.WORKER.exists()
virtual = pytest.mark.skipif(
    IS_MISSING, reason="no kernel for virtual time is built: fairwind kernel build 6.12"
)
PROBLEM = engine_named("kernel").obstacle()
running = [
    pytest.mark.alone,
    pytest.mark.kernel,
    pytest.mark.skipif(PROBLEM is not None, reason=f"no run on the kernel: {PROBLEM}"),
]

SCENARIO = """
name = "two seeds"
duration = "1 s"

[path]
rate = "2 Mbit/s"
rtt = "20 ms"
queue = { discipline = "pfifo", limit = "20 packets" }

[[flows]]
name = "greedy"
workload = { kind = "greedy" }

[sweep]
repeat = 2
"""


@pytest.fixture(autouse=True)
def scenario(tmp_path) -> Path:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture
def made_up(tmp_path, monkeypatch) -> BuiltKernel:
    """Give a file that stands for a kernel, in a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "client"))
    kernel = BuiltKernel("6.12.1", 250, "0123456789", "here", "gcc", True, [])
    kernel.folder.mkdir(parents=True)
    kernel.program.write_bytes(b"\x7fELF" + bytes(range(256)) * 999)
    kernel.write(kernel.folder)
    return kernel


def test_packed_kernel_is_installed_whole(made_up, tmp_path, monkeypatch):
    packed, content = pack_kernel(made_up), made_up.program.read_bytes()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "worker"))
    assert built_kernels() == []
    for _ in range(2):
        install_kernel(packed)
        assert built_kernels() == [made_up]
    assert made_up.program.read_bytes() == content
    assert os.access(made_up.program, os.X_OK)
    made_up.program.unlink()  # what an interruption of something else has left
    install_kernel(packed)
    assert made_up.program.read_bytes() == content
    assert [file.name for file in catalogue.cache().iterdir()] == [made_up.folder.name]


def test_kernel_damaged_on_the_way_is_refused(made_up, tmp_path, monkeypatch):
    packed = pack_kernel(made_up)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "worker"))
    program = packed.files["linux"]
    for damaged in (program[:-1], program[:99] + b"?" + program[100:]):
        packed.files["linux"] = damaged
        with pytest.raises(ValueError, match="damaged on the way"):
            install_kernel(packed)
        assert [*catalogue.cache().iterdir()] == []


@virtual
@pytest.mark.parametrize("is_late", [False, True], ids=["early", "late"])
def test_missing_kernel_is_sent(dask, tmp_path, is_late):
    kernel = KERNELS[0]
    code, _, error = fairwind(
        *("run", "scenario.toml", "--on", kernel.name, "--jobs", 1, "--out", "local"), cwd=tmp_path
    )
    assert code == 0, error
    cache = tmp_path / "worker"
    if not is_late:
        dask.start_worker(XDG_CACHE_HOME=str(cache))
        dask.wait_for_worker()
    process = on(dask.address, tmp_path, "--on", kernel.name)
    if is_late:
        dask.wait_for_client()
        time.sleep(1)
        dask.start_worker(XDG_CACHE_HOME=str(cache))
    error = ended(process, dask)
    assert f"sent {kernel.name} (" in error
    assert tables(tmp_path / "far") == tables(tmp_path / "local")
    sent = cache / "fairwind" / "kernels" / kernel.folder.name / "linux"
    assert sent.read_bytes() == kernel.program.read_bytes()
    shutil.rmtree(tmp_path / "far")
    assert "sent" not in ended(on(dask.address, tmp_path, "--on", kernel.name), dask)


@virtual
def test_other_build_of_a_kernel_is_refused(dask, tmp_path):
    kernel, cache = KERNELS[0], tmp_path / "worker"
    other = cache / "fairwind" / "kernels" / kernel.folder.name
    shutil.copytree(kernel.folder, other)
    with (other / "linux").open("ab") as program:
        program.write(b"compiled by another compiler")
    dask.start_worker(XDG_CACHE_HOME=str(cache))
    dask.wait_for_worker()
    _, error = (process := on(dask.address, tmp_path, "--on", kernel.name)).communicate(timeout=240)
    assert process.returncode == 2, error
    assert "has kernel_sha256 another build" in error
    assert f"fairwind kernel remove {kernel.folder.name}" in error


@virtual
def test_worker_without_room_for_a_kernel_is_refused(dask, tmp_path):
    kernel = KERNELS[0]
    (tmp_path / "full.py").write_text(
        "import errno\nfrom fairwind.execution import remote\n"
        "def full(*_):\n    raise OSError(errno.ENOSPC, 'no room', '/cache')\n"
        "remote.install_kernel = full\n"
    )
    dask.start_worker(
        "--preload", str(tmp_path / "full.py"), XDG_CACHE_HOME=str(tmp_path / "worker")
    )
    dask.wait_for_worker()
    _, error = (process := on(dask.address, tmp_path, "--on", kernel.name)).communicate(timeout=240)
    assert process.returncode == 2, error
    assert "the disk is full: /cache" in error
    assert "XDG_CACHE_HOME=FOLDER on another disk" in error


def with_marks(*marks):
    def apply(test):
        for mark in marks:
            test = mark(test)
        return test

    return apply


@with_marks(*running)
def test_running_kernel_is_used_only_where_allowed(dask, tmp_path):
    dask.start_worker()
    dask.wait_for_worker()
    process = on(dask.address, tmp_path, "--on", "kernel", "--yes")
    _, error = process.communicate(timeout=240)
    assert process.returncode == 2, error
    assert "no worker says that runs may use its kernel" in error
    assert "--resources kernel=1" in error
    dask.start_worker("--resources", "kernel=1")
    dask.wait_for_worker()
    error = ended(on(dask.address, tmp_path, "--on", "kernel", "--yes"), dask)
    manifest = json.loads((tmp_path / "far" / "manifest.json").read_text())
    assert manifest["engine"] == "kernel"
    assert "lateness.parquet" in tables(tmp_path / "far")


@with_marks(*running)
def test_other_release_of_the_running_kernel_is_refused(dask, tmp_path):
    (tmp_path / "other.py").write_text("import platform\nplatform.release = lambda: '4.4.0'\n")
    dask.start_worker("--preload", str(tmp_path / "other.py"), "--resources", "kernel=1")
    dask.wait_for_worker()
    process = on(dask.address, tmp_path, "--on", "kernel", "--yes")
    _, error = process.communicate(timeout=240)
    assert process.returncode == 2, error
    assert "has kernel 4.4.0 instead of" in error
