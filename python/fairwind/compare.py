"""Comparison of two runs: the difference of every measure, with its uncertainty.

Simulated replicates with the same cell settings and seed saw the same random numbers, so they are
compared in pairs; where the seeds differ, the samples are independent. In real time a seed decides
the pattern of a run, but not what happens to each packet, so runs on the kernel are independent
samples, too.

Estimate, interval and p value of a row come from one t test, so that the interval excludes "no
difference" exactly where p is below 0.05: of the logarithms where every value is above zero, which
gives the ratio of geometric means, and else of the values. Many rows need a correction: Holm (1979)
over all rows that are compared together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from fairwind.errors import FairwindError
from fairwind.folder.differing import changed_settings
from fairwind.folder.looks import read_looks, read_margin
from fairwind.folder.manifest import Manifest
from fairwind.quantities import counted
from fairwind.results import SUBJECTS, Results, Subject, rows_of
from fairwind.results.pairs import by_seed, values_of
from fairwind.results.summary import FAIRNESS, is_known
from fairwind.scenario.plan import Axis
from fairwind.statistics import (
    EffectVerdict,
    decide,
    holm,
    look_alpha,
)
from fairwind.statistics.contrasts import Contrast, Floats, contrast_of_samples
from fairwind.statistics.decisions import ALPHA, MARGIN

METHOD_IN_WORDS = (
    "each row is one t test: of log(B / A) where all values are above zero, so that B / A - 1 is "
    "the ratio of geometric means, else of B - A; the 95 % interval excludes 0 exactly where "
    "p < 0.05; p (Holm) is corrected for the number of rows; verdicts are, too: no difference if "
    "the corrected interval lies within {margin:g} % of A, else less or more if it excludes 0"
)
"""How estimate, interval, p value and verdict of all rows are found."""


def compare(
    a: Results,
    b: Results | None = None,
    *,
    by: str | None = None,
    measures: Sequence[str] | None = None,
    reference: str | None = None,
    margin: float | None = None,
) -> pl.DataFrame:
    """Compare two runs, or the values of an axis of one; see `Results.compare`."""
    comparison = Comparison(a, b, by, reference, margin)
    return comparison.frame(comparison.contrasts(measures))


def check_margin(margin: float) -> None:
    """Refuse a margin that is none.

    Raises
    ------
    FairwindError
        If it is not between 0 and 1.
    """
    if not 0 < margin < 1:
        raise FairwindError(
            f"the margin must be above 0 and below 100 %, not {100 * margin:g} %",
            "5 % is the usual one",
        )


@dataclass(frozen=True)
class Tables:
    """Rows about one kind of thing on two sides.

    Attributes
    ----------
    place : dict
        The value of the axis on side B, by its column; empty of two runs.
    """

    subject: Subject
    place: dict[str, Any]
    a: pl.DataFrame
    b: pl.DataFrame


@dataclass(frozen=True)
class Pair:
    """Rows of one thing in one cell on two sides, one for each seed.

    Attributes
    ----------
    labels : dict
        Values of the axes by column, ``table`` and ``name``.
    """

    labels: dict[str, Any]
    a: pl.DataFrame
    b: pl.DataFrame


@dataclass(frozen=True)
class Comparison:
    """Two runs, cell by cell, or the values of an axis of one run with its reference.

    Attributes
    ----------
    a : Results
    b : Results, optional
        The other run; None for values of an axis of one.
    by : str, optional
        That axis: its name in the scenario, the last part of it, or its column in the tables.
    reference : str, optional
        The value of the axis that others are compared with; the scenario's, or else the first one,
        if not given.
    margin : float, optional
        The largest relative difference that counts as none, above 0 and below 1; that which a run
        was asked with if not given, else 5 %.

    Raises
    ------
    FairwindError
        If both or neither are given, there is no such axis with several values, or the margin is
        none.
    """

    a: Results
    b: Results | None = None
    by: str | None = None
    reference: str | None = None
    margin: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be compared."""
        if (self.b is None) == (self.by is None):
            raise FairwindError(
                "a comparison needs another run, or an axis of this one, and not both",
                "compare(other), or compare(by=AXIS)",
            )
        if self.axis is not None and len(self.axis.labels) < 2:
            raise FairwindError(
                f"{self.axis.name} has one value only, {self.axis.labels[0]}",
                "compare along another axis",
            )
        check_margin(self.known_margin)

    @cached_property
    def known_margin(self) -> float:
        """The margin of the verdicts."""
        asked = (self.margin, *(read_margin(one.folder) for one in self.runs))
        return next((one for one in asked if one is not None), MARGIN)

    @cached_property
    def axis(self) -> Axis | None:
        """The axis with the values that are compared, its reference first; None of two runs."""
        if self.by is None:
            if self.reference is not None:
                raise FairwindError(
                    "a reference is a value of an axis; of two runs it is the first one",
                    "compare along an axis (by), or name the reference run first",
                )
            return None
        axis = axis_named(self.a, self.by)
        return referred([axis], self.reference)[0]

    @property
    def runs(self) -> list[Results]:
        """The runs that are compared."""
        return [self.a] if self.b is None else [self.a, self.b]

    @cached_property
    def are_captures(self) -> bool:
        """Whether both sides are one analysis each of somebody's captures.

        Neither a test nor the fairness among what happened to be captured means anything there.
        """
        return self.b is not None and all(
            one.manifest.is_foreign and one.manifest.plan.replicates == 1 for one in self.runs
        )

    @property
    def looks(self) -> int:
        """How often the runs were looked at while seeds were added."""
        return max(len(read_looks(one.folder)) for one in self.runs)

    @property
    def name(self) -> str:
        """What is compared, in words."""
        end = f" by {self.by}" if self.b is None else f" and {self.b.folder}"
        return f"{self.a.folder}{end}"

    @property
    def is_paired(self) -> bool:
        """Whether replicates of the same seed are pairs: in virtual time only."""
        return not any(one.manifest.is_real_time for one in self.runs)

    @cached_property
    def axes(self) -> list[str]:
        """Columns of the axes that have the same value on both sides."""
        axes = [one.manifest.plan.axis_columns for one in self.runs]
        if self.axis is not None:
            return [name for name in axes[0] if name != self.axis.column]
        if set(axes[0]) != set(axes[1]):
            sweeps = (
                f"{one.folder} sweeps {', '.join(columns) or 'nothing'}"
                for one, columns in zip(self.runs, axes, strict=True)
            )
            raise FairwindError(
                f"the grids differ: {', '.join(sweeps)}", "compare runs with the same axes"
            )
        return axes[0]

    def tables(self, subjects: Sequence[Subject] = SUBJECTS) -> list[Tables]:
        """Give the tables of both sides that have any rows."""
        rows = {one: [rows_of(run, one) for run in self.runs] for one in subjects}
        if self.axis is None:
            found = [Tables(subject, {}, *both) for subject, both in rows.items()]
        else:
            column, values = self.axis.column, self.axis.values
            parts = {
                one: {key: part for (key,), part in _parts(frame, [column])}
                for one, (frame,) in rows.items()
                if frame.width
            }
            none = pl.DataFrame()
            found = [
                Tables(one, {column: value}, of.get(values[0], none), of.get(value, none))
                for value in values[1:]
                for one, of in parts.items()
            ]
        return [one for one in found if one.a.width and one.b.width]

    def pairs(self, tables: Tables) -> Iterator[Pair]:
        """Give the rows of each thing in every cell that both sides have."""
        keys = [*self.axes, tables.subject.column]
        parts_b = dict(_parts(tables.b, keys))
        for key, part in _parts(tables.a, keys):
            if key in parts_b:
                axes = dict(zip(self.axes, key, strict=False)) | tables.place
                labels = axes | {"table": tables.subject.table, "name": key[-1]}
                yield Pair(labels, part, parts_b[key])

    def contrasts(self, measures: Sequence[str] | None = None) -> list[Labelled]:
        """Compare measures of everything; the parameter is that of `Results.compare`.

        Raises
        ------
        FairwindError
            If both sides have no cell and group in common, or lack a measure.
        """
        all_tables = self.tables(SUBJECTS if measures else self._subjects)
        if measures:
            _refuse_unknown(measures, all_tables)
        found = [
            (
                pair.labels | {"measure": name},
                contrast(pair.a, pair.b, name, is_paired=self.is_paired),
            )
            for tables in all_tables
            for names in [_known(measures or tables.subject.measures, tables)]
            for pair in self.pairs(tables)
            for name in names
            # A measure may be that of other groups, as the response time is of requests.
            if is_known(pair.a, name) or is_known(pair.b, name)
        ]
        if not found:
            raise self._nothing_in_common()
        return found

    def frame(self, contrasts: Sequence[Labelled]) -> pl.DataFrame:
        """Make a frame of contrasts, with p values and verdicts corrected for their number."""
        alpha = look_alpha(self.looks) if self.looks else ALPHA
        return frame_of(contrasts, self.known_margin, alpha)

    @property
    def _subjects(self) -> Sequence[Subject]:
        """What is compared unless measures are named."""
        return [one for one in SUBJECTS if not (self.are_captures and one is FAIRNESS)]

    def _nothing_in_common(self) -> FairwindError:
        if self.axis is None:
            return FairwindError(
                f"{' and '.join(str(one.folder) for one in self.runs)} have no cell and group in "
                "common",
                "compare runs of scenarios with the same settings and group names",
            )
        return FairwindError(
            f"nothing was measured with {self.axis.name} = {self.axis.values[0]} and another value",
            f"look at failures with `fairwind show {self.a.folder}`",
        )

    def head(self) -> list[str]:
        """Describe the comparison in lines: runs or values, method, different scenario keys."""
        made_by = [f"{one.folder}: {_made_by(one.manifest)}" for one in self.runs]
        if self.axis is not None:
            first, *others = self.axis.labels
            values = f"A: {self.axis.name} = {first}; B: {', '.join(others)}"
            return [*made_by, values, *self._method]
        sides = [f"A: {made_by[0]}", f"B: {made_by[1]}"]
        if not self.are_captures:
            sides += self._method
        return [*sides, *_settings(*(one.manifest for one in self.runs)), *self._left_out()]

    def _left_out(self) -> list[str]:
        """Name the main measures that one run does not have, as a capture of one side."""
        names = [
            name
            for one in self.tables(self._subjects)
            for name in one.subject.measures
            if is_known(one.a, name) != is_known(one.b, name)
        ]
        if not names:
            return []
        return [f"left out, since one of them does not know it: {', '.join(names)}"]

    @property
    def _method(self) -> list[str]:
        return [self._pairing, METHOD_IN_WORDS.format(margin=100 * self.known_margin)]

    @property
    def _pairing(self) -> str:
        if not self.is_paired:
            return (
                "runs are compared as independent samples (Welch): in real time a seed does not "
                "decide what happens to each packet"
            )
        if set.intersection(*(set(one.manifest.plan.seeds) for one in self.runs)):
            return "runs of the same seed are compared in pairs"
        return "runs are compared as independent samples (Welch): they have no seed in common"


