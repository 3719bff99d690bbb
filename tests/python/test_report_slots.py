"""The figure of capacity on demand: rates by hand, and who has one."""

from __future__ import annotations

import polars as pl

from fairwind.report.figures import default_figures
from fairwind.report.slots import capacity_windows
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


def test_capacity_is_drawn_as_asked_for_assigned_and_sent():
    frames = pl.DataFrame(
        {
            "start_s": [0.0, 1.0],
            "requested_mean_bits_per_second": [88_000.0, None],
            "assigned_bits_per_second": [44_000.0, 132_000.0],
            "capacity_use_ratio": [0.5, 1.0],
        }
    )
    drawn = capacity_windows(frames).select("group", "start_s", "bits_per_second").rows()
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
