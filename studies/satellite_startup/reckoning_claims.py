"""Claims on the setting for which transfers were reckoned packet by packet."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results
from fairwind.studies.groups import interval_per_panel

from .in_words import not_run, verdict_of_cells
from .reconstruction import reconstruction
from .transfers import (
    DEMANDED_USE,
    MULTIPLIER,
    ONE_WAY_S,
    SEGMENTS,
    TIME,
    USE,
    transfers,
)

WITHIN_RATIO = 0.05
WITHIN_RATIO_PLAIN = 0.10
"""At k = 1, where a frame more is a larger part of a doubling."""

WITHIN_USE = 0.05
"""Of the slots that were assigned."""


def reckoning_claims(reckoning: Results | None) -> list[Claim]:
    """Judge times and use of slots against what was reckoned."""
    done = None if reckoning is None else transfers(reckoning)
    return [agrees(done), use_agrees(done)]


def beside_reconstruction(done: pl.DataFrame) -> pl.DataFrame:
    """Give means beside what was reckoned: ``mean``, ``low``, ``high``, ``off_ratio``, ...

    The reckoning ends with the last acknowledgment, so half a round trip is added to our times,
    which end when the last segment is there.
    """
    keys = (SEGMENTS, MULTIPLIER)
    until_acknowledged = done.with_columns(pl.col(TIME) + ONE_WAY_S)
    means = interval_per_panel(until_acknowledged, TIME, keys)
    used, of_all = (
        interval_per_panel(done, measure, keys).select(*keys, pl.col("mean").alias(name))
        for measure, name in ((DEMANDED_USE, "mean_use"), (USE, "mean_use_of_all"))
    )
    reckoned = pl.col("reckoned_s")
    bound = (
        pl.when(pl.col(MULTIPLIER) == 1).then(WITHIN_RATIO_PLAIN).otherwise(WITHIN_RATIO)
    )  # fmt: skip
    return (
        means.join(used, on=keys, maintain_order="left")
        .join(of_all, on=keys, maintain_order="left")
        .join(reconstruction(), on=keys, maintain_order="left")
        .with_columns(
            (pl.col("mean") / reckoned - 1).alias("off_ratio"),
            (pl.col("low") / reckoned - 1).alias("off_low_ratio"),
            (pl.col("high") / reckoned - 1).alias("off_high_ratio"),
            bound.alias("bound_ratio"),
            (pl.col("mean_use") - pl.col("reckoned_use")).alias("off_use"),
            (pl.col("mean_use_of_all") - pl.col("reckoned_use")).alias("off_use_of_all"),
        )
    )


def agrees(done: pl.DataFrame | None) -> Claim:
    """Judge: transfer times are those that were reckoned for the source's platform."""
    statement = (
        "Transfers over the platform take as long as a reckoning packet by packet says, whose "
        "results are those of the source's figures in kind."
    )
    rule = (
        "Mean over the phases of the start, from the establishment to the last acknowledgment "
        "(half a round trip after the last segment is there), against the reckoned time of every "
        f"volume and k. Borne out: within {WITHIN_RATIO:.0%} ({WITHIN_RATIO_PLAIN:.0%} at k = 1) "
        "everywhere; in part: for some; otherwise not. Its cap was a little "
        "lower than the platform's: it has 100 segments a second at most, the study 104.05 (28 "
        "slots, 1480 bytes)."
    )
    if done is None:
        return not_run(statement, rule)
    details = beside_reconstruction(done)
    fits = details["off_ratio"].abs() <= details["bound_ratio"]
    worst = details.sort(pl.col("off_ratio").abs(), descending=True).row(0, named=True)
    plain = details.filter(pl.col(MULTIPLIER) == 1)["off_ratio"].abs().max()
    beyond = ", ".join(
        f"{row[SEGMENTS]:g} segments at k = {row[MULTIPLIER]:g} {row['off_ratio']:+.1%} "
        f"[{row['off_low_ratio']:+.1%}, {row['off_high_ratio']:+.1%}]"
        for row in details.filter(~fits).iter_rows(named=True)
    )
    return Claim(
        statement=statement,
        rule=rule,
        verdict=verdict_of_cells(fits, ~fits),
        evidence=(
            f"{fits.sum()} of {details.height} within; k = 1 within {_per_cent(plain)}; the "
            f"most, at N = {worst[SEGMENTS]:g} and k = {worst[MULTIPLIER]:g}: "
            f"{worst['mean']:.2f} s against {worst['reckoned_s']:.2f} s. "
            f"Beyond: {beyond or 'none'}."
        ),
        details=details,
        in_short=f"{fits.sum()} of {details.height} means are within; not {beyond}.",
    )


def use_agrees(done: pl.DataFrame | None) -> Claim:
    """Judge: slots are used as much as was reckoned."""
    statement = (
        "Transfers over the platform use as much of the slots that they are assigned as a "
        "reckoning packet by packet says."
    )
    rule = (
        "Slots used over assigned, from the establishment until the last segment left, mean over "
        "the phases of the start; guaranteed slots that stay idle, for which nobody asked, do not "
        f"count as assigned. Borne out: within {WITHIN_USE:g} for every volume and k; in "
        "part: for some; otherwise not. Of eight ways to count that were tried this is the one "
        "that comes nearest. Told as well: if they counted."
    )
    if done is None:
        return not_run(statement, rule)
    details = beside_reconstruction(done)
    fits = details["off_use"].abs() <= WITHIN_USE
    by_size = details.group_by(SEGMENTS, maintain_order=True).agg(
        pl.col("off_use").min().alias("least"), pl.col("off_use").max().alias("most")
    )
    told = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['least']:+.2f} to {row['most']:+.2f}"
        for row in by_size.sort(SEGMENTS).iter_rows(named=True)
    )
    fits_of_all = details["off_use_of_all"].abs() <= WITHIN_USE
    least, most = (f"{end:+.2f}" for end in _extremes(details["off_use_of_all"]))
    return Claim(
        statement=statement,
        rule=rule,
        verdict=verdict_of_cells(fits, ~fits),
        evidence=(
            f"{fits.sum()} of {details.height} within; off by {told}. With every idle guaranteed "
            f"slot: {fits_of_all.sum()} within, {least} to {most}."
        ),
        details=details,
        in_short=f"{fits.sum()} of {details.height} means are within; off by {told}.",
    )


def _extremes(values: pl.Series) -> tuple[float, float]:
    numbers = values.to_numpy()
    return float(numbers.min()), float(numbers.max())


def _per_cent(value: object) -> str:
    return f"{value:.1%}" if isinstance(value, float) else "nothing"
