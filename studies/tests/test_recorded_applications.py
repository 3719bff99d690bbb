"""Recorded applications beside greedy streams: who gains and who pays, on results made up."""

from __future__ import annotations

import polars as pl
import pytest
from fairwind_studies.recorded_applications.study import claims, figures
from made_up_groups import made_up, when

from fairwind.engine.core import recorded_applications
from fairwind.quantities import parse_seconds
from fairwind.results import Verdict
from fairwind.studies import study_named

AXES = {"application": ("Sparse", "Dense"), "variant": ("TCP", "LT", "RDB")}
IS_DENSE = pl.col("application") == "Dense"
IS_THIN, IS_GREEDY = (pl.col("group") == group for group in ("thin", "greedy"))
IS_BUNDLING = pl.col("variant") == "RDB"


def test_gains_and_harm_are_named_by_application():
    sooner = pl.col("delivery_latency_p99_s") * 0.6
    slower = pl.col("goodput_bits_per_second") * 0.8
    results = made_up(
        AXES,
        delivery_latency_p99_s=when(
            IS_THIN & IS_DENSE & IS_BUNDLING, sooner, "delivery_latency_p99_s"
        ),
        goodput_bits_per_second=when(
            IS_GREEDY & IS_DENSE & IS_BUNDLING, slower, "goodput_bits_per_second"
        ),
        packet_loss_ratio=when(IS_THIN, pl.col("packet_loss_ratio") * 2, "packet_loss_ratio"),
    )
    linear, bundling, greedy, loss, share = claims(results)
    assert linear.verdict is Verdict.FAILS
    assert linear.in_short == "It fails for all."
    assert bundling.verdict is Verdict.HOLDS_FOR_SOME
    assert bundling.in_short == "It holds for Dense; it fails for Sparse."
    assert "99th percentile -40.0%" in bundling.evidence
    assert bundling.statement.startswith("Beyond the source")
    assert greedy.verdict is Verdict.HOLDS_FOR_SOME
    assert greedy.in_short == (
        "With LT it holds for all; with RDB it holds for Sparse; it fails for Dense."
    )
    assert greedy.evidence.startswith("The largest loss: -20.0%")
    assert greedy.evidence.endswith("(RDB, Dense).")
    assert loss.verdict is Verdict.HOLDS
    assert "Sparse 4.0%, greedy 2.0%" in loss.evidence
    assert share.verdict is Verdict.HOLDS


def test_goodput_is_judged_by_the_max_min_fair_share():
    less = pl.col("goodput_bits_per_second") * 0.9
    results = made_up(
        AXES,
        goodput_bits_per_second=when(IS_THIN & IS_DENSE, less, "goodput_bits_per_second"),
    )
    *_, share = claims(results)
    # 10 streams that write 120 B in 100 ms each ask for 96 kbit/s, and 5 Mbit/s are there.
    assert share.details["fair_bits_per_second"].to_list() == pytest.approx([96_000.0] * 6)
    assert share.verdict is Verdict.HOLDS_FOR_SOME
    assert share.in_short == "With TCP it holds for Sparse; it fails for Dense."
    assert share.evidence.startswith("The least: 90.0%")


def test_green_is_better_for_latency_and_goodput():
    half, double = pl.col("delivery_latency_mean_s") / 2, pl.col("goodput_bits_per_second") * 2
    results = made_up(
        AXES,
        delivery_latency_mean_s=when(IS_THIN & IS_BUNDLING, half, "delivery_latency_mean_s"),
        goodput_bits_per_second=when(IS_GREEDY & IS_BUNDLING, double, "goodput_bits_per_second"),
    )
    latency, goodput = (figure.chart.to_dict() for figure in figures(results))
    for chart, measure in ((latency, "mean"), (goodput, "goodput of greedy streams")):
        (rows,) = chart["datasets"].values()
        shown = {row["variant"]: row["factor"] for row in rows if row["column"] == measure}
        assert abs(shown["RDB"] - 2) < 1e-3
        assert abs(shown["LT"] - 1) < 1e-3


FILLS_A_LINK = "YouTube stream"


@pytest.mark.parametrize("form", ["full", "reduced", "kernel"])
def test_all_that_send_little_over_tcp_are_there_by_rate(form):
    plan = study_named("recorded-applications").scenario(form).check()
    intervals_s = {
        one["application"]: parse_seconds(one["interval"]["mean"])
        for one in recorded_applications()
        if one["transport"] == "tcp" and one["interval"]
    }
    labels = list(plan.axis("application").labels)
    assert set(labels) == {*intervals_s} - {FILLS_A_LINK}
    in_order = [intervals_s[label] for label in labels]
    assert in_order == sorted(in_order, reverse=True)
