"""Time-sequence graphs as files for xplot, with the signs that tcptrace made usual.

A file is a list of drawing commands, one a line, between a head (type of the axes, title, labels)
and ``go``. Times are seconds since the first packet. Data is white, what was sent again red with an
``R``, acknowledgments green, the window yellow, blocks of selective acknowledgments purple.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from fairwind.folder.store import write_file

AGAIN = ("fast_retransmit", "timeout", "after_timeout", "tail_loss_probe", "retransmission")

LETTERS = dict.fromkeys(AGAIN, "R") | {
    "bundle": "B",
    "out_of_order": "O",
    "network_duplicate": "HD",
    "keep_alive": "K",
    "window_probe": "P",
    "syn": "SYN",
    "fin": "FIN",
    "reset": "RST",
    "zero_window": "Z",
    "sack": "S",
    "duplicate_sack": "D",
}
"""Labels of points, by kind."""

STEPS = {"acknowledged": "green", "window_edge": "yellow"}
"""Series that are lines, and their colours."""


def save_xplot(traces: pl.DataFrame, folder: Path) -> list[Path]:
    """Write the time-sequence graph of each flow into a folder, and give the paths.

    Parameters
    ----------
    traces : DataFrame
        Rows of the table ``traces``.
    folder : Path
        It is made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    keys = [key for key in ("cell", "replicate", "name") if key in traces.columns]
    paths = []
    for number, points in enumerate(traces.partition_by(keys, maintain_order=True), start=1):
        name = str(points["name"][0])
        plain = re.sub("[^0-9A-Za-z.]+", "-", name).strip("-")
        path = folder / f"{number:03}-{plain}.xpl"
        write_file(path, xplot_text(name, points).encode())
        paths.append(path)
    return paths


def xplot_text(name: str, points: pl.DataFrame) -> str:
    """Give the time-sequence graph of one flow as xplot reads it."""
    title = "".join(letter for letter in name if letter.isprintable())
    head = ["double double", "title", f"{title} (time sequence graph)"]
    head += ["xlabel", "time / s", "ylabel", "bytes of the stream"]
    rows = points.sort("time_s", maintain_order=True)
    lines = [line for series in STEPS for line in _steps(rows, series)]
    signs = [line for row in rows.iter_rows(named=True) for line in _sign(row)]
    return "\n".join([*head, *lines, *signs, "go", ""])


def _steps(points: pl.DataFrame, series: str) -> Iterator[str]:
    rows = points.filter(pl.col("series") == series).select("time_s", "high").rows()
    if not rows:
        return
    yield STEPS[series]
    for (before, low), (at, high) in pairwise(rows):
        yield f"line {before:.6f} {low:.0f} {at:.6f} {low:.0f}"
        yield f"line {at:.6f} {low:.0f} {at:.6f} {high:.0f}"


def _sign(row: dict[str, Any]) -> Iterator[str]:
    at, low, high = f"{row['time_s']:.6f}", f"{row['low']:.0f}", f"{row['high']:.0f}"
    letter = LETTERS.get(row["kind"])
    bar = f"line {at} {low} {at} {high}"
    match row["series"]:
        case "data":
            yield from ("red" if row["kind"] in AGAIN else "white", bar)
            yield from (f"darrow {at} {low}", f"uarrow {at} {high}")
            if letter is not None:
                yield from (f"atext {at} {high}", letter)
        case "lost":
            yield from ("orange", bar, f"btext {at} {low}", "L")
        case "sack":
            yield from ("purple", bar, f"rtext {at} {high}", letter or "S")
        case "duplicate_ack":
            yield from ("green", f"dtick {at} {low}")
        case "mark":
            yield from ("magenta", f"atext {at} {high}", letter or "?")
