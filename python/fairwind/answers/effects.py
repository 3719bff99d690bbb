"""Effects of the axes of a run: contrasts with each axis's first value, and their verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from fairwind.answers.main_measures import MainMeasure, main_measures
from fairwind.compare import Contrast, contrast
from fairwind.errors import FairwindError
from fairwind.results import SUBJECTS, Results, rows_of
from fairwind.results.answer import Effect
from fairwind.results.summary import scaled_units, title_of
from fairwind.scenario.plan import Axis, short_names
from fairwind.statistics import (
    Decision,
    Difference,
    EffectVerdict,
    Margin,
    decide,
    decide_in_looks,
    samples_in_looks,
    samples_to_decide,
)

MARGIN = 0.05
"""The largest relative difference that counts as none, unless said otherwise."""


def varied_axes(results: Results) -> list[Axis]:
    """Give the axes of more than one value, in the order of the scenario."""
    return [axis for axis in results.manifest.plan.axes if len(axis.labels) > 1]


def _in_words(others: Sequence[tuple[Axis, str]], names: Mapping[str, str]) -> str:
    return ", ".join(f"{names[axis.name]} {label}" for axis, label in others)


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
class Place:
    """One effect of the grid: an axis's value against its first, among equal other axes.

    Attributes
    ----------
    axis : Axis
    label : str
        The value of the axis.
    others : tuple of (Axis, str)
        The other axes, of more than one value, with their values.
    headline : tuple of str
        Table, group and measure.
    context : str
        The other axes in words.
    """

    axis: Axis
    label: str
    others: tuple[tuple[Axis, str], ...]
    headline: MainMeasure
    context: str


@dataclass(frozen=True)
class EffectTables:
    """The tables of a run, by what effects ask them for."""

    results: Results
    margin: float

    @cached_property
    def places(self) -> list[Place]:
        """All effects, in the order of axes, values, other axes' values, and groups."""
        axes = varied_axes(self.results)
        names = short_names(axes)
        groups = main_measures(self.results)
        found = (
            Place(axis, label, others, headline, _in_words(others, names))
            for axis in axes
            for label in axis.labels[1:]
            for others in self._contexts(axis, axes)
            for headline in groups
        )
        return [
            one
            for one in found
            if self._rows(one, one.label).height and self._rows(one, one.axis.labels[0]).height
        ]

    def _contexts(self, axis: Axis, axes: Sequence[Axis]) -> list[tuple[tuple[Axis, str], ...]]:
        """Give the combinations of the other axes' values that the grid has, in its order."""
        others = [other for other in axes if other is not axis]
        found = (
            tuple((other, cell.settings[other.name]) for other in others)
            for cell in self.results.manifest.plan.cells
        )
        return list(dict.fromkeys(found))

    @cached_property
    def _subjects(self) -> dict[str, pl.DataFrame]:
        return {
            subject.table: rows_of(self.results, subject).rename({subject.column: "name"})
            for subject in SUBJECTS
            if subject.table in {headline[0] for headline in main_measures(self.results)}
        }

    @cached_property
    def _rows_by_place(self) -> dict[tuple[str, str, tuple[str, ...]], pl.DataFrame]:
        """The rows of each table, by name and labels of all axes, so that each is read once."""
        axes = self.results.manifest.plan.axes
        columns = [axis.column for axis in axes]
        return {
            (table, str(name), tuple(map(str, labels))): rows
            for table, frame in self._subjects.items()
            for (name, *labels), rows in frame.group_by(["name", *columns], maintain_order=True)
        }

    def _rows(self, place: Place, label: str) -> pl.DataFrame:
        table, name, _ = place.headline
        labels = {axis.name: other for axis, other in place.others} | {place.axis.name: label}
        axes = self.results.manifest.plan.axes
        key = tuple(str(axis.value(labels.get(axis.name, axis.labels[0]))) for axis in axes)
        return self._rows_by_place.get((table, name, key), NO_ROWS)

    def contrast(self, place: Place, seeds: int) -> Contrast:
        """Compare a value of an axis with the first one, in so many of the first seeds."""
        a, b = (
            self._rows(place, label).filter(pl.col("replicate") < seeds)
            for label in (place.axis.labels[0], place.label)
        )
        is_paired = not self.results.manifest.is_real_time
        return contrast(a, b, place.headline[2], is_paired=is_paired)

    def margin_of(self, found: Contrast) -> Margin:
        """Give the margin on the scale of a test; NaN where it is relative to nothing."""
        return found.bound(-self.margin), found.bound(self.margin)


