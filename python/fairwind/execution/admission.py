"""Admission of a plan by an engine, checked for every cell before a run, and its duration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from fairwind.engine.engines import Engine, Refusal
from fairwind.errors import FairwindError
from fairwind.quantities import parse_seconds
from fairwind.scenario.plan import Cell, Plan

MOST_CELLS = 3
"""So many cells are named of those that share a refusal."""


def admit(plan: Plan, engine: Engine) -> None:
    """Refuse a plan that an engine cannot run as it stands, with everything that stands against it.

    Raises
    ------
    FairwindError
        If this machine lacks what the engine needs, or a cell asks for what it cannot do.
    """
    if obstacle := engine.obstacle():
        raise FairwindError(obstacle, "or run in virtual time with --on sim")
    refused = refusals(plan, engine)
    if refused:
        lines = [f"  {text}{_where(cells, plan)}" for text, cells in _once(refused)]
        raise FairwindError(
            "\n".join(
                [
                    f"{_engine_in_words(engine)} does not support all settings of this scenario:",
                    *lines,
                ]
            ),
            "change these keys, or run in virtual time with --on sim",
        )


def refusals(plan: Plan, engine: Engine) -> Mapping[Refusal, Sequence[Cell]]:
    """Give what an engine refuses, each with the cells that ask for it."""
    engine.expect(plan.cells)
    found: dict[Refusal, list[Cell]] = {}
    for cell in plan.cells:
        for refusal in engine.refusals(cell):
            found.setdefault(refusal, []).append(cell)
    return found


def remarks(plan: Plan, engine: Engine) -> list[str]:
    """Give what an engine does a little differently from what the plan says, each once."""
    every = (line for cell in plan.cells for line in engine.remarks(cell))
    return list(dict.fromkeys(every))


def _once(refused: Mapping[Refusal, Sequence[Cell]]) -> Iterator[tuple[str, Sequence[Cell]]]:
    """Write refusals, in one line what several groups are refused in the same words."""
    alike: dict[tuple[str, tuple[int, ...]], list[Refusal]] = {}
    for refusal, cells in refused.items():
        key = refusal.key.removeprefix(f"flows.{refusal.group}.")
        words = str(replace(refusal, group="", key=key))
        alike.setdefault((words, tuple(cell.index for cell in cells)), []).append(refusal)
    for those in alike.values():
        keys = ", ".join(refusal.key for refusal in those)
        yield str(replace(those[0], key=keys)), refused[those[0]]


def _engine_in_words(engine: Engine) -> str:
    release = engine.versions().get("kernel")
    return f"the kernel {release}" if release else f"the engine {engine.name}"


def _where(cells: Sequence[Cell], plan: Plan) -> str:
    if len(cells) == len(plan.cells):
        return ""
    named = [
        ", ".join(f"{name} = {label}" for name, label in cell.settings.items())
        for cell in cells[:MOST_CELLS]
    ]
    more = len(cells) - len(named)
    return f" (where {'; '.join(named)}{f', and in {more} more cells' if more else ''})"


SET_UP_SECONDS = 1.0
"""About what it takes to set a run's hosts up, and to collect what they have seen."""


def usual_jobs(engine: Engine) -> int:
    """Give how many run at once where nobody says: all processors, but one in real time."""
    return 1 if engine.is_real_time else os.cpu_count() or 1


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


def one_of(engine: Engine) -> str:
    """Name what an engine does once for each cell and seed."""
    return "run" if engine.is_real_time else "simulation"
