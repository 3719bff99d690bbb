"""The commands on scenarios and runs, which are the most frequent ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from fairwind.cli.check import On, PlannedRun, approve, check
from fairwind.cli.completion import complete_folder, complete_study
from fairwind.cli.init import init
from fairwind.cli.output import (
    ExitCode,
    Format,
    OutputFormat,
    Wide,
    log,
    print_frame,
    print_json,
    print_rows,
)
from fairwind.cli.scenarios import ScenarioArgument, chosen_scenario, tests
from fairwind.cli.settings import Settings, margin_in, settings_of
from fairwind.cli.study_help import StudyCommand
from fairwind.cli.workers import Workers
from fairwind.engine.core import analysis_columns, core_version, scenario_schema, table_columns
from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError
from fairwind.execution.address import LOCAL
from fairwind.machine import leftovers

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A laboratory for TCP. Data goes to standard output, everything else to "
    "standard error. Exit codes: 0 success, 1 some simulations or scripts failed, 2 "
    "wrong usage or input, 3 a condition of a comparison failed, 4 one, or an effect of a run "
    "--until-decided, is undecided, 130 interrupted.",
)


Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The folder of a run.", autocompletion=complete_folder),
]
Seed = Annotated[
    int | None, typer.Option(help="Seed of all random draws. Default: the scenario's.")
]
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
    bool, typer.Option("--force", help="Replace a run of another scenario in the folder.")
]
WithFigures = Annotated[
    bool,
    typer.Option("--figures", help="Write every figure as SVG, PNG and PDF, too; takes seconds."),
]
UntilDecided = Annotated[
    bool,
    typer.Option(
        "--until-decided",
        help="Add seeds until every effect of the axes, or every --fail-if, is decided; what is "
        "there already is kept. Exit code 4 if some are undecided at the bound.",
    ),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="CONDITION",
        help="Fail if GROUP.MEASURE > PERCENT, or <, as 'thin.delivery_latency_p99 > +10%'; "
        "repeatable.",
    ),
]
JUnit = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the outcomes of conditions as JUnit XML."),
]
FailIfEqual = Annotated[
    bool,
    typer.Option(
        "--fail-if-equal", help="Fail too if all pairs of runs are equal: nothing was tested."
    ),
]
MostSeeds = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Bound of --until-decided. Default: 64.")
]
Margin = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="Largest difference that counts as none; kept in the folder. Default: 5 %.",
    ),
]
MarginOfRun = Annotated[
    str | None,
    typer.Option(
        "--margin",
        metavar="PERCENT",
        help="Largest difference that counts as none. Default: the run's.",
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE|AXIS=VALUE",
        help="Value of an axis that its others are compared with. Default: the scenario's, or "
        "else the first.",
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Run without a question, however much it takes.")
]
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Show goodput, RTT, losses and queues while it runs; without a terminal, a line a "
        "second.",
    ),
]


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


def _errors_in_junit(command: Callable[..., None]) -> Callable[..., None]:
    """Write an error of a command into its JUnit file, too."""

    @wraps(command)
    def wrapped(**options: Any) -> None:  # noqa: ANN401 - the options of any command
        try:
            command(**options)
        except FairwindError as error:
            if (junit := options["junit"]) is not None:
                from fairwind.cli.comparisons import write_error

                write_error(junit, error)
            raise

    return wrapped


@app.command()
@_errors_in_junit
def run(
    scenario: ScenarioArgument,
    *,
    on: On = "sim",
    seed: Seed = None,
    settings: Settings = None,
    out: Out = None,
    jobs: Jobs = None,
    workers: Workers = LOCAL,
    force: Force = False,
    yes: Yes = False,
    wide: Wide = False,
    live: Live = False,
    output: Format = OutputFormat.TABLE,
    until_decided: UntilDecided = False,
    most_seeds: MostSeeds = None,
    margin: Margin = None,
    conditions: Conditions = None,
    fail_if_equal: FailIfEqual = False,
    junit: JUnit = None,
) -> None:
    """Run a scenario or a named test, all cells and replicates; resume an interrupted run.

    A scenario with an axis ends with what the axis does to the main measure of each group. --format
    json prints an object with the summary and this answer, csv the summary alone. With --fail-if,
    the exit code is 3 if a condition is surely met by a value of the axis, against its reference.
    """
    chosen = chosen_scenario(scenario, settings, seed)
    engine = engine_named(on)
    plan = chosen.check()
    from fairwind.answers.conditions import doubts, judge_run, only_axis
    from fairwind.cli import answers, comparisons, runs
    from fairwind.execution.execute import RunSettings

    wanted = comparisons.conditions_in(conditions or (), junit, must_differ=fail_if_equal)
    axis = only_axis(plan) if wanted else ""
    for doubt in doubts(wanted, plan):
        log(f"warning: {doubt}")
    growth = answers.growth_of(margin, most_seeds, wanted, is_growing=until_decided)
    place = RunSettings(jobs, out, force, workers=workers)
    planned = PlannedRun(plan, place)
    if until_decided:
        planned = answers.planned_growth(chosen, growth, planned)
    approve([planned], engine, is_approved=yes)
    grown = growth if until_decided else None
    results = runs.execute(chosen, engine, place, grown, growth.margin, is_live=live)
    answers.print_run(results, output, is_wide=wide)
    if junit is not None:
        comparisons.write_failures(junit, results)
    runs.exit_by_failures(results)
    if wanted:
        judged, name = judge_run(wanted, results, axis), f"{results.folder} by {axis}"
        comparisons.exit_by(judged, name, junit, must_differ=fail_if_equal)
    elif until_decided and answers.is_undecided(results):
        raise typer.Exit(ExitCode.UNDECIDED)


app.command()(check)
app.command()(init)
app.command()(tests)


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
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Name of a study; without it, list all.",
            autocompletion=complete_study,
        ),
    ] = None,
    *,
    on: On = "sim",
    form: Annotated[
        str | None, typer.Option(help="Form of the study. Default: full; on the kernel: kernel.")
    ] = None,
    reduced: Annotated[bool, typer.Option("--reduced", help="Short for --form reduced.")] = False,
    settings: Settings = None,
    out: Out = None,
    jobs: Jobs = None,
    workers: Workers = LOCAL,
    force: Force = False,
    yes: Yes = False,
    wide: Wide = False,
    live: Live = False,
    figures: WithFigures = False,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Run a study, judge its claims, and write its report."""
    from fairwind.cli import runs
    from fairwind.execution.execute import RunSettings
    from fairwind.studies import SearchStudy, studies, study_named

    if name is None:
        rows = [
            (one.name, one.title, ", ".join(one.forms), one.source) for one in studies().values()
        ]
        print_rows(("name", "title", "forms", "source"), rows, output)
        return
    chosen, form = study_named(name), form or ("reduced" if reduced else "full")
    if isinstance(chosen, SearchStudy):
        from fairwind.cli.searches import refuse_for_search, run_search_study

        refuse_for_search(name, set=settings, force=force, live=live)
        place = RunSettings(jobs, out, workers=workers)
        run_search_study(chosen, form, on, place, output, has_figures=figures, is_wide=wide)
        return
    runs.run_study(
        chosen,
        on,
        form,
        settings_of(settings or ()),
        RunSettings(jobs, out, force, workers=workers),
        output,
        has_figures=figures,
        is_wide=wide,
        is_approved=yes,
        is_live=live,
    )


