"""Simulator against kernels: verdicts, stored values, what is run again, and the page."""

from __future__ import annotations

import importlib
import json
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from fairwind_studies.validity import (
    SIMULATOR,
    TOLERANCES,
    Difference,
    Measured,
    Record,
    Settings,
    Summary,
    Tolerance,
    Verdict,
    agreements,
    difference_of,
    discard,
    measure,
    page,
    plan_of_seeds,
    punctual_jobs,
    stored,
)

from fairwind import _core
from fairwind.engine.engines import Refusal
from fairwind.engine.selection import engine_named
from fairwind.errors import FairwindError
from fairwind.scenario import Plan, load
from fairwind.statistics import welch_difference
from made_up import ScriptedEngine, plan

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "studies" / "validity"
SCENARIOS = sorted(file for file in FOLDER.glob("*.toml") if file.stem != "remarks")


@dataclass
class MadeUpScenario:
    plan: Plan
    file: str = "made-up.toml"

    def with_settings(self, settings: dict[str, int]) -> MadeUpScenario:
        return MadeUpScenario(plan((1,), replicates=settings["sweep.repeat"]))


def engines(slower: float = 0.0, name: str = "linux-9.9") -> tuple[ScriptedEngine, ScriptedEngine]:
    kernel = ScriptedEngine(name=name, is_real_time=name == "kernel", late_us=90, delayed_s=slower)
    return ScriptedEngine(name=SIMULATOR), kernel


def measured(folder: Path, pair, replicates: int = 3, name: str = "calm", most: int = 12):
    settings = Settings(folder / "values", folder / "runs", "abc1234", most, 1)
    return measure(name, MadeUpScenario(plan((1,), replicates=replicates)), pair, settings)


def found_in(record: Record, engine: str = "linux-9.9"):
    return {
        (one.name, one.measure): one
        for one in agreements(
            record.engines[SIMULATOR], record.engines[engine], is_paired=engine != "kernel"
        )
    }


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.04, 0.05, Verdict.WITHIN),
        (-0.05, -0.05, Verdict.WITHIN),
        (-0.06, 0.01, Verdict.UNDECIDED),
        (0.01, 0.06, Verdict.UNDECIDED),
        (-0.5, 0.6, Verdict.UNDECIDED),
        (0.06, 0.10, Verdict.APART),
        (-0.10, -0.06, Verdict.APART),
        (None, None, Verdict.UNDECIDED),
    ],
)
def test_verdict_needs_the_whole_interval(low, high, verdict):
    assert Difference(0.0, low, high).verdict(0.05) is verdict


def test_tolerance_is_the_larger_of_two_bounds():
    tolerance = Tolerance(0.2, 5.0)
    assert tolerance.bound(100.0) == 20.0
    assert tolerance.bound(10.0) == 5.0
    assert tolerance.bound(-100.0) == 20.0
    assert tolerance.in_words("drops_packets") == "20 % or 5 packets"
    assert Tolerance(0.2, 0.002).in_words("retransmission_ratio") == "20 % or 0.2 points"
    assert Tolerance(0.0, 0.05).in_words("jain_index") == "0.05"


def test_pairs_of_one_seed_cancel_what_seeds_move():
    a = [10.0, 20.0, 30.0, 40.0]
    paired = difference_of(a, [value + 1 for value in a], is_paired=True)
    assert (paired.estimate, paired.low, paired.high) == (1.0, 1.0, 1.0)
    apart = difference_of(a, [value + 1 for value in a], is_paired=False)
    assert apart.estimate == 1.0
    assert apart.low < -20 < 20 < apart.high
    independent = difference_of(a, Summary(26.0, 20.54, 4), is_paired=True)
    assert independent.low < -20 < 20 < independent.high


def test_summaries_give_welch_intervals():
    a, b = [10.0, 12.0, 15.0], [20.0, 26.0, 21.0, 30.0]
    exact = welch_difference(a, b)
    half = 3.182446305 * (sum((x - 24.25) ** 2 for x in b) / 3 / 4) ** 0.5
    found = difference_of(a, Summary(24.25, half, 4), is_paired=True)
    assert math.isclose(found.low, exact.low, rel_tol=1e-6)
    assert math.isclose(found.high, exact.high, rel_tol=1e-6)


