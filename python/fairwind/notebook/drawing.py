"""Drawings of a run: its report, its figures as Altair charts, one measure as a chart."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import altair as alt
import polars as pl

from fairwind.errors import FairwindError
from fairwind.plots import Figure
from fairwind.report.figures import default_figures
from fairwind.report.overlay import measure_chart
from fairwind.report.page import write_report
from fairwind.results import Claim, Results
from fairwind.studies.study import Study, study_named


def report(results: Results, path: str | os.PathLike[str] | None, *, figures: bool) -> Path:
    """Write the page of a run; see `Results.report`."""
    drawn, claims = of_study(results)
    return write_report(
        results,
        drawn,
        claims,
        page=None if path is None else Path(path),
        figure_folder=results.folder / "figures" if figures else None,
    ).page


def figures(results: Results) -> dict[str, alt.TopLevelMixin]:
    """Draw the figures of a run; see `Results.figures`."""
    drawn, _ = of_study(results)
    return {figure.name: figure.chart for figure in [*drawn, *default_figures(results)]}


def of_study(results: Results) -> tuple[Sequence[Figure], Sequence[Claim]]:
    """Give the figures and judged claims of the study that a run belongs to, if any."""
    study = results.manifest.study and study_named(results.manifest.study)
    if not isinstance(study, Study):
        return (), ()
    return study.figures(results), study.claims(results)


def plot(results: Results, measure: str, along: str | None) -> alt.TopLevelMixin:
    """Draw one measure of the groups; see `Results.plot`."""
    _check_measure(results, measure)
    axes = results.manifest.plan.axes
    chosen = next((axis for axis in axes if along in (axis.name, axis.column)), None)
    if along is not None and chosen is None:
        known = ", ".join(axis.name for axis in axes) or "none, because it has no sweep"
        raise FairwindError(f"{results.folder} has no axis {along!r}", f"axes of this run: {known}")
    return measure_chart(results, measure, chosen)


def _check_measure(results: Results, measure: str) -> None:
    """Refuse what is no column of numbers in the table of groups, or has no value in this run."""
    groups = results.groups
    measures = [
        name
        for name, kind in groups.schema.items()
        if (kind.is_numeric() or kind == pl.Boolean)
        and name not in ("cell", "replicate", "seed")
        and groups[name].null_count() < groups.height
    ]
    if measure not in measures:
        raise FairwindError(
            f"the groups of {results.folder} have no measure {measure!r}",
            f"measures of this run: {', '.join(measures)}",
        )
