"""The commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairwind.cli.analyse import analyse
from fairwind.cli.congestion import app as congestion
from fairwind.cli.kernel import app as kernel
from fairwind.cli.model import app as model
from fairwind.cli.output import (
    Format,
    OutputFormat,
    aligned,
    log,
    print_frame,
    print_json,
    print_rows,
)
from fairwind.cli.scripts import CONTEXT, packetdrill
from fairwind.cli.settings import Settings, settings_of
from fairwind.cli.shell import CONTEXT as SHELL_CONTEXT
from fairwind.cli.shell import shell
from fairwind.cli.study_help import StudyCommand
from fairwind.cli.windows import app as windows
from fairwind.engine.core import analysis_columns, core_version, scenario_schema, table_columns
from fairwind.engine.selection import engine_named
from fairwind.machine import leftovers
from fairwind.run.admission import admit, counted, duration_in_words, one_of, plan_seconds, remarks
from fairwind.scenario import load

if TYPE_CHECKING:
    from fairwind.scenario import Plan, Scenario

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A laboratory for TCP. Data goes to standard output, everything else to "
    "standard error. Exit codes: 0 success, 1 some simulations or scripts failed, 2 "
    "wrong usage or input, 130 interrupted.",
)

app.add_typer(congestion, name="congestion")
app.add_typer(kernel, name="kernel")
app.add_typer(model, name="model")
app.add_typer(windows, name="windows")

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A TOML scenario file.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")]
On = Annotated[
    str, typer.Option(help="Engine: sim, kernel, or a built kernel (`fairwind kernel list`).")
]
Seed = Annotated[int | None, typer.Option(help="Use this seed instead of the scenario's.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of the run. Default: runs/NAME-FINGERPRINT."),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Simulations at once. Default: one per processor; 1 on the kernel, where runs "
        "disturb each other.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Delete the folder's run of another scenario.")
]
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Show goodput, RTT, losses and queues while it runs; without a terminal, a line a "
        "second.",
    ),
]
Cell = Annotated[int, typer.Option("--cell", min=0, help="Cell of the grid to print, from 0.")]


def _version(value: bool) -> None:  # noqa: FBT001 - the signature is typer's
    if value:
        sys.stdout.write(f"fairwind {core_version()}\n")
        raise typer.Exit


@app.callback()
def fairwind(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Accept the options before the command."""