def axis_named(results: Results, name: str) -> Axis:
    """Give the axis of a name, of the last part of a name, or of a column.

    Raises
    ------
    FairwindError
        If there is none, or several that end in this.
    """
    axes = results.manifest.plan.axes
    found = [axis for axis in axes if axis.name == name]
    found = found or [axis for axis in axes if axis.column == name]
    found = found or [axis for axis in axes if axis.name.endswith(f".{name}")]
    if len(found) == 1:
        return found[0]
    names = ", ".join(axis.name for axis in found or axes)
    if found:
        raise FairwindError(f"several axes of {results.folder} end in {name!r}", f"one of {names}")
    raise FairwindError(
        f"{results.folder} has no axis {name!r}",
        f"there is {names}" if names else "the run has no axis; compare it with another run",
    )


def referred(axes: Sequence[Axis], reference: str | None) -> list[Axis]:
    """Put the value first that others are compared with, on the axis that has it.

    Parameters
    ----------
    reference : str, optional
        A value of one axis, or ``AXIS=VALUE``; if not given, that of every axis is the one that the
        scenario names, or else its first value.

    Raises
    ------
    FairwindError
        If no axis has this value, or several have.
    """
    own = [axis.led_by(axis.reference) for axis in axes]
    if reference is None:
        return own
    reference = str(reference)  # a number where the values are numbers
    found = [(axis, reference) for axis in axes if reference in axis.labels]
    name, _, value = reference.partition("=")
    found = found or [
        (axis, value.strip())
        for axis in axes
        if name.strip() in (axis.name, axis.column) and value.strip() in axis.labels
    ]
    if len(found) != 1:
        wrong = "no axis has" if not found else "several axes have"
        known = "; ".join(f"{axis.name}: {', '.join(axis.labels)}" for axis in axes)
        raise FairwindError(
            f"{wrong} the value {reference!r}",
            f"write a value, or AXIS=VALUE, of {known}" if axes else "the run has no axis",
        )
    ((chosen, label),) = found
    return [
        axis.led_by(label) if axis is chosen else other
        for axis, other in zip(axes, own, strict=True)
    ]


