"""Made-up results of the study of remembered windows: transfers, and what they took."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl


def flow(number: int, time_s: float | None, **axes: object) -> dict[str, object]:
    """Give the row of one transfer's data."""
    return {
        "cell": 0,
        "seed": 1,
        "group": "web-responses",
        "name": f"web-responses-1-{number}",
        "start_s": float(number),
        "completion_time_s": time_s,
        "packets_lost": number,
    } | axes


def made_up(flows: list[dict[str, object]], **tables: pl.DataFrame) -> SimpleNamespace:
    """Give results with these flows."""
    experiment = {"network": {"links": [{"name": "bottleneck", "rate": "100 Mbit/s"}]}}
    plan = SimpleNamespace(cells=[SimpleNamespace(experiment=experiment)])
    return SimpleNamespace(
        flows=pl.DataFrame(flows, infer_schema_length=None),
        manifest=SimpleNamespace(plan=plan, is_real_time=False),
        **tables,
    )
