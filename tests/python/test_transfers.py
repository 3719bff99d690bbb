"""Transfers one after the other say the same in the simulator and on the running kernel."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fairwind.engine.selection import engine_named
from process import fairwind

PROBLEM = engine_named("kernel").obstacle()

ROUND_TRIP_S = 0.2

SCENARIO = """
name = "transfers"
duration = "6 s"
[path]
rate = "50 Mbit/s"
rtt = "200 ms"
[[flows]]
name = "web"
workload = { kind = "transfers", volume = "100 kB", transfers = 20 }
tcp = { delayed_ack = false }
"""


def transfers(folder: Path, engine: str) -> pl.DataFrame:
    """Run the scenario and give the rows of what was sent."""
    file = folder / "transfers.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    code, _, error = fairwind("run", str(file), "--on", engine, "--out", engine, cwd=folder)
    assert code == 0, error
    flows = pl.read_parquet(folder / engine / "flows.parquet")
    return flows.filter(pl.col("group") == "web-responses").sort("start_s")


@pytest.mark.alone
@pytest.mark.kernel
@pytest.mark.skipif(PROBLEM is not None, reason=f"no run on the kernel: {PROBLEM}")
def test_transfers_take_as_many_round_trips_on_the_kernel_as_in_the_simulator(tmp_path: Path):
    # 70 segments from a window of ten: a round trip to open, and 10, 20 and 40 of them.
    rounds = {}
    for engine in ("sim", "kernel"):
        done = transfers(tmp_path, engine)
        times = done["completion_time_s"].drop_nulls()
        rounds[engine] = [round(time / ROUND_TRIP_S) for time in times]
        ends = done["finished_s"].drop_nulls().to_list()
        starts = done["start_s"].to_list()
        assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
        assert 0 <= len(starts) - len(ends) <= 1, "all but the last one end"
    assert set(rounds["sim"]) == {4}
    assert sorted(rounds["kernel"])[len(rounds["kernel"]) // 2] == 4
    assert min(rounds["kernel"]) == 4
