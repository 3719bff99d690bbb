"""Safe writing: a file or folder is there whole, or not at all."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import polars as pl

CELLS = "cells"
"""Folder, inside a run's folder, that holds one folder per cell and replicate."""

TEMPORARY = ".tmp-"
"""How names of things begin that are not finished yet."""


def write_file(path: Path, content: bytes) -> None:
    """Replace a file in one step: readers see the old content or the new, never a part."""
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    try:
        _write_durably(temporary, content)
        temporary.replace(path)
    except BaseException:  # an interruption, too, leaves nothing half written
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Replace a Parquet file in one step."""
    write_file(path, parquet_bytes(frame))


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Encode a frame; the bytes depend on its content alone, so it is made contiguous first.

    Encoding in memory leaves writing to plain files, whose errors carry their number.
    """
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


def cell_folder(out: Path, cell: int, replicate: int) -> Path:
    """Where the tables of one cell and replicate are."""
    return out / CELLS / f"{cell:04}-{replicate:04}"


def write_cell(out: Path, cell: int, replicate: int, tables: Mapping[str, pl.DataFrame]) -> None:
    """Store all tables of one cell and replicate in one step."""
    final = cell_folder(out, cell, replicate)
    temporary = final.with_name(f"{TEMPORARY}{final.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        for name, frame in tables.items():
            _write_durably(temporary / f"{name}.parquet", parquet_bytes(frame))
        _sync_folder(temporary)
        temporary.rename(final)
    except BaseException:  # an interruption, too, leaves nothing half written
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _sync_folder(final.parent)


def remove_unfinished(out: Path) -> None:
    """Remove what an earlier, killed run left half written."""
    for leftover in [*out.glob(f"{TEMPORARY}*"), *(out / CELLS).glob(f"{TEMPORARY}*")]:
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink()


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make renames inside a folder durable; a system that cannot do so is left alone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
