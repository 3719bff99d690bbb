"""Claims on how the multiplier k changes transfers."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.groups import interval_per_panel

from .in_words import (
    changes,
    in_order,
    not_run,
    verdict_of_cells,
)
from .transfers import (
    MULTIPLIER,
    SEGMENTS,
    TIME,
    USE,
    compared,
    transfers,
)

SOURCE_MULTIPLIER = 4.8
GREATEST = 8.0

SATURATED_RATIO = 0.02
"""What a larger multiplier may still gain where times are said not to improve any more."""


def multiplier_claims(
    table: Results, reckoning: Results | None, offset: Results | None
) -> list[Claim]:
    """Judge times and use of slots against k."""
    done = transfers(table)
    elsewhere = None if reckoning is None else transfers(reckoning)
    return [
        time_falls(done),
        time_saturates(done, elsewhere),
        time_saturates_without_waiting_for_frames(offset),
        larger_volumes_gain_more(done),
        use_falls(done),
        small_volumes_lose_most(done),
    ]


def time_falls(done: pl.DataFrame) -> Claim:
    """Judge: up to the source's multiplier, more is quicker."""
    details = compared(done, TIME, MULTIPLIER, (1.0, SOURCE_MULTIPLIER), [SEGMENTS])
    return Claim(
        statement=f"Up to k = {SOURCE_MULTIPLIER:g}, asking for more makes transfers quicker.",
        rule=(
            f"Transfer time at k = {SOURCE_MULTIPLIER:g} against k = 1, paired by seed. Borne out: "
            "shorter for every volume with the whole 95 % interval; in part: for some."
        ),
        verdict=verdict_of_cells(details["high"] < 0, details["low"] > 0),
        evidence=f"{changes(details, SEGMENTS)}.",
        details=details,
        in_short=f"{changes(details, SEGMENTS)}.",
    )


def time_saturates(done: pl.DataFrame, elsewhere: pl.DataFrame | None = None) -> Claim:
    """Judge: above the source's multiplier nothing is gained; tell it of the other setting, too."""
    statement = f"Above k = {SOURCE_MULTIPLIER:g} transfers do not get quicker."
    return _saturates(statement, done, _gained_elsewhere(elsewhere))


def time_saturates_without_waiting_for_frames(offset: Results | None) -> Claim:
    """Judge the same where frames begin when plans come."""
    statement = (
        f"Above k = {SOURCE_MULTIPLIER:g} transfers do not get quicker where frames begin when "
        "plans come."
    )
    return _saturates(statement, None if offset is None else transfers(offset))


def _saturates(statement: str, done: pl.DataFrame | None, more: str = "") -> Claim:
    rule = (
        f"Transfer time at k = {GREATEST:g} against {SOURCE_MULTIPLIER:g}, paired by seed. "
        f"Borne out: the whole 95 % interval excludes a gain beyond {SATURATED_RATIO:.0%} for "
        "every volume; in part: it does not, but the gain is below a quarter of what was "
        "gained up to there; otherwise not."
    )
    if done is None:
        return not_run(statement, rule)
    details = compared(done, TIME, MULTIPLIER, (SOURCE_MULTIPLIER, GREATEST), [SEGMENTS])
    before = compared(done, TIME, MULTIPLIER, (1.0, SOURCE_MULTIPLIER), [SEGMENTS])
    share = details["difference"].to_numpy() / before["difference"].to_numpy()
    less = -details["relative_low_ratio"]
    return Claim(
        statement=statement,
        rule=rule,
        verdict=in_order(
            whole=bool((less < SATURATED_RATIO).all()), part=bool((share < 0.25).all())
        ),
        evidence=(
            f"{changes(details, SEGMENTS)}; of what was gained up to k = {SOURCE_MULTIPLIER:g}, "
            f"{share.min():.0%} to {share.max():.0%}.{more}"
        ),
        details=details,
        in_short=(
            f"Gains shrink to {share.min():.0%} to {share.max():.0%} of what was gained before, "
            "but do not end."
        ),
    )


