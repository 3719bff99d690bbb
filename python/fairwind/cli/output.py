"""Data on standard output: as an aligned table, JSON, or CSV."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import polars as pl


class OutputFormat(StrEnum):
    """Output format."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def print_frame(frame: pl.DataFrame, output: OutputFormat) -> None:
    """Print a frame; tables are rounded for people, JSON and CSV are exact."""
    match output:
        case OutputFormat.JSON:
            print_json(frame.to_dicts())
        case OutputFormat.CSV:
            sys.stdout.write(frame.write_csv())
        case OutputFormat.TABLE:
            sys.stdout.write(aligned(frame.columns, frame.rows()))


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
