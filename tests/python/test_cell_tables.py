"""How the tables of one simulation lie in its folder."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fairwind.execution import merge
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.folder import cell_tables
from fairwind.folder.cell_tables import (
    LARGE,
    CellTables,
    DamagedFileError,
    large_tables,
    stream_bytes,
    write_tables,
)
from made_up import ScriptedEngine, plan

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
    assert [file.name for file in tmp_path.iterdir()] == ["tables.arrows"]
    written = CellTables(tmp_path)
    assert written.names == set(tables)
    for name, frame in tables.items():
        read = written.read(name)
        assert read.schema == frame.schema
        assert read.equals(frame)
    assert written.read("absent").width == 0


def test_small_tables_take_less_space_together(tmp_path: Path) -> None:
    names = [f"measure_{number}" for number in range(40)]
    wide = pl.DataFrame({name: [float(number)] for number, name in enumerate(names)})
    write_tables(tmp_path, {f"table_{number}": wide for number in range(5)})
    (file,) = tmp_path.iterdir()
    assert 3 * file.stat().st_size < 5 * len(stream_bytes(wide, "zstd"))


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
    assert CellTables(folders[1]).read(EVENTS).schema == ROWS.schema


def test_tables_of_an_earlier_version_in_files_of_their_own_are_read(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "flows.parquet")
    (tmp_path / "groups.arrows").write_bytes(stream_bytes(ROWS, "zstd"))
    written = CellTables(tmp_path)
    assert written.names == {"flows", "groups"}
    assert written.read("flows").equals(ROWS)
    assert written.read("groups").equals(ROWS)


def test_streams_that_an_earlier_version_compressed_alone_are_read(tmp_path: Path) -> None:
    together = pl.DataFrame({"table": ["flows"], "stream": [stream_bytes(ROWS, "zstd")]})
    (tmp_path / "tables.arrows").write_bytes(stream_bytes(together, "uncompressed"))
    assert CellTables(tmp_path).read("flows").equals(ROWS)


def test_a_table_of_many_values_is_a_file_by_itself(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(cell_tables, "MOST_VALUES_TOGETHER", ROWS.height * ROWS.width - 1)
    write_tables(tmp_path, {"flows": ROWS, "groups": ROWS.head(1)})
    assert {file.name for file in tmp_path.iterdir()} == {"flows.arrows", "tables.arrows"}
    written = CellTables(tmp_path)
    assert written.names == {"flows", "groups"}
    assert written.read("flows").equals(ROWS)
    assert written.read("groups").equals(ROWS.head(1))


def test_damaged_rows_of_a_large_table_name_their_simulation(tmp_path: Path) -> None:
    run_plan(plan(replicates=2), ScriptedEngine(), RunSettings(1, tmp_path))
    whole, damaged = sorted((tmp_path / "cells").iterdir())[:2]
    for folder in (whole, damaged):
        pl.DataFrame({"at_s": [0.5] * 1000, "packet": [*range(1000)]}).write_parquet(
            folder / f"{EVENTS}.parquet", compression="zstd"
        )
    file = damaged / f"{EVENTS}.parquet"
    content = bytearray(file.read_bytes())
    content[20:60] = bytes(40)  # in a page; what describes the file stands at its end
    file.write_bytes(content)
    with pytest.raises(DamagedFileError) as raised:
        merge.merge_tables(tmp_path, plan(replicates=2))
    assert raised.value.file == file


def test_merging_on_the_disk_gives_the_same_rows(tmp_path: Path, monkeypatch) -> None:
    run_plan(plan(replicates=4), ScriptedEngine(), RunSettings(1, tmp_path))
    expected = {file.name: pl.read_parquet(file) for file in tmp_path.glob("*.parquet")}
    monkeypatch.setattr(merge, "FRAMES_AT_ONCE", 3)
    monkeypatch.setattr(merge, "MOST_ROW_BYTES", 1)
    monkeypatch.setattr(merge, "MOST_HELD_BYTES", 1000)
    lazily = merge.replace_lazily
    written, spilled = [], []

    def spy(file: Path, frame: pl.LazyFrame) -> None:
        spilled.extend(tmp_path.glob(".tmp-merge/groups/*"))
        written.append(file)
        lazily(file, frame)

    monkeypatch.setattr(merge, "replace_lazily", spy)
    merge.merge_tables(tmp_path, plan(replicates=4))
    assert tmp_path / "groups.parquet" in written
    assert len(set(spilled)) > 1
    for name, frame in expected.items():
        assert pl.read_parquet(tmp_path / name).equals(frame)
    assert not [*tmp_path.glob(".tmp-*")]


@pytest.mark.parametrize("most_row_bytes", [1, 1 << 27])
def test_bytes_of_merged_tables_do_not_depend_on_memory(
    tmp_path: Path, monkeypatch, most_row_bytes: int
) -> None:
    monkeypatch.setattr(merge, "MOST_ROW_BYTES", most_row_bytes)
    run_plan(plan(replicates=4), ScriptedEngine(), RunSettings(1, tmp_path))
    expected = {file.name: file.read_bytes() for file in tmp_path.glob("*.parquet")}
    monkeypatch.setattr(merge, "MOST_HELD_BYTES", 1000)
    monkeypatch.setattr(merge, "VALUES_AT_ONCE", 10)
    merge.merge_tables(tmp_path, plan(replicates=4))
    assert {file.name: file.read_bytes() for file in tmp_path.glob("*.parquet")} == expected
