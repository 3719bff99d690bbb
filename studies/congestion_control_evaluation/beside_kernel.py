"""Two runs of the form `kernel` against each other.

    python -m fairwind_studies.congestion_control_evaluation.beside_kernel SIMULATED KERNEL

It prints, as Markdown, the tables in kernel.md: one for each part that both have.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

import fairwind
from fairwind.results import Results
from fairwind.results.lateness import STALL_S
from fairwind.statistics import mean_interval, welch_difference

from .claims import with_decades
from .measures import BANDWIDTH, CONTROL, RTT, STARVED_RATIO, joining, shares

KEYS = [BANDWIDTH, RTT, CONTROL]
SHOWN = 0.005
"""Of a smaller difference a table with two decimals shows nothing."""


@dataclass(frozen=True)
class Compared:
    """Compared measures of a part.

    Attributes
    ----------
    read : callable
        From the results of the part to its measures, run by run.
    measures : dict of str to str
        What each column is called.
    """

    title: str
    read: Callable[[Results], pl.DataFrame]
    measures: dict[str, str]


def with_ratio(results: Results) -> pl.DataFrame:
    """Add the ratio of both flows' goodput, in powers of ten."""
    ratio = pl.col("friendliness").clip(1 / STARVED_RATIO, STARVED_RATIO)
    return shares(results).with_columns(ratio.log10().alias("ratio_decades"))


PARTS = {
    "symmetric": Compared(
        "Identical flows", shares, {"fairness": "fairness", "efficiency": "efficiency"}
    ),
    "friendliness": Compared(
        "Beside standard TCP",
        with_ratio,
        {"ratio_decades": "goodput by standard TCP's, powers of ten", "efficiency": "efficiency"},
    ),
    "rtt-unfairness": Compared(
        "Against a flow of 162 ms",
        lambda results: with_decades(shares(results)),
        {"advantage_decades": "advantage, powers of ten", "efficiency": "efficiency"},
    ),
    "convergence": Compared(
        "A second flow joins",
        joining,
        {
            "convergence_capped_s": "s to 80 % of its share",
            "delta_fair_capped_s": "s until even but for 10 %",
            "settled_fairness": "fairness in the last half",
        },
    ),
}


def main(simulated: str, kernel: str) -> None:
    """Print a table for each part, and the number of significant differences."""
    runs = [fairwind.open(folder) for folder in (simulated, kernel)]
    for name, compared in PARTS.items():
        found = [run if name == "symmetric" else run.part(name) for run in runs]
        there = [part for part in found if part is not None]
        if len(there) == len(runs):
            _print_part(compared, there)


def _print_part(compared: Compared, runs: list[Results]) -> None:
    frames = [compared.read(run) for run in runs]
    print(f"### {compared.title}\n")
    titles = [
        title for name in compared.measures.values() for title in (name, "kernel", "difference")
    ]
    print("|", " | ".join(["bandwidth", "RTT / ms", "control", *titles]), "|")
    print("|", " | ".join("---" for _ in [*KEYS, *titles]), "|")
    apart, cells = dict.fromkeys(compared.measures, 0), 0
    for key, rows in frames[0].group_by(KEYS, maintain_order=True):
        other = frames[1].filter(**dict(zip(KEYS, key, strict=True)))
        if other.is_empty():
            continue
        cells += 1
        parts = [str(part) for part in key]
        for measure in compared.measures:
            values = [frame[measure].to_numpy() for frame in (rows, other)]
            parts += [*(_estimate(one) for one in values), _difference(values)]
            apart[measure] += _is_apart(values)
        print("|", " | ".join(parts), "|")
    each = ", ".join(f"{compared.measures[name]} in {count}" for name, count in apart.items())
    print(f"\nDistinguishable, of {cells} cells: {each}. {_stalls(runs[1])}\n")


def _estimate(values: np.ndarray) -> str:
    found = mean_interval(values)
    half = (found.high - found.low) / 2
    if np.ptp(values) == 0 and values.size > 1:
        return f"{found.estimate:.2f} ({values.size} equal)"
    return f"{found.estimate:.2f} ± {half:.2f}" if np.isfinite(half) else f"{found.estimate:.2f}"


def _difference(values: list[np.ndarray]) -> str:
    difference = welch_difference(values[0], values[1])
    bounds = f" ({difference.low:+.2f} to {difference.high:+.2f})"
    text = f"{difference.estimate:+.2f}{bounds if np.isfinite(difference.low) else ''}"
    return f"**{text}**" if _is_apart(values) else text


def _is_apart(values: list[np.ndarray]) -> bool:
    difference = welch_difference(values[0], values[1])
    is_shown = abs(difference.estimate) >= SHOWN
    return bool(is_shown and (difference.low > 0 or difference.high < 0))


def _stalls(kernel: Results) -> str:
    """Name the runs in which the machine stood still for a while, which no percentile shows."""
    late = kernel.table("lateness").filter(pl.col("lateness_max_s") > STALL_S)
    if late.is_empty():
        return f"No packet was {1000 * STALL_S:.0f} ms late."
    worst = 1000 * float(late.select(pl.col("lateness_max_s").max()).item())
    named = late.select(
        pl.format("{} {}", CONTROL, pl.concat_str(BANDWIDTH, pl.col("^(.*_)?rtt$"), separator=" "))
    ).to_series()
    cells = ", ".join(named.unique(maintain_order=True))
    return (
        f"In {late.height} runs a packet was more than {1000 * STALL_S:.0f} ms late, "
        f"{worst:.0f} at most: {cells}."
    )


if __name__ == "__main__":
    main(*sys.argv[1:3])
