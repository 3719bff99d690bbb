"""Data on standard output, messages on standard error, and exit codes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

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


def print_frame(frame: pl.DataFrame, output: OutputFormat) -> None:
    """Print a frame; tables are rounded for people, JSON and CSV are exact."""
    if output is OutputFormat.CSV:
        sys.stdout.write(frame.write_csv())
    else:
        print_rows(frame.columns, frame.rows(), output)


def print_rows(
    columns: Sequence[str], rows: Sequence[Sequence[object]], output: OutputFormat
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
            sys.stdout.write(aligned(columns, rows))


def print_json(value: Any) -> None:  # noqa: ANN401 - anything that JSON can say
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def aligned(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write rows in aligned columns: text to the left, numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [
        max([len(name), *(len(row[place]) for row in cells)]) for place, name in enumerate(columns)
    ]
    is_text = [
        all(isinstance(row[place], str) or row[place] is None for row in rows)
        for place in range(len(columns))
    ]
    lines = [
        "  ".join(
            value.ljust(width) if text else value.rjust(width)
            for value, width, text in zip(row, widths, is_text, strict=True)
        ).rstrip()
        for row in [list(columns), *cells]
    ]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
        case _:
            return str(value)


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

    Returns
    -------
    int
        The exit code. A defect of Fairwind itself passes through as an exception.
    """
    try:
        command()
    except RunInterrupted as error:
        complain(error)
        return ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        complain("interrupted")
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
