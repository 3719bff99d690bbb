"""The figure of capacity on demand: rates by hand, and who has one."""

from __future__ import annotations

import polars as pl

from fairwind.report.figures import capacity_windows, default_figures
from fairwind.scenario import Scenario

SCENARIO = """
name = "a terminal"
duration = "6 s"
[path]
rtt = "840 ms"
LINK
[[flows]]
name = "greedy"
workload = { kind = "greedy", volume = "20 kB" }
"""


def figure_names(link: str, folder) -> dict[str, str]:
    """Give the captions of a run's figures by their names."""
    results = Scenario("slots.toml", SCENARIO.replace("LINK", link)).run(jobs=1, out=folder)
    return {figure.name: figure.caption for figure in default_figures(results)}


def drawn_of(asked: list, assigned: list, used: list, period_s: float = 2.0) -> list[tuple]:
    """Give what is drawn of windows of a second in one run."""
    frames = pl.DataFrame(
        {
            "cell": 0,
            "seed": 1,
            "interval_s": 1.0,
            "request_period_s": period_s,
            "start_s": [float(start) for start in range(len(asked))],
            "requested_mean_bits_per_second": pl.Series(asked, dtype=pl.Float64),
            "assigned_bits_per_second": assigned,
            "capacity_use_ratio": used,
        }
    )
    return capacity_windows(frames).select("group", "start_s", "bits_per_second").rows()


def test_what_was_asked_for_falls_to_nothing_when_a_request_was_due_and_none_came():
    asked = [None, 9.0, None, 7.0, None, None, None]
    drawn = drawn_of(asked, [1.0] * 7, [1.0] * 7)
    # Requests every two windows: in the sixth one is missing, in the third none was due.
    expected = [(0.0, 0.0), (1.0, 9.0), (3.0, 7.0), (5.0, 0.0), (6.0, 0.0)]
    assert [row[1:] for row in drawn if row[0] == "asked for"] == expected


def test_who_never_asks_has_no_line_of_what_was_asked_for():
    assert {row[0] for row in drawn_of([None] * 3, [1.0] * 3, [1.0] * 3)} == {"assigned", "sent"}


def test_capacity_is_drawn_as_asked_for_assigned_and_sent():
    drawn = drawn_of([88_000.0, None], [44_000.0, 132_000.0], [0.5, 1.0])
    assert drawn == [
        ("asked for", 0.0, 88_000.0),
        ("assigned", 0.0, 44_000.0),
        ("assigned", 1.0, 132_000.0),
        ("sent", 0.0, 22_000.0),
        ("sent", 1.0, 132_000.0),
    ]


def test_a_run_of_a_single_window_has_no_figure_of_throughput_over_time(tmp_path):
    rate = 'rate = "1 Mbit/s"'
    assert "throughput-over-time" not in figure_names(rate, tmp_path / "one")
    two = rate + '\n[measure]\nintervals = ["3 s"]'
    assert "throughput-over-time" in figure_names(two, tmp_path / "two")


def test_runs_with_slots_have_the_figure_and_others_have_not(tmp_path):
    slots = 'carrier = {}\nreverse_rate = "10 Mbit/s"\nterminal = { guaranteed_slots = 4 }'
    caption = figure_names(slots, tmp_path / "slots")["slots-over-time"]
    assert "the terminal of bottleneck asked for" in caption
    assert "slots-over-time" not in figure_names('rate = "1 Mbit/s"', tmp_path / "rate")


def test_sampled_congestion_windows_are_drawn(tmp_path):
    rate = 'rate = "1 Mbit/s"'
    assert "congestion-window" not in figure_names(rate, tmp_path / "none")
    sampled = rate + '\n[measure]\nendpoint_interval = "100 ms"'
    assert "first flow of each group" in figure_names(sampled, tmp_path / "s")["congestion-window"]
