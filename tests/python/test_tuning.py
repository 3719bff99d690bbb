"""Searches for settings: the file, its errors, and single steps."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from closed_form import PARAMETERS, RTO, SCENARIO, THRESHOLD, ClosedForms, tuning
from fairwind.congestion import sources as congestion
from fairwind.errors import FairwindError
from fairwind.scenario.scenario import Scenario
from fairwind.tuning.front import dominates, front_of, hypervolume
from fairwind.tuning.keys import assign, steps_of, written
from fairwind.tuning.parameters import read_parameter
from fairwind.tuning.settings import load_tuning, read_tuning
from fairwind.tuning.tuning import TuningRun, check_scenarios, run_tuning


def refused(**tables) -> str:
    with pytest.raises(FairwindError) as error:
        read_tuning(tuning(**tables), "search.toml")
    return str(error.value)


def test_range_takes_unit_of_its_first_bound():
    one = read_parameter("key", {"from": "50 ms", "to": "1 s", "scale": "log"})
    assert (one.domain.low, one.domain.high, one.domain.unit) == (50.0, 1000.0, "ms")
    assert one.keys(123.456) == {"key": "123.5 ms"}


def test_steps_of_log_range_are_equal_ratios():
    one = read_parameter("key", {"from": "10 ms", "to": "1 s", "scale": "log", "steps": 3})
    assert [one.label(number) for number in one.numbers] == ["10 ms", "100 ms", "1000 ms"]
    assert one.is_ordered


@pytest.mark.parametrize(
    ("values", "is_ordered"),
    [
        ([1, 2, 4], True),
        ([2, 1], False),
        (["5 ms", "1 s"], True),
        (["5 ms", "1 MB"], False),
        ([False, True], False),
        (["reno", "cubic"], False),
    ],
)
def test_choices_are_ordered_where_numbers_ascend(values, is_ordered):
    assert read_parameter("key", values).is_ordered is is_ordered


def test_whole_numbers_stay_whole():
    one = read_parameter("flows.thin.count", {"from": 1, "to": 6})
    assert one.keys(3) == {"flows.thin.count": 3}
    assert one.numbers == (1, 2, 3, 4, 5, 6)


def test_named_choices_set_several_keys():
    labels = {"off": {}, "on": {"path.rtt": "20 ms", "path.rate": "1 Mbit/s"}}
    one = read_parameter("link", {"choices": labels})
    assert [one.keys(number) for number in one.numbers] == list(labels.values())


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"from": "1 s", "to": "50 ms"}, "is no range"),
        ({"from": 0, "to": 5, "scale": "log"}, "a log scale begins above zero"),
        ({"from": "1 s", "to": "5 MB"}, "have the units s and MB"),
        ({"from": 1, "to": 5, "scale": "cubic"}, "there is no scale 'cubic'"),
        ({"from": 1, "to": 5, "steps": 1}, "steps = 1"),
        ([3], "at least two different values"),
        ("3", "a range or choices were expected"),
        ({"from": 1, "to": 5, "form": 3}, "a range or choices were expected"),
    ],
)
def test_wrong_parameters_are_refused(entry, words):
    with pytest.raises(FairwindError, match=re.escape(words)):
        read_parameter("key", entry)


def test_all_errors_of_a_file_come_at_once():
    text = refused(
        tune={"seeds": 0, "methods": "tpe"},
        objectives=[{"minimise": "latency"}],
        constraints=[{"fail_if": "greedy.goodput"}],
    )
    for words in (
        "seeds = 0",
        "there is no key tune.methods\n  hint: did you mean method?",
        "{'minimise': 'latency'} is no objective",
        "'greedy.goodput' is not a condition",
    ):
        assert words in text
    assert text.count("search.toml: ") == 4


def test_contradictory_constraints_are_refused():
    limits = [{"fail_if": "greedy.goodput > -5%"}, {"fail_if": "greedy.goodput < +2%"}]
    text = refused(constraints=limits)
    assert "contradict each other: nothing is at most -5.0 % and at least +2.0 %" in text


def test_limits_on_both_sides_are_no_contradiction():
    limits = [{"fail_if": "greedy.goodput > +5%"}, {"fail_if": "greedy.goodput < -5%"}]
    assert len(read_tuning(tuning(constraints=limits)).limits) == 2


def test_two_parameters_of_one_key_are_refused():
    labels = {"a": {RTO: "50 ms"}, "b": {RTO: "1 s"}}
    text = refused(parameters={RTO: ["50 ms", "1 s"], "named": {"choices": labels}})
    assert f"both set {RTO}" in text


def test_scenario_with_axes_is_refused():
    text = refused(scenario=SCENARIO | {"sweep": {"path.rtt": ["1 ms", "2 ms"]}})
    assert "has the axis path.rtt, and a search takes a scenario without axes" in text


def test_grid_over_a_range_is_refused():
    text = refused(tune={"method": "grid"}, parameters={RTO: {"from": "50 ms", "to": "1 s"}})
    assert "a grid needs values" in text


def test_file_that_is_missing_or_no_toml(tmp_path):
    with pytest.raises(FairwindError, match="cannot read the search"):
        load_tuning(tmp_path / "none.toml")
    file = tmp_path / "bad.toml"
    file.write_text("[tune", encoding="utf-8")
    with pytest.raises(FairwindError, match="this is not TOML"):
        load_tuning(file)


def run(folder: Path, engine: ClosedForms | None = None, **tables):
    search = read_tuning(tuning(**tables), "search.toml")
    return run_tuning(search, engine or ClosedForms(), TuningRun(folder, jobs=1))[1]


def test_objective_that_is_no_column_is_refused(tmp_path):
    with pytest.raises(FairwindError, match="there is no measure 'latency'") as error:
        run(tmp_path, objectives=[{"minimise": "thin.latency"}])
    assert "delivery_latency_p99_s" in str(error.value)


def test_objective_of_unknown_group_is_refused(tmp_path):
    with pytest.raises(FairwindError, match="nothing named 'fat' has delivery_latency_p99_s"):
        run(tmp_path, objectives=[{"minimise": "fat.delivery_latency_p99"}])


def test_parameter_without_effect_is_refused(tmp_path):
    engine = ClosedForms()
    parameters = {RTO: ["50 ms", "1 s"], "flows.thin.tcp.syn_retries": [1, 2, 3]}
    with pytest.raises(FairwindError, match=r"flows\.thin\.tcp\.syn_retries does nothing"):
        run(tmp_path, engine, parameters=parameters)
    assert not (tmp_path / "tune.json").exists()


def test_path_that_is_no_scenario_is_refused_first(tmp_path):
    engine = ClosedForms()
    with pytest.raises(Exception, match=r"path\.rat"):
        run(tmp_path, engine, paths={"slow": {"path.rat": "1 Mbit/s"}})
    assert engine.executions == 0


def test_no_feasible_setting_gives_the_nearest(tmp_path):
    # Nothing improves goodput, and the least harm is none.
    outcome = run(
        tmp_path,
        tune={"method": "grid", "seeds": 3},
        parameters={RTO: ["50 ms", "500 ms"], THRESHOLD: [1, 3]},
        constraints=[{"fail_if": "greedy.goodput < +50%"}],
    )
    assert outcome.front == ()
    assert outcome.nearest.setting.labels == {RTO: "500 ms", THRESHOLD: "3"}
    assert outcome.nearest.score.excesses[0] == pytest.approx(0.5, abs=0.05)


def test_domination_needs_one_better_and_none_worse():
    assert dominates([1, 1], [1, 2])
    assert not dominates([1, 1], [1, 1])
    assert not dominates([0, 3], [1, 2])
    assert front_of([[1, 2], [2, 1], [2, 2], [1, 2]]) == [0, 1]


def test_hypervolume_of_known_fronts():
    assert hypervolume([[0, 0]], [2, 3]) == 6
    assert hypervolume([[0, 2], [1, 0]], [2, 3]) == 2 * 1 + 1 * 2
    assert hypervolume([[3, 0]], [2, 3]) == 0
    cube = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    # Three boxes of 2 x 1 x 1 that share the unit cube.
    assert hypervolume(cube, [2, 2, 2]) == 3 * 2 - 2 * 1


def test_hypervolume_agrees_with_counting():
    generator = np.random.default_rng(5)
    points = generator.random((12, 3))
    drawn = generator.random((200_000, 3))
    covered = (drawn[:, None, :] >= points[None, :, :]).all(axis=2).any(axis=1).mean()
    assert hypervolume(points, [1, 1, 1]) == pytest.approx(covered, abs=0.005)


@pytest.mark.parametrize(
    ("key", "steps"),
    [
        ("flows.thin.count", ["flows", "thin", "count"]),
        ("flows[0].count", ["flows", "0", "count"]),
        ('flows."a.b".tcp', ["flows", "a.b", "tcp"]),
    ],
)
def test_key_paths_are_split_as_the_core_does(key, steps):
    assert steps_of(key) == steps


@pytest.mark.parametrize(
    "keys",
    [
        {"flows.*.tcp.minimum_rto": "70 ms"},
        {"flows[1].tcp.congestion": "reno"},
        {"path.queue": {"discipline": "codel"}, "path.queue.target": "10 ms"},
        {"path.queue": {"discipline": "bfifo", "limit": "20 kB"}},
        {"path.queue": {"discipline": "codel", "target": "10 ms"}},
        {"path.queue.limit": "30 packets"},
        {"flows.thin.workload": {"payload": "60 B"}},
        {"flows.thin.workload": {"kind": "greedy"}},
        {"flows.greedy.tcp.congestion": "bic"},
        {"measure.warmup": "1 s"},
    ],
    ids=lambda keys: " ".join(keys),
)
def test_written_scenario_means_the_same_as_keys(keys):
    base = SCENARIO | {
        "path": SCENARIO["path"] | {"queue": {"discipline": "pfifo", "limit": "1 bdp"}}
    }
    scenario = written(base, keys, {"it": {}}, 1, 2, "base.toml")
    meant = Scenario.from_dict(base).with_settings(keys)
    assert scenario.plan.cells[0].experiment == meant.plan.cells[0].experiment


def test_setting_of_unknown_group_is_refused():
    with pytest.raises(FairwindError, match="there is no 'fat'"):
        assign({"flows": [{"name": "thin"}]}, ["flows", "fat", "count"], 1, "flows.fat.count")


def test_setting_that_a_path_overrides_is_refused():
    with pytest.raises(FairwindError, match=r"\[paths\] sets a part of the same"):
        written(SCENARIO, {"path.rtt": "1 ms"}, {"it": {"path.rtt": "2 ms"}}, 1, 1, "base.toml")


def test_key_of_a_queue_that_is_a_word_is_refused():
    base = SCENARIO | {"path": SCENARIO["path"] | {"queue": "codel"}}
    with pytest.raises(FairwindError, match="there is no key 'target' in 'codel'"):
        written(base, {"path.queue.target": "1 ms"}, {"it": {}}, 1, 1, "base.toml")


def test_reference_is_free_and_parameters_cover_it():
    search = read_tuning(tuning())
    numbers = {one.name: one.numbers[0] for one in search.parameters}
    assert set(search.keys(numbers)) == set(PARAMETERS)


ROOT = Path(__file__).parents[2]
SEARCHES = [
    *sorted((ROOT / "examples" / "tuning").glob("*.toml")),
    *sorted((ROOT / "benches" / "tuning").glob("*.toml")),
]


@pytest.mark.parametrize("file", SEARCHES, ids=lambda file: file.stem)
def test_searches_of_the_repository_make_scenarios(file, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRWIND_CONGESTION", str(tmp_path))
    if (program := file.with_suffix(".c")).exists():
        congestion.build(program, with_object=False)
    search = load_tuning(file)
    check_scenarios(search)
    assert len(search.document["parameters"]) == len(search.parameters)
