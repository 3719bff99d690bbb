"""Made-up results in the shape of real ones, and an engine that plays a script.

The numbers follow simple rules (goodput grows with the flow count, each seed moves it a little),
so tests know what to expect.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwind.engine.engines import Cancelled, Experiment, Refusal
from fairwind.scenario import Plan

VARIANTS = ("TCP", "mFR", "LT", "LT+mFR")


BOTTLENECK = {
    "name": "bottleneck",
    "from": "left",
    "to": "right",
    "rate": "1 Mbit/s",
    "delay": "25 ms",
    "queue": {"discipline": "pfifo", "limit_packets": 9},
}
"""As resolved experiments have it, but for what no page shows."""


WAY = {"from": "left", "to": "right"}

NETWORK = {
    "mtu": "1500 B",
    "links": [BOTTLENECK, {"name": "back", "from": "right", "to": "left", "delay": "25 ms"}],
    "nodes": [{"name": name, "kind": "host"} for name in ("left", "right")],
}


def experiment(count: int = 1, variant: str = "TCP") -> dict[str, Any]:
    tcp = {"timestamps": True, "linear_timeouts": "LT" in variant}
    return {
        "name": "made up",
        "duration": "90 s",
        "network": NETWORK,
        "flows": [
            {"name": "greedy", "count": count, "workload": {"kind": "greedy"}, "tcp": tcp} | WAY,
            WAY
            | {
                "name": "thin",
                "count": count,
                "workload": {"kind": "thin", "size": {"packet": "160 B"}, "interval": "150 ms"},
                "tcp": tcp,
            },
        ],
    }


def plan(
    counts: tuple[int, ...] = (1, 4), variants: tuple[str, ...] = (), replicates: int = 2
) -> Plan:
    """Give a plan with an axis of flow counts and perhaps one of variants."""
    points = [
        ({"flows.*.count": str(count)} | ({"variant": variant} if variants else {}), count, variant)
        for count in counts
        for variant in variants or ("TCP",)
    ]
    axes = [{"name": "flows.*.count", "labels": [str(count) for count in counts]}]
    if variants:
        axes.append({"name": "variant", "labels": list(variants)})
    document = {
        "name": "made up",
        "description": "an experiment that nobody made",
        "repeat": replicates,
        "seeds": [101 + replicate for replicate in range(replicates)],
        "axes": axes,
        "cells": [
            {"index": index, "settings": settings, "experiment": experiment(count, variant)}
            for index, (settings, count, variant) in enumerate(points)
        ],
    }
    return Plan.from_document(document, ())


def tables(experiment: Mapping[str, Any], seed: int) -> dict[str, pl.DataFrame]:
    """Make the tables of one simulation up."""
    generator = np.random.default_rng(seed)
    groups, windows, buckets, drops, flows = [], [], [], [], []
    runs, waiting = [], []
    for group in experiment["flows"]:
        name, count = group["name"], int(group["count"])
        rate = 8000.0 * count if name == "thin" else 900_000.0 - 8000.0 * count
        rate += float(generator.normal(0, 500))
        latency = (0.15 if name == "thin" else 0.2) * (
            0.8 if group["tcp"]["linear_timeouts"] else 1
        )
        latency += float(generator.normal(0, 0.002))
        groups.append(
            {
                "group": name,
                "flows": count,
                "throughput_bits_per_second": rate,
                "goodput_bits_per_second": rate * 0.9,
                "packet_loss_ratio": 0.02 * count,
                "ack_latency_mean_s": latency,
                "ack_latency_p50_s": latency,
                "ack_latency_p99_s": latency * 3,
                "delivery_latency_mean_s": latency * 2,
                "delivery_latency_p50_s": latency * 2,
                "delivery_latency_p99_s": latency * 4,
            }
        )
        windows += [
            {
                "interval_s": 30.0,
                "start_s": start,
                "scope": "group",
                "name": name,
                "group": name,
                "throughput_bits_per_second": rate * (1 + start / 10_000),
                "goodput_bits_per_second": rate * 0.9,
            }
            for start in (0.0, 30.0, 60.0)
        ]
        buckets += [
            {"group": name, "kind": kind, "lower_s": low, "upper_s": low * 1.5, "count": many}
            for kind in ("ack", "delivery")
            for low, many in ((0.1, 50), (0.15, 40), (0.3, 10))
        ]
        drops.append(
            {
                "queue": "bottleneck",
                "group": name,
                "packets": 10 * count,
                "bytes": 99,
                "share": 0.5,
                "enqueued_bytes": 1000,
                "packet_drop_ratio": 0.02,
                "byte_drop_ratio": 0.01,
            }
        )
        runs += [
            {"queue": "bottleneck", "group": name, "length_packets": length, "runs": many}
            for length, many in ((1, 4 * count), (2, 3 * count))
        ]
        waiting += [
            {
                "queue": "bottleneck",
                "group": name,
                "lower_s": low,
                "upper_s": 2 * low,
                "count": many,
            }
            for low, many in ((0.01, 30), (0.02, 70))
        ]
        flows += [
            {"flow": index, "name": f"{name}-{index}", "group": name, "established": True}
            for index in range(count)
        ]
    return {
        "flows": pl.DataFrame(flows),
        "groups": pl.DataFrame(groups),
        "intervals": pl.DataFrame(windows),
        "latency_histogram": pl.DataFrame(buckets),
        "queue_drops": pl.DataFrame(drops),
        "queue_loss_run_lengths": pl.DataFrame(runs),
        "queue_sojourn_histogram": pl.DataFrame(waiting),
        "queue_intervals": pl.DataFrame(
            {
                "interval_s": 1.0,
                "start_s": start,
                "queue": "bottleneck",
                "arrival_backlog_mean_packets": found,
                "arrival_backlog_max_packets": most,
                "sojourn_mean_s": waited,
                "sojourn_max_s": 2 * waited,
            }
            for start, found, most, waited in ((0.0, 1.5, 4, 0.01), (1.0, 2.5, 6, 0.03))
        ),
        "endpoint": pl.DataFrame(),
    }


def lateness(late_s: float, bound_s: float = 200e-6, unsent: int = 0) -> pl.DataFrame:
    """Make up how punctual one run was."""
    return pl.DataFrame(
        {
            "bound_s": [bound_s],
            "exceeds_bound": [late_s > bound_s],
            "deliveries": [1000],
            "lateness_p50_s": [late_s / 2],
            "lateness_p99_s": [late_s],
            "lateness_max_s": [late_s * 2],
            "packets_taken": [5000],
            "datagrams_missing": [unsent],
            "events_missed": [0],
        }
    )


def nobody_late(missed: int) -> pl.DataFrame:
    """Make up a run on a path of the kernel's own parts: no router of ours can be late."""
    times = ("lateness_p50_s", "lateness_p99_s", "lateness_max_s")
    return lateness(0.0).with_columns(
        pl.lit(0).alias("deliveries"),
        pl.lit(missed).alias("events_missed"),
        *(pl.lit(None, pl.Float64).alias(name) for name in times),
    )


