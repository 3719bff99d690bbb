"""Screening of congestion controls: suites, verdicts, planted faults, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from fairwind.errors import FairwindError
from fairwind.screen.control import control_named
from fairwind.screen.execute import FAULTS as FAULTS_AREA
from fairwind.screen.execute import ScenarioDone, ScreenSettings, screen
from fairwind.screen.record import ScreenRecord, changes_of, new_failures, read_record
from fairwind.screen.suite import Check, Scale, Unit, suite_named, suite_names
from fairwind.screen.variants import with_controls, without_control
from fairwind.screen.verdicts import Samples, Verdict, interval_of, verdict_of
from planted import FAULTS, Fault
from process import fairwind

CHECK = Check("one", {}, Scale.VALUE, 10.0, Unit.NUMBER, True, True, False, "ours")

SCENARIO = """
duration = "12 s"

[screen]
area = "utilisation"
title = "One flow"

[[screen.checks]]
name = "utilisation"
measure = { kind = "utilisation", rate = "2 Mbit/s" }
least = "50 %"
source = "ours"

[path]
rate = "2 Mbit/s"
rtt = "40 ms"

[[flows]]
name = "mine"
start_spread = "1 s"
start_pattern = "random"
workload = { kind = "greedy" }
tcp = { congestion = "$control" }

[measure]
warmup = "2 s"
intervals = ["1 s"]
"""

SUITE = """
description = "small"
against = ["cubic"]
seeds = 3

[areas]
utilisation = "Utilisation"

[[scenarios]]
name = "small"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "suite.toml").write_text(SUITE, encoding="utf-8")
    (suite / "small.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([11.0, 12.0, 13.0, 12.0], Verdict.PASS),
        ([7.0, 8.0, 9.0, 8.0], Verdict.FAIL),
        ([9.0, 10.0, 11.0, 12.0], Verdict.CAUTION),
        ([10.0, 10.0, 10.0], Verdict.PASS),
        ([9.0, 9.0, 9.0], Verdict.FAIL),
        ([9.0], Verdict.CAUTION),
    ],
)
def test_whole_interval_decides(values: list[float], verdict: Verdict) -> None:
    assert verdict_of(CHECK, interval_of(CHECK, Samples(values))) is verdict


def test_most_reverses_the_good_side() -> None:
    check = replace(CHECK, is_least=False)
    samples = Samples([11.0, 12.0, 13.0, 12.0])
    assert verdict_of(check, interval_of(check, samples)) is Verdict.FAIL


def test_check_that_informs_is_caution_at_worst() -> None:
    check = replace(CHECK, caution_at_worst=True)
    assert verdict_of(check, interval_of(check, Samples([1.0, 2.0, 1.0]))) is Verdict.CAUTION


def test_harm_is_beyond_that_of_the_standard() -> None:
    check = replace(CHECK, scale=Scale.HARM, is_least=False, limit=0.1)
    samples = Samples([2.0, 2.2, 1.8], [5.0, 5.5, 4.5], [10.0, 10.0, 10.0])
    interval = interval_of(check, samples)
    assert interval.estimate == pytest.approx(0.3)  # harm of 80 % less one of 50 %
    assert verdict_of(check, interval) is Verdict.FAIL


def test_change_of_equal_runs_is_none() -> None:
    check = replace(CHECK, scale=Scale.CHANGE, limit=-0.1)
    interval = interval_of(check, Samples([3.0, 4.0], [3.0, 4.0]))
    assert (interval.low, interval.high) == (0.0, 0.0)
    assert verdict_of(check, interval) is Verdict.PASS


