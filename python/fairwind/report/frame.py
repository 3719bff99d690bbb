"""The frame of pages that draw figures: head, contents, style and drawing code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined

from fairwind.plots import Figure
from fairwind.quantities import cell_text
from fairwind.report.drawing import packed_drawing_code, packed_figures

PARTS = ("frame.html", "parts.html")
"""Templates that pages extend and import."""


def framed_page(
    package: str,
    every_figure: Sequence[Figure],
    filters: Mapping[str, Callable[..., Any]] | None = None,
    /,
    **content: object,
) -> str:
    """Write a page as text.

    Parameters
    ----------
    package : str
        Where its template lies, ``page.html``, which extends ``frame.html``.
    every_figure : sequence of Figure
        All that it draws.
    filters : mapping of str to callable, optional
        Filters of the template beside ``number``.
    **content
        What the templates print; the frame has ``title``, ``description`` and ``version``.
    """
    texts = {name: _text("fairwind.report", name) for name in PARTS}
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=DictLoader(texts | {"page.html": _text(package, "page.html")}),
    )
    environment.filters.update({"number": cell_text, **(filters or {})})
    return environment.get_template("page.html").render(
        style=_text("fairwind.report", "page.css"),
        script=_text("fairwind.report", "page.js"),
        bundle=packed_drawing_code(),
        specifications=packed_figures(every_figure),
        **content,
    )


def _text(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")
