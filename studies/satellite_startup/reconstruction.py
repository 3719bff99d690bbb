"""Transfer times and use of slots by the multiplier, as they were reckoned before this study.

The source gives neither its periods nor a table. These numbers were reckoned packet by packet,
outside of this project's network, for what the source states: the terminal measures what arrives
in a request period, asks for k times that, in whole slots of 44 kbit/s, of which it has at least
one and at most 1.2 Mbit/s; both periods are five frames together; the initial window is 3.
"""

from __future__ import annotations

import polars as pl

from .transfers import MULTIPLIER, SEGMENTS

MULTIPLIERS = (1.0, 2.0, 3.0, 4.0, 4.8, 6.0, 8.0)

TIMES_S = {
    20: (5.02, 4.25, 4.02, 3.94, 3.89, 3.86, 3.83),
    50: (7.79, 5.76, 5.23, 5.03, 4.93, 4.88, 4.82),
    100: (10.15, 7.15, 6.34, 5.99, 5.89, 5.84, 5.77),
    200: (12.80, 8.42, 7.54, 7.09, 6.93, 6.88, 6.83),
    500: (16.59, 11.44, 10.54, 10.09, 9.93, 9.88, 9.83),
}
"""By segments, in the order of `MULTIPLIERS`."""

USES = {
    20: (1.00, 1.00, 0.95, 0.83, 0.75, 0.68, 0.57),
    50: (1.00, 1.00, 0.94, 0.83, 0.73, 0.66, 0.54),
    100: (1.00, 1.00, 0.97, 0.85, 0.73, 0.66, 0.57),
    200: (1.00, 1.00, 0.98, 0.91, 0.84, 0.78, 0.71),
    500: (1.00, 1.00, 0.99, 0.96, 0.93, 0.90, 0.86),
}


def reconstruction() -> pl.DataFrame:
    """Give the numbers as rows: `SEGMENTS`, `MULTIPLIER`, ``reckoned_s``, ``reckoned_use``."""
    return pl.DataFrame(
        [
            {SEGMENTS: float(segments), MULTIPLIER: k, "reckoned_s": time, "reckoned_use": use}
            for segments, times in TIMES_S.items()
            for k, time, use in zip(MULTIPLIERS, times, USES[segments], strict=True)
        ]
    )
