"""Runs of transfers at a glance: their times, fairness among them, and jumps that never came."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from fairwind.results import never_resumed_in_words, rows_of, transfer_times
from fairwind.results.summary import FAIRNESS, TRANSFERS


def flow(group: str, finished_s: float | None, time_s: float | None) -> dict[str, object]:
    return {
        "cell": 0,
        "replicate": 0,
        "seed": 1,
        "group": group,
        "finished_s": finished_s,
        "completion_time_s": time_s,
    }


def run(
    *groups: tuple[str, dict[str, object]],
    flows: tuple[dict[str, object], ...] = (),
    resumptions: pl.DataFrame | None = None,
    **tables: pl.DataFrame,
) -> SimpleNamespace:
    """Give a run of one cell with these groups of these workloads, warmed up for 10 s."""
    experiment = {
        "measure": {"warmup": "10 s"},
        "flows": [{"name": name, **settings} for name, settings in groups],
    }
    cell = SimpleNamespace(index=0, experiment=experiment)
    return SimpleNamespace(
        manifest=SimpleNamespace(plan=SimpleNamespace(cells=[cell], axes=(), axis_columns=[])),
        flows=pl.DataFrame(flows),
        resumptions=resumptions,
        has_table=lambda name: name in tables,
        table=lambda name: tables[name],
    )


def of_kind(kind: str, **keys: object) -> dict[str, object]:
    return {"workload": {"kind": kind} | keys}


def test_transfers_that_ended_after_the_warm_up_have_a_median_and_a_ninetieth_percentile():
    flows = [flow("web-responses", 10.0 + k, float(k)) for k in range(11)]
    flows += [flow("web-responses", 9.0, 99.0), flow("web-responses", None, None)]
    flows += [flow("web", 12.0, 50.0)]
    found = transfer_times(run(("web", of_kind("transfers")), flows=tuple(flows)))
    assert found["group"].to_list() == ["web-responses"]
    assert found["completion_time_p50_s"].to_list() == [5]
    assert found["completion_time_p90_s"].to_list() == pytest.approx([9])
    assert found["ended_transfers"].to_list() == [11]
    assert found["unfinished_transfers"].to_list() == [1]


def test_a_greedy_stream_of_a_volume_is_a_transfer_and_one_without_end_is_none():
    groups = ("up", of_kind("greedy", volume="1 MB")), ("on", of_kind("greedy"))
    flows = flow("up", 12.0, 2.0), flow("on", None, None)
    found = rows_of(run(*groups, flows=flows), TRANSFERS)
    assert found["group"].to_list() == ["up"]
    assert not rows_of(run(groups[1], flows=flows[1:]), TRANSFERS).height


def fairness(*groups: tuple[str, dict[str, object]]) -> list[str]:
    """Give among whom a run with these groups tells of fairness."""
    names = [name for name, _ in groups] + [f"{name}-responses" for name, _ in groups]
    rows = [("all", "all"), ("between_groups", "all"), *(("group", name) for name in names)]
    table = pl.DataFrame(
        [(scope, name, 2, 0.5) for scope, name in rows],
        schema=["scope", "name", "members", "jain_index"],
        orient="row",
    )
    return rows_of(run(*groups, fairness=table), FAIRNESS)["among"].to_list()


def test_fairness_excludes_responses_and_later_transfers():
    alike = fairness(("greedy", of_kind("greedy")))
    assert alike[:2] == ["all flows", "groups, per flow"]
    asked = fairness(("pages", of_kind("request-response")))
    assert asked == ["flows of pages", "flows of pages-responses"]
    assert fairness(("web", of_kind("transfers"))) == []


CAREFUL = of_kind("transfers") | {"tcp": {"sharing": {"policy": "careful-resume"}}}


def phases(*rows: tuple[int, str, str]) -> pl.DataFrame:
    return pl.DataFrame(
        [(0, 0, *row) for row in rows],
        schema=["cell", "replicate", "flow", "phase", "reason"],
        orient="row",
    )


def test_a_run_in_which_no_connection_jumped_is_warned_of_and_says_why():
    never = phases(
        (1, "reconnaissance", ""), (1, "normal", "nothing-to-gain"), (2, "reconnaissance", "")
    )
    (warning,) = never_resumed_in_words(run(("web", CAREFUL), resumptions=never))
    assert "2 connections found a saved window, but did not use it: nothing-to-gain (1)" in warning
    (unsaved,) = never_resumed_in_words(run(("web", CAREFUL)))
    assert "no connection found a saved window" in unsaved
    opened = run(("web", CAREFUL), resumptions=phases((1, "opening", "unknown")))
    assert never_resumed_in_words(opened) == [unsaved]


def test_a_jump_or_another_policy_is_not_warned_of():
    once = phases((1, "reconnaissance", ""), (1, "unvalidated", ""))
    assert never_resumed_in_words(run(("web", CAREFUL), resumptions=once)) == []
    classic = of_kind("transfers") | {"tcp": {"sharing": {"policy": "classic"}}}
    assert never_resumed_in_words(run(("web", classic))) == []
    assert never_resumed_in_words(run(("web", of_kind("transfers")))) == []
