"""Results of thin against greedy streams, made up by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from fairwind.scenario import Plan

SEEDS = (101, 102, 103, 104)

MEASURES = {
    "flows": 10,
    "flows_problematic": 0,
    "goodput_bits_per_second": 96_000.0,
    "throughput_bits_per_second": 137_600.0,
    "packet_loss_ratio": 0.02,
    "ack_latency_mean_s": 0.3,
    "delivery_latency_mean_s": 0.3,
    "delivery_latency_p50_s": 0.3,
    "delivery_latency_p99_s": 0.3,
    "ack_latency_p50_s": 0.25,
    "ack_latency_p99_s": 0.9,
    "measured_s": 300.0,
}


@dataclass(frozen=True)
class Manifest:
    plan: Plan
    is_real_time: bool = False


@dataclass(frozen=True)
class MadeUp:
    """What the studies read of results."""

    groups: pl.DataFrame
    manifest: Manifest
    extra: dict[str, Any] = field(default_factory=dict)
    queue_loss_runs: pl.DataFrame = field(default_factory=pl.DataFrame)


def made_up(axes: dict[str, tuple[Any, ...]], **columns: pl.Expr) -> MadeUp:
    """Make results up: a grid in which nothing differs but what ``columns`` say.

    Every seed moves every measure by some millionths, so that no spread is zero.
    """
    names = list(axes)
    points: list[tuple[Any, ...]] = [()]
    for values in axes.values():
        points = [(*point, value) for point in points for value in values]
    cells, rows = [], []
    for index, point in enumerate(points):
        settings = dict(zip(names, map(str, point), strict=True))
        described = experiment(int(settings.get("flows.thin.count", 10)))
        cells.append({"index": index, "settings": settings, "experiment": described})
        place = {
            name.replace(".*.", "_").replace(".", "_"): value
            for name, value in zip(names, point, strict=True)
        }
        rows += [
            {"cell": index, "seed": seed, **place, "group": group, **MEASURES}
            for seed in SEEDS
            for group in ("greedy", "thin")
        ]
    document = {
        "name": "made up",
        "description": "",
        "repeat": len(SEEDS),
        "seeds": list(SEEDS),
        "axes": [
            {"name": name, "labels": [str(value) for value in values]}
            for name, values in axes.items()
        ],
        "cells": cells,
    }
    moved = 1 + (pl.col("seed") - 102) * 1e-6
    floats = [name for name, value in MEASURES.items() if isinstance(value, float)]
    groups = pl.DataFrame(rows).with_columns(
        pl.col(name) * moved for name in floats if name != "measured_s"
    )
    groups = groups.with_columns(value.alias(name) for name, value in columns.items())
    return MadeUp(groups, Manifest(Plan.from_document(document, ())))


def experiment(thin: int = 10) -> dict[str, Any]:
    interval = {"distribution": "normal", "mean": "100 ms", "deviation": "15 ms"}
    return {
        "name": "made up",
        "network": {"links": [{"name": "bottleneck", "rate": "5 Mbit/s"}]},
        "flows": [
            {"name": "greedy", "count": 5, "workload": {"kind": "greedy"}, "tcp": {}},
            {
                "name": "thin",
                "count": thin,
                "workload": {"kind": "thin", "size": {"payload": "120 B"}, "interval": interval},
                "tcp": {},
            },
        ],
    }


def when(condition: pl.Expr, value: pl.Expr, name: str) -> pl.Expr:
    """Change a column where a condition holds."""
    return pl.when(condition).then(value).otherwise(pl.col(name))
