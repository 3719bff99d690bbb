"""Verdicts of a screening: pass, fail or caution, by an interval against a threshold.

A check *passes* if its whole 95 % interval lies on the good side of the threshold, *fails* if the
whole interval lies on the bad side, and is a *caution* otherwise. Intervals are Student's over the
seeds; the control and what it is held against have the same seeds and are compared in pairs. Values
that do not differ between seeds have no spread, and decide as they are: the scenario draws nothing
that matters.

Each check has its own interval, which is not corrected for the number of checks. A control whose
true value is the threshold itself fails with a probability of 2.5 % in each; one that is better
fails less often.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from fairwind.screen.suite import Check, Scale, Template
from fairwind.statistics import (
    Interval,
    harm,
    mean_interval,
    paired_difference,
    relative_change,
)

LEVEL = 0.95
"""Confidence level of intervals."""


class Verdict(StrEnum):
    """Verdict on a check, an area or a control."""

    PASS = "pass"
    CAUTION = "caution"
    FAIL = "fail"
    SKIPPED = "skipped"


ORDER = (Verdict.SKIPPED, Verdict.PASS, Verdict.CAUTION, Verdict.FAIL)
"""From the best to the worst."""


def worst(verdicts: list[Verdict]) -> Verdict:
    """Give the verdict on what these verdicts are about."""
    return max(verdicts, key=ORDER.index, default=Verdict.SKIPPED)


Key = tuple[str, str, str, str]
"""Engine, scenario, check and standard control: what a finding is called in a baseline."""


@dataclass(frozen=True)
class Finding:
    """Outcome of one check.

    Attributes
    ----------
    engine, area, scenario, check : str
        Where it belongs.
    standard : str
        The standard control that it was held against; empty where there is none.
    estimate, low, high : float
        On the check's scale; NaN where unknown.
    limit : float
        The threshold.
    is_least : bool
        Whether good values are above it.
    unit, scale : str
        Of the check; changes and harm are ratios.
    values, reference : tuple of float
        The measure for each seed with the control, and with the standard control.
    note : str
        What else there is to say, such as why nothing was measured.
    """

    engine: str
    area: str
    scenario: str
    check: str
    standard: str
    verdict: Verdict
    limit: float
    is_least: bool
    unit: str
    scale: str
    source: str
    title: str = ""
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    samples: int = 0
    values: tuple[float, ...] = ()
    reference: tuple[float, ...] = ()
    note: str = ""
    folders: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What it is called in a baseline."""
        return self.engine, self.scenario, self.check, self.standard


@dataclass(frozen=True)
class Samples:
    """A measure of all runs of a check, in the order of the seeds.

    Attributes
    ----------
    control : list of float
        With the control.
    standard : list of float
        With the standard control in its place; empty where nothing is held against it.
    alone : list of float
        Without the control's flows; for harm only.
    """

    control: list[float]
    standard: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)


def interval_of(check: Check, samples: Samples) -> Interval:
    """Estimate what the check's threshold is held against."""
    match check.scale:
        case Scale.VALUE:
            return mean_interval(samples.control, LEVEL)
        case Scale.CHANGE:
            return _change(samples)
        case Scale.DIFFERENCE:
            return _difference(samples.standard, samples.control)
        case Scale.HARM:
            return _difference(*_harms(check, samples))


def _change(samples: Samples) -> Interval:
    """Estimate a relative change; none where both are zero."""
    if not np.any(samples.control) and not np.any(samples.standard):
        return Interval(0.0, 0.0, 0.0, LEVEL, len(samples.control))
    return relative_change(samples.standard, samples.control, LEVEL, is_paired=True)


def _difference(reference: list[float], values: list[float]) -> Interval:
    found = paired_difference(reference, values, LEVEL)
    return Interval(found.estimate, found.low, found.high, LEVEL, found.samples_a)


def _harms(check: Check, samples: Samples) -> tuple[list[float], list[float]]:
    """Give the harm of the standard control and of the control, for each seed."""
    more = check.more_is_better
    standard, control = (
        [
            max(harm(alone, one, more_is_better=more), -1.0)
            if math.isfinite(alone) and math.isfinite(one)
            else math.nan
            for alone, one in zip(samples.alone, beside, strict=True)
        ]
        for beside in (samples.standard, samples.control)
    )
    return standard, control


def verdict_of(check: Check, interval: Interval) -> Verdict:
    """Judge an interval by the check's threshold."""
    low, high = interval.low, interval.high
    if math.isnan(low) or math.isnan(high):
        return Verdict.CAUTION
    sign = 1.0 if check.is_least else -1.0
    ends = [sign * (end - check.limit) for end in (low, high)]
    if min(ends) >= 0:
        return Verdict.PASS
    if max(ends) < 0:
        return Verdict.CAUTION if check.caution_at_worst else Verdict.FAIL
    return Verdict.CAUTION


def finding_of(
    template: Template,
    check: Check,
    samples: Samples,
    engine: str,
    standard: str,
    folders: Mapping[str, str],
) -> Finding:
    """Judge the samples of a check."""
    interval = interval_of(check, samples)
    unknown = "" if math.isfinite(interval.estimate) else "nothing could be measured"
    return unjudged(
        template,
        check,
        engine,
        standard,
        verdict_of(check, interval),
        unknown,
        estimate=interval.estimate,
        low=interval.low,
        high=interval.high,
        samples=interval.samples,
        values=tuple(samples.control),
        reference=tuple(samples.standard),
        folders=folders,
    )


def unjudged(
    template: Template,
    check: Check,
    engine: str,
    standard: str,
    verdict: Verdict,
    note: str,
    **measured: object,
) -> Finding:
    """Give a finding with a verdict that needs no interval, such as after a failed run."""
    return Finding(
        engine=engine,
        area=template.area,
        scenario=template.name,
        check=check.name,
        standard=standard,
        verdict=verdict,
        limit=check.limit,
        is_least=check.is_least,
        unit=(check.unit if check.scale in (Scale.VALUE, Scale.DIFFERENCE) else "ratio"),
        scale=check.scale,
        source=check.source,
        title=template.title,
        note=note,
        **measured,  # type: ignore[arg-type] # names and types are those of the fields
    )
