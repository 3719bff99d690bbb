"""Traffic of the groups of a resolved experiment: expected packets and bytes, by direction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fairwind.preview.network import Network, bottleneck_of
from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_ratio, parse_seconds

HEADERS_BYTES = 52
"""Headers of IPv4 and TCP with timestamps."""

INITIAL_WINDOW = 10
"""Segments (RFC 6928)."""

LARGEST = 2.0**50
"""No draw is larger, in bytes or nanoseconds (docs/reference/scenario.md, Distribution)."""


@dataclass(frozen=True)
class Traffic:
    """Data of one group in one direction, expected over the whole experiment.

    Attributes
    ----------
    group : str
        The group; its answers end in ``-responses``.
    start, end : str
        Nodes that send and receive the data.
    connections : float
        How many there are, one after the other included.
    volume_bytes : float
        IP bytes that the applications would send; infinite if they take all that they get.
    packets : float
        Packets of that volume, if it is finite.
    acks_per_packet : float
        ACKs without data for each packet with data.
    active_s : float
        How long they have something to send.
    """

    group: str
    start: str
    end: str
    connections: float
    volume_bytes: float
    packets: float
    acks_per_packet: float
    active_s: float

    @property
    def is_greedy(self) -> bool:
        """Whether it takes all that it gets."""
        return math.isinf(self.volume_bytes)


def traffic_of(experiment: Mapping[str, Any], network: Network) -> list[Traffic]:
    """Give what each group sends, and what it is answered."""
    groups = {group["name"]: group for group in experiment["flows"]}
    duration_s = parse_seconds(experiment["duration"])
    found: list[Traffic] = []
    for group in experiment["flows"]:
        source = group
        while source["workload"]["kind"] == "relay":
            source = groups[source["workload"]["of"]]
        found += _traffic(group, source, network, duration_s)
    return found


def _traffic(
    group: Mapping[str, Any], source: Mapping[str, Any], network: Network, duration_s: float
) -> Iterator[Traffic]:
    workload = source["workload"]
    active_s = active_seconds(group, duration_s)
    way = _Way(group["name"], group["from"], group["to"], network, active_s)
    count = float(group.get("count", 1))
    match workload["kind"]:
        case "greedy":
            volume = workload.get("volume")
            yield way.greedy(count, math.inf if volume is None else parse_bytes(volume))
        case "thin" | "constant" | "replay":
            size, messages = _messages(workload, active_s)
            acks = 0.0 if workload.get("transport") == "udp" else 1.0
            yield way.messages(count, size, count * messages, acks)
        case "on-off":
            yield _bursts(workload, way, count)
        case _:
            yield from _answered(workload, way, count)


@dataclass(frozen=True)
class _Way:
    """Where the data of a group goes, and for how long."""

    group: str
    start: str
    end: str
    network: Network
    active_s: float

    @property
    def payload(self) -> float:
        """Bytes of data in a full packet."""
        return max(self.network.mtu_bytes - HEADERS_BYTES, 1.0)

    def messages(self, connections: float, size: float, number: float, acks: float) -> Traffic:
        """Give the traffic of so many messages of a size, all in all."""
        packets = number * max(math.ceil(size / self.payload), 1)
        return self._traffic(connections, number * size, packets, acks)

    def greedy(self, count: float, volume: float) -> Traffic:
        """Give the traffic of streams of a volume, which may be infinite."""
        packets = 0.0 if math.isinf(volume) else count * math.ceil(volume / self.payload)
        return self._traffic(count, count * volume, packets, 0.5)

    def _traffic(self, connections: float, data: float, packets: float, acks: float) -> Traffic:
        volume = data + packets * HEADERS_BYTES
        ends = (self.group, self.start, self.end)
        return Traffic(*ends, connections, volume, packets, acks, self.active_s)


def _messages(workload: Mapping[str, Any], active_s: float) -> tuple[float, float]:
    """Give the mean size of a message, and how many one stream writes."""
    if workload["kind"] == "replay":
        sizes = [parse_bytes(write["size"]) for write in workload["writes"]]
        return sum(sizes) / max(len(sizes), 1), float(len(sizes))
    sizes = workload["size"]
    packet = mean_of(sizes.get("packet", "0 B"), parse_bytes)
    size = max(packet - HEADERS_BYTES, 1.0)
    if not packet:
        size = mean_of(sizes["payload"], parse_bytes)
        packet = size + HEADERS_BYTES
    if workload["kind"] == "constant":
        return size, active_s * parse_bits_per_second(workload["rate"]) / (8 * packet)
    return size, active_s / max(mean_of(workload["interval"], parse_seconds), 1e-9)


def _bursts(workload: Mapping[str, Any], way: _Way, count: float) -> Traffic:
    burst, off_s = workload["burst"], mean_of(workload["off"], parse_seconds)
    pace = workload.get("pace")
    if "time" in burst and pace is None:
        return way.greedy(count, math.inf)
    if "time" in burst and pace is not None:
        on_s = mean_of(burst["time"], parse_seconds)
        size, rate = parse_bytes(pace["message"]), parse_bits_per_second(pace["rate"])
        busy_s = way.active_s * on_s / max(on_s + off_s, 1e-9)
        return way.messages(count, size, count * busy_s * rate / (8 * size), 1.0)
    volume = mean_of(burst["volume"], parse_bytes)
    on_s = 0.0 if pace is None else 8 * volume / parse_bits_per_second(pace["rate"])
    return way.messages(count, volume, count * way.active_s / max(on_s + off_s, 1e-9), 0.5)


def _answered(workload: Mapping[str, Any], way: _Way, count: float) -> Iterator[Traffic]:
    """Give requests and responses of connections that carry data both ways."""
    kind, network = workload["kind"], way.network
    request = mean_of(workload.get("request", "0 B"), parse_bytes)
    response, objects, pause_s = _exchange(workload)
    link = bottleneck_of(network.route(way.end, way.start))
    rate = math.inf if link is None else link.rate_bits_per_second or math.inf
    rounds = math.log2(response / (INITIAL_WINDOW * way.payload) + 1)
    rounds = 2 + rounds if kind == "transfers" else max(rounds, 1.0)
    object_s = network.rtt_s(way.start, way.end) * rounds + 8 * response / rate
    cycle_s = max(objects * object_s + pause_s, 1e-6)
    most = workload.get("exchanges") or workload.get("pages") or workload.get("transfers")
    cycles = min(way.active_s / cycle_s, math.inf if most is None else float(most))
    connections = count * max(cycles, 1.0) if kind == "transfers" else count
    asked = count * max(cycles, 1.0) * objects
    if request:
        yield way.messages(connections, request, asked, 0.1)
    # A response that outlasts the experiment is as greedy as a stream without an end.
    back = replace(way, group=f"{way.group}-responses", start=way.end, end=way.start)
    yield back.messages(connections, response, asked, 0.5)


def _exchange(workload: Mapping[str, Any]) -> tuple[float, float, float]:
    """Give bytes of a response, responses of a cycle, and the time of a cycle without sending."""
    match workload["kind"]:
        case "web":
            main = mean_of(workload["main_object"], parse_bytes)
            embedded = mean_of(workload["embedded_object"], parse_bytes)
            number = mean_of(workload["embedded_objects"], float)
            reading_s = mean_of(workload["reading_time"], parse_seconds)
            parsing_s = mean_of(workload["parsing_time"], parse_seconds)
            return (main + number * embedded) / (1 + number), 1 + number, reading_s + parsing_s
        case "transfers":
            pause_s = mean_of(workload.get("pause", "0 s"), parse_seconds)
            return mean_of(workload["volume"], parse_bytes), 1.0, pause_s
        case _:
            pauses = (workload.get("pause", "0 s"), workload.get("think_time", "0 s"))
            pause_s = sum(mean_of(pause, parse_seconds) for pause in pauses)
            return mean_of(workload["response"], parse_bytes), 1.0, pause_s


def active_seconds(group: Mapping[str, Any], duration_s: float) -> float:
    """Give how long the flows of a group write, on average."""
    start_s = parse_seconds(group.get("start", "0 s"))
    spread_s = parse_seconds(group.get("start_spread", "0 s"))
    stop_s = parse_seconds(group["stop"]) if group.get("stop") else duration_s
    return max(min(stop_s, duration_s) - start_s - spread_s / 2, 0.0)


def mean_of(value: Any, parse: Callable[[Any], float]) -> float:  # noqa: ANN401 - as JSON has it
    """Give the mean of a quantity that may be drawn from a distribution, as the scenario says it.

    Bounds of lognormal distributions are not considered.
    """
    if not isinstance(value, Mapping):
        return parse(value)
    if "mean" in value:
        return parse(value["mean"])
    match value["distribution"]:
        case "uniform":
            return (parse(value["min"]) + parse(value["max"])) / 2
        case "pareto":
            return _pareto_mean(parse(value["min"]), LARGEST, value["shape"])
        case "bounded-pareto":
            return _pareto_mean(parse(value["min"]), parse(value["max"]), value["shape"])
        case _:
            return empirical_mean(value["quantiles"], parse)


def _pareto_mean(least: float, most: float, shape: float) -> float:
    """Give the mean of a Pareto distribution between two bounds."""
    if least <= 0 or most <= least:
        return least
    if math.isclose(shape, 1.0):
        return math.log(most / least) / (1 / least - 1 / most)
    ratio = least / most
    mean = shape / (shape - 1) * least * (1 - ratio ** (shape - 1)) / (1 - ratio**shape)
    return float(mean)


def empirical_mean(quantiles: list[Mapping[str, Any]], parse: Callable[[Any], float]) -> float:
    """Give the mean if every value between two quantiles is equally likely."""
    points = [(parse_ratio(one["share"]), parse(one["value"])) for one in quantiles]
    steps = itertools.pairwise(points)
    return sum((high - low) * (a + b) / 2 for (low, a), (high, b) in steps)
