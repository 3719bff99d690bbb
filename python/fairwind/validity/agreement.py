"""Simulator against kernel, row by row, with a verdict."""

from __future__ import annotations

from dataclasses import dataclass

from fairwind.compare import compare
from fairwind.results import Results, tidy_overview
from fairwind.validity.tolerance import TOLERANCES, Tolerance, Verdict


@dataclass(frozen=True)
class Agreement:
    """One measure of one thing in one scenario, as both engines see it.

    Attributes
    ----------
    name : str
        The group, queue, or whom fairness is among.
    measure : str
    simulated, real : tuple of float or None
        Mean, low and high of the 95 % interval over runs, in the measure's unit.
    relative : tuple of float or None
        How much larger the kernel's mean is than the simulator's, as a ratio, with its interval.
    tolerance : Tolerance, optional
        None where nothing was agreed on.
    verdict : Verdict
    """

    name: str
    measure: str
    simulated: tuple[float | None, float | None, float | None]
    real: tuple[float | None, float | None, float | None]
    relative: tuple[float | None, float | None, float | None]
    tolerance: Tolerance | None
    verdict: Verdict


def agreement(simulated: Results, real: Results) -> list[Agreement]:
    """Compare the runs of one scenario, which has a single cell, in both engines."""
    of_a, of_b = (_estimates(results) for results in (simulated, real))
    # What neither knows, as the fairness among a single flow, is not compared.
    known = {measure for _, measure in of_a} & {measure for _, measure in of_b}
    differences = compare(simulated, real, [name for name in TOLERANCES if name in known])
    found = []
    for row in differences.iter_rows(named=True):
        tolerance = TOLERANCES[row["measure"]]
        key = row["name"], row["measure"]
        found.append(
            Agreement(
                name=row["name"],
                measure=row["measure"],
                simulated=of_a.get(key, (row["mean_a"], None, None)),
                real=of_b.get(key, (row["mean_b"], None, None)),
                relative=(
                    row["relative_ratio"],
                    row["relative_low_ratio"],
                    row["relative_high_ratio"],
                ),
                tolerance=tolerance,
                verdict=tolerance.verdict(row) if tolerance else Verdict.NOT_JUDGED,
            )
        )
    return found


def _estimates(
    results: Results,
) -> dict[tuple[str, str], tuple[float | None, float | None, float | None]]:
    return {
        (row["name"], row["measure"]): (row["mean"], row["low"], row["high"])
        for row in tidy_overview(results).iter_rows(named=True)
    }
