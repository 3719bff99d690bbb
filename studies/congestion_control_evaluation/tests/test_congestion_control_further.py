"""More flows, flows that stop, and other traffic: measures by hand, closed forms, rules."""

from __future__ import annotations

import math
from types import SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.congestion_control_evaluation.baseline import FAIRNESS, against_standard
from fairwind_studies.congestion_control_evaluation.fault_claims import fault_claim
from fairwind_studies.congestion_control_evaluation.further import (
    BACK,
    READERS,
    among_many,
    beside,
    leaving,
)
from fairwind_studies.congestion_control_evaluation.further_claims import (
    JUDGED,
    MANY_FAIRNESS,
    PARTS,
    further_claims,
)
from fairwind_studies.congestion_control_evaluation.measures import PAYLOAD_RATIO
from fairwind_studies.congestion_control_evaluation.steady import recovery_time, steady_cells

from fairwind.quantities import parse_bits_per_second, parse_bytes
from fairwind.studies import study_named

MEGA = 1e6
CELL = {
    "cell": 0,
    "replicate": 0,
    "seed": 1,
    "path_rtt": "42 ms",
    "path_queue_limit": "20 % bdp",
    "bandwidth": "10 Mbit/s",
    "control": "bic",
}
CAPACITY = 10 * PAYLOAD_RATIO


def rated(names: list[str], rates: list[float], **more: object) -> pl.DataFrame:
    """Give a row for each group or flow, with its goodput in Mbit/s."""
    return pl.DataFrame(
        [
            CELL | more | {"group": name, "goodput_bits_per_second": rate * MEGA, "packets_lost": 0}
            for name, rate in zip(names, rates, strict=True)
        ]
    )


def test_many_flows_are_as_fair_as_the_smallest_by_the_largest():
    flows = rated(["many"] * 4, [1.0, 2.0, 2.0, 4.0], number="4")
    row = among_many(SimpleNamespace(flows=flows)).row(0, named=True)
    assert (row["number"], row["rtt_ms"], row["limit"]) == (4, 42, "20 % bdp")
    assert row["fairness"] == pytest.approx(0.25)
    assert row["jain_index"] == pytest.approx(81 / (4 * 25))
    assert row["efficiency"] == pytest.approx(9 / CAPACITY)


def staying(rates: list[float]) -> pl.DataFrame:
    """Give what the first flow takes in windows of a second after the second one has stopped."""
    frames = [
        rated(["first", "second"], [rate, 0.0], start_s=160.0 + place, interval_s=1.0)
        for place, rate in enumerate(rates)
    ]
    return leaving(SimpleNamespace(intervals=pl.concat(frames)))


def test_what_is_left_is_taken_with_80_per_cent_of_the_path():
    row = staying([0.5 * CAPACITY, 0.79 * CAPACITY, 0.81 * CAPACITY, CAPACITY]).row(0, named=True)
    assert (row["taken_s"], row["taken_capped_s"], row["observed_s"]) == (3.0, 3.0, 4.0)
    assert row["efficiency"] == pytest.approx((0.5 + 0.79 + 0.81 + 1) / 4)


def test_what_is_never_taken_counts_as_long_as_it_was_watched():
    row = staying([0.5 * CAPACITY] * 4).row(0, named=True)
    assert (row["taken_s"], row["taken_capped_s"]) == (math.inf, 4.0)


def test_other_traffic_is_a_share_of_the_path():
    groups = rated(["first", "second", BACK], [2.0, 4.0, 0.5 * CAPACITY])
    row = beside(SimpleNamespace(groups=groups, folder="made up"), BACK).row(0, named=True)
    assert row["fairness"] == pytest.approx(0.5)
    assert row["efficiency"] == pytest.approx(6 / CAPACITY)
    assert row["other_ratio"] == pytest.approx(0.5)


