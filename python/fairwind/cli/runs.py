"""Runs and studies on the command line: execute and print."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import typer
from rich.console import Console

from fairwind.answers.until import Growth, Look
from fairwind.cli.check import PlannedRun, approve
from fairwind.cli.output import (
    ExitCode,
    OutputFormat,
    log,
    log_left_out,
    print_fitted,
    print_frame,
)
from fairwind.cli.progress import shown_progress
from fairwind.cli.settings import meant_for
from fairwind.engine.engines import Engine
from fairwind.engine.selection import engine_named
from fairwind.execution.admission import one_of
from fairwind.execution.deploy import kept_clusters
from fairwind.execution.execute import RunSettings, RunState, folder_of
from fairwind.folder.store import part_folder
from fairwind.quantities import counted, time_in_words
from fairwind.report.warnings import warnings
from fairwind.results import Results, lateness_in_words, shown_tables, tidy_overview
from fairwind.scenario import Scenario
from fairwind.studies import Study


def execute(
    scenario: Scenario,
    engine: Engine,
    settings: RunSettings,
    growth: Growth | None = None,
    margin: float | None = None,
    *,
    is_live: bool = False,
) -> Results:
    """Run a scenario with its progress, looks, warnings and results on standard error."""
    plan = scenario.check()
    for warning in plan.warnings:
        log(f"warning: {warning}")
    resumed = None
    with shown_progress(Console(stderr=True), is_live=is_live) as show:

        def on_progress(state: RunState) -> None:
            nonlocal resumed
            if resumed is None:
                _print_expected_time(state)
            # What a growing run resumes later are its own simulations.
            if resumed is None or growth is None:
                resumed = state.resumed
            show(state)

        def on_look(look: Look) -> None:
            log(look_in_words(look, growth or Growth()))

        results = scenario.run_on(engine, settings, growth, margin, on_progress, on_look)
    again = f", {resumed} of them resumed" if resumed else ""
    done = results.manifest.plan.runs - len(results.failures)
    log(f"{counted(done, one_of(engine))}{again}; tables: {results.folder}")
    if captures := results.captures:
        log(f"captures: {counted(len(captures), 'file')}, the first: {captures[0]}")
    print_warnings(results, printed=plan.warnings)
    return results


def look_in_words(look: Look, growth: Growth) -> str:
    """Report what a look found, and what follows."""
    every, what = len(look.answer.effects), "effect"
    if look.judged:
        every, what = len(look.judged), "condition"
    undecided = f"{look.undecided} of {counted(every, what)} undecided"
    if not look.undecided:
        return f"{counted(look.seeds, 'seed')}: everything is decided"
    end = f"; stopped at --most-seeds {growth.most_seeds}" if look.is_last else ""
    return f"{counted(look.seeds, 'seed')}: {undecided}{end}"


@kept_clusters()
def run_study(
    chosen: Study,
    on: str,
    form: str,
    keys: Mapping[str, str],
    settings: RunSettings,
    output: OutputFormat,
    *,
    has_figures: bool,
    is_wide: bool,
    is_approved: bool,
    is_live: bool,
) -> None:
    """Run all parts of a study's form that the keys leave, judge its claims, report."""
    from fairwind.cli.pages import print_claims, write_page

    engine = engine_named(on)
    if "kernel" in engine.versions():
        form = chosen.form_on_kernel(form)
    jobs = settings.jobs or (chosen.kernel_jobs if engine.is_real_time else None)
    settings = replace(settings, jobs=jobs, study=chosen.name)
    leading, further = chosen.scenario(form), chosen.further_scenarios(form)
    first, *others = meant_for([one.text for one in (leading, *further.values())], keys)
    leading = leading.with_settings(keys if first is None else first)
    parts = {
        part: scenario.with_settings(meant)
        for (part, scenario), meant in zip(further.items(), others, strict=True)
        if meant is not None
    }
    folder = folder_of(leading.check(), engine, settings)
    places = {part: replace(settings, out=part_folder(folder, part), study=None) for part in parts}
    # Check all parts before the first one runs.
    planned = [PlannedRun(parts[part].check(), place) for part, place in places.items()]
    approve([PlannedRun(leading.check(), settings), *planned], engine, is_approved=is_approved)
    results = execute(leading, engine, settings, is_live=is_live)
    for part, place in places.items():
        log(f"part {part}:")
        execute(parts[part], engine, place, is_live=is_live)
    for part in (part for part in further if part not in parts):
        log(f"part {part}: skipped, because it has no chosen setting")
    claims = chosen.claims(results)
    if output is OutputFormat.TABLE:
        print_summary(results, output, is_wide=is_wide)
    print_claims(claims, output)
    write_page(results, chosen.figures(results), claims, has_figures=has_figures)
    exit_by_failures(results)


def _print_expected_time(state: RunState) -> None:
    missing = state.total - state.resumed
    if state.expected_s is None or not missing:
        return
    duration = time_in_words(state.expected_s)
    jobs = "one at a time" if state.jobs == 1 else f"{state.jobs} at a time"
    log(f"{counted(missing, 'run')} in real time, {jobs}: about {duration}")
    if state.jobs > 1:
        log(
            "warning: runs at the same time share the processors; this suits low rates only, as "
            "long as the lateness stays within its bound"
        )


def print_warnings(results: Results, printed: Sequence[str] = ()) -> None:
    """Print further warnings, and the lateness of a run in real time."""
    if lateness := lateness_in_words(results):
        log(lateness)
    for warning in warnings(results):
        if warning not in printed:
            log(f"warning: {warning}")


def print_summary(results: Results, output: OutputFormat, *, is_wide: bool = False) -> None:
    """Print the main measures of a run: what its workloads make meaningful, or all if wide."""
    if output is not OutputFormat.TABLE:
        print_frame(tidy_overview(results), output)
        return
    left_out: list[str] = []
    for number, table in enumerate(shown_tables(results, is_wide=is_wide)):
        sys.stdout.write("\n" if number else "")
        left_out += print_fitted(table.headers, table.rows, table.dispensable, is_wide=is_wide)
    log_left_out(left_out)


def exit_by_failures(results: Results) -> None:
    """Exit with the code of failed simulations, if there are any."""
    if results.failures:
        raise typer.Exit(ExitCode.FAILED_CELLS)
