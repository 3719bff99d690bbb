"""Runs in real time: the messages before, one at a time, refusals, and lateness afterwards."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from fairwind.engine.engines import Refusal
from fairwind.errors import FairwindError
from fairwind.execution.admission import plan_seconds
from fairwind.execution.execute import RunSettings, RunState, run_plan
from fairwind.quantities import time_in_words
from fairwind.report.page import write_report
from fairwind.report.warnings import warnings
from fairwind.results import lateness_by_cell, lateness_in_words, open_results, readable_overview
from made_up import ScriptedEngine, plan

HYSTART = Refusal(
    group="thin",
    key="flows.thin.tcp.hystart",
    value="false",
    mechanism="HyStart belongs to the module tcp_cubic, for all of the machine",
    alternative='congestion = "reno"',
)


def kernel(**settings: object) -> ScriptedEngine:
    return ScriptedEngine(name="kernel", is_real_time=True, **settings)


def states_of(engine: ScriptedEngine, settings: RunSettings) -> list[RunState]:
    states: list[RunState] = []
    run_plan(plan((1, 4), replicates=3), engine, settings, states.append)
    return states


def test_runs_in_real_time_are_made_one_at_a_time_unless_more_are_asked_for(tmp_path):
    assert states_of(kernel(), RunSettings(out=tmp_path / "a"))[0].jobs == 1
    assert states_of(kernel(), RunSettings(jobs=3, out=tmp_path / "b"))[0].jobs == 3


def test_how_long_it_takes_is_known_before_anything_runs(tmp_path):
    engine = kernel()
    first = states_of(engine, RunSettings(out=tmp_path))[0]
    assert first.finished == 0
    assert first.expected_s == pytest.approx(6 * 90, rel=0.05)
    assert states_of(ScriptedEngine(), RunSettings(out=tmp_path / "sim"))[0].expected_s is None


def test_several_jobs_shorten_the_wait_but_never_below_one_run():
    grid = plan((1, 4), replicates=3)
    assert plan_seconds(grid, 3) == pytest.approx(plan_seconds(grid) / 3)
    assert plan_seconds(grid, 100) == pytest.approx(plan_seconds(plan((1,), replicates=1)))


@pytest.mark.parametrize(
    ("seconds", "words"), [(12.4, "12.4 s"), (119, "119 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_duration_is_rounded(seconds, words):
    assert time_in_words(seconds) == words


def test_what_is_finished_is_not_expected_again(tmp_path):
    states_of(kernel(), RunSettings(out=tmp_path))
    assert states_of(kernel(), RunSettings(out=tmp_path))[0].expected_s == 0


def test_all_refusals_are_reported_before_runs(tmp_path):
    def refused(experiment: dict) -> list[Refusal]:
        many = experiment["flows"][0]["count"] == 4
        everywhere = Refusal("", "path.mtu", "70 kB", "too large for IPv4", "")
        return [everywhere, HYSTART] if many else [everywhere]

    engine = kernel(refused=refused)
    with pytest.raises(FairwindError) as caught:
        run_plan(plan((1, 4)), engine, RunSettings(out=tmp_path / "run"))
    lines = str(caught.value).splitlines()
    assert lines[1] == "  path.mtu = 70 kB: too large for IPv4"
    assert lines[2] == (
        "  flows.thin.tcp.hystart = false: HyStart belongs to the module tcp_cubic, for all of the "
        'machine; nearest: congestion = "reno" (where flows.*.count = 4)'
    )
    assert engine.executions == 0
    assert not (tmp_path / "run").exists()


def test_equal_refusals_of_groups_are_merged(tmp_path):
    def refused(_: dict) -> list[Refusal]:
        return [
            Refusal(name, f"flows.{name}.tcp.profile", "rfc", "another system", "leave it out")
            for name in ("thin", "greedy")
        ]

    with pytest.raises(FairwindError) as caught:
        run_plan(plan((1,)), kernel(refused=refused), RunSettings(out=tmp_path / "run"))
    assert str(caught.value).splitlines()[1] == (
        "  flows.thin.tcp.profile, flows.greedy.tcp.profile = rfc: another system; "
        "nearest: leave it out"
    )


def test_missing_facility_is_reported_once(tmp_path):
    engine = kernel(problem="/dev/net/tun cannot be opened")
    with pytest.raises(FairwindError, match=r"(?s)/dev/net/tun.*--on sim"):
        run_plan(plan(), engine, RunSettings(out=tmp_path / "run"))
    assert engine.executions == 0


def test_a_host_that_dies_fails_its_own_run_alone(tmp_path):
    def script(number: int) -> None:
        if number == 1:
            raise RuntimeError("host thin-sender was killed (signal 9)")

    results = run_plan(plan(), kernel(script=script), RunSettings(out=tmp_path))
    (failure,) = results.failures
    assert "host thin-sender was killed" in str(failure)
    assert results.groups.select("cell", "replicate").unique().height == 3


def test_a_simulation_is_never_taken_up_by_the_kernel_nor_the_other_way_round(tmp_path):
    run_plan(plan(), ScriptedEngine(), RunSettings(out=tmp_path))
    with pytest.raises(FairwindError, match="another engine, scripted"):
        run_plan(plan(), kernel(), RunSettings(out=tmp_path))


def test_the_manifest_tells_the_engine_and_what_it_knows_of_the_machine(tmp_path):
    manifest = run_plan(plan(), kernel(), RunSettings(out=tmp_path)).manifest
    assert manifest.is_real_time
    assert manifest.platform["weather"] == "calm"


def test_a_machine_that_once_stood_still_says_so_where_no_percentile_does():
    rows = pl.DataFrame(
        {
            "lateness_p99_s": [20e-6, 19e-6, 22e-6],
            "lateness_max_s": [0.004, 0.054, 0.022],
            "bound_s": 200e-6,
            "exceeds_bound": False,
        }
    )
    run = SimpleNamespace(has_table=lambda name: name == "lateness", table=lambda _name: rows)
    words = lateness_in_words(run)
    assert "beyond its bound: 0 of 3 runs. In 2 of 3 a packet was more than 10 ms late" in words
    assert "54 ms at most" in words


def test_a_punctual_run_says_how_punctual_it_was(tmp_path):
    results = run_plan(plan((1, 4)), kernel(late_us=80), RunSettings(out=tmp_path))
    words = lateness_in_words(results)
    assert words is not None
    assert "80 us in the worst, where the bound is 200 us; beyond its bound: 0 of 4 runs" in words
    assert not [line for line in warnings(results) if "Late" in line]
    headers, rows = readable_overview(results)[-1]
    assert headers[-2:] == ["beyond it", "late writes p99 / us"]
    assert [row[-2:] for row in rows] == [["no run", "120"], ["no run", "120"]]
    assert "Late writes of applications, 99th percentile: 120 us in the worst run." in words
    assert words in write_report(results).page.read_text(encoding="utf-8")


def test_a_late_run_is_the_first_thing_that_is_said(tmp_path):
    results = run_plan(plan((1, 4)), kernel(late_us=950), RunSettings(out=tmp_path))
    first = warnings(results)[0]
    assert first.startswith("Late: in 4 of 4 runs")
    assert "950 us against 200 us" in first
    assert "and 1 more" in first
    _, rows = readable_overview(results)[-1]
    assert rows[0] == [1, "475", "950", "1900", "200", "LATE: 2 of 2 runs", "1425"]
    assert warnings(results)[1].startswith("Late applications: at 4 of 8 hosts")
    page = write_report(results).page.read_text(encoding="utf-8")
    assert page.index("Late: in 4 of 4 runs") < page.index("<h2>Results</h2>")


def test_lateness_is_that_of_the_worst_run_of_each_cell(tmp_path):
    results = run_plan(plan((1, 4)), kernel(late_us=80), RunSettings(out=tmp_path))
    assert lateness_by_cell(results).select("flows_count", "runs", "late_runs").rows() == [
        (1, 2, 0),
        (4, 2, 0),
    ]


def test_a_path_without_a_router_of_ours_has_no_lateness_to_tell(tmp_path):
    engine = kernel(late_us=80, has_own_router=False)
    results = run_plan(plan((1, 4)), engine, RunSettings(out=tmp_path))
    words = lateness_in_words(results)
    assert words is not None
    assert words.startswith("Late writes of applications"), words
    assert not [line for line in warnings(results) if "Late" in line]
    headers, rows = readable_overview(results)[-1]
    assert headers == ["flows_count", "late writes p99 / us"]
    assert rows == [[1, "120"], [4, "120"]]
    assert words in write_report(results).page.read_text(encoding="utf-8")


def test_missed_kernel_events_give_a_warning(tmp_path):
    engine = kernel(has_own_router=False, events_missed=12)
    results = run_plan(plan(), engine, RunSettings(out=tmp_path / "holes"))
    parts = [line for line in warnings(results) if line.startswith("Missed: in")]
    assert len(parts) == 1
    assert "12 events or more" in parts[0], parts
    assert "of 5000 packets seen" in parts[0]
    whole = run_plan(plan(), kernel(has_own_router=False), RunSettings(out=tmp_path / "whole"))
    assert not [line for line in warnings(whole) if "Missed" in line]


def test_unsent_datagrams_give_a_warning(tmp_path):
    engine = kernel(late_us=10, datagrams_missing=34)
    results = run_plan(plan(), engine, RunSettings(out=tmp_path / "full"))
    parts = [line for line in warnings(results) if line.startswith("Unsent: in")]
    assert len(parts) == 1
    assert "34 datagrams or more" in parts[0], parts
    whole = run_plan(plan(), kernel(late_us=10), RunSettings(out=tmp_path / "whole"))
    assert not [line for line in warnings(whole) if "Unsent" in line]


def test_virtual_time_is_never_late(tmp_path):
    results = run_plan(plan(), ScriptedEngine(), RunSettings(out=tmp_path))
    assert lateness_in_words(open_results(results.folder)) is None