def test_runs_without_a_value_are_left_out():
    assert difference_of([None, None], [1.0, 2.0], is_paired=True) is None
    found = difference_of([1.0, None, 3.0, 5.0], [2.0, 9.0, 4.0, None], is_paired=True)
    assert found.estimate == 1.0
    single = difference_of([1.0], [2.0], is_paired=True)
    assert (single.low, single.high) == (None, None)


def test_queues_without_influence_are_not_compared():
    idle = {"backlog_mean_packets": [0.0, 0.0], "drops_packets": [0.0, 0.0]}
    busy = {"backlog_mean_packets": [3.0, 4.0], "drops_packets": [0.0, 0.0]}
    assert not agreements(Measured(2, {"link": idle}), Measured(2, {"link": idle}), is_paired=True)
    found = agreements(Measured(2, {"link": idle}), Measured(2, {"link": busy}), is_paired=True)
    assert [one.measure for one in found] == ["backlog_mean_packets", "drops_packets"]


def test_repetitions_are_left_out():
    group = {"packet_loss_ratio": [0.1, 0.2], "retransmission_ratio": [0.1, 0.2]}
    rows = {
        "greedy": group,
        "call": {"packet_loss_ratio": [0.1, 0.2]},
        "all flows": {"jain_index": [0.9, 0.8]},
        "flows of greedy": {"jain_index": [0.9, 0.8]},
        "flows of call": {"jain_index": [0.9, 0.9]},
    }
    found = agreements(Measured(2, rows), Measured(2, rows), is_paired=True)
    assert [(one.name, one.measure) for one in found] == [
        ("greedy", "retransmission_ratio"),
        ("call", "packet_loss_ratio"),
        ("all flows", "jain_index"),
        ("flows of call", "jain_index"),
    ]


def test_same_values_are_within_and_a_delay_is_apart(tmp_path):
    same = found_in(measured(tmp_path / "same", engines()))
    assert {one.verdict for one in same.values()} == {Verdict.WITHIN}
    other = found_in(measured(tmp_path / "other", engines(slower=0.1)))
    assert other["thin", "ack_latency_p50_s"].verdict is Verdict.APART
    assert other["thin", "goodput_bits_per_second"].verdict is Verdict.WITHIN


def test_decided_rows_need_no_further_runs(tmp_path):
    pair = engines(slower=0.1)
    measured(tmp_path, pair)
    measured(tmp_path, pair)
    assert [engine.executions for engine in pair] == [3, 3]


def test_undecided_rows_double_the_runs_up_to_the_bound(tmp_path):
    # Of every other run all is delayed by half a tolerance to twice it: no interval is narrow.
    simulator, kernel = engines()

    def script(number: int) -> None:
        kernel.delayed_s = 0.03 * (number % 2)

    kernel.script = script
    record = measured(tmp_path, (simulator, kernel))
    assert [engine.executions for engine in (simulator, kernel)] == [12, 12]
    assert record.engines["linux-9.9"].runs == 12
    assert "1 scenarios have undecided rows in virtual time and fewer than 32 runs" in page(
        [record], {}
    )
    assert found_in(record)["thin", "ack_latency_p50_s"].verdict is Verdict.UNDECIDED
    measured(tmp_path, (simulator, kernel), most=24)
    assert kernel.executions == 24


def test_real_time_has_as_many_runs_as_the_scenario_says(tmp_path):
    pair = engines(name="kernel")
    pair[1].script = lambda number: setattr(pair[1], "delayed_s", 0.03 * (number % 2))
    measured(tmp_path, pair)
    assert [engine.executions for engine in pair] == [3, 3]


def test_changed_scenarios_are_measured_again(tmp_path):
    pair = engines()
    measured(tmp_path, pair)
    changed = MadeUpScenario(plan((4,), replicates=3))
    changed.with_settings = lambda _: MadeUpScenario(plan((4,), replicates=12))
    measure("calm", changed, pair, Settings(tmp_path / "values", tmp_path / "runs", "c", 12, 1))
    assert [engine.executions for engine in pair] == [6, 6]


def test_another_simulator_leaves_the_kernels_values(tmp_path):
    measured(tmp_path, engines())
    simulator, kernel = engines()
    simulator.build = kernel.build = "2"
    measured(tmp_path, (simulator, kernel))
    assert (simulator.executions, kernel.executions) == (3, 0)


