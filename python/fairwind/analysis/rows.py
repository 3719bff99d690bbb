"""Tables that grow while a capture is read: in memory while small, then on the disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from fairwind.analysis.core import rate_columns
from fairwind.folder.store import parquet_bytes, write_frame

MEASURED = "measured_s"
OTHER = "other"
"""The group of connections that fit no rule."""

PAYLOAD = ("payload_bytes_sent", "payload_bytes_received")
"""The largest flows are those with most of either: a tap may see one of them only."""

MOST_ROWS = 65_536
"""Rows that are kept in memory, of all tables together."""


@dataclass
class Rows:
    """The rows of all tables so far.

    Attributes
    ----------
    folder : Path
        Where parts go when there are too many rows; it is made when it is needed.
    measured : dict
        Measured time in seconds, by cell and replicate: to be told before writing, since rows that
        were taken early have no rates.
    without_others : list
        Cells and replicates whose connections all belong to named groups: they have no group of
        others, of which there would be nothing but zeros.
    """

    folder: Path
    without_others: list[tuple[int, int]] = field(default_factory=list)
    measured: dict[tuple[int, int], float] = field(default_factory=dict)
    kept: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    parts: dict[str, list[Path]] = field(default_factory=dict)
    rows: int = 0

    def add(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Append rows to tables; tables without columns are passed over."""
        for name, frame in tables.items():
            if frame.width:
                self.kept.setdefault(name, []).append(frame)
                self.rows += frame.height
        if self.rows > MOST_ROWS:
            self._spill()

    def _spill(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, frames in self.kept.items():
            parts = self.parts.setdefault(name, [])
            file = self.folder / f"{name}-{len(parts):06}.parquet"
            file.write_bytes(parquet_bytes(pl.concat(frames, how="vertical_relaxed")))
            parts.append(file)
        self.kept.clear()
        self.rows = 0

    def largest_names(self, place: tuple[int, int], many: int) -> tuple[str, ...]:
        """Give the names of the flows with most payload of one cell and replicate."""
        kept = [frame.lazy() for frame in self.kept.get("flows", [])]
        scans = [pl.scan_parquet(file) for file in self.parts.get("flows", [])]
        if not kept and not scans:
            return ()
        cell, replicate = place
        return tuple(
            pl.concat(
                [frame.select("cell", "replicate", "name", *PAYLOAD) for frame in scans + kept]
            )
            .filter(pl.col("cell") == cell, pl.col("replicate") == replicate)
            .sort(pl.max_horizontal(PAYLOAD), descending=True, nulls_last=True, maintain_order=True)
            .head(many)
            .collect()["name"]
        )

    def write(self, out: Path) -> None:
        """Write one file per table; what was spilled is never in memory as a whole."""
        if self.parts:
            self._spill()
        for name, frames in self.kept.items():
            frame = pl.concat(frames, how="vertical_relaxed").lazy()
            write_frame(out / f"{name}.parquet", self._final(name, frame).collect())
        for name, files in self.parts.items():
            target = self.folder / f"{name}.parquet"
            frame = self._final(name, pl.scan_parquet(files))
            frame.sink_parquet(target, compression="zstd", statistics=True)
            target.replace(out / f"{name}.parquet")
            for file in files:
                file.unlink()

    def _final(self, name: str, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Give the rows as they are written, without groups of nothing."""
        if self.without_others and "group" in frame.collect_schema().names():
            is_other = pl.col("group").eq_missing(OTHER)
            without = [
                pl.col("cell").eq(cell) & pl.col("replicate").eq(replicate)
                for cell, replicate in self.without_others
            ]
            frame = frame.filter(~(is_other & pl.any_horizontal(without)))
        return self._with_rates(name, frame)

    def _with_rates(self, name: str, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Fill the rates of rows that were taken before the measured time was known."""
        columns = frame.collect_schema().names()
        if not self.measured or MEASURED not in columns:
            return frame
        of_runs = (
            pl.when(pl.col("cell") == cell, pl.col("replicate") == replicate).then(time)
            for (cell, replicate), time in self.measured.items()
        )
        seconds = pl.coalesce(MEASURED, *of_runs)
        rates = {
            rate: pl.coalesce(rate, pl.col(of).cast(pl.Float64) * 8.0 / seconds)
            for rate, of in rate_columns(name).items()
            if rate in columns
        }
        return frame.with_columns(seconds.alias(MEASURED), **rates)
