"""Agreement of two engines: tolerances, differences with their intervals, verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fairwind.results.summary import HARDLY_ANY_PACKETS, unit_of
from fairwind.statistics import paired_difference
from fairwind.statistics.inference import standard_error, t_quantile

from .record import Measured, Rows, Summary, Values

SIMULATOR = "simulation"
"""The engine that the others are compared with."""


class Verdict(StrEnum):
    """Relation of a difference to its tolerance."""

    WITHIN = "within"
    UNDECIDED = "undecided"
    APART = "apart"


@dataclass(frozen=True)
class Tolerance:
    """Largest difference that counts as agreement: the larger of two bounds.

    Attributes
    ----------
    relative_ratio : float
        A share of the simulator's mean.
    absolute : float
        In the measure's own unit.
    """

    relative_ratio: float
    absolute: float = 0.0

    def bound(self, mean: float) -> float:
        """Give the largest difference from a mean of the simulator, in the measure's unit."""
        return max(self.relative_ratio * abs(mean), self.absolute)

    def in_words(self, measure: str) -> str:
        """Write it as in ``20 % or 0.2 points``."""
        unit, scale = unit_of(measure)
        unit = {"%": "points"}.get(unit, unit or measure.rpartition("_")[2].replace("index", ""))
        parts = [f"{100 * self.relative_ratio:g} %"] if self.relative_ratio else []
        parts += [f"{self.absolute * scale:g} {unit}".rstrip()] if self.absolute else []
        return " or ".join(parts)


TOLERANCES: dict[str, Tolerance] = {
    "goodput_bits_per_second": Tolerance(0.05),
    "packet_loss_ratio": Tolerance(0.20, 0.002),
    "retransmission_ratio": Tolerance(0.20, 0.002),
    "ack_latency_p50_s": Tolerance(0.05),
    "ack_latency_p99_s": Tolerance(0.15),
    "delivery_latency_p50_s": Tolerance(0.05),
    "delivery_latency_p99_s": Tolerance(0.15),
    "completion_time_p50_s": Tolerance(0.05),
    "completion_time_p90_s": Tolerance(0.10),
    "backlog_mean_packets": Tolerance(0.10, 1.0),
    "drops_packets": Tolerance(0.20, 5.0),
    "jain_index": Tolerance(0.0, 0.05),
}
"""Compared measures, in the order of the page.

Medians and goodput within 5 %, tails and losses by counts within 15 or 20 %: a run of half a minute
has few of them. One burst of a window more or less is a handful of drops. A mean backlog of one
packet more is a packet's time, which the latencies judge.
"""


@dataclass(frozen=True)
class Difference:
    """A kernel's mean less the simulator's, with the 95 % interval, in the measure's unit.

    The interval is unknown (None) where one of them has a single run.
    """

    estimate: float
    low: float | None
    high: float | None

    def verdict(self, bound: float) -> Verdict:
        """Judge it by its whole interval.

        Parameters
        ----------
        bound : float
            The largest difference that counts as agreement, in the same unit.

        Returns
        -------
        Verdict
            Within: the whole interval is. Apart: no part of it is. Undecided: anything else.
        """
        if self.low is None or self.high is None:
            return Verdict.UNDECIDED
        if -bound <= self.low and self.high <= bound:
            return Verdict.WITHIN
        return Verdict.APART if self.low > bound or self.high < -bound else Verdict.UNDECIDED


@dataclass(frozen=True)
class Agreement:
    """One measure of one thing in one scenario: the simulator's and another engine's.

    Attributes
    ----------
    name : str
        The group, queue, or whom fairness is among.
    simulated, real : tuple of float
        Mean and half of the 95 % interval over runs (NaN for one run), in the measure's unit.
    """

    name: str
    measure: str
    simulated: tuple[float, float]
    real: tuple[float, float]
    difference: Difference
    verdict: Verdict

    @property
    def relative(self) -> tuple[float | None, float | None, float | None]:
        """The difference and its interval as shares of the simulator's mean; None from zero."""
        mean = abs(self.simulated[0])
        if not mean:
            return (None, None, None)
        found = (self.difference.estimate, self.difference.low, self.difference.high)
        estimate, low, high = (None if value is None else value / mean for value in found)
        return estimate, low, high


