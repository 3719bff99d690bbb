"""What studies of thin against greedy streams have in common: their axes, variants and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairwind.errors import FairwindError
from fairwind.quantities import parse_bits_per_second
from fairwind.results import Results
from fairwind.studies.offered import payload_bits_per_second, wire_bits_per_second

COUNT = "flows_count"
"""Column of the axis ``flows.*.count``."""

VARIANT = "variant"
REFERENCE = "TCP"
"""The variant that the others are compared with."""

SOURCE_VARIANTS = (REFERENCE, "mFR", "LT", "LT+mFR")
"""The variants that the sources compare; a form may have more."""

IN_FULL = {
    "mFR": "mFR (modified fast retransmit)",
    "LT": "LT (linear time-outs)",
    "LT+mFR": "LT+mFR (both)",
    "today": "today's default (SACK, RACK, tail loss probe)",
}
"""What a variant is called in a sentence; one that is not here is called by its label."""

VARIANT_COLOURS = {REFERENCE: "#4d4d4d"}


def offered_bits_per_second(experiment: dict[str, Any]) -> float | None:
    """Rate of one thin stream on the wire without losses, IP headers included; None if unknown."""
    return wire_bits_per_second(group_of(experiment, "thin"))


def offered_payload_bits_per_second(experiment: dict[str, Any]) -> float | None:
    """Rate at which the application of one thin stream writes; None if unknown."""
    return payload_bits_per_second(group_of(experiment, "thin"))


def capacity_bits_per_second(experiment: dict[str, Any]) -> float:
    """Rate of the bottleneck."""
    network = experiment["network"]
    links = [link for link in network["links"] if link["name"] == "bottleneck"]
    if not links:
        raise FairwindError("the experiment has no link called bottleneck")
    return parse_bits_per_second(links[0]["rate"])


def variants(results: Results) -> list[str]:
    """Give the variants in the order of the scenario."""
    return list(results.manifest.plan.axis(VARIANT).labels)


def source_variants(results: Results) -> list[str]:
    """Give those variants that the source has, in the order of the scenario."""
    return [variant for variant in variants(results) if variant in SOURCE_VARIANTS]


def mechanisms(names: Sequence[str]) -> list[str]:
    """Give the variants that are compared with the reference."""
    return [variant for variant in names if variant != REFERENCE]


def circumstances(results: Results, count: str) -> tuple[str, ...]:
    """Give the columns of the axes beside the number of streams and the variant."""
    columns = [axis.column for axis in results.manifest.plan.axes]
    return tuple(column for column in columns if column not in (count, VARIANT))


def group_of(experiment: dict[str, Any], name: str) -> dict[str, Any]:
    """Give a group of flows of a resolved experiment.

    Raises
    ------
    FairwindError
        If it has none of this name.
    """
    for group in experiment["flows"]:
        if group["name"] == name:
            found: dict[str, Any] = group
            return found
    raise FairwindError(f"the experiment has no group of flows called {name}")
