"""What two flows get of the path, run by run."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from fairwind.errors import FairwindError
from fairwind.quantities import parse_bits_per_second, parse_seconds
from fairwind.results import Results
from fairwind.statistics import efficiency, friendliness, jain_index, min_to_max

CONTROL, BANDWIDTH, LIMIT, RTT = "control", "bandwidth", "limit", "rtt_ms"

PLACE = (BANDWIDTH, LIMIT, RTT)
"""The columns that tell a cell of the source's grid from others."""

STANDARD = "reno"
"""The label of standard TCP, the baseline of everything."""

FIXED_RTT_MS = 162
"""The first flow's round trip where round trips differ."""

PAYLOAD_RATIO = 1448 / 1500
"""What a full packet carries beside the headers of IPv4 and TCP with time stamps."""

COLUMNS = {
    "path_rtt": RTT,
    "rtt": RTT,
    "flows_second_rtt": RTT,
    "path_queue_limit": LIMIT,
}
"""What axes are called in scenarios, and here."""

STARVED_RATIO = 1000.0
"""A flow that gets a thousandth of another one's rate, or less, is starved."""


def shares(results: Results) -> pl.DataFrame:
    """Give what both flows get in every run.

    Returns
    -------
    DataFrame
        The axes (`CONTROL` and those of `PLACE` that the run has), ``seed``, ``first`` and
        ``second`` (goodput, bit/s), ``packets_lost`` (of both), ``fairness`` (the smaller share by
        the larger), ``jain_index``, ``efficiency`` (of what the path carries of payload),
        ``friendliness`` (second by first) and ``advantage`` (the same, but of the shorter round
        trip by the longer, from 1/1000 to 1000).
    """
    first, second = (_of_group(results, name) for name in ("first", "second"))
    keys = [*_axes(first), "seed"]
    pairs = first.join(second, on=keys, suffix="_second", maintain_order="left").select(
        *keys,
        pl.col("goodput_bits_per_second").alias("first"),
        pl.col("goodput_bits_per_second_second").alias("second"),
        (pl.col("packets_lost") + pl.col("packets_lost_second")).alias("packets_lost"),
    )
    measured = [
        {
            "fairness": min_to_max((row["first"], row["second"])),
            "jain_index": jain_index((row["first"], row["second"])),
            "efficiency": _efficiency(row) if BANDWIDTH in row else None,
            "friendliness": friendliness(row["second"], row["first"]),
            "advantage": _advantage(row),
        }
        for row in pairs.iter_rows(named=True)
    ]
    return pl.concat([pairs, pl.DataFrame(measured, infer_schema_length=None)], how="horizontal")


def with_places(frame: pl.DataFrame) -> pl.DataFrame:
    """Call the axes of a table as this study does: round trips as numbers of milliseconds."""
    known = {column: name for column, name in COLUMNS.items() if column in frame.columns}
    renamed = frame.rename(known)
    if RTT not in renamed.columns:
        return renamed
    millis = {text: round(1000 * parse_seconds(text)) for text in renamed[RTT].unique()}
    return renamed.with_columns(pl.col(RTT).replace_strict(millis, return_dtype=pl.Int64))


def payload_capacity(bandwidth: str) -> float:
    """Give what a path carries of payload in full packets, in bit/s."""
    return parse_bits_per_second(bandwidth) * PAYLOAD_RATIO


def part_of(
    results: Results, name: str, read: Callable[[Results], pl.DataFrame]
) -> pl.DataFrame | None:
    """Read something of a further part of the study; None where it has not been run."""
    part = results.part(name)
    return None if part is None else read(part)


def controls(frame: pl.DataFrame) -> list[str]:
    """Give the congestion controls of a frame, in its order."""
    names: list[str] = frame[CONTROL].unique(maintain_order=True).to_list()
    return names


def _of_group(results: Results, group: str) -> pl.DataFrame:
    frame = with_places(results.groups.filter(pl.col("group") == group))
    if CONTROL not in frame.columns:
        raise FairwindError(
            f"the run in {results.folder} has no axis {CONTROL!r}",
            "keep it, and choose congestion controls by --set 'sweep.control=[\"reno\", ...]'",
        )
    return frame


def _axes(frame: pl.DataFrame) -> list[str]:
    names: list[str] = []
    for name in frame.columns:
        if name == "group":
            break
        if name not in ("cell", "replicate", "seed"):
            names.append(name)
    return names


def _efficiency(row: dict[str, float | str]) -> float:
    both = (float(row["first"]), float(row["second"]))
    return efficiency(both, payload_capacity(str(row[BANDWIDTH])))


def _advantage(row: dict[str, float]) -> float:
    second_is_shorter = row.get(RTT, FIXED_RTT_MS) <= FIXED_RTT_MS
    short, long = ("second", "first") if second_is_shorter else ("first", "second")
    ratio = friendliness(row[short], row[long])
    return min(max(ratio, 1 / STARVED_RATIO), STARVED_RATIO)
