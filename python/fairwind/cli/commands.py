"""The commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from fairwind.cli.analyse import analyse
from fairwind.cli.congestion import app as congestion
from fairwind.cli.doctor import as_frame, diagnosis, removals, works
from fairwind.cli.drawing import shown_drawing
from fairwind.cli.errors import ExitCode, exit_code_of
from fairwind.cli.kernel import app as kernel
from fairwind.cli.model_sharing import app as model
from fairwind.cli.output import OutputFormat, aligned, print_frame, print_json
from fairwind.cli.scripts import CONTEXT, packetdrill
from fairwind.cli.settings import Settings, meant_for, settings_of
from fairwind.cli.shell import CONTEXT as SHELL_CONTEXT
from fairwind.cli.shell import shell
from fairwind.cli.study_help import StudyCommand
from fairwind.cli.windows import app as windows
from fairwind.compare import compare as compare_results
from fairwind.compare import head, readable_differences
from fairwind.engine import (
    Engine,
    analysis_columns,
    core_version,
    engine_named,
    scenario_schema,
    table_columns,
)
from fairwind.folder.store import part_folder
from fairwind.machine import remove_leftovers
from fairwind.report import Report, warnings, write_report
from fairwind.results import (
    Claim,
    Results,
    lateness_in_words,
    open_results,
    readable_overview,
    tidy_overview,
)
from fairwind.run import (
    RunSettings,
    RunState,
    admit,
    duration_in_words,
    one_of,
    plan_seconds,
    remarks,
    run_plan,
)
from fairwind.run.progress import shown_progress
from fairwind.scenario import Plan, Scenario, load, recorded_streams
from fairwind.studies import studies, study_named

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
Format = Annotated[OutputFormat, typer.Option("--format", help="Output format.")]


Cell = Annotated[int, typer.Option("--cell", min=0, help="Cell of the grid to print, from 0.")]


def main() -> None:
    """Run the command line and exit with its exit code."""
    sys.exit(exit_code_of(lambda: app(prog_name="fairwind")))


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
    output: Format = OutputFormat.TABLE,
) -> None:
    """Run a scenario, all cells and replicates; resume an interrupted run."""
    chosen = _with_settings(load(scenario), settings, seed)
    results = _execute(chosen, engine_named(on), RunSettings(jobs, out, force))
    _print_summary(results, output)
    _exit_by_failures(results)


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
    plan = _checked(_with_settings(load(scenario), settings, None))
    admit(plan, engine)
    for remark in remarks(plan, engine):
        _log(f"remark: {remark}")
    match output:
        case OutputFormat.JSON:
            print_json(plan.document)
        case OutputFormat.CSV:
            print_frame(_cells(plan), output)
        case OutputFormat.TABLE:
            sys.stdout.write(_described(plan, cell, one_of(engine)))
    if engine.is_real_time:
        duration = duration_in_words(plan_seconds(plan))
        _log(f"{_counted(plan.runs, 'run')} in real time, one at a time: about {duration}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenarios, for editors."""
    print_json(scenario_schema())


@app.command()
def columns(*, output: Format = OutputFormat.TABLE) -> None:
    """List every column of every table with its unit and meaning."""
    every = [*table_columns(), *analysis_columns()]
    print_frame(pl.DataFrame(every, infer_schema_length=None), output)


@app.command()
def applications(*, output: Format = OutputFormat.TABLE) -> None:
    """List the recorded applications that workloads can use, with their statistics."""
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
    if name is None:
        print_frame(_studies(), output)
        return
    chosen, engine = study_named(name), engine_named(on)
    wanted = form or ("reduced" if reduced else "full")
    if "kernel" in engine.versions():
        wanted = chosen.form_on_kernel(wanted)
    if engine.is_real_time:
        jobs = jobs or chosen.kernel_jobs
    leading, further = chosen.scenario(wanted), chosen.further_scenarios(wanted)
    pairs = settings_of(settings or ())
    first, *others = meant_for([one.text for one in (leading, *further.values())], pairs)
    leading = leading.with_settings(pairs if first is None else first)
    parts = {
        part: scenario.with_settings(meant)
        for (part, scenario), meant in zip(further.items(), others, strict=True)
        if meant is not None
    }
    # Check all parts before the first one runs.
    for scenario in parts.values():
        scenario.check()
    results = _execute(leading, engine, RunSettings(jobs, out, force, chosen.name))
    for part, scenario in parts.items():
        _log(f"part {part}:")
        _execute(scenario, engine, RunSettings(jobs, part_folder(results.folder, part), force))
    for part in (part for part in further if part not in parts):
        _log(f"part {part}: skipped, because it has no chosen setting")
    claims = chosen.claims(results)
    _print_claims(claims, results, output)
    _print_report(write_report(results, chosen.figures(results), claims))
    _exit_by_failures(results)


@app.command()
def show(folder: Folder, *, output: Format = OutputFormat.TABLE) -> None:
    """Print the summary and warnings of a finished run."""
    results = open_results(folder)
    _print_summary(results, output)
    _print_warnings(results, printed=())


