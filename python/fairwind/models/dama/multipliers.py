"""Multipliers of the measured rate to request, by several criteria.

Each takes the delay ratio rho and answers the least multiplier k with which the wait for capacity
is made up for, in one sense. The source recommends 4.8; of these, with the platform's inferred
delay ratio of 2.8125, `as_without_wait` gives 4.78 and `doubling_per_rtt` 4.87.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from fairwind.models.dama.growth import OMEGA, approximate_roots
from fairwind.models.errors import Floats, ModelError, positive

SOURCE_MULTIPLIER = 4.8
"""Multiplier that the source recommends without a formula."""


def as_without_wait(delay_ratio: ArrayLike) -> Floats:
    """Give k at which the equivalent round trip is the round trip itself, by the approximation.

    ``k = x (1 + x / 2) / (rho (1 - x / 2))`` with ``x = rho (sqrt(17) / 2 - 3/2)``; infinite from
    ``rho = 3.56`` on, where no multiplier is enough: the approximation never grows faster than
    ``exp(2 t / T)``.

    Parameters
    ----------
    delay_ratio : array_like
        rho; 1 or more.
    """
    ratio = _ratio(delay_ratio)
    _, constant = approximate_roots(1.0)
    x = ratio * constant
    room = np.maximum(1 - x / 2, 0.0)
    enough = np.full(ratio.shape, math.inf)
    np.divide(x * (1 + x / 2), ratio * room, out=enough, where=room > 0)
    return enough


def as_without_wait_exactly(delay_ratio: ArrayLike) -> Floats:
    """Give k at which the equivalent round trip is the round trip itself: ``W(1) exp(W(1) rho)``.

    Parameters
    ----------
    delay_ratio : array_like
        rho; 1 or more.
    """
    return np.asarray(OMEGA * np.exp(OMEGA * _ratio(delay_ratio)), dtype=np.float64)


def doubling_per_rtt(delay_ratio: ArrayLike) -> Floats:
    """Give k at which the window doubles per round trip, exactly: ``ln(2) 2**rho``.

    That is what slow start does over constant capacity, whose fluid equation grows by 1.76 only.

    Parameters
    ----------
    delay_ratio : array_like
        rho; 1 or more.
    """
    return np.asarray(np.log(2) * np.exp2(_ratio(delay_ratio)), dtype=np.float64)


def without_backlog(delay_ratio: ArrayLike) -> Floats:
    """Give k at which capacity is there for what slow start sends when it comes: ``2**(Da / tau)``.

    Within the allocation delay ``Da = T - tau`` the rate that was measured doubles per round trip.
    With less, a queue grows at the terminal; it is also where `growth.packet_exponent` is no
    longer bounded by requests.

    Parameters
    ----------
    delay_ratio : array_like
        rho; 1 or more.
    """
    return np.exp2(_ratio(delay_ratio) - 1)


CRITERIA: Mapping[str, tuple[Callable[[ArrayLike], Floats], str]] = {
    "as-without-wait": (
        as_without_wait,
        "grows as over constant capacity, by the approximation",
    ),
    "as-without-wait-exactly": (
        as_without_wait_exactly,
        "grows as over constant capacity, by the delay equation",
    ),
    "doubling-per-rtt": (doubling_per_rtt, "doubles per round trip, by the delay equation"),
    "without-backlog": (without_backlog, "capacity comes in time for what slow start sends then"),
}
"""Each criterion's function, and what it asks for."""


def _ratio(delay_ratio: ArrayLike) -> Floats:
    hint = "feedback delay over round trip: 1 for constant capacity, above 2 on demand"
    ratio = positive("delay_ratio", delay_ratio, hint)
    if np.any(ratio < 1):
        raise ModelError(f"delay_ratio is {np.min(ratio):g}: it cannot be below 1", hint)
    return ratio
