"""Verdicts on the source's claims about congestion controls."""

from __future__ import annotations

import math

import polars as pl

from fairwind.results import REASONS, Claim, Results, Verdict, limited_senders
from fairwind.results.limits import HELD_RATIO
from fairwind.statistics import mean_interval, rtt_unfairness_bound
from fairwind.studies.panels import interval_in_words

from .baseline import (
    BEYOND_BOUND,
    CONVERGENCE,
    EVENNESS,
    FAIRNESS,
    JOINED_FAIRNESS,
    RTT_UNFAIRNESS,
    Fault,
    against_bound,
    against_standard,
    verdict_of_innocence,
)
from .fault_claims import IN_FULL, NOT_RUN, fault_claim, fault_in_words, rows_of, where_worse
from .further import READERS
from .further_claims import further_claims
from .measures import (
    CONTROL,
    FIXED_RTT_MS,
    RTT,
    STANDARD,
    joining,
    part_of,
    recoveries,
    shares,
)

PARTS = (
    "friendliness",
    "rtt-unfairness",
    "convergence",
    "alone",
    "traces",
    "recovery",
    "early-drop",
    "stacks",
    *READERS,
)

MOST_LIMITED_RATIO = 0.5
"""Where more of the flows than this are limited by something else, the study measures that."""


def exercised(results: Results) -> Claim:
    """Judge that nothing but congestion control limited the flows, in all parts that were run."""
    runs = {"symmetric": results} | {
        name: part for name in PARTS if (part := results.part(name)) is not None
    }
    text = {name: run for name, run in runs.items() if run.senders is not None}
    flows = sum(run.senders.height for run in text.values() if run.senders is not None)
    limited = _limited(text)
    affected = limited.unique(["part", "cell", "seed", "group"]).height if limited.height else 0
    return Claim(
        statement="The congestion controls were exercised: nothing else limited the flows.",
        rule=(
            f"A flow was limited by something else if for more than {HELD_RATIO:.0%} of its time "
            "the receiver's window or the send buffer held data back or the application had none, "
            "or if it never lost anything and never left slow start. Holds: no flow; fails: more "
            f"than {MOST_LIMITED_RATIO:.0%} of them; for some: otherwise; undecided where "
            "no run reports it."
        ),
        verdict=_verdict(affected, flows),
        evidence=_evidence(limited, affected, flows),
        details=limited,
        in_short=f"{flows - affected} of {flows} flows were limited by it alone, the others not.",
    )


def _limited(runs: dict[str, Results]) -> pl.DataFrame:
    frames = [
        limited_senders(run).with_columns(pl.lit(name).alias("part")) for name, run in runs.items()
    ]
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def _verdict(affected: int, flows: int) -> Verdict:
    if not flows:
        return Verdict.UNDECIDED
    if not affected:
        return Verdict.HOLDS
    many = affected > MOST_LIMITED_RATIO * flows
    return Verdict.FAILS if many else Verdict.HOLDS_FOR_SOME


def _evidence(limited: pl.DataFrame, affected: int, flows: int) -> str:
    if not flows:
        return "The runs do not report what limited their flows."
    head = f"{affected} of {flows} flows were limited by something else"
    if not affected:
        return f"{head}."
    counts = limited.group_by("part", "control", "reason", maintain_order=True).len("flows")
    each = "; ".join(
        f"{row['part']}, {row['control']}: of {row['flows']} "
        f"{REASONS[row['reason']].format(share=HELD_RATIO)}"
        for row in counts.iter_rows(named=True)
    )
    return f"{head}: {each}."


ACCUSED = {
    FAIRNESS: ("scalable", "fast"),
    JOINED_FAIRNESS: ("scalable", "fast"),
    RTT_UNFAIRNESS: ("scalable", "highspeed", "bic", "fast"),
    BEYOND_BOUND: ("scalable", "highspeed", "bic", "fast"),
    CONVERGENCE: ("scalable", "highspeed", "bic"),
    EVENNESS: ("scalable", "highspeed", "bic"),
}
"""Congestion controls with a fault, according to the source."""

ACQUITTED = "htcp"
"""Congestion control without any of these faults, according to the source."""

RECOVERY_ROUND_TRIPS = 11_000
"""Of standard TCP, as the source says."""

RECOVERY_MARGIN_RATIO = 0.1

EARLY_DROP_RTT_S = 0.1
EARLY_DROP_BANDWIDTH = "500 Mbit/s"
LONG_ROUND_TRIPS, SHORT_ROUND_TRIPS = 1000, 100


def claims(results: Results) -> list[Claim]:
    """Judge the source's claims on fairness, round trips, convergence and recovery."""
    compared = comparisons(results)
    judged = [
        fault_claim(control, fault, compared.get(fault))
        for fault, accused in ACCUSED.items()
        for control in accused
    ]
    return [
        *judged,
        _has_none(compared),
        _recovers_slowly(part_of(results, "recovery", recoveries)),
        _suffers_from_an_early_drop(part_of(results, "early-drop", _early_drop)),
        *further_claims(results),
        exercised(results),
    ]


def comparisons(results: Results) -> dict[Fault, pl.DataFrame]:
    """Compare all congestion controls with standard TCP, by fault, as far as parts were run."""
    alike = shares(results)
    apart = part_of(results, "rtt-unfairness", shares)
    decades = None if apart is None else with_decades(apart)
    joined = part_of(results, "convergence", joining)
    frames = {
        FAIRNESS: alike,
        JOINED_FAIRNESS: joined,
        RTT_UNFAIRNESS: decades,
        CONVERGENCE: joined,
        EVENNESS: joined,
    }
    compared = {
        fault: against_standard(frame, fault)
        for fault, frame in frames.items()
        if frame is not None
    }
    if decades is not None:
        compared[BEYOND_BOUND] = against_bound(decades, BEYOND_BOUND, "bound_decades")
    return compared


