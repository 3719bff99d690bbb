"""The figures of the source's layouts, with simulated points beside the model's curves."""

from __future__ import annotations

import polars as pl

from fairwind import plots
from fairwind.models.dama import DemandAssignedLink
from fairwind.models.dama import curves as formulas
from fairwind.plots import Figure
from fairwind.results import Results
from fairwind.studies.groups import interval_per_panel

from .beyond_figures import beyond_figures
from .growth import (
    WATCHED_S,
    carried,
    equivalent_rtts,
    windows,
)
from .model_claims import curves_by_volume
from .stack_figures import by_placement, over_time
from .transfers import (
    MULTIPLIER,
    ONE_WAY_S,
    POLICY,
    SEGMENTS,
    TIME,
    USE,
    transfers,
)

LINK = DemandAssignedLink()

ADDED = "Half a round trip is added to the model's times, which end when the last segment leaves."
POINTS = "Lines: the model; points: simulated, means over the phases of the start."


def figures(results: Results) -> list[Figure]:
    """Draw stacks, times and slots by multiplier, then what the model says of the start-up."""
    done = transfers(results)
    stacks, startup = results.part("stacks"), results.part("startup")
    return [
        *([*over_time(stacks), *by_placement(stacks)] if stacks is not None else []),
        _times(done),
        _use(done),
        *([_volumes(startup), _windows(startup)] if startup is not None else []),
        *_equivalent(results.part("periods")),
        *([_by_volume(startup, stacks)] if startup is not None and stacks is not None else []),
        *_policies(results.part("policies")),
        *beyond_figures(*(results.part(name) for name in ("geo-uploads", "geo-downloads", "leo"))),
    ]


def _times(done: pl.DataFrame) -> Figure:
    sizes = done[SEGMENTS].unique().sort().to_list()
    modelled = formulas.completion_by_multiplier(LINK, sizes).with_columns(
        pl.col("completion_time_s") + ONE_WAY_S
    )
    return Figure(
        name="duration-against-multiplier",
        title="How long a transfer takes, by how many times the measured rate is asked for",
        caption=f"{POINTS} The model is the exact solution. {ADDED}",
        chart=plots.curves(
            plots.completion_by_multiplier(modelled, "", _by_size(done, TIME, "completion_time_s"))
        ),
    )


def _use(done: pl.DataFrame) -> Figure:
    sizes = done[SEGMENTS].unique().sort().to_list()
    return Figure(
        name="slot-use-against-multiplier",
        title="Slots used by slots assigned, by how many times the measured rate is asked for",
        caption=f"{POINTS} The model is the one that counts packets; the source has none.",
        chart=plots.curves(
            plots.utilisation_by_multiplier(
                formulas.utilisation_by_multiplier(LINK, sizes),
                "",
                _by_size(done, USE, "slot_utilisation_ratio"),
            )
        ),
    )


def _by_size(done: pl.DataFrame, measure: str, name: str) -> pl.DataFrame:
    means = interval_per_panel(done, measure, (SEGMENTS, MULTIPLIER))
    return means.select(
        pl.format("{} segments", pl.col(SEGMENTS).cast(pl.Int64)).alias("curve"),
        MULTIPLIER,
        pl.col("mean").alias(name),
    )


def _volumes(startup: Results) -> Figure:
    axes = ("initial", POLICY)
    ways = {"rbdc": "on demand", "constant": "constant"}
    measured = (
        carried(startup, axes)
        .filter(pl.col(POLICY).is_in(list(ways)) & (pl.col("time_s") <= WATCHED_S))
        .with_columns(pl.col("time_s").round(0))
        .group_by(*axes, "time_s", maintain_order=True)
        .agg(pl.col("carried_bytes").mean())
        .select(
            pl.format("initial window {}, {}", "initial", pl.col(POLICY).replace(ways)).alias(
                "curve"
            ),
            "time_s",
            "carried_bytes",
        )
    )
    return Figure(
        name="first-seconds",
        title="What the first 20 seconds carry",
        caption=f"{POINTS} k = 1. The source: about 1.5 MB.",
        chart=plots.curves(
            plots.carried_over_time(formulas.carried_over_time(LINK, (1, 3)), "", measured)
        ),
    )


