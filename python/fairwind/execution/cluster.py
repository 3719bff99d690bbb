"""Workers of a Dask cluster.

Dask runs a task again whose worker is lost. What is done here is for losses beyond that: a
scheduler that is started again knows nothing of earlier tasks, and Dask gives up on a task whose
worker died several times. Results are taken by the future that was last submitted for a simulation,
so one that comes back late counts for nothing.
"""

from __future__ import annotations

import json
import pickle
import queue
import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Any

from distributed import Client, Future, KilledWorker

from fairwind.engine.core import core_version
from fairwind.engine.engines import Engine
from fairwind.errors import FairwindError
from fairwind.execution.address import Address
from fairwind.execution.admission import one_of
from fairwind.execution.deploy import quiet, started
from fairwind.execution.packed import unpack
from fairwind.execution.remote import (
    Answer,
    Batch,
    Task,
    Unfit,
    install,
    packed_call,
    run_batch,
    unfitness_of,
)
from fairwind.execution.storage import Storage
from fairwind.execution.workers import Ended, Job, RunningCell
from fairwind.folder.store import new_cell
from fairwind.kernels.transfer import PackedKernel
from fairwind.quantities import counted
from fairwind.scenario.plan import Cell

BATCH_SECONDS = 0.5
"""Short simulations share a task of about this length, which costs Dask a millisecond or two."""

LARGEST_BATCH = 64
BATCH_BYTES = 1 << 24
"""Results of one task, at most; those of a simulation may be larger."""

TASKS_AHEAD = 3
"""Tasks that are queued or under way, for each thread of the cluster."""

TASKS_AT_ONCE = 16
"""Tasks of one message to the scheduler; with thousands of experiments it would be large."""

WRITERS = 4
"""Results that the client writes at once."""

MOST_DEATHS = 5
"""So often a simulation may bring Dask to give up on it; each means several lost workers."""

CONNECTION_ERRORS = (OSError, TimeoutError, RuntimeError, CancelledError)
"""What Dask raises when scheduler or worker are gone."""

CLOSE_SECONDS = 2
CONNECT_SECONDS = 10
RECONNECT_SECONDS = 600.0
"""How long a lost scheduler is waited for."""

COUNT_SECONDS = 2.0
"""Period at which the cluster's threads are counted."""

KERNEL = "kernel"
"""The resource of workers on which ``--on kernel`` may run."""


@contextmanager
def cluster(address: Address, job: Job, jobs: int | None) -> Iterator[Cluster]:
    """Give the workers of a cluster; after the block nothing of ours runs there.

    Raises
    ------
    FairwindError
        If there is no scheduler, or a worker is of another version.
    """
    with quiet(), started(address) as scheduler:
        workers = Cluster(scheduler, job, jobs, address.storage)
        try:
            yield workers
        finally:
            workers.stop()


class Simulations:
    """The simulations of a run, as workers take them.

    Attributes
    ----------
    engine : str
        As `engine_named` takes it elsewhere.
    versions : dict of str to str
        What the engine and the congestion controls must be.
    """

    def __init__(self, job: Job) -> None:
        engine, experiments = job.engine, (cell.experiment for cell in job.plan.cells)
        self.engine = engine.name_elsewhere() or engine.name
        self.versions = engine.versions() | engine.builds() | engine.control_versions(experiments)
        facts = [self.versions, [[axis.column, axis.is_numeric] for axis in job.plan.axes]]
        self._digest = sha256(json.dumps([self.engine, *facts], sort_keys=True).encode())
        self._plan = job.plan

    def task(self, cell: Cell, replicate: int) -> Task:
        """Give one of them, with the name of its result in a storage."""
        seed = self._plan.seeds[replicate]
        digest = self._digest.copy()
        facts = [cell.index, replicate, seed, cell.settings]
        digest.update((json.dumps(facts) + cell.experiment_json).encode())
        name = digest.hexdigest()
        return Task(name, cell.index, cell.settings, cell.experiment_json, replicate, seed)


def tidy(url: str, job: Job) -> None:
    """Remove the results of a finished run from a storage.

    They are those that a client had asked for, stored in the run's folder and not removed, because
    it was killed in between, and those of workers that ended after it.

    Raises
    ------
    FairwindError
        If the storage does not answer.
    """
    storage = Storage(url)
    if there := storage.names():
        simulations = Simulations(job)
        ours = {simulations.task(*one).name for one in job.plan.simulations()}
        for name in there & ours:
            storage.remove(name)


