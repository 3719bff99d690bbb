"""Growth of a window where capacity follows demand, and the equivalent round trip.

Growth is told as the exponent per feedback delay, ``s T`` of ``w ~ exp(s t)``. It depends on the
loop gain ``k rho`` alone (see `start_up` for the equation and its assumptions).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fairwind.models.errors import Floats, not_negative, positive

OMEGA = float(special.lambertw(1.0).real)
"""Exact exponent at loop gain 1: 0.567143."""


def approximate_roots(loop_gain: ArrayLike) -> tuple[Floats, Floats]:
    """Give both roots of the approximation of second order (s1 T, s2 T).

    The delay ``exp(-s T)`` becomes ``(1 - s T / 2) / (1 + s T / 2)``; what is left is
    ``(s T)**2 / 2 + (1 + k rho / 2) s T - k rho = 0``.

    Parameters
    ----------
    loop_gain : array_like
        k rho; above zero.

    Returns
    -------
    negative, positive : float64
        The second one is the growth. It is below the exact one (see `exact_exponent`) by 1.0 % at
        gain 1, 4.4 % at 2.8, 18.5 % at 13.5, and never reaches 2, whatever the gain.
    """
    gain = positive("loop_gain", loop_gain, "multiplier times delay ratio, such as 2.8")
    half = 1 + gain / 2
    root = np.sqrt(1 + 3 * gain + (gain / 2) ** 2)
    # The positive root as a quotient: its two parts cancel where the gain is great or small.
    return -half - root, 2 * gain / (half + root)


def exact_exponent(loop_gain: ArrayLike) -> Floats:
    """Give the exact growth per feedback delay: the solution of ``x exp(x) = k rho``.

    It is Lambert's W on its principal branch: the only root of the delay equation that grows.

    Parameters
    ----------
    loop_gain : array_like
        k rho; above zero.
    """
    gain = positive("loop_gain", loop_gain, "multiplier times delay ratio, such as 2.8")
    values: Any = gain  # scipy's stubs know no arrays here
    return np.asarray(special.lambertw(values).real, dtype=np.float64)


def packet_exponent(delay_ratio: ArrayLike, multiplier: ArrayLike = 1.0) -> Floats:
    """Give the growth per feedback delay where packets are counted: ``min(ln 2k, rho ln 2)``.

    The equation of this model requests capacity for the rate of acknowledgments. A terminal
    measures what is *sent*, and in slow start two segments leave for each that is acknowledged: it
    requests ``k`` times twice the rate that it was given one feedback delay ago, and the window
    grows by ``2 k`` per feedback delay, until slow start itself is the slower one, which doubles
    per round trip. At k = 1 this is slower than the model's growth from a loop gain of 2 ln 2 on.

    Parameters
    ----------
    delay_ratio : array_like
        rho; 1 or more.
    multiplier : array_like
        k; 1/2 or less does not grow at all.

    Notes
    -----
    Derived here, not in the source. Same assumptions as the model otherwise.
    """
    ratio = positive("delay_ratio", delay_ratio, "feedback delay over round trip, such as 2.8")
    times = positive("multiplier", multiplier, "1 requests the measured rate")
    return np.asarray(np.clip(np.log(2 * times), 0, ratio * np.log(2)), dtype=np.float64)


def equivalent_rtt(rtt_s: ArrayLike, delay_ratio: ArrayLike, multiplier: ArrayLike = 1.0) -> Floats:
    """Give the round trip over constant capacity that grows as fast, by the approximation.

    ``tau_eq = (tau / k) (1 + g / 2 + sqrt(1 + 3 g + (g / 2)**2)) / (3/2 + sqrt(17/4))`` with the
    loop gain ``g = k rho``. It is the source's formula at k = 1, and `rtt_s` itself at k = rho = 1.

    Parameters
    ----------
    rtt_s : array_like
        tau, seconds.
    delay_ratio : array_like
        rho.
    multiplier : array_like
        k.

    Returns
    -------
    float64
        Seconds.
    """
    rtt = positive("rtt_s", rtt_s, "such as 0.84")
    ratio = np.asarray(delay_ratio, dtype=np.float64)
    _, growth = approximate_roots(ratio * np.asarray(multiplier, dtype=np.float64))
    _, constant = approximate_roots(1.0)
    return rtt * ratio * constant / growth


def exact_equivalent_rtt(
    rtt_s: ArrayLike, delay_ratio: ArrayLike, multiplier: ArrayLike = 1.0
) -> Floats:
    """Give the round trip over constant capacity that grows as fast, exactly.

    ``tau_eq = tau rho Omega / W(k rho)``, with W Lambert's function and Omega = W(1).

    Parameters
    ----------
    rtt_s : array_like
        tau, seconds.
    delay_ratio : array_like
        rho.
    multiplier : array_like
        k.

    Returns
    -------
    float64
        Seconds.
    """
    rtt = positive("rtt_s", rtt_s, "such as 0.84")
    ratio = np.asarray(delay_ratio, dtype=np.float64)
    return rtt * ratio * OMEGA / exact_exponent(ratio * np.asarray(multiplier, dtype=np.float64))


def allocation_delay(
    rtt_s: ArrayLike, request_period_s: ArrayLike, allocation_period_s: ArrayLike
) -> Floats:
    """Give the mean time from a rate's measurement to the capacity for it (Da), seconds.

    ``Da = tau + Ta / 2 + Tr / 2``: the request goes up and the answer comes down, half a round trip
    each between terminal and master and as much back, and each periodic step costs half its period
    in the mean.

    Parameters
    ----------
    rtt_s : array_like
        tau, seconds.
    request_period_s, allocation_period_s : array_like
        Tr between requests, Ta between plans, seconds.
    """
    rtt = positive("rtt_s", rtt_s, "such as 0.84")
    request = not_negative("request_period_s", request_period_s, "such as 0.819")
    allocation = not_negative("allocation_period_s", allocation_period_s, "such as 0.546")
    return rtt + (request + allocation) / 2