def _windows(startup: Results) -> Figure:
    modelled = formulas.window_over_time(LINK)
    measured = (
        windows(startup, ("initial", POLICY))
        .filter((pl.col("initial") == 3) & (pl.col(POLICY) == "rbdc"))
        .filter((pl.col("time_s") % 0.5 < 0.05) & pl.col("time_s").is_between(0, 12))
        .group_by("time_s", maintain_order=True)
        .agg(pl.col("window_segments").mean())
        .filter(pl.col("window_segments") <= float(LINK.start_up(3).full_window_segments))
        .select(pl.lit("simulated").alias("curve"), "time_s", "window_segments")
        .sort("time_s")
    )
    return Figure(
        name="window-against-model",
        title="The congestion window until the link is full",
        caption="Lines: solutions of the delay equation; points: mean over the phases of the "
        "start. k = 1, initial window 3.",
        chart=plots.curves(plots.window_over_time(modelled, "", measured)),
    )


def _equivalent(periods: Results | None) -> list[Figure]:
    if periods is None:
        return []
    measured = (
        equivalent_rtts(periods)
        .group_by(MULTIPLIER, "delay_ratio", maintain_order=True)
        .agg(pl.col("equivalent_rtt_ratio").mean())
        .with_columns(pl.col(MULTIPLIER).cast(pl.String).str.strip_suffix(".0"))
        .select(
            pl.format("k = {}", MULTIPLIER).alias("curve"),
            "delay_ratio",
            "equivalent_rtt_ratio",
        )
    )
    return [
        Figure(
            name="equivalent-rtt",
            title="The equivalent round trip against the feedback delay",
            caption="Lines: the source's formula, and the exact one; points: time per doubling on "
            "a carrier that is never full.",
            chart=plots.curves(
                plots.equivalent_rtt_by_ratio(
                    formulas.equivalent_rtt_by_ratio((1, 4.8)), "", measured
                )
            ),
        )
    ]


def _by_volume(startup: Results, stacks: Results) -> Figure:
    measured = curves_by_volume(startup, stacks).select(
        "curve", "volume_segments", pl.col("mean").alias("completion_time_s")
    )
    modelled = formulas.completion_by_volume(LINK, 3.0, (4.8,)).with_columns(
        pl.col("completion_time_s") + ONE_WAY_S
    )
    return Figure(
        name="transfer-time-against-volume",
        title="Transfer time against volume: actual, over demand assignment, constant allocation",
        caption="Lines: the exact model, with half a round trip until the last segment is there; "
        "points: simulated, until it is read. Actual: Linux 2.6 with SACK, 300 packets of buffer; "
        "the others: ideal TCP. Initial window 3.",
        chart=plots.curves(plots.completion_by_volume(modelled, "", measured)),
    )


def _policies(policies: Results | None) -> list[Figure]:
    if policies is None:
        return []
    done = transfers(policies).filter(pl.col(POLICY) != "rbdc and free slots")
    told = "Points: mean over the phases of the start; bars: 95 % interval of it."
    return [
        Figure(
            name=name,
            title=title,
            caption=f"{told} {more}",
            chart=plots.estimates_by_setting(
                interval_per_panel(done, measure, (SEGMENTS, POLICY))
                .with_columns(pl.col(SEGMENTS).cast(pl.Int64))
                .rename({POLICY: "group"})
                .filter(pl.col("mean").is_not_nan()),
                setting=SEGMENTS,
                order=done[SEGMENTS].cast(pl.Int64).unique().sort().to_list(),
                measure_title=axis,
                setting_title="volume / segments",
            ),
        )
        for name, title, measure, axis, more in (
            (
                "time-by-policy",
                "How long a transfer takes, by how the terminal asks",
                TIME,
                "transfer time / s",
                "Constant: 28 slots of its own; one that takes free slots is as quick.",
            ),
            (
                "slot-use-by-policy",
                "Slots used by slots assigned, by how the terminal asks",
                USE,
                "slots used / slots assigned",
                "From the establishment until the last segment has left.",
            ),
        )
    ]
