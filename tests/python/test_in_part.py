"""Grades for some say in a sentence what holds and what does not."""

from __future__ import annotations

import polars as pl
import pytest

from fairwind.results import Claim, Verdict
from fairwind.studies.panels import Panels, listed, places_in_words, where_it_holds

HOLDS = {"it holds": pl.col("holds"), "it fails": ~pl.col("holds")}
BOTH = Panels("flows_count", ("early_retrans",))


def frame(*rows: tuple[str, int, int, bool]) -> pl.DataFrame:
    columns = ["variant", "flows_count", "early_retrans", "holds"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def claim(verdict: Verdict, in_short: str = "") -> Claim:
    return Claim("It rains.", "a rule", verdict, "numbers", pl.DataFrame(), in_short)


def test_a_grade_for_some_without_a_sentence_is_refused():
    with pytest.raises(ValueError, match="needs in_short: It rains"):
        claim(Verdict.HOLDS_FOR_SOME)


def test_only_a_grade_for_some_has_one():
    assert claim(Verdict.HOLDS_FOR_SOME, "In May.").which_part == "In May."
    assert claim(Verdict.HOLDS, "In May.").which_part == ""


def test_each_place_is_named_once_with_all_variants():
    rows = [(name, count, 0, name == "A" or count < 2) for name in "ABC" for count in (1, 2)]
    assert where_it_holds(frame(*rows), Panels(), HOLDS) == (
        "It holds for A at every N, for B and C at N = 1; it fails for B and C at N = 2."
    )


def test_what_is_true_of_all_names_none():
    rows = [(name, count, 0, count < 2) for name in "ABC" for count in (1, 2)]
    assert where_it_holds(frame(*rows), Panels(), HOLDS) == "It holds at N = 1; it fails at N = 2."


def test_irrelevant_axis_is_not_named():
    rows = [("A", count, early, count < 2) for count in (1, 2) for early in (0, 3)]
    assert where_it_holds(frame(*rows), BOTH, HOLDS) == "It holds at N = 1; it fails at N = 2."


def test_a_circumstance_that_matters_stands_behind_its_place():
    rows = [("A", count, early, count + early < 3) for count in (1, 2) for early in (0, 3)]
    assert where_it_holds(frame(*rows), BOTH, HOLDS) == (
        "It holds at every N (early_retrans 0); it fails at every N (early_retrans 3)."
    )


def test_settings_that_differ_in_one_axis_are_named_together():
    places = [(5, 0), (5, 3), (20, 0), (20, 3), (40, 3)]
    assert places_in_words(("flows_greedy_count", "early_retrans"), places) == (
        "5 and 20 greedy, early_retrans 0 and 3; 40 greedy, early_retrans 3"
    )


def test_things_are_listed_with_an_and_before_the_last():
    assert [listed(list(names)) for names in ("", "a", "ab", "abc")] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
