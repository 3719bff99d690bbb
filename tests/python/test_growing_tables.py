"""Tables of captures that are longer than memory."""

from __future__ import annotations

import errno

import polars as pl
import pytest

from fairwind.analysis import folder
from fairwind.analysis.folder import Rows
from fairwind.errors import FairwindError
from fairwind.folder.store import storage_errors


def flows(numbers: range) -> pl.DataFrame:
    """Make rows as the core hands them out early: without rates and measured time."""
    return pl.DataFrame(
        {
            "cell": [0] * len(numbers),
            "replicate": [0] * len(numbers),
            "flow": list(numbers),
            "name": [f"flow-{number}" for number in numbers],
            "payload_bytes_sent": [number % 7 for number in numbers],
            # One of them was seen arriving, and not leaving.
            "payload_bytes_received": [8 if number == 8 else 0 for number in numbers],
            "payload_bytes_read": [1000 * number for number in numbers],
        }
    ).with_columns(
        pl.lit(None, pl.Float64).alias("measured_s"),
        pl.lit(None, pl.Float64).alias("goodput_bits_per_second"),
    )


@pytest.fixture(params=[10, 1_000_000])
def filled(request, tmp_path, monkeypatch) -> Rows:
    """Give a hundred rows that came in ten parts, spilled to the disk or not."""
    monkeypatch.setattr(folder, "MOST_ROWS", request.param)
    growing = Rows(tmp_path / "parts")
    for start in range(0, 100, 10):
        growing.add({"flows": flows(range(start, start + 10)), "queues": pl.DataFrame()})
    assert bool(growing.parts) == (request.param == 10)
    return growing


def test_rows_keep_their_order_whether_they_were_spilled_or_not(filled, tmp_path):
    filled.write(tmp_path)
    written = pl.read_parquet(tmp_path / "flows.parquet")
    assert written["flow"].to_list() == list(range(100))
    assert not (tmp_path / "queues.parquet").exists()
    assert not list(tmp_path.glob("parts/*.parquet"))


def test_rates_are_filled_when_the_measured_time_is_known(filled, tmp_path):
    filled.measured[0, 0] = 4.0
    filled.write(tmp_path)
    written = pl.read_parquet(tmp_path / "flows.parquet")
    # 1000 bytes per number are 8000 bits, over 4 seconds.
    assert written["goodput_bits_per_second"].to_list() == [2000.0 * n for n in range(100)]
    assert set(written["measured_s"]) == {4.0}


def test_the_largest_flows_are_found_in_all_parts(filled):
    assert filled.largest_names((0, 0), 3) == ("flow-8", "flow-6", "flow-13")
    assert filled.largest_names((1, 0), 2) == ()


def test_full_disk_is_reported(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(FairwindError, match="the disk is full"), storage_errors(tmp_path, "", ""):
        raise full
