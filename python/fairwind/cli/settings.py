"""Keys of a scenario that are set on the command line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Annotated, Any

import typer

from fairwind.engine.core import ScenarioError
from fairwind.errors import FairwindError
from fairwind.quantities import parse_ratio

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a key of the scenario; a table is merged with the existing one. Repeatable.",
    ),
]
"""Option of commands; `settings_of` reads its texts."""


def read_option(option: str, text: str, parse: Callable[[str], float]) -> float:
    """Read the quantity of an option; errors name the option."""
    try:
        return parse(text)
    except FairwindError as error:
        raise FairwindError(f"{option}: {error.message}", error.hint) from error


def margin_in(option: str | None) -> float | None:
    """Read the option ``--margin``; None where it is not given."""
    if option is None:
        return None
    from fairwind.compare import check_margin

    margin = read_option("--margin", option, parse_ratio)
    check_margin(margin)
    return margin


def by_option(
    error: ScenarioError,
    option_of: Callable[[str], tuple[str, str] | None],
    hint: str | None = None,
) -> FairwindError:
    """Name the options that keys of a scenario were written from: nobody has seen the scenario.

    Parameters
    ----------
    option_of : callable
        Gives the option of a key, and its value; None where there is none.
    """
    parts = []
    for found in error.errors:
        option, value = option_of(found["key"]) or (found["key"], found["value"])
        line = f"{option} {value}: {found['rule']}"
        parts.append(line if found["hint"] is None else f"{line}\n  hint: {found['hint']}")
    return FairwindError("\n".join(dict.fromkeys(parts)), hint)


def settings_of(texts: Sequence[str]) -> dict[str, str]:
    """Read what stands behind ``--set``: key and value of each.

    Raises
    ------
    FairwindError
        If one is not ``KEY=VALUE``.
    """
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise FairwindError(f"--set {text}: KEY=VALUE was expected", '--set path.rtt="20 ms"')
        pairs[key.strip()] = value.strip()
    return pairs


def meant_for(texts: Sequence[str], settings: Mapping[str, str]) -> list[dict[str, str] | None]:
    """Give each of several scenarios the settings that are meant for it.

    A study may consist of several scenarios with different axes; what chooses among the values of
    an axis is meant for those that have it, and for all where none has it. Of the labels of a named
    axis each gets those that it has, and those that none has; one without any is left out.

    Parameters
    ----------
    texts : sequence of str
        The scenarios, as TOML.
    settings : mapping of str to str
        Key and value of each, as from `settings_of`.

    Returns
    -------
    list of dict of str to str
        For each scenario; None for one that is left out.
    """
    sweeps = [tomllib.loads(text).get("sweep", {}) for text in texts]
    known = {axis for sweep in sweeps for axis in sweep if axis != "repeat"}
    return [_meant_for(sweep, sweeps, known, settings) for sweep in sweeps]


def _meant_for(
    own: Mapping[str, Any],
    all_sweeps: Sequence[Mapping[str, Any]],
    known: Set[str],
    settings: Mapping[str, str],
) -> dict[str, str] | None:
    meant = {}
    for key, value in settings.items():
        axis = key.replace('"', "").removeprefix("sweep.")
        if not key.startswith("sweep.") or axis not in known:
            meant[key] = value
        elif axis in own:
            wanted = _labels(value)
            everywhere = {label for sweep in all_sweeps for label in _labels_of(sweep, axis)}
            there = _labels_of(own, axis)
            if wanted is None or not there:
                # Values, or an axis of one's own.
                meant[key] = value
            elif kept := [it for it in wanted if it in there or it not in everywhere]:
                # What to make of a label that nobody has is said by each scenario.
                meant[key] = json.dumps(kept, ensure_ascii=False)
            else:
                return None
    return meant


def _labels(value: str) -> list[str] | None:
    """Read a list of labels; None where it is something else."""
    try:
        found = tomllib.loads(f"labels = {value}")["labels"]
    except tomllib.TOMLDecodeError:
        return None
    is_labels = isinstance(found, list) and all(isinstance(label, str) for label in found)
    return found if is_labels and found else None


def _labels_of(sweep: Mapping[str, Any], axis: str) -> Set[str]:
    """Give the labels of a named axis; none where it is one of values, or not there."""
    labels = sweep.get(axis)
    return set(labels) if isinstance(labels, dict) else set()
