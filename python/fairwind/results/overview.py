"""A whole run at a glance: one small table for each kind of thing that it measured."""

from __future__ import annotations

from fairwind.results.lateness import has_lateness, readable_lateness
from fairwind.results.readable import readable
from fairwind.results.results import Results
from fairwind.results.summary import overview

Table = tuple[list[str], list[list[object]]]
"""Headers and rows."""


def readable_overview(results: Results) -> list[Table]:
    """Give tables of groups, queues and fairness, and of lateness if the run was in real time."""
    tables = [readable(estimates) for estimates in overview(results).values()]
    if has_lateness(results):
        tables.append(readable_lateness(results))
    return tables
