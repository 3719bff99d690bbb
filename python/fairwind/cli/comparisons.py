"""Comparisons on the command line: two runs, or the values of an axis, and conditions for CI."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from fairwind.answers.conditions import (
    Condition,
    Judgement,
    Outcome,
    columns_of,
    judge,
    parse_condition,
    reasons_of,
    rows_for,
)
from fairwind.answers.junit import junit_document
from fairwind.cli.differences import readable_differences
from fairwind.cli.output import ExitCode, OutputFormat, aligned, log, print_frame
from fairwind.compare import Comparison, frame_of
from fairwind.errors import FairwindError
from fairwind.folder.store import storage_errors, write_file
from fairwind.results import open_results


def run_comparison(
    first: Path,
    second: Path | None,
    by: str | None,
    measures: Sequence[str] | None,
    conditions: Sequence[str],
    junit: Path | None,
    output: OutputFormat,
) -> None:
    """Print a comparison; exit with a code of its own if a condition fails or is undecided."""
    if (second is None) == (by is None):
        raise FairwindError(
            "a comparison needs two runs, or one run and --by",
            "fairwind compare DIR_A DIR_B, or fairwind compare DIR --by AXIS",
        )
    sides = Comparison(open_results(first), None if second is None else open_results(second), by)
    wanted = conditions_in(conditions, junit)
    rows, judged = sides.contrasts(measures) if measures or not wanted else [], []
    if wanted:
        judged_rows = sides.contrasts(columns_of(wanted, sides.runs))
        judged = judge(wanted, judged_rows, sides.looks, reasons_of(sides))
        # Each row that a condition fits, once, so that the table corrects for these alone.
        fitting = {id(row): row for one in wanted for row in rows_for(one, judged_rows)}
        rows = rows or list(fitting.values())
    for line in sides.head():
        log(line)
    differences = frame_of(rows)
    if output is OutputFormat.TABLE:
        sys.stdout.write(aligned(*readable_differences(differences)))
    else:
        print_frame(differences, output)
    exit_by(judged, sides.name, junit)


def conditions_in(texts: Sequence[str], junit: Path | None) -> tuple[Condition, ...]:
    """Read the options ``--fail-if``, without which ``--junit`` means nothing."""
    if junit is not None and not texts:
        raise FairwindError("--junit needs a condition", "add --fail-if 'GROUP.MEASURE > PERCENT'")
    return tuple(map(parse_condition, texts))


def exit_by(judged: Sequence[Judgement], name: str, junit: Path | None) -> None:
    """Report outcomes, as a file too if one is named, and exit with the code of the worst."""
    if junit is not None:
        full = f"{junit} could not be written"
        with storage_errors(junit, full, "free some space", "cannot write", "name another file"):
            write_file(junit, junit_document(name, judged))
    for one in judged:
        log(str(one))
    outcomes = {one.outcome for one in judged}
    if Outcome.FAILED in outcomes:
        raise typer.Exit(ExitCode.CONDITION_FAILED)
    if Outcome.UNDECIDED in outcomes:
        log("more seeds decide the rest: raise repeat or --most-seeds, or add --until-decided")
        raise typer.Exit(ExitCode.UNDECIDED)
