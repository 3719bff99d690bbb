"""The folder of an analysis, and tables that grow while a capture is read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from fairwind.analysis.caveats import caveats_of
from fairwind.analysis.core import OTHER, rate_columns
from fairwind.analysis.settings import AnalysisSettings
from fairwind.analysis.source import Source
from fairwind.engine.core import analysis_columns, core_versions, table_columns
from fairwind.errors import FairwindError
from fairwind.execution.folder import discard, make_folder
from fairwind.folder.manifest import CAPTURE_ENGINE, MANIFEST, Captured, Manifest, read_manifest
from fairwind.folder.store import TEMPORARY, locked, parquet_bytes, write_frame

PARTS = f"{TEMPORARY}parts"


@dataclass
class Keep:
    """Folder of an analysis in progress."""

    rows: Rows
    manifest: Manifest

    def add(self, **known: Any) -> None:  # noqa: ANN401 - attributes of `Captured`
        """Add to the manifest what is known at the end only."""
        self.manifest = replace(self.manifest, captured=replace(self._captured(), **known))

    def write(self, out: Path) -> None:
        """Write the tables, and the manifest with its warnings."""
        self.rows.write(out)
        self.add(caveats=caveats_of(out, self._captured().facts))
        self.manifest.write(out)

    def _captured(self) -> Captured:
        assert self.manifest.captured is not None, "it is the manifest of captures"
        return self.manifest.captured


@contextmanager
def new_folder(
    out: Path, source: Source, settings: AnalysisSettings, *, force: bool
) -> Iterator[Keep]:
    """Make a folder ready, and write into it what the block leaves.

    The manifest is written first, so a killed analysis is recognised. If
    the block fails, nothing is left.

    Raises
    ------
    FairwindError
        If the folder is none, is in use, or holds another run and ``force`` is not given.
    """
    make_folder(out)
    with locked(out):
        manifest = _manifest(source, settings)
        _make_room(out, manifest, force=force)
        manifest.write(out)
        keep = Keep(Rows(out / PARTS), manifest)
        try:
            yield keep
            keep.write(out)
        except BaseException:  # whoever tries again shall find the folder free
            discard(out)
            raise
        finally:
            shutil.rmtree(out / PARTS, ignore_errors=True)


def _manifest(source: Source, settings: AnalysisSettings) -> Manifest:
    inputs = tuple(entry for taps in source.taps for entry in taps.inputs())
    return Manifest.of_run(
        source.plan,
        CAPTURE_ENGINE,
        dict(core_versions()),
        columns=[*table_columns(), *analysis_columns()],
        facts={},
        study=None,
        captured=Captured(
            inputs=inputs, settings=asdict(settings), made_by=source.made_by, is_complete=False
        ),
    )


def _make_room(out: Path, manifest: Manifest, *, force: bool) -> None:
    if not (out / MANIFEST).exists():
        return
    earlier = read_manifest(out)
    there, wanted = (one.captured and one.captured.inputs for one in (earlier, manifest))
    if not force and there != wanted:
        what = "a run" if there is None else "the analysis of other captures"
        raise FairwindError(
            f"{out} holds {what}, {earlier.plan.name}",
            "name another folder with --out, or discard what is there with --force",
        )
    discard(out)


MEASURED = "measured_s"
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
        Measured time in seconds, by cell and replicate: must be set before writing, since rows that
        were taken early have no rates.
    without_others : list
        Cells and replicates in which all connections belong to named groups: they have no group of
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
