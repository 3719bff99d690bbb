"""Estimates as people read them."""

import polars as pl
import pytest

from fairwind.results.summary import estimate, readable, with_uncertainty


def shown(values: list[float]) -> str:
    frame = pl.DataFrame({"group": "all", "jain_index": values})
    _, rows = readable(estimate(frame, ["group"], ["jain_index"]))
    return str(rows[0][1])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.5, 0.5, 0.5], "0.5 (3 equal)"),
        ([0.1 + 0.2, 0.3], "0.3 (2 equal)"),
        ([0.5], "0.5"),
        # Student's t of one degree of freedom, 12.7062, times the standard error 0.01.
        ([0.49, 0.51], "0.50 ± 0.13"),
    ],
)
def test_replicates_that_are_equal_are_said_to_be_so(values, text):
    assert shown(values) == text


def test_nothing_is_shown_of_what_was_not_measured():
    frame = pl.DataFrame({"group": ["all"], "jain_index": [None]})
    assert readable(estimate(frame, ["group"], ["jain_index"]))[1] == [["all", None]]


@pytest.mark.parametrize(
    ("mean", "half_width", "text"),
    [
        (0.506, 3e-5, "0.5060 ± 3e-05"),
        (0.506, 3e-3, "0.5060 ± 0.0030"),
        (1234.5, 70.0, "1234 ± 70"),
    ],
)
def test_an_uncertainty_is_never_rounded_to_nothing(mean, half_width, text):
    assert with_uncertainty(mean, half_width) == text
