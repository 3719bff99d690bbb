"""The model's curves as frames: columns ``curve``, what is along x, and what is along y."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from fairwind.models.dama.growth import equivalent_rtt, exact_equivalent_rtt
from fairwind.models.dama.laws import (
    Law,
    carried_segments,
    completion_time_s,
    constant_allocation_time_s,
    maximum_demand_time_s,
    saturation_time_s,
    window_segments,
)
from fairwind.models.dama.packets import slot_utilisation
from fairwind.models.dama.start_up import DemandAssignedLink
from fairwind.models.errors import Floats

LAWS = {Law.SLIDE: "as in the paper", Law.TWO_ROOT: "both roots", Law.EXACT: "exact"}
"""Laws with different windows, in words."""

POINTS = 120
"""Of each curve: more than a panel can show."""


def window_over_time(
    link: DemandAssignedLink, initial_window_segments: float = 3.0, multiplier: float = 1.0
) -> pl.DataFrame:
    """Give the window until the link is full: ``time_s``, ``window_segments``, a curve per law.

    One more curve is that over constant allocation.
    """
    start_up = link.start_up(initial_window_segments, multiplier)
    constant = start_up.with_constant_allocation()
    until = max(float(saturation_time_s(start_up, law)) for law in LAWS)
    time = np.linspace(0.0, until, POINTS)
    windows = {words: window_segments(start_up, time, law) for law, words in LAWS.items()}
    windows["constant allocation"] = window_segments(constant, time)
    frame = _frame(windows, "time_s", time, "window_segments")
    return frame.filter(pl.col("window_segments") <= float(start_up.full_window_segments))


def equivalent_rtt_by_ratio(multipliers: Sequence[float], greatest: float = 4.0) -> pl.DataFrame:
    """Give the equivalent round trip against rho, both over the round trip.

    Columns ``delay_ratio`` from 1 to the greatest, ``equivalent_rtt_ratio``; two curves for each
    multiplier, by the approximation and exactly.
    """
    ratio = np.linspace(1.0, greatest, POINTS)
    values: dict[str, Floats] = {}
    for multiplier in multipliers:
        values[f"k = {multiplier:g}"] = equivalent_rtt(1.0, ratio, multiplier)
        values[f"k = {multiplier:g}, exact"] = exact_equivalent_rtt(1.0, ratio, multiplier)
    return _frame(values, "delay_ratio", ratio, "equivalent_rtt_ratio")


def completion_by_volume(
    link: DemandAssignedLink,
    initial_window_segments: float = 3.0,
    multipliers: Sequence[float] = (),
    *,
    most_segments: float = 500.0,
    law: Law = Law.EXACT,
) -> pl.DataFrame:
    """Give transfer times against volume: ``volume_segments``, ``completion_time_s``.

    Curves are constant allocation, the maximum over demand assignment (k = 1; see `comparison`),
    and further multipliers.
    """
    start_up = link.start_up(initial_window_segments)
    volume = np.geomspace(1.0, most_segments, POINTS)
    times = {
        "constant allocation": constant_allocation_time_s(start_up, volume, law),
        "maximum over demand assignment": maximum_demand_time_s(start_up, volume, law),
    }
    for multiplier in multipliers:
        if multiplier != 1:
            multiplied = start_up.with_multiplier(multiplier)
            times[f"k = {multiplier:g}"] = completion_time_s(multiplied, volume, law)
    return _frame(times, "volume_segments", volume, "completion_time_s")


def completion_by_multiplier(
    link: DemandAssignedLink,
    volumes: Sequence[float],
    initial_window_segments: float = 3.0,
    *,
    greatest: float = 8.0,
    law: Law = Law.EXACT,
) -> pl.DataFrame:
    """Give transfer times against the multiplier: ``multiplier``, ``completion_time_s``.

    One curve for each volume, the largest first.
    """
    multiplier = np.linspace(1.0, greatest, POINTS)
    start_up = link.start_up(initial_window_segments, multiplier)
    times = {
        f"{volume:g} segments": completion_time_s(start_up, volume, law)
        for volume in sorted(volumes, reverse=True)
    }
    return _frame(times, "multiplier", multiplier, "completion_time_s")


def utilisation_by_multiplier(
    link: DemandAssignedLink, volumes: Sequence[float], *, greatest: float = 8.0
) -> pl.DataFrame:
    """Give the share of assigned slots that is used: ``multiplier``, ``slot_utilisation_ratio``.

    One curve for each volume, the largest first. See `packets`.
    """
    multiplier = np.linspace(1.0, greatest, POINTS)
    shares = {
        f"{volume:g} segments": slot_utilisation(link, volume, multiplier)
        for volume in sorted(volumes, reverse=True)
    }
    return _frame(shares, "multiplier", multiplier, "slot_utilisation_ratio")


def carried_over_time(
    link: DemandAssignedLink,
    initial_windows: Sequence[float],
    until_s: float = 20.0,
    law: Law = Law.EXACT,
) -> pl.DataFrame:
    """Give what is carried by a time: ``time_s``, ``carried_bytes``.

    Two curves for each initial window: on demand (k = 1), and over constant allocation.
    """
    time = np.linspace(0.0, until_s, POINTS)
    carried: dict[str, Floats] = {}
    for initial in initial_windows:
        start_up = link.start_up(initial)
        constant = start_up.with_constant_allocation()
        words = f"initial window {initial:g}"
        carried[f"{words}, on demand"] = carried_segments(start_up, time, law) * link.segment_bytes
        carried[f"{words}, constant"] = carried_segments(constant, time, law) * link.segment_bytes
    return _frame(carried, "time_s", time, "carried_bytes")


def _frame(curves: Mapping[str, Floats], x: str, along: Floats, y: str) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame({"curve": [name] * along.size, x: along, y: values})
        for name, values in curves.items()
    )
