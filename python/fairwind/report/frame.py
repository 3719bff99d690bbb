"""The frame of pages that draw figures: head, contents, style and drawing code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from importlib.resources import files
from typing import Any

from jinja2 import (
    BytecodeCache,
    DictLoader,
    Environment,
    FileSystemBytecodeCache,
    StrictUndefined,
)
from jinja2.bccache import Bucket

from fairwind.cache import user_cache
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
        bytecode_cache=_compiled_templates(package),
    )
    environment.filters.update({"number": cell_text, **(filters or {})})
    return environment.get_template("page.html").render(
        style=_text("fairwind.report", "page.css"),
        script=_text("fairwind.report", "page.js"),
        bundle=packed_drawing_code(),
        specifications=packed_figures(every_figure),
        **content,
    )


class _TemplateCache(FileSystemBytecodeCache):
    """Compiled templates on the disk; what cannot be read or written there is compiled again."""

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def _compiled_templates(package: str) -> BytecodeCache | None:
    """Keep templates compiled, since to compile them takes a tenth of the time of a page.

    Compiled code depends on this package, too: on its filters and on the environment's options.
    """
    with contextlib.suppress(OSError, RuntimeError, metadata.PackageNotFoundError):
        versions = "-".join(metadata.version(name) for name in ("fairwind", "jinja2"))
        folder = user_cache() / "templates" / versions
        folder.mkdir(parents=True, exist_ok=True)
        return _TemplateCache(str(folder), pattern=f"{package}-%s.cache")
    return None


def _text(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")
