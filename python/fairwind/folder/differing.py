"""Settings that differ between two runs, or two experiments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairwind.folder.manifest import Manifest

ABSENT = "not set"


def changed_settings(a: Manifest, b: Manifest) -> dict[str, tuple[str, str]]:
    """Give the keys with different values in cells that both runs have.

    Returns
    -------
    dict
        Key path in the resolved experiment, with the value in A and in B of the first cell in which
        they differ.
    """
    cells_b = {tuple(sorted(cell.settings.items())): cell for cell in b.plan.cells}
    found: dict[str, tuple[str, str]] = {}
    for cell in a.plan.cells:
        if other := cells_b.get(tuple(sorted(cell.settings.items()))):
            found = differing(cell.experiment, other.experiment) | found
    return found


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Give the key paths with different values in two resolved experiments, and both values."""
    a, b = dict(_flat(first)), dict(_flat(second))
    pairs = {key: (a.get(key, ABSENT), b.get(key, ABSENT)) for key in a | b}
    return {
        key: both
        for key, both in pairs.items()
        if both[0] != both[1] and key not in ("name", "description")
    }


def _flat(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Write a tree as key paths; the entries of lists go by their names, if they have any."""
    prefix = f"{key}." if key else ""
    match value:
        case dict():
            for name, inner in value.items():
                yield from _flat(inner, f"{prefix}{name}")
        case list() if value and all(isinstance(entry, dict) for entry in value):
            for number, entry in enumerate(value):
                yield from _flat(entry, f"{prefix}{entry.get('name', number)}")
        case list():
            yield key, ", ".join(map(str, value))
        case bool():
            yield key, str(value).lower()
        case _:
            yield key, str(value)
