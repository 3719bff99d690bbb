"""The tables of one simulation, as they lie in its folder until all are merged.

They are Arrow streams: writing and reading a small table costs a tenth of what Parquet does, and a
study has a hundred thousand of them. What memory might not hold is Parquet, written as it is read.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from fairwind.folder.store import parquet_bytes, write_lazily

LARGE = frozenset({"queue_events"})
"""Tables that memory might not hold, so that they are put together file by file."""

STREAM, PARQUET = ".arrows", ".parquet"
"""How the names of tables end: of those that are small, and of those that are large."""


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame | pl.LazyFrame]) -> None:
    """Write one file per table into a folder that nobody reads yet; parts become one."""
    for name, frame in tables.items():
        if isinstance(frame, pl.LazyFrame):
            write_lazily(folder / f"{name}{PARQUET}", frame)
        elif name in LARGE and frame.height:
            (folder / f"{name}{PARQUET}").write_bytes(parquet_bytes(frame))
        else:
            (folder / f"{name}{STREAM}").write_bytes(stream_bytes(frame))
    for parts in folder.glob(".parts-*"):
        shutil.rmtree(parts)


def stream_bytes(frame: pl.DataFrame) -> bytes:
    """Encode a frame; frames that were made in the same steps give the same bytes.

    Other than in Parquet, what no row shows may differ after other steps: the bits behind the last
    row. Encoding in memory leaves writing to plain files, whose errors carry their number.
    """
    buffer = io.BytesIO()
    frame.rechunk().write_ipc_stream(buffer, compression="zstd")
    return buffer.getvalue()


def table_names(folder: Path) -> set[str]:
    """Name the tables of a simulation's folder."""
    return {file.stem for file in folder.iterdir() if file.suffix in {STREAM, PARQUET}}


def read_table(folder: Path, name: str) -> pl.DataFrame:
    """Read a table that memory holds; one without columns if the simulation has none."""
    stream, parquet = folder / f"{name}{STREAM}", folder / f"{name}{PARQUET}"
    if stream.exists():
        return pl.read_ipc_stream(stream)
    return pl.read_parquet(parquet) if parquet.exists() else pl.DataFrame()


def large_tables(folders: Iterable[Path], name: str) -> list[pl.LazyFrame]:
    """Give the rows of each simulation that has some of a large table, to be read when needed."""
    files = [file for folder in folders if (file := folder / f"{name}{PARQUET}").exists()]
    return [pl.scan_parquet(file) for file in files if pl.read_parquet_schema(file)]
