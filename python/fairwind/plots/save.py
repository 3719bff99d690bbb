"""Figures as files: SVG, PDF and compact PNG, without a browser or a network."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from fairwind.errors import FairwindError
from fairwind.folder.store import write_file
from fairwind.plots.drawers import drawn_at_once


@dataclass(frozen=True)
class Figure:
    """One figure of a report.

    Attributes
    ----------
    name : str
        Its file name without an ending.
    title : str
        One line.
    caption : str
        What is drawn, in which unit, and what the marks mean.
    chart : altair chart
        Complete, with its data.
    still : altair chart, optional
        What is written as files, where that is less than what can be looked at closer in the page.
    """

    name: str
    title: str
    caption: str
    chart: Any
    still: Any = None


VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""The grammar's version that charts are written in and drawn with."""

PNG_PIXELS_PER_INCH = 144

LARGE_ROWS = 20_000
"""Charts of fewer rows together are drawn here: processes for them take a second to begin."""

FORMATS = (".svg", ".png", ".pdf")
"""File name endings of a figure."""


def save(chart: Any, path: Path) -> None:  # noqa: ANN401 - every chart class has its own type
    """Write a chart as SVG, PNG, PDF or HTML page, by the file's ending.

    Raises
    ------
    FairwindError
        If the ending is none of ``.svg``, ``.png``, ``.pdf``, ``.html``.
    """
    if path.suffix in FORMATS:
        content = _made_of(_drawn(chart.to_dict()), path.suffix)
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

    ``watch`` is called after each file with the number of files so far and in all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    with closing(_all_drawn([figure.still or figure.chart for figure in figures])) as drawn:
        for figure, files in zip(figures, drawn, strict=True):
            for ending in FORMATS:
                path = folder / f"{figure.name}{ending}"
                write_file(path, files[ending])
                paths.append(path)
                if watch is not None:
                    watch(len(paths), len(figures) * len(FORMATS))
    return paths


def _all_drawn(charts: Sequence[Any]) -> Generator[dict[str, bytes]]:
    """Give the files of every chart, by processes of their own where that is sooner."""
    specifications = [chart.to_dict() for chart in charts]
    if sum(map(_rows, specifications)) < LARGE_ROWS:
        for specification in specifications:
            svg = _drawn(specification)
            yield {ending: _made_of(svg, ending) for ending in FORMATS}
        return
    with closing(drawn_at_once(specifications, VEGA_LITE, PNG_PIXELS_PER_INCH)) as drawn:
        for files in drawn:
            yield files | {".png": packed(files[".png"])}


def _rows(specification: Mapping[str, Any]) -> int:
    return sum(map(len, specification.get("datasets", {}).values()))


def _drawn(specification: Mapping[str, Any]) -> str:
    """Work a chart out, which takes longest, so once for all files."""
    return vl_convert.vegalite_to_svg(
        dict(specification), vl_version=VEGA_LITE, allowed_base_urls=[]
    )


def _made_of(svg: str, ending: str) -> bytes:
    match ending:
        case ".svg":
            return svg.encode()
        case ".png":
            return packed(vl_convert.svg_to_png(svg, ppi=PNG_PIXELS_PER_INCH))
        case _:
            return vl_convert.svg_to_pdf(svg)


SIGNATURE = b"\x89PNG\r\n\x1a\n"
_LENGTH = struct.Struct(">I")
_AROUND = 12
"""Length, name and checksum of a chunk, in bytes."""

PIXELS = b"IDAT"

LEVEL = 8
"""A hundredth more bytes than the highest level makes, in half of its time."""


def packed(png: bytes) -> bytes:
    """Compress the pixels of a picture well: drawings shrink to a fifth.

    Raises
    ------
    ValueError
        If these are no bytes of a PNG file.
    """
    chunks = list(_chunks(png))
    stream = b"".join(content for name, content in chunks if name == PIXELS)
    pixels = zlib.compress(zlib.decompress(stream), LEVEL)
    others = [(name, content) for name, content in chunks if name != PIXELS]
    first = next(place for place, (name, _) in enumerate(chunks) if name == PIXELS)
    written = [*others[:first], (PIXELS, pixels), *others[first:]]
    return SIGNATURE + b"".join(_written(name, content) for name, content in written)


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not png.startswith(SIGNATURE):
        raise ValueError("these are no bytes of a PNG file")
    place = len(SIGNATURE)
    while place < len(png):
        (length,) = _LENGTH.unpack_from(png, place)
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        place += length + _AROUND


def _written(name: bytes, content: bytes) -> bytes:
    checksum = _LENGTH.pack(zlib.crc32(name + content))
    return _LENGTH.pack(len(content)) + name + content + checksum
