"""Data on standard output, messages on standard error, and exit codes."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairwind.cli.tables import aligned as aligned
from fairwind.cli.tables import fitted
from fairwind.cli.tables import line_width as line_width
from fairwind.cli.tables import wrapped as wrapped
from fairwind.engine.core import ScenarioError
from fairwind.errors import FairwindError, RunInterrupted

if TYPE_CHECKING:
    import polars as pl


class OutputFormat(StrEnum):
    """Output format."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


Format = Annotated[OutputFormat, typer.Option("--format", help="Output format.")]
Wide = Annotated[
    bool, typer.Option("--wide", help="Print all columns of tables, however wide they are.")
]


def command_group(description: str) -> typer.Typer:
    """Make a command that has commands of its own."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, help=description)


MOST_WRAPPED = 8
"""Tables of more columns lose the last ones where they do not fit."""

UNLIMITED = 10**9
"""Width of tables with all columns."""


def print_frame(frame: pl.DataFrame, output: OutputFormat, *, is_wide: bool = False) -> None:
    """Print a frame; tables are rounded for people, JSON and CSV are exact."""
    if output is OutputFormat.CSV:
        sys.stdout.write(frame.write_csv())
    else:
        print_rows(frame.columns, frame.rows(), output, is_wide=is_wide)


def print_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    output: OutputFormat,
    *,
    is_wide: bool = False,
) -> None:
    """Print rows like `print_frame`, which loads polars only for CSV."""
    match output:
        case OutputFormat.JSON:
            print_json([dict(zip(columns, row, strict=True)) for row in rows])
        case OutputFormat.CSV:
            import polars as pl

            frame = pl.DataFrame(rows, list(columns), orient="row", infer_schema_length=None)
            sys.stdout.write(frame.write_csv())
        case OutputFormat.TABLE:
            # Few columns are wrapped; in a pipe, nothing of what was asked for is left out.
            dispensable = _by_content(columns, rows) if len(columns) > MOST_WRAPPED else ()
            is_wide = is_wide or line_width() is None
            log_left_out(print_fitted(columns, rows, dispensable, is_wide=is_wide))


def _by_content(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Order columns by what is missed least: empty ones, those of zeros, then from the last on."""

    def content(place: int) -> int:
        cells = {row[place] for row in rows}
        return 0 if cells <= {None} else 1 if cells <= {None, 0} else 2

    places = sorted(range(len(columns) - 1, -1, -1), key=content)
    return [columns[place] for place in places]


def print_fitted(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    dispensable: Sequence[str],
    *,
    is_wide: bool = False,
) -> list[str]:
    """Print a table with the columns that fit the terminal, all if it is wide.

    Parameters
    ----------
    dispensable : sequence of str
        Columns that may be left out, the first one first.

    Returns
    -------
    list of str
        Columns that were left out.
    """
    width = UNLIMITED if is_wide else None
    columns, rows, left_out = fitted(columns, rows, dispensable, width)
    sys.stdout.write(aligned(columns, rows, width))
    return left_out


def log_left_out(names: Sequence[str]) -> None:
    """Report columns that did not fit."""
    if names:
        columns = ", ".join(dict.fromkeys(names))
        log(f"note: columns left out to fit the width: {columns}; --wide prints all")


def print_json(value: Any) -> None:  # noqa: ANN401 - anything that JSON can say
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    OK = 0
    FAILED_CELLS = 1
    BAD_INPUT = 2
    CONDITION_FAILED = 3
    UNDECIDED = 4
    INTERRUPTED = 130


def exit_code_of(command: Callable[[], object]) -> int:
    """Run a command; print what was expected to go wrong, without a traceback.

    Warnings of Python, such as those of models and of kernels, are printed once each.

    Returns
    -------
    int
        The exit code. A defect of Fairwind itself passes through as an exception.
    """
    printed: set[str] = set()

    def show(message: Warning | str, *_: object) -> None:
        if (text := str(message)) not in printed:
            printed.add(text)
            log(f"warning: {text}")

    try:
        with warnings.catch_warnings():
            warnings.showwarning = show  # type: ignore[assignment]
            command()
    except (RunInterrupted, KeyboardInterrupt) as error:
        complain(str(error) or "interrupted")
        return ExitCode.INTERRUPTED
    except ScenarioError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the core's text is already complete
        return ExitCode.BAD_INPUT
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; Python must not complain about it
        # again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except OSError as error:
        reason = error.strerror or error
        complain(f"{error.filename}: {reason}" if error.filename else reason)
        return ExitCode.BAD_INPUT
    except FairwindError as error:
        complain(error)
        return ExitCode.BAD_INPUT
    return ExitCode.OK


def complain(what: object) -> None:
    """Print an error on standard error."""
    print(f"error: {what}", file=sys.stderr)  # noqa: T201 - this is the command line


def log(line: str) -> None:
    """Print a message on standard error."""
    sys.stderr.write(f"{line}\n")
