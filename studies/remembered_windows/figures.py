"""Figures of the source, of the closed form, and of the price."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind import plots
from fairwind.plots import Curves, Figure, Heat
from fairwind.results import Results
from fairwind.studies import drawn_if_run

from .claims import newest_connections
from .measures import (
    AFTER,
    COUNT,
    DELAY,
    GREEDY_AXES,
    INITIAL,
    LIMIT,
    LOST,
    MEMORY,
    NEW,
    NEW_TO_THE_END,
    OLD,
    PRESENCE,
    RTT,
    TIME,
    VOLUME,
    WORSE_AXES,
    after_the_change,
    against,
    at_once,
    by_delay,
    closed_form,
    in_words,
    later_times,
    map_of_speed_ups,
    second_transfers,
)
from .price_claims import OWNER, largest_crowds

MEASURES = {
    "time_s": ("time of the transfer / s", "price-in-time"),
    "lost": ("packets lost", "price-in-losses"),
    "thin_s": ("thin streams' 99th percentile / s", "price-to-others"),
}

ENDS = {"mean": "", "low": "_low", "high": "_high"}
"""Names of an estimate and its interval in figures, and suffixes in comparisons."""


def price_figures(results: Results) -> list[Figure]:
    """Draw the price as far as its parts were run."""
    crowd, hosts = results.part("crowd"), results.part("hosts")
    return [
        *drawn_if_run(results.part("worse"), _price),
        *drawn_if_run(results.part("later"), _later),
        *drawn_if_run(results.part("greedy"), _greedy),
        *drawn_if_run(crowd, _crowd),
        *drawn_if_run(largest_crowds(crowd, hosts), _hosts),
        *drawn_if_run(results.part("map"), _map),
    ]


def _price(worse: Results) -> list[Figure]:
    priced = against(second_transfers(worse, WORSE_AXES), WORSE_AXES)
    means = [
        _by_rate(
            priced.with_columns(
                pl.col(measure).alias("mean"),
                pl.lit(None, dtype=pl.Float64).alias("low"),
                pl.lit(None, dtype=pl.Float64).alias("high"),
            ),
            name,
            f"The price: {title.split(' / ')[0]}, by what the path has become",
            "A second transfer of 3 MB half a minute after the first, which had 20 Mbit/s. "
            "Means over the seeds.",
            title,
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
            "price-at-first",
            "The price at first: how much longer packets wait in the queue",
            "Mean wait in the second after the second call, by windows of 100 ms, beyond that "
            "with an initial window of ten, over all packets, the burst's own among them; "
            "95 % intervals over the seeds.",
            "longer wait / ms",
        ),
    ]


def _by_rate(
    priced: pl.DataFrame, name: str, title: str, caption: str, measure_title: str
) -> Figure:
    """Draw ``mean``, ``low`` and ``high`` by memory and rate, each queue and flow in a panel."""
    drawn = priced.select(
        pl.col(MEMORY).alias("group"), _panel(priced).alias("panel"), AFTER, *ENDS
    )
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=plots.estimates_by_setting(
            drawn,
            setting=AFTER,
            order=drawn[AFTER].unique(maintain_order=True).to_list(),
            measure_title=measure_title,
            setting_title="rate when it comes",
            panels="panel",
        ),
    )


def _panel(priced: pl.DataFrame) -> pl.Expr:
    if PRESENCE in priced.columns:
        return pl.format("queue {}: {}", LIMIT, PRESENCE)
    return pl.format("queue: {}", LIMIT)


def _later(later: Results) -> Figure:
    found = after_the_change(later).with_columns(pl.col(MEMORY).alias("curve"))
    panels = [
        Curves(
            cell, "number", LOST, "which transfer", "packets lost",
            title=f"{after}, queue: {limit}", measured=cell,
            x_axis=alt.Axis(tickMinStep=1),
        )
        for (limit, after), cell in found.group_by(WORSE_AXES, maintain_order=True)
    ]  # fmt: skip
    return Figure(
        name="forgetting",
        title="Forgetting: packets lost, transfer by transfer, since the path has worsened",
        caption="Transfers of 3 MB, one 5 s after the other; the first had 20 Mbit/s. Means "
        "over the seeds.",
        chart=plots.curve_panels(panels),
    )


def _greedy(greedy: Results) -> Figure:
    priced = against(second_transfers(greedy, GREEDY_AXES, "greedy"), GREEDY_AXES)
    harms = priced.filter(pl.col(MEMORY) != INITIAL).with_columns(
        *((pl.col(f"greedy_first_harm{end}") * 1e2).alias(name) for name, end in ENDS.items())
    )
    return _by_rate(
        harms,
        "price-to-a-greedy-flow",
        "The price to a greedy flow: its harm in the first second",
        "What it loses of its goodput in the second after the second call, against an "
        "initial window of ten; the flow has come since the first transfer, or was there "
        "before. 95 % intervals over the seeds.",
        "harm / %",
    )


def _crowd(crowd: Results) -> Figure:
    found = against(at_once(crowd), [COUNT]).sort(COUNT, maintain_order=True)
    named = found.with_columns(pl.col(MEMORY).alias("curve"), pl.col(COUNT).cast(pl.Int64))
    panels = [
        Curves(
            named.select("curve", COUNT, measure), COUNT, measure, "connections at once", title,
            measured=named.select("curve", COUNT, measure),
        )
        for measure, (title, _) in MEASURES.items()
    ]  # fmt: skip
    return Figure(
        name="many-at-once",
        title="Many connections at once, each from the window that one alone had",
        caption="300 kB each over 20 Mbit/s and 80 ms, a queue of 140 packets, all of one "
        "host: the slowest of them, all that they lost, and thin streams beside them. Means "
        "over the seeds.",
        chart=plots.curve_panels(panels, columns=3),
    )


def _hosts(compared: pl.DataFrame) -> Figure:
    frame = compared.filter(pl.col(MEMORY) != INITIAL).with_columns(
        pl.col(MEMORY).alias("group"),
        *(pl.col(f"more_lost{end}").alias(name) for name, end in ENDS.items()),
    )
    return Figure(
        name="many-hosts-at-once",
        title="Twenty at once, of one host and of twenty",
        caption="Packets lost beyond those from an initial window of ten; 95 % intervals over "
        "the seeds. Careful Resume lets one connection at a time use what one host has left.",
        chart=plots.estimates_by_setting(
            frame.select("group", OWNER, *ENDS),
            setting=OWNER,
            order=frame[OWNER].unique(maintain_order=True).to_list(),
            measure_title="more packets lost",
            setting_title="connections of",
        ),
    )


def _map(map_: Results) -> Figure:
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
    return Figure(
        name="when-remembering-pays",
        title="When remembering pays: speed-up against an initial window of ten",
        caption="By volume, round trip, and what has become of the rate of 20 Mbit/s since. "
        "Above 1 (green) it pays, below (purple) it costs.",
        chart=plots.heat_maps(
            Heat(
                frame,
                "volume",
                "rtt",
                "speed_up",
                orders[VOLUME],
                orders[RTT],
                "volume",
                "round trip",
                "speed-up",
            )
        ),
    )


SHOWN_S = 8.0
"""Of the windows over time."""

MEGABYTE = 1e6

CALLED = {
    OLD: "old: from one segment",
    NEW: "new: from the remembered window",
    NEW_TO_THE_END: "new: remembered when all is acknowledged",
}


def figures(results: Results) -> list[Figure]:
    """Draw the source's figures, then the closed form and the price."""
    return [
        _speed_ups(results),
        _locally(results),
        *drawn_if_run(results.part("long"), _far_away),
        *drawn_if_run(results.part("windows"), _windows),
        *drawn_if_run(results.part("closed"), _closed),
        *price_figures(results),
    ]


