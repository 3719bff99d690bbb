"""A scenario of a suite with the control, with a standard control in its place, and without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairwind.congestion.used import ControlClass
from fairwind.scenario import Scenario
from fairwind.screen.suite import CONTROL, STANDARD, Template


def with_controls(
    template: Template,
    control: str,
    standard: str,
    seeds: int,
    seed: int,
    classes: Mapping[str, ControlClass] | None = None,
) -> Scenario:
    """Give the scenario in which flows have these congestion controls.

    Parameters
    ----------
    control, standard : str
        In the place of `CONTROL` and `STANDARD`; the first is the standard itself in the runs that
        the control is held against.
    seeds : int
        Number of runs.
    seed : int
        Of all random draws.
    """
    words = {CONTROL: control, STANDARD: standard}
    settings = _replaced(dict(template.settings), words)
    name = f"{template.name} {control}" + (f" {standard}" if template.has_standard else "")
    scenario = _scenario(template, settings, name, seeds, seed)
    return scenario.with_congestion(classes) if classes else scenario


def without_control(template: Template, standard: str, seeds: int, seed: int) -> Scenario:
    """Give the scenario without the flows of the control: the standard flows alone."""
    flows = [one for one in template.settings["flows"] if CONTROL not in str(one)]
    settings = _replaced({**template.settings, "flows": flows}, {STANDARD: standard})
    return _scenario(template, settings, f"{template.name} alone {standard}", seeds, seed)


def _scenario(
    template: Template, settings: dict[str, Any], name: str, seeds: int, seed: int
) -> Scenario:
    written = {**settings, "name": name, "repeat": seeds, "seed": seed}
    written.setdefault("description", template.title)
    return Scenario.from_dict(written, folder=template.folder)


def _replaced(value: Any, words: Mapping[str, str]) -> Any:  # noqa: ANN401 - any TOML
    if isinstance(value, Mapping):
        return {key: _replaced(one, words) for key, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, words) for one in value]
    return words.get(value, value) if isinstance(value, str) else value
