"""Transfers of the running kernel beside simulated ones."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import polars as pl

import fairwind
from fairwind.results import Question, Results, StudyAnswer, Verdict
from fairwind.statistics import mean_interval
from fairwind.studies.panels import interval_in_words

from .measures import POLICY, SEGMENTS, TIME, transfers

CONSTANT = "constant"

WITHIN_RATIO = 0.10
"""Largest deviation of the kernel's ratio from the simulator's, by the latter."""


def beside_constant(results: Results) -> pl.DataFrame:
    """Give transfer times by those over constant allocation that began at the same time.

    Parameters
    ----------
    results : Results
        Of `policies.toml`, or of a part of it that has constant allocation.

    Returns
    -------
    DataFrame
        `POLICY`, `SEGMENTS`, ``seed``, `TIME` and ``ratio``, missing where either did not end.
    """
    times = transfers(results).select(POLICY, SEGMENTS, "seed", TIME)
    constant = times.filter(pl.col(POLICY) == CONSTANT).drop(POLICY)
    joined = times.join(constant, on=[SEGMENTS, "seed"], suffix="_constant", maintain_order="left")
    return joined.with_columns((pl.col(TIME) / pl.col(f"{TIME}_constant")).alias("ratio"))


def side_by_side(simulated: Results, kernel: Results) -> pl.DataFrame:
    """Give the ratios of both engines, by policy and volume.

    Returns
    -------
    DataFrame
        `POLICY`, `SEGMENTS`, ``runs`` (pairs in which nothing is missing), and of ``simulated`` and
        ``kernel`` the mean time and the mean ratio with its 95 % interval over the phases of the
        start: ``time_s_SIDE``, ``ratio_SIDE``, ``low_SIDE``, ``high_SIDE``. ``off_ratio`` is the
        kernel's mean ratio against the simulator's, ``worst_ratio`` that of the pair which is
        furthest apart.
    """
    keys = [POLICY, SEGMENTS, "seed"]
    both = (
        beside_constant(kernel)
        .join(beside_constant(simulated), on=keys, suffix="_simulated", maintain_order="left")
        .drop_nulls(["ratio", "ratio_simulated"])
        .rename({TIME: f"{TIME}_kernel", "ratio": "ratio_kernel"})
    )
    rows = []
    for (policy, segments), part in both.group_by(POLICY, SEGMENTS, maintain_order=True):
        row: dict[str, object] = {POLICY: policy, SEGMENTS: segments, "runs": part.height}
        for side in ("simulated", "kernel"):
            found = mean_interval(part[f"ratio_{side}"].to_numpy())
            row |= {
                f"time_s_{side}": part[f"{TIME}_{side}"].mean(),
                f"ratio_{side}": found.estimate,
                f"low_{side}": found.low,
                f"high_{side}": found.high,
            }
        apart = (part["ratio_kernel"] / part["ratio_simulated"] - 1).to_numpy()
        rows.append(row | {"worst_ratio": float(max(apart, key=abs))})
    if not rows:
        return pl.DataFrame()
    off = pl.col("ratio_kernel") / pl.col("ratio_simulated") - 1
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(off.alias("off_ratio"))


@Question(
    statement=(
        "On the running kernel transfers on demand take as many times as long as over constant "
        "allocation as they do in the simulator."
    ),
    rule=(
        "Transfer time by that over constant allocation which began at the same time, mean "
        "over the starts, the kernel's against the simulator's. Holds: within "
        f"{WITHIN_RATIO:.0%} for every policy and volume that both have; for some: in some; "
        "otherwise it fails."
    ),
)
def kernel_agrees(simulated: Results, kernel: Results) -> StudyAnswer:
    """Judge: on the kernel, capacity on demand costs as many times over as in the simulator."""
    found = side_by_side(simulated, kernel)
    details = found.filter(pl.col(POLICY) != CONSTANT) if found.height else found
    if not details.height:
        return StudyAnswer(Verdict.UNDECIDED, "The two have no transfer in common.", details)
    fits = details["off_ratio"].abs() <= WITHIN_RATIO
    text = "; ".join(_row_in_words(row) for row in details.iter_rows(named=True))
    return StudyAnswer(
        verdict=(Verdict.of_cells(fits)),
        evidence=f"{fits.sum()} of {details.height} within: {text}.",
        details=details,
    )


def _row_in_words(row: Mapping[str, Any]) -> str:
    sides = " and ".join(
        f"{row[f'ratio_{side}']:.3f}"
        f"{interval_in_words(row[f'low_{side}'], row[f'high_{side}'], '.3f')}"
        f" {words}"
        for side, words in (("kernel", "on the kernel"), ("simulated", "simulated"))
    )
    return (
        f"{row[POLICY]}, {row[SEGMENTS]:g} segments, {row['runs']} starts: {sides}, "
        f"{row['off_ratio']:+.2%} apart, no start further than {row['worst_ratio']:+.2%}"
    )


CODES = {Verdict.HOLDS: 0, Verdict.UNDECIDED: 2}


def main(simulated: str, kernel: str) -> int:
    """Print one line per policy and volume that both have, and the verdict."""
    both = fairwind.open(simulated), fairwind.open(kernel)
    print("| policy | segments | starts | simulator / s | kernel / s "
          "| simulator: ratio | kernel: ratio | apart |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for row in side_by_side(*both).iter_rows(named=True):
        ratios = " | ".join(
            f"{row[f'ratio_{side}']:.3f}"
            f"{interval_in_words(row[f'low_{side}'], row[f'high_{side}'], '.3f')}"
            for side in ("simulated", "kernel")
        )
        print(
            f"| {row[POLICY]} | {row[SEGMENTS]:g} | {row['runs']} | {row['time_s_simulated']:.4f} "
            f"| {row['time_s_kernel']:.4f} | {ratios} | {row['off_ratio']:+.2%} |"
        )
    claim = kernel_agrees(*both)
    print(f"\n{claim.statement}\n{claim.verdict.value}: {claim.evidence}")
    return CODES.get(claim.verdict, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