def test_discarded_values_are_measured_again(tmp_path):
    pair = engines()
    measured(tmp_path, pair)
    discard("calm", tmp_path / "values", "linux-9.9")
    measured(tmp_path, pair)
    assert [engine.executions for engine in pair] == [3, 6]


def test_failed_runs_are_tried_again_and_store_nothing(tmp_path):
    def script(number: int) -> None:
        if number == 1:
            raise RuntimeError("a host was killed")

    simulator, kernel = engines()
    kernel.script = script
    with pytest.raises(FairwindError, match=r"calm failed on linux-9\.9: .*a host was killed"):
        measured(tmp_path, (simulator, kernel))
    record = measured(tmp_path, (simulator, kernel))
    assert (simulator.executions, kernel.executions) == (3, 4)
    assert record.engines["linux-9.9"].runs == 3


def test_refusals_are_stored_and_nothing_runs(tmp_path):
    simulator, kernel = engines()
    kernel.refused = lambda _: [Refusal("", "flows.thin.tcp.ecn", "accurate", "no value", "")]
    record = measured(tmp_path, (simulator, kernel))
    assert kernel.executions == 0
    assert record.engines["linux-9.9"].refusals == ["flows.thin.tcp.ecn = accurate: no value"]
    text = page([record], {})
    assert "Refused by linux-9.9: flows.thin.tcp.ecn = accurate: no value." in text
    assert "| [calm](#calm) | made up | refused |" in text


def test_scenarios_of_several_cells_are_refused(tmp_path):
    settings = Settings(tmp_path / "values", tmp_path / "runs", "c")
    with pytest.raises(FairwindError, match="2 cells"):
        measure("wide", MadeUpScenario(plan((1, 4))), engines(), settings)


def test_records_are_read_back_as_written(tmp_path):
    record = measured(tmp_path, engines())
    record.engines["kernel"] = Measured(4, {"thin": {"drops_packets": Summary(3.0, 1.0, 4)}})
    record.write(tmp_path / "values")
    assert stored("calm", plan((1,), replicates=3), tmp_path / "values") == record
    assert record.engines["kernel"].is_summary
    assert not record.engines[SIMULATOR].is_summary


def test_damaged_records_are_named(tmp_path):
    (tmp_path / "calm.json").write_text('{"title": 1')
    with pytest.raises(FairwindError, match=r"calm\.json cannot be read"):
        stored("calm", plan((1,)), tmp_path)


def test_extending_keeps_places_of_missing_values():
    one = Measured(2, {"a": {"drops_packets": [1.0, 2.0]}})
    one.extend(Measured(1, {"b": {"drops_packets": [5.0]}}, late_runs=1))
    assert one.rows == {
        "a": {"drops_packets": [1.0, 2.0, None]},
        "b": {"drops_packets": [None, None, 5.0]},
    }
    assert (one.runs, one.late_runs) == (3, 1)


def test_parts_of_a_plan_have_their_seeds():
    whole = plan((1,), replicates=4)
    part = plan_of_seeds(whole, 1, 3)
    assert part.seeds == whole.seeds[1:3]
    assert part.cells == whole.cells


def test_slow_runs_share_the_machine_and_fast_ones_do_not():
    slow = plan((1,))
    assert punctual_jobs(slow) == 4
    fast = plan((1,))
    fast.cells[0].experiment["network"]["links"][0]["rate"] = "100 Mbit/s"
    assert punctual_jobs(fast) == 1


def test_page_answers_first_and_gives_reasons(tmp_path):
    calm = measured(tmp_path, engines())
    late = measured(tmp_path, engines(0.1), name="late")
    text = page([calm, late], {"late": {"thin.ack_latency_p50_s": "the made-up kernel dawdles"}})
    assert text.startswith("<!-- Made by `make validity`")
    rows = len(found_in(calm)) + len(found_in(late))
    apart = sum(one.verdict is Verdict.APART for one in found_in(late).values())
    share = f"{100 * apart / rows:.1f}"
    assert f"| linux-9.9 | 2 | {rows} |" in text
    assert f"| 0 (0.0 %) | {apart} ({share} %) | 0 | - |" in text
    assert "| ack latency p50 | 5 % | 2 / 0 / 2 |" in text
    section = text[text.index("## Rows that are apart") : text.index("## How rows are judged")]
    counts = f"{apart} rows: 0 for probable reasons, {apart - 1} for reasons that are not known"
    assert counts in section
    reason = section.index("Reason: the made-up kernel dawdles.")
    assert "| [late](#late) | thin | ack latency p50 / ms | linux-9.9 | 1" in section[reason:]
    assert "calm" not in section
    assert text.index("## Answer") < text.index("## Rows that are apart") < text.index("### calm")
    assert "6 runs; the router was late beyond its bound in 0." in text


