"""Verdicts on what the source does not show: the price of a remembered window, and when it pays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from fairwind.results import Claim, Results, Verdict

from .price import (
    WORSE_AXES,
    against,
    map_of_speed_ups,
    second_transfers,
)
from .transfers import (
    AFTER,
    LIMIT,
    MEMORY,
    RTT,
    VOLUME,
)
from .verdicts import (
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
SLOWED = ("a quarter", "a tenth")
SMALL_QUEUE = "20 % bdp"

MUCH_RATIO = 0.05
"""So much longer is told apart from what is sure, but next to nothing."""

BY_CHANCE_RATIO = 0.05
"""In so many cells a 95 % interval may leave out 1 by chance alone."""

PRICE = ("speed_up", "more_lost", "thin_harm")
"""What is told of a cell."""


def price_claims(worse: Results | None) -> list[Claim]:
    """Judge the price for thin streams; these are claims of ours, not of the source."""
    done = None if worse is None else second_transfers(worse, WORSE_AXES)
    priced = None if done is None else against(done, WORSE_AXES)
    return [
        harms_where_worse(priced),
        fills_the_queue_at_first(priced),
        overflows_small_queues(priced),
        careful_is_no_worse(
            priced, None if done is None else against(done, WORSE_AXES, reference=CLASSIC)
        ),
    ]


def map_claims(map_: Results | None) -> list[Claim]:
    """Judge when remembering pays, and when it costs."""
    mapped = None if map_ is None else map_of_speed_ups(map_)
    return [pays_where_long(mapped), costs_where_slowed(mapped)]


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
    statement="While the burst of the report's window passes, packets wait longer in the "
    "bottleneck's queue.",
    rule="The mean wait of all packets, of which the burst's own are many, in the second after the "
    "call, by windows of 100 ms, against that with an initial window of ten, seed by seed. Holds "
    "where it is longer with its whole 95 % interval. Borne out: in all cells; in part: in some; "
    "otherwise not.",
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


def careful_is_no_worse(priced: pl.DataFrame | None, by_classic: pl.DataFrame | None) -> Claim:
    """Judge whether Careful Resume and the safe mode avoid the price and keep the gain.

    `priced` is against an initial window of ten, `by_classic` against the report's cache.
    """
    statement = (
        "Careful Resume, and the report's cache in its safe mode, lose less than the report's "
        "where the path has worsened, and still gain where it is the same."
    )
    rule = (
        "By memory, seed by seed, each with the whole 95 % interval. Holds where fewer packets are "
        "lost than from the report's in every cell with a lower rate, and the speed-up over the "
        "unchanged path with a queue of a bandwidth-delay product is above 1 against an initial "
        "window of ten, and with a queue of a fifth of that at least 1 against the report's. Borne "
        "out: of both; in part: of one; otherwise not."
    )
    if priced is None or by_classic is None:
        return undecided(statement, rule)
    names, found = [SAFE, CAREFUL], []
    cells = priced.filter(pl.col(MEMORY).is_in(names))
    beside = by_classic.filter(pl.col(MEMORY).is_in(names))
    for name in names:
        own, other = (part.filter(pl.col(MEMORY) == name) for part in (cells, beside))
        changed = other.filter(pl.col(AFTER) != SAME)
        loses_less = bool((changed["more_lost_high"] < 0).all())
        same = own.filter((pl.col(AFTER) == SAME) & (pl.col(LIMIT) != SMALL_QUEUE))
        small = other.filter((pl.col(AFTER) == SAME) & (pl.col(LIMIT) == SMALL_QUEUE))
        gains = bool((same["speed_up_low"] > 1).all())
        is_no_slower = bool((small["speed_up_low"] >= 1).all())
        found.append(loses_less and gains and is_no_slower)
    by = [MEMORY, AFTER, LIMIT]
    return Claim(
        statement=statement,
        rule=rule,
        verdict=judged(pl.Series(found)),
        evidence=f"{numbers(cells, by, PRICE)}. Against the report's: "
        f"{numbers(beside, by, ('speed_up', 'more_lost'))}.",
        details=beside,
        in_short=f"So of {_those(names, found, holds=True)}; not of "
        f"{_those(names, found, holds=False)}.",
    )


def _those(names: list[str], found: list[bool], *, holds: bool) -> str:
    return ", ".join(name for name, one in zip(names, found, strict=True) if one is holds)


def pays_where_long(found: pl.DataFrame | None) -> Claim:
    """Judge the map: where remembering pays."""
    statement = (
        "Remembering pays most where the round trip is long and the volume neither small nor large."
    )
    rule = (
        "Speed-up over an unchanged path against an initial window of ten, by the report's cache, "
        "means over the seeds. Borne out: the greatest is at the longest round trip and at neither "
        "the least nor the greatest volume; in part: one of both; otherwise not."
    )
    if found is None:
        return undecided(statement, rule)
    same = found.filter((pl.col(MEMORY) == CLASSIC) & (pl.col(AFTER) == UNCHANGED))
    best = same.sort("speed_up").row(-1, named=True)
    volumes = same[VOLUME].to_numpy()
    is_inside = bool(volumes.min() < best[VOLUME] < volumes.max())
    is_longest = bool(best[RTT] == same[RTT].to_numpy().max())
    return Claim(
        statement=statement,
        rule=rule,
        verdict=judged(pl.Series([is_longest, is_inside])),
        evidence=f"The best is {_on_the_map(best)}.",
        details=found,
        in_short=f"The best is {_on_the_map(best)}.",
    )


def costs_where_slowed(found: pl.DataFrame | None) -> Claim:
    """Judge the map: whether remembering costs where the rate has fallen."""
    statement = "Where the rate has fallen, a transfer takes longer from a remembered window."
    rule = (
        "Speed-up against an initial window of ten, by the report's cache, in the cells where the "
        "rate is a quarter or a tenth. Borne out: the whole 95 % interval is below 1 in more than "
        f"half of them; in part: in more than {BY_CHANCE_RATIO:.0%}; otherwise not."
    )
    if found is None:
        return undecided(statement, rule)
    cells = found.filter((pl.col(MEMORY) == CLASSIC) & pl.col(AFTER).is_in(SLOWED))
    if cells["speed_up_high"].is_nan().any():
        return replace(undecided(statement, rule), evidence="One seed a cell gives no intervals.")
    slower = cells.filter(pl.col("speed_up_high") < 1)
    faster = cells.filter(pl.col("speed_up_low") > 1)
    share = slower.height / cells.height
    some = Verdict.BORNE_OUT_IN_PART if share > BY_CHANCE_RATIO else Verdict.NOT_BORNE_OUT
    told = "; ".join(
        f"{row[AFTER]} of the rate {_on_the_map(row)}" for row in slower.iter_rows(named=True)
    )
    much = (slower["speed_up_high"] < 1 / (1 + MUCH_RATIO)).sum()
    counted = (
        f"Of {cells.height} cells {slower.height} are slower with the whole interval, {much} of "
        f"them by more than {MUCH_RATIO:.0%}, and {faster.height} are faster"
    )
    return Claim(
        statement=statement,
        rule=rule,
        verdict=Verdict.BORNE_OUT if share > 1 / 2 else some,
        evidence=f"{counted}; slower: {told or 'none'}.",
        details=cells,
        in_short=f"{counted}.",
    )


def _on_the_map(row: dict[str, Any]) -> str:
    speed_up = f"{row['speed_up']:.2f} [{row['speed_up_low']:.2f}, {row['speed_up_high']:.2f}]"
    return f"{speed_up}, at {row[RTT] * 1e3:g} ms and {row[VOLUME] / 1e3:g} kB"
