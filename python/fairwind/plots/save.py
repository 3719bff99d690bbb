"""Figures as files: SVG, PDF and compact PNG, without a browser or a network.

Several large charts are drawn at once, each by a process: drawing keeps an interpreter for seconds.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import altair as alt

from fairwind.errors import FairwindError
from fairwind.folder.store import write_file


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
        content = _drawn(chart.to_dict(), [path.suffix])[path.suffix]
    elif path.suffix == ".html":
        import vl_convert

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
        yield from map(_drawn, specifications)
        return
    with closing(drawn_at_once(specifications)) as drawn:
        for files in drawn:
            yield files | {".png": packed(files[".png"])}


def _rows(specification: Mapping[str, Any]) -> int:
    """Count the rows of all data: records, or lines of comma-separated values."""
    return sum(
        data.count("\n") if isinstance(data, str) else len(data)
        for data in specification.get("datasets", {}).values()
    )


def _drawn(specification: Mapping[str, Any], endings: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """Draw the files of a chart here. To work it out takes longest, so it is done once for all."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(
        dict(specification), vl_version=VEGA_LITE, allowed_base_urls=[]
    )
    ways: dict[str, Callable[[], bytes]] = {
        ".svg": svg.encode,
        ".png": lambda: packed(vl_convert.svg_to_png(svg, ppi=PNG_PIXELS_PER_INCH)),
        ".pdf": lambda: vl_convert.svg_to_pdf(svg),
    }
    return {ending: ways[ending]() for ending in endings}


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


SCRIPT = Path(__file__).with_name("drawer.py")


class Drawer:
    """A process that draws one chart after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,  # whoever interrupts means the process that asks
        )

    def close(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.communicate()

    def draw(self, chart: Mapping[str, Any]) -> dict[str, bytes]:
        """Give a chart's files by their endings.

        Raises
        ------
        FairwindError
            If it cannot be drawn.
        """
        settings = {"vega_lite": VEGA_LITE, "pixels_per_inch": PNG_PIXELS_PER_INCH}
        answer = self._answer(json.dumps({"chart": chart, **settings}) + "\n")
        if "error" in answer:
            raise FairwindError(f"cannot draw a chart: {answer['error']}")
        svg = answer.pop(".svg").encode()
        return {".svg": svg, **{end: base64.b64decode(text) for end, text in answer.items()}}

    def _answer(self, request: str) -> dict[str, str]:
        line = ""
        requests, answers = self._process.stdin, self._process.stdout
        if requests is not None and answers is not None:
            try:
                requests.write(request)
                requests.flush()
                line = answers.readline()
            except BrokenPipeError:
                pass  # it has ended, as the lack of an answer tells
        if not line:
            raise FairwindError(
                f"a process that draws has ended with code {self._process.wait()}",
                "its last words, if any, stand above; the tables are whole: `fairwind report` "
                "draws them again",
            )
        answer: dict[str, str] = json.loads(line)
        return answer


def drawn_at_once(charts: Sequence[Mapping[str, Any]]) -> Generator[dict[str, bytes]]:
    """Give the files of charts in their order, drawn by as many processes as processors."""
    processes = min(len(os.sched_getaffinity(0)), len(charts))
    if not processes:
        return
    idle: SimpleQueue[Drawer] = SimpleQueue()

    def draw(chart: Mapping[str, Any]) -> dict[str, bytes]:
        drawer = idle.get()
        try:
            return drawer.draw(chart)
        finally:
            idle.put(drawer)

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(max_workers=processes))
        # At the end processes go before the threads that wait for them.
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        for _ in range(processes):
            idle.put(stack.enter_context(closing(Drawer())))
        yield from pool.map(draw, charts)