@app.command()
def show(
    folder: Folder,
    *,
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Print this table instead, such as slots or endpoint."),
    ] = None,
    aggression: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP",
            help="Print instead how aggressive each group is against this one: its excess share, "
            "and what it sends after a loss.",
        ),
    ] = None,
    wide: Wide = False,
    margin: MarginOfRun = None,
    reference: Reference = None,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Print the summary and warnings of a finished run."""
    from fairwind.cli import answers, runs
    from fairwind.results import open_results

    wanted = margin_in(margin)
    results = open_results(folder)
    if table is not None:
        print_frame(results.table(table), output, is_wide=wide)
        return
    if aggression is not None:
        answers.print_aggression(results, aggression, output, is_wide=wide)
        return
    answers.print_run(results, output, wanted, reference, is_wide=wide)
    runs.print_warnings(results)


@app.command()
def report(
    folder: Folder,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|FILE.html", help="Folder or file of the page. Default: DIR/report.html."
        ),
    ] = None,
    figures: WithFigures = False,
    margin: MarginOfRun = None,
    reference: Reference = None,
) -> None:
    """Write a run as a page that needs no network; with --figures also as files."""
    from fairwind.cli import pages
    from fairwind.results import open_results

    wanted = margin_in(margin)
    pages.report(open_results(folder), out, wanted, reference, has_figures=figures)


@app.command()
@_errors_in_junit
def compare(
    first: Annotated[Path, typer.Argument(metavar="DIR_A", help="Folder of the reference run.")],
    second: Annotated[
        Path | None, typer.Argument(metavar="DIR_B", help="Folder of the compared run.")
    ] = None,
    *,
    by: Annotated[
        str | None,
        typer.Option(metavar="AXIS", help="Compare the values of this axis with the reference."),
    ] = None,
    reference: Reference = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            help="Column of the tables groups, queues or fairness; repeatable. Default: the main "
            "measures.",
        ),
    ] = None,
    margin: MarginOfRun = None,
    conditions: Conditions = None,
    fail_if_equal: FailIfEqual = False,
    junit: JUnit = None,
    output: Format = OutputFormat.TABLE,
    wide: Wide = False,
) -> None:
    """Compare two runs, or the values of an axis of one, with 95 % intervals and verdicts.

    Runs of different engines can be compared. With --fail-if, the exit code is 3 if a condition is
    surely met, and 4 if more seeds are needed to know.
    """
    from fairwind.cli import comparisons

    sides = comparisons.sides_of(first, second, by, reference, margin_in(margin))
    comparisons.run_comparison(
        sides,
        measures,
        conditions or (),
        junit,
        output,
        must_differ=fail_if_equal,
        is_wide=wide,
    )


@app.command()
def doctor(
    *,
    clean: Annotated[bool, typer.Option("--clean", help="Remove leftovers of ended runs.")] = False,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Check what this machine has, what is missing, and how to get it.

    The exit code is 1 if simulating, running on the kernel, or reporting does not work. --clean
    removes and lists leftovers of ended runs: network namespaces with their processes, control
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
