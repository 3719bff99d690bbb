"""Growth of a window where capacity follows demand, and the equivalent round trip.

Growth is the exponent per feedback delay, ``s T`` of ``w ~ exp(s t)``. It depends on the
loop gain ``k rho`` alone (see `start_up` for the equation and its assumptions).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fairwind.models.errors import Floats, ModelError, not_negative, positive

OMEGA = float(special.lambertw(1.0).real)
"""Exact exponent at loop gain 1: 0.567143."""


def approximate_roots(loop_gain: ArrayLike) -> tuple[Floats, Floats]:
    """Give both roots of the approximation of second order (s1 T, s2 T).

    The delay ``exp(-s T)`` becomes ``(1 - s T / 2) / (1 + s T / 2)``; what is left is
    ``(s T)**2 / 2 + (1 + k rho / 2) s T - k rho = 0``.

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
    request_period_s, allocation_period_s : array_like
        Tr between requests, Ta between plans, seconds.
    """
    rtt = positive("rtt_s", rtt_s, "such as 0.84")
    request = not_negative("request_period_s", request_period_s, "such as 0.819")
    allocation = not_negative("allocation_period_s", allocation_period_s, "such as 0.546")
    return rtt + (request + allocation) / 2


SOURCE_MULTIPLIER = 4.8
"""Multiplier that the source recommends without a formula."""


def as_without_wait(delay_ratio: ArrayLike) -> Floats:
    """Give k at which the equivalent round trip is the round trip itself, by the approximation.

    ``k = x (1 + x / 2) / (rho (1 - x / 2))`` with ``x = rho (sqrt(17) / 2 - 3/2)``; infinite from
    ``rho = 3.56`` on, where no multiplier is enough: the approximation never grows faster than
    ``exp(2 t / T)``.
    """
    ratio = _ratio(delay_ratio)
    _, constant = approximate_roots(1.0)
    x = ratio * constant
    room = np.maximum(1 - x / 2, 0.0)
    enough = np.full(ratio.shape, math.inf)
    np.divide(x * (1 + x / 2), ratio * room, out=enough, where=room > 0)
    return enough


def as_without_wait_exactly(delay_ratio: ArrayLike) -> Floats:
    """Give k at which the equivalent round trip is the round trip: ``W(1) exp(W(1) rho)``."""
    return np.asarray(OMEGA * np.exp(OMEGA * _ratio(delay_ratio)), dtype=np.float64)


def doubling_per_rtt(delay_ratio: ArrayLike) -> Floats:
    """Give k at which the window doubles per round trip, exactly: ``ln(2) 2**rho``.

    That is what slow start does over constant capacity; the fluid equation grows by 1.76 only.
    """
    return np.asarray(np.log(2) * np.exp2(_ratio(delay_ratio)), dtype=np.float64)


def without_backlog(delay_ratio: ArrayLike) -> Floats:
    """Give k at which capacity is there for what slow start sends when it comes: ``2**(Da / tau)``.

    Within the allocation delay ``Da = T - tau`` the rate that was measured doubles per round trip.
    With less, a queue grows at the terminal; it is also where `packet_exponent` is no
    longer bounded by requests.
    """
    return np.exp2(_ratio(delay_ratio) - 1)


CRITERIA: Mapping[str, tuple[Callable[[ArrayLike], Floats], str]] = {
    "as-without-wait": (
        as_without_wait,
        "grow as fast as over constant capacity, by the approximation",
    ),
    "as-without-wait-exactly": (
        as_without_wait_exactly,
        "grow as fast as over constant capacity, exactly",
    ),
    "doubling-per-rtt": (doubling_per_rtt, "double in each round trip, exactly"),
    "without-backlog": (without_backlog, "get capacity in time for what slow start sends"),
}
"""Each criterion's function, which gives the least multiplier k with which the wait for capacity is
made up for, and what it asks for. With the platform's inferred delay ratio of 2.8125
`as_without_wait` gives 4.78 and `doubling_per_rtt` 4.87."""


def _ratio(delay_ratio: ArrayLike) -> Floats:
    hint = "feedback delay over round trip: 1 for constant capacity, above 2 on demand"
    ratio = positive("delay_ratio", delay_ratio, hint)
    if np.any(ratio < 1):
        raise ModelError(f"delay_ratio is {np.min(ratio):g}: it cannot be below 1", hint)
    return ratio
