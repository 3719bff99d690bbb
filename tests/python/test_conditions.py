"""Comparisons with conditions for CI, along an axis, and in Python."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from fairwind.answers.conditions import Outcome, columns_of, doubts, judge, parse_condition
from fairwind.answers.junit import junit_document
from fairwind.compare import Comparison, axis_named, compare, contrast
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.results import Results
from fairwind.statistics import holm
from made_up import ScriptedEngine, plan
from process import SCENARIO, fairwind


def test_goodput_of_a_group_that_fills_its_link_alone_is_doubted():
    texts = ("greedy.goodput < -5%", "thin.goodput < -5%", "greedy.packet_loss_ratio > +5%")
    conditions = [parse_condition(text) for text in texts]
    (doubt,) = doubts(conditions, plan())
    assert doubt.startswith("'greedy.goodput < -5%' can hardly fail: greedy fills its link alone")
    shared = plan()
    for cell in shared.cells:
        cell.experiment["flows"].append(cell.experiment["flows"][0] | {"name": "other"})
    assert doubts(conditions, shared) == []


def run(grid, folder, engine=None):
    return run_plan(grid, engine or ScriptedEngine(), RunSettings(1, folder))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("thin.delivery_latency_p99 > +10%", ("thin", "delivery_latency_p99", True, 0.1)),
        ("  a.b.goodput<-2.5 % ", ("a.b", "goodput", False, -0.025)),
        ("flows of thin.jain_index < -.5%", ("flows of thin", "jain_index", False, -0.005)),
        ("x.y > 0%", ("x", "y", True, 0.0)),
    ],
)
def test_conditions_are_read(text, parts):
    one = parse_condition(text)
    assert (one.name, one.measure, one.is_above, one.limit) == pytest.approx(parts)
    assert one.text == text.strip()


@pytest.mark.parametrize(
    "text",
    ["", "thin > 5%", "thin.x > 5", "thin.x >= 5%", "thin.x 5%", "thin.x > five%", ".x > 1%"],
)
def test_what_is_no_condition_is_refused_with_the_grammar(text):
    with pytest.raises(FairwindError, match=r"is not a condition\n.*GROUP\.MEASURE > PERCENT"):
        parse_condition(text)


def test_limit_below_everything_is_refused():
    with pytest.raises(FairwindError, match="nothing falls by 100 %"):
        parse_condition("thin.goodput < -100%")


def row(ratios, name="thin"):
    """Give a row of a comparison with these ratios of B to A, one for each seed."""
    a = pl.DataFrame({"seed": range(len(ratios)), "delivery_latency_p99_s": [0.5] * len(ratios)})
    b = a.with_columns(pl.Series("delivery_latency_p99_s", 0.5 * np.asarray(ratios)))
    labels = {"table": "groups", "name": name, "measure": "delivery_latency_p99_s"}
    return labels, contrast(a, b, "delivery_latency_p99_s", is_paired=True)


SURE = (1.19, 1.20, 1.21, 1.20, 1.20)
VAGUE = (0.7, 1.9, 0.8, 1.8, 1.3)
SLIGHT = (1.049, 1.05, 1.051, 1.05, 1.05)


@pytest.mark.parametrize(
    ("ratios", "condition", "outcome"),
    [
        (SURE, "> +10%", "failed"),
        (SURE, "> +30%", "passed"),
        (SURE, "< +10%", "passed"),
        (SURE, "< -10%", "passed"),
        ((1.14, 1.09, 1.16, 1.08, 1.13), "> +10%", "undecided"),
        (SLIGHT, "> +10%", "passed"),
        (SLIGHT, "> +2%", "failed"),
        (VAGUE, "> +10%", "undecided"),
        (VAGUE, "< -10%", "undecided"),
        # It must fall by a tenth, or rise by a quarter, and does not.
        (SURE, "> -10%", "failed"),
        (SURE, "< +25%", "failed"),
        (VAGUE, "> -10%", "undecided"),
        ((0.89, 0.91, 0.9, 0.92, 0.9), "> -10%", "undecided"),
        # What is the same in all pairs is judged by their number.
        ((1.25,) * 5, "> +10%", "undecided"),
        ((1.25,) * 6, "> +10%", "failed"),
        ((1.0,) * 5, "> +10%", "passed"),
        ((1.0,) * 5, "< +10%", "undecided"),
        ((1.0,) * 6, "< +10%", "failed"),
        ((1.25,), "> +10%", "undecided"),
        ((1.05,), "> +10%", "undecided"),
        ((1.0,), "> +10%", "passed"),
    ],
)
def test_outcome_of_a_condition(ratios, condition, outcome):
    (found,) = judge([parse_condition(f"thin.delivery_latency_p99 {condition}")], [row(ratios)])
    assert found.outcome.value == outcome, found
    assert f"{outcome}: thin.delivery_latency_p99 {condition}: " in str(found)
    assert f"{len(ratios)} seed" in str(found)


def test_conditions_pay_for_their_number():
    noisy = (1.2, 1.5, 1.22, 1.45, 1.35)
    wanted = [parse_condition("thin.delivery_latency_p99 > 10%")]
    (alone,) = judge(wanted, [row(noisy)])
    many = judge(wanted, [row(noisy)] * 20)
    assert alone.outcome.value == "failed"
    assert {one.outcome.value for one in many} == {"undecided"}
    # Whoever looked often while seeds were added has a share of the error rate left.
    (late,) = judge(wanted, [row(noisy)], looks=7)
    assert late.outcome.value == "undecided"


def test_relative_to_nothing_is_undecided_unless_equal():
    a = pl.DataFrame({"seed": range(3), "x": [0.0] * 3})
    labels = {"table": "groups", "name": "thin", "measure": "x"}
    for values, outcome in (([0.0] * 3, "passed"), ([1.0, 2.0, 3.0], "undecided")):
        b = a.with_columns(pl.Series("x", values))
        rows = [(labels, contrast(a, b, "x", is_paired=True))]
        (found,) = judge([parse_condition("thin.x > 5%")], rows)
        assert found.outcome.value == outcome


def test_short_names_find_their_columns(tmp_path):
    results = run(plan((1,)), tmp_path)
    wanted = [parse_condition(f"thin.{name} > 5%") for name in ("goodput", "ack_latency_p99_s")]
    assert columns_of(wanted, [results]) == ["goodput_bits_per_second", "ack_latency_p99_s"]
    with pytest.raises(FairwindError, match=r"no measure 'latency'\n.*ack_latency_p50_s"):
        columns_of([parse_condition("thin.latency > 5%")], [results])


def test_unknown_group_is_refused_with_those_there_are():
    with pytest.raises(FairwindError, match=r"nothing named 'thick'.*\n.*thin"):
        judge([parse_condition("thick.delivery_latency_p99 > 5%")], [row(SURE)])


def test_junit_has_a_case_for_each_condition_and_row():
    wanted = [parse_condition(f"thin.delivery_latency_p99 {rest}") for rest in ("> 10%", "< -10%")]
    labels, found = row(SURE)
    rows = [({"variant": f"<{n}>\x00", **labels}, found) for n in range(2)]
    rows.append(({"variant": "vague", **labels}, row(VAGUE)[1]))
    document = junit_document("a & b", judge(wanted, rows))
    (suite,) = ElementTree.fromstring(document)
    assert (suite.get("name"), suite.get("tests")) == ("a & b", "6")
    assert (suite.get("failures"), suite.get("errors")) == ("2", "2")
    cases = suite.findall("testcase")
    assert cases[0].get("name") == "thin.delivery_latency_p99 > 10% [variant <0>?]"
    assert [len(case.findall("failure")) for case in cases] == [1, 1, 0, 0, 0, 0]
    assert [len(case.findall("error")) for case in cases] == [0, 0, 1, 0, 0, 1]
    failure = cases[0].find("failure")
    assert failure.get("type") == "failed"
    assert "+20 %, 95 % interval [+19, +21] %" in failure.get("message")


def test_values_of_an_axis_are_compared_with_the_first(tmp_path):
    results = run(plan((1, 4), ("TCP", "LT", "LT+mFR"), 4), tmp_path)
    frame = compare(results, by="variant", measures=["ack_latency_p99_s"])
    assert frame.columns[:3] == ["flows_count", "variant", "table"]
    assert frame["variant"].unique(maintain_order=True).to_list() == ["LT", "LT+mFR"]
    thin = frame.filter(name="thin", flows_count=1, variant="LT").row(0, named=True)
    assert thin["relative_ratio"] == pytest.approx(-0.2, abs=0.02)
    assert thin["pairs"] == 4
    assert frame.height == 8
    # Corrected for all rows, and with the interval of the test of logarithms.
    known = frame.drop_nulls("p_value")
    assert known["holm_p_value"].to_list() == pytest.approx(list(holm(known["p_value"])))


def test_axis_is_found_by_name_column_and_last_part(tmp_path):
    results = run(plan((1, 4), ("TCP", "LT")), tmp_path)
    for name in ("flows.*.count", "flows_count", "count"):
        assert axis_named(results, name).name == "flows.*.count"
    with pytest.raises(FairwindError, match=r"no axis 'colour'\n.*flows\.\*\.count, variant"):
        compare(results, by="colour")
    assert Comparison(results, by="count").head()[1] == "A: flows.*.count = 1; B: 4"


def test_axis_of_one_value_is_refused(tmp_path):
    with pytest.raises(FairwindError, match=r"flows\.\*\.count has one value only, 1"):
        compare(run(plan((1,)), tmp_path), by="count")


def test_results_compare_themselves(tmp_path):
    results = run(plan((1, 4)), tmp_path / "a")
    other = run(plan((1, 4)), tmp_path / "b", ScriptedEngine(delayed_s=0.01))
    assert results.compare(other).equals(compare(results, other))
    assert results.compare(by="count").equals(compare(results, by="count"))
    only = ["ack_latency_p50_s"]
    assert results.compare(other, measures=only)["measure"].unique().to_list() == only
    for wrong in ({}, {"other": other, "by": "count"}):
        with pytest.raises(FairwindError, match="another run, or an axis"):
            results.compare(**wrong)


def test_judging_two_runs_and_an_axis(tmp_path):
    a = run(plan((1, 4), replicates=6), tmp_path / "a")
    b = run(plan((1, 4), replicates=6), tmp_path / "b", ScriptedEngine(delayed_s=0.03))
    wanted = [parse_condition("thin.ack_latency_p50 > +10%")]
    columns = columns_of(wanted, [a, b])
    for comparison, outcomes in (
        (Comparison(a, b), ["failed"] * 2),
        (Comparison(a, by="count"), ["passed"]),
    ):
        judged = judge(wanted, comparison.contrasts(columns))
        assert [one.outcome.value for one in judged] == outcomes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs of which the second has twice the round-trip time."""
    path = tmp_path_factory.mktemp("conditions")
    (path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    for name, rtt in (("a", "100 ms"), ("b", "200 ms")):
        settings = ("--set", f"path.rtt={rtt}", "--set", "repeat=4")
        assert fairwind("run", "scenario.toml", *settings, "--out", name, cwd=path)[0] == 0
    return path


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (["thin.ack_latency_p50 > +10%"], 3),
        (["thin.ack_latency_p50 > +1000%"], 0),
        (["thin.ack_latency_p50 > +1000%", "greedy.ack_latency_p50 > +10%"], 3),
        (["nonsense"], 2),
        (["thin.nonsense > 5%"], 2),
    ],
)
def test_exit_code_tells_the_outcome(folder, conditions, code):
    arguments = [word for one in conditions for word in ("--fail-if", one)]
    found, _, error = fairwind("compare", "a", "b", *arguments, cwd=folder)
    assert found == code, error
    if code == 3:
        assert "failed: " in error


