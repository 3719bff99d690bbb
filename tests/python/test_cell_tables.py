"""How the tables of one simulation lie in its folder."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fairwind.execution import folder as execution_folder
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.folder import cell_tables
from fairwind.folder.cell_tables import LARGE, CellTables, large_tables, stream_bytes, write_tables
from fairwind.folder.store import replace_lazily as lazily
from made_up import ScriptedEngine, plan

ROWS = pl.DataFrame(
    {
        "flow": ["a", None],
        "goodput": [1.5, float("nan")],
        "packets": pl.Series([1, 2], dtype=pl.UInt64),
    }
)
(EVENTS,) = LARGE


@pytest.mark.parametrize("kept", [cell_tables.KEPT_BYTES, 0])
def test_tables_are_read_as_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(cell_tables, "KEPT_BYTES", kept)
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
    (tmp_path / "groups.arrows").write_bytes(stream_bytes(ROWS))
    written = CellTables(tmp_path)
    assert written.names == {"flows", "groups"}
    assert written.read("flows").equals(ROWS)
    assert written.read("groups").equals(ROWS)


def test_merging_on_the_disk_gives_the_same_rows(tmp_path: Path, monkeypatch) -> None:
    run_plan(plan(replicates=4), ScriptedEngine(), RunSettings(1, tmp_path))
    expected = {file.name: pl.read_parquet(file) for file in tmp_path.glob("*.parquet")}
    monkeypatch.setattr(execution_folder, "FRAMES_AT_ONCE", 3)
    monkeypatch.setattr(execution_folder, "MOST_ROW_BYTES", 1)
    monkeypatch.setattr(execution_folder, "MOST_KEPT_BYTES", 1000)
    written = []
    monkeypatch.setattr(
        execution_folder,
        "replace_lazily",
        lambda file, frame: (written.append(file), lazily(file, frame)),
    )
    execution_folder.merge_tables(tmp_path, plan(replicates=4))
    assert tmp_path / "groups.parquet" in written
    for name, frame in expected.items():
        assert pl.read_parquet(tmp_path / name).equals(frame)
    assert not [*tmp_path.glob(".tmp-*")]


def test_names_of_equal_simulations_take_memory_once(tmp_path: Path) -> None:
    for name in ("0000-0000", "0000-0001"):
        (tmp_path / name).mkdir()
        write_tables(tmp_path / name, {"flows": ROWS, "groups": ROWS})
    first, second = (CellTables(folder)._together for folder in sorted(tmp_path.iterdir()))
    assert first == {"flows", "groups"}
    assert first is second
