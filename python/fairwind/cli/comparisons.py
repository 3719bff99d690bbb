"""Comparisons on the command line: two runs, or the values of an axis, and conditions for CI."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
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
from fairwind.answers.junit import JUnitCase, document_of_cases, junit_document
from fairwind.cli.differences import readable_differences
from fairwind.cli.output import (
    ExitCode,
    OutputFormat,
    line_width,
    log,
    log_left_out,
    print_fitted,
    print_frame,
)
from fairwind.compare import Comparison
from fairwind.errors import FairwindError
from fairwind.folder.store import storage_errors, write_file
from fairwind.quantities import counted
from fairwind.results import Results, open_results

DISPENSABLE = ("p", "p (Holm)", "A", "95 % interval", "B")
"""Columns that are left out where the table is too wide, the first one first; verdicts stay."""


def sides_of(
    first: Path,
    second: Path | None,
    by: str | None,
    reference: str | None,
    margin: float | None,
) -> Comparison:
    """Open what is to be compared.

    Parameters
    ----------
    by : str, optional
        Axis whose values are compared, where there is no second run.
    reference : str, optional
        The value of that axis that others are compared with.
    margin : float, optional
        The largest relative difference that counts as none; the runs' if not given.
    """
    if (second is None) == (by is None):
        raise FairwindError(
            "a comparison needs two runs, or one run and --by",
            "fairwind compare DIR_A DIR_B, or fairwind compare DIR --by AXIS",
        )
    other = None if second is None else open_results(second)
    return Comparison(open_results(first), other, by, reference, margin)


def run_comparison(
    sides: Comparison,
    measures: Sequence[str] | None,
    conditions: Sequence[str],
    junit: Path | None,
    output: OutputFormat,
    *,
    must_differ: bool = False,
    is_wide: bool = False,
) -> None:
    """Print a comparison; exit with a code of its own if a condition fails or is undecided."""
    wanted = conditions_in(conditions, junit, must_differ=must_differ)
    rows, judged = sides.contrasts(measures) if measures or not wanted else [], []
    if wanted:
        judged_rows = sides.contrasts(columns_of(wanted, sides.runs))
        judged = judge(wanted, judged_rows, sides.looks, reasons_of(sides))
        # Each row that a condition fits, once, so that the table corrects for these alone.
        fitting = {id(row): row for one in wanted for row in rows_for(one, judged_rows)}
        rows = rows or list(fitting.values())
    for line in sides.head():
        log(line)
    differences = sides.frame(rows)
    if output is OutputFormat.TABLE:
        # In a pipe nothing is left out.
        is_wide = is_wide or line_width() is None
        left_out = print_fitted(*readable_differences(differences), DISPENSABLE, is_wide=is_wide)
        log_left_out(left_out)
    else:
        print_frame(differences, output)
    exit_by(judged, sides.name, junit, must_differ=must_differ)


def write_error(junit: Path, error: FairwindError) -> None:
    """Write what is wrong as the only case of the JUnit file, so that a job always has one."""
    case = JUnitCase("fairwind", "conditions", "error", "error", str(error), str(error))
    with suppress(OSError):  # the error itself is reported
        write_file(junit, document_of_cases("conditions", [case], ["error"]))


def write_failures(junit: Path, results: Results) -> None:
    """Write into the JUnit file that simulations failed, if any did: conditions are not judged."""
    if results.failures:
        text = f"{counted(len(results.failures), 'simulation')} failed; {results.failures[0]}"
        hint = f"{results.folder}/failures.json lists all"
        write_error(junit, FairwindError(text, hint))


def conditions_in(
    texts: Sequence[str], junit: Path | None, *, must_differ: bool
) -> tuple[Condition, ...]:
    """Read the options ``--fail-if``, without which the others of conditions mean nothing."""
    lonely = "--junit" if junit is not None else "--fail-if-equal" if must_differ else None
    if lonely is not None and not texts:
        raise FairwindError(
            f"{lonely} needs a condition", "add --fail-if 'GROUP.MEASURE > PERCENT'"
        )
    return tuple(map(parse_condition, texts))


def exit_by(
    judged: Sequence[Judgement], name: str, junit: Path | None, *, must_differ: bool
) -> None:
    """Report outcomes, as a file too if one is named, and exit with the code of the worst.

    Parameters
    ----------
    must_differ : bool
        Whether conditions fail where all pairs of runs are equal, so that nothing was tested.
    """
    if must_differ:
        judged = [replace(one, outcome=Outcome.FAILED) if one.is_equal else one for one in judged]
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
        log(
            "more seeds decide the rest: raise repeat (in a new folder; that needs fewer than "
            "--until-decided, which looks several times), or --most-seeds"
        )
        raise typer.Exit(ExitCode.UNDECIDED)
