"""Figures in the layouts of the source, and on satellites of today."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind import plots
from fairwind.models.dama import DemandAssignedLink
from fairwind.models.dama import curves as formulas
from fairwind.plots import Curves, Figure
from fairwind.results import Results
from fairwind.studies import drawn_if_run
from fairwind.studies.comparisons import interval_per_panel

from .measures import (
    AXES,
    CAPACITY,
    CONSTANT,
    FORESEEN,
    HANDOVERS,
    LIMIT,
    LINK,
    LOSSY,
    MULTIPLIER,
    ON_DEMAND,
    ONE_WAY_S,
    PLAIN,
    POLICY,
    REQUEST,
    SEGMENTS,
    SENDER,
    STACK,
    STEADY,
    TIME,
    USE,
    VOLUME,
    WATCHED_S,
    beginnings,
    carried,
    delays,
    end_to_end,
    equivalent_rtts,
    transfers,
    windows,
    with_axes,
)
from .model_claims import curves_by_volume

SHOWN_LIMIT = "300 packets"
"""The channel carries 320 packets in a round trip and the feedback delay together, 3.2 s."""

SHOWN_S = 40.0

ASKED = {
    "rbdc": ("stacks-over-time", "asking for the measured rate (k = 1)"),
    "constant, not bunched": (
        "stacks-over-constant",
        "with the same rate all the time, and slots that are spread over the frame",
    ),
}

PLACED = {"rbdc, k = 4.8": "slots together", "rbdc, spread, k = 4.8": "slots spread"}
"""Ways of asking that differ in where a terminal's slots are, and in when frames begin."""


def by_placement(stacks: Results) -> list[Figure]:
    """Draw the stacks over slots that follow one another, and below over slots that are spread."""
    requests = with_axes(stacks.flows)[REQUEST].unique().to_list()
    if not set(PLACED) <= set(requests):
        return []
    return [
        Figure(
            name="stacks-by-placement",
            title="The three stacks at k = 4.8, by where the terminal's slots of a frame are, and "
            "when frames begin",
            caption=f"One run each, {SHOWN_LIMIT} of buffer, as above. Above: slots that follow "
            "one another; below: slots that are spread over the frame, in frames that begin when "
            "plans come.",
            chart=plots.curve_panels(
                [panel for way, words in PLACED.items() for panel in _panels(stacks, way, words)],
                columns=3,
            ),
        )
    ]


def over_time(stacks: Results) -> list[Figure]:
    """Draw volume, rate and round trip of the stacks, on demand and without waiting."""
    requests = with_axes(stacks.flows)[REQUEST].unique().to_list()
    return [
        Figure(
            name=name,
            title=f"Linux 2.6 without and with SACK, and FreeBSD 5.4, {words}",
            caption=f"One run each, {SHOWN_LIMIT} of buffer: payload read since the beginning (the "
            "sequence plot), goodput in windows of a second, and smoothed round trip.",
            chart=plots.curve_panels(
                _panels(stacks, request),
                columns=3,
            ),
        )
        for request, (name, words) in ASKED.items()
        if request in requests
    ]


def _panels(stacks: Results, request: str, words: str = "") -> list[Curves]:
    of = f", {words}" if words else ""
    return [
        _panel(_volume(stacks, request), "megabytes", f"read / MB{of}"),
        _panel(_rate(stacks, request), "rate", f"goodput / Mbit/s{of}"),
        _panel(_round_trip(stacks, request), "smoothed_rtt_s", f"round trip / s{of}"),
    ]


def _panel(frame: pl.DataFrame, y: str, title: str) -> Curves:
    return Curves(
        frame, "time_s", y, "time / s", title, x_scale=alt.Scale(domain=[0, SHOWN_S], nice=False)
    )


def _volume(stacks: Results, request: str) -> pl.DataFrame:
    chosen = _first_run(carried(stacks, AXES), request)
    return chosen.select("curve", "time_s", (pl.col("carried_bytes") * 1e-6).alias("megabytes"))


