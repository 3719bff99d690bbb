"""Effects of a run's axes as rows of a table, each with its interval drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairwind.quantities import cell_text, percent, percent_interval
from fairwind.results.answer import Answer, AxisEffect, Effect

WIDTH, HEIGHT = 150, 18
"""Of a drawn interval, in points."""

MOST = 16.0
"""Factors beyond this one, or its inverse, are drawn at the edge."""

LEAST = 1.1
"""The axis of factors reaches at least from the inverse of this one to it."""

TICKS = (1.1, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class EffectRow:
    """One effect as it stands on the page.

    Attributes
    ----------
    cells : tuple of (str, bool)
        Texts, and whether each is a number.
    interval : str
        An SVG element.
    change : str
        The estimate, to sort by.
    verdict, style : str
        In words, and the class of its colour.
    seeds_needed : str
        How many more seeds would decide it.
    """

    cells: tuple[tuple[str, bool], ...]
    interval: str
    change: str
    verdict: str
    style: str
    seeds_needed: str


@dataclass(frozen=True)
class EffectTable:
    """The effects of one axis.

    Attributes
    ----------
    axis, reference : str
        Its name, and the value that all others are compared with.
    headers : tuple of (str, bool)
        Of the cells, and whether they stand above numbers.
    scale : str
        The ends of the axis of the drawn intervals.
    """

    axis: str
    reference: str
    headers: tuple[tuple[str, bool], ...]
    scale: str
    rows: tuple[EffectRow, ...]


def effect_tables(answer: Answer) -> list[EffectTable]:
    """Give a table for each axis that has an effect; intervals of one table share their axis."""
    return [_table(axis) for axis in answer.axes if axis.effects and not axis.is_without_effect]


def _table(axis: AxisEffect) -> EffectTable:
    reach = _reach(axis.effects)
    has_context = any(effect.context for effect in axis.effects)
    context = [("other axes", False)] if has_context else []
    headers = (
        (axis.axis, False),
        *context,
        ("group", False),
        ("measure", False),
        (f"with {axis.reference}", True),
        ("mean", True),
        ("change", True),
    )
    rows = tuple(_row(effect, reach, has_context=has_context) for effect in axis.effects)
    scale = f"{percent(1 / reach - 1)} to {percent(reach - 1)} %"
    return EffectTable(axis.axis, axis.reference, headers, scale, rows)


def _row(effect: Effect, reach: float, *, has_context: bool) -> EffectRow:
    change = "-"
    if effect.relative is not None:
        interval = percent_interval(effect.low, effect.high)
        change = f"{percent(effect.relative)} % {interval}".rstrip()
    cells = (
        (effect.value, False),
        *([(effect.context, False)] if has_context else []),
        (effect.name, False),
        (effect.header, False),
        *((cell_text(mean), True) for mean in effect.shown_means),
        (change, True),
    )
    return EffectRow(
        cells,
        interval_picture(effect, reach),
        "" if effect.relative is None else f"{effect.relative:.6g}",
        str(effect.verdict),
        effect.verdict.name.lower(),
        "-" if effect.seeds_needed is None else str(effect.seeds_needed),
    )


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


def interval_picture(effect: Effect, reach: float) -> str:
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
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="interval">{"".join(lines)}</svg>'
    )


def _place(ratio: float, reach: float) -> float:
    """Give where a relative change lies on the axis, in points from the left; at most its ends."""
    share = math.log1p(ratio) / math.log(reach) if ratio > -1 else -math.inf
    return WIDTH / 2 * (1 + min(max(share, -1.0), 1.0))
