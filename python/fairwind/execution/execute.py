"""Executing a plan: resume, failures, interruption and a full disk.

Where simulations run, on threads or on the workers of a cluster, is the matter of `workers`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairwind.engine.engines import Engine
from fairwind.errors import ControlClassError, FairwindError, RunInterrupted
from fairwind.execution.address import LOCAL
from fairwind.execution.admission import admit, expected_seconds, one_of, usual_jobs
from fairwind.execution.folder import (
    damaged_cells,
    default_folder,
    finished_cells,
    is_beginning,
    make_folder,
    prepare,
)
from fairwind.execution.merge import merge_tables
from fairwind.execution.selection import check_workers, open_workers, tidy_storage
from fairwind.execution.workers import Ended, Job, RunningCell, Workers
from fairwind.folder.cell_tables import DamagedFileError
from fairwind.folder.manifest import MANIFEST, Failure, Manifest, read_manifest, write_failures
from fairwind.folder.store import cell_folder, locked, storage_errors
from fairwind.results import Results
from fairwind.scenario.plan import Cell, Plan

POLL_SECONDS = 0.2
"""Period of progress reports and of checks for an interruption."""

FIRST_POLL_SECONDS = 0.01
"""The first period, which grows: a short run is seen, too."""


@dataclass(frozen=True)
class RunSettings:
    """Settings of a run that do not influence results.

    Attributes
    ----------
    jobs : int, optional
        Simulations at once. If None: all processors in virtual time; one in real time, since each
        run wants the machine for itself, and others beside it make its router late.
    out : Path, optional
        The run's folder; ``runs/<name>-<fingerprint>`` if None.
    force : bool
        Discard an earlier run of another plan in the folder.
    study : str, optional
        The study that the run belongs to.
    grown_from : Plan, optional
        The plan with fewer seeds that this one adds to: a run of it, or of anything between, is
        taken up, and the default folder is that of this plan.
    workers : str
        Where simulations run: ``local``, or a cluster as `fairwind.execution.address` describes it.
    """

    jobs: int | None = None
    out: Path | None = None
    force: bool = False
    study: str | None = None
    grown_from: Plan | None = None
    workers: str = LOCAL


@dataclass(frozen=True)
class RunState:
    """Progress of a run.

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
    jobs : int
        Simulations at once.
    expected_s : float, optional
        In real time: how long all that was missing when this run began takes; in virtual time None.
    warnings : tuple of str
        What went wrong with stored simulations so far, and what the run does about it.
    running : tuple of RunningCell
        The simulations under way, the oldest first.
    ended : tuple of RunningCell
        Those that have ended since the last report.
    notices : tuple of str
        What is new about the workers so far, such as the address of their dashboard.
    """

    total: int
    finished: int
    resumed: int
    failed: int
    fraction: float
    jobs: int = 1
    expected_s: float | None = None
    warnings: tuple[str, ...] = ()
    running: tuple[RunningCell, ...] = ()
    ended: tuple[RunningCell, ...] = field(default=(), compare=False)
    notices: tuple[str, ...] = ()


@dataclass
class _Execution:
    """The changing state of one run, touched by the calling thread only."""

    out: Path
    plan: Plan
    engine: Engine
    settings: RunSettings
    missing: list[tuple[Cell, int]] = field(default_factory=list)
    workers: Workers | None = None
    stored: int = 0
    failures: list[Failure] = field(default_factory=list)
    submitted: int = 0
    warnings: list[str] = field(default_factory=list)
    ended: list[RunningCell] = field(default_factory=list)

    @property
    def job(self) -> Job:
        """What workers have to know of the run."""
        return Job(self.out, self.plan, self.engine)

    @property
    def jobs(self) -> int:
        """Simulations at once."""
        if self.workers is not None:
            return self.workers.jobs
        return self.settings.jobs or usual_jobs(self.engine)

    @property
    def resumed(self) -> int:
        """Number of simulations that were complete before."""
        return self.plan.runs - len(self.missing)

    def state(self) -> RunState:
        """Report the progress of the run."""
        to_do = len(self.missing)
        done = self.stored + len(self.failures)
        workers = self.workers
        parts = sum(work.progress.fraction for work in workers.pending) if workers else 0.0
        return RunState(
            total=self.plan.runs,
            finished=self.resumed + done,
            resumed=self.resumed,
            failed=len(self.failures),
            fraction=min(1.0, (done + parts) / to_do) if to_do else 1.0,
            jobs=self.jobs,
            expected_s=(
                expected_seconds((cell for cell, _ in self.missing), self.jobs)
                if self.engine.is_real_time
                else None
            ),
            warnings=tuple(self.warnings),
            running=workers.running() if workers else (),
            ended=tuple(self.ended),
            notices=tuple(workers.notices) if workers else (),
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
        If the engine cannot run all of the plan, the folder cannot be used or another run is using
        it, the disk is full, or nothing at all could be run.
    """
    check_workers(settings.workers, engine)
    admit(plan, engine)
    manifest = manifest_of(plan, engine, settings)
    out = folder_of(plan, engine, settings)
    tell = on_progress or (lambda _state: None)
    full = f"{out} could not be written; finished simulations are kept"
    with storage_errors(out, full, "free some space, then run the same command again to continue"):
        make_folder(out)
        with locked(out):
            prepare(out, manifest, force=settings.force, grows=settings.grown_from is not None)
            execution = _Execution(out, plan, engine, settings)
            _execute(execution, tell)
            try:
                _finish(execution)
            except DamagedFileError:
                _finish(_repeat_damaged(execution, tell))
            _tidy_storage(execution, tell)
    return Results(out)


