"""Bounds for a measured transfer: constant capacity, and the best of plain requests.

The source compares three curves of transfer time against volume: the *actual* one, which is
measured; the *maximum over demand assignment*; and *constant allocation*. It does not define the
second one; here it is the model's own completion time at k = 1, since all its assumptions favour
TCP: nothing is lost, every buffer is deep enough, capacity comes in no slots.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from fairwind.models.dama.laws import Law, completion_time_s
from fairwind.models.dama.start_up import StartUp
from fairwind.models.errors import Floats


def constant_allocation_time_s(
    start_up: StartUp, volume_segments: ArrayLike, law: Law = Law.EXACT
) -> Floats:
    """Give the completion time over the same capacity held ready (rho = 1, k = 1), seconds.

    Parameters
    ----------
    start_up : StartUp
        Its feedback delay and multiplier are not used.
    volume_segments : array_like
        N, segments.
    law : Law
        How the equation is solved.
    """
    return completion_time_s(start_up.with_constant_allocation(), volume_segments, law)


def maximum_demand_time_s(
    start_up: StartUp, volume_segments: ArrayLike, law: Law = Law.EXACT
) -> Floats:
    """Give the completion time where the measured rate is requested (k = 1), seconds.

    Parameters
    ----------
    start_up : StartUp
        Its multiplier is not used.
    volume_segments : array_like
        N, segments.
    law : Law
        How the equation is solved.
    """
    return completion_time_s(start_up.with_multiplier(1.0), volume_segments, law)
