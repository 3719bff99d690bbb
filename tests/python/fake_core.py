"""A stand-in for the compiled core while it is not built: simple scenarios, invented tables."""

from __future__ import annotations

import itertools
import json
import time
import tomllib
from typing import Any

import polars as pl


class ScenarioError(Exception):
    errors: list[dict[str, Any]]


class SimulationError(Exception):
    pass


class Cancelled(Exception):
    pass


class Progress:
    def __init__(self) -> None:
        self.fraction = 0.0
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


def version() -> str:
    return "0.0.0"


def schema() -> str:
    return json.dumps({"type": "object", "properties": {"name": {"type": "string"}}})


def columns() -> str:
    row = {"table": "groups", "column": "group", "unit": "text", "definition": "The group."}
    return json.dumps([row])


def plan(file: str, text: str, overrides: list[tuple[str, str]]) -> str:
    try:
        document = tomllib.loads(text)
        name = document["name"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        failure = ScenarioError(f"{file}:1: name: is missing ({error})")
        failure.errors = [{"file": file, "line": 1, "key": "name"}]
        raise failure from error
    for key, value in overrides:
        document[key] = value
    sweep = dict(document.get("sweep", {}))
    repeat = sweep.pop("repeat", 1)
    axes = {key: [str(item) for item in values] for key, values in sweep.items()}
    cells = []
    for index, labels in enumerate(itertools.product(*axes.values())):
        settings = dict(zip(axes, labels, strict=True))
        flows = [
            {"name": "greedy", "count": 1, "workload": {"kind": "greedy"}},
            {
                "name": "thin",
                "count": 1,
                "workload": {"kind": "thin", "size": {"packet": "160 B"}, "interval": "150 ms"},
            },
        ]
        for flow in flows:
            flow["count"] = int(settings.get("flows.*.count", 1))
            flow["tcp"] = {
                "timestamps": True,
                "linear_timeouts": "LT" in settings.get("variant", ""),
            }
        experiment = {
            "duration": document["duration"],
            "network": {"links": [{"name": "bottleneck", "rate": "1 Mbit/s"}]},
            "flows": flows,
        }
        cells.append({"index": index, "settings": settings, "experiment": experiment})
    return json.dumps(
        {
            "name": name,
            "description": document.get("description"),
            "repeat": repeat,
            "seeds": [int(document.get("seed", 1)) * 1000 + i for i in range(repeat)],
            "axes": [{"name": key, "labels": labels} for key, labels in axes.items()],
            "cells": cells,
        }
    )


def simulate(
    experiment_json: str,
    seed: int,
    progress: Progress | None = None,
    capture: str | None = None,
) -> dict[str, pl.DataFrame]:
    from made_up import tables

    for step in range(10):
        if progress is not None:
            progress.fraction = step / 10
            if progress.cancelled:
                raise Cancelled
        time.sleep(0.005)
    return tables(json.loads(experiment_json), seed)