class Cluster:
    """Workers behind a Dask scheduler; see `Workers`.

    Parameters
    ----------
    scheduler : str
        Its address.
    jobs : int, optional
        Tasks at once, at most.
    storage : str, optional
        URL of the folder that workers leave results in.
    """

    def __init__(self, scheduler: str, job: Job, jobs: int | None, storage: str | None) -> None:
        self.notices: list[str] = []
        self._scheduler, self._job, self._most = scheduler, job, jobs
        self._simulations = Simulations(job)
        self._engine, self._versions = self._simulations.engine, self._simulations.versions
        self._url = storage
        self._storage = None if storage is None else Storage(storage)
        self._there = self._storage.names() if self._storage else set()
        self._tasks: dict[str, _Sent] = {}
        self._waiting: list[list[RunningCell]] = []
        self._stored: list[RunningCell] = []
        self._deaths: Counter[tuple[int, int]] = Counter()
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._pace = _Pace()
        self._writers = ThreadPoolExecutor(WRITERS, "fairwind-writer")
        self._threads, self._counted = 0, float("-inf")
        self._lost_at: float | None = None
        self._client: Any = self._connected(CONNECT_SECONDS)

    @property
    def jobs(self) -> int:
        """Simulations at once: threads of the cluster, or kernels that may be used; at least 1."""
        engine = self._job.engine
        if (now := time.monotonic()) - self._counted >= COUNT_SECONDS and not self._is_lost:
            self._counted = now
            self._threads = _capacity(self._client.scheduler_info(n_workers=-1), engine)
        return max(1, min(self._threads, self._most or self._threads))

    @property
    def room(self) -> int:
        """How many more simulations are to be queued now."""
        if self._is_lost or self._waiting:
            return 0
        most = self._most or self.jobs * TASKS_AHEAD
        return max(0, most - len(self._tasks)) * self._pace.batch

    @property
    def pending(self) -> Collection[RunningCell]:
        """Those that are queued or under way."""
        sent = (task.works for task in self._tasks.values())
        return [*chain(*sent, *self._waiting, self._stored)]

    def running(self) -> tuple[RunningCell, ...]:
        """Give none: figures of simulations under way stay on their workers."""
        return ()

    def submit(self, works: Sequence[RunningCell], remaining: int) -> None:
        """Queue simulations; those that the storage has from an earlier run are only fetched."""
        new: list[RunningCell] = []
        for work in works:
            is_there = bool(self._there) and self._task(work).name in self._there
            (self._stored if is_there else new).append(work)
        size = self._pace.batch_for(len(works) + remaining, self.jobs)
        self._send([new[start : start + size] for start in range(0, len(new), size)])

    def wait(self, seconds: float) -> list[Ended]:
        """Give what has ended, at the latest after so many seconds."""
        if self._is_lost:
            self._reconnect(seconds)
            return []
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._send(waiting)
        if self._stored:
            return self._fetch()
        return [one for sent in self._next(seconds) for one in self._take(sent)]

    def stop(self) -> None:
        """Cancel everything; what workers finish afterwards goes nowhere."""
        try:
            self._drop_client()
        finally:
            self._writers.shutdown()
        self._waiting.clear()
        self._stored.clear()

    @property
    def _is_lost(self) -> bool:
        """Whether nobody answers where the scheduler was."""
        return self._client is None or self._client.status != "running"

    def _task(self, work: RunningCell) -> Task:
        return self._simulations.task(work.cell, work.replicate)

    def _send(self, batches: Sequence[list[RunningCell]]) -> None:
        """Give batches to the scheduler; they wait if it is lost."""
        axes, versions = self._job.plan.axes, self._versions
        for start in range(0, len(batches), TASKS_AT_ONCE):
            some = batches[start : start + TASKS_AT_ONCE]
            keys = [f"fairwind-{uuid.uuid4().hex}" for _ in some]
            batches_of = (tuple(map(self._task, works)) for works in some)
            calls = [
                packed_call(run_batch, Batch(self._engine, versions, axes, self._url, tasks))
                for tasks in batches_of
            ]
            resources = {KERNEL: 1} if self._job.engine.is_real_time else None
            try:
                futures = self._client.map(
                    pickle.loads, calls, key=keys, pure=False, resources=resources
                )
            except CONNECTION_ERRORS:
                self._waiting += batches[start:]
                self._drop_client()
                return
            for key, future, works in zip(keys, futures, some, strict=True):
                self._tasks[key] = _Sent(future, works)
                future.add_done_callback(self._ended.put)

    def _next(self, seconds: float) -> list[_Sent]:
        """Give tasks that have ended, at the latest after so many seconds."""
        ended = []
        try:
            ended.append(self._ended.get(timeout=seconds))
            while len(ended) < TASKS_AT_ONCE:
                ended.append(self._ended.get_nowait())
        except queue.Empty:
            pass
        # What a future of an earlier connection gives has been asked for again.
        sent = [task for future in ended if (task := self._tasks.get(future.key)) is not None]
        return [task for task in sent if not self._is_lost]

    def _take(self, sent: _Sent) -> list[Ended]:
        """Store the results of a task, or ask for them again."""
        future, works = sent.future, sent.works
        if future.status == "error":
            self._tasks.pop(future.key)
            return self._on_error(future.exception(), works)
        try:
            answer: Answer = future.result()
        except KilledWorker as error:  # the second time, after its result was lost
            self._tasks.pop(future.key)
            return self._on_error(error, works)
        except CONNECTION_ERRORS:  # its worker died just now, or the scheduler
            if not self._is_lost:
                self._tasks.pop(future.key)
                self._waiting.append(works)
            return []
        self._tasks.pop(future.key)
        if answer.unfit is not None:
            self._equip_late(answer.worker, answer.unfit)
        if not answer.results:
            self._waiting.append(works)
            return []
        self._pace.note(answer)
        ended, arrived = [], []
        for work, result in zip(works, answer.results, strict=True):
            if result.failure is not None:
                ended.append(Ended(work, result.failure))
            elif result.files is None:
                self._stored.append(work)
            else:
                arrived.append((work, result.files))
        # Each waits for the disk after every file and once more, so several are written at once.
        ended += self._writers.map(lambda one: self._store(*one), arrived)
        return [*ended, *self._fetch()]

    def _store(self, work: RunningCell, files: bytes) -> Ended:
        with new_cell(self._job.out, work.cell.index, work.replicate) as folder:
            unpack(files, folder)
        return Ended(work)

    def _fetch(self) -> list[Ended]:
        """Take results out of the storage; what is damaged or gone is run again."""
        ended: list[Ended] = []
        stored, self._stored = self._stored, []
        if self._storage is None:
            return ended
        for work in stored:
            name = self._task(work).name
            self._there.discard(name)
            try:
                ended.append(self._store(work, self._storage.get(name)))
            except (FileNotFoundError, ValueError):
                self._waiting.append([work])
                continue
            self._storage.remove(name)
        return ended

    def _on_error(self, error: BaseException, works: list[RunningCell]) -> list[Ended]:
        """Try each simulation alone when Dask has given up on a task, but not for ever."""
        if not isinstance(error, KilledWorker):
            raise _refused(
                f"a worker cannot run Fairwind: {type(error).__name__}: {error}",
                f"install fairwind {core_version()} on every worker",
            )
        ended = []
        for work in works:
            place = (work.cell.index, work.replicate)
            self._deaths[place] += 1
            if self._deaths[place] < MOST_DEATHS:
                self._waiting.append([work])
            else:
                ended.append(Ended(work, f"workers died of it again and again: {error}"))
        return ended

    def _drop_client(self) -> None:
        """Leave the scheduler; what it was asked for is to be asked for again."""
        self._waiting += [task.works for task in self._tasks.values()]
        self._tasks.clear()
        client, self._client = self._client, None
        if client is None:
            return
        with suppress(*CONNECTION_ERRORS):
            client.close(timeout=CLOSE_SECONDS)

    def _reconnect(self, seconds: float) -> None:
        """Look once whether the scheduler is there again."""
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
            self.notices.append(f"lost the scheduler at {self._scheduler}; waiting for it")
            self._drop_client()
        if now - self._lost_at > RECONNECT_SECONDS:
            raise FairwindError(
                f"the scheduler at {self._scheduler} has not come back",
                "start it, or choose other workers, then run the same command again: finished "
                f"{one_of(self._job.engine)}s are kept",
            )
        try:
            self._client = self._connected(max(seconds, 1.0))
        except NoSchedulerError:
            time.sleep(seconds)
            return
        self._lost_at, self._counted = None, float("-inf")

    def _connected(self, seconds: float) -> Client:
        """Connect with the scheduler, and check the workers that are there."""
        try:
            client = Client(self._scheduler, timeout=seconds, set_as_default=False, name="fairwind")
        except (OSError, TimeoutError, ValueError) as error:
            raise NoSchedulerError(
                f"no Dask scheduler answers at {self._scheduler}",
                "start it with `dask scheduler`, or correct the address",
            ) from error
        try:
            self._check(client)
        except CONNECTION_ERRORS as error:
            client.close(timeout=CLOSE_SECONDS)
            raise NoSchedulerError(
                f"the Dask scheduler at {self._scheduler} is gone again: {error}",
                "look at its log",
            ) from error
        except BaseException:
            client.close(timeout=CLOSE_SECONDS)
            raise
        return client

    def _check(self, client: Client) -> None:
        """Refuse workers that would give other results, and report those that are there."""
        found = client.run(unfitness_of, self._engine, self._versions, on_error="return")
        lacking = [one for one, unfit in found.items() if _lacks_kernel(unfit)]
        if lacking and (packed := self._job.engine.packed()):
            found |= self._equip(client, lacking, packed)
        _refuse_unfit(found)
        scheduler = client.scheduler_info(n_workers=-1)
        workers = scheduler["workers"]
        if workers and not _capacity(scheduler, self._job.engine):
            raise FairwindError(
                "no worker says that runs may use its kernel",
                f"start workers that may with `dask worker --resources {KERNEL}=1`",
            )
        threads = sum(one["nthreads"] for one in workers.values())
        there = f"{counted(len(workers), 'worker')} with {counted(threads, 'thread')}"
        has_page = "dashboard" in scheduler["services"]
        page = client.dashboard_link if has_page else "none (the scheduler lacks bokeh)"
        self.notices.append(f"{there} at {self._scheduler}; dashboard: {page}")
        if not workers:
            self.notices.append("waiting for workers")

    def _equip(self, client: Client, workers: list[str], packed: PackedKernel) -> dict[str, Any]:
        """Send the kernel to workers, and give why each still cannot run; None if it can."""
        arguments = (packed, self._engine, self._versions)
        found: dict[str, Any] = client.run(install, *arguments, workers=workers, on_error="return")
        size, receivers = f"{packed.size / 2**20:.1f} MiB", counted(len(workers), "worker")
        self.notices.append(f"sent {self._job.engine.name} ({size}) to {receivers}")
        return found

    def _equip_late(self, worker: str, unfit: Unfit) -> None:
        """Send the kernel to a worker that has come later, or refuse it."""
        packed = self._job.engine.packed() if unfit.lacks_kernel else None
        if packed is None:
            raise _refused(unfit.message, unfit.remedy)
        with suppress(*CONNECTION_ERRORS):
            _refuse_unfit(self._equip(self._client, [worker], packed))


