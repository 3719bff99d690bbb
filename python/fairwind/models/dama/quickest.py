"""The multiplier with which a volume is carried soonest, by the approximation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from fairwind.models.dama.laws import Law, completion_time_s
from fairwind.models.dama.start_up import StartUp
from fairwind.models.errors import Floats, ModelError

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
    volume_segments : array_like
        N, segments.
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
            "no multiplier is the quickest by the exact law: more always helps, ever less",
            "ask for one of the criteria, or for a form of the approximation",
        )
    rtt, feedback, rate, window, _ = start_up.arrays()
    cases = np.broadcast_arrays(rtt, feedback, rate, window, np.asarray(volume_segments, float))

    def least(case: tuple[float, ...]) -> float:
        rtt_s, feedback_s, full_rate, initial, volume = case

        def time(multiplier: float) -> float:
            return float(
                completion_time_s(
                    StartUp(rtt_s, feedback_s, full_rate, initial, multiplier), volume, law
                )
            )

        found = optimize.minimize_scalar(time, bounds=(1.0, MOST), method="bounded")
        return float(found.x)

    numbers = zip(*(array.ravel().tolist() for array in cases), strict=True)
    return np.array([least(case) for case in numbers]).reshape(cases[0].shape)