def _rate(stacks: Results, request: str) -> pl.DataFrame:
    windows = _since_the_beginning(stacks, with_axes(stacks.intervals), "start_s")
    rate = (pl.col("goodput_bits_per_second") * 1e-6).alias("rate")
    return _first_run(windows, request).select("curve", "time_s", rate)


def _round_trip(stacks: Results, request: str) -> pl.DataFrame:
    known = with_axes(stacks.endpoint).drop_nulls("smoothed_rtt_s")
    samples = _since_the_beginning(stacks, known, "time_s")
    return _first_run(samples, request).select("curve", "time_s", "smoothed_rtt_s")


def _since_the_beginning(stacks: Results, frame: pl.DataFrame, time: str) -> pl.DataFrame:
    since = (pl.col(time) - pl.col("begun_s")).alias("time_s")
    begun = frame.join(beginnings(stacks), on=["cell", "seed"], maintain_order="left")
    return begun.with_columns(since).filter(pl.col("time_s") >= 0)


def _first_run(frame: pl.DataFrame, request: str) -> pl.DataFrame:
    chosen = frame.filter((pl.col(REQUEST) == request) & (pl.col(LIMIT) == SHOWN_LIMIT))
    first = chosen["seed"].first()
    return chosen.filter((pl.col("seed") == first) & (pl.col("time_s") <= SHOWN_S)).with_columns(
        pl.col(STACK).alias("curve")
    )


LEGEND = "Points: mean over the phases of the start, paired by seed; bars: 95 % interval of it."


def beyond_figures(
    uploads: Results | None, downloads: Results | None, leo: Results | None
) -> list[Figure]:
    """Draw the extra time of transfers, by sender, volume, and cause."""
    return [
        *drawn_if_run(uploads, lambda part: _geostationary(part, "uploads")),
        *drawn_if_run(downloads, lambda part: _geostationary(part, "downloads")),
        *drawn_if_run(leo, _low_orbit),
    ]


def _geostationary(part: Results, name: str) -> Figure:
    return _longer(
        part,
        f"geo-{name}",
        f"How much longer {name} take where slots are assigned on demand",
        "Geostationary link, 40/4 Mbit/s and 600 ms; against constant allocation.",
        CAPACITY,
        {CONSTANT: ON_DEMAND},
    )


def _low_orbit(leo: Results) -> Figure:
    return _longer(
        leo,
        "low-orbit",
        "What handovers, and slots on demand, cost uploads over a low orbit",
        "20 Mbit/s and 40 ms. Steps every 15 s against a steady link, in one form with 100 ms "
        "before each in which nothing gets through; rbdc and forecast against constant slots, all "
        "with steps of delay.",
        LINK,
        {STEADY: (*HANDOVERS, LOSSY), CONSTANT: (PLAIN, FORESEEN)},
    )


def _longer(
    part: Results, name: str, title: str, more: str, axis: str, sides: dict[str, tuple[str, ...]]
) -> Figure:
    done = end_to_end(part)
    found = pl.concat([delays(done, axis, one, others) for one, others in sides.items()])
    frame = found.select(
        pl.col(SENDER).alias("group"),
        VOLUME,
        axis,
        *(
            (pl.col(f"relative_{bound}ratio") * 100).alias(column)
            for bound, column in (("", "mean"), ("low_", "low"), ("high_", "high"))
        ),
    )
    return Figure(
        name=name,
        title=title,
        caption=f"{LEGEND} {more}",
        chart=plots.estimates_by_setting(
            frame,
            setting=VOLUME,
            order=done[VOLUME].unique(maintain_order=True).to_list(),
            measure_title="longer / %",
            setting_title="volume",
            panels=axis,
        ),
    )


MODEL_LINK = DemandAssignedLink()

ADDED = "Half a round trip is added to the model's times, which end when the last segment leaves."
POINTS = "Lines: the model; points: simulated, means over the phases of the start."


def figures(results: Results) -> list[Figure]:
    """Draw stacks, times and slots by multiplier, then the model of the start-up."""
    done = transfers(results)
    stacks, startup = results.part("stacks"), results.part("startup")
    return [
        *drawn_if_run(stacks, over_time, by_placement),
        _times(done),
        _use(done),
        *drawn_if_run(startup, _volumes, _windows),
        *drawn_if_run(results.part("periods"), _equivalent),
        *([_by_volume(startup, stacks)] if startup is not None and stacks is not None else []),
        *drawn_if_run(results.part("policies"), _policies),
        *beyond_figures(*(results.part(name) for name in ("geo-uploads", "geo-downloads", "leo"))),
    ]


