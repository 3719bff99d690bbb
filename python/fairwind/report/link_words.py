"""Links, queues and workloads in a few words, with the values that differ between cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairwind.preview.description import (
    group_in_words,
    impairment_words,
    queue_in_words,
    variants,
)
from fairwind.preview.network import Link
from fairwind.quantities import parse_bytes

FREE = "no delay"
"""A link that neither delays nor loses anything."""

NO_TIME = "0 ns"

Experiments = Sequence[Mapping[str, Any]]
"""The resolved experiments of all cells."""


def link_lines(experiments: Experiments, name: str) -> list[str]:
    """Give the lines about a link: name, rate and delay; queue; losses and other impairments."""
    links = [
        link
        for experiment in experiments
        for link in experiment["network"]["links"]
        if link["name"] == name
    ]
    head = ", ".join(filter(None, (variants(map(rate_words, links)), variants(map(_delay, links)))))
    queue, more = queue_words(experiments, name), variants(map(impairment_words, links))
    if not head and not queue and not more:
        return [FREE]
    first = head or FREE
    rest = (f"queue: {queue}" if queue else "", more)
    return [first if "->" in name else f"{name}: {first}", *filter(None, rest)]


def queue_words(experiments: Experiments, name: str) -> str:
    """Give discipline and limit of the queue of a link in all experiments; empty without any."""
    networks = [experiment.get("network", {}) for experiment in experiments]
    return variants(
        queue_in_words(Link.of(entry), parse_bytes(str(network["mtu"])))
        for network in networks
        for entry in network.get("links", ())
        if entry["name"] == name
    )


def rate_words(link: Mapping[str, Any]) -> str:
    """Give the rate of a link and where it comes from; empty if it has none."""
    rate = str(link.get("rate", ""))
    if "assigned" in link:
        return f"slots on demand, at most {rate}"
    if "rate_trace" in link:
        return f"varying, {rate} on average"
    return rate


def _delay(link: Mapping[str, Any]) -> str:
    delay = str(link.get("delay", NO_TIME))
    return "" if delay == NO_TIME else delay


def workload_words(experiments: Experiments, name: str) -> str:
    """Give number, workload, TCP and ends of a group of flows, of all cells."""
    groups = [group for one in experiments for group in one["flows"] if group.get("name") == name]
    ends = variants(f"{group['from']} → {group['to']}" for group in groups)
    return f"{variants(map(group_in_words, groups))}; {ends}"
