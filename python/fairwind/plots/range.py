"""Axes that begin and end where the values do."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

FEW_TIMES = 4.0
"""Values that differ by less than this factor are drawn evenly, not by orders of magnitude."""

DENSE = (1.0, 2.0, 5.0)
SPARSE = (1.0,)
MOST_DENSE = 3.0
"""Up to so many orders of magnitude have lines between them."""

MOST_LINES = 12


def quantity_axis(values: pl.Series) -> tuple[alt.Scale, alt.Axis]:
    """Choose an axis for quantities above zero: of orders of magnitude, or even if they are near.

    Parameters
    ----------
    values : Series
        What is drawn along the axis; zeros are left out of account.

    Returns
    -------
    Scale, Axis
        From a little below the least to a little above the greatest.
    """
    above = values.filter(values > 0).cast(pl.Float64)
    if above.is_empty():
        return alt.Scale(), alt.Axis()
    least, greatest = min(above.to_list()), max(above.to_list())
    if greatest < least * FEW_TIMES:
        room = (greatest - least) * 0.04 or greatest * 0.1
        ends = [least - room, greatest + room]
        return alt.Scale(domain=ends, nice=False, zero=False), alt.Axis(format=",~r")
    ends = [least / 1.1, greatest * 1.1]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    return scale, alt.Axis(values=lines(ends[0], ends[1]), format=",~r")


def lines(low: float, high: float) -> list[float]:
    """Give round numbers between two, for the lines of an axis of orders of magnitude."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = DENSE if math.log10(high / low) <= MOST_DENSE else SPARSE
    # As text, for 0.2 is none of 2 * 10**-1 in binary fractions alone.
    round_ones = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
    shown = [number for number in round_ones if low <= number <= high]
    return shown[:: -(-len(shown) // MOST_LINES)] if shown else []
