"""Times, use of slots, windows and volumes of start-ups, run by run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from fairwind.results import Results
from fairwind.statistics import paired_difference, relative_change
from fairwind.studies.workloads import end_of_run

MULTIPLIER, SEGMENTS, POLICY = "multiplier", "segments", "policy"

ROUND_TRIP_S = 0.84
ONE_WAY_S = ROUND_TRIP_S / 2
FRAME_S = 0.273
CHANNEL_BITS_PER_SECOND = 28 * 44_000
"""The most that a terminal of the study may have."""

PAYLOAD_BYTES = 1448
"""Of a segment; the model's has 1500 bytes with its headers."""

COLUMNS = {
    "path_terminal_requests_multiplier": MULTIPLIER,
    "path_queue_limit": "limit",
}
"""Names of axes in scenarios, and here."""

TIME, USE = "transfer_time_s", "slot_use_ratio"

DEMANDED_USE = "demanded_slot_use_ratio"
"""The same, where a guaranteed slot that stays idle is not held to have been assigned."""


def with_axes(frame: pl.DataFrame) -> pl.DataFrame:
    """Call the axes of a table as this study does, multipliers as numbers."""
    known = {column: name for column, name in COLUMNS.items() if column in frame.columns}
    renamed = frame.rename(known)
    numbers = [name for name in (MULTIPLIER, SEGMENTS) if name in renamed.columns]
    return renamed.with_columns(pl.col(numbers).cast(pl.String).cast(pl.Float64))


def transfers(results: Results) -> pl.DataFrame:
    """Give every transfer's time and use of slots.

    Returns
    -------
    DataFrame
        The axes, ``cell``, ``seed``, ``group``, `TIME` (from the establishment of the
        connection until the last byte and the end of the stream are at the far end, half a round
        trip after they left; missing where it did not end) and, of runs on one path
        with a table of frames, `USE`: slots used over slots assigned, of the frames that began
        from the establishment on until the last segment left; and `DEMANDED_USE`: the same without
        what nobody asked for, which are guaranteed slots that stayed idle, and without slots of the
        last frame that come after the last segment.
    """
    timed = with_axes(results.flows).with_columns(
        (pl.col("completion_time_s") - pl.col("setup_time_s")).alias(TIME),
    )
    axes = [name for name in (MULTIPLIER, SEGMENTS, POLICY, "delay") if name in timed.columns]
    kept = timed.select("cell", "seed", *axes, "group", "start_s", "setup_time_s", TIME)
    if kept["group"].n_unique() > 1 or not results.has_table("slot_intervals"):
        return kept.drop("start_s", "setup_time_s")
    return _with_use(kept, results.slot_intervals)


def _with_use(kept: pl.DataFrame, frames: pl.DataFrame) -> pl.DataFrame:
    begun = pl.col("start_s") + pl.col("setup_time_s")
    spans = kept.select(
        "cell",
        "seed",
        begun.alias("begun_s"),
        (begun + pl.col(TIME) - ONE_WAY_S).alias("last_left_s"),
    )
    used_slots, assigned = (
        pl.col(f"slots_{what}").cast(pl.Float64) for what in ("used", "assigned")
    )
    within = ((pl.col("last_left_s") - pl.col("start_s")) / pl.col("interval_s")).clip(0, 1)
    # Which of a terminal's slots stay idle is nobody's choice, so as many of each kind as it has.
    wasted = (assigned * within - used_slots).clip(0) * (
        1 - pl.col("slots_guaranteed").cast(pl.Float64) / assigned
    )
    used = (
        frames.join(spans, on=["cell", "seed"])
        .filter(pl.col("start_s").is_between("begun_s", "last_left_s"))
        .group_by("cell", "seed")
        .agg(
            (used_slots.sum() / assigned.sum()).alias(USE),
            (used_slots.sum() / (used_slots + wasted).sum()).alias(DEMANDED_USE),
        )
    )
    joined = kept.join(used, on=["cell", "seed"], how="left", maintain_order="left")
    return joined.drop("start_s", "setup_time_s")