@pytest.mark.parametrize("name", suite_names())
def test_scenarios_of_suites_resolve(name: str) -> None:
    suite = suite_named(name)
    for template in suite.templates:
        plan = with_controls(template, "bbr", "reno", 2, 1).check()
        assert plan.runs == 2
        assert all(check.source for check in template.checks)
        if any(check.scale is Scale.HARM for check in template.checks):
            alone = without_control(template, "reno", 2, 1).check()
            groups = [group["name"] for group in alone.cells[0].experiment["flows"]]
            assert groups
            assert "mine" not in groups


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('least = "50 %"', 'leats = "50 %"', "either `least` or `most`"),
        ('source = "ours"', 'source = "ours"\nscales = 1', "did you mean scale?"),
        ('"50 %"', '"50 parsec"', "cannot read the quantity"),
        ("$control", "cubic", "no flow has the control"),
        ('area = "utilisation"', 'area = "use"', "no area 'use'"),
        ('"utilisation", rate', '"utilization", rate', "no measure of kind"),
    ],
)
def test_faults_of_suites_are_named(folder: Path, old: str, new: str, message: str) -> None:
    file = folder / "suite" / "small.toml"
    file.write_text(file.read_text().replace(old, new), encoding="utf-8")
    with pytest.raises(FairwindError, match=message.replace("?", "\\?")):
        suite = suite_named(str(folder / "suite"))
        screen(control_named("cubic"), suite, ScreenSettings(folder / "runs", jobs=1))


def test_python_class_is_screened(folder: Path) -> None:
    file = folder / "gentle.py"
    file.write_text(
        "class Gentle:\n"
        "    def ssthresh(self, sender):\n        return max(sender.snd_cwnd // 2, 2)\n",
        encoding="utf-8",
    )
    control = control_named(f"{file}:Gentle")
    suite = suite_named(str(folder / "suite"))
    record = screen(control, suite, ScreenSettings(folder / "runs", jobs=1))
    assert control.name == "gentle"
    assert [one.area for one in record.findings] == ["utilisation", FAULTS_AREA]


