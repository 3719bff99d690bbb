"""Workloads that need more than the scenario's own text."""

from pathlib import Path

import polars as pl
import pytest

from fairwind.errors import FairwindError
from fairwind.scenario import load, recorded_streams

SCENARIO = """
name = "a replay"
duration = "10 s"
[path]
rate = "10 Mbit/s"
rtt = "100 ms"
[[flows]]
name = "replay"
workload = { kind = "replay", file = "writes.csv" }
"""


def scenario_in(folder: Path) -> Path:
    """Write the scenario, and give its path."""
    file = folder / "replay.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


def test_writes_beside_the_scenario_are_replayed_and_stand_in_the_plan(tmp_path: Path) -> None:
    file = scenario_in(tmp_path)
    (tmp_path / "writes.csv").write_text("seconds,bytes\n0,120\n2.5,3000\n", encoding="utf-8")
    scenario = load(file)
    workload = scenario.plan.cells[0].experiment["flows"][0]["workload"]
    assert workload["writes"] == [{"at": "0 ns", "size": "120 B"}, {"at": "2.5 s", "size": "3 kB"}]
    groups = scenario.run(out=tmp_path / "run", jobs=1).table("groups")
    assert groups["payload_bytes_read"].to_list() == [3120]
    assert groups["flows_finished"].to_list() == [1]


def test_a_missing_list_of_writes_is_named(tmp_path: Path) -> None:
    with pytest.raises(FairwindError, match=r"cannot read the recorded writes .*writes\.csv"):
        _ = load(scenario_in(tmp_path)).plan


def test_a_line_that_is_no_write_is_named_with_its_file(tmp_path: Path) -> None:
    file = scenario_in(tmp_path)
    (tmp_path / "writes.csv").write_text("0,120\nsoon,3\n", encoding="utf-8")
    with pytest.raises(Exception, match=r"writes\.csv:2: .*a line has seconds, a comma and bytes"):
        _ = load(file).plan


def test_a_capture_of_a_run_is_replayed_as_it_was_written(tmp_path: Path) -> None:
    file = scenario_in(tmp_path)
    (tmp_path / "writes.csv").write_text("0,120\n2.5,30\n2.75,5000\n", encoding="utf-8")
    captured = SCENARIO + '[capture]\npoints = ["sender"]\n'
    file.write_text(captured, encoding="utf-8")
    load(file).run(out=tmp_path / "run", jobs=1)
    (capture,) = (tmp_path / "run").rglob("sender.pcapng")
    again = tmp_path / "again.toml"
    name = capture.relative_to(tmp_path)
    again.write_text(SCENARIO.replace("writes.csv", str(name)), encoding="utf-8")
    workload = load(again).plan.cells[0].experiment["flows"][0]["workload"]
    assert workload["writes"] == [
        {"at": "0 ns", "size": "120 B"},
        {"at": "2.5 s", "size": "30 B"},
        {"at": "2.75 s", "size": "5 kB"},
    ]
    other = load(again).with_settings({"flows.replay.workload.connection": "port 9"})
    with pytest.raises(FairwindError, match="no connection that carries data matches"):
        _ = other.plan


def test_only_a_capture_has_connections(tmp_path: Path) -> None:
    file = scenario_in(tmp_path)
    (tmp_path / "writes.csv").write_text("0,120\n", encoding="utf-8")
    scenario = load(file).with_settings({"flows.replay.workload.connection": "port 9"})
    with pytest.raises(FairwindError, match="it is not a capture"):
        _ = scenario.plan


LINK = """
name = "a recorded link"
duration = "2 s"
[path]
rtt = "20 ms"
rate_trace = { file = "cell.trace" }
impairments = { loss = { model = "recorded", file = "lost.txt" } }
[[flows]]
name = "calls"
workload = { kind = "constant", rate = "1 Mbit/s", packet = "1250 B" }
"""


def test_a_link_follows_what_the_files_beside_the_scenario_say(tmp_path: Path) -> None:
    file = tmp_path / "link.toml"
    file.write_text(LINK, encoding="utf-8")
    (tmp_path / "lost.txt").write_text("# every fourth packet\n0001\n", encoding="utf-8")
    # 1500 B each 5 ms: 2.4 Mbit/s.
    (tmp_path / "cell.trace").write_text("5\n10\n", encoding="utf-8")
    scenario = load(file)
    link = scenario.plan.cells[0].experiment["network"]["links"][0]
    assert link["rate_trace"] == {"form": "opportunities", "milliseconds": [5, 10]}
    assert link["rate"] == "2.4 Mbit/s"
    queues = scenario.run(out=tmp_path / "run", jobs=1).table("queues")
    bottleneck = queues.row(by_predicate=pl.col("queue") == "bottleneck", named=True)
    # A packet of 1250 B each 10 ms, of which a few are on their way at the end.
    assert bottleneck["drops_link_loss_packets"] in (49, 50)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cell.trace", "cannot read the recorded rate"),
        ("lost.txt", "cannot read the recorded losses"),
    ],
)
def test_a_missing_recording_is_named_with_what_it_should_be(
    tmp_path: Path, name: str, message: str
) -> None:
    file = tmp_path / "link.toml"
    file.write_text(LINK, encoding="utf-8")
    for there in {"cell.trace", "lost.txt"} - {name}:
        (tmp_path / there).write_text("1\n", encoding="utf-8")
    with pytest.raises(FairwindError, match=message) as caught:
        _ = load(file).plan
    assert name in str(caught.value)
    assert caught.value.hint is not None
    assert "give the name of" in caught.value.hint


def test_recorded_applications_are_listed_as_printed() -> None:
    streams = recorded_streams()
    assert streams.height == 19
    age_of_conan = streams.row(by_predicate=pl.col("application") == "Age of Conan", named=True)
    assert age_of_conan == {
        "application": "Age of Conan",
        "recorded_over": "tcp",
        "payload_min_bytes": 5,
        "payload_mean_bytes": 80,
        "payload_max_bytes": 1460,
        "interval_mean_s": pytest.approx(0.086),
        "interval_median_s": pytest.approx(0.057),
        "interval_min_s": 0.0,
        "interval_max_s": pytest.approx(1.375),
        "interval_percentile_1_s": pytest.approx(0.024),
        "interval_percentile_99_s": pytest.approx(0.386),
        "packets_per_second": 11.6,
        "bits_per_second": 12375.0,
    }
    greedy = streams.filter(pl.col("interval_mean_s").is_null())["application"].to_list()
    assert greedy == ["HTTP download", "FTP download"]


def test_datagrams_have_no_established_connection_that_is_missed(tmp_path: Path) -> None:
    file = tmp_path / "call.toml"
    text = SCENARIO.replace(
        '{ kind = "replay", file = "writes.csv" }',
        '{ kind = "constant", rate = "1 Mbit/s", packet = "1500 B" }',
    )
    file.write_text(text, encoding="utf-8")
    results = load(file).run(out=tmp_path / "run", jobs=1)
    assert results.table("flows")["established"].to_list() == [None]
    from fairwind.report.warnings import warnings

    assert not [line for line in warnings(results) if "established" in line]
