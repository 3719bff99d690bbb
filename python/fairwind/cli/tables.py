"""Text tables that fit the terminal: alignment, wrapping, and the choice of columns."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from fairwind.quantities import cell_text

PIPE_WIDTH = 120
"""Columns are chosen for this width where output goes to a file or another program."""

LEAST_TEXT = 20
NARROWEST_TEXT = 8
"""Texts are wrapped at the first width or more, which no number exceeds; at the second where there
is no other way."""

GAP = "  "

PARTS = re.compile(r"/ \S+\s*|[^\s_]*_+|[^\s_]+\s*|\s+")
"""What stays together in a cell: words, parts of names, and a unit with its slash."""


def line_width() -> int | None:
    """Give the width that lines must fit; None if they go to a file or another program.

    The environment variable ``COLUMNS`` comes first, so that it can be chosen anywhere.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return None


WIDEST = 120
"""Sentences are no longer on a line, however wide the terminal is."""


def wrapped(text: str) -> str:
    """Break a sentence into lines that fit, each with its end."""
    width = line_width()
    if width is None:
        return f"{text}\n"
    lines = textwrap.wrap(text, min(width, WIDEST), subsequent_indent="  ", break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)


def aligned(
    columns: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None
) -> str:
    """Write rows in aligned columns: text to the left, numbers to the right.

    Parameters
    ----------
    columns, rows : sequence
        Headers and cells.
    width : int, optional
        What lines must fit: headers, and then the widest texts, are wrapped. That of the terminal
        if not given; nothing is wrapped in a pipe.
    """
    cells = [[cell_text(value) for value in row] for row in rows]
    width = line_width() if width is None else width
    is_text = [
        all(isinstance(row[place], str) or row[place] is None for row in rows)
        for place in range(len(columns))
    ]
    widths = _widths(columns, cells)
    if width is not None and _total(widths) > width:
        widths = _narrowed(columns, cells, width)
    lines = [
        GAP.join(
            part.ljust(size) if text else part.rjust(size)
            for part, size, text in zip(parts, widths, is_text, strict=True)
        ).rstrip()
        for row in [list(columns), *cells]
        for parts in _wrapped(row, widths)
    ]
    return "\n".join(lines) + "\n"


def _widths(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    return [
        max([len(name), *(len(row[place]) for row in cells)]) for place, name in enumerate(columns)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _narrowed(columns: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Give widths at which headers are wrapped, and as many texts as it takes to fit."""
    least = _least_widths(columns, cells)
    wide = _widths(columns, cells)
    bare = [max([0, *(len(row[place]) for row in cells)]) for place in range(len(columns))]
    # A header keeps its line where there is room for it.
    widths = [max(a, b) for a, b in zip(least, bare, strict=True)]
    for place in sorted(range(len(columns)), key=lambda place: wide[place] - widths[place]):
        room = width - _total(widths)
        if wide[place] - widths[place] <= room:
            widths[place] = wide[place]
    for narrowest in (LEAST_TEXT, NARROWEST_TEXT):
        floors = [max(narrowest, size) for size in least]
        while _total(widths) > width:
            texts = [place for place, size in enumerate(widths) if size > floors[place]]
            if not texts:
                break
            widths[max(texts, key=lambda place: widths[place])] -= 1
    return widths


def _least_widths(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    """Give the longest part of each header that is not divided."""
    return [max([len(part.strip()) for part in PARTS.findall(name)] or [0]) for name in columns]


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """Divide the cells of a row into lines of these widths."""
    columns = [_lines(text, size) for text, size in zip(row, widths, strict=True)]
    height = max(len(lines) for lines in columns)
    filled = [lines + [""] * (height - len(lines)) for lines in columns]
    return [list(parts) for parts in zip(*filled, strict=True)]


def _lines(text: str, size: int) -> list[str]:
    """Divide a text at blanks and behind underscores, and words that are too long anywhere."""
    if len(text) <= size:
        return [text]
    lines = [""]
    for part in PARTS.findall(text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > size:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > size:
            lines[-1:] = [lines[-1][:size], lines[-1][size:]]
    return [line.rstrip() for line in lines]


def divided(
    columns: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None
) -> list[tuple[list[str], list[list[object]]]]:
    """Divide a table with many columns into several that fit, each with the first column.

    Parameters
    ----------
    width : int, optional
        The width; that of the terminal, or `PIPE_WIDTH`, if not given.
    """
    limit = width or line_width() or PIPE_WIDTH
    cells = [[cell_text(value) for value in row] for row in rows]
    sizes = _widths(columns, cells)
    parts: list[list[int]] = [[0]]
    for place in range(1, len(columns)):
        together = [*parts[-1], place]
        if len(parts[-1]) > 1 and _total([sizes[one] for one in together]) > limit:
            parts.append([0, place])
        else:
            parts[-1] = together
    return [
        ([columns[place] for place in part], [[row[place] for place in part] for row in rows])
        for part in parts
    ]


class FittedTable(NamedTuple):
    """The columns of a table that fit a width, and headers of those that do not."""

    columns: list[str]
    rows: list[list[object]]
    left_out: list[str]


def fitted(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    dispensable: Sequence[str],
    width: int | None = None,
) -> FittedTable:
    """Leave out as many columns as it takes to fit a width.

    Parameters
    ----------
    columns, rows : sequence
        Headers and cells.
    dispensable : sequence of str
        Headers that may be left out, the first one first; at least one of them stays.
    width : int, optional
        The width; that of the terminal, or `PIPE_WIDTH`, if not given.
    """
    limit = line_width()
    wraps = limit is not None or width is not None
    limit = width or limit or PIPE_WIDTH
    cells = [[cell_text(value) for value in row] for row in rows]
    kept = list(range(len(columns)))
    left_out: list[str] = []
    for name in list(dispensable)[:-1]:
        if _least_total(columns, cells, kept, wraps=wraps) <= limit:
            break
        if name in columns:
            kept.remove(list(columns).index(name))
            left_out.append(name)
    return FittedTable(
        [columns[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        left_out,
    )


def _least_total(
    columns: Sequence[str], cells: Sequence[Sequence[str]], kept: Sequence[int], *, wraps: bool
) -> int:
    """Give the least width of a table of some columns, with all values in one line."""
    headers = _least_widths(columns, cells) if wraps else [len(name) for name in columns]
    longest = [max([0, *(len(row[place]) for row in cells)]) for place in kept]
    if wraps:
        longest = [min(size, LEAST_TEXT) for size in longest]
    return _total([max(headers[place], size) for place, size in zip(kept, longest, strict=True)])
