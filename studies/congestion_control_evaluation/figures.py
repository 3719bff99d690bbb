"""Figures in the layouts of the source."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from fairwind.plots import Figure, inline, themed
from fairwind.results import Results
from fairwind.statistics import burden, rtt_unfairness_bound
from fairwind.studies import drawn_if_run

from .charts import OF_RTT, SEEDS, Axis, lines, means, with_path_panel
from .further_figures import further_figures
from .measures import (
    BANDWIDTH,
    CONTROL,
    FIXED_RTT_MS,
    JOINED,
    LIMIT,
    PLACE,
    RTT,
    STANDARD,
    STARVED_RATIO,
    WINDOW_S,
    harms,
    joining,
    part_of,
    shares,
    with_places,
)

COLOURS = alt.Scale(domain=["first", "second"], range=["#c8352b", "#2166ac"])

EVERY_S = 1.0
"""Windows are drawn this often."""

RATE_WINDOWS = 5
"""So many windows of a second make one point of a rate."""


def windows(results: Results) -> Figure:
    """Draw the congestion windows of two flows, a row for each congestion control."""
    samples = with_places(results.endpoint)
    frame = (
        samples.with_columns((pl.col("time_s") // EVERY_S * EVERY_S).alias("time_s"))
        .group_by([CONTROL, RTT, "group", "time_s"], maintain_order=True)
        .agg(pl.col("cwnd_packets").mean().round(1))
        .with_columns(pl.format("{}, {} ms", CONTROL, RTT).alias("panel"))
        .sort(pl.col(CONTROL).cast(pl.Enum(_order(samples))), RTT, maintain_order=True)
    )
    return Figure(
        name="windows-over-time",
        title="Congestion windows at 250 Mbit/s and a queue of 20 % of the product",
        caption=(
            "Of two flows with one congestion control and one round trip, the second of which "
            "starts a minute after the first; means over a second, first seed."
        ),
        chart=_panels(
            frame, "cwnd_packets", "congestion window / packets", int(frame[RTT].n_unique())
        ),
    )


def rates_over_time(results: Results) -> Figure:
    """Draw the goodput of two flows over time, a panel for each congestion control."""
    length = float(RATE_WINDOWS)
    frame = (
        with_places(results.intervals)
        .with_columns((pl.col("start_s") // length * length).alias("time_s"))
        .group_by([CONTROL, "group", "time_s"], maintain_order=True)
        .agg((pl.col("goodput_bits_per_second").mean() * 1e-6).round(2).alias("rate"))
        .with_columns(pl.col(CONTROL).alias("panel"))
    )
    return Figure(
        name="early-drop",
        title="Two flows at 500 Mbit/s, 100 ms and a queue of 500 packets",
        caption=(
            "The second one loses its hundredth packet, in slow start. Goodput in "
            f"windows of {length:g} s, mean over seeds."
        ),
        chart=_panels(frame, "rate", "goodput / Mbit/s", 3),
    )


def _order(samples: pl.DataFrame) -> list[str]:
    names: list[str] = samples[CONTROL].unique(maintain_order=True).to_list()
    return names


def _panels(frame: pl.DataFrame, measure: str, title: str, columns: int) -> alt.TopLevelMixin:
    values = frame["panel"].unique(maintain_order=True).to_list()
    chart = (
        alt.Chart(inline(frame.select("panel", "group", "time_s", measure)))
        .mark_line(strokeWidth=1.2)
        .encode(
            x=alt.X("time_s:Q", title="time / s"),
            y=alt.Y(f"{measure}:Q", title=title),
            color=alt.Color("group:N", scale=COLOURS, legend=alt.Legend(title=None)),
        )
        .properties(width=220, height=90)
        .facet(facet=alt.Facet("panel:N", sort=values, title=None), columns=columns)
        .resolve_scale(y="independent")
    )
    return themed(chart)


RATIOS = (1 / STARVED_RATIO, STARVED_RATIO)
EFFICIENCY_RTT_MS = (42, 162, 324)


def figures(results: Results) -> list[Figure]:
    """Draw fairness, windows, RTT unfairness, friendliness, convergence, and efficiency."""
    alike = shares(results)
    limit = _chosen_limit(alike)
    traces, early = results.part("traces"), results.part("early-drop")
    return [
        _fairness(alike, limit),
        *drawn_if_run(traces, windows),
        *drawn_if_run(
            part_of(results, "rtt-unfairness", shares), lambda apart: _unfairness(apart, alike)
        ),
        *drawn_if_run(
            part_of(results, "friendliness", shares),
            lambda beside: _friendliness(beside, alike, limit),
        ),
        *drawn_if_run(harms(results), lambda harmed: _harm(harmed, limit)),
        *drawn_if_run(part_of(results, "convergence", joining), _convergence),
        _efficiency(alike),
        _fairness_of_queues(alike),
        *drawn_if_run(early, rates_over_time),
        *drawn_if_run(part_of(results, "stacks", shares), _stacks),
        *further_figures(results),
    ]


def _chosen_limit(frame: pl.DataFrame) -> str:
    """Give the queue that is drawn where one must do: the source's, if it was run."""
    limits = frame[LIMIT].unique(maintain_order=True).to_list()
    return JOINED if JOINED in limits else str(limits[0])


