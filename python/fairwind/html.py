"""HTML for notebooks: short blocks of text and tables, with everything escaped.

Objects show themselves by ``_repr_html_``, which Jupyter and VS Code call. The markup has no
colours and no style sheet, so that it looks right on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from fairwind.errors import FairwindError
from fairwind.quantities import cell_text

MOST_ROWS = 20
"""Rows shown of a table, unless a caller asks for another number."""

MOST_CHARACTERS = 200
"""Characters shown of a cell or of a line."""

LEFT, RIGHT = "text-align: left", "text-align: right"


def block(title: str, *parts: str) -> str:
    """Give a block with a title in bold.

    Parameters
    ----------
    title : str
        Plain text.
    parts : str
        HTML, as the functions of this module give it.
    """
    return f"<div><strong>{escape(_cut(title))}</strong>{''.join(parts)}</div>"


def line(text: str) -> str:
    """Give a paragraph of plain text; nothing for an empty one."""
    return f"<p>{escape(text)}</p>" if text else ""


def table(headers: Sequence[str], rows: Sequence[Sequence[object]], most: int = MOST_ROWS) -> str:
    """Give a table; of a long one the first rows, and how many there are.

    Columns of numbers are aligned to the right; missing values are a dash.

    Parameters
    ----------
    headers : sequence of str
        One per column.
    rows : sequence of sequences
        Cells, in the order of the headers.
    most : int
        Rows shown.
    """
    shown = [[_cut(cell_text(cell)) for cell in row] for row in rows[:most]]
    styles = [
        RIGHT if shown and all(_is_number(row[place]) for row in shown) else LEFT
        for place in range(len(headers))
    ]
    head = "".join(
        f'<th style="{style}">{escape(_cut(name))}</th>'
        for style, name in zip(styles, headers, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{style}">{escape(cell)}</td>'
            for style, cell in zip(styles, row, strict=True)
        )
        + "</tr>"
        for row in shown
    )
    more = line(f"{most} of {len(rows)} rows") if len(rows) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def shown(make: Callable[[], str], title: str) -> str:
    """Give what a function makes, or the error that it meets: a cell of a notebook shows either."""
    try:
        return make()
    except FairwindError as error:
        return block(title, f"<pre>{escape(str(error))}</pre>")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _is_number(text: str) -> bool:
    """Return whether a cell is a number, perhaps with a sign, an interval or a unit, or missing."""
    return text == "-" or text.lstrip("[+-")[:1].isdigit()