class NoSchedulerError(FairwindError):
    """Nobody answers where a scheduler should be."""


@dataclass(frozen=True)
class _Sent:
    """A task that the scheduler knows."""

    future: Future
    works: list[RunningCell]


@dataclass
class _Pace:
    """How long simulations take, and how large their results are."""

    seconds: float = BATCH_SECONDS
    size: float = 0.0

    def note(self, answer: Answer) -> None:
        """Take note of a batch; each counts for a quarter, whatever came before."""
        count = len(answer.results)
        size = sum(len(one.files or b"") for one in answer.results)
        self.seconds += (answer.seconds / count - self.seconds) / 4
        self.size += (size / count - self.size) / 4

    @property
    def batch(self) -> int:
        """Simulations of one task."""
        by_time = BATCH_SECONDS / max(self.seconds, 1e-6)
        by_size = BATCH_BYTES / max(self.size, 1.0)
        return max(1, min(LARGEST_BATCH, int(min(by_time, by_size))))

    def batch_for(self, remaining: int, jobs: int) -> int:
        """Give the size of tasks of which all workers have some up to the end."""
        return max(1, min(self.batch, remaining // (2 * jobs)))


def _capacity(scheduler: Mapping[str, Any], engine: Engine) -> int:
    """Give how many simulations can be under way at once."""
    workers = scheduler["workers"].values()
    if engine.is_real_time:
        return sum(int(one["resources"].get(KERNEL, 0)) for one in workers)
    return sum(one["nthreads"] for one in workers)


def _lacks_kernel(unfit: object) -> bool:
    return isinstance(unfit, Unfit) and unfit.lacks_kernel


def _refuse_unfit(found: Mapping[str, object]) -> None:
    """Raise the first reason that workers, by their addresses, give against themselves."""
    for worker, unfit in found.items():
        if isinstance(unfit, OSError):
            continue  # it has just gone
        if isinstance(unfit, BaseException):
            raise _refused(
                f"the worker {worker} cannot run Fairwind: {unfit}",
                f"install fairwind {core_version()} there",
            )
        if isinstance(unfit, Unfit):
            raise _refused(unfit.message, unfit.remedy)


def _refused(message: str, hint: str) -> FairwindError:
    return FairwindError(message, f"{hint}; then run the same command again, it goes on from here")
