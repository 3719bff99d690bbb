"""Simulations on a worker of a cluster: what arrives there, and what goes back.

A batch is a function of its content alone: the same scenario and seed give the same bytes on every
worker, so it does not matter which one answers, or how often.
"""

from __future__ import annotations

import errno
import json
import pickle
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairwind.congestion.used import control_versions
from fairwind.engine.core import core_version
from fairwind.engine.engines import Cancelled, CellProgress, Engine
from fairwind.engine.selection import engine_named
from fairwind.engine.virtual import KERNEL_SHA256, machine_obstacle
from fairwind.errors import FairwindError
from fairwind.execution.folder import with_leading_columns
from fairwind.execution.packed import pack
from fairwind.execution.storage import Storage
from fairwind.folder.cell_tables import write_tables
from fairwind.kernels.catalogue import MissingKernelError, cache
from fairwind.kernels.transfer import PackedKernel, install_kernel
from fairwind.scenario.plan import Axis, Cell

OTHER_MACHINES = "start workers on machines that have it"

LOOK_SECONDS = 1.0
"""Period at which a simulation under way looks whether somebody still waits for it."""


@dataclass(frozen=True)
class Task:
    """One simulation.

    Attributes
    ----------
    name : str
        Digest of all that decides its result; the name of the result in the storage.
    index : int
        Of its cell in the grid.
    settings : dict
        The cell's labels, by axis.
    experiment_json : str
    """

    name: str
    index: int
    settings: dict[str, str]
    experiment_json: str
    replicate: int
    seed: int

    @property
    def cell(self) -> Cell:
        """The cell, as engines take it."""
        return Cell(self.index, self.settings, json.loads(self.experiment_json))


@dataclass(frozen=True)
class Batch:
    """Simulations that one worker does one after another.

    Attributes
    ----------
    engine : str
        As `engine_named` takes it.
    versions : mapping of str to str
        What the engine and the congestion controls must be.
    storage : str, optional
        Where results go; back with the answer if None.
    """

    engine: str
    versions: Mapping[str, str]
    axes: tuple[Axis, ...]
    storage: str | None
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Result:
    """What became of one simulation.

    Attributes
    ----------
    files : bytes, optional
        Its files (`packed`); None if they are in the storage, or it failed.
    failure : str, optional
        Why it failed.
    """

    files: bytes | None = None
    failure: str | None = None


@dataclass(frozen=True)
class Unfit:
    """Why a worker cannot run what it is asked for.

    Attributes
    ----------
    message, remedy : str
        What is wrong and where, and what to do about it.
    lacks_kernel : bool
        Whether it would do if it got the kernel.
    """

    message: str
    remedy: str
    lacks_kernel: bool = False


