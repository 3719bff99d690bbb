"""Harm limits: conditions of `fairwind compare --fail-if`, against the reference setting."""

from __future__ import annotations

from collections.abc import Sequence

from fairwind.answers.conditions import Condition, parse_condition
from fairwind.errors import FairwindError
from fairwind.quantities import percent

Limit = Condition
"""What must not happen to a measure of a group, relative to the reference."""


def read_limit(text: str) -> Limit:
    """Read a limit such as ``greedy.goodput < -5%``.

    Raises
    ------
    FairwindError
        If it is none.
    """
    return parse_condition(text)


def contradictions(limits: Sequence[Limit]) -> list[FairwindError]:
    """Find limits that no setting can keep together, such as below -5 % and above 0 %."""
    found = []
    for upper in (one for one in limits if one.is_above):
        for lower in (one for one in limits if not one.is_above):
            is_same = (upper.name, upper.measure) == (lower.name, lower.measure)
            if is_same and upper.limit < lower.limit:
                found.append(
                    FairwindError(
                        f"constraints {upper.text!r} and {lower.text!r} contradict each other: "
                        f"nothing is at most {percent(upper.limit)} % and at least "
                        f"{percent(lower.limit)} %",
                        "relax one of them",
                    )
                )
    return found


def excess(limit: Limit, relative: float) -> float:
    """Give how far a relative difference is beyond a limit, as a ratio; negative within it."""
    return relative - limit.limit if limit.is_above else limit.limit - relative
