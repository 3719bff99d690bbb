"""Claims on the platform itself."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.groups import interval_per_panel

from .in_words import mean_in_words, not_run
from .transfers import FRAME_S

SOURCE_DELAY_S = 0.5

GUARANTEED_BITS_PER_SECOND = 44_000
"""A request for no more brings no slots."""


def platform_claims(table: Results) -> list[Claim]:
    """Judge how long capacity is in coming."""
    return [capacity_comes_late(table)]


def allocation_delays(table: Results) -> pl.DataFrame:
    """Give how long slots were in coming: the first ones for a rate, after the first such request.

    A request for no more than is guaranteed does not count. Both are known to a frame: to its
    beginning of the slots, to its end of the request. So the
    delay is too short by a frame at most.

    Returns
    -------
    DataFrame
        ``cell``, ``seed``, ``delay_s``.
    """
    frames = table.slot_intervals
    asked = (
        frames.filter(pl.col("requested_max_bits_per_second") > GUARANTEED_BITS_PER_SECOND)
        .group_by("cell", "seed", maintain_order=True)
        .agg((pl.col("start_s").min() + FRAME_S).alias("asked_s"))
    )
    came = (
        frames.filter(pl.col("slots_by_rate") > 0)
        .group_by("cell", "seed", maintain_order=True)
        .agg(pl.col("start_s").min().alias("came_s"))
    )
    return came.join(asked, on=["cell", "seed"], maintain_order="left").select(
        "cell", "seed", (pl.col("came_s") - pl.col("asked_s")).alias("delay_s")
    )


def capacity_comes_late(table: Results) -> Claim:
    """Judge: half a second or more passes between a request and its slots."""
    statement = "Capacity comes half a second or more after it was asked for."
    rule = (
        "From the end of the frame with a terminal's first request for more than is guaranteed to "
        "the beginning of the first frame with slots for it, in every transfer. Borne out: the "
        "shortest is "
        f"{SOURCE_DELAY_S:g} s or more; otherwise not."
    )
    details = allocation_delays(table)
    if not details.height:
        return not_run(statement, rule)
    row = interval_per_panel(details.with_columns(pl.lit("all").alias("of")), "delay_s", ("of",))
    shortest = float(details["delay_s"].to_numpy().min())
    return Claim(
        statement=statement,
        rule=rule,
        verdict=Verdict.BORNE_OUT if shortest >= SOURCE_DELAY_S else Verdict.NOT_BORNE_OUT,
        evidence=(
            f"The shortest {shortest:.2f} s, the mean {mean_in_words(row.row(0, named=True))} s, "
            f"a frame ({FRAME_S:g} s) more at most."
        ),
        details=row,
    )
