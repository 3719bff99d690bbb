"""Verdicts on many connections that begin at once, of one host and of many."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from fairwind.results import Claim, Results, Verdict

from .price import against, at_once
from .transfers import COUNT, INITIAL, MEMORY
from .verdicts import (
    CAREFUL,
    CLASSIC,
    SAFE,
    SHARED,
    Question,
    numbers,
    undecided,
)

WHOSE = "whose"
ONE_HOST, MANY_HOSTS = "one host's", "twenty hosts'"

CROWDED = ("speed_up", "more_lost", "thin_harm", "longer_wait_s")
"""What is told of a crowd."""

IN_WORDS = {ONE_HOST: "one host", MANY_HOSTS: "as many hosts"}

RULE = (
    "Of 20 connections at once {whence}, by the report's cache, against initial windows of ten. "
    "Borne out: more packets are lost and thin streams' 99th percentile is greater, each with its "
    "whole 95 % interval, and the slowest transfer's speed-up is not above 1 with its whole "
    "interval; in part: more are lost; otherwise not."
)


def crowd_claims(crowd: Results | None, hosts: Results | None) -> list[Claim]:
    """Judge many at once: behind one address, with addresses of their own, and with care."""
    crowded = None if crowd is None else against(at_once(crowd), [COUNT])
    own = None if hosts is None else against(at_once(hosts, ()), ())
    return [
        crowds_lose(crowded, ONE_HOST),
        crowds_lose(own, MANY_HOSTS),
        careful_crowds_lose_less(largest_crowds(crowd, hosts, CLASSIC)),
    ]


def largest_crowds(
    crowd: Results | None, hosts: Results | None, reference: str = INITIAL
) -> pl.DataFrame | None:
    """Compare memories in the largest crowd of one host, and in that of many; None without both."""
    if crowd is None or hosts is None:
        return None
    of_one = at_once(crowd)
    most = of_one.filter(pl.col(COUNT) == pl.col(COUNT).max()).drop(COUNT)
    both = {ONE_HOST: most, MANY_HOSTS: at_once(hosts, ())}
    return against(_told_apart(both), [WHOSE], reference)


def _told_apart(crowds: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(
        [done.with_columns(pl.lit(whose).alias(WHOSE)) for whose, done in crowds.items()]
    )


def crowds_lose(crowded: pl.DataFrame | None, whose: str) -> Claim:
    """Judge many connections that begin at once from windows that one alone had."""
    statement = (
        f"Where many connections of {IN_WORDS[whose]} begin at once from the window that one alone "
        "had, they lose packets and delay others, and the last of them ends no sooner."
    )
    rule = RULE.format(whence={ONE_HOST: "behind one address", MANY_HOSTS: "of 20 hosts"}[whose])
    if crowded is None:
        return undecided(statement, rule)
    by = [COUNT] if COUNT in crowded.columns else []
    cells = crowded.filter(pl.col(MEMORY) != INITIAL)
    classic = cells.filter(pl.col(MEMORY) == CLASSIC)
    most = classic.filter(pl.col(COUNT) == pl.col(COUNT).max()) if by else classic
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
        evidence=f"{numbers(cells, [*by, MEMORY], CROWDED)}.",
        details=cells,
        in_short=f"More are lost; {others}, and {last}.",
    )


SPARE_CROWDS = Question(
    statement="Of many at once, from the report's cache in its safe mode, by RFC 9040's sharing "
    "and by Careful Resume fewer packets are lost than from the report's, whether they are one "
    "host's or as many hosts'.",
    rule="Of 20 connections at once, against the report's cache, seed by seed. Holds where fewer "
    "packets are lost, with the whole 95 % interval. Borne out: of all memories in both crowds; "
    "in part: of some; otherwise not.",
    by=(MEMORY, WHOSE),
    measures=CROWDED,
    otherwise=", but not of the others",
)


def careful_crowds_lose_less(compared: pl.DataFrame | None) -> Claim:
    """Judge whether safe mode, sharing and Careful Resume spare crowds the price."""
    if compared is None:
        return SPARE_CROWDS.undecided()
    cells = compared.filter(pl.col(MEMORY).is_in([SAFE, SHARED, CAREFUL]))
    return SPARE_CROWDS.answered(cells, cells["more_lost_high"] < 0, cells)
