"""Running plans: safe writing, resuming, interruption, failures, and a full disk."""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import fairwind
from fairwind.cli.progress import shown_progress
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.execution.execute import RunSettings, RunState, run_plan
from fairwind.folder import cell_tables, store
from fairwind.folder.store import locked
from made_up import ScriptedEngine, plan


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}


def cells(folder: Path) -> set[str]:
    return {path.name for path in (folder / "cells").iterdir()}


def fail_from(number: int, error: BaseException):
    def script(execution: int) -> None:
        if execution >= number:
            raise error

    return script


def test_every_table_begins_with_cell_replicate_seed_and_settings(tmp_path):
    results = run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path / "run"))
    for name in results.table_names:
        frame = results.table(name)
        if frame.width:
            assert frame.columns[:4] == ["cell", "replicate", "seed", "flows_count"]
    assert results.groups.select("cell", "replicate", "seed", "flows_count").unique(
        maintain_order=True
    ).rows() == [(0, 0, 101, 1), (0, 1, 102, 1), (1, 0, 101, 4), (1, 1, 102, 4)]


def test_merged_tables_are_the_same_bytes_for_any_number_of_jobs(tmp_path):
    grid = plan((1, 2, 4, 8), ("TCP", "LT"), replicates=3)
    one = run_plan(grid, ScriptedEngine(), RunSettings(1, tmp_path / "one"))
    two = run_plan(grid, ScriptedEngine(), RunSettings(2, tmp_path / "two"))
    eight = run_plan(grid, ScriptedEngine(), RunSettings(8, tmp_path / "eight"))
    assert len(files(one.folder)) >= 5
    assert files(one.folder) == files(two.folder) == files(eight.folder)


def test_a_table_that_was_read_before_is_copied(tmp_path):
    results = run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    columns = results.groups.columns
    copy = results.table("groups")
    assert copy.equals(results.groups)
    copy.insert_column(0, pl.Series("own", [0] * copy.height))
    assert results.groups.columns == columns
    first, rows = results.first_rows("groups", 1)
    assert first.equals(results.groups.head(1))
    assert rows == results.groups.height


def test_a_finished_run_is_not_repeated(tmp_path):
    engine = ScriptedEngine()
    run_plan(plan(), engine, RunSettings(2, tmp_path))
    before = files(tmp_path)
    run_plan(plan(), engine, RunSettings(2, tmp_path))
    assert engine.executions == 4
    assert files(tmp_path) == before


def test_an_interrupted_run_keeps_what_is_finished_and_goes_on_there(tmp_path):
    # Or one worker could begin with the third before the other begins with the second.
    both_begun = threading.Barrier(2, timeout=30)

    def begin(number: int) -> None:
        if number < 2:
            both_begun.wait()

    interrupted = ScriptedEngine(begin, blocked=frozenset({2, 3}))

    def interrupt(state: RunState) -> None:
        if state.finished == 2:
            raise KeyboardInterrupt

    with pytest.raises(RunInterrupted, match="2 of 4"):
        run_plan(plan(), interrupted, RunSettings(2, tmp_path), interrupt)
    assert cells(tmp_path) == {"0000-0000", "0000-0001"}
    assert not files(tmp_path)

    engine = ScriptedEngine()
    resumed = run_plan(plan(), engine, RunSettings(1, tmp_path))
    assert engine.executions == 2
    whole = run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path / "whole"))
    assert files(resumed.folder) == files(whole.folder)


def test_an_interruption_that_strikes_a_worker_stops_the_run_as_well(tmp_path, monkeypatch):
    write, written = cell_tables.stream_bytes, []

    def interrupted(frame: pl.DataFrame, *options: str) -> bytes:
        written.append(frame)
        if len(written) > 12:  # in the second cell: each has nine tables, and one of them all
            raise KeyboardInterrupt
        return write(frame, *options)

    monkeypatch.setattr(cell_tables, "stream_bytes", interrupted)
    with pytest.raises(RunInterrupted, match="1 of 4"):
        run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    assert cells(tmp_path) == {"0000-0000"}


def test_an_interruption_leaves_no_simulation_running(tmp_path):
    before = threading.active_count()

    def interrupt(_state: RunState) -> None:
        raise KeyboardInterrupt

    engine = ScriptedEngine(blocked=frozenset(range(4)))
    with pytest.raises(RunInterrupted):
        run_plan(plan(), engine, RunSettings(2, tmp_path), interrupt)
    assert threading.active_count() == before


def test_an_unfinished_run_cannot_be_opened_and_says_how_to_go_on(tmp_path):
    def interrupt(state: RunState) -> None:
        if state.finished == 1:
            raise KeyboardInterrupt

    with pytest.raises(RunInterrupted):
        run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path), interrupt)
    with pytest.raises(FairwindError, match=r"(?s)not complete.*run the same command again"):
        fairwind.open(tmp_path)