def _speed_ups(results: Results) -> Figure:
    found = by_delay(results)
    named = found.with_columns(
        pl.Series("curve", [in_words(VOLUME, value) for value in found[VOLUME]]),
        (pl.col(DELAY) * 1e3).alias("delay_ms"),
        pl.col("form").alias("speed_up"),
    )
    points = named.with_columns(pl.col("mean").alias("speed_up"))
    return Figure(
        name="speed-up-against-delay",
        title="Figure 3: speed-up by the delay of each acknowledgment, for four volumes",
        caption="Mean time of transfers from a window of one segment by that from the remembered "
        "one. Points: measured; lines: the closed form with serialisation.",
        chart=plots.curves(
            Curves(
                named.select("curve", "delay_ms", "speed_up"), "delay_ms", "speed_up",
                "delay of each acknowledgment / ms", "speed-up",
                measured=points.select("curve", "delay_ms", "speed_up"),
            )
        ),
    )  # fmt: skip


def _locally(results: Results) -> Figure:
    times = later_times(results)
    shown = sorted(times[DELAY].unique())[-2]
    at = times.filter(pl.col(DELAY) == shown)
    return Figure(
        name="times-locally",
        title=f"Figure 1: old against new locally, each acknowledgment {shown * 1e3:g} ms late",
        caption="Mean time of a transfer but for the first, from the call to the last byte.",
        chart=plots.curves(_times(at)),
    )


