"""The command `tune`: search for settings, confirm them, write the page."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fairwind.cli.completion import complete_engine, complete_scenario
from fairwind.cli.output import (
    ExitCode,
    Format,
    OutputFormat,
    Wide,
    line_width,
    log,
    log_left_out,
    print_fitted,
    print_json,
    print_rows,
)
from fairwind.cli.workers import Workers
from fairwind.engine.selection import engine_named
from fairwind.execution.address import LOCAL

WIDEST = 120
"""Sentences are no longer on a line."""


def tune(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.toml",
            help="What is searched: parameters, objectives, constraints, paths.",
            autocompletion=complete_scenario,
        ),
    ],
    *,
    on: Annotated[
        str,
        typer.Option(
            help="Confirm what a kernel supports on this engine, too: a built kernel, such as "
            "linux-6.12. The search itself simulates.",
            autocompletion=complete_engine,
        ),
    ] = "sim",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder. Default: runs/NAME-FINGERPRINT."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Simulations at once. Default: one per processor.")
    ] = None,
    workers: Workers = LOCAL,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Write every figure as SVG, PNG and PDF, too."),
    ] = False,
    wide: Wide = False,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Search for the settings that no other dominates, within harm limits; go on after a kill.

    The same file and folder give the same result, however often it was interrupted. The exit code
    is 3 if no setting keeps all limits; the nearest is named then. See docs/guides/tuning.md.
    """
    kernel = None if on == "sim" else engine_named(on)
    from fairwind.tuning.settings import load_tuning

    tuning = load_tuning(file)
    from rich.console import Console

    from fairwind.cli.progress import shown_progress
    from fairwind.tuning.outcome import read_outcome
    from fairwind.tuning.page import write_page
    from fairwind.tuning.tuning import TuningRun, run_tuning

    with shown_progress(Console(stderr=True)) as show:
        run = TuningRun(out, jobs, show, log, kernel, workers)
        folder, outcome = run_tuning(tuning, engine_named("sim"), run)
    document = read_outcome(folder)
    _print_outcome(document, output, is_wide=wide)
    log(f"page: {write_page(folder)}")
    if figures:
        _write_figures(document, folder / "figures")
    log(f"scenarios of points: {folder}/points")
    if outcome.nearest is not None:
        raise typer.Exit(ExitCode.CONDITION_FAILED)


def _write_figures(document: Mapping[str, Any], folder: Path) -> None:
    from fairwind.plots import save_all
    from fairwind.tuning.charts import figures

    for path in save_all(figures(document), folder):
        if path.suffix == ".png":
            log(f"figure: {path}")


def _print_outcome(document: Mapping[str, Any], output: OutputFormat, *, is_wide: bool) -> None:
    """Print what was found: sentences and tables, the whole as JSON, or the points as CSV."""
    from fairwind.tuning.page import advice_row, point_row, sentences

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
                sys.stdout.write(_wrapped(sentence))
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


def _wrapped(text: str) -> str:
    width = line_width()
    if width is None:
        return f"{text}\n"
    lines = textwrap.wrap(text, min(width, WIDEST), subsequent_indent="  ", break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)
