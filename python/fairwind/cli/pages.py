"""Pages of runs on the command line; imports, of only what they need, are half of their time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from fairwind.cli.output import OutputFormat, log, print_rows
from fairwind.notebook.drawing import of_study
from fairwind.plots import Figure, unvalidated
from fairwind.report.page import write_report
from fairwind.results import Claim, Results

VERDICTS = ("claim", "verdict", "part", "evidence")


def report(
    results: Results,
    out: Path | None,
    margin: float | None,
    reference: str | None,
    *,
    has_figures: bool,
) -> None:
    """Write the report of a finished run; of a study's run print the verdicts as well.

    Parameters
    ----------
    out, has_figures
        As in `write_page`.
    margin, reference
        As in `Results.answer`.
    """
    with unvalidated():
        figures, claims = of_study(results)
    print_claims(claims)
    write_page(
        results, figures, claims, out, has_figures=has_figures, margin=margin, reference=reference
    )


def print_claims(claims: Sequence[Claim], output: OutputFormat = OutputFormat.TABLE) -> None:
    """Print claims with their verdicts and evidence."""
    if output is not OutputFormat.TABLE:
        rows = [(one.statement, one.verdict.value, one.which_part, one.evidence) for one in claims]
        print_rows(VERDICTS, rows, output)
        return
    for number, claim in enumerate(claims, start=1):
        verdict, part = claim.verdict.value, claim.which_part
        lines = [f"{verdict}: {part}", claim.evidence] if part else [f"{verdict}: {claim.evidence}"]
        text = "".join(f"  {line}\n" for line in lines)
        sys.stdout.write(f"\nClaim {number}: {claim.statement}\n{text}")


def write_page(
    results: Results,
    figures: Sequence[Figure],
    claims: Sequence[Claim],
    out: Path | None = None,
    *,
    has_figures: bool,
    margin: float | None = None,
    reference: str | None = None,
) -> None:
    """Write the page of a run, and its figures as files if wanted, and log where they are.

    Parameters
    ----------
    out : Path, optional
        The page, if the name ends in ``.html``, or the folder for it; the run's folder if not
        given.
    has_figures : bool
        Whether figures are also written as SVG, PNG and PDF, in the folder ``figures`` beside the
        page.
    margin, reference
        As in `Results.answer`.
    """
    out = out or results.folder
    page = out if out.suffix == ".html" else out / "report.html"
    folder = page.parent / "figures" if has_figures else None
    with _shown_drawing(has_figures=has_figures) as watch:
        written = write_report(
            results,
            figures,
            claims,
            watch,
            page=page,
            figure_folder=folder,
            margin=margin,
            reference=reference,
        )
    log(f"page: {written.page}")
    for path in written.figures:
        if path.suffix == ".png":
            log(f"figure: {path}")


def _shown_drawing(
    *, has_figures: bool
) -> AbstractContextManager[Callable[[int, int], None] | None]:
    """Show the progress of drawing files, if there are any to be drawn."""
    if not has_figures:
        return nullcontext()
    from rich.console import Console

    from fairwind.cli.progress import shown_drawing

    return shown_drawing(Console(stderr=True))
