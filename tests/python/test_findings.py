"""The lines that an analysis of captures ends with, from tables that are known."""

from __future__ import annotations

import json
from types import SimpleNamespace

import polars as pl
import pytest

from fairwind.analysis.findings import findings
from process import fairwind

FLOW = {"cell": 0, "replicate": 0, "packets_sent": 100, "packets_lost": 0}
TRANSPORT = {
    "scope": "flow",
    "data_segments": 90,
    "retransmitted_segments": 0,
    "fast_retransmit_segments": 0,
    "timeout_segments": 0,
    "after_timeout_segments": 0,
    "tail_loss_probe_segments": 0,
    "unknown_segments": 0,
    "spurious_by_report": 0,
    "timeouts": 0,
    "rtt_samples": 50,
    "rtt_min_s": 0.05,
    "rtt_mean_s": 0.06,
    "idle_ratio": 0.9,
    "application_limited_ratio": 0.1,
    "receiver_limited_ratio": 0.0,
    "congestion_limited_ratio": 0.0,
    "zero_windows": 0,
    "zero_window_s": 0.0,
}
SCHEMA = {"packets_sent": pl.UInt64, "packets_lost": pl.UInt64}


def results(*flows: dict[str, object], **tables: pl.DataFrame) -> SimpleNamespace:
    """Give tables of flows that are named a, b, ..., with the given changes."""
    names = [{"flow": n, "name": "abcdef"[n], **flow} for n, flow in enumerate(flows)]
    rows = [{key: one.get(key, FLOW.get(key)) for key in ("flow", "name", *FLOW)} for one in names]
    known = [{key: one.get(key, value) for key, value in TRANSPORT.items()} for one in names]
    tables |= {
        "flows": pl.DataFrame(rows, schema_overrides=SCHEMA),
        "transport": pl.DataFrame(known).with_columns(flow=pl.int_range(pl.len())),
    }
    return SimpleNamespace(
        has_table=lambda name: name in tables,
        scan=lambda name: tables[name].lazy(),
        manifest=SimpleNamespace(plan=SimpleNamespace(seeds=())),
    )


def texts(*flows: dict[str, object], **tables: pl.DataFrame) -> dict[str, str]:
    return {one.topic: one.text for one in findings(results(*flows, **tables))}


def test_losses_name_the_most_and_the_largest_share():
    found = texts(
        {"packets_lost": 5, "packets_sent": 1000}, {"packets_lost": 2, "packets_sent": 10}
    )
    assert found["lost"] == (
        "7 of 1010 packets (0.69 %); most in a: 5 of its 1000 (0.5 %); "
        "largest share in b: 2 of its 10 (20 %)"
    )
    assert texts({"packets_lost": 5}, {})["lost"] == (
        "5 of 200 packets (2.5 %); most in a: 5 of its 100 (5 %)"
    )
    assert texts({}, {})["lost"] == "0 of 200 packets"


def test_repairs_are_counted_by_cause():
    repairs = {"retransmitted_segments": 9, "fast_retransmit_segments": 6, "timeout_segments": 3}
    found = texts(repairs | {"spurious_by_report": 2, "timeouts": 3}, {})
    assert found["sent again"].startswith("9 of 180 data segments (5 %); most in a: 9 of its 90")
    assert found["causes"] == "6 by fast retransmit; 3 by time-out; 2 of all reported as duplicates"
    assert found["time-outs"] == "3; most in a: 3"
    assert {"causes", "time-outs"}.isdisjoint(texts({}))


def test_receiver_shows_estimates_and_no_limits():
    near = {"packets_sent": None, "packets_lost": None}
    repairs = {"retransmitted_segments": 3, "timeout_segments": 3, "timeouts": 3}
    found = texts(near | repairs)
    assert found["causes"] == "3 by time-out (estimated, seen near the receiver)"
    assert {"lost", "time-outs", "round trips", "limited by"}.isdisjoint(found)


def test_round_trips_are_those_that_grew_most():
    found = texts({"rtt_mean_s": 0.2, "rtt_min_s": 0.19}, {"rtt_mean_s": 0.15}, {"rtt_samples": 3})
    assert found["round trips"] == (
        "150 ms on average and 50 ms at least in b, where the two are furthest apart"
    )
    assert "round trips" not in texts({"rtt_samples": 3})


def test_limits_count_connections():
    held = {"idle_ratio": 0.0, "application_limited_ratio": 0.1, "congestion_limited_ratio": 0.9}
    found = texts({}, {}, held)
    assert (
        found["limited by"] == "application in 2 connections; congestion window in 1 connection (c)"
    )
    assert texts({})["limited by"] == "application in 1 connection"


def test_closed_windows_name_the_longest():
    found = texts(
        {"zero_windows": 1, "zero_window_s": 0.5}, {"zero_windows": 2, "zero_window_s": 2.0}
    )
    assert found["closed windows"] == "3 times in 2 connections; longest in b: 2 s in all"
    assert "closed windows" not in texts({})


def windows(column: str, *values: float, group: str = "all", **more: object) -> pl.DataFrame:
    rows = {"interval_s": 1.0, "start_s": [float(n) for n in range(len(values))], "group": group}
    return pl.DataFrame(rows | {column: values, **more})


