"""Tolerances for agreement of simulator and kernel, by measure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Relation of a difference to its tolerance."""

    WITHIN = "within"
    UNDECIDED = "undecided"
    APART = "apart"
    NOT_JUDGED = "-"


@dataclass(frozen=True)
class Tolerance:
    """Largest difference that counts as agreement.

    Attributes
    ----------
    relative_ratio : float
        Of the kernel's value less the simulator's, over the simulator's.
    absolute : float, optional
        A smaller difference than this, in the measure's own unit, is within as well.
    """

    relative_ratio: float
    absolute: float | None = None

    def __str__(self) -> str:
        """Write it as in ``20 % or 0.2 points``; only ratios have an absolute part."""
        points = "" if self.absolute is None else f" or {100 * self.absolute:g} points"
        return f"{100 * self.relative_ratio:g} %{points}"

    def verdict(self, row: dict[str, float | None]) -> Verdict:
        """Judge one difference with its interval.

        Parameters
        ----------
        row : dict
            ``difference``, ``low``, ``high`` in the measure's unit, and the same as ratios:
            ``relative_ratio``, ``relative_low_ratio``, ``relative_high_ratio``. None is unknown.

        Returns
        -------
        Verdict
            Within: the estimate is within. Apart: it is not, nor is any part of its interval.
            Undecided: it is not, but its interval reaches so far.
        """
        relative = (row["relative_ratio"], row["relative_low_ratio"], row["relative_high_ratio"])
        scales = [(relative, self.relative_ratio)]
        if self.absolute is not None:
            scales.append(((row["difference"], row["low"], row["high"]), self.absolute))
        verdicts = [_judged(values, bound) for values, bound in scales]
        for verdict in (Verdict.WITHIN, Verdict.UNDECIDED, Verdict.APART):
            if verdict in verdicts:
                return verdict
        return Verdict.NOT_JUDGED


def _judged(values: tuple[float | None, float | None, float | None], bound: float) -> Verdict:
    estimate, low, high = values
    if estimate is None:
        return Verdict.NOT_JUDGED
    if abs(estimate) <= bound:
        return Verdict.WITHIN
    if low is None or high is None:
        return Verdict.UNDECIDED
    return Verdict.APART if low > bound or high < -bound else Verdict.UNDECIDED


TOLERANCES: dict[str, Tolerance | None] = {
    "goodput_bits_per_second": Tolerance(0.05),
    "retransmission_ratio": Tolerance(0.20, 0.002),
    "ack_latency_p50_s": Tolerance(0.05),
    "ack_latency_p99_s": Tolerance(0.15),
    "delivery_latency_p50_s": Tolerance(0.05),
    "delivery_latency_p99_s": Tolerance(0.15),
    "backlog_mean_packets": None,
    "drops_packets": None,
    "jain_index": None,
}
"""Compared measures, in the order of the page; None has no verdict."""