def test_a_failing_cell_does_not_lose_the_others(tmp_path):
    def script(number: int) -> None:
        if number == 1:
            raise ValueError("the sea is rough")

    results = run_plan(plan(), ScriptedEngine(script), RunSettings(1, tmp_path))
    assert results.groups.select("cell", "replicate").unique().height == 3
    (failure,) = results.failures
    assert (failure.cell, failure.replicate, failure.seed) == (0, 1, 102)
    assert "the sea is rough" in str(failure)
    assert "flows.*.count = 1" in str(failure)


def test_a_failed_cell_is_tried_again_next_time(tmp_path):
    def script(number: int) -> None:
        if number == 1:
            raise ValueError("the sea is rough")

    run_plan(plan(), ScriptedEngine(script), RunSettings(1, tmp_path))
    again = ScriptedEngine()
    results = run_plan(plan(), again, RunSettings(1, tmp_path))
    assert again.executions == 1
    assert not results.failures
    assert results.groups.select("cell", "replicate").unique().height == 4


def test_a_run_in_which_everything_fails_is_an_error(tmp_path):
    engine = ScriptedEngine(fail_from(0, ValueError("no wind")))
    with pytest.raises(FairwindError, match=r"every simulation failed.*no wind"):
        run_plan(plan(), engine, RunSettings(1, tmp_path))


def test_full_disk_is_reported_and_results_stay(tmp_path, monkeypatch):
    write, written = cell_tables.stream_bytes, []

    def full(frame: pl.DataFrame, *options: str) -> bytes:
        written.append(frame)
        if len(written) > 12:  # in the second cell: each has nine tables, and one of them all
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(frame, *options)

    monkeypatch.setattr(cell_tables, "stream_bytes", full)
    with pytest.raises(FairwindError, match=r"(?s)disk is full.*run the same command again"):
        run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    assert cells(tmp_path) == {"0000-0000"}
    monkeypatch.undo()
    engine = ScriptedEngine()
    run_plan(plan(), engine, RunSettings(1, tmp_path))
    assert engine.executions == 3


def test_a_folder_of_another_scenario_is_refused_and_untouched(tmp_path):
    run_plan(plan((1,)), ScriptedEngine(), RunSettings(1, tmp_path))
    before = files(tmp_path)
    with pytest.raises(FairwindError, match=r"(?s)another scenario.*--out.*--force"):
        run_plan(plan((2,)), ScriptedEngine(), RunSettings(1, tmp_path))
    assert files(tmp_path) == before


def test_a_folder_of_another_engine_version_is_refused(tmp_path):
    run_plan(plan((1,)), ScriptedEngine(), RunSettings(1, tmp_path))
    with pytest.raises(FairwindError, match=r"same scenario.*another version \(scripted\)"):
        run_plan(plan((1,)), ScriptedEngine(build="2"), RunSettings(1, tmp_path))


def test_force_discards_the_other_run_but_not_foreign_files(tmp_path):
    run_plan(plan((1,)), ScriptedEngine(), RunSettings(1, tmp_path))
    (tmp_path / "notes.txt").write_text("mine")
    results = run_plan(plan((2,)), ScriptedEngine(), RunSettings(1, tmp_path, force=True))
    assert results.groups["flows_count"].unique().to_list() == [2]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_with_foreign_files_is_refused_even_by_force(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FairwindError, match="does not hold a run of Fairwind"):
        run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path, force=True))


def test_what_a_killed_run_left_half_written_is_removed(tmp_path):
    run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    leftover = tmp_path / "cells" / ".tmp-0000-0000"
    leftover.mkdir()
    (leftover / "flows.parquet").write_bytes(b"half")
    run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    assert not leftover.exists()


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "table"
    store.write_file(path, b"old")

    def fail(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(store.os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        store.write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["table"]


def test_the_manifest_repeats_the_plan_and_tells_the_engine(tmp_path):
    grid = plan((1, 4), ("TCP", "LT"))
    results = run_plan(grid, ScriptedEngine(), RunSettings(1, tmp_path, study="a study"))
    assert results.manifest.plan == grid
    assert (results.manifest.engine, results.manifest.study) == ("scripted", "a study")
    assert json.loads((tmp_path / "manifest.json").read_text())["format_version"] == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format_version": 1}', "null"])
def test_damaged_manifest_is_reported(tmp_path, content):
    run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(FairwindError, match="damaged"):
        fairwind.open(tmp_path)


def test_a_manifest_of_a_later_format_is_refused(tmp_path):
    run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    (tmp_path / "manifest.json").write_text('{"format_version": 99}')
    with pytest.raises(FairwindError, match="format version 99"):
        fairwind.open(tmp_path)


def test_truncated_table_has_a_hint(tmp_path):
    run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    table = tmp_path / "groups.parquet"
    table.write_bytes(table.read_bytes()[:100])
    with pytest.raises(FairwindError, match=r"(?s)groups.parquet is damaged.*run the same"):
        _ = fairwind.open(tmp_path).groups


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "removed"])
def test_damaged_cell_is_named_and_runs_again(tmp_path, damage, capsys):
    engine = ScriptedEngine()
    run_plan(plan(), engine, RunSettings(1, tmp_path))
    groups = fairwind.open(tmp_path).groups
    file = tmp_path / "cells" / "0001-0000" / "tables.arrows"
    content = file.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes(64) + content[middle + 64 :]
    if damage == "removed":
        file.unlink()
    else:
        file.write_bytes({"cut": content[:-700], "empty": b"", "flipped": flipped}[damage])
    states: list[RunState] = []
    with shown_progress(Console(stderr=True)) as shown:

        def tell(state: RunState) -> None:
            states.append(state)
            shown(state)

        results = run_plan(plan(), engine, RunSettings(1, tmp_path), tell)
    assert engine.executions == 5
    (warning,) = states[-1].warnings
    assert str(file) in warning
    assert "runs again" in warning
    assert capsys.readouterr().err.count("warning: ") == 1
    assert results.groups.equals(groups)


