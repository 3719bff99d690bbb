"""Executing a plan on several threads: resume, failures, interruption and a full disk."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from fairwind.engine import CellProgress, Engine
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.folder.lock import LOCK, locked
from fairwind.folder.manifest import MANIFEST, Failure, Manifest, read_manifest, write_failures
from fairwind.folder.store import (
    CELLS,
    TEMPORARY,
    cell_folder,
    new_cell,
    remove_unfinished,
    write_tables,
)
from fairwind.results import Results
from fairwind.run.merge import merge_tables, with_leading_columns
from fairwind.scenario.plan import Cell, Plan

POLL_SECONDS = 0.2
"""How often progress is told and an interruption is noticed."""


@dataclass(frozen=True)
class RunSettings:
    """How a plan is run; nothing of it has an influence on the results.

    Attributes
    ----------
    jobs : int, optional
        Simulations at once; all processors if None.
    out : Path, optional
        The run's folder; ``runs/<name>-<fingerprint>`` if None.
    force : bool
        Discard an earlier run of another plan in the folder.
    study : str, optional
        The study that the run belongs to.
    """

    jobs: int | None = None
    out: Path | None = None
    force: bool = False
    study: str | None = None


@dataclass(frozen=True)
class RunState:
    """How far a run has come.

    Attributes
    ----------
    total : int
        Simulations that the plan asks for.
    finished : int
        How many of them are stored, or have failed.
    resumed : int
        How many were there already when this run began.
    failed : int
        How many have failed.
    fraction : float
        Share of the work that this run had to do, 0 to 1, parts of simulations included.
    """

    total: int
    finished: int
    resumed: int
    failed: int
    fraction: float


@dataclass
class _Work:
    """One simulation that is queued or under way."""

    cell: Cell
    replicate: int
    progress: CellProgress


@dataclass
class _Execution:
    """The changing state of one run, touched by the calling thread only."""

    out: Path
    plan: Plan
    engine: Engine
    resumed: int = 0
    stored: int = 0
    failures: list[Failure] = field(default_factory=list)
    pending: dict[Future[None], _Work] = field(default_factory=dict)

    def state(self) -> RunState:
        """Tell how far the run has come."""
        to_do = self.plan.runs - self.resumed
        done = self.stored + len(self.failures)
        parts = sum(work.progress.fraction for work in self.pending.values())
        return RunState(
            total=self.plan.runs,
            finished=self.resumed + done,
            resumed=self.resumed,
            failed=len(self.failures),
            fraction=min(1.0, (done + parts) / to_do) if to_do else 1.0,
        )


def run_plan(
    plan: Plan,
    engine: Engine,
    settings: RunSettings,
    on_progress: Callable[[RunState], None] | None = None,
) -> Results:
    """Run what a folder does not hold yet of a plan, and merge the tables.

    Raises
    ------
    RunInterrupted
        After an interruption (Ctrl-C); finished simulations are kept.
    FairwindError
        If the folder cannot be used or another run is using it, the disk is full, or nothing at
        all could be run.
    """
    manifest = Manifest.of_run(
        plan,
        engine.name,
        engine.versions(),
        columns=engine.columns(),
        study=settings.study,
    )
    out = settings.out or default_folder(manifest)
    tell = on_progress or (lambda _state: None)
    try:
        _make_folder(out)
        with locked(out):
            _prepare(out, manifest, force=settings.force)
            execution = _Execution(out, plan, engine)
            _execute(execution, settings.jobs or os.cpu_count() or 1, tell)
            _finish(execution)
    except OSError as error:
        raise _storage_error(out, error) from error
    return Results(out)


def _finish(execution: _Execution) -> None:
    """Write down what failed, and merge the tables of all others."""
    failures = sorted(execution.failures, key=lambda f: (f.cell, f.replicate))
    write_failures(execution.out, failures)
    if len(failures) == execution.plan.runs:
        raise FairwindError(f"every simulation failed; the first: {failures[0]}")
    merge_tables(execution.out, execution.plan)


def default_folder(manifest: Manifest) -> Path:
    """Folder of a run that names none: the same scenario comes back to the same one."""
    name = re.sub(r"[^0-9a-z]+", "-", manifest.plan.name.lower()).strip("-")[:60] or "run"
    return Path("runs") / f"{name}-{manifest.fingerprint[:10]}"


def _make_folder(out: Path) -> None:
    """Make the folder, or refuse one that is none of ours before anything is written to it."""
    if out.exists() and not out.is_dir():
        raise FairwindError(f"{out} is a file", "name a folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    foreign = (
        path.name
        for path in out.iterdir()
        if path.name != LOCK and not path.name.startswith(TEMPORARY)
    )
    if not (out / MANIFEST).exists() and any(foreign):
        raise FairwindError(
            f"{out} is not empty, and what it holds is not a run of Fairwind",
            "name another folder with --out",
        )


def _prepare(out: Path, manifest: Manifest, *, force: bool) -> None:
    """Make an earlier run ready to go on, or the folder ready for a new one."""
    if (out / MANIFEST).exists():
        if read_manifest(out).fingerprint == manifest.fingerprint:
            remove_unfinished(out)
            (out / CELLS).mkdir(exist_ok=True)
            return
        if not force:
            raise FairwindError(
                f"{out} holds a run of another scenario, other settings or another version",
                "name another folder with --out, or discard that run with --force",
            )
        _discard(out)
    manifest.write(out)
    (out / CELLS).mkdir(exist_ok=True)


def _discard(out: Path) -> None:
    """Remove what Fairwind wrote into a folder, and nothing else."""
    (out / MANIFEST).rename(out / f".tmp-{MANIFEST}")
    for folder in (CELLS, "figures"):
        shutil.rmtree(out / folder, ignore_errors=True)
    for file in [*out.glob("*.parquet"), out / "failures.json", out / "report.html"]:
        file.unlink(missing_ok=True)
    remove_unfinished(out)


def _execute(execution: _Execution, jobs: int, tell: Callable[[RunState], None]) -> None:
    """Run all missing simulations; on any way out, none is left running."""
    pool = ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="fairwind")
    try:
        _submit(execution, pool)
        tell(execution.state())
        while execution.pending:
            done, _ = wait(execution.pending, POLL_SECONDS, FIRST_COMPLETED)
            for future in done:
                _collect(execution, future)
            tell(execution.state())
    except KeyboardInterrupt as interrupt:
        _stop(execution, pool)
        raise _interrupted(execution) from interrupt
    except BaseException:
        _stop(execution, pool)
        raise
    pool.shutdown()


def _submit(execution: _Execution, pool: ThreadPoolExecutor) -> None:
    for cell in execution.plan.cells:
        for replicate in range(len(execution.plan.seeds)):
            if cell_folder(execution.out, cell.index, replicate).is_dir():
                execution.resumed += 1
                continue
            work = _Work(cell, replicate, execution.engine.new_progress())
            future = pool.submit(_run_one, execution.out, execution.plan, execution.engine, work)
            execution.pending[future] = work


def _run_one(out: Path, plan: Plan, engine: Engine, work: _Work) -> None:
    """Run and store one simulation; called on a worker thread."""
    seed = plan.seeds[work.replicate]
    with new_cell(out, work.cell.index, work.replicate) as folder:
        tables = engine.execute(work.cell.experiment_json, seed, work.progress, folder)
        write_tables(folder, with_leading_columns(tables, plan, work.cell, work.replicate))


def _collect(execution: _Execution, future: Future[None]) -> None:
    """Take note of one finished simulation; storage errors end the run, others do not.

    Polars raises an interruption of the process in whatever thread is using it, so an interrupted
    worker means that the person wants the run to stop.
    """
    work = execution.pending.pop(future)
    error = future.exception()
    if error is None:
        execution.stored += 1
    elif isinstance(error, (OSError, KeyboardInterrupt)):
        raise error
    else:
        seed = execution.plan.seeds[work.replicate]
        message = f"{type(error).__name__}: {error}"
        execution.failures.append(
            Failure(work.cell.index, work.replicate, seed, work.cell.settings, message)
        )


def _stop(execution: _Execution, pool: ThreadPoolExecutor) -> None:
    """Cancel everything that is queued or under way, and wait for it to end."""
    pool.shutdown(wait=False, cancel_futures=True)
    for work in execution.pending.values():
        work.progress.cancel()
    pool.shutdown(wait=True)
    for future in execution.pending:
        if not future.cancelled() and future.exception() is None:
            execution.stored += 1


def _interrupted(execution: _Execution) -> RunInterrupted:
    kept = execution.resumed + execution.stored
    return RunInterrupted(
        f"interrupted: {kept} of {execution.plan.runs} simulations are finished and kept "
        f"in {execution.out}",
        "the same command goes on where this one stopped",
    )


def _storage_error(out: Path, error: OSError) -> FairwindError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FairwindError(
            f"the disk is full: {out} could not be written; what was finished before is kept",
            "free some space, and the same command goes on where this one stopped",
        )
    reason = error.strerror or str(error)
    return FairwindError(f"cannot use {error.filename or out}: {reason}", "choose another --out")