def test_one_flow_recovers_in_the_known_time():
    # Half of 1.2 times 3375 packets: 1350 round trips of 162 ms, and 675 of 1.1 times that.
    one = recovery_time("250 Mbit/s", "20 % bdp", 162, flows=1)
    assert one == pytest.approx((1350 + 675 * 1.1) * 0.162)
    assert recovery_time("250 Mbit/s", "20 % bdp", 162, flows=4) == pytest.approx(one / 4)


def test_deep_queue_never_empties():
    # From 35 to 70 packets: round trips of one to two times 42 ms.
    assert recovery_time("10 Mbit/s", "100 % bdp", 42, flows=1) == pytest.approx(35 * 1.5 * 0.042)


@pytest.mark.parametrize(
    ("rtt", "number", "is_steady"), [(42, 2, True), (324, 2, False), (162, 16, True)]
)
def test_steady_cells_let_standard_tcp_recover_five_times(rtt, number, is_steady):
    row = {"bandwidth": "250 Mbit/s", "rtt_ms": rtt, "number": number, "measure": "fairness"}
    assert steady_cells(pl.DataFrame([row])).height == is_steady


def test_the_longer_round_trip_decides_beside_a_fixed_one():
    row = {"bandwidth": "250 Mbit/s", "limit": "20 % bdp", "rtt_ms": 16}
    assert steady_cells(pl.DataFrame([row | {"measure": "fairness"}])).height == 1
    assert steady_cells(pl.DataFrame([row | {"measure": "advantage_decades"}])).height == 0


def test_the_whole_interval_must_lie_beyond_the_margin():
    rows = [
        {
            "control": control,
            "bandwidth": "10 Mbit/s",
            "rtt_ms": 42,
            "seed": seed,
            "fairness": value,
        }
        for seed in range(5)
        for control, value in (("reno", 0.9), ("bic", 0.78 + 0.01 * seed), ("fast", 0.7))
    ]
    judged = against_standard(pl.DataFrame(rows), FAIRNESS)
    found = {row["control"]: row for row in judged.to_dicts()}
    # BIC has 0.1 less in the mean, with an interval on both sides of the margin.
    assert found["bic"]["difference"] == pytest.approx(-0.1)
    assert found["bic"]["high"] < 0
    assert not found["bic"]["is_worse"]
    assert found["fast"]["is_worse"]


def test_evidence_counts_the_cells_in_steady_state():
    rows = [
        {
            "control": control,
            "bandwidth": "250 Mbit/s",
            "rtt_ms": rtt,
            "number": number,
            "seed": seed,
        }
        | {"fairness": value + 0.001 * seed}
        for rtt, number in ((42, 16), (324, 2))
        for seed in range(3)
        for control, value in (("reno", 0.9), ("scalable", 0.3))
    ]
    compared = against_standard(pl.DataFrame(rows), MANY_FAIRNESS)
    claim = fault_claim("scalable", MANY_FAIRNESS, compared)
    assert "worse than standard TCP in 2 of 2 cells" in claim.evidence
    assert "In 1 of these cells standard TCP recovers at least five times" in claim.evidence
    assert "there it is worse in 1 and better in 0" in claim.evidence


def test_nothing_is_claimed_of_parts_that_were_not_run():
    assert further_claims(SimpleNamespace(part=lambda _name: None)) == []


def test_cross_traffic_would_be_a_fifth_of_the_rate():
    for cell in (
        study_named("congestion-control-evaluation")
        .further_scenarios("beyond")["cross"]
        .check()
        .cells
    ):
        workload = cell.experiment["flows"][2]["workload"]
        bits = 8 * 10 * parse_bytes(workload["burst"]["volume"]["mean"])
        rate = parse_bits_per_second(cell.settings["bandwidth"])
        assert bits / 5 == pytest.approx(0.2 * rate)


def test_every_part_judges_somebody():
    assert {PARTS[fault] for fault in JUDGED} == set(READERS)
    assert all(JUDGED.values())
