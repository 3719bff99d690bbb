"""Claims of the model: windows, volumes, times and equivalent round trips against simulation."""

from __future__ import annotations

import numpy as np
import polars as pl

from fairwind.models.dama import (
    DemandAssignedLink,
    Law,
    completion_time_s,
    equivalent_rtt,
    saturation_time_s,
)
from fairwind.results import Claim, Results, Verdict
from fairwind.studies.groups import interval_per_panel

from .growth import (
    WATCHED_S,
    carried,
    carried_by,
    equivalent_rtts,
    times_of_volumes,
    windows,
)
from .in_words import in_order, mean_in_words, not_run
from .transfers import (
    MULTIPLIER,
    ONE_WAY_S,
    POLICY,
    SEGMENTS,
    TIME,
    transfers,
)

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
    """Judge what the source's model says of a start-up."""
    return [
        first_seconds(startup),
        window_as_modelled(startup),
        completion_as_modelled(table),
        equivalent_rtt_as_modelled(periods),
        as_without_wait(periods),
        three_curves(startup, stacks),
    ]


def first_seconds(startup: Results | None) -> Claim:
    """Judge: the first 20 s carry about 1.5 MB."""
    statement = "The first 20 s carry about 1.5 MB."
    rule = (
        "What ideal TCP has carried 20 s after the establishment at k = 1. Borne out: 1.5 MB lies "
        f"between the means of initial windows of 1 and 3 or within {VOLUME_RATIO:.0%} of one; "
        "otherwise not."
    )
    if startup is None:
        return not_run(statement, rule)
    axes = ("initial", POLICY)
    details = interval_per_panel(
        carried_by(carried(startup, axes), axes, WATCHED_S), "carried_megabytes", axes
    )
    plain = details.filter(pl.col(POLICY) == "rbdc")["mean"].to_numpy()
    low, high = plain.min() * (1 - VOLUME_RATIO), plain.max() * (1 + VOLUME_RATIO)
    told = "; ".join(
        f"{row[POLICY]}, initial window {row['initial']}: {mean_in_words(row, unit=' MB')}"
        for row in details.iter_rows(named=True)
    )
    return Claim(
        statement=statement,
        rule=rule,
        verdict=(
            Verdict.BORNE_OUT if low <= SOURCE_VOLUME_MEGABYTES <= high else Verdict.NOT_BORNE_OUT
        ),
        evidence=f"{told}.",
        details=details,
    )


def window_as_modelled(startup: Results | None) -> Claim:
    """Judge: the window grows as the equation says."""
    statement = "The congestion window grows as the delay equation says (k = 1)."
    rule = (
        "Time until the window fills the link (1.2 Mbit/s times the round trip), initial windows "
        "of 1 and 3, against the source's formula, whose window grows with acknowledgments as a "
        "sender's does, and whose time begins as ours when the first one leaves. Borne out: "
        f"within {MODEL_RATIO:.0%}; in part: "
        f"within {LOOSE_RATIO:.0%}; otherwise not."
    )
    if startup is None:
        return not_run(statement, rule)
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
    told = "; ".join(
        f"initial window {row['initial']}: {mean_in_words(row, '.1f', ' s')}, the source's formula "
        f"{row['model_s']:.1f} s ({row['off_ratio']:+.0%}), exactly {row['exact_s']:.1f} s"
        for row in details.iter_rows(named=True)
    )
    return Claim(
        statement=statement,
        rule=rule,
        verdict=_verdict(details["off_ratio"]),
        evidence=f"Simulated: {told}.",
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
    told = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['model_s']:.1f} s against {row['mean']:.1f} s "
        f"({row['off_ratio']:+.0%})"
        for row in details.iter_rows(named=True)
    )
    return Claim(
        statement="Transfers at k = 1 take as long as the source's D(N) says.",
        rule=(
            "D(N), with half a round trip added until the last segment is there, against the "
            f"simulated mean. Borne out: within {MODEL_RATIO:.0%} for every volume; in part: "
            f"within {LOOSE_RATIO:.0%}; otherwise not."
        ),
        verdict=_verdict(details["off_ratio"]),
        evidence=f"{told}.",
        details=details,
        in_short=f"Of the right size and shape only: {_range(details)} off.",
    )


