"""Window, volume and completion time under each law, until the link is full and after.

Time 0 is when the first window leaves. A volume counts when it is carried, at the rate
``w / tau``, at most that of the link. What is measured until the last acknowledgment takes a round
trip more, and from a connection's first packet on that of the set-up as well.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize
from scipy.optimize import elementwise

from fairwind.models.dama import approximation, exact
from fairwind.models.dama.start_up import StartUp
from fairwind.models.errors import Floats, ModelError, not_negative


class Law(StrEnum):
    """Solution of the start-up equation.

    ``slide``
        As the source has it: the approximation of second order, its dominant root, and a volume
        that is right in the long run only (see `approximation`).
    ``strict``
        The same window, integrated from time 0.
    ``two-root``
        Both roots of the approximation, integrated from time 0: right at time 0 as well.
    ``exact``
        The delay equation itself.
    """

    SLIDE = "slide"
    STRICT = "strict"
    TWO_ROOT = "two-root"
    EXACT = "exact"


WINDOWS: dict[Law, Callable[[StartUp, Floats], Floats]] = {
    Law.SLIDE: approximation.dominant_window,
    Law.STRICT: approximation.dominant_window,
    Law.TWO_ROOT: approximation.two_root_window,
    Law.EXACT: exact.exact_window,
}
VOLUMES: dict[Law, Callable[[StartUp, Floats], Floats]] = {
    Law.SLIDE: approximation.slide_volume,
    Law.STRICT: approximation.strict_volume,
    Law.TWO_ROOT: approximation.two_root_volume,
    Law.EXACT: exact.exact_volume,
}


def window_segments(start_up: StartUp, time_s: ArrayLike, law: Law = Law.EXACT) -> Floats:
    """Give the window w(t), segments, as if the link had no end.

    Parameters
    ----------
    time_s : array_like
        Seconds since the first window left; before, the window is 0.
    """
    return WINDOWS[law](start_up, _times(time_s))


def volume_segments(start_up: StartUp, time_s: ArrayLike, law: Law = Law.EXACT) -> Floats:
    """Give what was carried by a time, N(t), segments, as if the link had no end.

    Parameters
    ----------
    law : Law
        How the equation is solved; ``slide`` gives more than 0 at time 0.
    """
    return VOLUMES[law](start_up, _times(time_s))


def saturation_time_s(start_up: StartUp, law: Law = Law.EXACT) -> Floats:
    """Give when the link is full (ts, at ``w / tau = mu``), seconds; 0 if it is from the start."""
    _, _, _, window, _ = start_up.arrays()
    match law:
        case Law.SLIDE | Law.STRICT:
            found = approximation.dominant_saturation(start_up)
        case Law.TWO_ROOT:
            # The other root's share is above zero, so that the link is full no later.
            latest = approximation.dominant_saturation(start_up)
            found = _solved(start_up, law, WINDOWS, start_up.full_window_segments, 0.0, latest)
        case Law.EXACT:
            earliest, latest = exact.saturation_bounds(start_up)
            target = start_up.full_window_segments
            found = _solved(start_up, law, WINDOWS, target, earliest, latest)
    return np.where(window >= start_up.full_window_segments, 0.0, found)


def carried_segments(start_up: StartUp, time_s: ArrayLike, law: Law = Law.EXACT) -> Floats:
    """Give what was carried by a time over a link that is full from ``ts`` on, segments."""
    time, full_from = _times(time_s), saturation_time_s(start_up, law)
    before = np.where(full_from > 0, volume_segments(start_up, np.minimum(time, full_from), law), 0)
    full = np.maximum(time - full_from, 0.0)
    return before + start_up.rate_segments_per_second * full


def completion_time_s(start_up: StartUp, volume: ArrayLike, law: Law = Law.EXACT) -> Floats:
    """Give when a volume is carried, D(N), seconds since the first window left.

    Within the start-up it is the inverse of `volume_segments`; from N(ts) on, what is left takes
    ``(N - N(ts)) / mu`` more.

    Raises
    ------
    ModelError
        If a volume is below zero or not finite.
    """
    wanted = not_negative("volume_segments", volume, "such as 20, 100 or 500")
    full_from = saturation_time_s(start_up, law)
    by_then = np.where(full_from > 0, volume_segments(start_up, full_from, law), 0.0)
    within = np.minimum(wanted, by_then)
    match law:
        case Law.SLIDE:
            growing = approximation.slide_time(start_up, within)
        case Law.STRICT:
            growing = approximation.strict_time(start_up, within)
        case Law.TWO_ROOT | Law.EXACT:
            growing = _solved(start_up, law, VOLUMES, within, 0.0, full_from)
    rest = (wanted - by_then) / start_up.rate_segments_per_second
    return np.where(wanted <= by_then, growing, full_from + np.maximum(rest, 0.0))


def _times(time_s: ArrayLike) -> Floats:
    times = np.asarray(time_s, dtype=np.float64)
    if not np.all(np.isfinite(times)):
        raise ModelError("time_s has a value that is not a finite number", "give seconds")
    return times


def _solved(
    start_up: StartUp,
    law: Law,
    what: dict[Law, Callable[[StartUp, Floats], Floats]],
    target: ArrayLike,
    earliest: ArrayLike,
    latest: ArrayLike,
) -> Floats:
    """Find when something reaches a target, between two times; NaN where it is not between."""
    arrays = np.broadcast_arrays(*start_up.arrays(), target, earliest, latest)
    # A little room: the bounds are met exactly where the answer is one of them.
    low, high = arrays[6] * (1 - 1e-9), arrays[7] * (1 + 1e-9)

    def above(time: Floats, *values: Floats) -> Floats:
        *numbers, aim = values
        return what[law](StartUp.of_checked(numbers), time) - aim

    found = elementwise.find_root(above, (low, high), args=tuple(arrays[:6]))
    return np.asarray(found.x, dtype=np.float64)


def constant_allocation_time_s(
    start_up: StartUp, volume_segments: ArrayLike, law: Law = Law.EXACT
) -> Floats:
    """Give the completion time over the same capacity held ready (rho = 1, k = 1), seconds.

    Parameters
    ----------
    start_up : StartUp
        Its feedback delay and multiplier are not used.
    """
    return completion_time_s(start_up.with_constant_allocation(), volume_segments, law)


def maximum_demand_time_s(
    start_up: StartUp, volume_segments: ArrayLike, law: Law = Law.EXACT
) -> Floats:
    """Give the completion time where the measured rate is requested (k = 1), seconds.

    The source compares an *actual* curve, which is measured, with this *maximum over demand
    assignment* and with *constant allocation*. It does not define the maximum; this is the model's
    own completion time, since all its assumptions favour TCP: nothing is lost, every buffer is deep
    enough, capacity comes in no slots.

    Parameters
    ----------
    start_up : StartUp
        Its multiplier is not used.
    """
    return completion_time_s(start_up.with_multiplier(1.0), volume_segments, law)


MOST = 100.0
"""No platform has so many slots that a greater multiplier would differ."""


def quickest(start_up: StartUp, volume_segments: ArrayLike, law: Law = Law.SLIDE) -> Floats:
    """Give the multiplier k from 1 to 100 with the least completion time.

    By the approximation there is one, near the source's 4.8: a larger multiplier lets the window
    grow faster in the end, but from less, as the dominant root takes a smaller part in the initial
    window. By the delay equation itself more always helps, ever less.

    Parameters
    ----------
    start_up : StartUp
        Its multiplier is not used; its arrays broadcast with the volumes.
    law : Law
        Which form of the approximation.

    Raises
    ------
    ModelError
        For the exact law.

    Notes
    -----
    Derived here, not in the source.
    """
    if law is Law.EXACT:
        raise ModelError(
            "the exact solution has no fastest multiplier: a larger one is always faster",
            "use one of CRITERIA, or another law",
        )

    def least(volume: float, rtt: float, feedback: float, rate: float, window: float) -> float:
        def time(multiplier: float) -> float:
            case = StartUp(rtt, feedback, rate, window, multiplier)
            return float(completion_time_s(case, volume, law))

        found = optimize.minimize_scalar(time, bounds=(1.0, MOST), method="bounded")
        return float(found.x)

    *path, _ = start_up.arrays()
    return np.asarray(np.vectorize(least, otypes=[np.float64])(volume_segments, *path))