@app.command()
def run(
    scenario: ScenarioFile,
    *,
    on: On = "sim",
    seed: Seed = None,
    settings: Settings = None,
    out: Out = None,
    jobs: Jobs = None,
    force: Force = False,
    live: Live = False,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Run a scenario, all cells and replicates; resume an interrupted run."""
    from fairwind.cli import runs

    chosen = _with_settings(load(scenario), settings, seed)
    engine = engine_named(on)
    results = runs.execute(chosen, engine, jobs=jobs, out=out, force=force, is_live=live)
    runs.print_summary(results, output)
    runs.exit_by_failures(results)


@app.command()
def check(
    scenario: ScenarioFile,
    *,
    on: On = "sim",
    settings: Settings = None,
    cell: Cell = 0,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Validate a scenario; print the resolved experiment and the size of its grid."""
    engine = engine_named(on)
    plan = _with_settings(load(scenario), settings, None).check()
    for warning in plan.warnings:
        log(f"warning: {warning}")
    admit(plan, engine)
    for remark in remarks(plan, engine):
        log(f"remark: {remark}")
    match output:
        case OutputFormat.JSON:
            print_json(plan.document)
        case OutputFormat.CSV:
            cells = [{"cell": cell.index, **cell.settings} for cell in plan.cells]
            print_rows(list(cells[0]), [list(cell.values()) for cell in cells], output)
        case OutputFormat.TABLE:
            sys.stdout.write(_described(plan, cell, one_of(engine)))
    if engine.is_real_time:
        duration = duration_in_words(plan_seconds(plan))
        log(f"{counted(plan.runs, 'run')} in real time, one at a time: about {duration}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenarios, for editors."""
    print_json(scenario_schema())


@app.command()
def columns(*, output: Format = OutputFormat.TABLE) -> None:
    """List every column of every table with its unit and meaning."""
    every = [*table_columns(), *analysis_columns()]
    print_rows(list(every[0]), [list(column.values()) for column in every], output)


@app.command()
def applications(*, output: Format = OutputFormat.TABLE) -> None:
    """List the recorded applications that workloads can use, with their statistics."""
    from fairwind.scenario.scenario import recorded_streams

    print_frame(recorded_streams(), output)


@app.command(cls=StudyCommand)
def study(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of a study; without it, list all.")
    ] = None,
    *,
    on: On = "sim",
    form: Annotated[
        str | None,
        typer.Option(help="Form of the study. Default: full; on the kernel: kernel."),
    ] = None,
    reduced: Annotated[bool, typer.Option("--reduced", help="Short for --form reduced.")] = False,
    settings: Settings = None,
    out: Out = None,
    jobs: Jobs = None,
    force: Force = False,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Run a study, judge its claims, and write its report."""
    from fairwind.cli import runs

    if name is None:
        runs.print_studies(output)
        return
    wanted = form or ("reduced" if reduced else "full")
    pairs = settings_of(settings or ())
    runs.run_study(name, on, wanted, pairs, jobs=jobs, out=out, force=force, output=output)


@app.command()
def show(folder: Folder, *, output: Format = OutputFormat.TABLE) -> None:
    """Print the summary and warnings of a finished run."""
    from fairwind.cli import runs
    from fairwind.results import open_results

    results = open_results(folder)
    runs.print_summary(results, output)
    runs.print_warnings(results)


@app.command()
def report(folder: Folder) -> None:
    """Write a self-contained page and the figures of a run into its folder."""
    from fairwind.cli import runs
    from fairwind.results import open_results

    runs.report(open_results(folder))


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="DIR_A", help="Folder of the reference run.")],
    second: Annotated[Path, typer.Argument(metavar="DIR_B", help="Folder of the compared run.")],
    *,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure", help="Column of the tables groups, queues or fairness; repeatable."
        ),
    ] = None,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Compare two runs, also of different engines, with 95 % intervals."""
    from fairwind import compare as comparison
    from fairwind.results import open_results

    a, b = open_results(first), open_results(second)
    differences = comparison.compare(a, b, measures)
    for line in comparison.head(a, b):
        log(line)
    if output is OutputFormat.TABLE:
        sys.stdout.write(aligned(*comparison.readable_differences(differences)))
    else:
        print_frame(differences, output)


@app.command()
def doctor(
    *,
    clean: Annotated[bool, typer.Option("--clean", help="Remove leftovers of dead runs.")] = False,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Check what this machine has, what is missing, and how to get it.

    The exit code is 1 if simulating, running on the kernel, or reporting does not work. --clean
    removes and lists leftovers of dead runs: network namespaces with their processes, control
    groups, folders, nftables tables, and programs of deleted control groups.
    """
    from fairwind.cli import doctor as machine

    if clean:
        removed = leftovers(remove=True)
        for line in machine.removals(removed):
            typer.echo(line)
        raise typer.Exit(1 if any(one.problem for one in removed) else 0)
    found = machine.diagnosis()
    rows = [(one.what, one.state, one.found, one.remedy) for one in found]
    print_rows(["what", "state", "found", "remedy"], rows, output)
    if not machine.works(found):
        raise typer.Exit(1)


app.command()(analyse)
app.command(context_settings=CONTEXT)(packetdrill)
app.command(context_settings=SHELL_CONTEXT)(shell)


def _with_settings(scenario: Scenario, settings: list[str] | None, seed: int | None) -> Scenario:
    pairs = settings_of(settings or ())
    if seed is not None:
        pairs["seed"] = str(seed)
    return scenario.with_settings(pairs)


def _described(plan: Plan, cell: int, each: str) -> str:
    last = len(plan.cells) - 1
    if cell > last:
        raise typer.BadParameter(f"no cell {cell}: the last one is {last}")
    others = f" (of 0 to {last}; choose by --cell)" if last else ""
    axes = aligned(
        ["axis", "column", "settings"],
        [(axis.name, axis.column, ", ".join(axis.labels)) for axis in plan.axes],
    )
    parts = [
        f"{plan.name}: {counted(len(plan.cells), 'cell')} x {counted(len(plan.seeds), 'seed')} = "
        f"{counted(plan.runs, each)}",
        axes if plan.axes else "",
        f"cell {cell}{others}, resolved:",
        json.dumps(plan.cells[cell].experiment, indent=2),
    ]
    return "\n".join(part for part in parts if part) + "\n"
