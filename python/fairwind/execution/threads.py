"""Workers that are threads of this process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from fairwind.execution.folder import with_leading_columns
from fairwind.execution.workers import Ended, Job, RunningCell
from fairwind.folder.cell_tables import write_tables
from fairwind.folder.store import new_cell

AHEAD = 4
"""So many are queued for each simulation under way: to wait for thousands costs seconds."""


class Threads:
    """Threads, each with one simulation at a time; see `Workers`.

    Parameters
    ----------
    job : Job
    jobs : int
        Number of threads.
    """

    def __init__(self, job: Job, jobs: int) -> None:
        self.notices: list[str] = []
        self._job, self._jobs = job, jobs
        self._pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="fairwind")
        self._pending: dict[Future[None], RunningCell] = {}

    @property
    def jobs(self) -> int:
        """Simulations at once."""
        return self._jobs

    @property
    def room(self) -> int:
        """How many more simulations are to be queued now."""
        return max(0, self._jobs * AHEAD - len(self._pending))

    @property
    def pending(self) -> Collection[RunningCell]:
        """Those that are queued or under way."""
        return self._pending.values()

    def running(self) -> tuple[RunningCell, ...]:
        """Give those under way, the oldest first."""
        return tuple(work for future, work in self._pending.items() if future.running())

    def submit(self, works: Sequence[RunningCell], remaining: int) -> None:
        """Queue simulations."""
        del remaining  # each is a task, however many there are
        for work in works:
            self._pending[self._pool.submit(_run_one, self._job, work)] = work

    def wait(self, seconds: float) -> list[Ended]:
        """Give what has ended, at the latest after so many seconds."""
        done, _ = wait(self._pending, seconds, FIRST_COMPLETED)
        return [Ended(self._pending.pop(future), future.exception()) for future in done]

    def stop(self) -> None:
        """Cancel everything, and wait for its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for work in self._pending.values():
            work.progress.cancel()
        self._pool.shutdown(wait=True)


@contextmanager
def threads(job: Job, jobs: int) -> Iterator[Threads]:
    """Give threads that have ended after the block."""
    workers = Threads(job, jobs)
    try:
        yield workers
    finally:
        workers.stop()


def _run_one(job: Job, work: RunningCell) -> None:
    """Run and store one simulation; called on a thread of the pool."""
    seed = job.plan.seeds[work.replicate]
    with new_cell(job.out, work.cell.index, work.replicate) as folder:
        tables = job.engine.execute(work.cell, seed, work.progress, folder)
        rows = with_leading_columns(tables, job.plan.axes, work.cell, work.replicate, seed)
        write_tables(folder, rows)
