"""Screenings on kernels that are kept scenario by scenario."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fairwind.screen.execute import FAULTS
from fairwind.screen.record import ScreenRecord
from fairwind.screen.suite import suite_named
from fairwind.screen.verdicts import Finding, Verdict

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from kernel_screening_tables import areas_in_words, differences_in_words, pair_findings
from kernel_screenings import merge_scenario, missing, routed, standards_first
from screenings import write_record

SUITE = suite_named("quick")


def finding(scenario: str, verdict: Verdict, estimate: float = 0.1, engine: str = "k") -> Finding:
    area = next((one.area for one in SUITE.templates if one.name == scenario), FAULTS)
    return Finding(
        engine=engine, area=area, scenario=scenario, check="check", standard="", verdict=verdict,
        limit=0.2, is_least=False, unit="ratio", scale="value", source="", estimate=estimate,
        low=estimate, high=estimate, note="why" if area == FAULTS and estimate else "",
    )  # fmt: skip


def record(*findings: Finding, seeds: int = 4) -> ScreenRecord:
    areas = {**SUITE.areas, FAULTS: "Faults"}
    seconds = {findings[0].area: 2.0}
    return ScreenRecord("mine", "quick", ("cubic",), 1, seeds, "0", areas, findings, seconds)


def test_scenarios_are_merged_in_the_order_of_the_suite_and_faults_are_summed():
    bulk = record(finding("bulk", Verdict.PASS), finding("all", Verdict.FAIL, 2.0))
    idle = record(finding("idle", Verdict.FAIL), finding("all", Verdict.FAIL, 1.0))
    both = merge_scenario(SUITE, idle, bulk)
    assert [one.scenario for one in both.findings] == ["bulk", "idle", "all"]
    faults = both.findings[-1]
    assert (faults.estimate, faults.values, faults.note) == (3.0, (3.0,), "why; why")
    assert both.seconds["idle"] == both.seconds["utilisation"] == 2.0


def test_scenario_that_is_screened_again_replaces_what_was_found():
    before = record(finding("bulk", Verdict.SKIPPED), finding("all", Verdict.PASS, 0.0))
    again = record(finding("bulk", Verdict.PASS), finding("all", Verdict.PASS, 0.0))
    merged = merge_scenario(SUITE, before, again)
    assert [one.verdict for one in merged.findings] == [Verdict.PASS, Verdict.PASS]
    with pytest.raises(ValueError, match="other seeds"):
        merge_scenario(SUITE, before, replace(again, seeds=5))


def test_what_was_screened_is_not_screened_again_unless_wanted(tmp_path: Path):
    file = tmp_path / "mine.json"
    assert missing(file, ["bulk", "idle"], is_again=False) == ["bulk", "idle"]
    write_record(file, record(finding("bulk", Verdict.PASS)))
    assert missing(file, ["bulk", "idle"], is_again=False) == ["idle"]
    assert missing(file, ["bulk", "idle"], is_again=True) == ["bulk", "idle"]


def test_standard_is_screened_before_the_others():
    assert standards_first(["bic", "cubic", "reno"], SUITE) == [["cubic"], ["bic", "reno"]]


def test_tables_have_both_verdicts_and_what_is_missing():
    simulated = record(
        finding("bulk", Verdict.PASS, engine="sim"), finding("idle", Verdict.CAUTION, engine="sim")
    )
    there = record(finding("bulk", Verdict.PASS), finding("idle", Verdict.FAIL, 0.3))
    pairs = {"mine": pair_findings(simulated, there)}
    rows = dict(row[2:-2].split(" | ") for row in areas_in_words(SUITE, pairs))
    assert rows["Utilisation"] == ""
    assert rows["Idle periods"] == "caution / fail"
    assert rows["Outages"] == "-"
    (line,) = differences_in_words(pairs)
    assert line.startswith("| mine | idle: check | caution: 10 % [10, 10] | fail: 30 % [30, 30] |")


def test_a_router_is_chosen_for_the_path_alone():
    template = next(one for one in SUITE.templates if one.name == "long-fast")
    assert routed(template, None) is template
    changed = routed(template, "kernel")
    assert changed.settings["path"] == {**template.settings["path"], "router": "kernel"}
    assert changed.settings["flows"] == template.settings["flows"]
    assert "router" not in template.settings["path"]
