"""What studies of thin against greedy streams have in common: their axes, variants and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairwind.errors import FairwindError
from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds
from fairwind.results import Results

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

HEADER_BYTES = 40
"""IPv4 and TCP header without options."""

TIMESTAMP_BYTES = 12
"""The timestamp option with its padding (RFC 7323 §3.2, appendix A)."""


def offered_bits_per_second(experiment: dict[str, Any]) -> float:
    """Rate of one thin stream on the wire without losses, IP headers included.

    Parameters
    ----------
    experiment : dict
        A resolved experiment whose thin workload has a fixed size, and an interval that is fixed or
        drawn from a distribution with a mean.
    """
    thin = group_of(experiment, "thin")
    if "packet" in thin["workload"]["size"]:
        size = parse_bytes(thin["workload"]["size"]["packet"])
    else:
        size = parse_bytes(thin["workload"]["size"]["payload"]) + _header_bytes(thin)
    return 8 * size / _interval_s(thin)


def offered_payload_bits_per_second(experiment: dict[str, Any]) -> float:
    """Rate at which the application of one thin stream writes."""
    thin = group_of(experiment, "thin")
    if "payload" in thin["workload"]["size"]:
        size = parse_bytes(thin["workload"]["size"]["payload"])
    else:
        size = parse_bytes(thin["workload"]["size"]["packet"]) - _header_bytes(thin)
    return 8 * size / _interval_s(thin)


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


def _header_bytes(group: dict[str, Any]) -> int:
    uses_timestamps = group["tcp"].get("timestamps") is not False  # on in every profile
    return HEADER_BYTES + (TIMESTAMP_BYTES if uses_timestamps else 0)


def _interval_s(group: dict[str, Any]) -> float:
    interval = group["workload"]["interval"]
    return parse_seconds(interval["mean"] if isinstance(interval, dict) else interval)
