"""Charts as files, without a browser and without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from fairwind.errors import FairwindError
from fairwind.folder.store import write_file
from fairwind.plots.drawers import drawn_at_once
from fairwind.plots.figure import Figure
from fairwind.plots.png import packed

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""The grammar's version that charts are written in and drawn with."""

PNG_PIXELS_PER_INCH = 144


def _png(svg: str) -> bytes:
    return packed(vl_convert.svg_to_png(svg, ppi=PNG_PIXELS_PER_INCH))


_OF_SVG: Mapping[str, Callable[[str], bytes]] = {
    ".svg": str.encode,
    ".png": _png,
    ".pdf": vl_convert.svg_to_pdf,
}
"""What is made of a drawing, by the file's ending; to work a chart out takes longest, so once."""


def save(chart: Any, path: Path) -> None:  # noqa: ANN401 - every chart class has its own type
    """Write a chart as SVG, PNG, PDF or a page of its own, after the file's ending.

    Raises
    ------
    FairwindError
        If the ending is none of ``.svg``, ``.png``, ``.pdf``, ``.html``.
    """
    if path.suffix in _OF_SVG:
        content = _OF_SVG[path.suffix](_drawn(chart))
    elif path.suffix == ".html":
        page = vl_convert.vegalite_to_html(chart.to_dict(), vl_version=VEGA_LITE, bundle=True)
        content = page.encode()
    else:
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
    charts = [(figure.still or figure.chart).to_dict() for figure in figures]
    with closing(drawn_at_once(charts, VEGA_LITE, PNG_PIXELS_PER_INCH)) as drawn:
        for figure, files in zip(figures, drawn, strict=True):
            for ending in _OF_SVG:
                path = folder / f"{figure.name}{ending}"
                content = files[ending]
                write_file(path, packed(content) if ending == ".png" else content)
                paths.append(path)
                if watch is not None:
                    watch(len(paths), len(figures) * len(_OF_SVG))
    return paths


def _drawn(chart: Any) -> str:  # noqa: ANN401 - every chart class has its own type
    return vl_convert.vegalite_to_svg(chart.to_dict(), vl_version=VEGA_LITE, allowed_base_urls=[])
