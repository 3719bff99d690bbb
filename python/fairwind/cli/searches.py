"""Searches for settings: run with progress, printed, and as forms of studies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from fairwind.cli.output import (
    ExitCode,
    OutputFormat,
    log,
    log_left_out,
    print_fitted,
    print_json,
    print_rows,
    wrapped,
)
from fairwind.cli.pages import print_claims
from fairwind.cli.progress import shown_progress
from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings
from fairwind.plots import save_all
from fairwind.results import Claim
from fairwind.studies import SearchStudy
from fairwind.tuning.charts import figures
from fairwind.tuning.outcome import read_outcome
from fairwind.tuning.page import advice_row, point_row, sentences, write_page
from fairwind.tuning.settings import Tuning, load_tuning
from fairwind.tuning.tuning import TuningRun, run_tuning


def search(tuning: Tuning, on: str, place: RunSettings) -> Path:
    """Run a search with its progress on standard error, and give its folder.

    Parameters
    ----------
    on : str
        The engine that confirms the front as well; ``sim`` for none.
    place : RunSettings
        Folder, simulations at once, and workers.
    """
    kernel = None if on == "sim" else engine_named(on)
    with shown_progress(Console(stderr=True)) as show:
        run = TuningRun(place.out, place.jobs, show, log, kernel, place.workers)
        return run_tuning(tuning, engine_named("sim"), run)[0]


def report_search(folder: Path, claims: Sequence[Claim] = (), *, has_figures: bool) -> None:
    """Write the page of a search, and its figures.

    Raises
    ------
    Exit
        With the code of a failed condition, if no setting keeps all limits.
    """
    document = read_outcome(folder)
    log(f"page: {write_page(folder, claims)}")
    if has_figures:
        for path in save_all(figures(document), folder / "figures"):
            if path.suffix == ".png":
                log(f"figure: {path}")
    log(f"scenarios of points: {folder}/points")
    if document["nearest"] is not None:
        raise typer.Exit(ExitCode.CONDITION_FAILED)


def run_search_study(
    study: SearchStudy,
    form: str,
    on: str,
    place: RunSettings,
    output: OutputFormat,
    *,
    has_figures: bool,
    is_wide: bool,
) -> None:
    """Run the search of a study's form, judge its claims, report."""
    folder = search(load_tuning(study.file(form)), on, place)
    claims = study.form(form).claims(folder)
    if output is OutputFormat.TABLE:
        print_outcome(folder, output, is_wide=is_wide)
    print_claims(claims, output)
    report_search(folder, claims, has_figures=has_figures)


def refuse_for_search(study: str, **given: object) -> None:
    """Refuse options of `fairwind study` that a search does not have.

    Raises
    ------
    FairwindError
        If one is given.
    """
    named = [f"--{name}" for name, value in given.items() if value]
    if named:
        raise FairwindError(
            f"the study {study} is a search, which has no {' and no '.join(named)}",
            "change a copy of its file, and run fairwind tune on it",
        )


def print_outcome(folder: Path, output: OutputFormat, *, is_wide: bool) -> None:
    """Print what was found: sentences and tables, the whole as JSON, or the points as CSV."""
    document = read_outcome(folder)
    measures = [one["measure"] for one in document["objectives"]]
    points = [
        [
            row["name"],
            row["kind"],
            *row["setting"],
            *row["changes"],
            row["limits"],
            "yes" if row["is_front"] else "no",
        ]
        for row in (point_row(document, one) for one in document["points"])
    ]
    columns = ["point", "kind", *document["parameters"], *measures, "limits", "not dominated"]
    match output:
        case OutputFormat.JSON:
            print_json(document)
        case OutputFormat.CSV:
            print_rows(columns, points, output)
        case OutputFormat.TABLE:
            for sentence in sentences(document):
                sys.stdout.write(wrapped(sentence))
            if not points:
                return
            sys.stdout.write("\n")
            short = [name.rsplit(".", 1)[-1] for name in document["parameters"]]
            columns = ["point", "kind", *short, *measures, "limits", "not dominated"]
            left_out = print_fitted(columns, points, ("kind", *short[::-1]), is_wide=is_wide)
            sys.stdout.write("\n")
            advice = [advice_row(document, one) for one in document["advice"]]
            left_out += print_fitted(
                ["path", "setting", *measures, "next best"],
                advice,
                ("next best",),
                is_wide=is_wide,
            )
            log_left_out(left_out)
