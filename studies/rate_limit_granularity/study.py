"""Accuracy of token buckets on a coarse clock (Markussen 2014, figure 3.6).

This study compares the rate that tbf and htb attain with the closed form
min(1, burst * 8 * HZ / rate), for several rates, bursts and clock granularities.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import altair as alt
import numpy as np
import polars as pl

from fairwind.plots import Figure, group_colours, inline, themed
from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds
from fairwind.results import Claim, Results, Verdict
from fairwind.studies import Study
from fairwind.studies.panels import listed, sentence

TBF = "tbf"
HTB = "htb"


class Bucket(NamedTuple):
    """A rate limit.

    Attributes
    ----------
    limiter : str
        `TBF`, which lets a packet go when it has tokens for all of it, or `HTB`, which lets one go
        while it is not in debt.
    rate : float
        Nominal, bit/s.
    burst : int
        What it holds, bytes.
    tick_s : float
        Time between two looks at the clock, seconds; 0 for an exact clock.
    """

    limiter: str
    rate: float
    burst: int
    tick_s: float


def expected_ratio(rate: float, burst: int, tick_s: float) -> float:
    """Give the closed form: a full bucket in every tick, or the rate if that is less."""
    return 1.0 if tick_s == 0 else min(1.0, burst * 8 / (tick_s * rate))


def whole_packets_ratio(
    rate: int, burst: int, packet: int, tick_ns: int, ticks: int, limiter: str = TBF
) -> float:
    """Give the rate of a bucket that is filled in ticks and passes whole packets only.

    Tokens that find the bucket full are lost. What tbf has left after whole packets takes room from
    the next tick's tokens: between two packets' worth the closed form is too much. htb sends one
    packet on credit in every tick and pays with the tokens of the next: the closed form is too
    little.

    Parameters
    ----------
    burst, packet : int
        Sizes of the bucket and of every packet, bytes.
    tick_ns : int
        Time between two looks at the clock, nanoseconds, above 0.
    ticks : int
        How many ticks are counted.
    """
    capacity, cost = burst * 8 * 10**9, packet * 8 * 10**9
    tokens, passed = capacity, 0
    for tick in range(-ticks, ticks):  # the first half empties the bucket
        tokens = min(capacity, tokens + rate * tick_ns)
        packets = tokens // cost if limiter == TBF else max(0, tokens // cost + 1)
        tokens -= packets * cost
        passed += packets if tick >= 0 else 0
    return passed * cost / (ticks * rate * tick_ns)


def bucket_of(queue: dict[str, Any]) -> Bucket:
    """Give the rate limit that a resolved queue is."""
    limiter = queue["discipline"]
    own = queue["classes"][0] if limiter == HTB else queue
    tick_s = parse_seconds(queue.get("granularity", "0 ns"))
    return Bucket(limiter, parse_bits_per_second(own["rate"]), int(own["burst_bytes"]), tick_s)


def accuracies(results: Results) -> pl.DataFrame:
    """Give attained and expected rate of every cell, over the nominal one.

    Returns
    -------
    DataFrame
        ``clock``, ``bucket``, ``limiter``, ``burst_bytes``, ``tick_s``,
        ``nominal_mbit_per_second``, ``attained_ratio``, ``expected_ratio`` (the closed form),
        ``whole_packets_ratio``.
    """
    attained = dict(
        results.groups.group_by("cell").agg(pl.col("throughput_bits_per_second").mean()).iter_rows()
    )
    return pl.DataFrame(
        [
            _accuracy(cell.settings, cell.experiment, attained[cell.index])
            for cell in results.manifest.plan.cells
            if cell.index in attained
        ],
        infer_schema_length=None,
    )


def _accuracy(
    settings: dict[str, Any], experiment: dict[str, Any], attained_bits_per_second: float
) -> dict[str, Any]:
    bucket = bucket_of(experiment["network"]["links"][0]["queue"])
    packet = int(parse_bytes(experiment["flows"][0]["workload"]["size"]["packet"]))
    return {
        "clock": settings["clock"],
        "bucket": settings["bucket"],
        "limiter": bucket.limiter,
        "burst_bytes": bucket.burst,
        "tick_s": bucket.tick_s,
        "nominal_mbit_per_second": bucket.rate / 1e6,
        "attained_ratio": attained_bits_per_second / bucket.rate,
        "expected_ratio": expected_ratio(bucket.rate, bucket.burst, bucket.tick_s),
        "whole_packets_ratio": _of_whole_packets(bucket, packet),
    }


def _of_whole_packets(bucket: Bucket, packet: int) -> float:
    if bucket.tick_s == 0:
        return 1.0
    tick_ns, ticks = round(bucket.tick_s * 1e9), round(60 / bucket.tick_s)
    return whole_packets_ratio(
        round(bucket.rate), bucket.burst, packet, tick_ns, ticks, bucket.limiter
    )


TOLERANCE_RATIO = 0.005
"""A packet more or less in the measured time, at the slowest rate."""

CLOSED_FORM = "min(1, burst * 8 * HZ / rate)"


def claims(results: Results) -> list[Claim]:
    """Judge an exact clock, coarse clocks, and both formulas."""
    table = accuracies(results)
    coarse = table.filter(pl.col("clock") != "exact")
    return [
        _agreement(
            "With an exact clock every rate is attained with every bucket.",
            table.filter(pl.col("clock") == "exact"),
            "expected_ratio",
        ),
        *(
            _agreement(
                f"With a clock of HZ ticks {limiter} attains {CLOSED_FORM}.",
                coarse.filter(pl.col("limiter") == limiter),
                "expected_ratio",
            )
            for limiter in (TBF, HTB)
        ),
        _at_least(
            f"With a clock of HZ ticks htb attains at least {CLOSED_FORM}.",
            coarse.filter(pl.col("limiter") == HTB),
        ),
        _agreement(
            "With a clock of HZ ticks a limit attains what a bucket that is filled in ticks lets "
            "through in whole packets, tbf of tokens that it has, htb on credit of one packet.",
            coarse,
            "whole_packets_ratio",
        ),
    ]


def _agreement(statement: str, table: pl.DataFrame, formula: str) -> Claim:
    is_near = pl.col("difference").abs() <= TOLERANCE_RATIO
    rule = f"Attained over nominal rate within {TOLERANCE_RATIO:.1%} of the formula."
    return _judged(statement, rule, table, formula, is_near)


def _at_least(statement: str, table: pl.DataFrame) -> Claim:
    is_enough = pl.col("difference") >= -TOLERANCE_RATIO
    rule = f"Attained over nominal rate not more than {TOLERANCE_RATIO:.1%} below the formula."
    return _judged(statement, rule, table, "expected_ratio", is_enough)


def _judged(statement: str, rule: str, table: pl.DataFrame, formula: str, holds: pl.Expr) -> Claim:
    details = table.with_columns((pl.col("attained_ratio") - pl.col(formula)).alias("difference"))
    held = details.filter(holds).height
    verdict = Verdict.of(whole=held and held == details.height, part=held, refuted=details.height)
    return Claim(
        statement=statement,
        rule=(
            f"{rule} Holds: in every cell; for some: in some. There is no chance in it, so "
            "there are no intervals."
        ),
        verdict=verdict,
        evidence=f"{held} of {details.height} cells.{_farthest(details, formula)}",
        details=details,
        in_short=_in_short(details, holds),
    )


def _in_short(details: pl.DataFrame, holds: pl.Expr) -> str:
    """Name the buckets for which the formula holds at every rate, and the others."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    cells = details.with_columns(holds.alias("holds"))
    for (bucket,), own in cells.group_by("bucket", maintain_order=True):
        held = own.filter("holds").height
        is_whole = held == own.height
        name = str(bucket).replace(",", "")
        parts[is_whole].append(name if is_whole else f"{name} ({held} of {own.height})")
    whole, broken = (listed(parts[key]) for key in (True, False))
    always = [f"it holds in every cell with {whole}"] if whole else []
    return sentence([*always, f"it holds in some cells only with {broken}"]) if broken else ""