def test_page_counts_intervals_that_exclude_zero():
    def record(name: str, real: list[float]) -> Record:
        values = {"a": {"drops_packets": [50.0, 52.0, 54.0]}}
        other = {"a": {"drops_packets": real}}
        engines = {SIMULATOR: Measured(3, values), "linux-9.9": Measured(3, other)}
        return Record(name, name, "20 s", "0", engines)

    records = [
        record("like", [51.0, 52.0, 53.0]),
        record("unlike", [60.0, 63.0, 64.0]),
        record("explained", [60.0, 63.0, 64.0]),
    ]
    assert "| 0 | 2 of 3 (66.7 %) |" in page(records, {})
    assert "| 0 | 1 of 2 (50.0 %) |" in page(records, {"explained": {"all": "a reason"}})


def test_engines_without_values_have_empty_columns(tmp_path):
    calm = measured(tmp_path, engines())
    other = measured(tmp_path, engines(name="kernel"), name="other")
    text = page([calm, other], {})
    assert "| scenario | what | running kernel | linux-9.9 |" in text
    assert "| [calm](#calm) | made up | not measured | " in text


def test_at_least_89_scenarios_have_one_cell_each():
    assert len(SCENARIOS) >= 89
    for file in SCENARIOS:
        grid = load(file).check()
        assert len(grid.cells) == 1, file
        assert len(grid.seeds) >= 3, file
        assert not grid.warnings, file
        assert file.read_text("utf-8").startswith("# "), f"{file} has no line that describes it"


def test_scenarios_cover_disciplines_controls_and_workloads():
    """Every discipline, congestion control, workload and impairment of the schema is somewhere."""
    text = "\n".join(file.read_text("utf-8") for file in SCENARIOS)
    definitions = json.loads(_core.schema())["$defs"]
    named = {
        "discipline": _constants(definitions["QueueTable"], "discipline"),
        "kind": _constants(definitions["WorkloadInput"], "kind"),
        "model": _constants(definitions["Loss"], "model"),
    }
    for key, names in named.items():
        assert len(names) >= 4
        for name in names:
            assert f'{key} = "{name}"' in text, f"no scenario has {key} = {name!r}"
    for key in definitions["Impairments"]["properties"]:
        assert f"{key} = " in text, f"no scenario has the impairment {key}"
    for one in _constants(definitions["Congestion"], None):
        if not one.endswith("-c"):  # the same in C
            assert f'congestion = "{one}"' in text, f"no scenario has {one}"


def _constants(definition: dict, key: str | None) -> list[str]:
    """Find the names that a definition of the schema allows."""
    found = []
    for one in definition.get("oneOf", []) + definition.get("anyOf", []):
        entry = one["properties"].get(key, {}) if key and "properties" in one else one
        found += [entry["const"]] if "const" in entry else []
        found += entry.get("enum", [])
    return found


def test_remarks_speak_of_scenarios_and_measures_that_exist():
    names = {file.stem for file in SCENARIOS}
    remarks = tomllib.loads((FOLDER / "remarks.toml").read_text("utf-8"))
    for name, own in remarks.items():
        assert name in names
        for key in own:
            assert key == "all" or key.rsplit(".", 1)[-1] in TOLERANCES


def test_stored_values_belong_to_scenarios():
    names = {file.stem for file in SCENARIOS}
    for file in (FOLDER / "measured").glob("*.json"):
        assert file.stem in names
        assert Record.read(file).engines


def test_tool_can_be_imported_without_running_anything():
    tool = importlib.import_module("fairwind_studies.validity.__main__")
    assert tool._chosen(["thin-alone"], ["thin-alone"]) == ["thin-alone"]
    with pytest.raises(FairwindError, match="there is no scenario 'x'"):
        tool._chosen(["x"], ["thin-alone"])


def test_engines_have_the_names_of_the_records():
    assert [engine_named(name).name for name in ("sim", "kernel")] == [SIMULATOR, "kernel"]