def _fairness(alike: pl.DataFrame, limit: str) -> Figure:
    frame = means(alike.filter(pl.col(LIMIT) == limit), "fairness", (BANDWIDTH, RTT))
    return Figure(
        name="fairness-against-rtt",
        title="Fairness of two flows with one congestion control and one round trip",
        caption=f"The smaller goodput by the larger; queue {limit}. {SEEDS}",
        chart=lines(frame, OF_RTT, "smaller by larger goodput", BANDWIDTH, domain=(0, 1)),
    )


def _fairness_of_queues(alike: pl.DataFrame) -> Figure:
    frame = means(alike, "fairness", PLACE).with_columns(
        pl.format("{}, queue {}", BANDWIDTH, LIMIT).alias("panel")
    )
    return Figure(
        name="fairness-by-queue",
        title="The same for every queue",
        caption=f"The smaller goodput by the larger. {SEEDS}",
        chart=lines(frame, OF_RTT, "smaller by larger goodput", "panel", domain=(0, 1)),
    )


def _unfairness(apart: pl.DataFrame, alike: pl.DataFrame) -> Figure:
    limit = _chosen_limit(apart)
    equal = alike.filter(pl.col(RTT) == FIXED_RTT_MS)
    both = pl.concat([apart, equal.select(apart.columns)]).filter(pl.col(LIMIT) == limit)
    frame = _geometric_means(both, "friendliness", (BANDWIDTH, RTT))
    places = frame.select(BANDWIDTH, RTT).unique(maintain_order=True)
    bounds = [rtt_unfairness_bound(rtt, FIXED_RTT_MS) for rtt in places[RTT]]
    bound = places.with_columns(
        pl.lit("(RTT2/RTT1)^2").alias(CONTROL),
        pl.Series("mean", bounds),
        pl.lit(None, pl.Float64).alias("low"),
        pl.lit(None, pl.Float64).alias("high"),
    )
    return Figure(
        name="rtt-unfairness",
        title=f"RTT unfairness: a flow of each round trip against one of {FIXED_RTT_MS} ms",
        caption=(
            f"Goodput of the flow with the round trip that is drawn by that of the other, "
            f"between 1/1000 and 1000; queue {limit}, of the product with {FIXED_RTT_MS} ms. "
            "Grey: what standard TCP gives where losses are synchronised. "
            "Points: geometric mean over seeds; bars: 95 % interval of it."
        ),
        chart=lines(
            pl.concat([frame, bound.select(frame.columns)]),
            Axis(RTT, "round trip of the second flow / ms"),
            "second by first goodput",
            BANDWIDTH,
            domain=RATIOS,
            logarithmic=True,
        ),
    )


def _friendliness(beside: pl.DataFrame, alike: pl.DataFrame, limit: str) -> list[Figure]:
    chosen = beside.filter(pl.col(LIMIT) == limit)
    frame = _geometric_means(chosen, "friendliness", (BANDWIDTH, RTT))
    standard = alike.filter((pl.col(CONTROL) == STANDARD) & (pl.col(LIMIT) == limit))
    baseline = standard.select(
        *(BANDWIDTH, LIMIT, RTT, "seed"),
        ((pl.col("first") + pl.col("second")) / 2).alias("alike"),
    )
    joined = chosen.join(baseline, on=[BANDWIDTH, LIMIT, RTT, "seed"], maintain_order="left")
    burdens = [burden(row["first"], row["alike"]) for row in joined.iter_rows(named=True)]
    left = means(joined.with_columns(pl.Series("burden", burdens)), "burden", (BANDWIDTH, RTT))
    return [
        Figure(
            name="friendliness",
            title="Friendliness: a flow beside one of standard TCP",
            caption=(
                f"Goodput of the flow with the congestion control by that of standard TCP; 1 is "
                f"even; queue {limit}. Points: geometric mean over seeds; bars: 95 % interval."
            ),
            chart=lines(
                frame, OF_RTT, "new by standard goodput", BANDWIDTH, domain=RATIOS, logarithmic=True
            ),
        ),
        Figure(
            name="burden",
            title="What is left to standard TCP",
            caption=(
                "Goodput of standard TCP beside the congestion control by the mean of two flows of "
                f"standard TCP with the same seed; 1: no worse off; queue {limit}. {SEEDS}"
            ),
            chart=lines(
                frame=left, axis=OF_RTT, title="goodput by that among its like", panels=BANDWIDTH
            ),
        ),
    ]