def compared(
    frame: pl.DataFrame,
    measure: str,
    axis: str,
    sides: tuple[float | str, float | str],
    by: Sequence[str],
) -> pl.DataFrame:
    """Compare a measure at two settings of an axis, paired by seed (and by group).

    Returns
    -------
    DataFrame
        The columns `by`, ``mean_first``, ``mean_second``, ``difference`` (second less first) with
        ``low`` and ``high``, and the same as ratios of the first; 95 % intervals.
    """
    keys = [*by, "seed", "group"]
    first, second = (
        frame.filter(pl.col(axis) == side).select(*keys, pl.col(measure).alias(name))
        for side, name in zip(sides, ("first", "second"), strict=True)
    )
    pairs = first.join(second, on=keys, maintain_order="left")
    rows = []
    for key, part in pairs.group_by(list(by), maintain_order=True):
        one, other = part["first"].to_numpy(), part["second"].to_numpy()
        found = paired_difference(one, other)
        relative = relative_change(one, other, is_paired=True)
        rows.append(
            dict(zip(by, key, strict=True))
            | {
                "mean_first": found.mean_a,
                "mean_second": found.mean_b,
                "difference": found.estimate,
                "low": found.low,
                "high": found.high,
                "relative_ratio": relative.estimate,
                "relative_low_ratio": relative.low,
                "relative_high_ratio": relative.high,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


PERIODS = {
    "near, 1 and 1": (0.001, 2),
    "near, 4 and 1": (0.001, 5),
    "far, 1 and 1": (ROUND_TRIP_S / 2, 2),
    "far, 2 and 1": (ROUND_TRIP_S / 2, 3),
    "far, 4 and 1": (ROUND_TRIP_S / 2, 5),
    "far, 8 and 1": (ROUND_TRIP_S / 2, 9),
}
"""Of each setting of periods.toml: the signalling delay, and both periods together in frames."""

WATCHED_S = 20.0
"""Observed time of a start-up, as in the source."""


def delay_ratio(setting: str) -> float:
    """Give rho of a setting: the feedback delay by the round trip."""
    signalling_s, frames = PERIODS[setting]
    return (ROUND_TRIP_S + 2 * signalling_s + frames * FRAME_S / 2) / ROUND_TRIP_S


def equivalent_rtts(periods: Results) -> pl.DataFrame:
    """Measure the round trip over constant capacity that would grow as fast, by the real one.

    Slow start over constant capacity doubles what it has carried in every round trip. So the time
    from the end of the smaller transfer to that of the larger one, by the doublings in between, is
    the equivalent round trip.

    Returns
    -------
    DataFrame
        ``delay``, ``delay_ratio``, `MULTIPLIER`, ``seed``, ``equivalent_rtt_ratio``.
    """
    times = transfers(periods)
    sizes = times[SEGMENTS].unique().sort().to_list()
    doublings = math.log2(sizes[-1] / sizes[0])
    keys = ["delay", MULTIPLIER, "seed"]
    small, large = (
        times.filter(pl.col(SEGMENTS) == size).select(*keys, TIME) for size in (sizes[0], sizes[-1])
    )
    took = pl.col(f"{TIME}_right") - pl.col(TIME)
    return small.join(large, on=keys, maintain_order="left").select(
        *keys,
        pl.col("delay").replace_strict(
            {setting: delay_ratio(setting) for setting in PERIODS}, return_dtype=pl.Float64
        ).alias("delay_ratio"),
        (took / doublings / ROUND_TRIP_S).alias("equivalent_rtt_ratio"),
    )  # fmt: skip


def carried(results: Results, axes: tuple[str, ...]) -> pl.DataFrame:
    """Give the bytes read, by the time since the connection was established.

    Returns
    -------
    DataFrame
        The axes, ``seed``, ``time_s`` (0 when the connection is established), ``carried_bytes``.
    """
    windows = with_axes(results.intervals)
    read = pl.col("goodput_bits_per_second") * pl.col("interval_s") / 8
    begun = beginnings(results)
    return (
        windows.join(begun, on=["cell", "seed"])
        .sort("cell", "seed", "start_s")
        .select(
            *axes,
            "seed",
            (pl.col("start_s") + pl.col("interval_s") - pl.col("begun_s")).alias("time_s"),
            read.cum_sum().over("cell", "seed").alias("carried_bytes"),
        )
        .filter(pl.col("time_s") >= 0)
    )


def carried_by(frame: pl.DataFrame, axes: tuple[str, ...], until_s: float) -> pl.DataFrame:
    """Give the volume of each run at a time, in megabytes: ``carried_megabytes``."""
    return (
        frame.filter(pl.col("time_s") <= until_s)
        .group_by(*axes, "seed", maintain_order=True)
        .agg((pl.col("carried_bytes").max() * 1e-6).alias("carried_megabytes"))
    )


def times_of_volumes(
    frame: pl.DataFrame, axes: tuple[str, ...], volumes: tuple[float, ...]
) -> pl.DataFrame:
    """Give when each run had carried so many segments: ``volume_segments``, ``time_s``."""
    parts = [
        frame.filter(pl.col("carried_bytes") >= volume * PAYLOAD_BYTES)
        .group_by(*axes, "seed", maintain_order=True)
        .agg(pl.col("time_s").min(), pl.lit(volume).alias("volume_segments"))
        for volume in volumes
    ]
    return pl.concat(parts)


def windows(results: Results, axes: tuple[str, ...]) -> pl.DataFrame:
    """Give congestion windows over time: the axes, ``seed``, ``time_s``, ``window_segments``."""
    samples = with_axes(results.endpoint)
    return samples.join(beginnings(results), on=["cell", "seed"]).select(
        *axes,
        "seed",
        (pl.col("time_s") - pl.col("begun_s")).round(1).alias("time_s"),
        pl.col("cwnd_packets").cast(pl.Float64).alias("window_segments"),
    )


def beginnings(results: Results) -> pl.DataFrame:
    """Give when each run's connection was established: ``cell``, ``seed``, ``begun_s``."""
    begun = pl.col("start_s") + pl.col("setup_time_s")
    return results.flows.select("cell", "seed", begun.alias("begun_s"))


STACK, REQUEST, LIMIT = "stack", "request", "limit"
AXES = (STACK, REQUEST, LIMIT)

WITHOUT, WITH, FREEBSD = "Linux 2.6 without SACK", "Linux 2.6 with SACK", "FreeBSD 5.4"

SETTLED_S = 20.0
"""After so long a start-up counts as over: the source shows as much."""

CHANNEL_PAYLOAD = CHANNEL_BITS_PER_SECOND * PAYLOAD_BYTES / 1500
"""Payload rate of the largest number of slots, with full packets, in bit/s."""


def behaviour(stacks: Results) -> pl.DataFrame:
    """Give the measures of each run.

    Returns
    -------
    DataFrame
        `AXES`, ``seed``, ``timeouts``, ``packets_lost``, ``rate_ratio`` (goodput from 20 s on by
        what the most slots carry), ``irregularity_ratio`` (deviation of the goodput in windows of
        a second by its mean, from 20 s on; missing where nothing came), ``rtt_ratio`` (median of
        the smoothed round trip from 20 s on by the one without queues); ``early_lost`` and
        ``early_rtt_ratio`` are the packets lost and the round trip of the first 20 s.
    """
    counted = with_axes(stacks.flows).select(
        *AXES, "cell", "seed", "timeouts", "packets_lost", "data_segments_retransmitted"
    )
    rate = pl.col("goodput_bits_per_second")
    settled = stacks.intervals.filter(pl.col("start_s") >= SETTLED_S)
    rates = settled.group_by("cell", "seed").agg(
        (rate.mean() / CHANNEL_PAYLOAD).alias("rate_ratio"),
        pl.when(rate.mean() > 0).then(rate.std() / rate.mean()).alias("irregularity_ratio"),
    )
    waited = stacks.endpoint.filter(pl.col("time_s") >= SETTLED_S)
    trips = waited.group_by("cell", "seed").agg(
        (pl.col("smoothed_rtt_s").median() / ROUND_TRIP_S).alias("rtt_ratio")
    )
    early = stacks.intervals.filter(pl.col("start_s") < SETTLED_S)
    lost = early.group_by("cell", "seed").agg(pl.col("packets_lost").sum().alias("early_lost"))
    first = stacks.endpoint.filter(pl.col("time_s") < SETTLED_S)
    first_trips = first.group_by("cell", "seed").agg(
        (pl.col("smoothed_rtt_s").median() / ROUND_TRIP_S).alias("early_rtt_ratio")
    )
    keys = ["cell", "seed"]
    return (
        counted.join(rates, on=keys, how="left", maintain_order="left")
        .join(trips, on=keys, how="left", maintain_order="left")
        .join(lost, on=keys, how="left", maintain_order="left")
        .join(first_trips, on=keys, how="left", maintain_order="left")
        .drop("cell")
    )


def by_buffer(runs: pl.DataFrame, stack: str, request: str) -> pl.DataFrame:
    """Give one row for each buffer of one stack and way of asking.

    Returns
    -------
    DataFrame
        `LIMIT`, ``runs``, ``with_timeout`` and ``without_loss`` (shares of the runs), and means of
        the other measures of `behaviour`.
    """
    chosen = runs.filter((pl.col(STACK) == stack) & (pl.col(REQUEST) == request))
    return chosen.group_by(LIMIT, maintain_order=True).agg(
        pl.len().alias("runs"),
        (pl.col("timeouts") > 0).mean().alias("with_timeout"),
        (pl.col("packets_lost") == 0).mean().alias("without_loss"),
        pl.col("timeouts", "packets_lost").mean(),
        pl.col("rate_ratio", "irregularity_ratio", "rtt_ratio").mean(),
        (pl.col("early_lost") == 0).mean().alias("early_without_loss"),
        pl.col("early_rtt_ratio").mean(),
        pl.col("rate_ratio").min().alias("least_rate_ratio"),
    )


MARGIN_RATIO = 0.05
"""A difference in time below this counts as none."""

SENDER, VOLUME, CAPACITY, LINK = "sender", "volume", "capacity", "link"

CONSTANT, PLAIN, BOTH, FORESEEN = "constant", "rbdc", "rbdc and vbdc", "forecast"
RAISED = "rbdc, k = 4.8"
ON_DEMAND = (PLAIN, "vbdc", BOTH, FORESEEN)

STEADY = "steady"
HANDOVERS = ("delay steps", "delay and rate steps")
"""Of a link without slots; those with slots have steps of delay, too."""

LOSSY = "delay steps, outage"
"""Delay steps before each of which nothing gets through for a tenth of a second."""

STEP_S = 15.0
"""From one handover to the next; the first one is so long after the beginning of the run."""

MET = "handovers_met"

THROUGH = ("cubic", "hybla", "bbr")
"""Senders without a proxy."""


def end_to_end(results: Results) -> pl.DataFrame:
    """Give every transfer's time from its start until the last byte is read at its far end.

    Returns
    -------
    DataFrame
        The axes, ``cell``, ``seed``, ``group`` (always the same), `TIME`, which is missing where
        a connection of the transfer did not end, and `MET`: how often `STEP_S` passed meanwhile. A
        relay's flow counts from the first half's start.
    """
    axes = [name for name in (SENDER, CAPACITY, LINK, VOLUME) if name in results.flows.columns]
    completion = pl.col("completion_time_s")
    return (
        results.flows.group_by("cell", "seed", *axes, maintain_order=True)
        .agg(
            pl.when(completion.is_not_null().all()).then(completion.max()).alias(TIME),
            pl.col("timeouts").sum(),
            pl.col("start_s").min(),
        )
        .with_columns(
            pl.lit("transfer").alias("group"),
            (
                ((pl.col("start_s") + pl.col(TIME)) / STEP_S).floor()
                - (pl.col("start_s") / STEP_S).floor()
            ).alias(MET),
        )
        .drop("start_s")
    )


def delays(done: pl.DataFrame, axis: str, against: str, others: tuple[str, ...]) -> pl.DataFrame:
    """Compare each other setting of an axis with one, by sender and volume, paired by seed.

    Returns
    -------
    DataFrame
        What `compared` gives, with the column of the axis.
    """
    rows = [
        compared(done, TIME, axis, (against, other), [SENDER, VOLUME]).with_columns(
            pl.lit(other).alias(axis)
        )
        for other in others
        if other in done[axis].to_list()
    ]
    return pl.concat(rows)


LOAD = "load"


def under_load(results: Results) -> pl.DataFrame:
    """Give the mean time of all transfers of a run with many terminals, and their use of slots.

    Returns
    -------
    DataFrame
        `POLICY`, `LOAD`, ``seed``, ``group`` (always the same), `TIME` (from the establishment of
        the connection; to the end of the run where a transfer was not done), ``unfinished`` and
        `USE` (slots used over slots assigned, of all terminals and the whole run).
    """
    keys = [POLICY, LOAD, "seed"]
    began = pl.col("start_s") + pl.col("setup_time_s").fill_null(0.0)
    end = end_of_run(results)
    timed = results.flows.with_columns(
        (pl.col("start_s") + pl.col("completion_time_s")).fill_null(end).sub(began).alias(TIME)
    )
    used = (
        results.table("slots")
        .group_by(keys, maintain_order=True)
        .agg((pl.col("slots_used").sum() / pl.col("slots_assigned").sum()).alias(USE))
    )
    return (
        timed.group_by(keys, maintain_order=True)
        .agg(
            pl.lit("all").alias("group"),
            pl.col(TIME).mean(),
            pl.col("completion_time_s").null_count().alias("unfinished"),
        )
        .join(used, on=keys, how="left", maintain_order="left")
    )
