"""Comparing two runs."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from fairwind.cli.differences import readable_differences
from fairwind.compare import Comparison, _columns, compare, contrast, frame_of
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.folder.looks import write_margin
from fairwind.statistics import holm
from made_up import ScriptedEngine, plan
from process import fairwind

UNJUDGED = {"holm_p_value": None, "verdict": None}
RELATIVE = "B / A - 1"
ABSOLUTE = "B / A - 1, or B - A"


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
    columns = _columns(contrast(a, b, "ack_latency_p50_s", is_paired=True))
    assert columns["difference"] == 0.125
    assert (columns["low"], columns["high"], columns["p_value"]) == (None, None, None)


def frame(values):
    return pl.DataFrame({"seed": range(len(values)), "x_s": values})


def both_methods():
    generator = np.random.default_rng(7)
    for size in (2, 3, 5, 12):
        for _ in range(40):
            a = generator.lognormal(0, generator.uniform(0.01, 1.5), size)
            b = a * generator.lognormal(generator.normal(0, 0.7), generator.uniform(0.01, 1), size)
            yield a, b
            yield np.where(generator.random(size) < 0.3, 0, a), b


@pytest.mark.parametrize("is_paired", [True, False])
def test_interval_and_p_value_agree(is_paired):
    decided = 0
    for a, b in both_methods():
        row = _columns(contrast(frame(a), frame(b), "x_s", is_paired=is_paired))
        for low, high in (("low", "high"), ("relative_low_ratio", "relative_high_ratio")):
            if row[low] is not None and not math.isnan(row[low]):
                assert (row["p_value"] < 0.05) == (row[low] > 0 or row[high] < 0), row
                decided += row["p_value"] < 0.05
        assert not row["relative_low_ratio"] < -1, row
    assert decided > 50


def test_a_ratio_is_tested_where_all_values_are_positive():
    a, b = [1.0, 2.0, 4.0, 8.0], [2.0, 4.0, 8.0, 17.0]
    row = _columns(contrast(frame(a), frame(b), "x_s", is_paired=True))
    found = stats.ttest_rel(np.log(b), np.log(a))
    bounds = found.confidence_interval(0.95)
    assert row["method"] == "log ratio"
    assert row["p_value"] == pytest.approx(found.pvalue)
    assert row["relative_low_ratio"] == pytest.approx(np.exp(bounds.low) - 1)
    row = _columns(contrast(frame([0.0, *a]), frame([1.0, *b]), "x_s", is_paired=True))
    found = stats.ttest_rel([1.0, *b], [0.0, *a])
    assert row["method"] == "difference"
    assert row["p_value"] == pytest.approx(found.pvalue)
    assert row["high"] == pytest.approx(found.confidence_interval(0.95).high)


def test_p_values_are_corrected_for_all_rows(tmp_path):
    a = run(plan((1,), replicates=4), tmp_path / "a")
    document = plan((1,), replicates=4).document | {"seeds": [901, 902, 903, 904]}
    b = run(type(plan()).from_document(document, ()), tmp_path / "b")
    differences = compare(a, b)
    known = differences.drop_nulls("p_value")
    assert known.height > 3
    assert known["holm_p_value"].to_list() == pytest.approx(list(holm(known["p_value"])))
    assert known["holm_p_value"].min() >= known["p_value"].min() * known.height * 0.999 or (
        known["holm_p_value"].min() == 1
    )
    headers, rows = readable_differences(differences)
    assert headers[-2:] == ["p", "p (Holm)"]
    assert len(rows) == differences.height
    assert any("corrected for the number of rows" in line for line in Comparison(a, b).head())


def labelled(name, a, b):
    labels = {"table": "groups", "name": name, "measure": "x_s"}
    return labels, contrast(frame(a), frame(b), "x_s", is_paired=True)


def test_each_row_has_a_verdict_by_the_rule_of_answers():
    a = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01])
    noise = np.array([1, -1, 1, -1, 1, -1, 1, -1])
    rows = [
        labelled("less", a, a * (0.5 + 0.01 * noise)),
        labelled("more", a, a * (1.5 + 0.01 * noise)),
        labelled("equal", a, a),
        labelled("near", a, a * (1.01 + 0.001 * noise)),
        labelled("noisy", a, a * (1 + 0.5 * noise)),
        labelled("steady", a, a * 1.2),
        labelled("single", a[:1], a[:1]),
    ]
    frame = frame_of(rows, 0.05, 0.05)
    assert dict(zip(frame["name"], frame["verdict"], strict=True)) == {
        "less": "less",
        "more": "more",
        "equal": "no difference",
        "near": "no difference",
        "noisy": "undecided",
        "steady": "more",
        "single": None,
    }
    narrow = frame_of(rows, 0.005, 0.05)
    assert narrow["verdict"].to_list()[3] == "more"
    strict = frame_of(rows, 0.05, 1e-40)
    assert strict["verdict"].to_list()[:6] == ["undecided"] * 6


def test_verdict_stands_behind_the_change(tmp_path):
    a = run(plan((1,), ("TCP", "LT"), 8), tmp_path / "a")
    headers, rows = readable_differences(compare(a, by="variant"))
    place = headers.index("verdict")
    assert headers[place - 1].startswith("B / A - 1")
    assert {"less"} <= {row[place] for row in rows}
    single = run(plan((1,), ("TCP", "LT"), 1), tmp_path / "single")
    assert "verdict" not in readable_differences(compare(single, by="variant"))[0]


def test_margin_of_a_run_is_that_of_its_verdicts(tmp_path):
    results = run(plan((1,), replicates=2), tmp_path / "a")
    assert Comparison(results, results).known_margin == 0.05
    write_margin(results.folder, 0.02)
    comparison = Comparison(results, results)
    assert comparison.known_margin == 0.02
    assert any("within 2 % of A" in line for line in comparison.head())
    assert Comparison(results, results, margin=0.1).known_margin == 0.1
    with pytest.raises(FairwindError, match="margin must be above 0"):
        results.compare(results, margin=1.0)


def test_an_interval_from_zero_has_the_unit():
    frames = frame([0.0, 0.0, 0.0]), frame([1.0, 2.0, 3.0])
    row = _columns(contrast(*frames, "x_s", is_paired=True)) | {
        "holm_p_value": None,
        "verdict": None,
    }
    differences = pl.DataFrame([{"table": "groups", "name": "a", "measure": "x_s", **row}])
    _, (cells,) = readable_differences(differences.with_columns(pl.col(pl.Float64).fill_nan(None)))
    assert cells[4] == "+2 s"
    assert cells[5].endswith("] s")


@pytest.mark.parametrize(
    ("measure", "a", "b", "change", "header"),
    [
        ("x_s", 0.0, 0.5, "+500 ms", ABSOLUTE),
        ("x_s", 1e-6, 0.08, "+80 ms", ABSOLUTE),
        ("x_s", 0.001, 0.08, "+7900 %", RELATIVE),
        ("x_s", 0.08, 1e-6, "-100 %", RELATIVE),
        ("x_s", 0.0, 0.0, None, RELATIVE),
        ("packet_loss_ratio", 0.0, 0.015, "+1.5 points", ABSOLUTE),
        ("jain_index", 0.0, 0.5, "+0.5", ABSOLUTE),
    ],
)
def test_a_baseline_near_zero_shows_the_difference(measure, a, b, change, header):
    frames = (frame([value]).rename({"x_s": measure}) for value in (a, b))
    row = _columns(contrast(*frames, measure, is_paired=False)) | {
        "holm_p_value": None,
        "verdict": None,
    }
    differences = pl.DataFrame([{"table": "groups", "name": "a", "measure": measure, **row}])
    known = differences.with_columns(pl.col(pl.Float64).fill_nan(None))
    headers, (cells,) = readable_differences(known)
    assert headers[4] == header
    assert cells[4] == change


def test_differences_have_the_unit_that_suits_them():
    frames = frame([9e6, 9.1e6, 9.2e6]), frame([8e6, 8.2e6, 8.1e6])
    measure = "goodput_bits_per_second"
    a, b = (one.rename({"x_s": measure}) for one in frames)
    row = _columns(contrast(a, b, measure, is_paired=True)) | {
        "holm_p_value": None,
        "verdict": None,
    }
    differences = pl.DataFrame([{"table": "groups", "name": "a", "measure": measure, **row}])
    _, (cells,) = readable_differences(differences)
    assert cells[1:4] == ["goodput / Mbit/s", "9.1", "8.1"]
    assert cells[4] == "-11 %"
    assert cells[5].startswith("[-1")
    assert cells[5].endswith("] %")


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
    differences = compare(a, b, measures=["goodput_bits_per_second"])
    assert differences.select("flows_count", "name").rows() == [(4, "greedy"), (4, "thin")]


def test_a_known_difference_is_found_with_its_sign(tmp_path):
    a = run(plan((1,), ("TCP",)), tmp_path / "a")
    b = run(plan((1,), ("LT",)), tmp_path / "b")
    # The made-up numbers of "LT" have 0.8 of the latency; the axis label must be the same to pair.
    for results in (a, b):
        path = results.folder / "groups.parquet"
        pl.read_parquet(path).with_columns(pl.lit("x").alias("variant")).write_parquet(path)
    row = compare(a, b, measures=["ack_latency_p50_s"]).row(1, named=True)
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
        compare(results, results, measures=["speed"])


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
    lines = "\n".join(Comparison(a, b).head())
    assert "scripted" in lines
    assert "kernel" in lines
    assert "independent samples (Welch)" in lines
    assert "the same in all settings" in lines


def test_keys_that_differ_are_named_once_with_both_values(tmp_path):
    a, b = run(plan((1, 4)), tmp_path / "a"), run(plan((1, 4), ("LT",)), tmp_path / "b")
    lines = Comparison(a, b).head()
    assert lines[-1] == "the scenarios are the same in all settings"  # no cell in common
    c = run(plan((1, 4), ("LT",)), tmp_path / "c")
    document = c.manifest.plan.document
    for cell in document["cells"]:
        cell["experiment"]["flows"][1]["tcp"]["linear_timeouts"] = False
    d = run(type(plan()).from_document(document, ()), tmp_path / "d")
    assert Comparison(b, d).head()[-2:] == [
        "settings that differ, A -> B:",
        "  flows.thin.tcp.linear_timeouts: true -> false",
    ]


def test_narrow_comparison_keeps_its_verdicts(tmp_path, monkeypatch):
    run(plan((1,), ("TCP", "LT"), 8), tmp_path / "a")
    command = ("compare", "a", "--by", "variant")
    monkeypatch.setenv("COLUMNS", "80")
    code, out, error = fairwind(*command, cwd=tmp_path)
    assert code == 0, error
    assert max(map(len, out.splitlines())) <= 80
    assert "less" in out
    assert "columns left out to fit the width: p, p (Holm)" in error
    _, wide, error = fairwind(*command, "--wide", cwd=tmp_path)
    assert "p (Holm)" in wide
    assert "left out" not in error
