"""How aggressive senders are against a reference: by hand, by closed forms, by command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fairwind as package
from fairwind.aggression import AFTER, MEASURES, _answers_of
from fairwind.errors import FairwindError
from process import fairwind

SCENARIO = """
name = "aggression"
duration = "{duration}"
seed = 3
repeat = 2

[path]
rate = "1 Gbit/s"
rtt = "80 ms"
loss = "0.05 %"

[[flows]]
name = "reference"
count = 2
workload = {{ kind = "greedy" }}
tcp = {{ congestion = "reno", hystart = false }}

[[flows]]
name = "mine"
count = 2
workload = {{ kind = "greedy" }}
tcp = {{ congestion = "{control}", hystart = false }}

[measure]
warmup = "5 s"
intervals = ["{window}"]
per_flow_intervals = {per_flow}
"""


def written(folder: Path, control: str = "reno", **changed: str) -> Path:
    settings = {"duration": "60 s", "window": "10 ms", "per_flow": "true"} | changed
    file = folder / "aggression.toml"
    file.write_text(SCENARIO.format(control=control, **settings), encoding="utf-8")
    return file


def counts(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def test_answer_begins_a_round_trip_after_the_loss() -> None:
    # Two windows to a round trip: 4 + 4 before it, 6 + 6 before it is known, then four round trips.
    sent = counts(4, 4, 6, 6, 2, 2, 3, 3, 4, 4, 5, 5)
    lost = counts(0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    ((before, after),) = _answers_of(sent, lost, 2)
    assert before == 8
    assert after.tolist() == [4, 6, 8, 10]


def test_losses_in_a_row_and_before_the_end_are_one_or_none() -> None:
    sent, lost = np.full(40, 3), np.zeros(40, np.int64)
    lost[[4, 5, 6]] = 1  # one loss, since there is less than a round trip between them
    lost[12] = 1  # within the answer to the first
    lost[31] = 1  # too late to be answered
    assert len(list(_answers_of(sent, lost, 2))) == 1
    lost[20] = 1
    assert len(list(_answers_of(sent, lost, 2))) == 2


def test_nothing_sent_before_a_loss_is_no_answer() -> None:
    sent, lost = np.zeros(40, np.int64), np.zeros(40, np.int64)
    sent[10:], lost[10] = 5, 1
    assert not list(_answers_of(sent, lost, 2))


@pytest.mark.parametrize(
    ("control", "kept"), [("reno", 0.5), ("cubic", 0.7), ("scalable", 0.875), ("bic", 0.8)]
)
def test_second_round_trip_has_what_the_control_keeps(
    control: str, kept: float, tmp_path: Path
) -> None:
    """Without a queue a window is what is sent in a round trip: RFC 5681, RFC 9438, Kelly 2003."""
    results = package.load(written(tmp_path, control)).run(out=tmp_path / "run")
    mine = results.aggression("reference").filter(pl.col("group") == "mine")
    assert mine["losses_answered"].min() >= 5
    assert mine["round_trip_s"].to_list() == pytest.approx([0.08] * 2, abs=0.003)
    assert mine["after_2_ratio"].mean() == pytest.approx(kept, rel=0.08)


def test_equal_groups_are_equally_aggressive(tmp_path: Path) -> None:
    results = package.load(written(tmp_path, duration="120 s")).run(out=tmp_path / "run")
    table = results.aggression("reference")
    assert table.columns[-len(MEASURES) :] == list(MEASURES)
    reference = table.filter(pl.col("group") == "reference")
    for name in ("excess_throughput_ratio", "excess_sent_ratio", "excess_after_ratio"):
        assert reference[name].to_list() == [0, 0]
    mine = table.filter(pl.col("group") == "mine")
    assert mine["excess_after_ratio"].mean() == pytest.approx(0, abs=0.1)
    # By hand, from the table of groups.
    rates = dict(
        results.groups.filter(pl.col("replicate") == 0)
        .select("group", "throughput_bits_per_second")
        .iter_rows()
    )
    expected = rates["mine"] / rates["reference"] - 1
    first = mine.filter(pl.col("replicate") == 0)
    assert first["excess_throughput_ratio"].item() == pytest.approx(expected)


def test_group_and_windows_have_to_be_there(tmp_path: Path) -> None:
    run = package.load(written(tmp_path, duration="8 s")).run(out=tmp_path / "run")
    with pytest.raises(FairwindError, match="no group 'other'"):
        run.aggression("other")
    long = package.load(written(tmp_path, duration="8 s", window="1 s")).run(out=tmp_path / "long")
    with pytest.raises(FairwindError, match="too long for the round trip of group reference"):
        long.aggression("reference")
    none = package.load(written(tmp_path, duration="8 s", per_flow="false"))
    with pytest.raises(FairwindError, match="no windows of single flows"):
        none.run(out=tmp_path / "none").aggression("reference")


def test_table_is_shown(tmp_path: Path) -> None:
    package.load(written(tmp_path, "cubic", duration="20 s")).run(out=tmp_path / "run")
    code, text, error = fairwind("show", "run", "--aggression", "reference", cwd=tmp_path)
    assert code == 0, error
    assert "excess throughput / %" in text
    code, text, error = fairwind(
        "show", "run", "--aggression", "reference", "--format", "json", cwd=tmp_path
    )
    assert code == 0, error
    rows = json.loads(text)
    assert {row["group"] for row in rows} == {"reference", "mine"}
    assert set(AFTER) < set(rows[0])
