"""Merged tables: one file per table, with the rows of all simulations of a run.

Each simulation is read once, and its rows go to all tables. Those that memory might not hold wait
on the disk, so the number of simulations has little influence on memory.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import polars as pl

from fairwind.execution.folder import finished_cells
from fairwind.folder.cell_tables import LARGE, CellTables, large_tables
from fairwind.folder.store import TEMPORARY, replace_lazily, write_frame
from fairwind.scenario.plan import Plan

MOST_HELD_BYTES = 1 << 28
"""Rows of all tables together that stay in memory; beyond that they wait on the disk."""

MOST_ROW_BYTES = 1 << 27
"""A table of more bytes is written while its rows are read; the bytes of the file depend on it."""

FRAMES_AT_ONCE = 256
"""A frame of few rows takes several times their bytes, so these become one before others come."""

VALUES_AT_ONCE = 1 << 20
"""Frames of many rows become one sooner: as soon as they have so many values."""


def merge_tables(out: Path, plan: Plan) -> list[str]:
    """Write one file per table with the rows of all finished cells, in the order of the plan.

    The bytes depend on the finished results alone, not on the order in which they came.

    Returns
    -------
    list of str
        The names of the tables written.

    Raises
    ------
    DamagedFileError
        If a file of a simulation cannot be decoded.
    OSError
        If a table cannot be written.
    """
    folders = finished_cells(out, plan)
    place = out / f"{TEMPORARY}merge"
    try:
        tables = _read_rows(folders, place)
        names = sorted(tables)
        for name in names:
            file, table = out / f"{name}.parquet", tables.pop(name)
            if name in LARGE and (large := large_tables(folders, name)):
                _write_large(file, large, folders)
            else:
                table.write(file)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return names


def _write_large(file: Path, tables: list[pl.LazyFrame], folders: list[Path]) -> None:
    """Write a table that memory might not hold; of a damaged file, name the simulation."""
    try:
        replace_lazily(file, pl.concat(tables, how="vertical_relaxed"))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        for folder in folders:
            CellTables(folder).check()
        raise


def _read_rows(folders: list[Path], place: Path) -> dict[str, _Table]:
    """Read all simulations; `place` is a folder for rows that memory does not hold."""
    tables: dict[str, _Table] = {}
    for folder in folders:
        cell = CellTables(folder)
        for name in cell.names:
            if name not in tables:
                tables[name] = _Table(place / name)
            if not cell.is_large(name):
                tables[name].add(cell.read(name))
        if sum(table.held_bytes for table in tables.values()) > MOST_HELD_BYTES:
            for table in tables.values():
                table.spill()
    return tables


class _Table:
    """Rows of one table: the first ones on the disk, the others in memory.

    Parameters
    ----------
    place : Path
        Folder of rows on the disk, which is made when it is needed.

    Attributes
    ----------
    held_bytes : int
        Of the rows in memory, without the newest frames.
    """

    def __init__(self, place: Path) -> None:
        self.held_bytes = 0
        self._bytes = 0
        self._place = place
        self._files: list[Path] = []
        self._parts: list[pl.DataFrame] = []
        self._frames: list[pl.DataFrame] = []
        self._values = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Take the rows of a simulation; a frame without columns does not count."""
        if not frame.width:
            return
        self._frames.append(frame)
        self._values += frame.height * frame.width
        if len(self._frames) == FRAMES_AT_ONCE or self._values > VALUES_AT_ONCE:
            self._join()

    def spill(self) -> None:
        """Move rows from memory to the disk."""
        if not self._parts:
            return
        self._place.mkdir(parents=True, exist_ok=True)
        file = self._place / f"{len(self._files):06}.arrow"
        # Encoding in memory leaves writing to plain files, which report errors with their number.
        content = io.BytesIO()
        _below_each_other(self._parts).write_ipc(content, compression="lz4")
        file.write_bytes(content.getbuffer())
        self._files.append(file)
        self._parts.clear()
        self.held_bytes = 0

    def write(self, file: Path) -> None:
        """Write all rows as a Parquet file."""
        self._join()
        if self._bytes > MOST_ROW_BYTES:
            rows = [*map(pl.scan_ipc, self._files), *(part.lazy() for part in self._parts)]
            replace_lazily(file, pl.concat(rows, how="vertical_relaxed"))
        else:
            write_frame(file, _below_each_other([*map(pl.read_ipc, self._files), *self._parts]))

    def _join(self) -> None:
        """Make one frame of the newest."""
        if not self._frames:
            return
        part = _below_each_other(self._frames)
        self._frames.clear()
        self._values = 0
        self._parts.append(part)
        size = int(part.estimated_size())
        self._bytes += size
        self.held_bytes += size


def _below_each_other(frames: list[pl.DataFrame]) -> pl.DataFrame:
    if not frames:
        return pl.DataFrame()
    return pl.concat(frames, how="vertical_relaxed", rechunk=True)
