"""The command `check`, and the question before a run that takes much."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from fairwind.cli.completion import complete_engine
from fairwind.cli.output import Format, OutputFormat, line_width, log, print_json, print_rows
from fairwind.cli.scenarios import ScenarioArgument, chosen_scenario
from fairwind.cli.settings import Settings
from fairwind.engine.engines import Engine
from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.execution.admission import (
    admit,
    expected_seconds,
    one_of,
    plan_seconds,
    remarks,
    usual_jobs,
)
from fairwind.preview.cost import Estimate, available_memory_bytes, estimate
from fairwind.preview.description import Line, describe
from fairwind.preview.traps import traps
from fairwind.quantities import count_in_words, size_in_words, time_in_words
from fairwind.scenario import Plan
from fairwind.scenario.plan import Cell

if TYPE_CHECKING:
    from fairwind.execution.execute import RunSettings

MOST_BYTES = 4e9
MOST_SHARE = 0.5
MOST_SECONDS = 12 * 3600.0
"""A run asks before it takes more memory than this, or this share of what is available, or more
time."""

On = Annotated[
    str,
    typer.Option(
        help="Engine: sim, kernel, or a built kernel (`fairwind kernel list`).",
        autocompletion=complete_engine,
    ),
]
CellNumber = Annotated[
    int | None,
    typer.Option("--cell", min=0, help="Describe this cell of the grid only, from 0."),
]


def check(
    scenario: ScenarioArgument,
    *,
    on: On = "sim",
    settings: Settings = None,
    cell: CellNumber = None,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Validate a scenario; describe it, warn of traps, and estimate time and memory.

    --format json prints the whole resolved plan, --format csv the cells of its grid; with --cell,
    both have this cell alone.
    """
    engine = engine_named(on)
    plan = chosen_scenario(scenario, settings, None).check()
    cells = _chosen(plan, cell)
    admit(plan, engine)
    for warning in [*plan.warnings, *traps(plan)]:
        log(f"warning: {warning}")
    for remark in remarks(plan, engine):
        log(f"remark: {remark}")
    match output:
        case OutputFormat.JSON:
            every = plan.document["cells"]
            print_json(plan.document | {"cells": every if cell is None else [every[cell]]})
        case OutputFormat.CSV:
            rows = [{"cell": one.index, **one.settings} for one in cells]
            print_rows(list(rows[0]), [list(one.values()) for one in rows], output)
        case OutputFormat.TABLE:
            sys.stdout.write(_written(plan, cell, engine))


def _chosen(plan: Plan, cell: int | None) -> tuple[Cell, ...]:
    """Give one cell of a plan, or all of them."""
    last = len(plan.cells) - 1
    if cell is not None and cell > last:
        raise typer.BadParameter(f"no cell {cell}: the last one is {last}")
    return tuple(plan.cells) if cell is None else (plan.cells[cell],)


def _written(plan: Plan, cell: int | None, engine: Engine) -> str:
    """Write the description of a plan, its subjects to the left."""
    cells = _chosen(plan, cell)
    lines = [("name", plan.name), *describe(plan, cells, one_of(engine))]
    if cell is not None and plan.axes:
        settings = ", ".join(f"{name} = {label}" for name, label in cells[0].settings.items())
        lines.insert(1, ("cell", f"{cell} of 0 to {len(plan.cells) - 1}: {settings}"))
    lines.append(("estimate", _estimate_in_words(plan, engine)))
    return "".join(_wrapped(line) for line in lines)


def _wrapped(line: Line) -> str:
    subject, text = line
    head = f"{subject:<10}"
    width = line_width()
    if width is None:
        return f"{head}{text}\n"
    rows = textwrap.wrap(
        text, max(width, 40), initial_indent=head, subsequent_indent=" " * 10, tabsize=1
    )
    return "".join(f"{row}\n" for row in rows)


def _estimate_in_words(plan: Plan, engine: Engine) -> str:
    jobs = usual_jobs(engine)
    if engine.is_real_time:
        return f"{time_in_words(plan_seconds(plan, jobs))} in real time, one run at a time"
    found = _estimate(plan, jobs)
    at_once = f", {min(jobs, plan.runs)} at once" if plan.runs > 1 else ""
    packets = count_in_words(found.packets, "packets")
    if engine.name != "simulation":
        return f"{packets}{at_once}; the time depends on the kernel"
    memory = size_in_words(found.memory_bytes)
    return f"{packets}, about {time_in_words(found.seconds)} and {memory} of memory{at_once}"


def _estimate(plan: Plan, jobs: int) -> Estimate:
    return estimate((cell.experiment for cell in plan.cells), plan.replicates, jobs)


@dataclass(frozen=True)
class PlannedRun:
    """A run that may take much.

    Attributes
    ----------
    plan : Plan
        With as many seeds as it may come to.
    settings : RunSettings
        Where it goes, and how many simulations at once.
    is_bound : bool
        Whether it may end with fewer seeds.
    """

    plan: Plan
    settings: RunSettings
    is_bound: bool = False

    def cells(self, engine: Engine, *, whole: bool) -> list[Cell]:
        """Give the cell of each simulation, of all or of those that are not finished there."""
        if whole:
            return [cell for cell in self.plan.cells for _ in self.plan.seeds]
        from fairwind.execution.execute import missing_cells

        return missing_cells(self.plan, engine, self.settings)


def approve(runs: Sequence[PlannedRun], engine: Engine, *, is_approved: bool) -> None:
    """Ask before runs, one after the other, that take much memory or many hours.

    Raises
    ------
    FairwindError
        If they take much and there is no terminal to ask on.
    RunInterrupted
        If the answer is no.
    """
    # Folders are looked at only where it matters.
    if is_approved or not _reasons(runs, engine, whole=True):
        return
    reasons = _reasons(runs, engine, whole=False)
    if not reasons:
        return
    most = "up to " if any(one.is_bound for one in runs) else ""
    text = f"this run is estimated to take {most}{' and '.join(reasons)}"
    hint = "make it smaller (`fairwind check` shows the estimate), or run it with --yes"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise FairwindError(text, hint)
    if not typer.confirm(f"{text}. Run it?", err=True):
        raise RunInterrupted("not started", hint)


def _reasons(runs: Sequence[PlannedRun], engine: Engine, *, whole: bool) -> list[str]:
    """Give what runs, or the rest of them, take beyond the bounds."""
    costs = [_cost(one, engine, whole=whole) for one in runs]
    seconds = sum(time for time, _ in costs)
    memory_bytes = max((memory for _, memory in costs), default=0.0)
    reasons = []
    available = available_memory_bytes()
    if memory_bytes > min(MOST_BYTES, MOST_SHARE * (available or MOST_BYTES / MOST_SHARE)):
        there = f" ({size_in_words(available)} are available)" if available else ""
        reasons.append(f"{size_in_words(memory_bytes)} of memory{there}")
    if seconds > MOST_SECONDS:
        reasons.append(time_in_words(seconds))
    return reasons


def _cost(run: PlannedRun, engine: Engine, *, whole: bool) -> tuple[float, float]:
    """Estimate seconds and bytes of memory that a run, or the rest of it, takes."""
    is_known = engine.is_real_time or engine.name == "simulation"
    missing = run.cells(engine, whole=whole) if is_known else []
    if not missing:
        return 0.0, 0.0
    jobs = run.settings.jobs or usual_jobs(engine)
    if engine.is_real_time:
        return expected_seconds(missing, jobs), 0.0
    found = _estimate(run.plan, jobs)
    return found.seconds * len(missing) / run.plan.runs, found.memory_bytes
