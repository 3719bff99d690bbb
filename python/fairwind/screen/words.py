"""Findings of a screening in words: numbers with units, thresholds, lines."""

from __future__ import annotations

import math

from fairwind.answers.junit import JUnitCase
from fairwind.quantities import significant
from fairwind.screen.suite import Scale, Unit
from fairwind.screen.verdicts import Finding, Verdict

OF_SCALE = {
    Scale.VALUE: "",
    Scale.CHANGE: " of change",
    Scale.DIFFERENCE: " of difference",
    Scale.HARM: " of harm beyond the standard's",
}
"""What a number is, behind it."""


def number_in_words(value: float, unit: str) -> str:
    """Write a number with its unit; a dash where it is unknown."""
    if not math.isfinite(value):
        return "-"
    match unit:
        case Unit.RATIO:
            return f"{significant(100 * value, 3)} %"
        case Unit.SECONDS:
            return f"{significant(value, 3)} s"
        case _:
            return significant(value, 3)


def interval_in_words(finding: Finding) -> str:
    """Write the interval of a finding, in its unit; empty where there is none."""
    ends = (finding.low, finding.high)
    if not all(math.isfinite(end) for end in ends):
        return ""
    size = 100 if finding.unit == Unit.RATIO else 1
    low, high = (significant(size * end, 3) for end in ends)
    return f"[{low}, {high}]"


def limit_in_words(finding: Finding) -> str:
    """Write the threshold: ``at most 15 % of harm beyond the standard's``."""
    side = "at least" if finding.is_least else "at most"
    return f"{side} {number_in_words(finding.limit, finding.unit)}{OF_SCALE[Scale(finding.scale)]}"


def name_in_words(finding: Finding) -> str:
    """Write which check it is: ``harm-deep: harm to goodput (reno)``."""
    against = f" ({finding.standard})" if finding.standard else ""
    return f"{finding.scenario}: {finding.check}{against}"


def estimate_in_words(finding: Finding) -> str:
    """Write number and interval of a finding."""
    number = number_in_words(finding.estimate, finding.unit)
    return f"{number} {interval_in_words(finding)}".rstrip()


def evidence_of(finding: Finding) -> str:
    """Write number, interval and threshold of a finding."""
    words = f"{estimate_in_words(finding)}, {limit_in_words(finding)}"
    return f"{words}; {finding.note}" if finding.note else words


def line_of(finding: Finding) -> str:
    """Write a finding in a line."""
    return f"{finding.verdict}: {name_in_words(finding)}: {evidence_of(finding)}"


def junit_case(finding: Finding, *, fails: bool) -> JUnitCase:
    """Give a finding as a test case.

    Parameters
    ----------
    fails : bool
        Whether it counts as a failure; what the baseline has, too, does not.
    """
    return JUnitCase(
        group=f"{finding.engine}.{finding.area}",
        name=name_in_words(finding),
        element="failure" if fails else None if finding.verdict is Verdict.PASS else "skipped",
        outcome=str(finding.verdict),
        evidence=evidence_of(finding),
        text=f"{line_of(finding)}\nsource: {finding.source}",
    )
