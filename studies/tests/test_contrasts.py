"""Two sides of an experiment against each other, and the steps of the latency of thin streams."""

from __future__ import annotations

import polars as pl
import pytest
from fairwind_studies.impact_on_others.study import expected_steps

from fairwind.execution.execute import RunSettings, run_plan
from fairwind.results import Results, Verdict
from fairwind.studies.comparisons import CONTRAST, Contrast, contrasted, in_words
from fairwind.studies.effects import verdict_of, with_effects, without_harm
from made_up import VARIANTS, ScriptedEngine, plan

GOODPUT = "goodput_bits_per_second"


@pytest.fixture
def results(tmp_path) -> Results:
    return run_plan(plan((4,), VARIANTS, 3), ScriptedEngine(), RunSettings(1, tmp_path))


def side(variant: str, group: str = "greedy") -> dict[str, str]:
    return {"variant": variant, "group": group}


def judged(results: Results, changed: str) -> tuple[pl.DataFrame, Verdict]:
    contrast = Contrast("changed", side("TCP"), side(changed))
    details = with_effects(contrasted(results, [contrast], [GOODPUT]))
    return details, verdict_of(without_harm(details, [CONTRAST]))


def lower_goodput(results: Results, variant: str, kept: float) -> Results:
    """Take goodput from a variant: all of its seeds alike."""
    path = results.folder / "groups.parquet"
    is_it = pl.col("variant") == variant
    lowered = pl.when(is_it).then(pl.col(GOODPUT) * kept).otherwise(pl.col(GOODPUT))
    pl.read_parquet(path).with_columns(lowered.alias(GOODPUT)).write_parquet(path)
    return Results(results.folder)


def test_sides_are_paired_by_seed(results):
    details, _ = judged(lower_goodput(results, "LT", 0.5), "LT")
    row = details.row(0, named=True)
    assert row["pairs"] == 3
    assert row["relative_ratio"] == pytest.approx(-0.5)
    assert row["mean_variant"] == pytest.approx(row["mean_reference"] / 2)


def test_a_loss_beyond_the_margin_is_harm(results):
    assert judged(lower_goodput(results, "LT", 0.5), "LT")[1] is Verdict.FAILS


def test_a_loss_within_the_margin_is_none(results):
    assert judged(lower_goodput(results, "LT", 0.99), "LT")[1] is Verdict.HOLDS


def test_a_gain_is_no_harm(results):
    assert judged(lower_goodput(results, "LT", 2.0), "LT")[1] is Verdict.HOLDS


def test_difference_names_contrast_and_measure(results):
    details, _ = judged(results, "mFR")
    assert in_words(details, {GOODPUT: "goodput"}).startswith("changed: goodput +0.0%")


def test_latency_steps_match_hand_calculation():
    # 100 ms between writes, 200 ms round trip: the third duplicate comes at 500 ms and its repair
    # is acknowledged at 700; the time-out of 400 ms begins at 100, and is acknowledged at 700, too.
    steps = dict(expected_steps(0.2, 0.1).iter_rows())
    assert steps["not lost"] == pytest.approx(200)
    assert steps["third duplicate ACK, or time-out"] == pytest.approx(700)
    assert steps["one behind a lost one"] == pytest.approx(600)
    assert steps["second time-out, linear"] == pytest.approx(1100)
    assert steps["second time-out, doubled"] == pytest.approx(1500)
