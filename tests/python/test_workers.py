"""Simulations on the workers of a cluster: the same bytes, whatever is lost on the way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from dask_runs import cells, dask, ended, local, on, tables, wait_for_cells
from fairwind import load
from fairwind.engine.engines import Cancelled, Simulation
from fairwind.errors import FairwindError
from fairwind.execution import execute, remote, selection
from fairwind.execution.address import Address, parse_address
from fairwind.execution.cluster import Simulations
from fairwind.execution.execute import RunSettings
from fairwind.execution.packed import pack, unpack
from fairwind.execution.selection import check_workers
from fairwind.execution.storage import Storage
from fairwind.execution.workers import Job
from process import SCENARIO, fairwind

__all__ = ["dask", "local"]  # fixtures

pytest.importorskip("distributed", reason="requires the extra cluster")

SHORT = SCENARIO.replace("12 s", "2 s").replace("repeat = 2", "repeat = 20")
LONGER = SCENARIO.replace("12 s", "60 s").replace("repeat = 2", "repeat = 60")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("local", Address("local")),
        ("dask://10.0.0.1", Address("dask", ("tcp://10.0.0.1:8786",))),
        ("tls://head:1234", Address("dask", ("tls://head:1234",))),
        ("dask://head:1,storage=s3://b/r", Address("dask", ("tcp://head:1",), {}, "s3://b/r")),
        ("ssh:a,b,threads=8", Address("ssh", ("a", "b"), {"threads": "8"})),
        ("slurm:jobs=3,cores=8", Address("slurm", (), {"jobs": "3", "cores": "8"})),
    ],
)
def test_addresses(text, address):
    assert parse_address(text) == address


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("elsewhere", "dask://HOST:PORT"),
        ("dask:head", "no address of a scheduler"),
        ("dask://head,cores=2", "no option 'cores'"),
        ("ssh:", "names no host"),
        ("slurm:short", "'short' is no KEY=VALUE"),
    ],
)
def test_wrong_addresses_are_refused(text, words):
    with pytest.raises(FairwindError, match=words):
        parse_address(text)


def test_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(selection, "find_spec", lambda _name: None)
    with pytest.raises(FairwindError, match=r"(?s)package distributed.*\[cluster\]"):
        check_workers("slurm:jobs=1", Simulation())


def test_classes_of_python_are_refused():
    class Mine:
        def on_ack(self, sender):
            pass

    with pytest.raises(FairwindError, match="runs in this process only"):
        check_workers("dask://head", Simulation({"mine": Mine}))


def test_packed_files_come_back(tmp_path):
    sent, received = tmp_path / "sent", tmp_path / "received"
    sent.mkdir(), received.mkdir()
    for name, content in (("tables.arrows", b"\0tables"), ("sender.pcapng", b"packets" * 999)):
        (sent / name).write_bytes(content)
    packed = pack(sent)
    unpack(packed, received)
    assert {file.name: file.read_bytes() for file in received.iterdir()} == {
        file.name: file.read_bytes() for file in sent.iterdir()
    }
    for cut in range(0, len(packed), 97):
        with pytest.raises(ValueError, match="damaged on the way"):
            unpack(packed[:cut], received)


def test_nobody_at_the_address_is_refused(tmp_path):
    (tmp_path / "scenario.toml").write_text(SHORT)
    code, _, error = fairwind(
        *("run", "scenario.toml", "--workers", "dask://127.0.0.1:9"), cwd=tmp_path
    )
    assert code == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in error


def test_bytes_equal_those_of_one_job(dask, local, tmp_path):
    expected = local(SHORT)
    for _ in range(4):
        dask.start_worker()
    error = ended(on(dask.address, tmp_path), dask)
    assert "4 workers with 4 threads" in error
    assert "dashboard: " in error
    assert tables(tmp_path / "far") == expected


def test_bytes_are_the_same_after_killed_workers(dask, local, tmp_path):
    expected = local(LONGER)
    for _ in range(3):
        dask.start_worker()
    process = on(dask.address, tmp_path)
    killed = 0
    wait_for_cells(tmp_path / "far", 1)
    while process.poll() is None and killed < 8:
        dask.start_worker()
        dask.kill_worker()
        killed += 1
        time.sleep(1)
    ended(process, dask)
    assert killed >= 2
    assert not (tmp_path / "far" / "failures.json").exists()
    assert tables(tmp_path / "far") == expected


def test_bytes_are_the_same_after_killed_scheduler(dask, local, tmp_path):
    expected = local(LONGER)
    for _ in range(2):
        dask.start_worker()
    process = on(dask.address, tmp_path)
    wait_for_cells(tmp_path / "far", 3)
    dask.kill_scheduler()
    time.sleep(1)
    dask.start_scheduler()
    for _ in range(2):
        dask.start_worker()
    error = ended(process, dask)
    assert "lost the scheduler" in error
    assert tables(tmp_path / "far") == expected


def test_killed_client_is_resumed_on_this_machine(dask, local, tmp_path):
    expected = local(LONGER)
    dask.start_worker()
    process = on(dask.address, tmp_path)
    wait_for_cells(tmp_path / "far", 3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = cells(tmp_path / "far")
    assert kept < 120
    code, _, error = fairwind("run", "scenario.toml", "--out", "far", cwd=tmp_path)
    assert code == 0, error
    assert f"{kept} of them resumed" in error
    assert tables(tmp_path / "far") == expected


def test_interrupted_run_is_resumed_on_a_cluster(dask, local, tmp_path):
    expected = local(LONGER)
    dask.start_worker()
    process = on(dask.address, tmp_path)
    wait_for_cells(tmp_path / "far", 3)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=240)
    assert process.returncode == 130, error
    assert "finished and kept" in error
    ended(on(dask.address, tmp_path), dask)
    assert tables(tmp_path / "far") == expected


def test_bytes_are_the_same_whatever_is_killed(dask, local, tmp_path):
    expected = local(LONGER)
    dask.start_worker()
    process = on(dask.address, tmp_path)
    for count, victim in ((3, "worker"), (10, "scheduler"), (20, "worker"), (30, "client")):
        wait_for_cells(tmp_path / "far", count)
        if victim == "worker":
            dask.kill_worker()
        elif victim == "scheduler":
            dask.kill_scheduler()
            dask.start_scheduler()
        else:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            process = on(dask.address, tmp_path)
        dask.start_worker()
    assert "of them resumed" in ended(process, dask)
    assert tables(tmp_path / "far") == expected


def test_results_come_by_storage(dask, local, tmp_path):
    expected = local(SHORT)
    storage = tmp_path / "storage"
    dask.start_worker()
    ended(on(f"{dask.address},storage=file://{storage}", tmp_path), dask)
    assert tables(tmp_path / "far") == expected
    assert [*storage.iterdir()] == []


def test_storage_that_does_not_answer_is_named(tmp_path, monkeypatch):
    storage = Storage(str(tmp_path / "storage"))
    storage.put("one", b"rows")

    def broken(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(storage._files, "cat_file", broken)
    monkeypatch.setattr(storage._files, "rm_file", broken)
    for use in (storage.get, storage.remove):
        with pytest.raises(FairwindError, match=r"cannot use the storage .*storage: Permission"):
            use("one")
    monkeypatch.undo()
    assert storage.get("one") == b"rows"
    storage.remove("one")
    storage.remove("one")
    with pytest.raises(FileNotFoundError):
        storage.get("one")


@pytest.mark.parametrize("is_complete", [False, True])
def test_finished_run_leaves_no_results_in_storage(dask, tmp_path, monkeypatch, is_complete):
    storage = tmp_path / "storage"
    workers = f"{dask.address},storage={storage}"
    dask.start_worker()
    (tmp_path / "scenario.toml").write_text(SHORT)
    scenario = load(tmp_path / "scenario.toml")
    with monkeypatch.context() as patch:
        patch.setattr(Storage, "remove", lambda *_: None)  # as if killed before each removal
        patch.setattr(execute, "tidy_storage", lambda *_: None)
        first = scenario.run(out=tmp_path / "far", workers=workers).groups
    of_others = storage / f"{'0' * 64}.arrows"
    of_others.write_bytes(b"rows of another run")
    assert len([*storage.iterdir()]) == cells(tmp_path / "far") + 1 == 41
    if not is_complete:  # otherwise it was killed before it removed the last one
        shutil.rmtree(min((tmp_path / "far" / "cells").iterdir()))
    assert scenario.run(out=tmp_path / "far", workers=workers).groups.equals(first)
    assert [*storage.iterdir()] == [of_others]


def test_storage_that_cannot_be_tidied_fails_no_run(dask, local, tmp_path, monkeypatch):
    expected = local(SHORT)
    dask.start_worker()
    storage = tmp_path / "storage"

    def broken(*_: object) -> None:
        raise FairwindError("cannot use the storage", "name another one")

    monkeypatch.setattr(execute, "tidy_storage", broken)
    states = []
    settings = RunSettings(None, tmp_path / "far", workers=f"{dask.address},storage={storage}")
    plan = load(tmp_path / "scenario.toml").check()
    execute.run_plan(plan, Simulation(), settings, states.append)
    assert tables(tmp_path / "far") == expected
    assert states[-1].warnings == ("results may be left in the storage: cannot use the storage",)


def test_batch_that_nobody_waits_for_stores_nothing(tmp_path, monkeypatch):
    class Unwanted:
        def __init__(self) -> None:
            self.asked = 0

        def refuse_unwanted(self) -> None:
            self.asked += 1
            if self.asked == 2:  # the client has gone while the simulation ran
                raise Cancelled

        def watched(self, progress):
            return nullcontext(progress)

    (tmp_path / "scenario.toml").write_text(SHORT)
    plan, engine = load(tmp_path / "scenario.toml").check(), Simulation()
    simulations = Simulations(Job(tmp_path, plan, engine))
    storage, scratch = tmp_path / "storage", tmp_path / "scratch"
    scratch.mkdir()
    task = simulations.task(plan.cells[0], 0)
    batch = remote.Batch("sim", simulations.versions, plan.axes, str(storage), (task,))
    with pytest.raises(Cancelled):
        remote._run(engine, batch, task, Unwanted(), scratch)
    assert not storage.exists()


def test_results_left_in_storage_are_not_run_again(dask, local, tmp_path):
    expected = local(SHORT)
    storage = tmp_path / "storage"
    workers = f"{dask.address},storage={storage}"
    dask.start_worker()
    process = on(workers, tmp_path)
    wait_for_cells(tmp_path / "far", 1)
    process.send_signal(signal.SIGSTOP)  # results arrive in the storage, and nobody takes them
    deadline = time.monotonic() + 60
    while not [*storage.glob("*.arrows")]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.communicate()
    ended(on(workers, tmp_path), dask)
    assert tables(tmp_path / "far") == expected
    assert [*storage.iterdir()] == []


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        (
            "from fairwind.engine import engines\n"
            "engines.core_versions = lambda: {'fairwind': '0.0.1', 'core_sha256': 'f' * 64}\n",
            ("has core_sha256 another build (ffffffffff)", "the same wheel of fairwind"),
        ),
        (
            "import errno\nfrom fairwind.execution import remote\n"
            "def full(*_):\n    raise OSError(errno.ENOSPC, 'no room', '/scratch')\n"
            "remote.write_tables = full\n",
            ("the disk is full: /scratch", "--local-directory"),
        ),
        (
            "import sys\nsys.modules['fairwind'] = None\n",
            ("cannot run Fairwind", "install fairwind"),
        ),
        (
            "from fairwind.engine import selection\nfrom fairwind.execution import remote\n"
            "remote.engine_named = lambda _name: selection.engine_named('linux-9.99')\n",
            ("the kernel linux-9.99 is not built", "fairwind kernel build 9.99"),
        ),
    ],
    ids=["version", "disk", "package", "kernel"],
)
@pytest.mark.parametrize("is_late", [False, True], ids=["early", "late"])
def test_unfit_worker_is_refused(dask, tmp_path, patch, words, is_late):
    (tmp_path / "scenario.toml").write_text(SHORT)
    (tmp_path / "patch.py").write_text(patch)
    if not is_late:
        dask.start_worker("--preload", str(tmp_path / "patch.py"))
        dask.wait_for_worker()
    process = on(dask.address, tmp_path)
    if is_late:
        dask.wait_for_client()
        time.sleep(1)  # the client has seen that there is no worker
        dask.start_worker("--preload", str(tmp_path / "patch.py"))
    _, error = process.communicate(timeout=240)
    assert process.returncode == 2, error
    assert "Traceback" not in error
    for word in words:
        assert word in error


def test_failures_are_those_of_one_job(dask, tmp_path):
    failing = tmp_path / "failing.py"
    failing.write_text(
        "from fairwind.engine.engines import Simulation\n"
        "from fairwind.errors import FairwindError\n"
        "def some(self, cell, seed, progress, folder, execute=Simulation.execute):\n"
        "    if cell.index == 1:\n        raise FairwindError('the sea is rough')\n"
        "    return execute(self, cell, seed, progress, folder)\n"
        "Simulation.execute = some\n"
    )
    (tmp_path / "scenario.toml").write_text(SHORT)
    dask.start_worker("--preload", str(failing))
    process = on(dask.address, tmp_path)
    _, error = process.communicate(timeout=240)
    assert process.returncode == 1, error
    assert "FairwindError: the sea is rough" in (tmp_path / "far" / "failures.json").read_text()
    assert cells(tmp_path / "far") == 20


SBATCH = """#!/bin/sh
# Runs a job's script at once, as Slurm would on some machine. The caller removes the script.
cp "$1" "$JOBS.script"
bash "$JOBS.script" > "$JOBS.log" 2>&1 &
echo $! >> "$JOBS"
echo "Submitted batch job $!"
"""


def test_workers_come_from_slurm(local, tmp_path):
    pytest.importorskip("dask_jobqueue", reason="requires dask-jobqueue")
    expected = local(SHORT)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", '#!/bin/sh\npkill -P "$1"\n')):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "fairwind.cli", "run", "scenario.toml", "--out", "far"),
            *("--workers", "slurm:jobs=1,cores=1,memory=1GB,processes=1,interface=lo"),
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ
        | {
            "PYTHONPATH": str(Path(__file__).parents[2] / "python"),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "JOBS": str(tmp_path / "jobs"),
        },
    )
    error = ended(process)
    assert "waiting for workers" in error
    assert tables(tmp_path / "far") == expected