@dataclass(frozen=True)
class Answer:
    """What a worker gives back for a batch.

    Attributes
    ----------
    results : tuple of Result
        In the order of the tasks; none if the batch was cancelled.
    unfit : Unfit, optional
        Why this worker can do none of them.
    worker : str
        Its address, if it is unfit.
    seconds : float
        How long it took.
    """

    results: tuple[Result, ...] = ()
    unfit: Unfit | None = None
    worker: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class _Call:
    """A call that happens where its pickle is loaded."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.function, self.arguments


def packed_call(function: Callable[..., Any], *arguments: Any) -> bytes:  # noqa: ANN401 - of any function
    """Give a call as bytes, for `pickle.loads` on a worker.

    A task that names our functions would end a worker without Fairwind as soon as it reads its
    mail. Of this one it reports the error.
    """
    return pickle.dumps(_Call(function, arguments))


def unfitness_of(engine: str, versions: Mapping[str, str]) -> Unfit | None:
    """Give why this process cannot stand in for the client, and what to do; None if it can.

    It must be of the same version: another one would give other numbers.
    """
    place = f"the worker on {socket.gethostname()}"
    try:
        found = _engine(engine)
        here = found.versions() | found.builds()
        obstacle = found.obstacle()
    except MissingKernelError as error:
        if obstacle := machine_obstacle():
            return Unfit(f"{place}: {obstacle}", OTHER_MACHINES)
        return replace(_unfit(error), lacks_kernel=True)
    except FairwindError as error:
        return _unfit(error)
    if obstacle:
        return Unfit(f"{place}: {obstacle}", OTHER_MACHINES)
    wanted = {name: text for name, text in versions.items() if not _is_control(name)}
    differing = sorted(name for name in wanted if here.get(name) != wanted[name])
    if not differing:
        return None
    first = differing[0]
    there, ours = here.get(first, "nothing"), wanted[first]
    remedy = f"install there what runs here: the same wheel of fairwind {core_version()}"
    if first.endswith("sha256"):
        there, ours = f"another build ({there[:10]})", ours[:10]
    if first == KERNEL_SHA256:
        remedy = f"remove it there: fairwind kernel remove {engine}; this machine sends its own"
    return Unfit(f"{place} has {first} {there} instead of {ours}; results would differ", remedy)


def install(packed: PackedKernel, engine: str, versions: Mapping[str, str]) -> Unfit | None:
    """Take a kernel from the client, and give why this process still cannot stand in for it."""
    try:
        install_kernel(packed)
    except OSError as error:
        return _storage_unfit(error, cache(), "XDG_CACHE_HOME=FOLDER")
    except ValueError as error:
        return Unfit(f"the worker on {socket.gethostname()}: {error}", "look at its network")
    unfit = unfitness_of(engine, versions)
    return None if unfit is None else replace(unfit, lacks_kernel=False)


def _unfit(error: FairwindError) -> Unfit:
    remedy = error.hint or "prepare it as this machine"
    return Unfit(
        f"the worker on {socket.gethostname()}: {error.message}", f"on the worker: {remedy}"
    )


def run_batch(batch: Batch) -> Answer:
    """Run simulations; called by Dask on a thread of the worker."""
    began = time.monotonic()
    unfit = unfitness_of(batch.engine, batch.versions)
    if unfit is not None:
        return _declined(unfit)
    engine = _engine(batch.engine)
    results = []
    try:
        with _Watch() as watch, tempfile.TemporaryDirectory(dir=_scratch()) as folder:
            for task in batch.tasks:
                results.append(_run(engine, batch, task, watch, Path(folder)))
    except Cancelled:
        return Answer()
    except FairwindError as error:
        return _declined(_unfit(error))
    except OSError as error:
        return _declined(_storage_unfit(error, Path(_scratch()), "--local-directory FOLDER"))
    return Answer(tuple(results), seconds=time.monotonic() - began)


def _run(engine: Engine, batch: Batch, task: Task, watch: _Watch, folder: Path) -> Result:
    """Run one simulation, with a folder that it leaves empty."""
    watch.refuse_unwanted()
    cell = task.cell
    _check_controls(batch, cell)
    try:
        with watch.watched(engine.new_progress()) as progress:
            tables = engine.execute(cell, task.seed, progress, folder)
        rows = with_leading_columns(tables, batch.axes, cell, task.replicate, task.seed)
        write_tables(folder, rows)
        files = pack(folder)
    except (Cancelled, OSError):
        raise
    except Exception as error:  # as on threads: this one has failed, others go on
        return Result(failure=f"{type(error).__name__}: {error}")
    finally:
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    if batch.storage is None:
        return Result(files)
    watch.refuse_unwanted()  # nobody would remove it
    _storage(batch.storage).put(task.name, files)
    return Result()


def _check_controls(batch: Batch, cell: Cell) -> None:
    """Refuse a congestion control of one's own that was compiled of another source here."""
    for name, version in control_versions([cell.experiment]).items():
        if batch.versions.get(name) != version:
            raise FairwindError(
                f"the congestion control {name.removeprefix('congestion_')} is another one here",
                "build the same source: fairwind congestion build",
            )


class _Watch:
    """Cancels the simulation under way when Dask does not want the batch any more.

    Dask cannot stop a thread, so a client that is gone would leave its longest simulations behind.
    """

    def __init__(self) -> None:
        from distributed import get_worker

        self._worker = get_worker()
        self._key = self._worker.get_current_task()
        self._progress: CellProgress | None = None
        self._over = threading.Event()

    def __enter__(self) -> _Watch:
        threading.Thread(target=self._look, name="fairwind-watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    @contextmanager
    def watched(self, progress: CellProgress) -> Iterator[CellProgress]:
        """Watch over a simulation while the block lasts."""
        self._progress = progress
        try:
            yield progress
        finally:
            self._progress = None

    def refuse_unwanted(self) -> None:
        """Raise `Cancelled` if Dask does not want the batch any more."""
        if not self._is_wanted():
            raise Cancelled

    def _look(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            progress = self._progress
            if progress is not None and not self._is_wanted():
                progress.cancel()

    def _is_wanted(self) -> bool:
        task = self._worker.state.tasks.get(self._key)
        return task is not None and task.state in ("executing", "long-running", "resumed")


def _scratch() -> str:
    """Give the folder of the worker's own files (`dask worker --local-directory`)."""
    from distributed import get_worker

    return str(get_worker().local_directory)


def _declined(unfit: Unfit) -> Answer:
    from distributed import get_worker

    return Answer(unfit=unfit, worker=get_worker().address)


def _storage_unfit(error: OSError, folder: Path, setting: str) -> Unfit:
    place = f"the worker on {socket.gethostname()}"
    where = error.filename or folder
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unfit(
            f"{place}: the disk is full: {where}",
            f"free some space there, or start workers with {setting} on another disk",
        )
    return Unfit(
        f"{place} cannot use {where}: {error.strerror or error}",
        f"start workers with {setting}, which they can write to",
    )


def _is_control(name: str) -> bool:
    return name.startswith("congestion_")


@lru_cache(maxsize=8)
def _engine(name: str) -> Engine:
    return engine_named(name)


@lru_cache(maxsize=8)
def _storage(url: str) -> Storage:
    return Storage(url)
