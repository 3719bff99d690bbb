"""Scenarios with a setting written into them, and the grid that a search simulates.

A setting is written into the TOML of the base scenario, so that the file of a point of the front
needs nothing else. `written` checks that it resolves to the same experiments as the key paths do.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from fairwind.errors import FairwindError
from fairwind.scenario.scenario import Scenario
from fairwind.scenario.settings import toml_document

TAGS = ("kind", "distribution", "discipline", "form", "model", "policy")
"""Keys that say what a table is: a table with another one replaces it."""

FIFOS = ("pfifo", "bfifo")
"""Disciplines with the same keys."""

PATH_AXIS = "on_path"
"""Axis, and column of tables, with the name of the path; ``path`` itself is a key of scenarios."""

STEP = re.compile(r'"([^"]*)"\.?|\[([^\]]*)\]\.?|([^.\[]+)\.?')


def base_document(scenario: Scenario) -> dict[str, Any]:
    """Give a scenario as TOML has it, without its repetitions.

    Raises
    ------
    FairwindError
        If it has axes: a search takes its paths from ``[paths]``.
    """
    document = tomllib.loads(scenario.text)
    sweep = document.pop("sweep", {})
    document.pop("repeat", None)
    axes = [name for name in sweep if name != "repeat"]
    if axes:
        raise FairwindError(
            f"{scenario.file} has the axis {axes[0]}, and a search takes a scenario without axes",
            "move it to [paths] or [parameters] of the search, and remove it from the scenario",
        )
    return document


def grid(
    base: Mapping[str, Any],
    paths: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Mapping[str, Any]],
    seed: int,
    repeat: int,
    file: str,
) -> Scenario:
    """Give the scenario of all settings on all paths.

    Parameters
    ----------
    paths, settings : mapping
        Key paths and values by the label that the axes `PATH_AXIS` and ``setting`` show.
    file : str
        The base scenario's; files that it names lie beside it.
    """
    axes = {"repeat": repeat, PATH_AXIS: dict(paths), "setting": dict(settings)}
    return Scenario(file, toml_document({**base, "seed": seed, "sweep": axes}))


def written(
    base: Mapping[str, Any],
    keys: Mapping[str, Any],
    paths: Mapping[str, Mapping[str, Any]],
    seed: int,
    repeat: int,
    file: str,
) -> Scenario:
    """Give the scenario with one setting written into it, on all paths.

    Raises
    ------
    FairwindError
        If a key leads nowhere, or cannot be written without a change of meaning.
    """
    document = copy.deepcopy(dict(base))
    for key, value in keys.items():
        assign(document, steps_of(key), value, key)
    axes = {"repeat": repeat, PATH_AXIS: dict(paths)}
    found = Scenario(file, toml_document({**document, "seed": seed, "sweep": axes}))
    meant = grid(base, paths, {"it": keys}, seed, repeat, file)
    experiments = [[cell.experiment for cell in one.plan.cells] for one in (found, meant)]
    if experiments[0] != experiments[1]:
        raise FairwindError(
            f"{', '.join(keys)} cannot be written into {file}: [paths] sets a part of the same",
            "set it in [parameters] or in [paths], not in both",
        )
    return found


def steps_of(key: str) -> list[str]:
    """Split a key path such as ``flows.thin.count`` or ``flows[0]."a.b"``."""
    return [next(part for part in parts if part) for parts in STEP.findall(key)]


def assign(target: Any, steps: Sequence[str], value: Any, key: str) -> None:  # noqa: ANN401
    """Set what a key path addresses, as `--set` does it.

    Raises
    ------
    FairwindError
        If it addresses nothing.
    """
    step, rest = steps[0], steps[1:]
    if isinstance(target, list):
        places = _places(target, step)
        if not places:
            raise FairwindError(f"{key}: there is no {step!r}", "the name of a group, or * for all")
        for place in places:
            if rest:
                assign(target[place], rest, value, key)
            else:
                target[place] = _merged(target[place], value)
    elif isinstance(target, dict):
        if not rest:
            target[step] = _merged(target.get(step), value)
            return
        child = target.setdefault(step, {})
        if isinstance(child, str) and step == "congestion":
            child = target[step] = {"name": child}
        assign(child, rest, value, key)
    else:
        raise FairwindError(f"{key}: there is no key {step!r} in {target!r}", "set the whole table")


def _places(items: Sequence[Any], step: str) -> list[int]:
    named = [place for place, item in enumerate(items) if item.get("name") == step]
    if step == "*":
        return list(range(len(items)))
    if named or not step.isdigit():
        return named
    return [int(step)] if int(step) < len(items) else []


def _merged(target: Any, value: Any) -> Any:  # noqa: ANN401 - TOML values
    """Put a value in the place of another one; a table goes into a table of the same kind."""
    value = copy.deepcopy(value)
    if not (isinstance(target, dict) and isinstance(value, dict)) or _changes_kind(target, value):
        return value
    return {**target, **{name: _merged(target.get(name), one) for name, one in value.items()}}


def _changes_kind(target: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    return any(
        tag in target
        and tag in value
        and target[tag] != value[tag]
        and not (target[tag] in FIFOS and value[tag] in FIFOS)
        for tag in TAGS
    )