def test_windows_with_losses_are_named_over_all_groups():
    losses = pl.concat(
        [
            windows("packets_lost", 0, 2, 0, 3, group="x"),
            windows("packets_lost", 0, 4, 0, 0, group="y"),
        ]
    )
    assert texts({}, losses=losses)["when"] == (
        "losses in 2 windows of 1 s: the first from 1 s on, the last from 3 s on, "
        "most (6) from 1 s on"
    )
    assert texts({}, losses=windows("packets_lost", 0, 7))["when"] == (
        "losses in 1 window of 1 s, from 1 s on (7)"
    )
    for values in ((0, 0), (5,)):
        assert "when" not in texts({}, losses=windows("packets_lost", *values))


def test_shortest_windows_count():
    short = windows("packets_lost", 0, 2)
    long = short.with_columns(interval_s=pl.lit(10.0), start_s=pl.lit(0.0))
    assert "from 1 s on (2)" in texts({}, losses=pl.concat([long, short]))["when"]


def test_one_capture_has_windows_of_payload_sent_again():
    repeated = windows("bytes_retransmitted", 0, 1448, scope="group")
    of_flow = windows("bytes_retransmitted", 99, 99, scope="flow")
    intervals = pl.concat([repeated, of_flow])
    assert texts({}, intervals=intervals)["when"] == (
        "payload sent again in 1 window of 1 s, from 1 s on (1448 B)"
    )


def test_connection_that_never_saw_an_empty_queue_is_named():
    delays = pl.DataFrame(
        {
            "scope": ["flow", "flow", "flow", "group"],
            "layer": ["network", "network", "transport", "network"],
            "flow": [0, 1, 1, None],
            "min_s": [0.03, 0.1, 0.0, 0.0],
            "variation_mean_s": [0.3, 0.3, 0.3, 0.3],
        }
    )
    assert texts({}, {}, delays=delays)["empty queue"].startswith(
        "never seen by b: its smallest delay is 70 ms above that of another connection"
    )
    near = delays.with_columns(pl.lit(0.03).alias("min_s"))
    assert "empty queue" not in texts({}, {}, delays=near)
    assert "empty queue" not in texts({}, {"packets_sent": None}, delays=delays)


def test_queueing_is_the_mean_over_ranges():
    queueing = pl.concat(
        [
            windows("mean_s", 0.0, 0.1, group="x", ranges=[10, 30]),
            windows("mean_s", 0.0, 0.5, group="y", ranges=[10, 10]),
        ]
    )
    assert texts({}, queueing=queueing)["queueing"] == (
        "mean delay beyond a flow's smallest, in windows of 1 s: 0 us to 200 ms, most from 1 s on"
    )


def test_failed_attempts_and_resets_are_counted():
    counts = {"attempts": 7, "unanswered": 2, "refused": 0, "half_open": 1}
    setups, endings = pl.DataFrame([counts]), pl.DataFrame({"ending": ["reset", "closed"]})
    assert texts({}, setups=setups, connections=endings)["connections"] == (
        "of 7 attempts 2 unanswered, 1 half open; 1 connection reset"
    )
    fine = setups.with_columns(pl.col("unanswered", "half_open") * 0)
    assert "connections" not in texts({}, setups=fine, connections=endings.tail(1))


def test_captures_of_several_runs_have_no_lines():
    assert findings(results({}, {"replicate": 1})) == []


SCENARIO = """
name = "losses"
duration = "6 s"

[path]
rate = "2 Mbit/s"
rtt = "40 ms"
queue = { discipline = "pfifo", limit = "10 packets" }

[[flows]]
name = "upload"
count = 2
workload = { kind = "greedy" }

[capture]
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captures")
    (folder / "losses.toml").write_text(SCENARIO, encoding="utf-8")
    code, _, error = fairwind("run", "losses.toml", "--out", "run", cwd=folder)
    assert code == 0, error
    return folder / "run" / "cells" / "0000-0000"


def test_analysis_ends_with_the_lines(captures, tmp_path):
    files = [captures / f"{side}.pcapng" for side in ("sender", "receiver")]
    code, out, error = fairwind("analyse", *files, "--out", "seen", cwd=tmp_path)
    assert code == 0, error
    table = out.partition("in short")[2]
    lost = pl.read_parquet(tmp_path / "seen" / "flows.parquet")["packets_lost"].sum()
    assert f"\nlost          {lost} of " in table
    assert "congestion window in 2 connections" in table
    _, out, _ = fairwind("analyse", *files, "--format", "json", cwd=tmp_path)
    document = json.loads(out)
    assert document["findings"][0]["topic"] == "lost"
    assert document["findings"][0]["text"].startswith(f"{lost} of ")


def test_table_of_intervals_names_the_others(captures, tmp_path):
    files = [captures / f"{side}.pcapng" for side in ("sender", "receiver")]
    for taps, is_named in ((files, True), (files[:1], False)):
        code, _, error = fairwind("analyse", *taps, "--table", "intervals", cwd=tmp_path)
        assert code == 0, error
        assert ("--table queueing (delays)" in error) == is_named
        assert "limits need a part: --from 15s --to 20s" in error
