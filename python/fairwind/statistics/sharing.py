"""How flows share a path: fairness, efficiency, friendliness, convergence, harm.

Shares are in any one unit, none negative. Every measure compares with a baseline, and none is one
score for all (Leith, "An experimental evaluation of congestion control", and Li, Leith, Shorten,
IEEE/ACM Trans. Networking 15(5), 2007).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fairwind.statistics.inference import Floats, finite

TARGET_SHARE = 0.8
"""A new flow has converged at this part of its fair share (Leith)."""

DELTA = 0.1
"""Unless said otherwise, shares that differ by this part of the capacity are fair (RFC 5166)."""


def min_to_max(shares: ArrayLike) -> float:
    """Give the smallest share over the largest: 1 if all are equal, 0 if one starves.

    Returns
    -------
    float
        NaN if there is no share at all.
    """
    sample = _shares(shares)
    largest = float(sample.max()) if sample.size else 0.0
    return float(sample.min()) / largest if largest > 0 else math.nan


def efficiency(goodputs: ArrayLike, capacity: float) -> float:
    """Give the part of a capacity that all together use.

    Parameters
    ----------
    goodputs : float64, shape (participants,)
        Of each, in the unit of the capacity.
    capacity : float
        More than 0.
    """
    if not capacity > 0:
        raise ValueError("the capacity must be more than 0")
    return float(_shares(goodputs).sum()) / capacity


def friendliness(new: float, standard: float) -> float:
    """Give what a flow with the new congestion control gets over what one with the standard gets.

    1 is fair, above it the new one takes more; infinite if the standard one starves, NaN if both
    do.
    """
    return _ratio(new, standard)


def burden(standard: float, baseline: float) -> float:
    """Give what a standard flow gets beside the new congestion control over beside its like.

    1 says that it is not worse off, below it that the new one takes something away.
    """
    return _ratio(standard, baseline)


def rtt_unfairness_bound(rtt: float, other_rtt: float) -> float:
    """Give how much more the flow of ``rtt`` may get than that of ``other_rtt``.

    Standard TCP that loses in step gets a rate as 1/RTT^2: (other/rtt)^2 (Leith's criterion).

    Parameters
    ----------
    rtt, other_rtt : float
        Round trips in one unit, more than 0.
    """
    if not (rtt > 0 and other_rtt > 0):
        raise ValueError("round trips must be more than 0")
    return (other_rtt / rtt) ** 2


def convergence_time(
    starts: ArrayLike,
    rates: ArrayLike,
    length: float,
    fair_share: float,
    target: float = TARGET_SHARE,
) -> float:
    """Give when a flow that joins has most of its fair share: the responsiveness.

    Parameters
    ----------
    starts : float64, shape (windows,)
        Beginnings of windows since the flow's start, in seconds, ascending.
    rates : float64, shape (windows,)
        Its mean rate in each.
    length : float
        Length of a window in seconds: the short term that is averaged over.
    fair_share : float
        In the unit of the rates, more than 0.
    target : float
        The part of it that counts as converged.

    Returns
    -------
    float
        The end of the first window with the target, in seconds since the flow's start; infinite if
        there is none.
    """
    if not fair_share > 0:
        raise ValueError("the fair share must be more than 0")
    beginnings, values = _windows(starts, rates)
    reached = np.flatnonzero(values >= target * fair_share)
    return float(beginnings[reached[0]]) + length if reached.size else math.inf


def delta_fair_time(
    starts: ArrayLike, first: ArrayLike, second: ArrayLike, length: float, delta: float = DELTA
) -> float:
    """Give when two flows, of which one had nearly all, share fairly but for delta.

    Shares of ((1 + delta)/2, (1 - delta)/2) of what both get together (RFC 5166, section 2.3.2;
    Bansal, Balakrishnan, Floyd, Shenker 2001). They begin with shares of (100/101, 1/101); here
    time begins with the second flow, and its first round trips without a hundredth count, too.

    Parameters
    ----------
    starts : float64, shape (windows,)
        Beginnings of windows since the second one began, in seconds, ascending.
    first, second : float64, shape (windows,)
        The flows' mean rates in each.
    length : float
        Length of a window in seconds.
    delta : float
        Above 0 and below 1.

    Returns
    -------
    float
        The end of the first window in which they do, in seconds; infinite if there is none.
    """
    if not 0 < delta < 1:
        raise ValueError("delta must be above 0 and below 1")
    beginnings, values = _windows(starts, np.column_stack([first, second]))
    total, gap = values.sum(axis=1), np.abs(values[:, 0] - values[:, 1])
    reached = np.flatnonzero((total > 0) & (gap <= delta * total))
    return float(beginnings[reached[0]]) + length if reached.size else math.inf


def harm(alone: float, beside: float, *, more_is_better: bool) -> float:
    """Give the harm that a competitor does to somebody who did well alone.

    0 is none, 1 is all; below 0 the competitor did good. Of throughput, where more is better,
    (alone - beside) / alone; of latency, loss or completion time (beside - alone) / beside (Ware,
    Mukerjee, Seshan, Sherry, HotNets 2019).

    Parameters
    ----------
    alone, beside : float
        The measure without the competitor and with it, not negative, in one unit.
    more_is_better : bool
        Of throughput; not of latency, loss or completion time.
    """
    if alone < 0 or beside < 0:
        raise ValueError("measures of harm must not be negative")
    worse, better = (beside, alone) if more_is_better else (alone, beside)
    return 1 - worse / better if better > 0 else (0.0 if worse == better else -math.inf)


def _ratio(above: float, below: float) -> float:
    if above < 0 or below < 0:
        raise ValueError("shares must not be negative")
    if below > 0:
        return above / below
    return math.inf if above > 0 else math.nan


def _shares(shares: ArrayLike) -> Floats:
    sample = finite(shares)
    if (sample < 0).any():
        raise ValueError("shares must not be negative")
    return sample


def _windows(starts: ArrayLike, rates: ArrayLike) -> tuple[Floats, Floats]:
    beginnings = np.asarray(starts, dtype=np.float64)
    values = np.asarray(rates, dtype=np.float64)
    if beginnings.shape[0] != values.shape[0]:
        raise ValueError("there must be one rate for each window")
    if (np.diff(beginnings) < 0).any():
        raise ValueError("windows must ascend")
    return beginnings, values


def max_min_shares(demands: ArrayLike, capacity: float) -> Floats:
    """Share a capacity so that nobody can have more but at the expense of who has no more.

    Who asks for less than an equal share gets all of it, and the others share the rest alike.

    Parameters
    ----------
    demands : float64, shape (flows,)
        What each asks for, at least 0; infinity for who takes all that there is.
    capacity : float
        In the same unit.

    Returns
    -------
    float64, shape (flows,)
        In the order of the demands and in their unit (RFC 5166, section 2.3; Bertsekas and
        Gallager, Data Networks, section 6.5).
    """
    wanted = np.asarray(demands, dtype=np.float64)
    shares = np.zeros(wanted.size)
    left = capacity
    for rank, place in enumerate(np.argsort(wanted, kind="stable")):
        shares[place] = min(wanted[place], left / (wanted.size - rank))
        left -= shares[place]
    return shares


def jain_index(shares: ArrayLike) -> float:
    """Jain's fairness index: 1 if all shares are equal, 1/n if one has everything.

    Returns
    -------
    float
        (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe 1984); NaN if there is no share at all.
    """
    sample = _shares(shares)
    largest = float(sample.max()) if sample.size else 0.0
    if largest == 0:
        return math.nan
    scaled = sample / largest  # keeps tiny and huge shares away from underflow and overflow
    return float(scaled.sum() ** 2 / (sample.size * (scaled**2).sum()))
