"""Charts that are drawn by processes of their own."""

from __future__ import annotations

import importlib
import os
import signal
from contextlib import closing
from pathlib import Path

import altair as alt
import polars as pl
import pytest

from fairwind.errors import FairwindError
from fairwind.plots import Figure, save, save_all
from fairwind.plots.save import Drawer, drawn_at_once

saving = importlib.import_module("fairwind.plots.save")
"""The module; a function in its package has the same name."""

POINTS = pl.DataFrame({"x": [1, 2], "y": [3.0, 5.0]})
CHART = alt.Chart(POINTS).mark_point().encode(x="x", y="y")


def children() -> set[str]:
    """Name the processes that this one has started and that live."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_process_draws_what_is_drawn_here(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "LARGE_ROWS", 0)
    monkeypatch.setattr(saving, "_drawn", None)
    save_all([Figure("one", "One", "Points.", CHART)], tmp_path)
    monkeypatch.undo()
    for ending in ("svg", "png"):
        save(CHART, tmp_path / f"here.{ending}")
        here, there = (tmp_path / f"{name}.{ending}" for name in ("here", "one"))
        assert here.read_bytes() == there.read_bytes()
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")


def test_charts_come_in_their_order_however_long_each_takes():
    many = alt.Chart(pl.DataFrame({"x": range(4000), "y": range(4000)}))
    charts = [many.mark_point().encode(x="x", y="y"), *[CHART] * 3]
    before = children()
    drawn = [files[".svg"] for files in drawn_at_once([one.to_dict() for one in charts])]
    assert len(drawn[0]) > 10 * len(drawn[1])
    assert drawn[1] == drawn[2] == drawn[3]
    assert children() == before


def test_drawing_error_is_reported_and_processes_end():
    before = children()
    with (
        closing(drawn_at_once([{"mark": 7}, CHART.to_dict()])) as drawn,
        pytest.raises(FairwindError, match="cannot draw a chart: "),
    ):
        next(drawn)
    assert children() == before


def test_who_stops_half_way_leaves_nothing_running():
    before = children()
    with closing(drawn_at_once([CHART.to_dict()] * 20)) as drawn:
        next(drawn)
    assert children() == before


def test_dead_process_is_reported_with_its_code():
    before = children()
    with closing(Drawer()) as drawer:
        (process,) = children() - before
        os.kill(int(process), signal.SIGKILL)
        with pytest.raises(FairwindError, match=r"(?s)has ended with code -9.*fairwind report"):
            drawer.draw(CHART.to_dict())