def with_decades(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the advantage of the shorter round trip and its bound, both in powers of ten."""
    apart = frame.filter(pl.col(RTT) != FIXED_RTT_MS)
    bounds = [abs(math.log10(rtt_unfairness_bound(rtt, FIXED_RTT_MS))) for rtt in apart[RTT]]
    return apart.with_columns(
        pl.col("advantage").log10().alias("advantage_decades"),
        pl.Series("bound_decades", bounds, pl.Float64),
    )


def _has_none(compared: dict[Fault, pl.DataFrame]) -> Claim:
    frames = {fault: rows_of(frame, ACQUITTED) for fault, frame in compared.items()}
    there = {fault: own for fault, own in frames.items() if own.height}
    text = " ".join(fault_in_words(own, fault) for fault, own in there.items())
    return Claim(
        statement=f"{IN_FULL[ACQUITTED]} has none of these faults.",
        rule=(
            "The rules above. Holds: none of the faults, not even for some; for some: some "
            "for some; fails: one of them."
        ),
        verdict=(
            verdict_of_innocence(list(there.values()))
            if len(there) == len(ACCUSED)
            else Verdict.UNDECIDED
        ),
        evidence=text or NOT_RUN,
        details=(
            pl.concat(list(there.values()), how="diagonal_relaxed") if there else pl.DataFrame()
        ),
        in_short=where_worse(there),
    )


def _recovers_slowly(found: pl.DataFrame | None) -> Claim:
    known = pl.DataFrame() if found is None else found
    own = rows_of(known, STANDARD).drop_nulls("round_trips") if known.height else known
    if own.height == 0:
        verdict, evidence = Verdict.UNDECIDED, NOT_RUN
    else:
        row = own.row(0, named=True)
        off = abs(row["round_trips"] / RECOVERY_ROUND_TRIPS - 1)
        verdict = Verdict.HOLDS if off <= RECOVERY_MARGIN_RATIO else Verdict.FAILS
        others = ", ".join(
            f"{IN_FULL.get(other[CONTROL], other[CONTROL])} {other['round_trips']:.0f}"
            for other in known.drop_nulls("round_trips").iter_rows(named=True)
            if other[CONTROL] != STANDARD
        )
        evidence = (
            f"{row['round_trips']:.0f} round trips, {row['recovery_s'] / 60:.1f} min, from a loss "
            f"at {row['before_packets']:.0f} packets. Median of the others' recoveries, in round "
            f"trips: {others or 'not run'}."
        )
    return Claim(
        statement=(
            "On a path of 1 Gbit/s and 200 ms with a queue of 1000 packets standard TCP needs "
            f"{RECOVERY_ROUND_TRIPS} round trips, 36 minutes, to recover from a loss."
        ),
        rule=(
            f"From a loss in congestion avoidance to 99 % of the window before it. Holds: "
            f"within {RECOVERY_MARGIN_RATIO:.0%} of that; otherwise it fails."
        ),
        verdict=verdict,
        evidence=evidence,
        details=known,
    )


def _early_drop(results: Results) -> pl.DataFrame:
    return joining(results, EARLY_DROP_BANDWIDTH)


def _suffers_from_an_early_drop(found: pl.DataFrame | None) -> Claim:
    known = pl.DataFrame() if found is None else found
    own = rows_of(known, "highspeed")
    verdict, evidence = Verdict.UNDECIDED, NOT_RUN
    if own.height:
        trips = mean_interval(own["convergence_capped_s"].to_numpy() / EARLY_DROP_RTT_S)
        verdict = _long(trips.low, trips.high)
        evidence = "Time to 80 % of the fair share: " + "; ".join(
            _seconds_in_words(control, rows)
            for (control,), rows in known.group_by([CONTROL], maintain_order=True)
        )
        evidence += "."
    return Claim(
        statement=(
            "HighSpeed at 500 Mbit/s, 100 ms and a queue of 500 packets: a second flow that loses "
            "a packet early is long without its share."
        ),
        rule=(
            "The second flow's hundredth packet is lost before the bottleneck, no other there. "
            "Time until the second flow has 80 % of its fair share, mean over seeds. Holds: "
            f"the 95 % interval lies above {LONG_ROUND_TRIPS} round trips; fails: below "
            f"{SHORT_ROUND_TRIPS}; for some: between them; otherwise undecided."
        ),
        verdict=verdict,
        evidence=evidence,
        details=known,
        in_short=(
            f"It takes longer than {SHORT_ROUND_TRIPS} round trips, but not more than "
            f"{LONG_ROUND_TRIPS}."
        ),
    )


def _long(low: float, high: float) -> Verdict:
    if low > LONG_ROUND_TRIPS:
        return Verdict.HOLDS
    if high < SHORT_ROUND_TRIPS:
        return Verdict.FAILS
    between = low > SHORT_ROUND_TRIPS and high < LONG_ROUND_TRIPS
    return Verdict.HOLDS_FOR_SOME if between else Verdict.UNDECIDED


def _seconds_in_words(control: str, rows: pl.DataFrame) -> str:
    name = IN_FULL.get(control, control)
    never = rows.filter(pl.col("convergence_s").is_infinite()).height
    if never == rows.height:
        return f"{name} not within {float(rows.select('observed_s').mean().item()):.0f} s"
    mean = mean_interval(rows["convergence_capped_s"].to_numpy())
    cut = f" (in {never} of {rows.height} runs not at all)" if never else ""
    bounds = interval_in_words(mean.low, mean.high, ".0f")
    return f"{name} {mean.estimate:.0f} s{bounds}{cut}"
