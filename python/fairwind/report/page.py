"""The report of a run: its HTML page, and the files of figures where they are wanted."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fairwind.analysis.summary import readable_slowest
from fairwind.folder.store import storage_errors, write_file
from fairwind.plots import Figure, save_all, unvalidated
from fairwind.quantities import parse_seconds
from fairwind.report.captured import TRACE
from fairwind.report.effects import effect_tables
from fairwind.report.figures import default_figures
from fairwind.report.frame import framed_page
from fairwind.report.path import path_picture
from fairwind.report.tables import (
    captured_overview,
    connections_of,
    numeric_columns,
    response_times,
)
from fairwind.report.warnings import warnings
from fairwind.results import Claim, Results, lateness_in_words, readable_overview

PREVIEW_ROWS = 10
"""Rows shown of each Parquet file."""

MOST_ROWS = 300
"""Rows shown of each table of results."""

WAITS_SHOWN = 100
"""Longest waits on the page."""


def render(
    results: Results,
    figures: Sequence[Figure],
    claims: Sequence[Claim],
    margin: float | None = None,
    reference: str | None = None,
) -> str:
    """Write the page of a run as text; margin and reference are those of `Results.answer`."""
    manifest = results.manifest
    answer = results.answer(margin, reference)
    first = [one for one in figures if manifest.is_foreign and one.name.startswith(TRACE)]
    return framed_page(
        "fairwind.report",
        figures,
        {"numeric_columns": numeric_columns},
        title=manifest.plan.name,
        description=manifest.plan.description,
        version=manifest.versions.get("fairwind", ""),
        manifest=manifest,
        plan=manifest.plan,
        duration=duration_in_words(results),
        claims=claims,
        answer=answer,
        effects=effect_tables(answer) if answer else [],
        path=path_picture(manifest.plan),
        first_figures=first,
        figures=[figure for figure in figures if figure not in first],
        axis_names={axis.column: axis.name for axis in manifest.plan.axes},
        main=captured_overview(results) or readable_overview(results),
        responses=response_times(results),
        connections=connections_of(results),
        waits=readable_slowest(results, WAITS_SHOWN),
        lateness=lateness_in_words(results),
        previews={name: results.first_rows(name, PREVIEW_ROWS) for name in results.table_names},
        preview_rows=PREVIEW_ROWS,
        most_rows=MOST_ROWS,
        definitions={
            f"{row['table']}.{row['column']}": row["definition"] for row in manifest.columns
        },
        warnings=warnings(results),
        folder=str(results.folder),
        redraw=shlex.join(["fairwind", "report", str(results.folder), "--figures"]),
    )


ENDED_EARLY_S = 1.0
"""A run that is so much shorter than it was described was ended by somebody."""


def duration_in_words(results: Results) -> str:
    """Format the duration of the scenario, or those of runs that ended before it.

    A program behind a path ends when it likes: its scenario only says how long it may last at most.

    Returns
    -------
    str
        Empty where nothing is said of a duration.
    """
    experiment = results.manifest.plan.cells[0].experiment
    described = str(experiment.get("duration", ""))
    groups = results.groups
    measured = groups["measured_s"].drop_nulls() if "measured_s" in groups.columns else pl.Series()
    if not described or measured.is_empty():
        return described
    lasted: float = measured.cast(pl.Float64).to_numpy().max()
    lasted += parse_seconds(experiment.get("measure", {}).get("warmup", "0 s"))
    if parse_seconds(described) - lasted < ENDED_EARLY_S:
        return described
    return f"{lasted:.1f} s"


@dataclass(frozen=True)
class Report:
    """Files of a report.

    Attributes
    ----------
    page : Path
        The HTML page.
    figures : tuple of Path
        SVG, PNG and PDF files, if they were wanted.
    """

    page: Path
    figures: tuple[Path, ...]


def write_report(
    results: Results,
    figures: Sequence[Figure] = (),
    claims: Sequence[Claim] = (),
    watch: Callable[[int, int], None] | None = None,
    *,
    page: Path | None = None,
    figure_folder: Path | None = None,
    margin: float | None = None,
    reference: str | None = None,
) -> Report:
    """Write the page of a run, and its figures as files where a folder is given for them.

    Parameters
    ----------
    figures : sequence of Figure
        A study's own figures, shown before those that every run gets.
    claims : sequence of Claim
        A study's judged claims.
    watch : callable, optional
        Told how many files are drawn, and of how many.
    page : Path, optional
        The page's file; ``report.html`` in the run's folder if not given.
    figure_folder : Path, optional
        Folder for every figure as SVG, PNG and PDF; without it no figure is written as a file.
    margin, reference : optional
        As in `Results.answer`.

    Raises
    ------
    FairwindError
        If a table is missing or damaged, or a file cannot be written.
    """
    with unvalidated():
        every = [*figures, *default_figures(results)]
    page = results.folder / "report.html" if page is None else page
    again = f"run `fairwind report {results.folder}`"
    errors = storage_errors(
        page.parent,
        f"the report of {results.folder} could not be written",
        f"free some space, then {again}; the tables are whole",
        f"cannot write the report of {results.folder}:",
        f"name a folder of yours: `fairwind report {results.folder} --out FOLDER`",
    )
    with errors:
        paths = [] if figure_folder is None else save_all(every, figure_folder, watch)
        page.parent.mkdir(parents=True, exist_ok=True)
        write_file(page, render(results, every, claims, margin, reference).encode())
    return Report(page, tuple(paths))
