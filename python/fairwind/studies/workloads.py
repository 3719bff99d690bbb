"""What resolved experiments offer and carry, and when they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from fairwind.errors import FairwindError
from fairwind.preview.traffic import empirical_mean
from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds
from fairwind.results import Results

HEADER_BYTES = 40
"""IPv4 and TCP header without options."""

TIMESTAMP_BYTES = 12
"""The timestamp option with its padding (RFC 7323 §3.2, appendix A)."""


def wire_bits_per_second(group: dict[str, Any]) -> float | None:
    """Rate of one stream on the wire without losses, IP headers included, one packet per write.

    Parameters
    ----------
    group : dict
        A group of flows of a resolved experiment.

    Returns
    -------
    float or None
        None where the mean of its sizes or intervals is not known, as with greedy workloads.
    """
    return _rate(group, header_bytes(group), 0)


def payload_bits_per_second(group: dict[str, Any]) -> float | None:
    """Rate at which the application of one stream writes; None as in `wire_bits_per_second`."""
    return _rate(group, 0, -header_bytes(group))


def header_bytes(group: dict[str, Any]) -> int:
    """Give the headers of a packet of a group, without link layer."""
    uses_timestamps = group["tcp"].get("timestamps") is not False  # on in every profile
    return HEADER_BYTES + (TIMESTAMP_BYTES if uses_timestamps else 0)


def mean_of(quantity: Any, read: Callable[[str], float]) -> float | None:  # noqa: ANN401 - or a table
    """Give the mean of a quantity that is fixed or drawn; None if it is unknown.

    Parameters
    ----------
    quantity : str or dict
        As a resolved experiment has it.
    read : callable
        What reads one with its unit.
    """
    if isinstance(quantity, str):
        return read(quantity)
    match quantity:
        case {"mean": mean}:
            return read(mean)
        case {"distribution": "uniform", "min": low, "max": high}:
            return (read(low) + read(high)) / 2
        case {"distribution": "pareto", "min": low, "shape": shape} if shape > 1:
            return read(low) * float(shape) / (float(shape) - 1)
        case {"distribution": "empirical", "quantiles": [_, *_] as quantiles}:
            return empirical_mean(quantiles, read)
        case _:
            return None


def _rate(group: dict[str, Any], with_payload: int, with_packet: int) -> float | None:
    """Divide what one write makes by what lies between two; the size is a payload or a packet's."""
    workload = group["workload"]
    match workload.get("size"):
        case {"payload": size}:
            more = with_payload
        case {"packet": size}:
            more = with_packet
        case _:
            return None
    mean = mean_of(size, parse_bytes)
    interval = mean_of(workload.get("interval", {}), parse_seconds)
    return None if mean is None or not interval else 8 * (mean + more) / interval


def capacity_bits_per_second(experiment: dict[str, Any]) -> float:
    """Rate of the bottleneck."""
    network = experiment["network"]
    links = [link for link in network["links"] if link["name"] == "bottleneck"]
    if not links:
        raise FairwindError(
            "the experiment has no link `bottleneck`", "describe the network by a [path] table"
        )
    return parse_bits_per_second(links[0]["rate"])


def group_of(experiment: dict[str, Any], name: str) -> dict[str, Any]:
    """Give a group of flows of a resolved experiment.

    Raises
    ------
    FairwindError
        If it has none of this name.
    """
    groups: dict[str, dict[str, Any]] = {group["name"]: group for group in experiment["flows"]}
    if name not in groups:
        raise FairwindError(
            f"the experiment has no group of flows {name!r}", f"its groups: {', '.join(groups)}"
        )
    return groups[name]


def end_of_run(results: Results) -> pl.Expr:
    """Give an expression for tables with the column ``cell``: when the row's run ended, in s.

    What was not done by then took at least until then.
    """
    ends = {
        cell.index: parse_seconds(cell.experiment["duration"])
        for cell in results.manifest.plan.cells
    }
    return pl.col("cell").replace_strict(ends, return_dtype=pl.Float64)
