"""Everything that belongs to the report of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairwind.folder.store import write_file
from fairwind.plots import Figure, save_all
from fairwind.report.figures import default_figures
from fairwind.report.page import render
from fairwind.results import Claim, Results


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes
    ----------
    page : Path
        The HTML page.
    figures : tuple of Path
        SVG, PNG and PDF files.
    """

    page: Path
    figures: tuple[Path, ...]


def write_report(
    results: Results,
    figures: Sequence[Figure] = (),
    claims: Sequence[Claim] = (),
    watch: Callable[[int, int], None] | None = None,
) -> Report:
    """Write the page and the figures of a run into its folder.

    Parameters
    ----------
    results : Results
    figures : sequence of Figure
        A study's own figures, shown before those that every run gets.
    claims : sequence of Claim
        A study's judged claims.
    watch : callable, optional
        Told how many files are drawn, and of how many.

    Raises
    ------
    FairwindError
        If a table is missing or damaged.
    """
    every = [*figures, *default_figures(results)]
    page = results.folder / "report.html"
    paths = save_all(every, results.folder / "figures", watch)
    write_file(page, render(results, every, claims).encode())
    return Report(page, tuple(paths))
