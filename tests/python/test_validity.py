"""Simulator against kernel: what is run again, what counts as agreement, and what the page says."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import pytest

from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError
from fairwind.scenario import Plan, load
from fairwind.validity import (
    TOLERANCES,
    Tolerance,
    Verdict,
    agreement,
    discard,
    measure,
    page,
    punctual_jobs,
    read_measured,
)
from made_up import ScriptedEngine, plan

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted(
    file for file in (ROOT / "studies" / "validity").glob("*.toml") if file.stem != "remarks"
)


@dataclass
class MadeUpScenario:
    plan: Plan
    file: str = "made-up.toml"


def engines(slower: float = 0.0) -> tuple[ScriptedEngine, ScriptedEngine]:
    real = ScriptedEngine(name="kernel", is_real_time=True, late_us=90, delayed_s=slower)
    return ScriptedEngine(), real


def measured(folder: Path, pair, replicates: int = 3):
    return measure(MadeUpScenario(plan((1,), replicates=replicates)), folder, pair, "abc1234")


def row(estimate, low, high, difference=0.5, d_low=0.4, d_high=0.6):
    return {
        "relative_ratio": estimate,
        "relative_low_ratio": low,
        "relative_high_ratio": high,
        "difference": difference,
        "low": d_low,
        "high": d_high,
    }


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (row(0.04, -0.5, 0.6), Verdict.WITHIN),
        (row(-0.05, -0.5, 0.6), Verdict.WITHIN),
        (row(0.08, 0.01, 0.15), Verdict.UNDECIDED),
        (row(0.08, 0.06, 0.10), Verdict.APART),
        (row(-0.08, -0.10, -0.06), Verdict.APART),
        (row(0.08, None, None), Verdict.UNDECIDED),
        (row(None, None, None), Verdict.NOT_JUDGED),
    ],
)
def test_a_difference_is_judged_with_its_interval(values, verdict):
    assert Tolerance(0.05).verdict(values) is verdict


def test_a_difference_that_is_small_in_itself_is_within_whatever_its_ratio():
    values = row(0.9, 0.8, 1.0, 0.0015, 0.001, 0.002)
    assert Tolerance(0.2).verdict(values) is Verdict.APART
    assert Tolerance(0.2, 0.002).verdict(values) is Verdict.WITHIN
    unknown = row(None, None, None, 0.001, 0.0, 0.002)
    assert Tolerance(0.2, 0.002).verdict(unknown) is Verdict.WITHIN


def test_what_agrees_is_within_and_what_does_not_is_apart(tmp_path):
    same = measured(tmp_path / "same", engines())
    verdicts = {one.verdict for one in agreement(same.simulated, same.real) if one.tolerance}
    assert verdicts == {Verdict.WITHIN}
    other = measured(tmp_path / "other", engines(slower=0.1))
    by_measure = {
        (one.name, one.measure): one.verdict for one in agreement(other.simulated, other.real)
    }
    assert by_measure["thin", "ack_latency_p50_s"] is Verdict.APART
    assert by_measure["thin", "goodput_bits_per_second"] is Verdict.WITHIN


def test_what_was_measured_is_not_measured_again_until_the_scenario_changes(tmp_path):
    pair = engines()
    measured(tmp_path, pair)
    measured(tmp_path, pair)
    assert [engine.executions for engine in pair] == [3, 3]
    measured(tmp_path, pair, replicates=2)
    assert [engine.executions for engine in pair] == [5, 5]


def test_another_version_simulates_anew_but_keeps_what_took_real_time(tmp_path):
    measured(tmp_path, engines())
    simulator, kernel = engines()
    simulator.build = kernel.build = "2"
    measured(tmp_path, (simulator, kernel))
    assert (simulator.executions, kernel.executions) == (3, 0)


def test_what_is_discarded_is_measured_again(tmp_path):
    pair = engines()
    measured(tmp_path, pair)
    discard(tmp_path)
    with pytest.raises(FairwindError, match="was not measured"):
        read_measured(tmp_path)
    measured(tmp_path, pair)
    assert [engine.executions for engine in pair] == [6, 6]


def test_a_failed_run_is_tried_again_next_time(tmp_path):
    def script(number: int) -> None:
        if number == 1:
            raise RuntimeError("a host was killed")

    simulator, kernel = engines()
    kernel.script = script
    measured(tmp_path, (simulator, kernel))
    measured(tmp_path, (simulator, kernel))
    assert (simulator.executions, kernel.executions) == (3, 4)


def test_a_scenario_of_several_cells_is_refused(tmp_path):
    with pytest.raises(FairwindError, match="2 cells"):
        measure(MadeUpScenario(plan((1, 4))), tmp_path, engines(), "abc1234")


def test_slow_runs_share_the_machine_and_fast_ones_do_not():
    slow = plan((1,))
    assert punctual_jobs(slow) == 4
    fast = plan((1,))
    fast.cells[0].experiment["network"]["links"][0]["rate"] = "100 Mbit/s"
    assert punctual_jobs(fast) == 1


def test_the_page_tells_what_stays_apart_and_why(tmp_path):
    every = [measured(tmp_path / "calm", engines()), measured(tmp_path / "late", engines(0.1))]
    text = page(every, {"late": {"thin.ack_latency_p50_s": "The made-up kernel dawdles."}})
    assert text.startswith("<!-- Made by `make validity`")
    assert "| ack latency p50 | 5 % | 2 | 0 | 2 |" in text
    apart = text[text.index("## Rows that remain apart") : text.index("## calm")]
    assert "| [late](#late) | thin | ack latency p50 / ms | 1" in apart
    assert "The made-up kernel dawdles. |" in apart
    assert "not known |" in apart
    assert "calm" not in apart
    assert "commit abc1234" in text
    assert "90 us in the worst run, bound 200 us" in text
    assert "late in 0 of 6 runs" in text


def test_there_are_at_least_twelve_scenarios_of_one_cell_each():
    assert len(SCENARIOS) >= 12
    for file in SCENARIOS:
        grid = load(file).check()
        assert len(grid.cells) == 1, file
        assert len(grid.seeds) >= 3, file
        assert not grid.warnings, file


def test_all_scenarios_together_take_half_an_hour_at_most():
    from fairwind.execution.admission import plan_seconds

    seconds = sum(
        plan_seconds(grid, punctual_jobs(grid)) for grid in (load(f).check() for f in SCENARIOS)
    )
    assert seconds <= 30 * 60


def test_remarks_speak_of_scenarios_and_measures_that_exist():
    import tomllib

    names = {file.stem for file in SCENARIOS}
    remarks = tomllib.loads((ROOT / "studies" / "validity" / "remarks.toml").read_text("utf-8"))
    for name, own in remarks.items():
        assert name in names
        for key in own:
            assert key.rsplit(".", 1)[-1] in TOLERANCES


def test_the_tool_can_be_imported_without_running_anything():
    place = ROOT / "tools" / "validity.py"
    specification = importlib.util.spec_from_file_location("validity_tool", place)
    assert specification is not None
    assert specification.loader is not None
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    assert tool._chosen(["thin-alone"], ["thin-alone"]) == ["thin-alone"]
    with pytest.raises(FairwindError, match="there is no scenario 'x'"):
        tool._chosen(["x"], ["thin-alone"])


def test_both_engines_are_known_by_the_names_of_the_command_line():
    assert [engine_named(name).name for name in ("sim", "kernel")] == ["simulation", "kernel"]
