"""Decisions on several effects at once: larger, smaller, none that matters, or not known yet.

Each effect has one t test (`Difference`), on whatever scale it was made. Decisions pay for the
number of effects, m (`decide`):

- *No difference* is decided where the whole interval of level 1 - alpha / m lies within a margin
  around zero, which is a pair of one-sided tests (Schuirmann 1987) at alpha / 2m each.
- Else, *less* or *more* is decided where the p value, corrected after Holm (1979), is below alpha.
  An effect that this rejects at place i, in the order of p, has the interval of level
  1 - alpha / (m - i + 1), which excludes zero just then. All others have that of 1 - alpha / m.

These intervals go with their verdicts and are no simultaneous ones: those of *less* and *more* are
narrower than at level 1 - alpha / m, so that the probability that all of them cover is below
1 - alpha. Only the verdicts are corrected for m.

The probability of any false *less* or *more* is at most alpha; that of any *no difference* where
the effect is as large as the margin or larger is at most alpha / 2. Both hold for samples of normal
distribution.

Pairs that all differ by the same amount, or not at all, have no spread for a t test, and no
interval. The exact sign test takes its place: if that amount were not typical, all n pairs had it
with probability 2^(1 - n) at most. So three pairs that are the same are not yet *no difference*.

Who looks again and again while samples are added finds a difference in the end, though there is
none: at the level 5 %, in 14 % of cases after five looks (Armitage, McPherson and Rowe 1969).
`decide_in_looks` pays for it by alpha spending (Lan and DeMets 1983): each look spends a fifth of
what the looks before it have left. The shares add up to alpha, however many looks there are, so
neither their number nor a largest sample has to be fixed in advance. The shares are levels of the
looks themselves (Slud and Wei 1982, by Bonferroni's inequality), so nothing depends on the joint
distribution of the looks, which is known for large samples only, and t tests of few samples keep
their error rate. What one look decides stays decided, but for differences that a later look finds
within the margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from fairwind._core import student_quantile
from fairwind.statistics.inference import Difference, holm

ALPHA = 0.05
"""Probability of a false decision, over all effects and looks."""

MARGIN = 0.05
"""The largest relative difference that counts as none, unless said otherwise."""

POWER = 0.8
"""Probability with which the number of samples that is asked for decides."""

SPENT = 0.2
"""Share that a look spends of the error rate that is left."""

GROWTH = 1.5
"""So many times as many samples has a look as the one before it."""

MOST_SAMPLES = 1_000_000
"""A plan of more samples is none."""


class EffectVerdict(StrEnum):
    """Verdict on one effect."""

    LESS = "less"
    MORE = "more"
    NO_DIFFERENCE = "no difference"
    UNDECIDED = "undecided"


DIFFERENT = (EffectVerdict.LESS, EffectVerdict.MORE)
"""Verdicts that there is a difference."""


@dataclass(frozen=True)
class Decision:
    """Verdict on one effect, with the interval that it was read from.

    Attributes
    ----------
    low, high : float
        Bounds of the corrected interval on the scale of the test; NaN where there is no spread.
    p_value : float
        Two-sided, of no difference; NaN where it is unknown.
    adjusted_p_value : float
        The same, corrected for the number of effects, and of looks.
    level : float
        Confidence level of the interval, 0 to 1.
    """

    verdict: EffectVerdict
    low: float
    high: float
    p_value: float
    adjusted_p_value: float
    level: float


Margin = tuple[float, float]
"""The largest differences that count as none, below and above zero, on the scale of a test."""


def decide(
    tests: Sequence[Difference], margins: Sequence[Margin], alpha: float = ALPHA
) -> list[Decision]:
    """Decide on several effects, with the error rate for all of them together.

    Parameters
    ----------
    tests : sequence of Difference
        One for each effect.
    margins : sequence of (float, float)
        For each effect; NaN where there is none.
    alpha : float
        Probability of any false decision, 0 to 1.
    """
    p_values = np.array([p_value(test) for test in tests], dtype=np.float64)
    adjusted = holm(p_values)
    count = max(int(np.isfinite(p_values).sum()), 1)
    places = np.argsort(np.argsort(p_values, kind="stable"), kind="stable")
    found = zip(tests, margins, p_values.tolist(), adjusted.tolist(), places.tolist(), strict=True)
    decisions = []
    for test, margin, p, corrected, place in found:
        level, verdict = 1 - alpha / count, EffectVerdict.UNDECIDED
        if is_within(test, margin, level):
            verdict = EffectVerdict.NO_DIFFERENCE
        elif corrected < alpha:
            level = 1 - alpha / (count - place)
            verdict = EffectVerdict.LESS if test.estimate < 0 else EffectVerdict.MORE
        decisions.append(Decision(verdict, *_bounds(test, level), p, corrected, level))
    return decisions


def is_within(test: Difference, margin: Margin, level: float) -> bool:
    """Return whether an effect surely lies within a margin around zero.

    Parameters
    ----------
    margin : (float, float)
        NaN for none, within which are only pairs that are the same.
    level : float
        Confidence level of the interval, 0 to 1.
    """
    if has_spread(test):
        low, high = _bounds(test, level)
        return margin[0] < low and high < margin[1]
    is_near = test.estimate == 0 or margin[0] < test.estimate < margin[1]
    return is_near and _sign_p_value(test) <= 1 - level


def has_spread(test: Difference) -> bool:
    """Return whether samples differ by more than rounding, so that a t test can be made."""
    return test.has_spread and test.standard_error > 0


def p_value(test: Difference, null: float = 0.0) -> float:
    """Give the two-sided p value of a t test, or of the sign test of pairs without spread.

    Parameters
    ----------
    null : float
        The hypothesis, on the scale of the test.

    Returns
    -------
    float
        NaN where it is unknown, as for one sample.
    """
    if has_spread(test):
        return test.p_value if null == 0 else test.p_value_against(null)
    of_signs = _sign_p_value(test)
    return of_signs if test.estimate != null or math.isnan(of_signs) else 1.0


def _sign_p_value(test: Difference) -> float:
    """Give the p value of pairs that all have one sign; NaN for fewer than two pairs."""
    pairs = test.samples_a if test.is_paired else 0
    return 2.0 ** (1 - pairs) if pairs > 1 else math.nan


def _bounds(test: Difference, level: float) -> Margin:
    if not has_spread(test):
        return math.nan, math.nan
    interval = test.at_level(level)
    return interval.low, interval.high


def next_look(size: int) -> int:
    """Give the number of samples of the look after one with so many."""
    return math.ceil(size * GROWTH)


def look_alpha(look: int, alpha: float = ALPHA) -> float:
    """Give the error rate that a look spends.

    Parameters
    ----------
    look : int
        From 0.
    alpha : float
        Of all looks together.
    """
    return float(alpha * SPENT * (1 - SPENT) ** look)


def decide_in_looks(
    looks: Sequence[Sequence[Difference]], margins: Sequence[Sequence[Margin]], alpha: float = ALPHA
) -> list[Decision]:
    """Decide on effects that were looked at while samples were added.

    Parameters
    ----------
    looks : sequence of sequence of Difference
        The tests of all effects at each look, in the same order.
    margins : sequence of sequence of (float, float)
        As in `decide`, for each look.
    alpha : float
        Probability of any false decision at any look.

    Returns
    -------
    list of Decision
        One for each effect. Each interval is what the intervals of all looks have in common, since
        all of them hold at once. P values are those of the last look, adjusted p values the
        smallest of all looks, each divided by its look's share of the error rate.
    """
    combined: list[Decision] = []
    for number, (tests, bounds) in enumerate(zip(looks, margins, strict=True)):
        share = look_alpha(number, alpha)
        # The p value of a look pays for its share of the error rate.
        found = [
            replace(one, adjusted_p_value=float(np.minimum(one.adjusted_p_value / part, 1.0)))
            for part in [share / alpha]
            for one in decide(tests, bounds, share)
        ]
        pairs = zip(combined or found, found, bounds, strict=True)
        combined = [_combine(*pair) for pair in pairs]
    return combined


def _combine(earlier: Decision, later: Decision, margin: Margin) -> Decision:
    verdicts = (earlier.verdict, later.verdict)
    low, high = float(np.fmax(earlier.low, later.low)), float(np.fmin(earlier.high, later.high))
    sure = next((one for one in (earlier, later) if one.verdict in DIFFERENT), None)
    if low > high:  # happens with probability alpha at most
        low, high = (sure or later).low, (sure or later).high
    if EffectVerdict.NO_DIFFERENCE in verdicts:
        verdict = EffectVerdict.NO_DIFFERENCE
    elif sure is not None:
        verdict = sure.verdict
    elif margin[0] < low <= high < margin[1]:
        verdict = EffectVerdict.NO_DIFFERENCE
    else:
        verdict = EffectVerdict.UNDECIDED
    adjusted = float(np.fmin(earlier.adjusted_p_value, later.adjusted_p_value))
    return Decision(verdict, low, high, later.p_value, adjusted, later.level)


def samples_to_decide(
    test: Difference, margin: Margin, effects: int, alpha: float = ALPHA
) -> int | None:
    """Estimate how many samples decide on an effect, if it and its spread are as estimated.

    The smaller of two numbers, each for a probability of 80 %: for a difference from zero, and for
    an interval within the margin (Chow, Shao, Wang and Lokhnygina, Sample Size Calculations in
    Clinical Research, 2018, section 3.1, with quantiles of Student's t; the level is corrected
    after Bonferroni, alpha over the number of effects).

    Parameters
    ----------
    test : Difference
        With what has been measured so far.
    margin : (float, float)
        As in `decide`.
    effects : int
        On how many it is decided together, at least 1.

    Returns
    -------
    int or None
        Samples of both sides; None where nothing is known of the spread.
    """
    level = alpha / effects
    size = min(test.samples_a, test.samples_b)
    if not has_spread(test):
        return math.ceil(1 - math.log2(level)) if test.is_paired and size > 1 else None
    spread = test.standard_error * math.sqrt(size)
    effect, room = abs(test.estimate), min(test.estimate - margin[0], margin[1] - test.estimate)
    found = [
        samples_for(spread / effect, 1 - level / 2, POWER) if effect > 0 else None,
        samples_for(spread / room, 1 - level / 2, (1 + POWER) / 2) if room > 0 else None,
    ]
    return min((one for one in found if one is not None), default=None)


def samples_for(spread: float, confidence: float, power: float) -> int | None:
    """Give the samples that a one-sided t test needs.

    Parameters
    ----------
    spread : float
        Standard deviation over the distance that is to be seen.
    confidence, power : float
        One less the probability of an error of the first kind, and of one of the second, 0 to 1.

    Returns
    -------
    int or None
        At least 2; None for more than a million.
    """
    # Quantiles fall with the size: it is never above what the larger ones need.
    limits = student_quantile(math.inf, confidence) + student_quantile(math.inf, power)
    normal = (limits * spread) ** 2
    size = 2
    while size <= MOST_SAMPLES:
        quantiles = student_quantile(size - 1, confidence) + student_quantile(size - 1, power)
        needed = (quantiles * spread) ** 2
        if needed <= size:
            return size
        size = max(size + 1, math.ceil(min(normal, MOST_SAMPLES + 1)))
    return None


def samples_in_looks(
    test: Difference, margin: Margin, effects: int, done: Sequence[int], alpha: float = ALPHA
) -> int | None:
    """Estimate at how many samples a later look decides; as `samples_to_decide`.

    Parameters
    ----------
    done : sequence of int
        Sizes of the looks so far, at least one.
    """
    size, number = done[-1], len(done)
    while size <= MOST_SAMPLES:
        size = next_look(size)
        needed = samples_to_decide(test, margin, effects, look_alpha(number, alpha))
        if needed is None or needed <= size:
            return size if needed is not None else None
        number += 1
    return None
