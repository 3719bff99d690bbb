"""How the tables of one simulation lie in its folder."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fairwind.folder.cell_tables import LARGE, large_tables, read_table, table_names, write_tables

ROWS = pl.DataFrame(
    {
        "flow": ["a", None],
        "goodput": [1.5, float("nan")],
        "packets": pl.Series([1, 2], dtype=pl.UInt64),
    }
)
(EVENTS,) = LARGE


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    tables = {"flows": ROWS, "empty": ROWS.clear(), "none": pl.DataFrame()}
    write_tables(tmp_path, tables)
    assert table_names(tmp_path) == set(tables)
    for name, frame in tables.items():
        read = read_table(tmp_path, name)
        assert read.schema == frame.schema
        assert read.equals(frame)
    assert read_table(tmp_path, "absent").width == 0


@pytest.mark.parametrize("kept", [ROWS, ROWS.lazy()])
def test_a_large_table_is_scanned_where_it_has_rows(
    tmp_path: Path, kept: pl.DataFrame | pl.LazyFrame
) -> None:
    folders = [tmp_path / name for name in ("some", "without", "absent")]
    for folder, tables in zip(folders, ({EVENTS: kept}, {EVENTS: ROWS.clear()}, {}), strict=True):
        folder.mkdir()
        write_tables(folder, tables)
    (large,) = large_tables(folders, EVENTS)
    assert large.collect().equals(ROWS)
    assert read_table(folders[1], EVENTS).schema == ROWS.schema


def test_tables_in_parquet_of_an_earlier_version_are_read(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "flows.parquet")
    assert table_names(tmp_path) == {"flows"}
    assert read_table(tmp_path, "flows").equals(ROWS)
