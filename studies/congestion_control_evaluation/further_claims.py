"""Whether verdicts stand with more flows, with flows that stop, and beside other traffic."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from fairwind.results import Claim, Results

from .baseline import FAIRNESS, Fault, Worse, against_standard
from .fault_claims import fault_claim
from .further import further_part

MANY_FAIRNESS = replace(
    FAIRNESS,
    name="Fairness among 2 to 16 flows",
    statement="{} shares unfairly, however many flows there are.",
    measured="Smallest goodput by largest of 2, 4, 8 and 16 flows",
)
"""The smallest share by the largest is less by more than 0.1."""

CROSS_FAIRNESS = replace(
    FAIRNESS,
    name="Fairness beside cross traffic",
    statement="{} shares unfairly beside streams that come and go, too.",
    measured="Smaller goodput by larger of two flows, beside ten streams of standard TCP",
)
"""The same of two flows, where losses befall them at different times."""

REVERSE_FAIRNESS = replace(
    FAIRNESS,
    name="Fairness beside traffic the other way",
    statement="{} shares unfairly beside traffic the other way, too.",
    measured="Smaller goodput by larger of two flows, while two others fill the way back",
)
"""The same of two flows, where acknowledgments wait, come in bursts and are lost."""

TAKING = Fault(
    "Time to use what a flow leaves",
    "{} needs longer than standard TCP to use what a flow leaves that stops.",
    "Time from when the second flow stops until a window of a second gives the first one 80 % of "
    "what the path carries, at most as long as it was watched",
    "taken_capped_s",
    Worse.MORE,
    1.0,
    " s",
)
"""The flow that stays needs longer, by more than a window."""

PARTS = {
    MANY_FAIRNESS: "many",
    CROSS_FAIRNESS: "cross",
    REVERSE_FAIRNESS: "reverse",
    TAKING: "leaving",
}
"""The part of the study that each fault is judged in."""

JUDGED = {
    MANY_FAIRNESS: ("scalable", "fast"),
    CROSS_FAIRNESS: ("scalable", "fast"),
    REVERSE_FAIRNESS: ("scalable", "fast"),
    TAKING: ("scalable", "highspeed", "bic", "fast", "htcp", "cubic"),
}
"""Whom the source accuses where two flows are alone, and, for what it does not judge, all."""


def further_claims(results: Results) -> list[Claim]:
    """Judge what goes beyond the source; nothing where none of these parts was run."""
    compared = further_comparisons(results)
    return [
        fault_claim(control, fault, compared[fault])
        for fault, judged in JUDGED.items()
        if fault in compared
        for control in judged
    ]


def further_comparisons(results: Results) -> dict[Fault, pl.DataFrame]:
    """Compare all congestion controls with standard TCP, by fault, as far as parts were run."""
    frames = {fault: further_part(results, name) for fault, name in PARTS.items()}
    return {
        fault: against_standard(frame, fault)
        for fault, frame in frames.items()
        if frame is not None
    }