def test_exception_of_a_class_is_a_fault(folder: Path) -> None:
    file = folder / "broken.py"
    file.write_text(
        "class Broken:\n    def on_ack(self, sender, acked):\n        return 1 / 0\n",
        encoding="utf-8",
    )
    suite = suite_named(str(folder / "suite"))
    record = screen(control_named(str(file)), suite, ScreenSettings(folder / "runs", jobs=1))
    assert {one.area for one in record.failures()} == {"utilisation", FAULTS_AREA}
    assert "ZeroDivisionError" in record.failures()[0].note


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_planted_fault_is_found_in_its_area(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRWIND_CONGESTION", str(tmp_path / "controls"))
    file = tmp_path / f"{fault.name}.c"
    file.write_text(fault.source, encoding="utf-8")
    suite = suite_named("quick")
    chosen = fault.scenarios if fault.area != FAULTS_AREA else ("bulk",)
    templates = tuple(one for one in suite.templates if one.name in chosen)
    only = replace(suite, templates=templates)
    record = screen(control_named(str(file)), only, ScreenSettings(tmp_path / "runs"))
    assert fault.area in {one.area for one in record.failures()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("control", "area", "scenario", "verdict"),
    [
        ("scalable", "rtt-unfairness", "two-round-trips", Verdict.FAIL),
        ("bbr", "harm", "harm-shallow", Verdict.FAIL),
        ("cubic", "harm", "harm-shallow", Verdict.PASS),
        ("vegas", "harm", "harm-usual", Verdict.CAUTION),  # it loses, and harms nobody
        ("ledbat", "harm", "harm-deep", Verdict.CAUTION),
    ],
)
def test_known_facts_come_out(
    control: str, area: str, scenario: str, verdict: Verdict, tmp_path: Path
) -> None:
    suite = suite_named("rfc9743")
    templates = tuple(one for one in suite.templates if one.name == scenario)
    settings = ScreenSettings(tmp_path, against=("cubic",), seeds=4)
    record = screen(control_named(control), replace(suite, templates=templates), settings)
    assert dict((name, each) for name, _, each in record.judged_areas())[area] is verdict


def test_command_writes_all_results(folder: Path) -> None:
    words = ("screen", "cubic", "--suite", "suite", "--jobs", "1", "--out", "out")
    code, output, error = fairwind(*words, "--junit", "out.xml", cwd=folder)
    assert code == 0, error
    assert "Utilisation" in output
    assert output.endswith("cubic: pass\n")
    assert "<svg" in (folder / "out" / "screen.html").read_text(encoding="utf-8")
    document = json.loads((folder / "out" / "screen.json").read_text(encoding="utf-8"))
    assert document["verdict"] == "pass"
    assert document["areas"][0]["findings"][0]["estimate"] > 0.9
    cases = ElementTree.parse(folder / "out.xml").getroot().findall("testsuite/testcase")
    assert [one.get("classname") for one in cases] == ["sim.utilisation", "sim.faults"]


def test_failed_area_has_exit_code_1_but_not_if_known(folder: Path) -> None:
    file = folder / "suite" / "small.toml"
    file.write_text(file.read_text().replace('"50 %"', '"120 %"'), encoding="utf-8")
    words = ("screen", "cubic", "--suite", "suite", "--jobs", "1", "--out", "out")
    code, output, _ = fairwind(*words, cwd=folder)
    assert code == 1
    assert "fail: small: utilisation: " in output
    code, output, _ = fairwind(*words, "--baseline", "out/screen.json", cwd=folder)
    assert code == 0
    assert "changed since the baseline: nothing" in output


def test_wrong_words_have_exit_code_2(folder: Path) -> None:
    code, _, error = fairwind("screen", "cubik", cwd=folder)
    assert code == 2
    assert "did you mean cubic?" in error
    code, _, error = fairwind("screen", "cubic", "--area", "harn", cwd=folder)
    assert code == 2
    assert "did you mean harm?" in error


def test_change_of_the_control_shows_against_a_baseline(folder: Path) -> None:
    suite = suite_named(str(folder / "suite"))
    settings = ScreenSettings(folder / "runs", jobs=1)
    before = screen(control_named("cubic"), suite, settings)
    file = folder / "before.json"
    file.write_text(json.dumps(before.document()), encoding="utf-8")
    baseline = read_record(file)
    assert changes_of(before, baseline) == []
    worse = replace(
        before,
        findings=tuple(
            replace(one, values=tuple(value / 2 for value in one.values), verdict=Verdict.FAIL)
            for one in before.findings
        ),
    )
    assert [change.is_worse for change in changes_of(worse, baseline)] == [True, True]
    assert len(new_failures(worse, baseline)) == 2
    assert new_failures(worse, worse) == []
    with pytest.raises(FairwindError, match="--seeds 3"):
        changes_of(replace(before, seeds=5), baseline)


def test_strict_counts_cautions_that_are_new(folder: Path) -> None:
    suite = suite_named(str(folder / "suite"))
    passed = screen(control_named("cubic"), suite, ScreenSettings(folder / "runs", jobs=1))

    def judged(*verdicts: Verdict) -> ScreenRecord:
        findings = zip(passed.findings, verdicts, strict=True)
        return replace(
            passed, findings=tuple(replace(one, verdict=verdict) for one, verdict in findings)
        )

    one_each = judged(Verdict.FAIL, Verdict.CAUTION)
    strict = Verdict.CAUTION
    assert [one.verdict for one in new_failures(one_each, None)] == [Verdict.FAIL]
    assert len(new_failures(one_each, None, strict)) == 2
    assert new_failures(one_each, one_each, strict) == []
    known = judged(Verdict.FAIL, Verdict.PASS)
    assert [one.verdict for one in new_failures(one_each, known, strict)] == [Verdict.CAUTION]
    assert new_failures(judged(Verdict.CAUTION, Verdict.CAUTION), one_each, strict) == []


def test_screening_again_repeats_no_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = suite_named(str(folder / "suite"))
    settings = ScreenSettings(folder / "runs", jobs=1)
    first = screen(control_named("cubic"), suite, settings)
    monkeypatch.setattr("fairwind.execution.threads._run_one", _refuse)
    assert screen(control_named("cubic"), suite, settings).findings == first.findings


def test_findings_of_late_runs_say_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = pl.DataFrame({"seed": [1, 2]})
    monkeypatch.setattr("fairwind.screen.execute.late_runs", lambda _: late)
    done: list[ScenarioDone] = []
    settings = ScreenSettings(folder / "runs")
    record = screen(
        control_named("reno"), suite_named(str(folder / "suite")), settings, done.append
    )
    assert [*done[0].late.values()] == [2]
    assert all(path.is_dir() for path in done[0].late)
    assert "late in 2 runs" in record.of_area("utilisation")[0].note
    assert record.verdict is Verdict.PASS


def _refuse(*_: object) -> None:
    raise AssertionError("a simulation ran again")
