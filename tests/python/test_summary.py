"""The summary of a capture, of tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from fairwind.analysis.summary import summary_of


def test_round_trips_of_a_group_are_those_of_flows_that_were_seen_leaving():
    tables = {
        "groups": pl.DataFrame({"group": ["all"], "flows": [3]}),
        "flows": pl.DataFrame(
            {"flow": [0, 1, 2], "group": ["all"] * 3, "packets_sent": [5, None, 7]}
        ),
        "transport": pl.DataFrame(
            {
                "scope": ["flow", "flow", "flow", "group"],
                "flow": [0, 1, 2, None],
                "group": ["all"] * 4,
                "rtt_samples": [1, 8, 3, 12],
                "rtt_min_s": [0.04, 0.001, 0.05, 0.001],
                "rtt_mean_s": [0.04, 0.001, 0.08, 0.02],
            }
        ),
    }
    shown = summary_of(tables, "group", 10)
    assert shown["rtt_min_s"].to_list() == [0.04]
    assert shown["rtt_mean_s"].to_list() == pytest.approx([(0.04 + 3 * 0.08) / 4])
