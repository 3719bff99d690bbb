"""Comparing two runs."""

from __future__ import annotations

import polars as pl
import pytest

from fairwind.compare import compare, head
from fairwind.compare.compare import _columns
from fairwind.errors import FairwindError
from fairwind.run import RunSettings, run_plan
from made_up import ScriptedEngine, plan


def run(grid, folder):
    return run_plan(grid, ScriptedEngine(), RunSettings(1, folder))


def test_a_run_does_not_differ_from_itself(tmp_path):
    results = run(plan(), tmp_path)
    differences = compare(results, results)
    assert differences["difference"].to_list() == [0] * differences.height
    assert differences["p_value"].to_list() == [1] * differences.height
    assert set(differences["pairs"]) == {2}


def test_pairs_that_all_differ_by_the_same_claim_no_certainty(tmp_path):
    results = run(plan((1,)), tmp_path)
    seeds = results.groups["seed"].unique(maintain_order=True).to_list()
    a = pl.DataFrame({"seed": seeds, "ack_latency_p50_s": [0.25] * len(seeds)})
    b = a.with_columns(pl.col("ack_latency_p50_s") + 0.125)
    columns = _columns(a, b, "ack_latency_p50_s", is_paired=True)
    assert columns["difference"] == 0.125
    assert (columns["low"], columns["high"], columns["p_value"]) == (None, None, None)


def test_replicates_are_paired_by_seed(tmp_path):
    a = run(plan((1,), replicates=3), tmp_path / "a")
    b = run(plan((1,), replicates=2), tmp_path / "b")
    assert set(compare(a, b)["pairs"]) == {2}


def test_replicates_of_other_seeds_are_compared_as_independent(tmp_path):
    a = run(plan((1,)), tmp_path / "a")
    document = plan((1,)).document | {"seeds": [901, 902]}
    b = run(type(plan()).from_document(document, ()), tmp_path / "b")
    assert set(compare(a, b)["pairs"]) == {0}


def test_only_shared_cells_are_compared(tmp_path):
    a, b = run(plan((1, 4)), tmp_path / "a"), run(plan((4, 8)), tmp_path / "b")
    differences = compare(a, b, ["goodput_bits_per_second"])
    assert differences.select("flows_count", "name").rows() == [(4, "greedy"), (4, "thin")]


def test_a_known_difference_is_found_with_its_sign(tmp_path):
    a = run(plan((1,), ("TCP",)), tmp_path / "a")
    b = run(plan((1,), ("LT",)), tmp_path / "b")
    # The made-up numbers of "LT" have 0.8 of the latency; the axis label must be the same to pair.
    for results in (a, b):
        path = results.folder / "groups.parquet"
        pl.read_parquet(path).with_columns(pl.lit("x").alias("variant")).write_parquet(path)
    row = compare(a, b, ["ack_latency_p50_s"]).row(1, named=True)
    assert row["relative_ratio"] == pytest.approx(-0.2, abs=0.01)
    assert row["relative_low_ratio"] < row["relative_ratio"] < row["relative_high_ratio"] < 0
    assert row["difference"] == pytest.approx(row["mean_b"] - row["mean_a"])


def test_grids_without_common_axes_are_refused(tmp_path):
    a, b = run(plan((1,)), tmp_path / "a"), run(plan((1,), ("TCP",)), tmp_path / "b")
    with pytest.raises(FairwindError, match="grids differ"):
        compare(a, b)


def test_grids_without_common_cells_are_refused(tmp_path):
    a, b = run(plan((1,)), tmp_path / "a"), run(plan((2,)), tmp_path / "b")
    with pytest.raises(FairwindError, match="no cell and group in common"):
        compare(a, b)


def test_an_unknown_measure_is_refused_with_those_there_are(tmp_path):
    results = run(plan(), tmp_path)
    with pytest.raises(FairwindError, match=r"(?s)'speed'.*goodput_bits_per_second"):
        compare(results, results, ["speed"])


def test_runs_in_real_time_are_independent_samples_even_with_the_same_seeds(tmp_path):
    a = run(plan((1,), replicates=3), tmp_path / "a")
    b = run_plan(
        plan((1,), replicates=3),
        ScriptedEngine(name="kernel", is_real_time=True),
        RunSettings(1, tmp_path / "b"),
    )
    differences = compare(a, b)
    assert set(differences["pairs"]) == {0}
    assert set(differences["samples_b"]) == {3}
    lines = "\n".join(head(a, b))
    assert "scripted" in lines
    assert "kernel" in lines
    assert "independent samples (Welch)" in lines
    assert "the same in all settings" in lines


def test_keys_that_differ_are_named_once_with_both_values(tmp_path):
    a, b = run(plan((1, 4)), tmp_path / "a"), run(plan((1, 4), ("LT",)), tmp_path / "b")
    lines = head(a, b)
    assert lines[-1] == "the scenarios are the same in all settings"  # no cell in common
    c = run(plan((1, 4), ("LT",)), tmp_path / "c")
    document = c.manifest.plan.document
    for cell in document["cells"]:
        cell["experiment"]["flows"][1]["tcp"]["linear_timeouts"] = False
    d = run(type(plan()).from_document(document, ()), tmp_path / "d")
    assert head(b, d)[-2:] == [
        "settings that differ, A -> B:",
        "  flows.thin.tcp.linear_timeouts: true -> false",
    ]
