"""One file per table out of the files of all cells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

import polars as pl

from fairwind.folder.store import cell_folder, replace_lazily, write_frame
from fairwind.scenario.plan import LEADING_COLUMNS, Cell, Plan

LARGE = frozenset({"queue_events"})
"""Tables that memory might not hold, so that they are put together file by file."""


@overload
def with_leading_columns(
    tables: Mapping[str, pl.DataFrame], plan: Plan, cell: Cell, replicate: int
) -> dict[str, pl.DataFrame]: ...


@overload
def with_leading_columns(
    tables: Mapping[str, pl.DataFrame | pl.LazyFrame], plan: Plan, cell: Cell, replicate: int
) -> dict[str, pl.DataFrame | pl.LazyFrame]: ...


def with_leading_columns(
    tables: Mapping[str, pl.DataFrame | pl.LazyFrame], plan: Plan, cell: Cell, replicate: int
) -> dict[str, Any]:
    """Put cell, replicate, seed and one column per axis in front of every table."""
    leading = [
        pl.lit(cell.index, dtype=pl.UInt32).alias(LEADING_COLUMNS[0]),
        pl.lit(replicate, dtype=pl.UInt32).alias(LEADING_COLUMNS[1]),
        pl.lit(plan.seed_of(replicate), dtype=pl.UInt64).alias(LEADING_COLUMNS[2]),
        *(
            pl.lit(
                axis.value(cell.settings[axis.name]),
                dtype=pl.Int64 if axis.is_numeric else pl.String,
            ).alias(axis.column)
            for axis in plan.axes
        ),
    ]
    return {
        name: frame.select(*leading, pl.all())
        if isinstance(frame, pl.LazyFrame) or frame.width
        else frame
        for name, frame in tables.items()
    }


def merge_tables(out: Path, plan: Plan) -> list[str]:
    """Write one file per table with the rows of all finished cells, in the order of the plan.

    The bytes depend on the finished results alone, not on the order in which they came.

    Returns
    -------
    list of str
        The names of the tables written.
    """
    folders = [
        folder
        for cell in plan.cells
        for replicate in range(plan.replicates)
        if (folder := cell_folder(out, cell.index, replicate)).is_dir()
    ]
    names = sorted({file.stem for folder in folders for file in folder.glob("*.parquet")})
    for name in names:
        files = [path for folder in folders if (path := folder / f"{name}.parquet").exists()]
        if name in LARGE:
            _merge_lazily(out / f"{name}.parquet", files)
            continue
        frames = [frame for file in files if (frame := pl.read_parquet(file)).width]
        merged = pl.concat(frames, how="vertical_relaxed") if frames else pl.DataFrame()
        write_frame(out / f"{name}.parquet", merged)
    return names


def _merge_lazily(path: Path, files: list[Path]) -> None:
    """Put together what memory might not hold."""
    frames = [pl.scan_parquet(file) for file in files if pl.read_parquet_schema(file)]
    if frames:
        replace_lazily(path, pl.concat(frames, how="vertical_relaxed"))
    else:
        write_frame(path, pl.DataFrame())