def hosts(late_s: float) -> pl.DataFrame:
    """Make up how punctual the hosts of one run were; the receiver has nothing to write."""
    return pl.DataFrame(
        {
            "host": ["sender", "receiver"],
            "timed_writes": [100, 0],
            "late_write_p99_s": [late_s * 1.5, None],
        }
    )


@dataclass
class ScriptedProgress:
    fraction: float = 0.0
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        self.cancelled.set()


@dataclass
class ScriptedEngine:
    """An engine with executions that do what a test says.

    ``script(number)`` is called before execution ``number`` (from 0, in order of beginning) and may
    raise; ``blocked`` executions wait until they are cancelled.
    """

    script: Callable[[int], None] = lambda _number: None
    blocked: frozenset[int] = frozenset()
    build: str = "1"
    capture: bytes = b""
    executions: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    name: str = "scripted"
    is_real_time: bool = False
    late_us: float | None = None
    has_own_router: bool = True
    events_missed: int = 0
    datagrams_missing: int = 0
    delayed_s: float = 0.0
    problem: str | None = None
    refused: Callable[[dict[str, Any]], list[Refusal]] = lambda _experiment: []

    def facts(self) -> dict[str, str]:
        return {"weather": "calm"}

    def obstacle(self) -> str | None:
        return self.problem

    def expect(self, cells: Iterable[Experiment]) -> None:
        pass

    def refusals(self, cell: Experiment) -> list[Refusal]:
        return self.refused(dict(cell.experiment))

    def remarks(self, cell: Experiment) -> list[str]:
        return []

    def versions(self) -> dict[str, str]:
        return {"scripted": self.build}

    def control_versions(self, experiments: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        return {}

    def columns(self) -> list[dict[str, str]]:
        text = "Unique payload read, <per> second."
        return [
            {
                "table": "groups",
                "column": "goodput_bits_per_second",
                "unit": "bit/s",
                "definition": text,
            }
        ]

    def new_progress(self) -> ScriptedProgress:
        return ScriptedProgress()

    def execute(
        self, cell: Experiment, seed: int, progress: ScriptedProgress, captures: Path
    ) -> dict[str, pl.DataFrame]:
        with self.lock:
            number = self.executions
            self.executions += 1
        self.script(number)
        if number in self.blocked:
            progress.cancelled.wait(30)
        if progress.cancelled.is_set():
            raise Cancelled
        progress.fraction = 1.0
        if self.capture:
            (captures / "sender.pcapng").write_bytes(self.capture)
        made_up = tables(dict(cell.experiment), seed)
        made_up["groups"] = made_up["groups"].with_columns(
            pl.col("^.*latency_.*_s$") + self.delayed_s
        )
        if self.late_us is not None:
            late_s = self.late_us / 1e6
            made_up["lateness"] = lateness(late_s, unsent=self.datagrams_missing)
            made_up["hosts"] = hosts(self.late_us / 1e6)
        if not self.has_own_router:
            made_up["lateness"] = nobody_late(self.events_missed)
        return made_up
