"""The applications whose traffic was recorded, as a frame."""

from __future__ import annotations

from typing import Any

import polars as pl

from fairwind.engine import recorded_applications
from fairwind.quantities import parse_bytes, parse_seconds

INTERVALS = ("mean", "median", "min", "max", "percentile_1", "percentile_99")


def recorded_streams() -> pl.DataFrame:
    """Give one row for each application that ``kind = "profile"`` knows, in the table's order.

    Returns
    -------
    polars.DataFrame
        Columns ``application``, ``recorded_over`` (``tcp`` or ``udp``), ``payload_min_bytes`` and
        so on, ``interval_mean_s`` and so on (missing for greedy streams), ``packets_per_second``
        and ``bits_per_second`` as they were printed.
    """
    return pl.DataFrame([_row(each) for each in recorded_applications()], infer_schema_length=None)


def _row(recording: dict[str, Any]) -> dict[str, Any]:
    payload, interval = recording["payload"], recording["interval"]
    return {
        "application": recording["application"],
        "recorded_over": recording["transport"],
        **{f"payload_{name}_bytes": round(parse_bytes(size)) for name, size in payload.items()},
        **{
            f"interval_{name}_s": None if interval is None else parse_seconds(interval[name])
            for name in INTERVALS
        },
        "packets_per_second": recording["packets_per_second"],
        "bits_per_second": recording["bits_per_second"],
    }
