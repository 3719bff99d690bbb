"""Workers: where the simulations of a run are executed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fairwind.engine.engines import CellProgress, Engine
from fairwind.scenario.plan import Cell, Plan


@dataclass(frozen=True)
class RunningCell:
    """One simulation that is queued or under way.

    Attributes
    ----------
    cell : Cell
        Its point of the grid.
    replicate : int
        Which of the point's simulations it is.
    progress : CellProgress
        How far it is.
    """

    cell: Cell
    replicate: int
    progress: CellProgress


@dataclass(frozen=True)
class Job:
    """What all simulations of a run share.

    Attributes
    ----------
    out : Path
        The run's folder, which gets the results.
    plan : Plan
    engine : Engine
    """

    out: Path
    plan: Plan
    engine: Engine


@dataclass(frozen=True)
class Ended:
    """A simulation that has ended.

    Attributes
    ----------
    work : RunningCell
    error : BaseException or str, optional
        Why it has no result; a text if it happened in another process. None if it is stored.
    """

    work: RunningCell
    error: BaseException | str | None = None


class Workers(Protocol):
    """Executes simulations, and stores each result in the run's folder as soon as it is there.

    One thread calls all methods.

    Attributes
    ----------
    notices : list of str
        What a person wants to know of the workers, the newest last.
    """

    notices: list[str]

    @property
    def jobs(self) -> int:
        """Simulations at once."""

    @property
    def room(self) -> int:
        """How many more simulations are to be queued now."""

    @property
    def pending(self) -> Collection[RunningCell]:
        """Those that are queued or under way; empty when all have ended."""

    def running(self) -> tuple[RunningCell, ...]:
        """Give those under way of which there are figures, the oldest first."""

    def submit(self, works: Sequence[RunningCell], remaining: int) -> None:
        """Queue simulations.

        Parameters
        ----------
        works : sequence of RunningCell
            At most so many as there is room for.
        remaining : int
            How many will follow.
        """

    def wait(self, seconds: float) -> list[Ended]:
        """Give what has ended, at the latest after so many seconds.

        Raises
        ------
        FairwindError
            If workers cannot go on, with what to do about it.
        """
