"""Eighteen terminals on one carrier: the scenario that is made, measures by hand, verdicts."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.satellite_startup.crowd import multiplied
from fairwind_studies.satellite_startup.crowd_claims import crowd_claims
from fairwind_studies.satellite_startup.measures import under_load
from fairwind_studies.satellite_startup.study import TERMINALS

from fairwind.results import Verdict
from fairwind.studies import study_named

ASKED_BOTH_WAYS, ASKED_FOR_MORE = range(2)


def of_runs(times: dict[str, float | None]) -> SimpleNamespace:
    """Give a transfer of each of two terminals by policy, which takes so many seconds of 100."""
    rows = [
        {
            "cell": cell,
            "seed": seed,
            "policy": policy,
            "load": "30 %",
            "start_s": 10.0,
            "setup_time_s": 1.0,
            "completion_time_s": None if time is None else 1.0 + time + 0.01 * seed,
        }
        for cell, (policy, time) in enumerate(times.items())
        for seed in (1, 2, 3)
        for _ in range(2)
    ]
    slots = [
        {**row, "slots_used": used, "slots_assigned": 10} for row in rows[::2] for used in (2, 4)
    ]
    cells = [
        SimpleNamespace(index=cell, experiment={"duration": "100 s"}) for cell in range(len(times))
    ]
    return SimpleNamespace(
        flows=pl.DataFrame(rows, infer_schema_length=None),
        table=lambda _: pl.DataFrame(slots, infer_schema_length=None),
        manifest=SimpleNamespace(plan=SimpleNamespace(cells=cells)),
    )


def test_each_terminal_has_a_link_a_file_and_a_policy_of_its_own():
    scenario = study_named("satellite-startup").further_scenarios("full")["crowd"]
    for cell in scenario.plan.cells:
        links = [one for one in cell.experiment["network"]["links"] if "assigned" in one]
        terminals = [one["assigned"]["terminal"] for one in links]
        policies = [terminal["requests"] for terminal in terminals]
        assert len(links) == TERMINALS == len(cell.experiment["flows"])
        assert all(terminal == terminals[0] for terminal in terminals)
        name, free, _ = cell.settings["policy"].partition(" and free slots")
        assert policies[0]["policy"] == name.partition(",")[0].replace(" and ", "-")
        assert terminals[0].get("takes_free", False) == bool(free)


def test_names_that_do_not_end_in_one_are_there_once():
    settings = multiplied("crowd.toml", 2)
    assert settings["topology.hosts"] == ["user-1", "user-2", "hub"]
    assert [flow["name"] for flow in settings["flows"]] == ["from-1", "from-2"]


def test_unfinished_transfers_count_to_the_end():
    done = under_load(of_runs({"rbdc": None}))
    # From 11 s, when the connection is there, to 100 s.
    assert done["transfer_time_s"].to_list() == [89.0] * 3
    assert done["unfinished"].to_list() == [2] * 3
    assert done["slot_use_ratio"].to_list() == pytest.approx([0.3] * 3)


@pytest.mark.parametrize(
    ("both", "raised", "verdicts"),
    [
        (5.0, 8.0, [Verdict.HOLDS, Verdict.HOLDS]),
        (8.0, 9.8, [Verdict.HOLDS_FOR_SOME, Verdict.FAILS]),
        (11.0, 12.0, [Verdict.FAILS, Verdict.FAILS]),
    ],
)
def test_policies_are_judged_by_the_mean_of_all(both, raised, verdicts):
    runs = of_runs({"rbdc": 10.0, "vbdc": 7.0, "rbdc and vbdc": both, "rbdc, k = 4.8": raised})
    judged = crowd_claims(runs)
    assert [judged[place].verdict for place in (ASKED_BOTH_WAYS, ASKED_FOR_MORE)] == verdicts
    assert crowd_claims(None)[ASKED_FOR_MORE].verdict is Verdict.UNDECIDED