def manifest_of(plan: Plan, engine: Engine, settings: RunSettings) -> Manifest:
    """Describe the run of a plan."""
    return Manifest.of_run(
        plan,
        engine.name,
        engine.versions() | engine.control_versions(cell.experiment for cell in plan.cells),
        columns=engine.columns(),
        facts=engine.facts(),
        study=settings.study,
    )


def folder_of(plan: Plan, engine: Engine, settings: RunSettings) -> Path:
    """Give the folder that the run of a plan is written into."""
    if settings.out is not None:
        return settings.out
    return default_folder(manifest_of(settings.grown_from or plan, engine, settings))


def missing_cells(plan: Plan, engine: Engine, settings: RunSettings) -> list[Cell]:
    """Give the cells of the simulations that the folder of a run does not hold yet.

    Returns
    -------
    list of Cell
        One for each simulation: a cell with several replicates may be there several times.
    """
    out = folder_of(plan, engine, settings)
    if (out / MANIFEST).exists() and _takes_up(out, manifest_of(plan, engine, settings)):
        return [cell for cell, _ in _missing(out, plan)]
    return [cell for cell in plan.cells for _ in plan.seeds]


def _missing(out: Path, plan: Plan) -> Iterator[tuple[Cell, int]]:
    """Find the cells and replicates that a folder does not hold."""
    for cell, replicate in plan.simulations():
        if not cell_folder(out, cell.index, replicate).is_dir():
            yield cell, replicate


def _takes_up(out: Path, manifest: Manifest) -> bool:
    """Return whether a run goes on with what a folder holds, perhaps of fewer seeds."""
    earlier = read_manifest(out)
    return earlier.fingerprint == manifest.fingerprint or is_beginning(earlier, manifest)


def _finish(execution: _Execution) -> None:
    """Write down what failed, and merge the tables of all others."""
    failures = sorted(execution.failures, key=lambda f: (f.cell, f.replicate))
    write_failures(execution.out, failures)
    if len(failures) == execution.plan.runs:
        raise FairwindError(
            f"every {one_of(execution.engine)} failed; the first: {failures[0]}",
            f"remove the cause, then run the same command again; {execution.out}/failures.json "
            "lists all",
        )
    merge_tables(execution.out, execution.plan)


def _tidy_storage(execution: _Execution, tell: Callable[[RunState], None]) -> None:
    """Leave no results of the run in a storage; one that does not answer is only told of."""
    try:
        tidy_storage(execution.settings.workers, execution.job)
    except FairwindError as error:
        execution.warnings.append(f"results may be left in the storage: {error.message}")
        tell(execution.state())


def _repeat_damaged(execution: _Execution, tell: Callable[[RunState], None]) -> _Execution:
    """Remove simulations with files that cannot be decoded, and run them again."""
    again = replace(execution, missing=[], stored=0, failures=[], submitted=0, ended=[])
    for error in damaged_cells(execution.out, execution.plan):
        again.warnings.append(f"{error.message}; this simulation runs again")
        shutil.rmtree(error.file.parent)
    _execute(again, tell)
    return again


def _execute(execution: _Execution, tell: Callable[[RunState], None]) -> None:
    """Run all missing simulations; on any way out, none is left running."""
    execution.missing = list(_missing(execution.out, execution.plan))
    if not execution.missing:
        tell(execution.state())
        return
    settings = execution.settings
    try:
        with open_workers(settings.workers, execution.job, settings.jobs) as workers:
            execution.workers = workers
            _run_missing(execution, workers, tell)
    except KeyboardInterrupt as interrupt:
        raise _interrupted(execution) from interrupt


def _run_missing(execution: _Execution, workers: Workers, tell: Callable[[RunState], None]) -> None:
    """Keep workers busy until all missing simulations have ended."""
    tell(execution.state())  # before anything runs: it tells how long that takes
    poll_s = FIRST_POLL_SECONDS
    _submit(execution, workers)
    while workers.pending:
        tell(execution.state())
        execution.ended.clear()
        for ended in workers.wait(poll_s):
            _collect(execution, ended)
        poll_s = min(2 * poll_s, POLL_SECONDS)
        _submit(execution, workers)
    tell(execution.state())


def _submit(execution: _Execution, workers: Workers) -> None:
    """Queue so many simulations that no worker has to wait for the next."""
    begin = execution.submitted
    next_ones = execution.missing[begin : begin + workers.room]
    if not next_ones:
        return
    execution.submitted += len(next_ones)
    progress = execution.engine.new_progress
    works = [RunningCell(cell, replicate, progress()) for cell, replicate in next_ones]
    workers.submit(works, len(execution.missing) - execution.submitted)


def _collect(execution: _Execution, ended: Ended) -> None:
    """Take note of one finished simulation; storage errors end the run, others do not.

    Polars raises an interruption of the process in whatever thread is using it, so an interrupted
    worker means that the person wants the run to stop.
    """
    work, error = ended.work, ended.error
    execution.ended.append(work)
    if error is None:
        execution.stored += 1
    elif isinstance(error, (OSError, KeyboardInterrupt, ControlClassError)):
        raise error
    else:
        seed = execution.plan.seeds[work.replicate]
        message = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        execution.failures.append(
            Failure(work.cell.index, work.replicate, seed, work.cell.settings, message)
        )


def _interrupted(execution: _Execution) -> RunInterrupted:
    kept = len(finished_cells(execution.out, execution.plan))
    each = one_of(execution.engine)
    return RunInterrupted(
        f"interrupted: {kept} of {execution.plan.runs} {each}s are finished and kept "
        f"in {execution.out}",
        "run the same command again to continue",
    )