def test_equal_runs_fail_where_they_must_differ(folder):
    condition = ("--fail-if", "thin.ack_latency_p50 > +10%", "--junit", "equal.xml")
    code, _, error = fairwind("compare", "a", "a", *condition, cwd=folder)
    assert code == 0, error
    assert "passed: " in error
    assert "does the change apply?" in error
    code, _, error = fairwind("compare", "a", "a", *condition, "--fail-if-equal", cwd=folder)
    assert code == 3
    assert "failed: " in error
    suite = ElementTree.parse(folder / "equal.xml").getroot()[0]
    assert suite.get("tests") == suite.get("failures") == "2"
    wide = ("--fail-if", "thin.ack_latency_p50 > +1000%", "--fail-if-equal")
    assert fairwind("compare", "a", "b", *wide, cwd=folder)[0] == 0
    code, _, error = fairwind("compare", "a", "b", "--fail-if-equal", cwd=folder)
    assert code == 2
    assert "--fail-if-equal needs a condition" in error


def test_what_is_wrong_stands_in_the_junit_file(folder):
    condition = ("--fail-if", "nobody.ack_latency_p50 > +10%", "--junit", "wrong.xml")
    assert fairwind("compare", "a", "b", *condition, cwd=folder)[0] == 2
    suite = ElementTree.parse(folder / "wrong.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert "nobody" in suite[0][0].get("message")
    wrong = ("--set", "flows.thin.tcp.nonsense=1", "--out", "wrong")
    assert fairwind("run", "scenario.toml", *wrong, *condition, cwd=folder)[0] == 2
    suite = ElementTree.parse(folder / "wrong.xml").getroot()[0]
    assert "nonsense" in suite[0][0].get("message")


def test_undecided_condition_says_how_many_seeds_would_decide():
    generator = np.random.default_rng(5)
    ratios = [*(1.07 + 0.1 * generator.standard_normal(8))]
    (few,) = judge([parse_condition("thin.delivery_latency_p99 > +10%")], [row(ratios)])
    assert few.outcome is Outcome.UNDECIDED
    needed = int(re.search(r"about (\d+) would decide", few.evidence)[1])
    more = [row(ratios * -(-needed // 8))]  # the same estimate and spread
    (decided,) = judge([parse_condition("thin.delivery_latency_p99 > +10%")], more)
    assert needed > 8
    assert decided.outcome is Outcome.PASSED
    assert "would decide" not in decided.evidence


def test_undecided_condition_has_its_own_exit_code(folder):
    settings = ("--set", "repeat=1")
    for name, rtt in (("c", "100 ms"), ("d", "200 ms")):
        more = ("--set", f"path.rtt={rtt}", "--out", name)
        assert fairwind("run", "scenario.toml", *settings, *more, cwd=folder)[0] == 0
    condition = ("--fail-if", "thin.ack_latency_p50 > +10%")
    code, _, error = fairwind("compare", "c", "d", *condition, cwd=folder)
    assert code == 4
    assert "undecided: thin.ack_latency_p50 > +10% at flows_count 1: +" in error
    assert "raise repeat" in error


def test_junit_file_is_written_beside_the_exit_code(folder):
    condition = ("--fail-if", "thin.ack_latency_p50 > +10%", "--junit", "out.xml")
    code, out, _ = fairwind("compare", "a", "b", *condition, cwd=folder)
    assert code == 3
    suite = ElementTree.parse(folder / "out.xml").getroot()[0]
    assert suite.get("tests") == suite.get("failures") == "2"
    assert out.count("ack latency p50") == 2  # the table has the rows of the condition
    code, _, error = fairwind("compare", "a", "b", "--junit", "x.xml", cwd=folder)
    assert code == 2
    assert "--junit needs a condition" in error
    code, _, error = fairwind("compare", "a", "b", *condition[:2], "--junit", "no/x", cwd=folder)
    assert code == 2
    assert "no/" in error


ALONG_RTT = ("--set", "flows.*.count=1", "--set", 'sweep."path.rtt"=["100 ms", "200 ms"]')


def test_run_judges_conditions_on_its_axis(folder):
    axis = ALONG_RTT
    arguments = ("run", "scenario.toml", *axis, "--out", "axis")
    condition = ("--fail-if", "thin.ack_latency_p50 > +10%", "--junit", "axis.xml")
    code, _, error = fairwind(*arguments, "--until-decided", *condition, cwd=folder)
    assert code == 3
    assert "failed: thin.ack_latency_p50 > +10% at path_rtt 200 ms: +" in error
    assert "everything is decided" in error
    suite = ElementTree.parse(folder / "axis.xml").getroot()[0]
    assert (suite.get("name"), suite.get("failures")) == ("axis by path.rtt", "1")
    arguments = (*arguments, "--set", "repeat=3")
    code, _, error = fairwind(*arguments, "--fail-if", "thin.ack_latency_p50 > 300%", cwd=folder)
    assert code == 0, error


def test_run_with_conditions_stops_at_the_bound_undecided(folder):
    axis = ALONG_RTT
    bound = ("--set", "repeat=1", "--until-decided", "--most-seeds", "2", "--out", "bound")
    condition = ("--fail-if", "thin.ack_latency_p50 > +107%")  # as it is
    code, _, error = fairwind("run", "scenario.toml", *axis, *bound, *condition, cwd=folder)
    assert code == 4
    assert "2 seeds: 1 of 1 condition undecided; stopped at --most-seeds 2" in error


def test_run_refuses_conditions_without_one_axis_before_it_runs(folder):
    two = ("--set", 'sweep."path.rtt"=["100 ms", "200 ms"]', "--out", "none")
    condition = ("--fail-if", "thin.ack_latency_p50 > +10%")
    code, _, error = fairwind("run", "scenario.toml", *two, *condition, cwd=folder)
    assert code == 2
    assert "the values of one axis, and the scenario has 2" in error
    assert not (folder / "none").exists()


def test_run_without_an_axis_has_no_condition(folder):
    none = ("--set", "flows.*.count=1", "--out", "none")
    code, _, error = fairwind("run", "scenario.toml", *none, "--fail-if", "thin.x > 1%", cwd=folder)
    assert code == 2
    assert "the scenario has none with several" in error
    assert not (folder / "none").exists()


def test_equal_runs_pass_and_say_so(folder):
    one = ("--set", 'sweep."flows.*.count"=[1]')
    same = (*one, "--set", 'sweep.setting={"old"={}, "new"={}}')
    condition = ("--fail-if", "thin.ack_latency_p50 > +10%")
    code, _, error = fairwind("run", "scenario.toml", *same, "--out", "e", *condition, cwd=folder)
    assert code == 0
    why = "Both values resolve to the same settings."
    assert f"all pairs of runs are equal: does the change apply? {why}" in error
    code, _, error = fairwind("compare", "e", "--by", "setting", *condition, cwd=folder)
    assert code == 0
    assert f"does the change apply? {why}" in error


def test_compare_by_an_axis_on_the_command_line(folder):
    code, out, error = fairwind("compare", "a", "--by", "count", cwd=folder)
    assert code == 0, error
    assert "A: flows.*.count = 1; B: 2" in error
    assert out.splitlines()[0].startswith("flows_count  of")
    for wrong in (("a",), ("a", "b", "--by", "count")):
        code, _, error = fairwind("compare", *wrong, cwd=folder)
        assert code == 2
        assert "two runs, or one run and --by" in error


def test_results_are_opened_as_usual(folder):
    results = Results(folder / "a")
    assert results.compare(Results(folder / "b"))["pairs"].unique().to_list() == [4]
