"""Folders of captures that were analysed, beside folders of runs: compared, shown, reported."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fairwind.analysis.settings import AnalysisSettings, When
from fairwind.analysis.source import find_source
from fairwind.compare import Comparison, compare
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.execution.folder import with_leading_columns
from fairwind.folder.manifest import CAPTURE_ENGINE, Captured, CaptureInput, Manifest, read_manifest
from fairwind.report.page import connections_of, write_report
from fairwind.report.warnings import warnings
from fairwind.results import Results, overview
from fairwind.scenario import Plan
from made_up import ScriptedEngine, plan, tables


def captured_folder(out: Path, *, made_by: str | None = None, run: Plan | None = None) -> Results:
    """Write what the analysis of a capture at the sender would: it knows of no arrivals."""
    source = run or Plan.of_one_cell("sender.pcap", "", {"inputs": ["sender.pcap"]})
    captured = Captured(
        inputs=(CaptureInput("sender.pcap", "sender", 24, "00"),),
        settings={"percentiles": [50, 99]},
        made_by=made_by,
        notes=("a record ends in the middle of a packet (byte 4711)",),
        caveats=("packets larger than the MSS: offload was on",),
    )
    out.mkdir()
    manifest = Manifest.of_run(
        source,
        CAPTURE_ENGINE,
        {"fairwind": "0"},
        columns=[],
        facts={},
        study=None,
        captured=captured,
    )
    manifest.write(out)
    for cell in source.cells:
        measured = tables(plan((1,)).cells[0].experiment, seed=101)
        known = {
            "flows": measured["flows"],
            "groups": measured["groups"].with_columns(
                pl.lit(None, pl.Float64).alias("goodput_bits_per_second"),
                pl.lit(None, pl.Float64).alias("delivery_latency_p99_s"),
            ),
            "connections": pl.DataFrame({"connection": [1], "group": ["thin"]}),
        }
        for name, frame in with_leading_columns(
            known, source.axes, cell, 0, source.seed_of(0)
        ).items():
            frame.write_parquet(out / f"{name}.parquet")
    return Results(out)


@pytest.fixture
def alone(tmp_path) -> Results:
    """Give the folder of a foreign capture."""
    return captured_folder(tmp_path / "capture")


def test_a_manifest_tells_again_what_was_read(alone):
    written = read_manifest(alone.folder).captured
    assert written is not None
    assert written.inputs == (CaptureInput("sender.pcap", "sender", 24, "00"),)
    assert written.notes == ("a record ends in the middle of a packet (byte 4711)",)


def test_a_capture_has_one_replicate_and_no_seed(alone):
    assert alone.manifest.plan.replicates == 1
    assert alone.manifest.plan.seeds == ()
    assert alone.groups["seed"].to_list() == [None, None]


def test_tables_of_captures_alone_are_listed_behind_the_usual_ones(alone):
    assert alone.table_names == ["flows", "groups", "connections"]


def test_what_nobody_watched_is_not_in_the_overview(alone):
    (estimates,) = overview(alone).values()
    measures = estimates.frame["measure"].unique().to_list()
    assert "throughput_bits_per_second" in measures
    assert "goodput_bits_per_second" not in measures


def test_warnings_tell_what_was_wrong_and_nothing_of_replicates(alone):
    assert warnings(alone) == [
        "packets larger than the MSS: offload was on",
        "a record ends in the middle of a packet (byte 4711)",
    ]


def test_a_capture_is_compared_with_a_run_without_what_it_does_not_know(alone, tmp_path):
    grid = plan((1,))
    one = Plan.from_document(grid.document | {"axes": []}, ())
    run = run_plan(one, ScriptedEngine(), RunSettings(1, tmp_path / "run"))
    differences = compare(run, alone)
    assert "throughput_bits_per_second" in differences["measure"].to_list()
    assert "goodput_bits_per_second" not in differences["measure"].to_list()
    text = "\n".join(Comparison(run, alone).head())
    assert "left out, since one of them does not know it: goodput_bits_per_second" in text
    assert "a capture does not contain them" in text


def test_a_measure_that_one_does_not_know_is_refused_by_name(alone):
    with pytest.raises(FairwindError, match="has no values of 'goodput_bits_per_second'"):
        compare(alone, alone, measures=["goodput_bits_per_second"])


def test_captures_of_a_simulated_run_are_paired_with_it_by_seed(tmp_path):
    grid = plan((1,), replicates=1)
    run = run_plan(grid, ScriptedEngine(), RunSettings(1, tmp_path / "run"))
    seen = captured_folder(tmp_path / "seen", made_by="simulation", run=grid)
    differences = compare(run, seen, measures=["throughput_bits_per_second"])
    assert differences["pairs"].to_list() == [1, 1]
    assert differences["difference"].to_list() == [0, 0]


def test_the_page_of_a_capture_names_its_files_and_no_seeds(alone):
    text = write_report(alone).page.read_text(encoding="utf-8")
    assert "sender: sender.pcap (24 B)" in text
    assert "<dt>Seeds</dt>" not in text
    assert "offload was on" in text


def test_directions_of_a_program_behind_a_path_are_separated(tmp_path):
    flows = [{"name": "from-program"}, {"name": "to-program"}]
    behind = Plan.of_one_cell("shell", "", {"duration": "36000000 s", "flows": flows})
    run = tmp_path / "shell"
    cell = run / "cells" / "0000-0000"
    cell.mkdir(parents=True)
    (cell / "sender.pcapng").touch()
    versions = {"fairwind": "0"}
    manifest = Manifest.of_run(behind, "kernel", versions, columns=[], facts={}, study=None)
    manifest.write(run)
    pl.DataFrame(
        {
            "name": [
                "100.64.0.1:1 > 100.64.0.2:2",
                "100.64.0.2:2 > 100.64.0.1:1",
                "[fd00::2]:2 > x",
            ],
            "group": ["to-program", "from-program", "from-program"],
            "measured_s": [2.5, 2.5, 2.5],
        }
    ).write_parquet(run / "flows.parquet")
    source = find_source([str(run)])
    settings = source.settings_of(source.taps[0], AnalysisSettings())
    assert settings.groups == (
        ("from-program", "src host 100.64.0.2 or src host fd00::2"),
        ("to-program", "dst host 100.64.0.2 or dst host fd00::2"),
    )
    assert settings.end == When(2_500_000_000)


def test_the_page_of_a_capture_shows_connections_with_the_longest_waits_first(tmp_path):
    results = captured_folder(tmp_path / "capture")
    flows = pl.DataFrame(
        {
            "cell": 0,
            "replicate": 0,
            "flow": range(800),
            "name": [f"10.0.0.1:{n}>10.0.0.2:80" for n in range(800)],
            "group": "thin",
            "payload_bytes_sent": 100,
            "payload_bytes_received": 100,
            "packets_sent": 1,
            "ack_latency_max_s": [n / 1000 for n in range(800)],
        }
    )
    flows.write_parquet(results.folder / "flows.parquet")
    connections = connections_of(results)
    assert connections is not None
    assert connections.headers[:2] == ["connection", "ACK latency max / ms"]
    assert connections.rows[0][:2] == ["10.0.0.1:799>10.0.0.2:80", 799.0]
    assert (len(connections.rows), connections.total) == (100, 800)
    page = write_report(results).page.read_text(encoding="utf-8")
    assert "the first 100 of 800" in page
    assert "flows.parquet" in page
    assert "10.0.0.1:700&gt;10.0.0.2:80" in page
