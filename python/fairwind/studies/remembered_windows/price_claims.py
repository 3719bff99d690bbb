"""Verdicts on what the source does not show: the price of a remembered window, and when it pays."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results
from fairwind.studies.remembered_windows.price import (
    WORSE_AXES,
    against,
    map_of_speed_ups,
    second_transfers,
)
from fairwind.studies.remembered_windows.transfers import (
    AFTER,
    INITIAL,
    LIMIT,
    MEMORY,
    RTT,
    VOLUME,
)
from fairwind.studies.remembered_windows.verdicts import (
    CAREFUL,
    CLASSIC,
    SAFE,
    Question,
    judged,
    numbers,
    undecided,
)

SAME = "20 Mbit/s"
UNCHANGED = "the same"
SMALL_QUEUE = "20 % bdp"

PAYS_RATIO = 1.05
"""Remembering pays from this speed-up on, and costs below its inverse."""

PRICE = ("speed_up", "more_lost", "thin_harm")
"""What is told of a cell."""


def price_claims(
    worse: Results | None, greedy: Results | None, map_: Results | None
) -> list[Claim]:
    """Judge the price; these are claims of ours, not of the source."""
    priced = None if worse is None else against(second_transfers(worse, WORSE_AXES), WORSE_AXES)
    beside = None if greedy is None else against(
        second_transfers(greedy, WORSE_AXES, "greedy"), WORSE_AXES
    )  # fmt: skip
    return [
        harms_where_worse(priced),
        fills_the_queue_at_first(priced),
        overflows_small_queues(priced),
        careful_is_no_worse(priced),
        harms_greedy_flows(beside),
        pays_where_long(None if map_ is None else map_of_speed_ups(map_)),
    ]


LOSES_WHERE_WORSE = Question(
    statement="Where the path has worsened since, the report's window, which cannot fall, loses "
    "packets and delays others.",
    rule="Second transfers of 3 MB after the rate fell to 5 or 2 Mbit/s, against an initial window "
    "of ten, seed by seed. Holds where more packets are lost, with the whole 95 % interval, and "
    "the thin streams' 99th percentile is greater likewise. Borne out: in all cells; in part: in "
    "some; otherwise not.",
    by=(AFTER, LIMIT),
    measures=("speed_up", "more_lost", "thin_harm"),
    otherwise="; elsewhere not both are sure",
)


def harms_where_worse(priced: pl.DataFrame | None) -> Claim:
    """Judge what the report's cache does where the path has worsened since."""
    if priced is None:
        return LOSES_WHERE_WORSE.undecided()
    cells = priced.filter((pl.col(MEMORY) == CLASSIC) & (pl.col(AFTER) != SAME))
    holds = (cells["more_lost_low"] > 0) & (cells["thin_harm_low"] > 0)
    return LOSES_WHERE_WORSE.answered(cells, holds, cells)


FILLS_THE_QUEUE = Question(
    statement="While the burst of the report's window passes, everybody waits longer in the "
    "bottleneck's queue.",
    rule="The mean wait in the second after the call, by windows of 100 ms, against that with an "
    "initial window of ten, seed by seed. Holds where it is longer with its whole 95 % interval. "
    "Borne out: in all cells; in part: in some; otherwise not.",
    by=(AFTER, LIMIT),
    measures=("longer_wait_s", "thin_more_lost"),
    otherwise="; elsewhere it is not sure",
)


def fills_the_queue_at_first(priced: pl.DataFrame | None) -> Claim:
    """Judge what the report's cache does to others while its burst passes."""
    if priced is None:
        return FILLS_THE_QUEUE.undecided()
    cells = priced.filter(pl.col(MEMORY) == CLASSIC)
    return FILLS_THE_QUEUE.answered(cells, cells["longer_wait_s_low"] > 0, cells)


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
        return undecided(statement, rule)
    unchanged = priced.filter((pl.col(MEMORY) == CLASSIC) & (pl.col(AFTER) == SAME))
    cells = unchanged.filter(pl.col(LIMIT) == SMALL_QUEUE)
    return Claim(
        statement=statement,
        rule=rule,
        verdict=judged(cells["more_lost_low"] > 0),
        evidence=f"{numbers(unchanged, [LIMIT], PRICE)}.",
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
        return undecided(statement, rule)
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
        verdict=judged(pl.Series(found)),
        evidence=f"{numbers(cells, [MEMORY, AFTER, LIMIT], PRICE)}.",
        details=cells,
        in_short=f"So of {_those(names, found, holds=True)}; not of "
        f"{_those(names, found, holds=False)}.",
    )


def _those(names: list[str], found: list[bool], *, holds: bool) -> str:
    return ", ".join(name for name, one in zip(names, found, strict=True) if one is holds)


TAKES_FROM_GREEDY = Question(
    statement="A greedy flow that has come since loses goodput to a remembered window, most in the "
    "first second.",
    rule="Second transfers of 3 MB beside a greedy flow, by the report's cache, against an initial "
    "window of ten, seed by seed; harm is what the flow loses of its goodput. Holds where it is "
    "above 0 with its whole 95 % interval in the second after the call, and in the mean less from "
    "before the call to the end of the run. Borne out: in all cells; in part: in some; otherwise "
    "not.",
    by=(AFTER, LIMIT),
    measures=("speed_up", "greedy_first_harm", "greedy_harm", "greedy_more_lost"),
    otherwise="; elsewhere it is not sure",
)


def harms_greedy_flows(priced: pl.DataFrame | None) -> Claim:
    """Judge what a remembered window takes from a greedy flow that has come since."""
    if priced is None:
        return TAKES_FROM_GREEDY.undecided()
    cells = priced.filter(pl.col(MEMORY) == CLASSIC)
    holds = (cells["greedy_first_harm_low"] > 0) & (
        cells["greedy_harm"] < cells["greedy_first_harm"]
    )
    return TAKES_FROM_GREEDY.answered(cells, holds, priced.filter(pl.col(MEMORY) != INITIAL))


def pays_where_long(found: pl.DataFrame | None) -> Claim:
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
    if found is None:
        return undecided(statement, rule)
    classic = found.filter(pl.col(MEMORY) == CLASSIC)
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
        verdict=judged(pl.Series([pays, costs])),
        evidence=f"By the report's cache {told}.",
        details=found,
        in_short=f"{told[0].upper()}{told[1:]}.",
    )
