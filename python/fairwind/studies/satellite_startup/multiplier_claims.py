"""Claims on how the multiplier k changes transfers."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.groups import interval_per_panel
from fairwind.studies.satellite_startup.in_words import changes, in_order, verdict_of_cells
from fairwind.studies.satellite_startup.reconstruction import reconstruction
from fairwind.studies.satellite_startup.transfers import (
    FRAME,
    MULTIPLIER,
    SEGMENTS,
    TIME,
    USE,
    compared,
    transfers,
)

SOURCE_MULTIPLIER = 4.8
GREATEST = 8.0

WITHIN_RATIO = 0.05
WITHIN_RATIO_PLAIN = 0.10
"""At k = 1, where a frame more is a larger part of a doubling."""

SATURATED_RATIO = 0.02
"""What a larger multiplier may still gain where times are said not to improve any more."""


def multiplier_claims(table: Results) -> list[Claim]:
    """Judge times and use of slots against k."""
    done = transfers(table)
    return [
        agrees(done),
        time_falls(done),
        time_saturates(done),
        larger_volumes_gain_more(done),
        use_falls(done),
        small_volumes_lose_most(done),
    ]


def beside_reconstruction(done: pl.DataFrame) -> pl.DataFrame:
    """Give means beside what was reckoned: ``mean``, ``low``, ``high``, ``off_ratio``, ..."""
    keys = (SEGMENTS, MULTIPLIER)
    means = interval_per_panel(done, TIME, keys)
    used = interval_per_panel(done, USE, keys).select(*keys, pl.col("mean").alias("mean_use"))
    reckoned = pl.col("reckoned_s")
    bound = (
        pl.when(pl.col(MULTIPLIER) == 1).then(WITHIN_RATIO_PLAIN).otherwise(WITHIN_RATIO)
    )  # fmt: skip
    return (
        means.join(used, on=keys, maintain_order="left")
        .join(reconstruction(), on=keys, maintain_order="left")
        .with_columns(
            (pl.col("mean") / reckoned - 1).alias("off_ratio"),
            (pl.col("low") / reckoned - 1).alias("off_low_ratio"),
            (pl.col("high") / reckoned - 1).alias("off_high_ratio"),
            bound.alias("bound_ratio"),
        )
    )


def agrees(done: pl.DataFrame) -> Claim:
    """Judge: transfer times are those that were reckoned for the source's platform."""
    details = beside_reconstruction(done)
    bound = pl.col("bound_ratio")
    within = details.filter(pl.col("off_ratio").abs() <= bound)
    worst = details.sort(pl.col("off_ratio").abs(), descending=True).row(0, named=True)
    plain = details.filter(pl.col(MULTIPLIER) == 1)["off_ratio"].abs().max()
    fits = details["off_ratio"].abs() <= details["bound_ratio"]
    less = (details["mean_use"] - details["reckoned_use"]).to_numpy()
    in_phase = _in_the_reckoning_s_phase(done)
    return Claim(
        statement=(
            "Transfers over the platform take as long as a reckoning slot by slot says, whose "
            "results are those of the source's figures in kind."
        ),
        rule=(
            "Mean over the phases of the start against the reckoned time of every volume and k. "
            f"Borne out: within {WITHIN_RATIO:.0%} ({WITHIN_RATIO_PLAIN:.0%} at k = 1) everywhere; "
            "in part: for some; otherwise not."
        ),
        verdict=verdict_of_cells(fits, ~fits),
        evidence=(
            f"{within.height} of {details.height} within; k = 1 within {_per_cent(plain)}; the "
            f"most, at N = {worst[SEGMENTS]:g} and k = {worst[MULTIPLIER]:g}: "
            f"{worst['mean']:.2f} s against {worst['reckoned_s']:.2f} s, {worst['off_ratio']:+.1%} "
            f"[{worst['off_low_ratio']:+.1%}, {worst['off_high_ratio']:+.1%}]. "
            f"The use of slots differs by {less.min():+.2f} to {less.max():+.2f}.{in_phase}"
        ),
        details=details,
        in_short=(
            f"{within.height} of {details.height} means are within, the worst is "
            f"{worst['off_ratio']:+.1%} off."
        ),
    )


def _in_the_reckoning_s_phase(done: pl.DataFrame) -> str:
    """Tell of starts whose connection comes to be in the first frame of a request period."""
    first = done.filter(pl.col(FRAME) == 0) if FRAME in done.columns else done.clear()
    if first.is_empty():
        return ""
    details = beside_reconstruction(first)
    within = details.filter(pl.col("off_ratio").abs() <= pl.col("bound_ratio"))
    worst = details.sort(pl.col("off_ratio").abs(), descending=True).row(0, named=True)
    return (
        " Of connections that come to be in the first frame of a request period "
        f"{within.height} of {details.height}; the most {worst['off_ratio']:+.1%}, at "
        f"N = {worst[SEGMENTS]:g} and k = {worst[MULTIPLIER]:g}."
    )


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


def time_saturates(done: pl.DataFrame) -> Claim:
    """Judge: above the source's multiplier nothing is gained."""
    details = compared(done, TIME, MULTIPLIER, (SOURCE_MULTIPLIER, GREATEST), [SEGMENTS])
    before = compared(done, TIME, MULTIPLIER, (1.0, SOURCE_MULTIPLIER), [SEGMENTS])
    share = details["difference"].to_numpy() / before["difference"].to_numpy()
    less = -details["relative_low_ratio"]
    return Claim(
        statement=f"Above k = {SOURCE_MULTIPLIER:g} transfers do not get quicker.",
        rule=(
            f"Transfer time at k = {GREATEST:g} against {SOURCE_MULTIPLIER:g}, paired by seed. "
            f"Borne out: the whole 95 % interval excludes a gain beyond {SATURATED_RATIO:.0%} for "
            "every volume; in part: it does not, but the gain is below a quarter of what was "
            "gained up to there; otherwise not."
        ),
        verdict=in_order(
            whole=bool((less < SATURATED_RATIO).all()), part=bool((share < 0.25).all())
        ),
        evidence=(
            f"{changes(details, SEGMENTS)}; of what was gained up to k = {SOURCE_MULTIPLIER:g}, "
            f"{share.min():.0%} to {share.max():.0%}."
        ),
        details=details,
        in_short=(
            f"Gains shrink to {share.min():.0%} to {share.max():.0%} of what was gained before, "
            "but do not end."
        ),
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


def _per_cent(value: object) -> str:
    return f"{value:.1%}" if isinstance(value, float) else "nothing"
