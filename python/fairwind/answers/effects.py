"""Effects of the axes of a run: contrasts with each axis's reference, and their verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from fairwind.compare import Comparison, Pair, contrast, referred
from fairwind.compare import check_margin as check_margin
from fairwind.results import Results
from fairwind.results.answer import Effect, MedianEffect
from fairwind.results.main_measures import MEDIANS, main_measures
from fairwind.results.summary import GROUPS, TRANSFERS, is_known, scaled_units, title_of
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
from fairwind.statistics.contrasts import Contrast


def varied_axes(results: Results, reference: str | None = None) -> list[Axis]:
    """Give the axes of more than one value, in the order of the scenario.

    Parameters
    ----------
    reference : str, optional
        As in `referred`; the values of each axis begin with its reference.
    """
    return referred(results.manifest.plan.varied_axes, reference)


def context_of(
    axes: Sequence[Axis], settings: Mapping[str, str], without: Axis | None = None
) -> str:
    """Write the values of all axes but one."""
    names = short_names(axes)
    return ", ".join(f"{names[one.name]} {settings[one.name]}" for one in axes if one != without)


@dataclass(frozen=True)
class Place:
    """One effect of the grid: an axis's value against its first, among equal other axes.

    Attributes
    ----------
    comparison : Comparison
        Of the values of the axis.
    label : str
        The value of the axis.
    context : str
        The other axes of more than one value in words.
    measure : str
    pair : Pair
        The rows of both sides.
    """

    comparison: Comparison
    label: str
    context: str
    measure: str
    pair: Pair

    def contrast(self, seeds: int) -> Contrast:
        """Compare both sides in so many of the first seeds."""
        a, b = (_first_seeds(rows, seeds) for rows in (self.pair.a, self.pair.b))
        return contrast(a, b, self.measure, is_paired=self.comparison.is_paired)


def _first_seeds(rows: pl.DataFrame, seeds: int) -> pl.DataFrame:
    replicates = rows["replicate"].to_numpy()
    return rows if replicates.max(initial=0) < seeds else rows.filter(replicates < seeds)


def places_of(results: Results, axes: Sequence[Axis]) -> list[Place]:
    """Give all effects, in the order of axes, values, other axes' values, and groups.

    Parameters
    ----------
    axes : sequence of Axis
        Those of several values, each with its reference first.
    """
    mains = {(table, name): measure for table, name, measure in main_measures(results)}
    return [place for axis in axes for place in _places(results, axes, axis, mains)]


def _places(
    results: Results, axes: Sequence[Axis], axis: Axis, mains: Mapping[tuple[str, str], str]
) -> list[Place]:
    order = [*mains]
    labels = dict(zip(axis.values, axis.labels, strict=True))
    cells = {cell.index: cell.settings for cell in results.manifest.plan.cells}
    comparison = Comparison(results, by=axis.name, reference=axis.labels[0])
    found = []
    for tables in comparison.tables([GROUPS, TRANSFERS]):
        for pair in comparison.pairs(tables):
            main = (pair.labels["table"], pair.labels["name"])
            if main not in mains:
                continue
            cell, label = pair.a["cell"][0], labels[tables.place[axis.column]]
            context = context_of(axes, cells[cell], axis)
            place = Place(comparison, label, context, mains[main], pair)
            found.append((axis.labels.index(label), cell, order.index(main), place))
    return [place for *_, place in sorted(found, key=lambda one: one[:-1])]


def missing_effects(results: Results, axes: Sequence[Axis]) -> list[str]:
    """Give in words what nothing is known of, because all runs of one of both sides failed.

    Parameters
    ----------
    axes : sequence of Axis
        Those of several values, each with its reference first.

    Returns
    -------
    list of str
        Each value of an axis, with the other axes, such as ``variant LT at count 4``.
    """
    plan = results.manifest.plan
    counts = Counter(failure.cell for failure in results.failures)
    failed = [cell.settings for cell in plan.cells if counts[cell.index] == plan.replicates]
    names = short_names(axes)
    found = []
    for axis in axes:
        reference = axis.labels[0]
        for settings in failed:
            label = settings[axis.name]
            values = axis.labels[1:] if label == reference else (label,)
            where = f" at {context_of(axes, settings, axis)}" if len(axes) > 1 else ""
            found += [f"{names[axis.name]} {value}{where}" for value in values]
    return list(dict.fromkeys(found))


def effects_of(
    results: Results, axes: Sequence[Axis], margin: float, looks: Sequence[int] | None
) -> list[tuple[Axis, Effect]]:
    """Find the effects of all axes, and decide on them together.

    Parameters
    ----------
    axes : sequence of Axis
        Those of several values, each with its reference first.
    margin : float
        The largest relative difference that counts as none, above 0 and below 1.
    looks : sequence of int, optional
        Numbers of seeds at which a run was looked at while seeds were added, the last one that of
        all seeds; None for a run that asked for a number of seeds.
    """
    places = places_of(results, axes)
    sizes = [results.manifest.plan.replicates] if looks is None else looks
    contrasts = [[place.contrast(seeds) for place in places] for seeds in sizes]
    # Where a margin is relative to nothing, it is NaN.
    margins = [[(one.bound(-margin), one.bound(margin)) for one in row] for row in contrasts]
    tests = [[one.test for one in row] for row in contrasts]
    decisions = decide(tests[0], margins[0]) if looks is None else decide_in_looks(tests, margins)
    units = scaled_units(
        (place.measure, mean)
        for place, found in zip(places, contrasts[-1], strict=True)
        for mean in (found.values.mean_a, found.values.mean_b)
    )
    last = zip(places, contrasts[-1], margins[-1], decisions, strict=True)
    effects = [
        (
            axis,
            _effect(
                place,
                found,
                decision,
                _more_seeds(decision, found, bounds, tests, looks),
                units[place.measure],
            ),
        )
        for place, found, bounds, decision in last
        if (axis := place.comparison.axis) is not None
    ]
    medians = _medians(places, sizes[-1])
    return [
        (axis, replace(effect, median=median))
        for (axis, effect), median in zip(effects, medians, strict=True)
    ]


def _medians(places: Sequence[Place], seeds: int) -> list[MedianEffect | None]:
    """Describe the median of each place where a tail is judged; these are no further tests."""
    found: list[tuple[str, Contrast] | None] = []
    for place in places:
        measure = MEDIANS.get(place.measure, "")
        sides = (place.pair.a, place.pair.b)
        known = all(is_known(side, measure) for side in sides)
        median = replace(place, measure=measure)
        found.append((measure, median.contrast(seeds)) if known else None)
    units = scaled_units(
        (measure, mean)
        for measure, one in filter(None, found)
        for mean in (one.values.mean_a, one.values.mean_b)
    )
    return [None if one is None else _median(*one, units[one[0]]) for one in found]


def _median(measure: str, found: Contrast, shown_in: tuple[str, float]) -> MedianEffect:
    unit, scale = shown_in
    values, test = found.values, found.test
    low, high = (test.low, test.high) if test.has_spread else (math.nan, math.nan)
    return MedianEffect(
        measure=measure,
        unit=unit,
        mean_reference=values.mean_a,
        mean=values.mean_b,
        relative=_known(found.relative(test.estimate)),
        low=_known(found.relative(low)),
        high=_known(found.relative(high)),
        scale=scale,
    )


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
    unit, scale = shown_in
    values, test = found.values, found.test
    # What all looks allow may leave out the last estimate; with it, the interval still holds.
    low, high = min(decision.low, test.estimate), max(decision.high, test.estimate)
    if math.isnan(decision.low):
        low = high = math.nan
    return Effect(
        table=place.pair.labels["table"],
        name=place.pair.labels["name"],
        measure=place.measure,
        title=title_of(place.measure),
        unit=unit,
        context=place.context,
        value=place.label,
        mean_reference=values.mean_a,
        mean=values.mean_b,
        relative=_known(found.relative(test.estimate)),
        low=_known(found.relative(low)),
        high=_known(found.relative(high)),
        difference=_known(values.mean_b - values.mean_a),
        difference_low=_known(found.difference(low)),
        difference_high=_known(found.difference(high)),
        p_value=_known(decision.p_value),
        holm_p_value=_known(decision.adjusted_p_value),
        verdict=decision.verdict,
        seeds_needed=more_seeds,
        seeds=min(test.samples_a, test.samples_b),
        scale=scale,
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
