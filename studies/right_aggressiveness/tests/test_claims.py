"""Claims of the search, by closed forms of which the answers are known."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fairwind_studies.right_aggressiveness.claims import (
    Found,
    claims,
    claims_in_reverse,
    kernel_confirms,
    linear_timeouts_follow_loss,
    linear_timeouts_stand,
    one_setting_serves_all,
)

from closed_form import RTO, ClosedForms, tuning
from fairwind.quantities import parse_bits_per_second, parse_seconds
from fairwind.results import Verdict
from fairwind.studies import study_named
from fairwind.tuning import load_tuning, run_tuning
from fairwind.tuning.settings import read_tuning
from fairwind.tuning.tuning import TuningRun

LOSSES = {500_000: 0.05, 1_000_000: 0.01}
LINEAR = "flows.thin.tcp.linear_timeouts"


@dataclass
class Lossy(ClosedForms):
    """Closed forms on paths that lose packets, the slower one more."""

    def execute(self, cell: Any, *rest: Any) -> dict[str, pl.DataFrame]:
        groups = super().execute(cell, *rest)["groups"]
        rate = parse_bits_per_second(cell.experiment["network"]["links"][0]["rate"])
        return {"groups": groups.with_columns(packet_loss_ratio=pl.lit(LOSSES[int(rate)]))}


def by_loss(tcp: Mapping[str, Any], rate: float, rtt_s: float, seed: int) -> tuple[float, float]:
    """Give a law: linear time-outs pay where many packets are lost, short ones elsewhere."""
    is_lossy = rate == 500_000
    latency = 1 + (-0.2 * tcp.get("linear_timeouts", False) if is_lossy else 0.0)
    short = 1 - parse_seconds(tcp["minimum_rto"])
    latency += 0.1 * short if is_lossy else -0.4 * short
    return rtt_s * latency * (1 + 0.01 * math.sin(seed)), rate * (1 - 0.01 * short)


def search(folder: Path, law: Any = by_loss, **tables: Any) -> Path:
    document = tuning(
        tune={"seeds": 3, "method": "grid", "over": "mean"},
        parameters={RTO: ["100 ms", "900 ms"]},
        known={"LT": {LINEAR: True}},
        constraints=[{"fail_if": "greedy.goodput < -5%"}],
        paths={"slow": {"path.rate": "500 kbit/s"}, "base": {}},
        confirm={"seeds": 8, "points": 3},
    )
    run = TuningRun(folder, jobs=1)
    return run_tuning(read_tuning(document | tables, "search.toml"), Lossy(law=law), run)[0]


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Found:
    return Found(search(tmp_path_factory.mktemp("search")))


def test_full_form_has_all_parameters_and_paths():
    full = load_tuning(study_named("right-aggressiveness").file())
    assert len(full.parameters) >= 6
    assert (len(full.paths), full.seeds) == (12, 10)
    keys = {key.rsplit(".", 1)[1] for one in full.parameters for number in one.ends
            for key in one.keys(number)}  # fmt: skip
    assert keys >= {
        "linear_retries", "thin_definition", "thin_segments", "backoff_factor", "minimum_rto",
        "duplicate_threshold", "probe_factor", "early_retransmit_delay", "reordering_window",
        "redundant_bundling", "redundant_segments", "redundant_streams",
    }  # fmt: skip
    assert full.reference == {"flows.modified.tcp.constants_for": "thin"}


def test_gain_within_limits_holds(found):
    first = claims(found.folder)[0]
    assert first.verdict is Verdict.HOLDS
    assert "limits passed" in first.evidence
    assert set(first.details["point"]) == {"c1", "c2", "LT"}


def test_gain_beyond_limits_is_not(tmp_path):
    def harmful(
        tcp: Mapping[str, Any], rate: float, rtt_s: float, seed: int
    ) -> tuple[float, float]:
        latency, _ = by_loss(tcp, rate, rtt_s, seed)
        return latency, rate * (0.8 if tcp["minimum_rto"] != "1 s" else 1.0)

    folder = search(tmp_path, harmful, known={"LT": {RTO: "100 ms"}})
    first, *_, last = claims(folder)
    assert first.verdict is Verdict.FAILS
    assert last.verdict is Verdict.HOLDS
    assert "greedy.goodput < -5%" in last.evidence


def test_linear_timeouts_that_nothing_dominates_stand(found):
    assert linear_timeouts_stand(found).verdict is Verdict.HOLDS


def test_linear_timeouts_that_change_nothing_stand_in_part(tmp_path):
    folder = search(tmp_path, lambda tcp, rate, rtt_s, seed: by_loss(
        {**tcp, "linear_timeouts": False}, rate, rtt_s, seed
    ))  # fmt: skip
    assert linear_timeouts_stand(Found(folder)).verdict is Verdict.HOLDS_FOR_SOME


def test_paths_with_settings_of_their_own_are_named(found):
    claim = one_setting_serves_all(found)
    assert claim.verdict is Verdict.FAILS
    assert "c1 (minimum_rto 100 ms) is the best over all paths" in claim.evidence
    assert "slow: LT -" in claim.evidence
    assert "slow 5 %" in claim.evidence


def test_loss_rate_that_divides_paths_is_found(found):
    claim = linear_timeouts_follow_loss(found)
    assert claim.verdict is Verdict.HOLDS
    assert claim.evidence.endswith("The bound lies between 1 % and 5 %.")


def test_search_in_reverse_has_claims_of_its_own(found):
    assert [one.verdict for one in claims_in_reverse(found.folder)] == [
        Verdict.HOLDS,
        Verdict.FAILS,
    ]


def test_kernel_that_was_not_asked_decides_nothing(found):
    assert kernel_confirms(found).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.3, -0.1, Verdict.HOLDS),
        (-0.3, 0.1, Verdict.UNDECIDED),
        (0.1, 0.3, Verdict.FAILS),
    ],
)
def test_kernel_is_judged_by_the_sign_of_changes(found, tmp_path, low, high, verdict):
    document = json.loads((found.folder / "tune.json").read_text(encoding="utf-8"))
    costs = [{"cost": (low + high) / 2, "low": low, "high": high}]
    document["on_kernel"] = {"engine": "7.3", "points": {"c1": costs}, "refused": {"LT": "no"}}
    (tmp_path / "tune.json").write_text(json.dumps(document), encoding="utf-8")
    claim = kernel_confirms(Found(tmp_path))
    assert claim.verdict is verdict
    assert "Not supported: LT." in claim.evidence