def agreements(
    simulated: Measured,
    real: Measured,
    *,
    is_paired: bool,
    tolerances: Mapping[str, Tolerance] = TOLERANCES,
) -> list[Agreement]:
    """Compare the runs of one scenario in the simulator and in another engine.

    Parameters
    ----------
    simulated, real : Measured
        Values of the simulator and of the other engine.
    is_paired : bool
        Whether runs with the same seed draw the same random numbers, as in virtual time: they are
        compared in pairs (Student's t). In real time they are independent samples (Welch).
    tolerances : mapping
        Compared measures, in order.
    """
    found = []
    for name, measures in _without_repetitions(simulated.rows).items():
        others = real.rows.get(name, {})
        for measure, tolerance in tolerances.items():
            if measure not in measures or measure not in others or _is_unnoticed(measures, others):
                continue
            values = measures[measure], others[measure]
            one = _agreement((name, measure), values, tolerance, is_paired=is_paired)
            if one is not None:
                found.append(one)
    order = list(tolerances)
    names = list(simulated.rows)
    return sorted(found, key=lambda one: (names.index(one.name), order.index(one.measure)))


def _without_repetitions(rows: Rows) -> Rows:
    """Leave out what other rows show: losses that are repaired, and fairness among the same."""
    found: Rows = {}
    seen: list[Values | Summary] = []
    for name, measures in rows.items():
        kept = dict(measures)
        if "retransmission_ratio" in kept:
            kept.pop("packet_loss_ratio", None)
        if "jain_index" in kept:
            if kept["jain_index"] in seen:
                continue
            seen.append(kept["jain_index"])
        found[name] = kept
    return found


def _is_unnoticed(*of_both: dict[str, Values | Summary]) -> bool:
    """Return whether a queue had no influence anywhere: hardly any packets, and no drops."""
    if "backlog_mean_packets" not in of_both[0]:
        return False
    bounds = {"backlog_mean_packets": HARDLY_ANY_PACKETS, "drops_packets": 0.0}
    return all(
        _estimate(measures[name])[0] <= bound
        for measures in of_both
        for name, bound in bounds.items()
        if name in measures
    )


def _agreement(
    row: tuple[str, str],
    values: tuple[Values | Summary, Values | Summary],
    tolerance: Tolerance,
    *,
    is_paired: bool,
) -> Agreement | None:
    difference = difference_of(*values, is_paired=is_paired)
    if difference is None:
        return None
    of_simulator, of_real = map(_estimate, values)
    bound = tolerance.bound(of_simulator[0])
    return Agreement(*row, of_simulator, of_real, difference, difference.verdict(bound))


def difference_of(
    a: Values | Summary, b: Values | Summary, *, is_paired: bool
) -> Difference | None:
    """Estimate the mean of B less the mean of A; None if one of them has no value.

    Parameters
    ----------
    a, b : list or Summary
        Values in the order of the seeds; a summary is an independent sample.
    is_paired : bool
        Whether values at the same place are compared in pairs.
    """
    if is_paired and isinstance(a, list) and isinstance(b, list):
        pairs = [(x, y) for x, y in zip(a, b, strict=False) if x is not None and y is not None]
        if not pairs:
            return None
        found = paired_difference(*np.array(pairs, dtype=float).T)
        known = [None if math.isnan(value) else value for value in (found.low, found.high)]
        return Difference(found.estimate, *known)
    return _independent_difference(_summary(a), _summary(b))


def _independent_difference(a: Summary, b: Summary) -> Difference | None:
    """Compare independent samples by mean, half width of the interval and size (Welch 1947)."""
    if not (a.runs and b.runs):
        return None
    estimate = b.mean - a.mean
    if min(a.runs, b.runs) < 2:
        return Difference(estimate, None, None)
    variances = [(one.half_width / t_quantile(0.95, one.runs - 1)) ** 2 for one in (a, b)]
    total = sum(variances)
    if total == 0:
        return Difference(estimate, estimate, estimate)
    parts = [variance**2 / (one.runs - 1) for variance, one in zip(variances, (a, b), strict=True)]
    half = t_quantile(0.95, total**2 / sum(parts)) * math.sqrt(total)
    return Difference(estimate, estimate - half, estimate + half)


def _summary(values: Values | Summary) -> Summary:
    if isinstance(values, Summary):
        return values
    known = np.array([value for value in values if value is not None], dtype=float)
    if known.size < 2:
        return Summary(float(known.mean()) if known.size else math.nan, math.nan, known.size)
    half = standard_error(known) * t_quantile(0.95, known.size - 1)
    return Summary(float(known.mean()), half, known.size)


def _estimate(values: Values | Summary) -> tuple[float, float]:
    summary = _summary(values)
    return summary.mean, summary.half_width


def count(rows: Sequence[Agreement], verdict: Verdict) -> int:
    """Count the rows with a verdict."""
    return sum(row.verdict is verdict for row in rows)
