"""Verdicts on what the source does not show: the price of a remembered window, and when it pays."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.remembered_windows.price import (
    WORSE_AXES,
    against_initial,
    at_once,
    map_of_speed_ups,
    second_transfers,
)
from fairwind.studies.remembered_windows.transfers import (
    AFTER,
    COUNT,
    INITIAL,
    LIMIT,
    MEMORY,
    RTT,
    VOLUME,
)

CLASSIC, SAFE, CAREFUL = "classic", "classic, safe", "careful resume"
SAME = "20 Mbit/s"
UNCHANGED = "the same"
SMALL_QUEUE = "20 % bdp"

NOT_RUN = "This part of the study was not run."

PAYS_RATIO = 1.05
"""Remembering pays from this speed-up on, and costs below its inverse."""


def price_claims(
    worse: Results | None, crowd: Results | None, where: Results | None
) -> list[Claim]:
    """Judge the price; these are claims of ours, not of the source."""
    priced = None if worse is None else against_initial(
        second_transfers(worse, WORSE_AXES), WORSE_AXES
    )  # fmt: skip
    crowded = None if crowd is None else against_initial(at_once(crowd), [COUNT])
    return [
        harms_where_worse(priced),
        overflows_small_queues(priced),
        careful_is_no_worse(priced),
        crowds_lose(crowded),
        pays_where_long(None if where is None else map_of_speed_ups(where)),
    ]


def _undecided(statement: str, rule: str) -> Claim:
    return Claim(statement, rule, Verdict.UNDECIDED, NOT_RUN, pl.DataFrame())


def _numbers(details: pl.DataFrame, by: list[str]) -> str:
    return "; ".join(
        f"{', '.join(str(row[name]) for name in by)}: speed-up {row['speed_up']:.2f}"
        f"{_interval(row['speed_up_low'], row['speed_up_high'], '.2f')}, "
        f"{row['more_lost']:+.0f} packets lost"
        f"{_interval(row['more_lost_low'], row['more_lost_high'], '.0f')}, "
        f"harm to thin streams {_written(row['thin_harm'], '+.0%')}"
        f"{_interval(row['thin_harm_low'], row['thin_harm_high'], '.0%')}"
        for row in details.iter_rows(named=True)
    )


def _interval(low: float, high: float, form: str) -> str:
    return f" [{_written(low, form)}, {_written(high, form)}]"


def _written(value: float, form: str) -> str:
    """Write a number; what rounds to nothing has no sign."""
    written = f"{value:{form}}"
    return "0%" if written in {"-0%", "+0%"} else written


def _judged(holds: pl.Series) -> Verdict:
    if holds.all():
        return Verdict.BORNE_OUT
    return Verdict.BORNE_OUT_IN_PART if holds.any() else Verdict.NOT_BORNE_OUT


def _where(details: pl.DataFrame, holds: pl.Series, by: list[str]) -> str:
    chosen = details.filter(holds)
    return "; ".join(
        ", ".join(str(value) for value in row) for row in chosen.select(by).iter_rows()
    )


def harms_where_worse(priced: pl.DataFrame | None) -> Claim:
    """Judge what the report's cache does where the path has worsened since."""
    statement = (
        "Where the path has worsened since, the report's window, which cannot fall, loses packets "
        "and delays others."
    )
    rule = (
        "Second transfers of 3 MB after the rate fell to 5 or 2 Mbit/s, against an initial window "
        "of ten, seed by seed. Holds where more packets are lost, with the whole 95 % interval, "
        "and the thin streams' 99th percentile is greater likewise. Borne out: in all cells; in "
        "part: in some; otherwise not."
    )
    if priced is None:
        return _undecided(statement, rule)
    cells = priced.filter((pl.col(MEMORY) == CLASSIC) & (pl.col(AFTER) != SAME))
    holds = (cells["more_lost_low"] > 0) & (cells["thin_harm_low"] > 0)
    by = [AFTER, LIMIT]
    return Claim(
        statement=statement,
        rule=rule,
        verdict=_judged(holds),
        evidence=f"{_numbers(cells, by)}.",
        details=cells,
        in_short=f"So in the cells {_where(cells, holds, by)}; elsewhere not both are sure.",
    )


def overflows_small_queues(priced: pl.DataFrame | None) -> Claim:
    """Judge what the report's cache does to a queue that is smaller than the window."""
    statement = (
        "A remembered window that exceeds what the bottleneck's queue holds is lost in part, even "
        "over a path that is the same."
    )
    rule = (
        "As before, the rate unchanged, with a queue of a fifth of a bandwidth-delay product. "
        "Borne out: more packets are lost than from a window of ten, with the whole 95 % interval; "
        "otherwise not."
    )
    if priced is None:
        return _undecided(statement, rule)
    unchanged = priced.filter((pl.col(MEMORY) == CLASSIC) & (pl.col(AFTER) == SAME))
    cells = unchanged.filter(pl.col(LIMIT) == SMALL_QUEUE)
    return Claim(
        statement=statement,
        rule=rule,
        verdict=_judged(cells["more_lost_low"] > 0),
        evidence=f"{_numbers(unchanged, [LIMIT])}.",
        details=unchanged,
    )