def _harm(harmed: pl.DataFrame, limit: str) -> Figure:
    chosen = harmed.filter(pl.col(LIMIT) == limit).with_columns(
        pl.format("{}, {}", "suffers", BANDWIDTH).alias("panel")
    )
    frame = means(chosen, "harm", ("panel", RTT))
    least = float(frame.select(pl.col("mean").min()).item())
    return Figure(
        name="harm",
        title="Harm to standard TCP",
        caption=(
            "What a flow of the congestion control takes from standard TCP of what that has "
            "alone: 0 is nothing, 1 is all, below 0 it is better off. Black: standard TCP's "
            "own harm to its like, which a newcomer should not exceed. Latency: 95th "
            "percentile of the acknowledgments'; completion: transfers of two seconds at the "
            f"path's rate. Queue {limit}. {SEEDS}"
        ),
        chart=lines(
            frame,
            OF_RTT,
            "harm",
            "panel",
            domain=(min(0, max(math.floor(10 * least) / 10, -1)), 1),
        ),
    )


def _convergence(joined: pl.DataFrame) -> list[Figure]:
    limit = JOINED
    if LIMIT in joined.columns:
        limit = _chosen_limit(joined)
        joined = joined.filter(pl.col(LIMIT) == limit)
    observed = float(joined.select(pl.col("observed_s").max()).item())
    text = (
        f"{{}}; what did not happen is drawn at the end of the run, after {observed:.0f} s at "
        f"most. Queue {limit}. {SEEDS}"
    )
    return [
        Figure(
            name=name,
            title=title,
            caption=text.format(what),
            chart=lines(
                means(joined, measure, (BANDWIDTH, RTT)),
                OF_RTT,
                "time / s",
                BANDWIDTH,
                domain=(WINDOW_S, observed),
                logarithmic=True,
            ),
        )
        for name, title, measure, what in (
            (
                "convergence-time",
                "How long a flow that joins takes to 80 % of its fair share",
                "convergence_capped_s",
                "From its start to the end of the first window of a second with that rate",
            ),
            (
                "delta-fair-time",
                "How long two flows take until they share evenly but for 10 %",
                "delta_fair_capped_s",
                "From the second one's start to the end of the first window of a second",
            ),
        )
    ]


def _efficiency(alike: pl.DataFrame) -> Figure:
    rtts = [rtt for rtt in EFFICIENCY_RTT_MS if rtt in alike[RTT].unique()]
    shown = alike.filter(pl.col(RTT).is_in(rtts)) if rtts else alike
    frame = with_path_panel(means(shown, "efficiency", PLACE))
    return Figure(
        name="efficiency-against-queue",
        title="Efficiency of two flows with one congestion control and one round trip",
        caption=f"Goodput of both by what the path carries of payload. {SEEDS}",
        chart=lines(frame, Axis(LIMIT, "queue"), "efficiency", "panel", domain=(0, 1)),
    )


def _stacks(stacks: pl.DataFrame) -> Figure:
    frame = means(stacks, "fairness", ("stack", RTT))
    return Figure(
        name="stacks",
        title="What the choice of a stack changes at 250 Mbit/s",
        caption=(
            "The smaller goodput by the larger of two flows with one congestion control and "
            f"one round trip; queue {JOINED}; linux-6.18 without HyStart for all, with it, and "
            f"linux-2.6. {SEEDS}"
        ),
        chart=lines(frame, OF_RTT, "smaller by larger goodput", "stack", domain=(0, 1)),
    )


def _geometric_means(frame: pl.DataFrame, measure: str, places: tuple[str, ...]) -> pl.DataFrame:
    logarithm = pl.col(measure).clip(*RATIOS).log10()
    found = means(frame.with_columns(logarithm.alias(measure)), measure, places)
    return found.with_columns(
        (pl.col(name) * math.log(10)).exp().alias(name) for name in ("mean", "low", "high")
    )