def frame_of(contrasts: Sequence[Labelled], margin: float, alpha: float) -> pl.DataFrame:
    """Make a frame of contrasts, with p values and verdicts that are corrected for their number.

    Parameters
    ----------
    margin : float
        The largest relative difference that counts as none, above 0 and below 1.
    alpha : float
        Probability of any false verdict, 0 to 1.
    """
    rows = [labels | _columns(found) for labels, found in contrasts]
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
    p_values = frame["p_value"].cast(pl.Float64).fill_null(math.nan).to_numpy()
    corrected = pl.Series("holm_p_value", holm(p_values)).fill_nan(None)
    place = frame.columns.index("p_value") + 1
    verdicts = pl.Series("verdict", _verdicts(contrasts, margin, alpha), dtype=pl.String)
    return frame.insert_column(place, corrected).insert_column(place + 1, verdicts)


def _verdicts(
    contrasts: Sequence[Labelled], margin: float, alpha: float
) -> list[EffectVerdict | None]:
    """Judge all rows together; None where there is nothing to judge by, as of single runs."""
    tests = [found.test for _, found in contrasts]
    margins = [(found.bound(-margin), found.bound(margin)) for _, found in contrasts]
    return [
        None if math.isnan(one.p_value) else one.verdict for one in decide(tests, margins, alpha)
    ]