@app.command()
def report(folder: Folder) -> None:
    """Write a self-contained page and the figures of a run into its folder."""
    results = open_results(folder)
    if results.manifest.study is None:
        with shown_drawing(Console(stderr=True)) as watch:
            written = write_report(results, watch=watch)
    else:
        chosen = study_named(results.manifest.study)
        figures, claims = chosen.figures(results), chosen.claims(results)
        _print_verdicts(_verdicts(claims))
        with shown_drawing(Console(stderr=True)) as watch:
            written = write_report(results, figures, claims, watch)
    _print_report(written)


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
    a, b = open_results(first), open_results(second)
    differences = compare_results(a, b, measures)
    for line in head(a, b):
        _log(line)
    if output is OutputFormat.TABLE:
        sys.stdout.write(aligned(*readable_differences(differences)))
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
    if clean:
        removed = remove_leftovers()
        for line in removals(removed):
            typer.echo(line)
        raise typer.Exit(1 if any(one.problem for one in removed) else 0)
    found = diagnosis()
    print_frame(as_frame(found), output)
    if not works(found):
        raise typer.Exit(1)


app.command()(analyse)
app.command(context_settings=CONTEXT)(packetdrill)
app.command(context_settings=SHELL_CONTEXT)(shell)


def _with_settings(scenario: Scenario, settings: list[str] | None, seed: int | None) -> Scenario:
    pairs = settings_of(settings or ())
    if seed is not None:
        pairs["seed"] = str(seed)
    return scenario.with_settings(pairs)


def _checked(scenario: Scenario) -> Plan:
    plan = scenario.check()
    for warning in plan.warnings:
        _log(f"warning: {warning}")
    return plan


def _execute(scenario: Scenario, engine: Engine, settings: RunSettings) -> Results:
    plan = _checked(scenario)
    with shown_progress(Console(stderr=True)) as tell:
        states: list[RunState] = []

        def remember(state: RunState) -> None:
            if not states:
                _print_expected_time(state)
            states[:] = [state]
            tell(state)

        results = run_plan(plan, engine, settings, remember)
    resumed = states[-1].resumed if states else 0
    again = f", {resumed} of them resumed" if resumed else ""
    done = _counted(plan.runs - len(results.failures), one_of(engine))
    _log(f"{done}{again}; tables: {results.folder}")
    if captures := results.captures:
        _log(f"captures: {_counted(len(captures), 'file')}, the first: {captures[0]}")
    _print_warnings(results, printed=plan.warnings)
    return results


def _print_expected_time(state: RunState) -> None:
    """Print the expected duration of a run in real time."""
    missing = state.total - state.resumed
    if state.expected_s is None or not missing:
        return
    duration = duration_in_words(state.expected_s)
    jobs = "one at a time" if state.jobs == 1 else f"{state.jobs} at a time"
    _log(f"{_counted(missing, 'run')} in real time, {jobs}: about {duration}")
    if state.jobs > 1:
        _log(
            "warning: runs at the same time share the processors; this suits low rates only, as "
            "long as the lateness stays within its bound"
        )


def _print_warnings(results: Results, printed: Sequence[str]) -> None:
    """Print further warnings, and the lateness of a run in real time."""
    if lateness := lateness_in_words(results):
        _log(lateness)
    for warning in warnings(results):
        if warning not in printed:
            _log(f"warning: {warning}")


def _print_summary(results: Results, output: OutputFormat) -> None:
    if output is OutputFormat.TABLE:
        tables = [aligned(columns, rows) for columns, rows in readable_overview(results)]
        sys.stdout.write("\n".join(tables))
    else:
        print_frame(tidy_overview(results), output)


def _print_claims(claims: list[Claim], results: Results, output: OutputFormat) -> None:
    frame = _verdicts(claims)
    if output is not OutputFormat.TABLE:
        print_frame(frame, output)
        return
    _print_summary(results, output)
    _print_verdicts(frame)


def _verdicts(claims: list[Claim]) -> pl.DataFrame:
    return pl.DataFrame(
        [(c.statement, c.verdict.value, c.which_part, c.evidence) for c in claims],
        schema=["claim", "verdict", "part", "evidence"],
        orient="row",
    )


def _print_verdicts(frame: pl.DataFrame) -> None:
    for number, (statement, verdict, part, evidence) in enumerate(frame.rows(), start=1):
        lines = [f"{verdict}: {part}", evidence] if part else [f"{verdict}: {evidence}"]
        told = "".join(f"  {line}\n" for line in lines)
        sys.stdout.write(f"\nClaim {number}: {statement}\n{told}")


def _exit_by_failures(results: Results) -> None:
    if results.failures:
        raise typer.Exit(ExitCode.FAILED_CELLS)


def _cells(plan: Plan) -> pl.DataFrame:
    return pl.DataFrame(
        [{"cell": cell.index, **cell.settings} for cell in plan.cells], infer_schema_length=None
    )


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
        f"{plan.name}: {_counted(len(plan.cells), 'cell')} x {_counted(len(plan.seeds), 'seed')} = "
        f"{_counted(plan.runs, each)}",
        axes if plan.axes else "",
        f"cell {cell}{others}, resolved:",
        json.dumps(plan.cells[cell].experiment, indent=2),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _studies() -> pl.DataFrame:
    return pl.DataFrame(
        [(s.name, s.title, ", ".join(s.forms), s.source) for s in studies().values()],
        schema=["name", "title", "forms", "source"],
        orient="row",
    )


def _print_report(written: Report) -> None:
    _log(f"page: {written.page}")
    for path in written.figures:
        if path.suffix == ".png":
            _log(f"figure: {path}")


def _log(line: str) -> None:
    sys.stderr.write(f"{line}\n")
