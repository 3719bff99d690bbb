"""A run's folder as data frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from fairwind.errors import FairwindError
from fairwind.folder.manifest import Failure, Manifest, read_failures, read_manifest
from fairwind.folder.store import CELLS, cell_folder, part_folder
from fairwind.html import shown
from fairwind.lazy import module_named
from fairwind.results.answer import Answer

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


class _Table(cached_property[pl.DataFrame]):
    """A table of a run, read on first use."""

    def __init__(self, meaning: str) -> None:
        super().__init__(lambda results: results.table(str(self.attrname)))
        self.__doc__ = meaning


class _TableIfAny(cached_property[pl.DataFrame | None]):
    """A table that not every run has; None if it is missing."""

    def __init__(self, meaning: str) -> None:
        super().__init__(lambda results: results.table_if_any(str(self.attrname)))
        self.__doc__ = meaning


@dataclass(frozen=True)
class Results:
    """The results of one run.

    Every table begins with ``cell``, ``replicate``, ``seed`` and one column per axis of the grid.

    Attributes
    ----------
    folder : Path
        The run's folder.
    """

    folder: Path

    @cached_property
    def manifest(self) -> Manifest:
        """Manifest of the folder."""
        return read_manifest(self.folder)

    @cached_property
    def failures(self) -> list[Failure]:
        """The simulations that failed; the tables have no rows of them."""
        return read_failures(self.folder)

    flows = _Table("One row per flow.")
    groups = _Table("One row per group of flows.")
    intervals = _Table("One row per window of time and group (or flow).")
    latencies = _Table("One row per group or flow and kind of latency.")
    latency_histogram = _Table("One row per bucket of a group's latency histogram.")
    queues = _Table("One row per queue.")
    queue_drops = _Table("Drops, marks and waiting times, one row per queue and group.")
    queue_loss_runs = _Table("Statistics of runs of lost packets, one row per queue and group.")
    queue_loss_run_lengths = _Table("Runs of lost packets, one row per queue, group and length.")
    queue_sojourn_histogram = _Table("One row per bucket of a group's waiting times at a queue.")
    queue_backlog_histogram = _Table(
        "One row per bucket of the backlog that arrivals found at a queue."
    )
    slots = _Table("One row per queue that has slots of a carrier: assigned, used and asked for.")
    slot_intervals = _Table("One row per window of such a queue.")
    queue_events = _Table("One row per packet at a queue, if the scenario asked for it.")
    fairness = _Table("Fairness indices of goodput.")
    endpoint = _Table("Sampled state of the senders, if the scenario asked for it.")
    senders = _TableIfAny("Limits of data senders; None of runs without this table.")
    lateness = _Table("Lateness of the router, one row per run; only of runs in real time.")
    hosts = _Table("Lateness of the applications, one row per host; only of runs in real time.")
    control_complaints = _TableIfAny("Faults of congestion controls; None if there are none.")
    remembered = _TableIfAny("Windows in the caches at the end; None without a cache.")
    resumptions = _TableIfAny("Cached windows that connections began with; None without a cache.")

    def answer(self, margin: float | None = None, reference: str | None = None) -> Answer | None:
        """Give what the axes of the run do to the main measure of each group, and shares of links.

        Parameters
        ----------
        margin : float, optional
            The largest relative difference that counts as none, above 0 and below 1; that of the
            run's ``--margin`` if not given, else 5 %.
        reference : str, optional
            The value of an axis that its others are compared with, or ``AXIS=VALUE``; if not given,
            the scenario's, or else its first one.

        Returns
        -------
        Answer or None
            In words (``paragraphs``) and numbers (``effects``, ``shares``); None where the run has
            no axis of several values and no greedy groups that share a bottleneck. See
            `docs/guides/comparisons.md`.
        """
        answer: Answer | None = module_named("answers").answer_of(self, margin, reference)
        return answer

    def compare(
        self,
        other: Results | None = None,
        *,
        by: str | None = None,
        measures: Sequence[str] | None = None,
        reference: str | None = None,
        margin: float | None = None,
    ) -> pl.DataFrame:
        """Compare this run with another one, or the values of one of its axes.

        Parameters
        ----------
        other : Results, optional
            Differences are the other run less this one, cell by cell.
        by : str, optional
            An axis of this run, whose values are compared with the reference: its name in the
            scenario, the last part of that, or its column in the tables. Either `other` or `by` is
            given.
        measures : sequence of str, optional
            Numeric columns of the tables of groups, queues or fairness; the main ones if not given.
        reference : str, optional
            The value of that axis that the others are compared with; the scenario's, or else its
            first one, if not given.
        margin : float, optional
            The largest relative difference that the verdict calls none, above 0 and below 1; the
            run's if not given, else 5 %.

        Returns
        -------
        DataFrame
            One row per cell settings, thing (``table`` and ``name``: a group, a queue, ...) and
            ``measure``: ``mean_a``, ``mean_b``, ``difference`` (of the means) with ``low`` and
            ``high`` (95 % interval), in the unit that the measure's name ends in;
            ``relative_ratio`` (B over A, less 1) with ``relative_low_ratio`` and
            ``relative_high_ratio``; ``p_value`` (two-sided, of no difference), ``holm_p_value``
            (the same, corrected for the number of rows), ``verdict`` (``less``, ``more``, ``no
            difference`` or ``undecided``, corrected for the number of rows, those without spread
            included by a sign test; None where there is nothing to judge by), ``method`` (``log
            ratio`` or ``difference``), ``pairs`` (0 if compared as independent), ``samples_a`` and
            ``samples_b``. Interval and p values are missing where all pairs differ by the same
            amount or ratio, and where one replicate has no spread. Along an axis A is the
            reference, B the one in the axis's own column, behind those of the other axes.

        Raises
        ------
        FairwindError
            If the runs have no cell and group in common, or the axis or a measure is not there.
        """
        frame: pl.DataFrame = module_named("compare").compare(
            self, other, by=by, measures=measures, reference=reference, margin=margin
        )
        return frame

    def aggression(self, reference: str) -> pl.DataFrame:
        """Hold every group against a reference group: excess shares, and answers to losses.

        Parameters
        ----------
        reference : str
            The group that the others are held against, in the same cell and with the same seed.

        Returns
        -------
        DataFrame
            One row per cell, seed and group; see `fairwind.aggression.aggression_of`.

        Raises
        ------
        FairwindError
            If the run has no such group, or no windows of single flows that are short enough.
        """
        frame: pl.DataFrame = module_named("aggression").aggression_of(self, reference)
        return frame

    def part(self, name: str) -> Results | None:
        """Give the run of a further part of a study; None if there is none that is complete."""
        part = Results(part_folder(self.folder, name))
        return part if part.table_names else None

    @property
    def captures(self) -> list[Path]:
        """The capture files of all simulations, in the order of cells and replicates.

        They lie where `capture_folder` says, named after the point where packets were seen.
        """
        return sorted((self.folder / CELLS).glob("[0-9]*/*.pcapng"))

    def capture_folder(self, cell: int, replicate: int = 0) -> Path:
        """Folder of the captures of one cell and replicate, if the scenario asks for any."""
        return cell_folder(self.folder, cell, replicate)

    def has_table(self, name: str) -> bool:
        """Return whether the run has a table of this name."""
        return self._file(name).exists()

    def table(self, name: str) -> pl.DataFrame:
        """Read one table; a copy of the attribute of this name if that has been read.

        Raises
        ------
        FairwindError
            If it is missing or damaged.
        """
        if (kept := self._kept(name)) is not None:
            return kept.clone()  # the same columns: whoever changes the frame changes no other
        path = self._existing(name)
        try:
            return pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise FairwindError(
                f"{path} is damaged and cannot be read ({error})",
                "remove it, and run the same scenario again with the same --out: "
                "finished simulations are not repeated",
            ) from error

    def table_if_any(self, name: str) -> pl.DataFrame | None:
        """Read one table; None if the run does not have it."""
        return self.table(name) if self.has_table(name) else None

    def scan(self, name: str) -> pl.LazyFrame:
        """Give one table without reading it, for those that may be larger than memory.

        ``scan(NAME).filter(...).collect(engine="streaming")`` goes through the file in parts, and
        reads the columns and rows that are asked for.

        Raises
        ------
        FairwindError
            If it is missing.
        """
        return pl.scan_parquet(self._existing(name))

    def to_polars(self, name: str = "groups") -> pl.DataFrame:
        """Read one table as a frame of Polars, as `table` does."""
        return self.table(name)

    def to_pandas(self, name: str = "groups") -> pd.DataFrame:
        """Read one table as a frame of pandas.

        Raises
        ------
        FairwindError
            If the table is missing or damaged, or pandas or pyarrow is not installed.
        """
        frame = self.table(name)
        try:
            return frame.to_pandas()
        except ImportError as error:
            raise FairwindError(
                f"tables of pandas need pandas and pyarrow: {error}",
                "pip install 'fairwind[pandas]'",
            ) from error

    def first_rows(self, name: str, rows: int) -> tuple[pl.DataFrame, int]:
        """Give the first rows of a table, and how many it has, without reading it whole.

        Raises
        ------
        FairwindError
            If it is missing or damaged.
        """
        if (kept := self._kept(name)) is not None:
            return kept.head(rows), kept.height
        try:
            scan = self.scan(name)
            first, length = pl.collect_all([scan.head(rows), scan.select(pl.len())])
            return first, length.item()
        except (pl.exceptions.PolarsError, OSError):
            frame = self.table(name)  # which tells what is wrong with it
            return frame.head(rows), frame.height

    @property
    def table_names(self) -> list[str]:
        """Tables that the run has."""
        usual = [name for name in TABLES if self.has_table(name)]
        there = sorted(file.stem for file in self.folder.glob("[a-z]*.parquet"))
        return usual + [name for name in there if name not in usual]

    def _kept(self, name: str) -> pl.DataFrame | None:
        """Give a table that an attribute has read."""
        kept = vars(self).get(name)
        return kept if isinstance(kept, pl.DataFrame) else None

    def _existing(self, name: str) -> Path:
        if not self.has_table(name):
            raise FairwindError(
                f"{self.folder} has no table {name!r}",
                f"tables of this run: {', '.join(self.table_names)}; restore what is missing, "
                "or run the same scenario again with the same --out",
            )
        return self._file(name)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def report(self, path: str | os.PathLike[str] | None = None, *, figures: bool = False) -> Path:
        """Write the report, one HTML page with all figures inside.

        Parameters
        ----------
        path : path, optional
            The file of the page; ``report.html`` in the run's folder if not given.
        figures : bool
            Write the figures as SVG, PNG and PDF files as well, into ``figures/`` in the run's
            folder. This takes some seconds.

        Returns
        -------
        Path
            The page.

        Raises
        ------
        FairwindError
            If a table is missing or damaged, or the page cannot be written.
        """
        page: Path = module_named("notebook.drawing").report(self, path, figures=figures)
        return page

    def figures(self) -> dict[str, alt.TopLevelMixin]:
        """Draw the figures of the report.

        Returns
        -------
        dict of str to altair chart
            Charts by name, such as ``goodput`` and ``ack-latency``, in the order of the report; of
            a study's run its own come first. Data is embedded, so that a chart stands alone:
            ``chart.save("goodput.svg")``.

        Raises
        ------
        FairwindError
            If a table is missing or damaged.
        """
        charts: dict[str, alt.TopLevelMixin] = module_named("notebook.drawing").figures(self)
        return charts

    def plot(self, measure: str, *, along: str | None = None) -> alt.TopLevelMixin:
        """Draw one measure of each group: its mean and 95 % interval over the replicates.

        Parameters
        ----------
        measure : str
            A column of numbers of `groups`, such as ``"delivery_latency_p99_s"``.
        along : str, optional
            The axis of the grid along x, by its name or column; others become panels. If not given,
            the first axis along which the values have room on one scale; groups without a sweep.

        Raises
        ------
        FairwindError
            If the run has no such measure or axis.
        """
        chart: alt.TopLevelMixin = module_named("notebook.drawing").plot(self, measure, along)
        return chart

    def _repr_html_(self) -> str:
        """Show name, extent and main measures in a notebook."""
        summary = module_named("notebook.summary")
        return shown(lambda: summary.results_html(self), f"Results({self.folder})")


TABLES = tuple(name for name, one in vars(Results).items() if isinstance(one, _Table | _TableIfAny))
"""The tables that a run can have, in the order they are shown; captures have more. `fairwind
columns` prints what their columns mean."""


def open_results(folder: str | os.PathLike[str]) -> Results:
    """Open the folder of a finished run.

    Raises
    ------
    FairwindError
        If it is no folder of a run, or the run has not been finished.
    """
    path = Path(folder)
    if not path.is_dir():
        raise FairwindError(f"there is no folder {path}", "give the folder of a run")
    results = Results(path)
    plan = results.manifest.plan
    if not results.table_names:
        finished = sum(
            cell_folder(path, cell.index, replicate).is_dir()
            for cell, replicate in plan.simulations()
        )
        raise FairwindError(
            f"the run in {path} is not complete: {finished} of {plan.runs} runs are "
            "finished, and its tables are not merged",
            f"run the same command again to continue: {results.manifest.command}",
        )
    return results
