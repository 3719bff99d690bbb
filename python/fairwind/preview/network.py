"""Network of a resolved experiment: routes, round-trip times and bottlenecks."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds


@dataclass(frozen=True)
class Link:
    """One direction of a link.

    Attributes
    ----------
    name, start, end : str
        Its name and its nodes.
    rate_bits_per_second : float or None
        Rate, or that of the queue that shapes in its place; None if unlimited.
    delay_s : float
        Propagation delay, without that of impairments.
    queue : mapping
        The resolved queue before it.
    """

    name: str
    start: str
    end: str
    rate_bits_per_second: float | None
    delay_s: float
    queue: Mapping[str, Any]

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Link:
        """Read an entry of the links of a resolved experiment."""
        queue = entry.get("queue", {})
        delay = parse_seconds(entry.get("delay", "0 s"))
        rates = [entry.get("rate"), queue.get("rate"), queue.get("bandwidth")]
        tops = [top for top in queue.get("classes", ()) if "parent" not in top]
        if len(tops) == 1:  # of HTB or HFSC, with all others below it
            rates += [tops[0].get("ceil"), tops[0].get("upper_limit", {}).get("m2")]
        known = [parse_bits_per_second(rate) for rate in rates if isinstance(rate, str)]
        return cls(
            entry["name"], entry["from"], entry["to"], min(known, default=None), delay, queue
        )


@dataclass(frozen=True)
class Network:
    """Nodes and links of a resolved experiment.

    Attributes
    ----------
    links : tuple of Link
        In the order of the experiment.
    routers : frozenset of str
        Nodes that forward packets; hosts do not.
    mtu_bytes : float
        Largest IP packet.
    bottleneck : Link or None
        The link that a dumbbell calls so; None in other topologies.
    """

    links: tuple[Link, ...]
    routers: frozenset[str]
    mtu_bytes: float
    bottleneck: Link | None
    _routes: dict[tuple[str, str], tuple[Link, ...]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, network: Mapping[str, Any]) -> Network:
        """Read the table ``network`` of a resolved experiment."""
        links = tuple(map(Link.of, network["links"]))
        place = network.get("bottleneck")
        return cls(
            links,
            frozenset(node["name"] for node in network["nodes"] if node["kind"] == "router"),
            parse_bytes(network["mtu"]),
            None if place is None else links[place],
        )

    def route(self, start: str, end: str) -> tuple[Link, ...]:
        """Give the links from one node to another: least delay, then fewest links.

        It is empty where there is no way.
        """
        if (start, end) not in self._routes:
            self._routes[start, end] = self._shortest(start, end)
        return self._routes[start, end]

    def _shortest(self, start: str, end: str) -> tuple[Link, ...]:
        leaving: dict[str, list[Link]] = {}
        for link in self.links:
            leaving.setdefault(link.start, []).append(link)
        # The number breaks ties, so that links are never compared.
        number = 0
        known: list[tuple[float, int, int, str, tuple[Link, ...]]] = [(0.0, 0, 0, start, ())]
        done: set[str] = set()
        while known:
            delay, hops, _, node, route = heapq.heappop(known)
            if node == end:
                return route
            if node in done or not (node == start or node in self.routers):
                continue
            done.add(node)
            for link in leaving.get(node, ()):
                number += 1
                step = (delay + link.delay_s, hops + 1, number, link.end, (*route, link))
                heapq.heappush(known, step)
        return ()

    def rtt_s(self, start: str, end: str) -> float:
        """Give the round-trip time without queues and without the time to transmit packets."""
        both = (*self.route(start, end), *self.route(end, start))
        return sum(link.delay_s for link in both)

    def exchange_s(
        self, start: str, end: str, request_bytes: float, response_bytes: float
    ) -> float:
        """Give the time of one packet there and one back over idle links.

        Parameters
        ----------
        request_bytes, response_bytes : float
            Sizes of the IP packets.
        """
        sizes = ((self.route(start, end), request_bytes), (self.route(end, start), response_bytes))
        return self.rtt_s(start, end) + sum(
            8 * size / link.rate_bits_per_second
            for route, size in sizes
            for link in route
            if link.rate_bits_per_second is not None
        )


def bottleneck_of(route: tuple[Link, ...]) -> Link | None:
    """Give the slowest link of a route, the first of several; None if all are unlimited."""
    limited = [link for link in route if link.rate_bits_per_second is not None]
    return min(limited, key=lambda link: link.rate_bits_per_second or math.inf, default=None)


def queue_limit(link: Link, mtu_bytes: float) -> tuple[float, bool] | None:
    """Give the limit of a link's queue in bytes, and whether it is counted in packets.

    Packets count as full ones. It is None of queues without a limit of their own, or with several.
    """
    if "limit_packets" in link.queue:
        return float(link.queue["limit_packets"]) * mtu_bytes, True
    if "limit_bytes" in link.queue:
        return float(link.queue["limit_bytes"]), False
    return None
