"""Links, queues and workloads in a few words, with the values that differ between cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairwind.preview.description import group_in_words, variants
from fairwind.quantities import parse_bits_per_second, parse_bytes, time_in_words

FREE = "no delay"
"""A link that neither delays nor loses anything."""

MOST_VALUES = 4
"""Values of the cells that are written out; of more the first and the last."""

NO_TIME = "0 ns"
NO_LOSS = "0 ppb"


@dataclass(frozen=True)
class Varying:
    """One link in the experiments of all cells.

    Attributes
    ----------
    experiments : sequence of dict
        The resolved experiments.
    name : str
        The link's name.
    """

    experiments: Sequence[Mapping[str, Any]]
    name: str

    def words(self, describe: Callable[[Mapping[str, Any], Mapping[str, Any]], str]) -> str:
        """Describe the link of each cell, and join what differs."""
        return joined(
            [
                describe(link, experiment["network"])
                for experiment in self.experiments
                for link in experiment["network"]["links"]
                if link["name"] == self.name
            ]
        )


def joined(values: Sequence[str]) -> str:
    """Write the different values in their order, or the ends of many."""
    different = list(dict.fromkeys(value for value in values if value))
    if len(different) > MOST_VALUES:
        return f"{different[0]} … {different[-1]} ({len(different)} settings)"
    return " | ".join(different)


def link_lines(link: Varying) -> list[str]:
    """Give the lines about a link: name, rate and delay; queue; losses and other impairments."""
    parts = [part for part in (link.words(rate_words), link.words(_delay)) if part]
    queue, more = link.words(queue_words), link.words(impairment_words)
    if not parts and not queue and not more:
        return [FREE]
    head = ", ".join(parts) or FREE
    lines = [head if "->" in link.name else f"{link.name}: {head}"]
    return [*lines, *(text for text in (f"queue: {queue}" if queue else "", more) if text)]


def rate_words(link: Mapping[str, Any], network: Mapping[str, Any]) -> str:
    """Give the rate of a link and where it comes from; empty if it has none."""
    rate = str(link.get("rate", ""))
    if "assigned" in link:
        return f"slots on demand, at most {rate}"
    if "rate_trace" in link:
        return f"varying, {rate} on average"
    return rate


def _delay(link: Mapping[str, Any], network: Mapping[str, Any]) -> str:
    delay = str(link.get("delay", NO_TIME))
    return "" if delay == NO_TIME else delay


def queue_words(link: Mapping[str, Any], network: Mapping[str, Any]) -> str:
    """Give discipline and size of a queue, and how long a full one takes to empty.

    Empty if the queue has no limit, because packets never wait there.
    """
    queue = link.get("queue", {})
    name = str(queue.get("discipline", "unlimited"))
    if name == "unlimited":
        return ""
    parts = [name]
    if classes := queue.get("classes"):
        parts.append(f"{len(classes)} classes")
    if "rate" in queue:  # a shaper
        parts.append(str(queue["rate"]))
    size_bytes = None
    if packets := queue.get("limit_packets"):
        parts.append(f"{packets} packets")
        size_bytes = packets * parse_bytes(str(network.get("mtu", "1.5 kB")))
    elif size := queue.get("limit_bytes"):
        parts.append(f"{size:,} B")
        size_bytes = size
    if "target" in queue:
        parts.append(f"target {queue['target']}")
    elif size_bytes is not None and "rate" in link:
        full_s = size_bytes * 8 / parse_bits_per_second(str(link["rate"]))
        parts.append(f"full: {time_in_words(full_s)}")
    return ", ".join(parts)


def impairment_words(link: Mapping[str, Any], network: Mapping[str, Any]) -> str:
    """Name random losses and other impairments of a link; empty if there are none."""
    loss = str(link.get("loss", NO_LOSS))
    parts = [] if loss == NO_LOSS else [f"loss {loss}"]
    for name, value in link.get("impairments", {}).items():
        words = name.replace("_", " ")
        if isinstance(value, Mapping):
            model = value.get("model") or value.get("kind")
            parts.append(f"{words} ({model})" if model else words)
        else:
            parts.append(words if isinstance(value, list | bool) else f"{words} {value}")
    return ", ".join(parts)


def workload_words(experiments: Sequence[Mapping[str, Any]], name: str) -> str:
    """Give number, workload, TCP and ends of a group of flows, of all cells."""
    groups = [group for one in experiments for group in one["flows"] if group.get("name") == name]
    ends = joined([f"{group['from']} → {group['to']}" for group in groups])
    return f"{variants(map(group_in_words, groups))}; {ends}"