def test_missing_table_lists_existing_ones(tmp_path):
    run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    (tmp_path / "groups.parquet").unlink()
    with pytest.raises(FairwindError, match=r"(?s)no table 'groups'.*flows"):
        _ = fairwind.open(tmp_path).groups


def test_missing_folder_is_reported(tmp_path):
    with pytest.raises(FairwindError, match="no folder"):
        fairwind.open(tmp_path / "nowhere")


def test_foreign_folder_is_reported(tmp_path):
    with pytest.raises(FairwindError, match="not the folder of a run"):
        fairwind.open(tmp_path)


def test_captures_lie_beside_the_tables_of_their_simulation(tmp_path):
    results = run_plan(plan(), ScriptedEngine(capture=b"packets"), RunSettings(2, tmp_path))
    assert [path.parent.name for path in results.captures] == [
        "0000-0000",
        "0000-0001",
        "0001-0000",
        "0001-0001",
    ]
    assert results.captures[2] == results.capture_folder(1, 0) / "sender.pcapng"
    assert results.captures[2].read_bytes() == b"packets"


def test_a_failed_simulation_leaves_no_capture(tmp_path):
    (tmp_path / "cells").mkdir(parents=True)
    with (
        pytest.raises(ValueError, match="the sea is rough"),
        store.new_cell(tmp_path, 0, 0) as folder,
    ):
        (folder / "sender.pcapng").write_bytes(b"packets")
        raise ValueError("the sea is rough")
    assert not cells(tmp_path)


def test_a_folder_in_use_is_refused_with_the_process_that_uses_it(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(FairwindError, match=rf"(?s)in use by process {os.getpid()}\b.*--out"),
    ):
        run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path, force=True))
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    assert run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path)).groups.height == 8


def test_lock_of_killed_process_is_free(tmp_path):
    run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    (tmp_path / ".lock").write_text("1")
    run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    assert (tmp_path / ".lock").read_text() == ""


def test_a_folder_of_something_else_is_refused_without_a_trace(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FairwindError, match="does not hold a run of Fairwind"):
        run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_progress_ends_with_everything_finished(tmp_path):
    states: list[RunState] = []
    run_plan(plan(), ScriptedEngine(), RunSettings(2, tmp_path), states.append)
    assert states[-1] == RunState(total=4, finished=4, resumed=0, failed=0, fraction=1.0, jobs=2)
    fractions = [state.fraction for state in states]
    assert fractions == sorted(fractions)


def test_axis_columns_never_collide_with_those_of_tables():
    from fairwind.scenario.plan import axis_columns

    names = ["flows.*.count", "flows_count", "group", "cell", "path.rate"]
    assert axis_columns(names, ["group", "name"]) == [
        "flows_count",
        "flows_count_2",
        "setting_group",
        "setting_cell",
        "path_rate",
    ]


def test_tables_come_as_frames_of_pandas(tmp_path):
    pytest.importorskip("pandas", reason="requires pandas")
    pytest.importorskip("pyarrow", reason="requires pyarrow")
    results = run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    frame = results.to_pandas("flows")
    assert list(frame.columns) == results.flows.columns
    assert frame["seed"].to_list() == results.flows["seed"].to_list()


def test_missing_pandas_is_named_with_its_extra(tmp_path, monkeypatch):
    results = run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(FairwindError, match=r"fairwind\[pandas\]"):
        results.to_pandas()


def test_scanned_table_has_the_rows_that_are_asked_for(tmp_path):
    results = run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    is_second = pl.col("replicate") == 1
    rows = results.scan("flows").filter(is_second).collect(engine="streaming")
    assert rows.height
    assert rows.equals(results.flows.filter(is_second))


def test_scan_of_missing_table_names_those_there(tmp_path):
    results = run_plan(plan(), ScriptedEngine(), RunSettings(1, tmp_path))
    with pytest.raises(FairwindError, match=r"(?s)has no table 'flow'.*flows"):
        results.scan("flow")
