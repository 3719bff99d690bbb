"""Hold transfers of the running kernel beside simulated ones: `python kernel.py SIMULATED KERNEL`.

Both are folders of runs of `policies.toml`, with the same seed; the page of this study tells how to
make the second one. Prints, for each policy and volume, the mean transfer time in both, and its
ratio to constant allocation with the 95 % interval over the phases of the start, paired by seed.
"""

import sys

import polars as pl

import fairwind
from fairwind.results import Results
from fairwind.statistics import mean_interval
from fairwind.studies.satellite_startup.transfers import POLICY, SEGMENTS, TIME, transfers

CONSTANT = "constant"


def main(simulated: str, kernel: str) -> None:
    """Print one line per policy and volume that both have."""
    simulator, running = (ratios(fairwind.open(folder)) for folder in (simulated, kernel))
    keys = [POLICY, SEGMENTS, "seed"]
    both = running.join(simulator, on=keys, suffix="_simulated", maintain_order="left")
    print("| policy | segments | simulator / s | kernel / s | simulator: ratio | kernel: ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for (policy, segments), part in both.group_by(POLICY, SEGMENTS, maintain_order=True):
        of_simulator, of_kernel = (
            f"{part[TIME + suffix].mean():.4f}" for suffix in ("_simulated", "")
        )
        told = " | ".join(_ratio(part["ratio" + suffix]) for suffix in ("_simulated", ""))
        print(f"| {policy} | {segments:g} | {of_simulator} | {of_kernel} | {told} |")


def ratios(results: Results) -> pl.DataFrame:
    """Give transfer times and their ratios to constant allocation with the same seed."""
    times = transfers(results).select(POLICY, SEGMENTS, "seed", TIME)
    constant = times.filter(pl.col(POLICY) == CONSTANT).drop(POLICY)
    joined = times.join(constant, on=[SEGMENTS, "seed"], suffix="_constant", maintain_order="left")
    return joined.with_columns((pl.col(TIME) / pl.col(f"{TIME}_constant")).alias("ratio"))


def _ratio(values: pl.Series) -> str:
    found = mean_interval(values.to_numpy())
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


if __name__ == "__main__":
    main(*sys.argv[1:])
