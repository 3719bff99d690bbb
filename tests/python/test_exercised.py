"""Whether congestion control was what limited the flows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import polars as pl
import pytest

from fairwind.cli.settings import meant_for
from fairwind.results.limits import limited_senders, limits_in_words
from fairwind.scenario.plan import Axis, Cell, Plan

EXERCISED = {
    "open_s": 100.0,
    "busy_s": 99.0,
    "window_limited_s": 0.0,
    "buffer_limited_s": 0.0,
    "total_segments_retransmitted": 7,
    "in_slow_start": False,
}


def results(
    *rows: dict[str, object],
    kind: str = "greedy",
    volume: str | None = None,
    stop: str | None = None,
    setup_s: float | None = 0.1,
) -> SimpleNamespace:
    """Give a run of one cell with exercised flows, except for the given changes."""
    lines = [
        {"cell": 0, "replicate": 0, "flow": flow, "group": "one", **EXERCISED, **row}
        for flow, row in enumerate(rows)
    ]
    group = {"name": "one", "workload": {"kind": kind, "volume": volume}, "stop": stop}
    experiment = {"flows": [group]}
    plan = Plan("one", "", (), (), (Cell(0, {}, experiment),), (), {})
    senders = pl.DataFrame(lines).with_columns(pl.col("cell").cast(pl.UInt32))
    flows = senders.select("cell", "replicate", "flow", setup_time_s=pl.lit(setup_s, pl.Float64))
    return SimpleNamespace(senders=senders, flows=flows, manifest=SimpleNamespace(plan=plan))


@pytest.mark.parametrize(
    ("row", "reasons"),
    [
        ({}, []),
        ({"window_limited_s": 9.8}, []),
        ({"window_limited_s": 10.0}, ["window"]),
        ({"buffer_limited_s": 50.0}, ["buffer"]),
        ({"busy_s": 89.0}, ["application"]),
        ({"busy_s": 0.0, "total_segments_retransmitted": 0, "in_slow_start": True}, ["connection"]),
        ({"total_segments_retransmitted": 0, "in_slow_start": True}, ["slow start"]),
        ({"total_segments_retransmitted": 0}, []),
        ({"in_slow_start": True}, []),
    ],
)
def test_a_flow_is_limited_by_something_else_beyond_a_tenth_of_its_time(row, reasons):
    assert limited_senders(results(row))["reason"].to_list() == reasons


def test_streams_that_are_meant_to_write_little_are_not_accused_of_it():
    quiet = {"busy_s": 1.0, "total_segments_retransmitted": 0, "in_slow_start": True}
    assert limits_in_words(results(quiet, kind="thin")) == []


def test_a_stream_that_has_sent_its_volume_is_not_accused_of_having_nothing_to_send():
    early = {"busy_s": 50.0}
    assert limited_senders(results(early))["reason"].to_list() == ["application"]
    assert limits_in_words(results(early, volume="1 MB")) == []
    never_sent = {"busy_s": 0.0}
    assert limited_senders(results(never_sent, volume="1 MB"))["reason"].to_list() == ["connection"]


def test_a_stream_that_stops_is_not_accused_of_having_nothing_to_send():
    early = {"busy_s": 50.0}
    assert limited_senders(results(early, stop="50 s")).is_empty()


def test_lost_syn_is_not_idle_time_of_application():
    late = {"open_s": 30.0, "busy_s": 26.9}
    assert limited_senders(results(late, setup_s=3.1)).is_empty()
    assert limited_senders(results(late))["reason"].to_list() == ["application"]
    assert limited_senders(results(late, setup_s=None))["reason"].to_list() == ["application"]


def test_the_warning_counts_the_flows_of_a_group():
    assert limits_in_words(results({"window_limited_s": 60.0}, {}, {})) == [
        "Congestion control was not exercised: in 1 of 3 flows of group one the receiver's window "
        "held data back for more than 10% of the time. What these flows did says little about "
        "their congestion control."
    ]


def grid(**labels: tuple[str, ...]) -> Plan:
    axes = tuple(Axis(name, name, values) for name, values in labels.items())
    every = enumerate(product(*labels.values()))
    cells = tuple(Cell(n, dict(zip(labels, values, strict=True)), {}) for n, values in every)
    return Plan("grid", "", (), axes, cells, (), {})


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([0, 1, 2, 3, 4, 5], ""),
        ([], ""),
        ([1, 4], "count 2"),
        ([0, 1, 2], "control reno"),
        ([0, 2, 3, 5], "count 1 or 8"),
        ([5], "control bbr, count 8"),
        ([0, 5], "control reno, count 1; control bbr, count 8"),
        (
            [0, 1, 2, 3, 4],
            "control reno, count 1; control reno, count 2; control reno, count 8; "
            "control bbr, count 1; and 1 more",
        ),
    ],
)
def test_cells_are_named_by_the_values_that_they_share(cells, words):
    plan = grid(control=("reno", "bbr"), count=("1", "2", "8"), rtt=("1 ms",))
    assert plan.cells_in_words(cells) == words


def test_many_values_of_an_axis_are_counted():
    plan = grid(count=tuple("123456"))
    assert plan.cells_in_words([0, 1, 2, 3, 4]) == "count 1, 2, 3 and 2 more values"


def test_warning_names_the_cells_that_it_is_about():
    run = results({"window_limited_s": 60.0}, {}, {"cell": 1})
    experiment = run.manifest.plan.cells[0].experiment
    plan = grid(control=("reno", "bbr"))
    plan = replace(plan, cells=tuple(replace(one, experiment=experiment) for one in plan.cells))
    run.manifest.plan = plan
    (text,) = limits_in_words(run)
    assert text.startswith(
        "Congestion control was not exercised with control reno: in 1 of 2 flows of group one "
    )


def test_runs_that_do_not_tell_are_not_warned_of():
    assert limits_in_words(SimpleNamespace(senders=None)) == []


def test_a_setting_of_an_axis_is_meant_for_the_scenarios_that_have_it():
    head = 'name = "x"\n[sweep]\n'
    texts = [head + '"path.rtt" = ["1 ms"]\n', head + "[sweep.control]\nreno = {}\n"]
    settings = {
        "sweep.path.rtt": "a",
        'sweep."path.rtt"': "b",
        "sweep.control": "c",
        "sweep.repeat": "d",
        "sweep.path.rate": "e",
        "duration": "f",
    }
    first, second = meant_for(texts, settings)
    assert set(first.values()) == {"a", "b", "d", "e", "f"}
    assert set(second.values()) == {"c", "d", "e", "f"}


def test_labels_are_meant_for_the_scenarios_that_have_them_and_others_are_left_out():
    head = 'name = "x"\n[sweep.control]\n'
    texts = [head + "reno = {}\nhtcp = {}\n", head + "htcp = {}\n", head + "fast = {}\n"]
    chosen = '["reno", "htcp"]'
    assert meant_for(texts, {"sweep.control": chosen}) == [
        {"sweep.control": chosen},
        {"sweep.control": '["htcp"]'},
        None,
    ]
    # What nobody has is the scenario's to say; so is what is no list of labels.
    assert meant_for(texts, {"sweep.control": '["reno", "mine"]'}) == [
        {"sweep.control": '["reno", "mine"]'},
        {"sweep.control": '["mine"]'},
        {"sweep.control": '["mine"]'},
    ]
    for value in ("{ mine = {} }", "[]"):
        assert meant_for(texts, {"sweep.control": value}) == [{"sweep.control": value}] * 3