def _times(times: pl.DataFrame) -> Curves:
    means = times.group_by(MEMORY, VOLUME, maintain_order=True).agg(pl.col(TIME).mean())
    is_large = bool((means[VOLUME] >= MEGABYTE).any())
    unit, name = (MEGABYTE, "MB") if is_large else (MEGABYTE / 1e3, "kB")
    named = means.sort(VOLUME).with_columns(
        pl.col(MEMORY).replace(CALLED).alias("curve"), (pl.col(VOLUME) / unit).alias("volume")
    )
    chosen = named.select("curve", "volume", TIME).sort("curve", "volume", descending=[True, False])
    return Curves(
        chosen, "volume", TIME, f"volume / {name}", "time of a transfer / s", measured=chosen
    )


def _far_away(long: Results) -> Figure:
    return Figure(
        name="times-far-away",
        title="Figure 2: old against new over a long path (1.5 Mbit/s, 110 ms, 0.5 % lost)",
        caption="Mean time of a transfer but for the first, over all seeds.",
        chart=plots.curves(_times(later_times(long))),
    )


def _windows(windows: Results) -> Figure:
    sampled = newest_connections(windows).filter(pl.col("time_s") <= SHOWN_S)
    panels = [
        Curves(
            sampled.filter(pl.col(MEMORY) == memory).select(
                pl.lit("window").alias("curve"), "time_s", "cwnd_packets"
            ),
            "time_s",
            "cwnd_packets",
            "time / s",
            "congestion window / segments",
            title,
        )
        for memory, title in CALLED.items()
        if (sampled[MEMORY] == memory).any()
    ]
    return Figure(
        name="windows-over-time",
        title="Figure 4: the window of connections that follow one another",
        caption="Transfers of 500 kB, each acknowledgment 100 ms late: without a memory every "
        "connection begins anew, with it each begins where one before was when its server "
        "closed it, or, in the last panel, when all was acknowledged. The axes differ.",
        chart=plots.curve_panels(panels, columns=len(panels)),
    )


def _closed(closed: Results) -> Figure:
    found = closed_form(closed).with_columns(pl.lit("speed-up").alias("curve"))
    return Figure(
        name="speed-up-in-closed-form",
        title="Speed-up by volume without serialisation, with 32 segments remembered",
        caption="Line: the closed form at the volumes shown; points: simulated.",
        chart=plots.curves(
            Curves(
                found.select("curve", "segments", pl.col("form").alias("value")),
                "segments",
                "value",
                "segments of a transfer",
                "speed-up",
                measured=found.select("curve", "segments", pl.col("simulated").alias("value")),
                x_scale=alt.Scale(type="log", nice=False),
            )
        ),
    )