def careful_is_no_worse(priced: pl.DataFrame | None) -> Claim:
    """Judge whether Careful Resume and the safe mode avoid the price and keep the gain."""
    statement = (
        "Careful Resume, and the report's cache in its safe mode, lose less than the report's "
        "where the path has worsened, and still gain where it is the same."
    )
    rule = (
        "By memory. Holds where the mean of lost packets is below the report's in every cell with "
        "a lower rate, and the speed-up over the unchanged path with a queue of a bandwidth-delay "
        "product is above 1 with its whole 95 % interval, and over the unchanged path with a queue "
        "of a fifth of that no lower than the report's. Borne out: of both; in part: of one."
    )
    if priced is None:
        return _undecided(statement, rule)
    classic = priced.filter(pl.col(MEMORY) == CLASSIC).select(
        *WORSE_AXES,
        pl.col("lost").alias("lost_by_classic"),
        pl.col("speed_up").alias("speed_up_by_classic"),
    )
    cells = priced.filter(pl.col(MEMORY).is_in([SAFE, CAREFUL])).join(
        classic, on=list(WORSE_AXES), maintain_order="left"
    )
    names, found = [SAFE, CAREFUL], []
    for name in names:
        own = cells.filter(pl.col(MEMORY) == name)
        changed = own.filter(pl.col(AFTER) != SAME)
        loses_less = bool((changed["lost"] < changed["lost_by_classic"]).all())
        same = own.filter((pl.col(AFTER) == SAME) & (pl.col(LIMIT) != SMALL_QUEUE))
        small = own.filter((pl.col(AFTER) == SAME) & (pl.col(LIMIT) == SMALL_QUEUE))
        gains = bool((same["speed_up_low"] > 1).all())
        is_no_slower = bool((small["speed_up"] >= small["speed_up_by_classic"]).all())
        found.append(loses_less and gains and is_no_slower)
    return Claim(
        statement=statement,
        rule=rule,
        verdict=_judged(pl.Series(found)),
        evidence=f"{_numbers(cells, [MEMORY, AFTER, LIMIT])}.",
        details=cells,
        in_short=f"So of {_those(names, found, holds=True)}; not of "
        f"{_those(names, found, holds=False)}.",
    )


def _those(names: list[str], found: list[bool], *, holds: bool) -> str:
    return ", ".join(name for name, one in zip(names, found, strict=True) if one is holds)


def crowds_lose(crowded: pl.DataFrame | None) -> Claim:
    """Judge many connections that begin at once from the window of one alone."""
    statement = (
        "Where many connections begin at once from the window that one alone had, they lose "
        "packets and delay others, and the last of them ends no sooner."
    )
    rule = (
        "Of 20 connections at once, each from what one has left, against initial windows of ten. "
        "Borne out: more packets are lost and thin streams' 99th percentile is greater, each with "
        "its whole 95 % interval, and the slowest transfer's speed-up is not above 1 with its "
        "whole interval; in part: more are lost; otherwise not."
    )
    if crowded is None:
        return _undecided(statement, rule)
    cells = crowded.filter(pl.col(MEMORY) != INITIAL).sort(COUNT)
    most = cells.filter(pl.col(COUNT) == pl.col(COUNT).max())
    loses = bool((most["more_lost_low"] > 0).all())
    harms = bool((most["thin_harm_low"] > 0).all())
    is_no_sooner = bool((most["speed_up_low"] <= 1).all())
    part = Verdict.BORNE_OUT_IN_PART if loses else Verdict.NOT_BORNE_OUT
    others = "others are delayed" if harms else "that others are delayed is not sure"
    last = "the last ends no sooner" if is_no_sooner else "the last ends sooner all the same"
    return Claim(
        statement=statement,
        rule=rule,
        verdict=Verdict.BORNE_OUT if loses and harms and is_no_sooner else part,
        evidence=f"{_numbers(cells, [COUNT])}.",
        details=cells,
        in_short=f"More are lost; {others}, and {last}.",
    )


def pays_where_long(where: pl.DataFrame | None) -> Claim:
    """Judge the map: where remembering pays."""
    statement = (
        "Remembering pays where the round trip is long and the volume neither small nor large, and "
        "costs where the path has worsened."
    )
    rule = (
        "Speed-up against an initial window of ten, by the report's cache. Borne out: the greatest "
        "speed-up over an unchanged path is at the longest round trip and at neither the least nor "
        f"the greatest volume, and somewhere below 1/{PAYS_RATIO:g} where the rate is a quarter or "
        "a tenth; in part: one of both; otherwise not."
    )
    if where is None:
        return _undecided(statement, rule)
    classic = where.filter(pl.col(MEMORY) == CLASSIC)
    same = classic.filter(pl.col(AFTER) == UNCHANGED).sort("speed_up")
    best = same.row(-1, named=True)
    inside = float(same[VOLUME].to_numpy().min()) < best[VOLUME]
    inside = inside and best[VOLUME] < float(same[VOLUME].to_numpy().max())
    pays = best[RTT] == float(same[RTT].to_numpy().max()) and inside
    slower = classic.filter(pl.col(AFTER).is_in(["a quarter", "a tenth"])).sort("speed_up")
    worst = slower.row(0, named=True)
    costs = worst["speed_up"] < 1 / PAYS_RATIO
    told = (
        f"the best over an unchanged path is {best['speed_up']:.2f}, at {best[RTT] * 1e3:g} ms and "
        f"{best[VOLUME] / 1e3:g} kB; the worst at {worst[AFTER]} of the rate "
        f"{worst['speed_up']:.2f}, at {worst[RTT] * 1e3:g} ms and {worst[VOLUME] / 1e3:g} kB"
    )
    return Claim(
        statement=statement,
        rule=rule,
        verdict=_judged(pl.Series([pays, costs])),
        evidence=f"By the report's cache {told}.",
        details=where,
        in_short=f"{told[0].upper()}{told[1:]}.",
    )
