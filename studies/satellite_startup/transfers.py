"""What a transfer took, and how much of what it was assigned it used, run by run."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairwind.results import Results
from fairwind.statistics import paired_difference, relative_change

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
"""What axes are called in scenarios, and here."""

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
        whose frames were watched, `USE`: slots used over slots assigned, of the frames that began
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