def equivalent_rtt_as_modelled(periods: Results | None) -> Claim:
    """Judge: the equivalent round trip grows with rho as the source says."""
    statement = "Waiting for capacity is like a longer round trip, which grows with rho (k = 1)."
    rule = (
        "Time per doubling of the volume carried over a carrier that is never full, by the round "
        "trip, against the source's formula. Borne out: it rises with rho for the periods at full "
        f"distance and is within {MODEL_RATIO:.0%} of the formula; in part: it rises; otherwise "
        "not."
    )
    if periods is None:
        return not_run(statement, rule)
    details = _equivalent(periods, multiplier=1.0)
    far = details.filter(pl.col("delay").str.starts_with("far")).sort("delay_ratio")
    rises = far["mean"].is_sorted()
    fits = bool((details["off_ratio"].abs() <= MODEL_RATIO).all())
    told = "; ".join(
        f"rho {row['delay_ratio']:.2f}: {mean_in_words(row)}, formula {row['model_ratio']:.2f}"
        for row in details.sort("delay_ratio").iter_rows(named=True)
    )
    return Claim(
        statement=statement,
        rule=rule,
        verdict=in_order(whole=rises and fits, part=rises),
        evidence=f"{told}.",
        details=details,
        in_short=f"It rises, but the formula is {_range(details)} off.",
    )


def as_without_wait(periods: Results | None) -> Claim:
    """Judge: with the source's multiplier a start-up grows as over constant capacity."""
    statement = "With k = 4.8 a start-up grows as fast as if capacity were there at once."
    rule = (
        "Equivalent round trip by the real one at the platform's periods. Borne out: the 95 % "
        "interval reaches 1.05 or less; in part: below the equivalent round trip at k = 1 by more "
        "than half; otherwise not."
    )
    if periods is None:
        return not_run(statement, rule)
    plain, raised = (
        _equivalent(periods, k).filter(pl.col("delay") == "far, 4 and 1").row(0, named=True)
        for k in (1.0, 4.8)
    )
    low = raised["low"] if raised["low"] is not None else raised["mean"]
    nearer = raised["mean"] - 1 < (plain["mean"] - 1) / 2
    told = f"{mean_in_words(raised)} instead of {mean_in_words(plain)} at k = 1"
    return Claim(
        statement=statement,
        rule=rule,
        verdict=in_order(whole=low <= 1.05, part=nearer),
        evidence=f"{told}.",
        details=pl.DataFrame([plain, raised]),
        in_short=f"Nearly: {told}.",
    )


def three_curves(startup: Results | None, stacks: Results | None) -> Claim:
    """Judge: actual transfers are slower than the best over demand assignment."""
    statement = (
        "Transfers of real stacks take longer than the best over demand assignment, and those "
        "longer than over constant allocation."
    )
    rule = (
        "Time until 20 to 500 segments are read: Linux 2.6 with SACK (300 packets of buffer), "
        "ideal TCP at k = 1, and ideal TCP with all slots; initial window 3. Borne out: in this "
        "order for every volume, intervals apart; in part: the means in this order; otherwise not."
    )
    if startup is None or stacks is None:
        return not_run(statement, rule)
    details = curves_by_volume(startup, stacks)
    kept = details.pivot("curve", index="volume_segments", values=["mean", "low", "high"])
    actual, best, constant = ("actual", "maximum over demand assignment", "constant allocation")
    ordered = (kept[f"mean_{actual}"] > kept[f"mean_{best}"]) & (
        kept[f"mean_{best}"] > kept[f"mean_{constant}"]
    )
    apart = (kept[f"low_{actual}"] > kept[f"high_{best}"]) & (
        kept[f"low_{best}"] > kept[f"high_{constant}"]
    )
    told = ", ".join(
        f"{row['volume_segments']:g} segments {row[f'mean_{actual}']:.1f}, "
        f"{row[f'mean_{best}']:.1f} and {row[f'mean_{constant}']:.1f} s"
        for row in kept.iter_rows(named=True)
    )
    return Claim(
        statement=statement,
        rule=rule,
        verdict=in_order(whole=bool(apart.fill_null(value=False).all()), part=bool(ordered.all())),
        evidence=f"{told}.",
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
        "k = 4.8": three.filter(pl.col(POLICY) == "rbdc, k = 4.8"),
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
    return in_order(whole=next(within), part=next(within))
