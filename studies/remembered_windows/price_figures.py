"""Figures of the price: what is lost, who is harmed, many at once, and the map."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl

from fairwind import plots
from fairwind.plots import Curves, Figure, Heat
from fairwind.results import Results

from .crowd_claims import WHOSE, largest_crowds
from .price import (
    GREEDY_AXES,
    WORSE_AXES,
    after_the_change,
    against,
    at_once,
    map_of_speed_ups,
    second_transfers,
)
from .transfers import (
    AFTER,
    COUNT,
    INITIAL,
    LIMIT,
    LOST,
    MEMORY,
    PRESENCE,
    RTT,
    VOLUME,
    in_words,
)

MEASURES = {
    "time_s": ("time of the transfer / s", "price-in-time"),
    "lost": ("packets lost", "price-in-losses"),
    "thin_s": ("thin streams' 99th percentile / s", "price-to-others"),
}

ENDS = {"mean": "", "low": "_low", "high": "_high"}
"""What an estimate and its interval are called in figures, and how they end in comparisons."""


@dataclass(frozen=True)
class Figured:
    """What a figure by rate and queue is called, and what its axis says."""

    name: str
    title: str
    caption: str
    measure_title: str


def price_figures(results: Results) -> list[Figure]:
    """Draw the price as far as its parts were run."""
    crowd, hosts = results.part("crowd"), results.part("hosts")
    return [
        *_price(results.part("worse")),
        *_later(results.part("later")),
        *_greedy(results.part("greedy")),
        *_crowd(crowd),
        *_hosts(largest_crowds(crowd, hosts)),
        *_map(results.part("map")),
    ]


def _price(worse: Results | None) -> list[Figure]:
    if worse is None:
        return []
    priced = against(second_transfers(worse, WORSE_AXES), WORSE_AXES)
    means = [
        _by_rate(
            priced.with_columns(
                pl.col(measure).alias("mean"),
                pl.lit(None, dtype=pl.Float64).alias("low"),
                pl.lit(None, dtype=pl.Float64).alias("high"),
            ),
            Figured(
                name,
                f"The price: {title.split(' / ')[0]}, by what the path has become",
                "A second transfer of 3 MB half a minute after the first, which had 20 Mbit/s. "
                "Means over the seeds.",
                title,
            ),
        )
        for measure, (title, name) in MEASURES.items()
    ]
    waits = priced.filter(pl.col(MEMORY) != INITIAL).with_columns(
        *((pl.col(f"longer_wait_s{end}") * 1e3).alias(name) for name, end in ENDS.items())
    )
    return [
        *means,
        _by_rate(
            waits,
            Figured(
                "price-at-first",
                "The price at first: how much longer packets wait in the queue",
                "Mean wait in the second after the second call, by windows of 100 ms, beyond that "
                "with an initial window of ten, over all packets, the burst's own among them; "
                "95 % intervals over the seeds.",
                "longer wait / ms",
            ),
        ),
    ]


def _by_rate(priced: pl.DataFrame, told: Figured) -> Figure:
    """Draw ``mean``, ``low`` and ``high`` by memory and rate, each queue and flow in a panel."""
    drawn = priced.select(
        pl.col(MEMORY).alias("group"), _panel(priced).alias("panel"), AFTER, *ENDS
    )
    return Figure(
        name=told.name,
        title=told.title,
        caption=told.caption,
        chart=plots.estimates_by_setting(
            drawn,
            setting=AFTER,
            order=drawn[AFTER].unique(maintain_order=True).to_list(),
            measure_title=told.measure_title,
            setting_title="rate when it comes",
            panels="panel",
        ),
    )


def _panel(priced: pl.DataFrame) -> pl.Expr:
    if PRESENCE in priced.columns:
        return pl.format("queue {}: {}", LIMIT, PRESENCE)
    return pl.format("queue: {}", LIMIT)


def _later(later: Results | None) -> list[Figure]:
    if later is None:
        return []
    found = after_the_change(later).with_columns(pl.col(MEMORY).alias("curve"))
    panels = [
        Curves(
            cell, "number", LOST, "which transfer", "packets lost",
            title=f"{after}, queue: {limit}", measured=cell,
            x_axis=alt.Axis(tickMinStep=1),
        )
        for (limit, after), cell in found.group_by(WORSE_AXES, maintain_order=True)
    ]  # fmt: skip
    return [
        Figure(
            name="forgetting",
            title="Forgetting: packets lost, transfer by transfer, since the path has worsened",
            caption="Transfers of 3 MB, one 5 s after the other; the first had 20 Mbit/s. Means "
            "over the seeds.",
            chart=plots.curve_panels(panels),
        )
    ]


def _greedy(greedy: Results | None) -> list[Figure]:
    if greedy is None:
        return []
    priced = against(second_transfers(greedy, GREEDY_AXES, "greedy"), GREEDY_AXES)
    harms = priced.filter(pl.col(MEMORY) != INITIAL).with_columns(
        *((pl.col(f"greedy_first_harm{end}") * 1e2).alias(name) for name, end in ENDS.items())
    )
    return [
        _by_rate(
            harms,
            Figured(
                "price-to-a-greedy-flow",
                "The price to a greedy flow: its harm in the first second",
                "What it loses of its goodput in the second after the second call, against an "
                "initial window of ten; the flow has come since the first transfer, or was there "
                "before. 95 % intervals over the seeds.",
                "harm / %",
            ),
        )
    ]


def _crowd(crowd: Results | None) -> list[Figure]:
    if crowd is None:
        return []
    found = against(at_once(crowd), [COUNT]).sort(COUNT, maintain_order=True)
    named = found.with_columns(pl.col(MEMORY).alias("curve"), pl.col(COUNT).cast(pl.Int64))
    panels = [
        Curves(
            named.select("curve", COUNT, measure), COUNT, measure, "connections at once", title,
            measured=named.select("curve", COUNT, measure),
        )
        for measure, (title, _) in MEASURES.items()
    ]  # fmt: skip
    return [
        Figure(
            name="many-at-once",
            title="Many connections at once, each from the window that one alone had",
            caption="300 kB each over 20 Mbit/s and 80 ms, a queue of 140 packets, all of one "
            "host: the slowest of them, all that they lost, and thin streams beside them. Means "
            "over the seeds.",
            chart=plots.curve_panels(panels, columns=3),
        )
    ]


def _hosts(compared: pl.DataFrame | None) -> list[Figure]:
    if compared is None:
        return []
    frame = compared.filter(pl.col(MEMORY) != INITIAL).with_columns(
        pl.col(MEMORY).alias("group"),
        *(pl.col(f"more_lost{end}").alias(name) for name, end in ENDS.items()),
    )
    return [
        Figure(
            name="many-hosts-at-once",
            title="Twenty at once, of one host and of twenty",
            caption="Packets lost beyond those from an initial window of ten; 95 % intervals over "
            "the seeds. Careful Resume lets one connection at a time use what one host has left.",
            chart=plots.estimates_by_setting(
                frame.select("group", WHOSE, *ENDS),
                setting=WHOSE,
                order=frame[WHOSE].unique(maintain_order=True).to_list(),
                measure_title="more packets lost",
                setting_title="whose connections",
            ),
        )
    ]


def _map(map_: Results | None) -> list[Figure]:
    if map_ is None:
        return []
    found = map_of_speed_ups(map_)
    frame = found.select(
        pl.format("rate since: {}", AFTER).alias("row"),
        pl.col(MEMORY).alias("column"),
        pl.Series("volume", [in_words(VOLUME, value) for value in found[VOLUME]]),
        pl.Series("rtt", [in_words(RTT, value) for value in found[RTT]]),
        "speed_up",
    )
    orders = {
        axis: [in_words(axis, value) for value in sorted(found[axis].unique())]
        for axis in (VOLUME, RTT)
    }
    return [
        Figure(
            name="when-remembering-pays",
            title="When remembering pays: speed-up against an initial window of ten",
            caption="By volume, round trip, and what has become of the rate of 20 Mbit/s since. "
            "Above 1 (green) it pays, below (purple) it costs.",
            chart=plots.heat_maps(
                Heat(
                    frame, "volume", "rtt", "speed_up", orders[VOLUME], orders[RTT],
                    "volume", "round trip", "speed-up",
                )
            ),
        )
    ]  # fmt: skip
