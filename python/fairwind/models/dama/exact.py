"""The window and what it carries, exactly: the delay equation by the method of steps.

Within each feedback delay the equation has what it had within the one before as a known right
side. Integrated step by step from ``w = W0`` this gives

    w(t) = W0 sum over n <= t / T of (k / tau)**n (t - n T)**n / n!

All terms are positive, so nothing cancels. Before the link is full only; see `laws`.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairwind.models.dama.growth import exact_exponent
from fairwind.models.dama.start_up import StartUp
from fairwind.models.errors import Floats, ModelError

MOST_STEPS = 1000
"""So many feedback delays: growth is at least ``exp(0.567)`` in each, so 10**246 in all."""


def exact_window(start_up: StartUp, time_s: Floats) -> Floats:
    """Give the window, segments; 0 before time 0.

    Raises
    ------
    ModelError
        If a time is more than `MOST_STEPS` feedback delays.
    """
    return start_up.initial_window_segments * _series(start_up, time_s, 0)


def exact_volume(start_up: StartUp, time_s: Floats) -> Floats:
    """Give what was carried since time 0, segments: the integral of ``w / tau``.

    Raises
    ------
    ModelError
        If a time is more than `MOST_STEPS` feedback delays.
    """
    _, _, _, window, multiplier = start_up.arrays()
    return window / multiplier * _series(start_up, time_s, 1)


def saturation_bounds(start_up: StartUp) -> tuple[Floats, Floats]:
    """Give two times between which the window fills the link, seconds.

    With ``s`` the exact growth, ``W0 exp(s (t - T)) <= w(t) <= W0 exp(s t)`` holds in the first
    feedback delay, and the equation hands it on from each to the next.
    """
    feedback = start_up.feedback_delay_s
    rate = exact_exponent(start_up.loop_gain) / feedback
    full = start_up.full_window_segments / start_up.initial_window_segments
    earliest = np.log(np.maximum(full, 1.0)) / rate
    return earliest, earliest + feedback


def _series(start_up: StartUp, time_s: Floats, integrals: int) -> Floats:
    """Sum ``(k (t - n T) / tau)**m / m!`` with ``m = n + integrals`` over the steps begun."""
    rtt, feedback, _, _, multiplier = start_up.arrays()
    time, rtt, feedback, multiplier = np.broadcast_arrays(time_s, rtt, feedback, multiplier)
    steps = float(np.max(time / feedback, initial=0.0))
    if not steps <= MOST_STEPS:
        raise ModelError(
            f"a time of {np.max(time):g} s is {steps:.4g} feedback delays, more than {MOST_STEPS}",
            "the link was full long before: ask for carried_segments, or for an earlier time",
        )
    total = np.zeros(time.shape)
    with np.errstate(over="ignore"):
        for step in range(int(steps) + 1):
            since = time - step * feedback
            reach = np.where(since >= 0, since, 0.0) * multiplier / rtt
            power = step + integrals
            # By logarithms: power and factorial alone leave the range of numbers first.
            term = np.exp(special.xlogy(power, reach) - special.gammaln(power + 1))
            total += np.where(since >= 0, term, 0.0)
    return total