NO_ROWS = pl.DataFrame(schema={"replicate": pl.UInt32(), "seed": pl.UInt64()})


def missing_effects(results: Results) -> list[str]:
    """Give in words what nothing is known of, because all runs of one of both sides failed.

    Returns
    -------
    list of str
        Each value of an axis, with the other axes, such as ``variant LT at count 4``.
    """
    plan, axes = results.manifest.plan, varied_axes(results)
    counts = Counter(failure.cell for failure in results.failures)
    failed = [cell.settings for cell in plan.cells if counts[cell.index] == plan.replicates]
    names = short_names(axes)
    found = []
    for axis in axes:
        reference = axis.labels[0]
        for settings in failed:
            label = settings[axis.name]
            values = axis.labels[1:] if label == reference else (label,)
            others = [(other, settings[other.name]) for other in axes if other is not axis]
            where = f" at {_in_words(others, names)}" if others else ""
            found += [f"{names[axis.name]} {value}{where}" for value in values]
    return list(dict.fromkeys(found))


def effects_of(
    results: Results, margin: float, looks: Sequence[int] | None
) -> list[tuple[Place, Effect]]:
    """Find the effects of all axes, and decide on them together.

    Parameters
    ----------
    margin : float
        The largest relative difference that counts as none, above 0 and below 1.
    looks : sequence of int, optional
        Numbers of seeds at which a run was looked at while seeds were added, the last one that of
        all seeds; None for a run that asked for a number of seeds.
    """
    tables = EffectTables(results, margin)
    sizes = [results.manifest.plan.replicates] if looks is None else looks
    contrasts = [[tables.contrast(place, seeds) for place in tables.places] for seeds in sizes]
    margins = [[tables.margin_of(one) for one in row] for row in contrasts]
    tests = [[one.test for one in row] for row in contrasts]
    decisions = decide(tests[0], margins[0]) if looks is None else decide_in_looks(tests, margins)
    last = zip(tables.places, contrasts[-1], margins[-1], decisions, strict=True)
    units = scaled_units(
        (place.headline[2], mean)
        for place, found in zip(tables.places, contrasts[-1], strict=True)
        for mean in (found.values.mean_a, found.values.mean_b)
    )
    return [
        (
            place,
            _effect(
                place,
                found,
                decision,
                _more_seeds(decision, found, bounds, tests, looks),
                units[place.headline[2]],
            ),
        )
        for place, found, bounds, decision in last
    ]


def _more_seeds(
    decision: Decision,
    found: Contrast,
    margin: Margin,
    tests: Sequence[Sequence[Difference]],
    looks: Sequence[int] | None,
) -> int | None:
    """Estimate how many more seeds decide on an effect."""
    if decision.verdict is not EffectVerdict.UNDECIDED:
        return None
    effects = len(tests[-1])
    if looks is None:
        needed = samples_to_decide(found.test, margin, effects)
        there = min(found.test.samples_a, found.test.samples_b)
    else:
        needed, there = samples_in_looks(found.test, margin, effects, looks), looks[-1]
    return None if needed is None else max(needed - there, 1)


def _effect(
    place: Place,
    found: Contrast,
    decision: Decision,
    more_seeds: int | None,
    shown_in: tuple[str, float],
) -> Effect:
    table, name, measure = place.headline
    unit, scale = shown_in
    values, test = found.values, found.test
    return Effect(
        table=table,
        name=name,
        measure=measure,
        title=title_of(measure),
        unit=unit,
        context=place.context,
        value=place.label,
        mean_reference=values.mean_a,
        mean=values.mean_b,
        relative=_known(found.relative(test.estimate)),
        low=_known(found.relative(decision.low)),
        high=_known(found.relative(decision.high)),
        difference=_known(values.mean_b - values.mean_a),
        difference_low=_known(found.difference(decision.low)),
        difference_high=_known(found.difference(decision.high)),
        p_value=_known(decision.p_value),
        holm_p_value=_known(decision.adjusted_p_value),
        verdict=decision.verdict,
        seeds_needed=more_seeds,
        seeds=min(test.samples_a, test.samples_b),
        scale=scale,
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
