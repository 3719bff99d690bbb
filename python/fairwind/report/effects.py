"""Effects of a run's axes as rows of a table, each with its interval drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from fairwind.quantities import cell_text, percent, percent_interval
from fairwind.results.answer import Answer, AxisEffect, Effect

WIDTH, HEIGHT = 150, 18
"""Of a drawn interval, in points."""

MOST = 16.0
"""Factors beyond this one, or its inverse, are drawn at the edge."""

LEAST = 1.1
"""The axis of factors reaches at least from the inverse of this one to it."""

TICKS = (1.1, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0)


class EffectCell(NamedTuple):
    """One cell on the page.

    Attributes
    ----------
    text : str
        Of the interval an SVG element.
    style : str
        The class of its look.
    order : str
        What it is sorted by, where that is not the text.
    """

    text: str
    style: str = ""
    order: str = ""


@dataclass(frozen=True)
class EffectTable:
    """The effects of one axis.

    Attributes
    ----------
    axis, reference : str
        Its name, and the value that all others are compared with.
    headers : tuple of (str, str)
        With the class of their look; that of drawn intervals has the ends of their axis.
    rows : tuple of tuples
        The verdict stands early, so that a narrow window shows it.
    """

    axis: str
    reference: str
    headers: tuple[tuple[str, str], ...]
    rows: tuple[tuple[EffectCell, ...], ...]


def effect_tables(answer: Answer) -> list[EffectTable]:
    """Give a table for each axis that has an effect; intervals of one table share their axis."""
    return [_table(axis) for axis in answer.axes if axis.effects and not axis.is_without_effect]


def _table(axis: AxisEffect) -> EffectTable:
    effects = axis.changed_effects
    reach = _reach(effects)
    rows = [tuple(_cells(effect, reach)) for effect in effects]
    headers: list[tuple[str, str]] = [
        ("value", ""),
        ("verdict", ""),
        ("group", ""),
        ("measure", ""),
        ("other axes", ""),
        ("change", "number"),
        (f"{percent(1 / reach - 1)} to {percent(reach - 1)} %", "number interval"),
        (f"with {axis.reference}", "number"),
        ("mean", "number"),
        ("median", "number"),
        ("more seeds", "number"),
    ]
    empty = [
        ("other axes", "") if not any(effect.context for effect in effects) else None,
        ("median", "number") if all(effect.median is None for effect in effects) else None,
    ]
    for header in filter(None, empty):
        place = headers.index(header)
        del headers[place]
        rows = [(*row[:place], *row[place + 1 :]) for row in rows]
    return EffectTable(axis.axis, axis.reference, tuple(headers), tuple(rows))


def _cells(effect: Effect, reach: float) -> Iterator[EffectCell]:
    yield EffectCell(effect.value)
    yield EffectCell(str(effect.verdict), effect.verdict.name.lower())
    yield EffectCell(effect.name)
    yield EffectCell(effect.header)
    yield EffectCell(effect.context)
    change, order = "-", ""
    if effect.relative is not None:
        interval = percent_interval(effect.low, effect.high)
        change, order = (
            f"{percent(effect.relative)} % {interval}".rstrip(),
            f"{effect.relative:.6g}",
        )
    yield EffectCell(change, "number")
    yield EffectCell(interval_picture(effect, reach), "interval", order)
    for mean in effect.shown_means:
        yield EffectCell(cell_text(mean), "number")
    median = effect.median
    yield EffectCell("-" if median is None else str(median), "number")
    yield EffectCell("-" if effect.seeds_needed is None else str(effect.seeds_needed), "number")


def _reach(effects: tuple[Effect, ...]) -> float:
    """Give the largest factor of an axis, from its inverse to itself, that holds all intervals."""
    ends = [
        abs(math.log1p(end)) if end > -1 else math.inf
        for effect in effects
        for end in (effect.low, effect.relative, effect.high)
        if end is not None
    ]
    factor = math.exp(min(max(ends, default=0.0), math.log(MOST)))
    return next((tick for tick in TICKS if tick >= max(factor, LEAST)), MOST)


COLOURS = {"less": "#0072b2", "more": "#d55e00", "no_difference": "#4d4d4d", "undecided": "#999999"}


def interval_picture(effect: Effect, reach: float) -> Markup:
    """Draw the estimate of an effect and its interval, on a logarithmic axis of factors."""
    middle = HEIGHT / 2
    lines = [
        f'<path d="M{WIDTH / 2},0V{HEIGHT}" stroke="#bbb"/>',
        f'<path d="M0.5,0V{HEIGHT}M{WIDTH - 0.5},0V{HEIGHT}" stroke="#eee"/>',
    ]
    colour = COLOURS[effect.verdict.name.lower()]
    if effect.low is not None and effect.high is not None:
        low, high = (_place(end, reach) for end in (effect.low, effect.high))
        lines.append(
            f'<path d="M{low:.1f},{middle}H{max(high, low + 0.5):.1f}" stroke="{colour}" '
            'stroke-width="2"/>'
        )
    if effect.relative is not None:
        lines.append(
            f'<circle cx="{_place(effect.relative, reach):.1f}" cy="{middle}" r="3.5" '
            f'fill="{colour}"/>'
        )
    return Markup(
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="interval">{"".join(lines)}</svg>'
    )


def _place(ratio: float, reach: float) -> float:
    """Give where a relative change lies on the axis, in points from the left; at most its ends."""
    share = math.log1p(ratio) / math.log(reach) if ratio > -1 else -math.inf
    return WIDTH / 2 * (1 + min(max(share, -1.0), 1.0))