def _times(done: pl.DataFrame) -> Figure:
    sizes = done[SEGMENTS].unique().sort().to_list()
    modelled = formulas.completion_by_multiplier(MODEL_LINK, sizes).with_columns(
        pl.col("completion_time_s") + ONE_WAY_S
    )
    return Figure(
        name="duration-against-multiplier",
        title="How long a transfer takes, by how many times the measured rate is asked for",
        caption=f"{POINTS} The model is the exact solution. {ADDED}",
        chart=plots.curves(
            plots.model_curves(modelled, "", _by_size(done, TIME, "completion_time_s"))
        ),
    )


def _use(done: pl.DataFrame) -> Figure:
    sizes = done[SEGMENTS].unique().sort().to_list()
    return Figure(
        name="slot-use-against-multiplier",
        title="Slots used by slots assigned, by how many times the measured rate is asked for",
        caption=f"{POINTS} The model is the one that counts packets; the source has none.",
        chart=plots.curves(
            plots.model_curves(
                formulas.utilisation_by_multiplier(MODEL_LINK, sizes),
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
            plots.model_curves(formulas.carried_over_time(MODEL_LINK, (1, 3)), "", measured)
        ),
    )


def _windows(startup: Results) -> Figure:
    modelled = formulas.window_over_time(MODEL_LINK)
    measured = (
        windows(startup, ("initial", POLICY))
        .filter((pl.col("initial") == 3) & (pl.col(POLICY) == "rbdc"))
        .filter((pl.col("time_s") % 0.5 < 0.05) & pl.col("time_s").is_between(0, 12))
        .group_by("time_s", maintain_order=True)
        .agg(pl.col("window_segments").mean())
        .filter(pl.col("window_segments") <= float(MODEL_LINK.start_up(3).full_window_segments))
        .select(pl.lit("simulated").alias("curve"), "time_s", "window_segments")
        .sort("time_s")
    )
    return Figure(
        name="window-against-model",
        title="The congestion window until the link is full",
        caption="Lines: solutions of the delay equation; points: mean over the phases of the "
        "start. k = 1, initial window 3.",
        chart=plots.curves(plots.model_curves(modelled, "", measured)),
    )


def _equivalent(periods: Results) -> Figure:
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
    return Figure(
        name="equivalent-rtt",
        title="The equivalent round trip against the feedback delay",
        caption="Lines: the source's formula, and the exact one; points: time per doubling on "
        "a carrier that is never full.",
        chart=plots.curves(
            plots.model_curves(formulas.equivalent_rtt_by_ratio((1, 4.8)), "", measured)
        ),
    )


def _by_volume(startup: Results, stacks: Results) -> Figure:
    measured = curves_by_volume(startup, stacks).select(
        "curve", "volume_segments", pl.col("mean").alias("completion_time_s")
    )
    modelled = formulas.completion_by_volume(MODEL_LINK, 3.0, (4.8,)).with_columns(
        pl.col("completion_time_s") + ONE_WAY_S
    )
    return Figure(
        name="transfer-time-against-volume",
        title="Transfer time against volume: actual, over demand assignment, constant allocation",
        caption="Lines: the exact model, with half a round trip until the last segment is there; "
        "points: simulated, until it is read. Actual: Linux 2.6 with SACK, 300 packets of buffer; "
        "the others: ideal TCP. Initial window 3.",
        chart=plots.curves(plots.model_curves(modelled, "", measured)),
    )


def _policies(policies: Results) -> list[Figure]:
    done = transfers(policies).filter(pl.col(POLICY) != "rbdc and free slots")
    text = "Points: mean over the phases of the start; bars: 95 % interval of it."
    return [
        Figure(
            name=name,
            title=title,
            caption=f"{text} {more}",
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
                "Constant: 28 reserved slots; a terminal that takes free slots is as quick.",
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
