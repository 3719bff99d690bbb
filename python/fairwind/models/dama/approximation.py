"""The window and what it carries, by the approximation of second order.

With ``x = s2 T > 0 > y = s1 T`` (see `growth.approximate_roots`):

    both roots      w(t) = W0 [(2 + x) exp(s2 t) - (2 + y) exp(s1 t)] / (x - y)
    dominant root   w(t) = W0 (2 + x) exp(s2 t) / (x - y)

Before the link is full only; see `laws` for what comes after. The source prints the exponent as
``s2 T``, which can only be meant as ``s2 t``. Its volume is the dominant root's integral without a
lower limit, less W0. That is not zero at t = 0, but right in the long run at k = 1: both roots,
integrated from 0, leave the constant ``-W0 / k`` when the other has died away (x y = -2 k rho).
"""

from __future__ import annotations

import numpy as np

from fairwind.models.dama.growth import approximate_roots
from fairwind.models.dama.start_up import StartUp
from fairwind.models.errors import Floats


def dominant_window(start_up: StartUp, time_s: Floats) -> Floats:
    """Give the window by the dominant root, segments; 0 before time 0."""
    rate = growth_rate(start_up)
    return np.where(time_s >= 0, _factor(start_up) * _exp(rate * time_s), 0.0)


def two_root_window(start_up: StartUp, time_s: Floats) -> Floats:
    """Give the window by both roots, segments; 0 before time 0, W0 at 0, less for a while then.

    The dip after the start comes from the approximation; the exact window never falls.
    """
    time = np.where(time_s >= 0, time_s, 0.0)
    y, x = approximate_roots(start_up.loop_gain)
    turns = time / start_up.feedback_delay_s
    both = (2 + x) * _exp(x * turns) - (2 + y) * _exp(y * turns)
    window = start_up.initial_window_segments * both / (x - y)
    return np.where(time_s >= 0, window, 0.0)


def slide_volume(start_up: StartUp, time_s: Floats) -> Floats:
    """Give the volume as the source has it, segments: ``W0 [(2+x) rho e^(s2 t)/(x(x-y)) - 1]``."""
    volume = _volume_scale(start_up) * _exp(growth_rate(start_up) * time_s)
    return np.where(time_s >= 0, volume - start_up.initial_window_segments, 0.0)


def strict_volume(start_up: StartUp, time_s: Floats) -> Floats:
    """Give the integral of the dominant root from time 0, segments."""
    grown = growth_rate(start_up) * np.where(time_s >= 0, time_s, 0.0)
    with np.errstate(over="ignore"):
        return np.asarray(_volume_scale(start_up) * np.expm1(grown), dtype=np.float64)


def two_root_volume(start_up: StartUp, time_s: Floats) -> Floats:
    """Give the integral of both roots from time 0, segments."""
    turns = np.where(time_s >= 0, time_s, 0.0) / start_up.feedback_delay_s
    y, x = approximate_roots(start_up.loop_gain)
    with np.errstate(over="ignore"):
        both = (2 + x) / x * np.expm1(x * turns) - (2 + y) / y * np.expm1(y * turns)
    scale = start_up.initial_window_segments * start_up.delay_ratio / (x - y)
    return np.asarray(scale * both, dtype=np.float64)


def dominant_saturation(start_up: StartUp) -> Floats:
    """Give when the dominant root's window fills the link, seconds; 0 if it does from the start.

    ``ts = ln[mu tau (x - y) / (W0 (2 + x))] / s2``.
    """
    full = start_up.full_window_segments / _factor(start_up)
    return np.asarray(np.log(np.maximum(full, 1.0)) / growth_rate(start_up), dtype=np.float64)


def slide_time(start_up: StartUp, volume_segments: Floats) -> Floats:
    """Give when the source's volume is reached, seconds; 0 where it is there at once.

    ``D(N) = ln[(N + W0) / W0 * x (x - y) / (rho (2 + x))] / s2``.
    """
    reached = (volume_segments + start_up.initial_window_segments) / _volume_scale(start_up)
    return np.asarray(np.log(np.maximum(reached, 1.0)) / growth_rate(start_up), dtype=np.float64)


def strict_time(start_up: StartUp, volume_segments: Floats) -> Floats:
    """Give when the dominant root's integral from time 0 reaches a volume, seconds."""
    grown = np.log1p(volume_segments / _volume_scale(start_up))
    return np.asarray(grown / growth_rate(start_up), dtype=np.float64)


def growth_rate(start_up: StartUp) -> Floats:
    """Give the rate of growth s2, 1/s."""
    _, x = approximate_roots(start_up.loop_gain)
    return x / start_up.feedback_delay_s


def _volume_scale(start_up: StartUp) -> Floats:
    """Give the factor of exp(s2 t) in the volume by the dominant root, segments."""
    _, x = approximate_roots(start_up.loop_gain)
    return _factor(start_up) * start_up.delay_ratio / x


def _factor(start_up: StartUp) -> Floats:
    """Give the dominant root's window at time 0, segments."""
    y, x = approximate_roots(start_up.loop_gain)
    return start_up.initial_window_segments * (2 + x) / (x - y)


def _exp(exponent: Floats) -> Floats:
    # Far beyond any link's capacity the window is infinite, which is no error.
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(exponent), dtype=np.float64)
