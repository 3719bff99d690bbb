"""How aggressive senders are against a reference: their excess share, and their answer to a loss.

The position paper on application-limited streams asks how far a sender may go beyond others. Here a
group is held against a reference group of the same runs, which meets the same path: what it puts on
the path and takes from it in excess of the reference, flow by flow, and how much it sends in the
round trips after it could have noticed a loss (`docs/concepts/measures.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from fairwind.errors import FairwindError
from fairwind.results import Results

ROUND_TRIPS = 4
"""Round trips after a loss that are looked at."""

LEAST_WINDOWS = 4
"""Windows that a round trip must have, so that it is known to a quarter or better."""

AFTER = tuple(f"after_{number}_ratio" for number in range(1, ROUND_TRIPS + 1))

MEASURES = (
    "excess_throughput_ratio",
    "excess_sent_ratio",
    "losses_answered",
    "round_trip_s",
    "before_packets",
    *AFTER,
    "excess_after_ratio",
)
"""Columns of the table behind ``flows``."""

RUN = ("cell", "replicate", "seed")

Counts = npt.NDArray[np.int64]


def aggression_of(results: Results, reference: str) -> pl.DataFrame:
    """Hold every group of a run against a reference group of the same cell and seed.

    Parameters
    ----------
    results : Results
        With windows of single flows, of a quarter of a round trip or shorter
        (``measure.per_flow_intervals``, ``measure.intervals``).
    reference : str
        The group that the others are held against.

    Returns
    -------
    DataFrame
        One row per cell, seed and group, with the columns of the axes: ``flows``;
        ``excess_throughput_ratio`` and ``excess_sent_ratio`` (what a flow takes from the path, in
        throughput, and puts on it, in bytes on the wire, over the same of a flow of the reference,
        less 1); ``losses_answered`` (losses before which the flow had lost nothing for a round
        trip, and which do not overlap); ``round_trip_s`` (median ACK latency of the flows, mean
        over them); ``before_packets`` (sent in the round trip before a loss, mean);
        ``after_1_ratio`` and so on (sent in the first round trip in which the flow could know of
        the loss, that is a round trip after it, and in those that follow, over those before it);
        ``excess_after_ratio`` (sent in all of them over those before, over the same of the
        reference, less 1). Missing where there is nothing to divide by.

    Raises
    ------
    FairwindError
        If the run has no such group, or no windows that are short enough.
    """
    groups = results.groups
    if reference not in groups["group"].unique():
        known = ", ".join(groups["group"].unique(maintain_order=True))
        raise FairwindError(
            f"there is no group {reference!r} in {results.folder}", f"known: {known}"
        )
    shares = _shares(groups, reference)
    answers = _answers(results)
    keys = [*RUN, "group"]
    table = shares.join(answers, on=keys, how="left", maintain_order="left")
    after = pl.mean_horizontal(*AFTER)
    of_reference = after.filter(pl.col("group") == reference).first().over(RUN)
    return table.with_columns(
        pl.col("losses_answered").fill_null(0),
        pl.when(of_reference > 0).then(after / of_reference - 1).alias("excess_after_ratio"),
    ).select(pl.exclude(*MEASURES), *MEASURES)


def _shares(groups: pl.DataFrame, reference: str) -> pl.DataFrame:
    """Give what a flow of each group takes and sends in excess of one of the reference."""
    axes = groups.columns[: groups.columns.index("group")]
    found = groups.select(
        *axes,
        "group",
        "flows",
        (pl.col("throughput_bits_per_second") / pl.col("flows")).alias("throughput"),
        (pl.col("wire_bytes_sent") / pl.col("flows")).alias("sent"),
    )
    excess = []
    for name in ("throughput", "sent"):
        of_reference = pl.col(name).filter(pl.col("group") == reference).first().over(RUN)
        ratio = pl.when(of_reference > 0).then(pl.col(name) / of_reference - 1)
        excess.append(ratio.alias(f"excess_{name}_ratio"))
    return found.with_columns(*excess).drop("throughput", "sent")


def _answers(results: Results) -> pl.DataFrame:
    """Give the answers to losses of every group, cell and seed."""
    windows, window_s = _windows(results)
    trips = results.flows.select(*RUN, "flow", "group", pl.col("ack_latency_p50_s").alias("trip"))
    rows = []
    for (cell, replicate, seed, group), flows in trips.group_by(
        [*RUN, "group"], maintain_order=True
    ):
        sums, before, losses = np.zeros(ROUND_TRIPS), 0.0, 0
        known = flows.drop_nulls("trip")
        for row in known.iter_rows(named=True):
            counted = windows.get((cell, replicate, row["flow"]))
            if counted is None:  # whatever it did, it did in a last window that is not whole
                continue
            found = list(_answers_of(*counted, _windows_of(row["trip"], window_s, group)))
            losses += len(found)
            for own, after in found:
                before += own
                sums += after
        rows.append(
            {
                "cell": cell,
                "replicate": replicate,
                "seed": seed,
                "group": group,
                "losses_answered": losses,
                "round_trip_s": known["trip"].mean(),
                "before_packets": before / losses if losses else None,
                **{
                    name: value / before if before else None
                    for name, value in zip(AFTER, sums.tolist(), strict=True)
                },
            }
        )
    schema = {name: trips.schema[name] for name in (*RUN, "group")}
    numbers = {"losses_answered": pl.Int64(), "round_trip_s": pl.Float64()}
    return pl.DataFrame(
        rows, schema=schema | numbers | dict.fromkeys(("before_packets", *AFTER), pl.Float64())
    )


def _windows_of(trip_s: float, window_s: float, group: object) -> int:
    """Give how many windows a round trip has."""
    count = round(trip_s / window_s)
    if count < LEAST_WINDOWS:
        raise FairwindError(
            f"windows of {1000 * window_s:g} ms are too long for the round trip of group {group}, "
            f"{1000 * trip_s:.3g} ms",
            f"add one of {1000 * trip_s / LEAST_WINDOWS:.2g} ms or less to measure.intervals",
        )
    return count


def _windows(
    results: Results,
) -> tuple[Mapping[tuple[int, int, int], tuple[Counts, Counts]], float]:
    """Give packets sent and lost in the shortest windows, by cell, replicate and flow."""
    columns = ["cell", "replicate", "flow", "interval_s", "start_s", "packets_sent", "packets_lost"]
    rows = results.scan("intervals").filter(pl.col("scope") == "flow").select(columns)
    frame = rows.collect(engine="streaming")
    if frame.is_empty():
        raise FairwindError(
            f"the run in {results.folder} has no windows of single flows",
            "set measure.per_flow_intervals = true, and measure.intervals to a quarter of a round "
            "trip or less",
        )
    window_s = float(frame.select(pl.col("interval_s").min()).item())
    shortest = frame.filter(pl.col("interval_s") == window_s)
    # Windows in which nothing happened may have no rows.
    places = shortest.with_columns(
        (pl.col("start_s") / window_s).round().cast(pl.Int64).alias("place")
    ).with_columns((pl.col("place") - pl.col("place").min().over("cell")).alias("place"))
    last = dict(places.group_by("cell").agg(pl.col("place").max()).iter_rows())
    keys = ["cell", "replicate", "flow"]
    found = {}
    for (cell, replicate, flow), own in places.group_by(keys):
        sent, lost = (np.zeros(last[cell] + 1, np.int64) for _ in range(2))
        where = own["place"].to_numpy()
        sent[where] = own["packets_sent"].to_numpy()
        lost[where] = own["packets_lost"].to_numpy()
        found[cell, replicate, flow] = (sent, lost)
    return found, window_s


def _answers_of(
    sent: Counts, lost: Counts, trip: int
) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    """Give packets in the round trip before each loss, and in those after it was noticed.

    Parameters
    ----------
    sent, lost : int64, shape (windows,)
        Packets of one flow.
    trip : int
        Windows of a round trip.
    """
    sums = np.concatenate([[0], np.cumsum(sent)])
    span = (ROUND_TRIPS + 1) * trip
    free_from, last_loss = trip, -trip - 1
    for place in np.flatnonzero(lost).tolist():
        is_first = place - last_loss > trip
        last_loss = place
        if not is_first or place < free_from or place + span > len(sent):
            continue
        before = int(sums[place] - sums[place - trip])
        if before:
            ends = sums[place + trip : place + span + 1 : trip]
            yield before, np.diff(ends).astype(np.float64)
            free_from = place + span
