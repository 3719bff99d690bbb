"""What the thin aggregate is due, and the frames that figures and claims share."""

from __future__ import annotations

from typing import Any

import polars as pl

from fairwind.errors import FairwindError
from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds
from fairwind.results import Results

COUNT = "flows_count"
"""Column of the axis ``flows.*.count``."""

VARIANT = "variant"
REFERENCE = "TCP"
"""The variant that the others are compared with."""

SOURCE_VARIANTS = (REFERENCE, "mFR", "LT", "LT+mFR")
"""The variants that the source compares; a form may have more."""

HEADER_BYTES = 40
"""IPv4 and TCP header without options."""

TIMESTAMP_BYTES = 12
"""The timestamp option with its padding (RFC 7323 §3.2, appendix A)."""


def offered_bits_per_second(experiment: dict[str, Any]) -> float:
    """Rate of one thin stream on the wire without losses, IP headers included.

    Parameters
    ----------
    experiment : dict
        A resolved experiment whose thin workload has a fixed size and interval.
    """
    thin = _group(experiment, "thin")
    workload = thin["workload"]
    if "packet" in workload["size"]:
        size = parse_bytes(workload["size"]["packet"])
    else:
        uses_timestamps = thin["tcp"].get("timestamps") is not False  # on in every profile
        options = TIMESTAMP_BYTES if uses_timestamps else 0
        size = parse_bytes(workload["size"]["payload"]) + HEADER_BYTES + options
    return 8 * size / parse_seconds(workload["interval"])


def fair_shares(results: Results) -> pl.DataFrame:
    """Fair share of the thin aggregate for every stream count: min(N * rate, C / 2).

    Returns
    -------
    DataFrame
        ``flows_count``, ``fair_bits_per_second``.
    """
    rows = {}
    for cell in results.manifest.plan.cells:
        count = int(cell.settings["flows.*.count"])
        due = count * offered_bits_per_second(cell.experiment)
        rows[count] = min(due, capacity_bits_per_second(cell.experiment) / 2)
    return pl.DataFrame(
        {COUNT: list(rows), "fair_bits_per_second": list(rows.values())},
        schema={COUNT: pl.Int64, "fair_bits_per_second": pl.Float64},
    )


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


def _group(experiment: dict[str, Any], name: str) -> dict[str, Any]:
    for group in experiment["flows"]:
        if group["name"] == name:
            found: dict[str, Any] = group
            return found
    raise FairwindError(f"the experiment has no group of flows called {name}")
