"""The command `check`, and the question before a run that takes much."""

from __future__ import annotations

import sys
import textwrap
from typing import Annotated

import typer

from fairwind.cli.completion import complete_engine
from fairwind.cli.output import Format, OutputFormat, line_width, log, print_json, print_rows
from fairwind.cli.scenarios import ScenarioArgument, chosen_scenario
from fairwind.cli.settings import Settings
from fairwind.engine.engines import Engine
from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.execution.admission import admit, one_of, plan_seconds, remarks, usual_jobs
from fairwind.preview.cost import Estimate, available_memory_bytes, estimate
from fairwind.preview.description import Line, describe
from fairwind.preview.traps import traps
from fairwind.quantities import count_in_words, size_in_words, time_in_words
from fairwind.scenario import Plan

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
Cell = Annotated[
    int | None,
    typer.Option("--cell", min=0, help="Describe this cell of the grid only, from 0."),
]


def check(
    scenario: ScenarioArgument,
    *,
    on: On = "sim",
    settings: Settings = None,
    cell: Cell = None,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Validate a scenario; describe it, warn of traps, and estimate time and memory.

    --format json prints the whole resolved plan, --format csv the cells of its grid.
    """
    engine = engine_named(on)
    plan = chosen_scenario(scenario, settings, None).check()
    admit(plan, engine)
    for warning in [*plan.warnings, *traps(plan)]:
        log(f"warning: {warning}")
    for remark in remarks(plan, engine):
        log(f"remark: {remark}")
    match output:
        case OutputFormat.JSON:
            print_json(plan.document)
        case OutputFormat.CSV:
            cells = [{"cell": one.index, **one.settings} for one in plan.cells]
            print_rows(list(cells[0]), [list(one.values()) for one in cells], output)
        case OutputFormat.TABLE:
            sys.stdout.write(_written(plan, cell, engine))


def _written(plan: Plan, cell: int | None, engine: Engine) -> str:
    """Write the description of a plan, its subjects to the left."""
    last = len(plan.cells) - 1
    if cell is not None and cell > last:
        raise typer.BadParameter(f"no cell {cell}: the last one is {last}")
    cells = plan.cells if cell is None else (plan.cells[cell],)
    lines = [("name", plan.name), *describe(plan, cells, one_of(engine))]
    if cell is not None and plan.axes:
        settings = ", ".join(f"{name} = {label}" for name, label in cells[0].settings.items())
        lines.insert(1, ("cell", f"{cell} of 0 to {last}: {settings}"))
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


def approve(plan: Plan, engine: Engine, jobs: int | None, *, is_approved: bool) -> None:
    """Ask before a run that takes much memory or many hours.

    Raises
    ------
    FairwindError
        If it takes much and there is no terminal to ask on.
    RunInterrupted
        If the answer is no.
    """
    reasons = _reasons(plan, engine, jobs or usual_jobs(engine))
    if not reasons or is_approved:
        return
    text = f"this run is estimated to take {' and '.join(reasons)}"
    hint = "make it smaller (`fairwind check` shows the estimate), or run it with --yes"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise FairwindError(text, hint)
    if not typer.confirm(f"{text}. Run it?", err=True):
        raise RunInterrupted("not started", hint)


def _reasons(plan: Plan, engine: Engine, jobs: int) -> list[str]:
    """Give what a run takes beyond the bounds."""
    if engine.is_real_time:
        seconds, memory_bytes = plan_seconds(plan, jobs), 0.0
    elif engine.name == "simulation":
        found = _estimate(plan, jobs)
        seconds, memory_bytes = found.seconds, found.memory_bytes
    else:
        return []
    reasons = []
    available = available_memory_bytes()
    if memory_bytes > min(MOST_BYTES, MOST_SHARE * (available or MOST_BYTES / MOST_SHARE)):
        there = f" ({size_in_words(available)} are available)" if available else ""
        reasons.append(f"{size_in_words(memory_bytes)} of memory{there}")
    if seconds > MOST_SECONDS:
        reasons.append(time_in_words(seconds))
    return reasons
