"""Everything that belongs to the report of one run."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairwind.errors import FairwindError
from fairwind.folder.store import write_file
from fairwind.plots import Figure, save_all
from fairwind.report.figures import default_figures
from fairwind.report.page import render
from fairwind.results import Claim, Results


@dataclass(frozen=True)
class Report:
    """Files of a report.

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
        If a table is missing or damaged, or the folder cannot be written.
    """
    every = [*figures, *default_figures(results)]
    page = results.folder / "report.html"
    with _storage_errors(results.folder):
        paths = save_all(every, results.folder / "figures", watch)
        write_file(page, render(results, every, claims).encode())
    return Report(page, tuple(paths))


@contextmanager
def _storage_errors(folder: Path) -> Iterator[None]:
    """Raise `FairwindError` in the place of an `OSError`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FairwindError(
                f"the disk is full: the report of {folder} could not be written",
                f"free some space, then run `fairwind report {folder}`; the tables are whole",
            ) from error
        raise FairwindError(
            f"cannot write the report of {folder}: {error.filename or folder}: "
            f"{error.strerror or error}",
            f"copy the run to a folder of yours (cp -r {folder} COPY), then run "
            "`fairwind report COPY`",
        ) from error
