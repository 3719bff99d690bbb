"""The segments that were waited for longest, as people read them: which, how long, and why."""

from __future__ import annotations

from typing import Any

import polars as pl

from fairwind.results import Results

SLOWEST = "slowest"

CAUSES = {
    "": "not sent again",
    "fast_retransmit": "fast retransmit",
    "timeout": "time-out",
    "after_timeout": "after a time-out",
    "tail_loss_probe": "tail loss probe",
    "unknown": "cause not known",
}
"""Why a segment was sent again the last time."""

ENDS = {
    "sender": "until acknowledged",
    "receiver": "until acknowledged, near the receiver",
    "both": "until in order at the receiver",
}
"""Events that end a delay, by point of capture."""

UNTIL = "waited"

HEADERS = (
    "longest waits",
    "sent at / s",
    "waited / ms",
    UNTIL,
    "bytes of the stream",
    "sent again",
    "the last time by",
    "segments behind it",
    "payload behind it / B",
)


def slowest_rows(results: Results, many: int) -> list[dict[str, Any]]:
    """Give rows of the table ``slowest``, the longest waits first; none if there is no table.

    Parameters
    ----------
    results : Results
    many : int
        So many at most, of all cells and replicates together.
    """
    if many == 0 or not results.has_table(SLOWEST):
        return []
    rows = results.scan(SLOWEST).sort("wait_s", descending=True, maintain_order=True).head(many)
    if not results.manifest.plan.seeds:
        rows = rows.drop("cell", "replicate", "seed", strict=False)
    return rows.with_columns(pl.col("cause").replace("", None)).collect().to_dicts()


def readable_slowest(results: Results, many: int) -> tuple[list[str], list[list[object]]]:
    """Give headers and cells of the longest waits."""
    rows = slowest_rows(results, many)
    headers, cells = list(HEADERS), [_cells(row) for row in rows]
    if len({row["seen_at"] for row in rows}) == 1:
        place = headers.index(UNTIL)
        headers[place - 1] = f"{cells[0][place]} / ms"
        del headers[place]
        for row in cells:
            del row[place]
    return headers, cells


def _cells(row: dict[str, Any]) -> list[object]:
    place, size = row["place_bytes"], row["payload_bytes"]
    return [
        row["name"],
        f"{row['sent_s']:.3f}",
        row["wait_s"] * 1000,
        ENDS.get(row["seen_at"], row["seen_at"]),
        f"{place} to {place + size - 1}" if size else str(place),
        row["repeats"],
        CAUSES.get(row["cause"] or "", row["cause"]),
        row["segments_behind"],
        row["bytes_behind"],
    ]