def _gained_elsewhere(done: pl.DataFrame | None) -> str:
    """Tell of the reckoning's setting, which differs in what the source does not say."""
    if done is None:
        return ""
    more = compared(done, TIME, MULTIPLIER, (SOURCE_MULTIPLIER, GREATEST), [SEGMENTS])
    before = compared(done, TIME, MULTIPLIER, (1.0, SOURCE_MULTIPLIER), [SEGMENTS])
    share = more["difference"].to_numpy() / before["difference"].to_numpy()
    return (
        " With the reckoning's periods, and slots without frames to wait for: "
        f"{changes(more, SEGMENTS)}; {share.min():.0%} to {share.max():.0%}."
    )


def larger_volumes_gain_more(done: pl.DataFrame) -> Claim:
    """Judge: the seconds that are gained grow with the volume."""
    details = compared(done, TIME, MULTIPLIER, (1.0, SOURCE_MULTIPLIER), [SEGMENTS]).sort(SEGMENTS)
    gains = -details["difference"]
    sure = -details["high"][-1] > -details["low"][0]
    told = ", ".join(
        f"{size:g} segments {gain:.2f} s"
        for size, gain in zip(details[SEGMENTS], gains, strict=True)
    )
    return Claim(
        statement="The larger the volume, the more seconds a multiplier saves.",
        rule=(
            f"Seconds gained from k = 1 to {SOURCE_MULTIPLIER:g}. Borne out: they rise from volume "
            "to volume, and the intervals of the smallest and the largest do not meet; in part: "
            "only the latter."
        ),
        verdict=(
            in_order(whole=bool(gains.is_sorted() and sure), part=bool(sure))
            if details.height > 1
            else Verdict.UNDECIDED
        ),
        evidence=f"{told}.",
        details=details,
        in_short=f"Not from volume to volume: {told}.",
    )


def use_falls(done: pl.DataFrame) -> Claim:
    """Judge: the use of slots falls with k."""
    details = compared(done, USE, MULTIPLIER, (1.0, GREATEST), [SEGMENTS])
    told = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['mean_first']:.2f} to {row['mean_second']:.2f}"
        for row in details.iter_rows(named=True)
    )
    return Claim(
        statement="The larger k, the fewer of the assigned slots are used.",
        rule=(
            "Slots used over assigned, from the establishment until the last segment left, at "
            f"k = {GREATEST:g} against k = 1, paired by seed. Borne out: less for every volume "
            "with the whole 95 % interval; in part: for some."
        ),
        verdict=verdict_of_cells(details["high"] < 0, details["low"] > 0),
        evidence=f"{told}.",
        details=details,
        in_short=f"{told}.",
    )


def small_volumes_lose_most(done: pl.DataFrame) -> Claim:
    """Judge: small volumes waste the most."""
    chosen = done.filter(pl.col(MULTIPLIER) == SOURCE_MULTIPLIER)
    details = interval_per_panel(chosen, USE, (SEGMENTS,)).sort(SEGMENTS)
    told = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['mean']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        for row in details.iter_rows(named=True)
        if row["low"] is not None
    )
    apart = details["high"][0] is not None and details["high"][0] < details["low"][-1]
    rises = details["mean"].is_sorted()
    return Claim(
        statement="Small volumes waste the largest share of their slots.",
        rule=(
            f"Slots used over assigned at k = {SOURCE_MULTIPLIER:g}. Borne out: the share rises "
            "from volume to volume, and the intervals of the smallest and the largest do not meet; "
            "in part: only the latter."
        ),
        verdict=(
            Verdict.BORNE_OUT
            if rises and apart
            else Verdict.BORNE_OUT_IN_PART
            if apart
            else Verdict.UNDECIDED
        ),
        evidence=f"{told}.",
        details=details,
        in_short=f"Not from volume to volume: {told}.",
    )
