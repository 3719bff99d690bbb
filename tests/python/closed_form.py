"""An engine with closed forms in the place of simulations, for tests of searches.

Latency of the group ``thin`` and goodput of ``greedy`` follow from four keys of ``thin``: what
makes retransmissions faster takes goodput from others. Each path scales both, each seed moves them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwind.engine.engines import Experiment
from fairwind.quantities import parse_bits_per_second, parse_seconds
from made_up import ScriptedEngine, ScriptedProgress

SCENARIO: dict[str, Any] = {
    "name": "closed form",
    "duration": "10 s",
    "path": {"rate": "1 Mbit/s", "rtt": "100 ms"},
    "flows": [
        {
            "name": "thin",
            "workload": {"kind": "thin", "payload": "120 B", "interval": "100 ms"},
            "tcp": {"minimum_rto": "1 s", "duplicate_threshold": 6, "initial_window": 4},
        },
        {"name": "greedy", "workload": {"kind": "greedy"}},
    ],
}

RTO, THRESHOLD, WINDOW, SEGMENTS = (
    f"flows.thin.tcp.{key}"
    for key in ("minimum_rto", "duplicate_threshold", "initial_window", "redundant_segments")
)
PARAMETERS: dict[str, Any] = {
    RTO: {"from": "50 ms", "to": "1 s", "scale": "log", "steps": 6},
    THRESHOLD: [1, 2, 3, 4, 5, 6],
    WINDOW: [1, 2, 3, 4, 5, 6],
    SEGMENTS: [0, 1, 2, 3, 4, 5],
}
OBJECTIVES = [{"minimise": "thin.delivery_latency_p99"}, {"maximise": "greedy.goodput"}]
PATHS = {"slow": {"path.rate": "500 kbit/s"}, "base": {}, "long": {"path.rtt": "200 ms"}}


def tuning(**tables: Any) -> dict[str, Any]:
    """Give the document of a search over the closed forms, with tables replaced."""
    document = {
        "name": "closed form",
        "tune": {"seeds": 4, "budget": 20, "over": "mean"},
        "scenario": SCENARIO,
        "parameters": PARAMETERS,
        "objectives": OBJECTIVES,
        "paths": PATHS,
        "confirm": {"seeds": 3, "points": 3},
    }
    return document | tables


def measures(tcp: Mapping[str, Any], rate: float, rtt_s: float, seed: int) -> tuple[float, float]:
    """Give latency in seconds and goodput in bit/s."""
    generator = np.random.default_rng(seed)
    rto = math.log(parse_seconds(tcp["minimum_rto"]) / 0.05) / math.log(20)
    threshold = (tcp["duplicate_threshold"] - 1) / 5
    window = (tcp["initial_window"] - 1) / 5
    segments = (tcp.get("redundant_segments") or 0) / 5
    latency = 1 + rto + 0.8 * threshold + 0.5 * (window - 0.6) ** 2 + 0.6 * (1 - segments)
    goodput = 1 - 0.05 * (1 - rto) ** 2 - 0.04 * (1 - threshold) - 0.08 * segments**2
    goodput -= 0.03 * (window - 0.6) ** 2
    noise = generator.normal(0, 1, 2)
    return rtt_s * latency * (1 + 0.02 * noise[0]), rate * goodput * (1 + 0.005 * noise[1])


@dataclass
class ClosedForms(ScriptedEngine):
    """Gives the closed forms as tables; ``law`` replaces them."""

    law: Callable[[Mapping[str, Any], float, float, int], tuple[float, float]] = measures

    def execute(
        self, cell: Experiment, seed: int, progress: ScriptedProgress, captures: Path
    ) -> dict[str, pl.DataFrame]:
        with self.lock:
            number = self.executions
            self.executions += 1
        self.script(number)
        tcp = next(one["tcp"] for one in cell.experiment["flows"] if one["name"] == "thin")
        link = cell.experiment["network"]["links"][0]
        latency, goodput = self.law(
            tcp, parse_bits_per_second(link["rate"]), 2 * parse_seconds(link["delay"]), seed
        )
        groups = {
            "group": ["thin", "greedy"],
            "goodput_bits_per_second": [9600.0, goodput],
            "delivery_latency_p99_s": [latency, None],
        }
        return {"groups": pl.DataFrame(groups)}
