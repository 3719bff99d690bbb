"""One rule for benefit and harm: what whole intervals show, and the grade of all places."""

from __future__ import annotations

import math

import polars as pl
import pytest

from fairwind.results import Verdict
from fairwind.studies.effects import (
    FAILED,
    HELD,
    Effect,
    benefits,
    effects_counted,
    effects_in_words,
    verdict_of,
    with_effects,
    without_harm,
)

LATENCY, GOODPUT = "delivery_latency_p99_s", "goodput_bits_per_second"


def frame(*rows: tuple[str, str, float, float]) -> pl.DataFrame:
    names = ["contrast", "measure", "relative_low_ratio", "relative_high_ratio"]
    # The same bounds without unit: only zero matters there.
    bounds = {"low": "relative_low_ratio", "high": "relative_high_ratio"}
    details = pl.DataFrame(rows, schema=names, orient="row")
    return with_effects(details.with_columns(**{name: pl.col(of) for name, of in bounds.items()}))


@pytest.mark.parametrize(
    ("low", "high", "of_latency", "of_goodput"),
    [
        (-0.30, -0.06, Effect.BENEFIT, Effect.HARM),
        (-0.30, -0.05, Effect.UNDECIDED, Effect.UNDECIDED),
        (0.06, 0.30, Effect.HARM, Effect.BENEFIT),
        (-0.04, 0.04, Effect.NONE, Effect.NONE),
        (-0.30, -0.01, Effect.UNDECIDED, Effect.UNDECIDED),
        (-0.02, -0.01, Effect.NONE, Effect.NONE),
        (math.nan, math.nan, Effect.UNDECIDED, Effect.UNDECIDED),
    ],
)
def test_an_effect_counts_only_beyond_the_margin(low, high, of_latency, of_goodput):
    details = frame(("a", LATENCY, low, high), ("a", GOODPUT, low, high))
    assert details["effect"].to_list() == [of_latency, of_goodput]


def test_what_is_zero_on_both_sides_has_no_effect():
    nothing = {"measure": ["packet_loss_ratio"] * 3, "low": [0.0, 0.1, math.nan]}
    details = pl.DataFrame(nothing | {"high": [0.0, 0.2, math.nan]}).with_columns(
        relative_low_ratio=math.nan, relative_high_ratio=math.nan
    )
    # Loss where there was none has no relative size.
    assert with_effects(details)["effect"].to_list() == [
        Effect.NONE,
        Effect.UNDECIDED,
        Effect.UNDECIDED,
    ]


def grades(details: pl.DataFrame, judge=benefits) -> dict[str, tuple[bool, bool]]:
    judged = judge(details, ["contrast"])
    return {row["contrast"]: (row[HELD], row[FAILED]) for row in judged.iter_rows(named=True)}


def test_a_place_benefits_if_one_measure_does_and_none_is_harmed():
    details = frame(
        ("one better", LATENCY, -0.3, -0.1),
        ("one better", "delivery_latency_p50_s", -0.01, 0.01),
        ("half open", LATENCY, -0.3, -0.1),
        ("half open", "delivery_latency_p50_s", -0.4, 0.5),
        ("both", LATENCY, -0.3, -0.1),
        ("both", "delivery_latency_p50_s", 0.1, 0.3),
        ("excluded", LATENCY, -0.04, 0.5),
        ("open", LATENCY, -0.4, 0.5),
    )
    assert grades(details) == {
        "one better": (True, False),
        "half open": (False, False),
        "both": (False, True),
        "excluded": (False, True),
        "open": (False, False),
    }


def test_harm_is_excluded_by_the_worse_end_of_the_interval():
    details = frame(
        ("gain", GOODPUT, -0.04, 0.5),
        ("loss", GOODPUT, -0.5, -0.06),
        ("open", GOODPUT, -0.06, 0.5),
    )
    assert grades(details, without_harm) == {
        "gain": (True, False),
        "loss": (False, True),
        "open": (False, False),
    }


@pytest.mark.parametrize(
    ("holds", "fails", "verdict"),
    [
        ([True, True], [False, False], Verdict.HOLDS),
        ([True, False], [False, True], Verdict.HOLDS_FOR_SOME),
        ([False, False], [True, False], Verdict.FAILS_FOR_SOME),
        ([False, False], [True, True], Verdict.FAILS),
        ([False, False], [False, False], Verdict.UNDECIDED),
        ([], [], Verdict.UNDECIDED),
    ],
)
def test_grade_follows_all_places(holds, fails, verdict):
    judged = pl.DataFrame(
        {HELD: holds, FAILED: fails}, schema={HELD: pl.Boolean, FAILED: pl.Boolean}
    )
    assert verdict_of(judged) is verdict


def test_effects_are_counted_and_told_by_contrast():
    details = frame(
        ("half", LATENCY, -0.3, -0.1),
        ("half", GOODPUT, -0.3, -0.1),
        ("all", LATENCY, -0.3, -0.1),
        ("all", GOODPUT, -0.3, -0.1),
        ("none", LATENCY, -0.01, 0.01),
        ("none", GOODPUT, -0.5, 0.5),
    )
    assert effects_counted(details) == "2 benefit, 2 harm, 1 none that matters, 1 undecided"
    assert effects_in_words(details, {LATENCY: "wait", GOODPUT: "goodput"}) == (
        "With half and all the wait gets better, the goodput gets worse; "
        "with none the wait stays within 5%, the goodput is undecided."
    )
