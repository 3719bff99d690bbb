"""Many terminals on one carrier, as settings of the scenario file that has one of them.

A carrier's terminals are links of a topology, so that eighteen of them would be a file of six
hundred lines that say the same.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from fairwind.scenario.settings import Setting

FIRST = "-1"
"""Names of what there is once for each terminal end in this."""


def multiplied(file: str, count: int) -> dict[str, Setting]:
    """Give the settings that make ``count`` terminals of the one in a scenario file.

    Parameters
    ----------
    file : str
        The scenario file, beside this module. Its hosts, links and flows with names that end in
        `FIRST` are there once for each terminal, and so are settings of axes that name them.

    Returns
    -------
    dict of str to Setting
        By key, as `Part` takes them.
    """
    scenario = tomllib.loads((files(__package__) / file).read_text(encoding="utf-8"))
    topology = scenario["topology"]
    settings: dict[str, Setting] = {
        "topology.hosts": list(_each(topology["hosts"], count)),
        "topology.links": list(_each(topology["links"], count)),
        "flows": list(_each(scenario["flows"], count)),
    }
    for axis, values in scenario["sweep"].items():
        if isinstance(values, dict):
            settings[f"sweep.{axis}"] = {
                name: _for_every_terminal(value, count) for name, value in values.items()
            }
    return settings


def _each(ones: Sequence[Any], count: int) -> Iterator[Any]:
    """Give hosts, links or flows, those of the first terminal once for each."""
    for one in ones:
        name = one if isinstance(one, str) else one["name"]
        numbers = range(1, count + 1) if name.endswith(FIRST) else (1,)
        yield from (_renumbered(one, number) for number in numbers)


def _renumbered(one: object, number: int) -> object:
    if isinstance(one, str) and one.endswith(FIRST):
        return f"{one.removesuffix(FIRST)}-{number}"
    if isinstance(one, dict):
        return {key: _renumbered(value, number) for key, value in one.items()}
    return one


def _for_every_terminal(settings: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Repeat settings of the first terminal for every one."""
    return {
        key.replace(f"{FIRST}.", f"-{number}."): value
        for key, value in settings.items()
        for number in range(1, count + 1)
    }
