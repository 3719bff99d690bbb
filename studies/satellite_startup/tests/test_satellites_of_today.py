"""The study's part on satellites of today: measures by hand, verdicts by their rules."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.satellite_startup.beyond_claims import beyond_claims
from fairwind_studies.satellite_startup.measures import delays, end_to_end

from fairwind.results import Verdict
from fairwind.scenario import Scenario
from fairwind.studies import study_named

UPLOADS, BOTH, FORESIGHT, PROXIES, DOWNLOADS, HANDOVERS, LOSSY, LOW_ORBIT = range(8)


def made_up(axis: str, times: dict[tuple[str, str], float]) -> SimpleNamespace:
    """Give three transfers for each sender and setting of an axis, which take so many seconds."""
    rows = [
        {
            "cell": cell,
            "seed": seed,
            "sender": sender,
            axis: setting,
            "volume": "1 MB",
            "completion_time_s": time + 0.01 * seed,
            "timeouts": 0,
            "start_s": 1.0,
        }
        for cell, ((sender, setting), time) in enumerate(times.items())
        for seed in (1, 2, 3)
    ]
    return SimpleNamespace(flows=pl.DataFrame(rows))


def with_handovers(leo: SimpleNamespace) -> SimpleNamespace:
    """Add links with handovers and slots on which all is as on the steady one."""
    steady = leo.flows.filter(pl.col("link") == "steady")
    others = ("delay steps", "delay and rate steps", "constant", "rbdc", "forecast")
    same = [steady.with_columns(pl.lit(other).alias("link")) for other in others]
    return SimpleNamespace(flows=pl.concat([leo.flows, *same]))


def of_uploads(
    plain: float, foreseen: float, proxied: float, both: float = 12.0
) -> SimpleNamespace:
    """Give uploads that take 10 s over constant allocation."""
    through = {
        ("cubic", "constant"): 10.0,
        ("cubic", "rbdc"): plain,
        ("cubic", "rbdc and vbdc"): both,
        ("cubic", "forecast"): foreseen,
    }
    proxy = {("proxy, cubic", way): time for (_, way), time in through.items()}
    return made_up("capacity", through | proxy | {("proxy, cubic", "rbdc"): proxied})


def test_split_transfer_ends_with_its_last_half():
    flows = [
        {"cell": 0, "seed": 1, "sender": "proxy", "completion_time_s": 3.0, "timeouts": 1},
        {"cell": 0, "seed": 1, "sender": "proxy", "completion_time_s": 4.5, "timeouts": 2},
        {"cell": 0, "seed": 2, "sender": "proxy", "completion_time_s": 3.0, "timeouts": 0},
        {"cell": 0, "seed": 2, "sender": "proxy", "completion_time_s": None, "timeouts": 0},
    ]
    flows = pl.DataFrame(flows).with_columns(pl.lit(26.0).alias("start_s"))
    done = end_to_end(SimpleNamespace(flows=flows))
    assert done["transfer_time_s"].to_list() == [4.5, None]
    # From 26 to 30.5 s: one handover, at 30 s.
    assert done["handovers_met"].to_list() == [1.0, None]
    assert done["timeouts"].to_list() == [3, 0]


def test_delays_are_ratios_of_the_same_seeds():
    done = end_to_end(of_uploads(plain=15.0, foreseen=11.0, proxied=12.0))
    found = delays(done, "capacity", "constant", ("rbdc", "forecast"))
    assert found["relative_ratio"].to_list() == pytest.approx([0.5, 0.2, 0.1, 0.1], rel=0.01)


@pytest.mark.parametrize(
    ("plain", "foreseen", "proxied", "verdicts"),
    [
        (15.0, 10.5, 12.0, [Verdict.HOLDS, Verdict.HOLDS, Verdict.HOLDS]),
        (15.0, 14.0, 16.0, [Verdict.HOLDS, Verdict.FAILS, Verdict.FAILS]),
        (15.0, 10.5, 10.2, [Verdict.HOLDS_FOR_SOME, Verdict.HOLDS, Verdict.HOLDS]),
    ],
)
def test_uploads_are_judged_against_constant_allocation(plain, foreseen, proxied, verdicts):
    judged = beyond_claims(of_uploads(plain, foreseen, proxied), None, None)
    assert [judged[place].verdict for place in (UPLOADS, FORESIGHT, PROXIES)] == verdicts


@pytest.mark.parametrize(("both", "verdict"), [(12.0, "HOLDS"), (13.0, "FAILS")])
def test_both_requests_must_remove_half_of_the_wait(both, verdict):
    judged = beyond_claims(of_uploads(15.0, 11.0, 15.0, both), None, None)
    assert judged[BOTH].verdict is Verdict[verdict]
    of_before = of_uploads(15.0, 11.0, 12.0)
    of_before.flows = of_before.flows.filter(pl.col("capacity") != "rbdc and vbdc")
    assert beyond_claims(of_before, None, None)[BOTH].verdict is Verdict.UNDECIDED


def test_uploads_without_proxies_are_judged_but_for_these():
    through = of_uploads(15.0, 11.0, 12.0)
    through.flows = through.flows.filter(pl.col("sender") == "cubic")
    judged = beyond_claims(through, None, None)
    assert judged[UPLOADS].verdict is Verdict.HOLDS
    assert judged[PROXIES].verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(("plain", "verdict"), [(10.2, "HOLDS"), (11.0, "FAILS")])
def test_downloads_are_compared_with_constant_allocation(plain, verdict):
    downloads = made_up("capacity", {("cubic", "constant"): 10.0, ("cubic", "rbdc"): plain})
    assert beyond_claims(None, downloads, None)[DOWNLOADS].verdict is Verdict[verdict]


def test_low_orbit_judges_handovers_and_slots_separately():
    leo = made_up(
        "link",
        {
            ("cubic", "steady"): 10.0,
            ("cubic", "delay steps"): 10.1,
            ("cubic", "delay and rate steps"): 10.2,
            ("cubic", "constant"): 10.0,
            ("cubic", "rbdc"): 15.0,
            ("cubic", "forecast"): 10.1,
        },
    )
    judged = beyond_claims(None, None, leo)
    assert judged[HANDOVERS].verdict is Verdict.HOLDS
    assert judged[LOSSY].verdict is Verdict.UNDECIDED
    assert judged[LOW_ORBIT].verdict is Verdict.HOLDS_FOR_SOME
    assert judged[UPLOADS].verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(("lossy", "verdict"), [(10.1, "HOLDS"), (12.0, "FAILS")])
def test_lossy_handovers_are_judged_and_counted(lossy, verdict):
    leo = made_up("link", {("cubic", "steady"): 10.0, ("cubic", "delay steps, outage"): lossy})
    # From 14 s on, so that all of them meet the handover at 15 s.
    leo.flows = leo.flows.with_columns(pl.lit(14.0).alias("start_s"))
    claim = beyond_claims(None, None, with_handovers(leo))[LOSSY]
    assert claim.verdict is Verdict[verdict]
    assert f"1 MB cubic {lossy / 10 - 1:+.1%} (mean of 3)" in claim.evidence


@pytest.mark.parametrize("part", ["geo-uploads", "geo-downloads", "leo"])
def test_every_split_carries_the_requested_volume(part):
    scenario: Scenario = study_named("satellite-startup").further_scenarios("full")[part]
    for cell in scenario.plan.cells:
        names = [group["name"] for group in cell.experiment["flows"]]
        first, *others = [group["workload"] for group in cell.experiment["flows"]]
        assert first["volume"] == cell.settings["volume"]
        assert all(other["kind"] == "relay" for other in others)
        assert [other["of"] for other in others] == names[:-1]
        assert bool(others) == cell.settings["sender"].startswith("prox")
