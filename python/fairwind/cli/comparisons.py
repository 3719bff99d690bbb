"""Comparisons on the command line: two runs, or the values of an axis, and conditions for CI."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from fairwind import compare as comparison
from fairwind.answers.conditions import (
    Judgement,
    Outcome,
    columns_of,
    judge,
    parse_condition,
    rows_for,
)
from fairwind.answers.junit import junit_document
from fairwind.cli.output import ExitCode, OutputFormat, aligned, log, print_frame
from fairwind.compare import Labelled
from fairwind.errors import FairwindError
from fairwind.folder.looks import read_looks
from fairwind.folder.store import storage_errors, write_file
from fairwind.results import Results, open_results


@dataclass(frozen=True)
class Sides:
    """What is compared.

    Attributes
    ----------
    a : Results
    b : Results, optional
        The other run; None for values of an axis of one.
    by : str, optional
        That axis.
    """

    a: Results
    b: Results | None
    by: str | None

    @classmethod
    def of(cls, first: Path, second: Path | None, by: str | None) -> Sides:
        """Open the runs, once it is clear what is to be compared."""
        if (second is None) == (by is None):
            raise FairwindError(
                "a comparison needs two runs, or one run and --by",
                "fairwind compare DIR_A DIR_B, or fairwind compare DIR --by AXIS",
            )
        return cls(open_results(first), None if second is None else open_results(second), by)

    @property
    def runs(self) -> list[Results]:
        """The runs that are compared."""
        return [self.a] if self.b is None else [self.a, self.b]

    @property
    def name(self) -> str:
        """What is compared, in words."""
        if self.b is None:
            return f"{self.a.folder} by {self.by}"
        return f"{self.a.folder} and {self.b.folder}"

    def rows(self, measures: Sequence[str] | None) -> list[Labelled]:
        """Compare."""
        if self.b is None:
            return comparison.contrasts_along(self.a, self.by or "", measures)
        return comparison.contrasts_between(self.a, self.b, measures)

    def head(self) -> list[str]:
        """Describe the comparison in lines."""
        if self.b is None:
            return comparison.head_by(self.a, self.by or "")
        return comparison.head(self.a, self.b)


def run_comparison(
    sides: Sides,
    measures: Sequence[str] | None,
    conditions: Sequence[str],
    junit: Path | None,
    output: OutputFormat,
) -> None:
    """Print a comparison; exit with a code of its own if a condition fails or is undecided."""
    if junit is not None and not conditions:
        raise FairwindError("--junit needs a condition", "add --fail-if 'GROUP.MEASURE > PERCENT'")
    wanted = [parse_condition(text) for text in conditions]
    rows, judged = sides.rows(measures) if measures or not wanted else [], []
    if wanted:
        judged_rows = sides.rows(columns_of(wanted, sides.runs))
        # Seeds that were added cost some of the error rate.
        looks = max(len(read_looks(one.folder)) for one in sides.runs)
        judged = judge(wanted, judged_rows, looks)
        # Each row that a condition fits, once, so that the table corrects for these alone.
        fitting = {id(row): row for one in wanted for row in rows_for(one, judged_rows)}
        rows = rows or list(fitting.values())
    for line in sides.head():
        log(line)
    differences = comparison.frame_of(rows)
    if output is OutputFormat.TABLE:
        sys.stdout.write(aligned(*comparison.readable_differences(differences)))
    else:
        print_frame(differences, output)
    if junit is not None:
        full = f"{junit} could not be written"
        with storage_errors(junit, full, "free some space", "cannot write", "name another file"):
            write_file(junit, junit_document(sides.name, judged))
    _exit_by(judged)


def _exit_by(judged: Sequence[Judgement]) -> None:
    """Report outcomes, and exit with the code of the worst."""
    for one in judged:
        log(str(one))
    outcomes = {one.outcome for one in judged}
    if Outcome.FAILED in outcomes:
        raise typer.Exit(ExitCode.CONDITION_FAILED)
    if Outcome.UNDECIDED in outcomes:
        log("more seeds decide what is undecided: raise repeat, or run with --until-decided")
        raise typer.Exit(ExitCode.UNDECIDED)