def _known(names: Sequence[str], tables: Tables) -> list[str]:
    return [name for name in names if is_known(tables.a, name) and is_known(tables.b, name)]


def _refuse_unknown(measures: Sequence[str], tables: Sequence[Tables]) -> None:
    known = dict.fromkeys(
        name
        for one in tables
        for name in one.a.columns
        if name in one.b.columns and one.a.schema[name].is_numeric()
    )
    for name in measures:
        if name not in known:
            raise FairwindError(
                f"both runs need a numeric column {name!r} in a table of groups, queues or "
                "fairness",
                f"there are {', '.join(known)}",
            )
        if not any(_known([name], one) for one in tables):
            raise FairwindError(
                f"one of the runs has no values of {name!r}: it was not captured there",
                "a capture at the sender shows no arrivals; analyse the captures of both sides",
            )


def _parts(rows: pl.DataFrame, keys: list[str]) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    return list(rows.group_by(keys, maintain_order=True))


def contrast(a: pl.DataFrame, b: pl.DataFrame, measure: str, *, is_paired: bool) -> Contrast:
    """Compare one measure of two tables with one row per seed.

    Parameters
    ----------
    a, b : DataFrame
        With the columns ``seed`` and `measure`.
    is_paired : bool
        Whether rows of the same seed are pairs; without common seeds they are independent.
    """
    first, second, is_paired = _samples(a, b, measure, is_paired=is_paired)
    return contrast_of_samples(first, second, is_paired=is_paired)


Labelled = tuple[dict[str, object], Contrast]
"""A contrast behind its labels: values of the axes by column, ``table``, ``name``, ``measure``."""


def _columns(found: Contrast) -> dict[str, float | int | str | None]:
    test, values = found.test, found.values
    has_spread = test.has_spread
    return {
        "mean_a": values.mean_a,
        "mean_b": values.mean_b,
        "difference": values.mean_b - values.mean_a,
        "low": found.difference(test.low) if has_spread else None,
        "high": found.difference(test.high) if has_spread else None,
        "relative_ratio": found.relative(test.estimate),
        "relative_low_ratio": found.relative(test.low) if has_spread else None,
        "relative_high_ratio": found.relative(test.high) if has_spread else None,
        "p_value": test.p_value if has_spread else None,
        "method": found.method.value,
        "pairs": values.samples_a if values.is_paired else 0,
        "samples_a": values.samples_a,
        "samples_b": values.samples_b,
    }


def _samples(
    a: pl.DataFrame, b: pl.DataFrame, measure: str, *, is_paired: bool
) -> tuple[Floats, Floats, bool]:
    """Give the values of both, and whether those of one seed stand at the same place."""
    if is_paired:
        first, second = by_seed(a, b, measure)
        if first.size:
            is_known = ~(np.isnan(first) | np.isnan(second))
            return first[is_known], second[is_known], True
    first, second = values_of(a, measure), values_of(b, measure)
    return first[~np.isnan(first)], second[~np.isnan(second)], False


MOST_SETTINGS = 8
"""Largest number of keys that are printed; the others are counted."""


def _settings(a: Manifest, b: Manifest) -> list[str]:
    if a.is_foreign or b.is_foreign:
        return ["different settings are unknown: a capture does not contain them"]
    changed = changed_settings(a, b)
    parts = [f"  {key}: {first} -> {second}" for key, (first, second) in changed.items()]
    if len(parts) > MOST_SETTINGS:
        parts[MOST_SETTINGS:] = [f"  and {len(parts) - MOST_SETTINGS} more"]
    if not parts:
        return ["the scenarios are the same in all settings"]
    return ["settings that differ, A -> B:", *parts]


def _made_by(manifest: Manifest) -> str:
    kernel = manifest.versions.get("kernel")
    engine = f"{manifest.engine} {kernel}" if kernel else manifest.engine
    return (
        f"{manifest.plan.name}, {engine}, fairwind {manifest.versions.get('fairwind', '?')}, "
        f"{counted(manifest.plan.replicates, 'run')} per cell"
    )
