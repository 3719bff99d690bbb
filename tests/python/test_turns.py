"""Turns, first data and incomplete intervals of captures of requests and responses."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import fairwind as package
from fairwind.analysis.caveats import incomplete_windows
from fairwind.analysis.summary import TURNS_PER_FLOW, readable_summary, summary_of
from fairwind.cli.differences import readable_differences
from fairwind.compare import Comparison, compare
from process import fairwind

RTT_S = 0.04
MILLISECOND = 0.001


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> package.Results:
    """Run requests and responses on an idle path, with captures of both sides."""
    rpc = {"kind": "request-response", "request": "200 B", "response": "9 kB", "pause": "90 ms"}
    scenario = {
        "name": "talk",
        "duration": "4.3 s",
        "path": {"rate": "5 Mbit/s", "rtt": "40 ms"},
        "capture": {},
        "flows": [
            {"name": "rpc", "workload": rpc},
            {"name": "late", "start": "2 s", "workload": {"kind": "greedy", "volume": "20 kB"}},
        ],
    }
    return package.run(scenario, out=tmp_path_factory.mktemp("turns") / "run")


def captures(run: package.Results) -> list[Path]:
    return [run.capture_folder(0) / f"{side}.pcapng" for side in ("sender", "receiver")]


@pytest.fixture(scope="module")
def seen(run) -> package.Results:
    """Analyse the captures of both sides."""
    return package.analyse(*captures(run))


def turns_of(results: package.Results, tap: str, kind: str) -> dict:
    rows = results.table("turns").filter(scope="group", responder="answerer", tap=tap, kind=kind)
    (row,) = rows.to_dicts()
    return row


def test_time_to_last_byte_is_response_time_of_run(run, seen):
    known = run.groups.row(by_predicate=pl.col("group") == "rpc", named=True)
    found = turns_of(seen, "near-requester", "last_byte")
    assert found["turns"] > 10
    # Requests leave as soon as they are written.
    assert found["p50_s"] == pytest.approx(known["response_time_p50_s"], abs=MILLISECOND)


def test_server_answers_at_once_and_response_takes_round_trip(seen):
    assert turns_of(seen, "near-responder", "first_byte")["max_s"] < MILLISECOND
    assert turns_of(seen, "near-requester", "first_byte")["min_s"] >= RTT_S


def test_summary_has_answers_only_of_dialogues(seen):
    tables = {name: seen.table(name) for name in seen.table_names}
    summary = summary_of(tables, "group", 10)
    found = turns_of(seen, "near-requester", "first_byte")
    assert summary["first_response_byte_p50_s"].drop_nulls().to_list() == [found["p50_s"]]
    assert summary["answered_after_p99_s"].drop_nulls().max() < MILLISECOND
    flows = pl.col("flows") * (pl.col("turns") // TURNS_PER_FLOW + 1)
    rare = tables | {"turns": tables["turns"].with_columns(flows)}
    assert "answered_after_p50_s" not in summary_of(rare, "group", 10).columns


def test_connections_show_when_their_first_data_passed(seen):
    headers, rows = readable_summary(seen, 10)[1]
    place = headers.index("first data at / s")
    started = sorted(row[place] for row in rows)
    assert re.fullmatch(r"0\.0\d\d", started[0])
    assert re.fullmatch(r"2\.0\d\d", started[-1])


def test_incomplete_interval_is_noted_with_its_packets(run, seen, tmp_path):
    (note,) = incomplete_windows(seen)
    windows = seen.table("intervals").filter(scope="group")
    packets = seen.groups["packets_sent"].sum() - windows["packets_sent"].sum()
    assert packets > 0
    assert note.startswith("intervals of 1 s: the last one, from 4.000 to 4.")
    assert note.endswith(f"is incomplete and not shown; it has {packets} packets, 0 of them lost")
    paths = [str(path) for path in captures(run)]
    _, _, error = fairwind("analyse", *paths, "--interval", "1s", cwd=tmp_path)
    assert f"note: {note}" in error
    _, _, error = fairwind("analyse", *paths, cwd=tmp_path)
    assert "incomplete" not in error


def test_comparison_of_captures_has_delays_and_no_empty_columns(seen):
    differences = compare(seen, seen)
    found = differences.filter(measure="in_order_delivery_p99_s")
    delays = seen.table("delays").filter(scope="group", layer="application")
    assert found["mean_a"].to_list() == delays["variation_p99_s"].to_list()
    assert "one_way_variation_p50_s" in differences["measure"].to_list()
    headers, _ = readable_differences(differences)
    assert headers == ["of", "measure", "A", "B", "B / A - 1"]


def test_comparison_of_single_captures_has_no_tests_and_no_fairness(run, seen):
    assert set(compare(seen, seen)["table"]) == {"groups", "delays"}
    assert "jain_index" in compare(seen, seen, measures=["jain_index"])["measure"]
    words = ("Welch", "Holm", "pairs")
    assert not any(word in line for line in Comparison(seen, seen).head() for word in words)
    assert any("Welch" in line for line in Comparison(run, seen).head())
