"""Hold two runs of the form `kernel` against each other: `python beside_kernel.py SIMULATED KERNEL`.

It prints, as Markdown, the table in kernel.md.
"""

import sys
from collections.abc import Iterator

import numpy as np
import polars as pl

import fairwind
from fairwind.statistics import mean_interval, welch_difference
from fairwind.studies.congestion_control_evaluation.shares import (
    BANDWIDTH,
    CONTROL,
    RTT,
    shares,
)

COLUMNS = (
    "bandwidth",
    "RTT / ms",
    "control",
    "fairness, simulated",
    "on the kernel",
    "difference",
    "efficiency, simulated",
    "on the kernel",
    "difference",
)
MEASURES = ("fairness", "efficiency")


def main(simulated: str, kernel: str) -> None:
    """Print one line per cell, and how many differences an interval tells from none."""
    runs = [shares(fairwind.open(folder)) for folder in (simulated, kernel)]
    print("|", " | ".join(COLUMNS), "|")
    print("|", " | ".join("---" for _ in COLUMNS), "|")
    apart, cells = dict.fromkeys(MEASURES, 0), 0
    keys = [BANDWIDTH, RTT, CONTROL]
    for key, rows in runs[0].group_by(keys, maintain_order=True):
        same = pl.all_horizontal(
            pl.col(name) == value for name, value in zip(keys, key, strict=True)
        )
        other = runs[1].filter(same)
        if other.is_empty():
            continue
        cells += 1
        told = [str(part) for part in key]
        for measure in MEASURES:
            values = [frame[measure].to_numpy() for frame in (rows, other)]
            told += list(_told(values))
            apart[measure] += _is_apart(values)
        print("|", " | ".join(told), "|")
    print()
    for measure, count in apart.items():
        print(f"{measure}: told apart in {count} of {cells} cells.")


def _told(values: list[np.ndarray]) -> Iterator[str]:
    for one in values:
        found = mean_interval(one)
        half = (found.high - found.low) / 2
        yield f"{found.estimate:.3f} ± {half:.3f}" if np.isfinite(half) else f"{found.estimate:.3f}"
    difference = welch_difference(values[0], values[1])
    bounds = f" ({difference.low:+.3f} to {difference.high:+.3f})"
    yield f"{difference.estimate:+.3f}{bounds if np.isfinite(difference.low) else ''}"


def _is_apart(values: list[np.ndarray]) -> bool:
    difference = welch_difference(values[0], values[1])
    return bool(difference.low > 0 or difference.high < 0)


if __name__ == "__main__":
    main(*sys.argv[1:3])
