"""Claims on policies of requests, alone and beside others; beyond the source but for the first."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results
from fairwind.studies.groups import interval_per_panel
from fairwind.studies.panels import signed

from .in_words import changes, in_order, mean_in_words, not_run
from .transfers import (
    POLICY,
    SEGMENTS,
    TIME,
    USE,
    compared,
    transfers,
)

PLAIN, RAISED, AT_START, OURS = "rbdc", "rbdc, k = 4.8", "k = 4.8 at the start", "forecast"

MARGIN_RATIO = 0.05
"""A difference in time below this counts as none."""


def policy_claims(policies: Results | None, terminals: Results | None) -> list[Claim]:
    """Judge what policies do."""
    alone = None if policies is None else transfers(policies)
    shared = None if terminals is None else transfers(terminals)
    return [_start_is_enough(alone), _ours_is_no_slower(alone), _ours_when_shared(shared)]


def _start_is_enough(alone: pl.DataFrame | None) -> Claim:
    statement = "It is enough to ask for more while the connection starts."
    rule = (
        f"Transfer times, {AT_START} against always, paired by seed. Borne out: no mean is longer "
        f"by more than {MARGIN_RATIO:.0%}; in part: so for some volumes; otherwise not."
    )
    if alone is None:
        return not_run(statement, rule)
    details = compared(alone, TIME, POLICY, (RAISED, AT_START), [SEGMENTS])
    fits = details["relative_ratio"] <= MARGIN_RATIO
    return Claim(
        statement=statement,
        rule=rule,
        verdict=in_order(whole=bool(fits.all()), part=bool(fits.any())),
        evidence=f"{changes(details, SEGMENTS)}.",
        details=details,
        in_short=(
            f"For {_sizes(details, fits)} segments; longer transfers are slowed once it is over."
        ),
    )


def _ours_is_no_slower(alone: pl.DataFrame | None) -> Claim:
    statement = (
        "Beyond the source: asking for what is foreseen is no slower than k = 4.8, and uses its "
        "slots as well."
    )
    rule = (
        "Transfer time and use of slots, forecast against k = 4.8, paired by seed. Borne out: for "
        f"every volume the whole 95 % interval of the time is below +{MARGIN_RATIO:.0%}, and that "
        "of the use above -0.05; in part: so for some volumes; otherwise not."
    )
    if alone is None:
        return not_run(statement, rule)
    time = compared(alone, TIME, POLICY, (RAISED, OURS), [SEGMENTS])
    used = compared(alone, USE, POLICY, (RAISED, OURS), [SEGMENTS])
    fits = (time["relative_high_ratio"] < MARGIN_RATIO) & (used["low"] > -MARGIN_RATIO)
    shares = ", ".join(
        f"{row[SEGMENTS]:g} segments {row['mean_second']:.2f} against {row['mean_first']:.2f}"
        for row in used.iter_rows(named=True)
    )
    plain = compared(alone, TIME, POLICY, (PLAIN, OURS), [SEGMENTS])
    return Claim(
        statement=statement,
        rule=rule,
        verdict=in_order(whole=bool(fits.all()), part=bool(fits.any())),
        evidence=(
            f"Time against k = 4.8: {changes(time, SEGMENTS)}. Slots used: {shares}. Time against "
            f"k = 1: {changes(plain, SEGMENTS)}."
        ),
        details=pl.concat(
            [
                time.with_columns(pl.lit(TIME).alias("measure")),
                used.with_columns(pl.lit(USE).alias("measure")),
            ]
        ),
        in_short=f"For {_sizes(time, fits)} segments; else slower or surer to waste.",
    )


def _ours_when_shared(shared: pl.DataFrame | None) -> Claim:
    statement = (
        "Beyond the source: where four terminals share a carrier, asking for what is foreseen is "
        "no slower than k = 4.8, and the last one is done earlier."
    )
    rule = (
        "Mean transfer time of four terminals, and the longest of the four, forecast against "
        "k = 4.8, paired by seed. Borne out: the whole 95 % interval of the mean is below "
        f"+{MARGIN_RATIO:.0%}, and that of the longest below 0; in part: one of both; otherwise "
        "not."
    )
    if shared is None:
        return not_run(statement, rule)
    runs = shared.group_by(POLICY, "seed", maintain_order=True).agg(
        pl.lit("all").alias("group"), pl.col(TIME).mean(), pl.col(TIME).max().alias("longest_s")
    )
    rows = [
        compared(runs.with_columns(pl.lit(measure).alias("measure")), measure, POLICY,
                 (RAISED, OURS), ["measure"]).row(0, named=True)
        for measure in (TIME, "longest_s")
    ]  # fmt: skip
    mean, longest = rows
    fits = pl.Series([mean["relative_high_ratio"] < MARGIN_RATIO, longest["high"] < 0])
    every = "; ".join(
        f"{row[POLICY]} {mean_in_words(row, '.1f', ' s')}"
        for row in interval_per_panel(runs, TIME, (POLICY,)).iter_rows(named=True)
    )
    told = f"mean {signed(mean)}, longest {signed(longest)}"
    return Claim(
        statement=statement,
        rule=rule,
        verdict=in_order(whole=bool(fits.all()), part=bool(fits.any())),
        evidence=f"{told[0].upper()}{told[1:]}. Mean times: {every}.",
        details=pl.DataFrame(rows),
        in_short=f"{told[0].upper()}{told[1:]}.",
    )


def _sizes(details: pl.DataFrame, fits: pl.Series) -> str:
    return ", ".join(f"{size:g}" for size in details.filter(fits)[SEGMENTS])
