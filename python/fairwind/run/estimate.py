"""Expected duration of a run in real time."""

from __future__ import annotations

from collections.abc import Iterable

from fairwind.quantities import parse_seconds
from fairwind.scenario.plan import Cell, Plan

SET_UP_SECONDS = 1.0
"""About what it takes to set a run's hosts up, and to collect what they have seen."""


def expected_seconds(cells: Iterable[Cell], jobs: int) -> float:
    """Estimate how long runs take in real time.

    Parameters
    ----------
    cells : iterable of Cell
        One for each run; a cell with several replicates several times.
    jobs : int
        Runs at once.
    """
    lengths = [parse_seconds(cell.experiment["duration"]) + SET_UP_SECONDS for cell in cells]
    if not lengths:
        return 0.0
    return max(sum(lengths) / min(jobs, len(lengths)), *lengths)


def plan_seconds(plan: Plan, jobs: int = 1) -> float:
    """Estimate how long all of a plan takes in real time."""
    return expected_seconds((cell for cell in plan.cells for _ in plan.seeds), jobs)


def duration_in_words(seconds: float) -> str:
    """Format a rounded duration."""
    minutes = seconds / 60
    if minutes < 2:
        return f"{seconds:.0f} s"
    if minutes < 120:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.1f} h"
