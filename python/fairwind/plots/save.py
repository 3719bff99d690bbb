"""Charts as files, without a browser and without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from fairwind.errors import FairwindError
from fairwind.folder.store import write_file
from fairwind.plots.figure import Figure
from fairwind.plots.png import packed

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""The grammar's version that charts are written in and drawn with."""

FORMATS = ("svg", "png", "pdf")
PNG_PIXELS_PER_INCH = 144


def save(chart: Any, path: Path) -> None:  # noqa: ANN401 - every chart class has its own type
    """Write a chart as SVG, PNG, PDF or a page of its own, after the file's ending.

    Raises
    ------
    FairwindError
        If the ending is none of ``.svg``, ``.png``, ``.pdf``, ``.html``.
    """
    specification = chart.to_dict()
    match path.suffix:
        case ".svg":
            content = vl_convert.vegalite_to_svg(
                specification, vl_version=VEGA_LITE, allowed_base_urls=[]
            ).encode()
        case ".png":
            drawn = vl_convert.vegalite_to_png(
                specification,
                vl_version=VEGA_LITE,
                ppi=PNG_PIXELS_PER_INCH,
                allowed_base_urls=[],
            )
            content = packed(drawn)
        case ".pdf":
            content = vl_convert.vegalite_to_pdf(
                specification, vl_version=VEGA_LITE, allowed_base_urls=[]
            )
        case ".html":
            page = vl_convert.vegalite_to_html(specification, vl_version=VEGA_LITE, bundle=True)
            content = page.encode()
        case _:
            raise FairwindError(
                f"cannot draw {path}: unknown kind of file {path.suffix!r}",
                "use .svg, .png, .pdf or .html",
            )
    write_file(path, content)


def save_all(
    figures: Sequence[Figure], folder: Path, watch: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Write every figure as SVG, PNG and PDF into a folder, and give the paths.

    ``watch`` is told after each file how many there are, and of how many.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for figure in figures:
        for ending in FORMATS:
            path = folder / f"{figure.name}.{ending}"
            save(figure.still or figure.chart, path)
            paths.append(path)
            if watch is not None:
                watch(len(paths), len(figures) * len(FORMATS))
    return paths
