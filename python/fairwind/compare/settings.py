"""Differences of two runs in their settings: engines, versions, keys of the scenario."""

from __future__ import annotations

from collections.abc import Iterator

from fairwind.compare.compare import METHOD_IN_WORDS, are_paired, unknown_measures
from fairwind.folder.manifest import Manifest
from fairwind.results import Results

MOST_SETTINGS = 8
"""So many keys are told; the others are counted."""

ABSENT = "not set"


def head(a: Results, b: Results) -> list[str]:
    """Describe a comparison in lines: the runs, the method, and different scenario keys."""
    return [
        f"A: {a.folder}: {_made_by(a.manifest)}",
        f"B: {b.folder}: {_made_by(b.manifest)}",
        _method(a, b),
        METHOD_IN_WORDS,
        *_settings(a.manifest, b.manifest),
        *_left_out(a, b),
    ]


def _settings(a: Manifest, b: Manifest) -> list[str]:
    if a.is_foreign or b.is_foreign:
        return ["what was set differently is not known: a capture does not tell its settings"]
    changed = changed_settings(a, b)
    told = [f"  {key}: {first} -> {second}" for key, (first, second) in changed.items()]
    if len(told) > MOST_SETTINGS:
        told[MOST_SETTINGS:] = [f"  and {len(told) - MOST_SETTINGS} more"]
    if not told:
        return ["the scenarios are the same in all settings"]
    return ["settings that differ, A -> B:", *told]


def _left_out(a: Results, b: Results) -> list[str]:
    """Name the main measures that one run does not have, as a capture of one side."""
    names = unknown_measures(a, b)
    if not names:
        return []
    return [f"left out, since one of them does not know it: {', '.join(names)}"]


def changed_settings(a: Manifest, b: Manifest) -> dict[str, tuple[str, str]]:
    """Give the keys whose values differ between cells that both runs have.

    Returns
    -------
    dict
        Key path in the resolved experiment, with the value in A and in B of the first cell in which
        they differ.
    """
    cells_b = {tuple(sorted(cell.settings.items())): cell for cell in b.plan.cells}
    found: dict[str, tuple[str, str]] = {}
    for cell in a.plan.cells:
        other = cells_b.get(tuple(sorted(cell.settings.items())))
        if other is None:
            continue
        first, second = dict(_flat(cell.experiment)), dict(_flat(other.experiment))
        for key in first | second:
            values = first.get(key, ABSENT), second.get(key, ABSENT)
            if values[0] != values[1]:
                found.setdefault(key, values)
    found.pop("name", None)
    found.pop("description", None)
    return found


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


def _made_by(manifest: Manifest) -> str:
    kernel = manifest.versions.get("kernel")
    engine = f"{manifest.engine} {kernel}" if kernel else manifest.engine
    runs = manifest.plan.replicates
    return (
        f"{manifest.plan.name}, {engine}, fairwind {manifest.versions.get('fairwind', '?')}, "
        f"{runs} {'run' if runs == 1 else 'runs'} per cell"
    )


def _method(a: Results, b: Results) -> str:
    if not are_paired(a, b):
        return (
            "runs are compared as independent samples (Welch): in real time a seed does not decide "
            "what happens to each packet"
        )
    shared = set(a.manifest.plan.seeds) & set(b.manifest.plan.seeds)
    if shared:
        return "runs of the same seed are compared in pairs"
    return "runs are compared as independent samples (Welch): they have no seed in common"
