"""Capacity on demand on the running kernel: transfers take as many times longer as simulated."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.satellite_startup.kernel import kernel_agrees, side_by_side

from fairwind.engine.selection import engine_named
from fairwind.results import Results, Verdict
from fairwind.scenario import Scenario
from fairwind.studies import study_named

PROBLEM = engine_named("kernel").obstacle()


def made_up(times: dict[tuple[str, int], float | None]) -> SimpleNamespace:
    """Return transfers of 20 segments by policy and seed; connections take a second."""
    rows = [
        {
            "cell": 0,
            "seed": seed,
            "group": "greedy",
            "policy": policy,
            "segments": 20,
            "start_s": 1.0,
            "setup_time_s": 1.0,
            "completion_time_s": None if time is None else 1 + time,
        }
        for (policy, seed), time in times.items()
    ]
    flows = pl.DataFrame(rows, schema_overrides={"completion_time_s": pl.Float64})
    return SimpleNamespace(flows=flows, has_table=lambda _name: False)


SIMULATED = {("rbdc", 1): 4.0, ("rbdc", 2): 6.0, ("constant", 1): 2.0, ("constant", 2): 2.0}


@pytest.mark.parametrize(("slower", "verdict"), [(1.09, Verdict.HOLDS), (1.11, Verdict.FAILS)])
def test_ratios_to_constant_allocation_agree_within_a_tenth(slower, verdict):
    # Constant allocation takes twice as long on this kernel: it is the ratio that counts.
    longer = {("rbdc", 1): 8.0, ("rbdc", 2): 12.0, ("constant", 1): 4.0, ("constant", 2): 4.0}
    kernel = {key: time * (slower if key[0] == "rbdc" else 1) for key, time in longer.items()}
    claim = kernel_agrees(made_up(SIMULATED), made_up(kernel))
    assert claim.verdict is verdict
    assert claim.details["ratio_simulated"].to_list() == [2.5]
    assert claim.details["off_ratio"].to_list() == pytest.approx([slower - 1])


def test_start_missing_in_one_engine_is_skipped():
    kernel = SIMULATED | {("rbdc", 2): None}
    row = side_by_side(made_up(SIMULATED), made_up(kernel)).row(0, named=True)
    assert (row["policy"], row["runs"], row["ratio_kernel"]) == ("rbdc", 1, 2.0)
    claim = kernel_agrees(made_up(SIMULATED), made_up({("rbdc", 7): 4.0, ("constant", 7): 2.0}))
    assert claim.verdict is Verdict.UNDECIDED


@pytest.mark.alone
@pytest.mark.kernel
@pytest.mark.skipif(PROBLEM is not None, reason=f"no run on the kernel: {PROBLEM}")
def test_kernel_and_simulator_agree_on_demand_ratio(tmp_path):
    """Twenty segments at k = 1 and over constant allocation, three starts each: half a minute."""
    policies: Scenario = study_named("satellite-startup").further_scenarios("full")["policies"]
    few = policies.with_settings(
        {
            "sweep.policy": '["rbdc", "constant"]',
            "sweep.segments": '["20"]',
            "sweep.repeat": "3",
            "duration": "9 s",
        }
    )

    def run(on: str, jobs: int) -> Results:
        return few.run(on, jobs=jobs, out=tmp_path / on)

    claim = kernel_agrees(run("sim", 1), run("kernel", 2))
    row = claim.details.row(0, named=True)
    assert row["runs"] == 3
    assert row["ratio_simulated"] > 1.5, "waiting for slots costs more than what is compared"
    assert claim.verdict is Verdict.HOLDS, claim.evidence