def _farthest(details: pl.DataFrame, formula: str) -> str:
    """Name the cell that is farthest from the formula; nothing where there are no cells."""
    ordered = details.sort(pl.col("difference").abs(), descending=True)
    for worst in ordered.head(1).iter_rows(named=True):
        return (
            f" The farthest: {worst['clock']}, {worst['bucket']}, "
            f"{worst['nominal_mbit_per_second']:g} Mbit/s: attained "
            f"{worst['attained_ratio']:.3f}, formula {worst[formula]:.3f}."
        )
    return ""


CURVE_POINTS = 60
SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-down")


def figures(results: Results) -> list[Figure]:
    """Draw figure 3.6."""
    return [
        Figure(
            name="rate-accuracy",
            title="Accuracy of a rate limit at different clock granularities (figure 3.6)",
            caption=(
                "Attained over nominal rate, one panel per discipline and burst. Points: attained; "
                "lines: the closed form min(1, burst x 8 x HZ / rate)."
            ),
            chart=accuracy_chart(accuracies(results)),
        )
    ]


def accuracy_chart(table: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw attained rate and closed form against the nominal rate.

    Parameters
    ----------
    table : DataFrame
        As `accuracies` gives it.
    """
    clocks = table["clock"].unique(maintain_order=True).to_list()
    buckets = table["bucket"].unique(maintain_order=True).to_list()
    legend = alt.Legend(title="clock", symbolOpacity=1)
    base = alt.Chart().encode(
        x=alt.X(
            "nominal_mbit_per_second:Q",
            title="nominal rate / Mbit/s",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(values=[0.1, 1, 10, 100], format="~r"),
        ),
        color=alt.Color("clock:N", sort=clocks, scale=group_colours(clocks), legend=legend),
    )
    lines = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=alt.Y("closed_form_ratio:Q"))
    points = base.mark_point(filled=False, size=45, strokeWidth=1.8, opacity=1).encode(
        # Where all attain the rate, each mark is still seen.
        shape=alt.Shape(
            "clock:N",
            sort=clocks,
            scale=alt.Scale(domain=clocks, range=list(SHAPES)),
            legend=legend,
        ),
        y=alt.Y("attained_ratio:Q", title="attained / nominal rate"),
        tooltip=[
            alt.Tooltip("clock:N"),
            alt.Tooltip("bucket:N"),
            *(
                alt.Tooltip(f"{name}:Q", format=".4g")
                for name in ("nominal_mbit_per_second", "attained_ratio", "expected_ratio")
            ),
        ],
    )
    chart = (
        alt.layer(lines, points, data=inline(_points_and_curves(table)))
        .properties(width=230, height=200)
        .facet(facet=alt.Facet("bucket:N", sort=buckets, title=None), columns=_columns(table))
    )
    return themed(chart)


def curves(table: pl.DataFrame) -> pl.DataFrame:
    """Give the closed form of every bucket and clock as a smooth curve over the rates.

    Returns
    -------
    DataFrame
        ``clock``, ``bucket``, ``nominal_mbit_per_second``, ``closed_form_ratio``.
    """
    rates = table["nominal_mbit_per_second"].unique().sort().to_numpy()
    keys = ["clock", "bucket"]
    buckets = table.unique(keys, maintain_order=True).select(*keys, "burst_bytes", "tick_s")
    rows = [
        (clock, bucket, rate, expected_ratio(rate * 1e6, burst, tick_s))
        for clock, bucket, burst, tick_s in buckets.iter_rows()
        for rate in np.geomspace(rates[0], rates[-1], CURVE_POINTS).tolist()
    ]
    names = ["clock", "bucket", "nominal_mbit_per_second", "closed_form_ratio"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _points_and_curves(table: pl.DataFrame) -> pl.DataFrame:
    on_curves = pl.col("expected_ratio").alias("closed_form_ratio")  # a curve has no gaps at points
    return pl.concat([table.with_columns(on_curves), curves(table)], how="diagonal")


def _columns(table: pl.DataFrame) -> int:
    """Return the number of columns that gives each discipline its own rows."""
    by_limiter = table.group_by("limiter").agg(pl.col("bucket").n_unique())
    widest: int = by_limiter["bucket"].max()  # type: ignore[assignment]
    return min(4, widest)


STUDY = Study(
    name="rate-limit-granularity",
    title="Accuracy of a rate limit by clock granularity",
    source="J. Markussen, master's thesis, Univ. of Oslo 2014, figure 3.6",
    package=__package__,
    forms={"full": "scenario.toml", "reduced": "reduced.toml"},
    figures=figures,
    claims=claims,
)
