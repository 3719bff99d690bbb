"""Whether windows that were to be resumed with care ever were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from fairwind.results.results import Results

CAREFUL = "careful-resume"
OPENING, JUMPED = "opening", "unvalidated"
"""The policy, the row that every connection has, and the phase that a jump begins."""


def never_resumed_in_words(results: Results) -> list[str]:
    """Explain why no connection of the run jumped, if some were to."""
    if not _is_meant(results):
        return []
    found = _phases(results)
    if found is None or found.is_empty():
        return [
            "Careful Resume never jumped: no connection found a saved window. Windows are saved "
            "when a connection ends that had four initial windows or more, and serve the "
            "connections after it, of the same two hosts, that `openings` names."
        ]
    if (found["phase"] == JUMPED).any():
        return []
    reasons = found.filter(pl.col("reason") != "").group_by("reason").len("times")
    told = ", ".join(
        f"{reason} ({times})"
        for reason, times in reasons.sort("times", "reason", descending=[True, False]).iter_rows()
    )
    looked_up = found.select("cell", "replicate", "flow").n_unique()
    why = f"; it ended as: {told}" if told else "; all closed before it could"
    return [
        f"Careful Resume never jumped: {looked_up} connections found a saved window{why}. What "
        "these runs show is the initial window."
    ]


def _phases(results: Results) -> pl.DataFrame | None:
    found = results.resumptions
    return None if found is None else found.filter(pl.col("phase") != OPENING)


def _is_meant(results: Results) -> bool:
    return any(
        _policy(group.get(side)) == CAREFUL
        for cell in results.manifest.plan.cells
        for group in cell.experiment.get("flows", ())
        for side in ("tcp", "receiver_tcp")
    )


def _policy(tcp: Mapping[str, Any] | None) -> object:
    sharing = (tcp or {}).get("sharing")
    return sharing.get("policy") if isinstance(sharing, dict) else None
