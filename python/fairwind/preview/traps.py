"""Traps in a plan: settings that are valid and rarely meant.

Each trap is a function of one resolved experiment. A setting that the scenario sweeps is chosen on
purpose, so that nothing is said about it where it is a trap in some cells only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairwind.preview.description import bottlenecks, product_bytes
from fairwind.preview.network import Link, Network, bottleneck_of, queue_limit
from fairwind.preview.traffic import Traffic, mean_of, traffic_of
from fairwind.quantities import (
    parse_bits_per_second,
    parse_bytes,
    parse_seconds,
    rate_in_words,
    significant,
    time_in_words,
)
from fairwind.scenario.plan import Plan

LEAST_ROUND_TRIPS = 50
"""Shorter measurements are mostly slow start."""

THIN_PACKETS = 4
"""Linux calls a stream thin while fewer packets than these are in flight (tcp_stream_is_thin)."""

OF_THIN_STREAMS = ("linear_timeouts", "modified_fast_retransmit", "redundant_bundling")

LEAST_QUEUE = 0.05
MOST_QUEUE = 10.0
"""Queues in bandwidth-delay products: a shorter one starves a single greedy flow, and a longer one
adds more delay than any router of today should."""

LEAST_PAGES = 3
"""Of fewer pages for each user, no percentile says anything."""

USUAL_REVERSE_QUEUE = {"discipline": "pfifo", "limit_packets": 1000}
"""What a path has in the direction of the acknowledgements unless the scenario says otherwise."""

SMALL_RESPONSE_BYTES = 500.0
"""Responses in smaller packets are probes, which take whatever way there is."""

LINUX = re.compile(r"linux-(\d+)\.(\d+)")
REMOVED = (
    ("modified_fast_retransmit", True, "modified fast retransmit", (4, 11)),
    ("early_retransmit", True, "early retransmit", (4, 12)),
    ("loss_detection", "forward", "forward acknowledgment", (4, 15)),
    ("loss_detection", "rfc6675", "loss detection by RFC 6675", (6, 17)),
)
"""Keys and values of mechanisms, and the first Linux without them, as `--on kernel` refuses them
(`crates/kernel-settings/src/keys/recovery.rs`)."""

FIFO = ("pfifo", "bfifo")

BY_RATE = ("rbdc", "rbdc-start")
"""Policies that request capacity by the rate at which packets come, not for those that wait."""

RANDOM_KEYS = ("distribution", "probability", "correlation", "jitter", "gemodel", "flows", "tins")
"""Keys of anything that is drawn or hashed at random: workloads, impairments, fair queues."""

RANDOM_DISCIPLINES = ("red", "pie", "sfq", "netem", "choke", "sfb")
RANDOM_CONTROLS = ("bbr", "bbr3")

MOST_CELLS = 300

USED = "used: "
"""Begins the key of what is said although it holds in some cells only, which use a mechanism."""


def traps(plan: Plan) -> list[str]:
    """Give warnings about a plan, each once.

    Returns
    -------
    list of str
        What was found, where, and which key to change.
    """
    step = max(-(-len(plan.cells) // MOST_CELLS), 1)
    cells = plan.cells[::step]
    texts: dict[str, str] = {}
    counts: dict[str, int] = {}
    for cell in cells:
        network = Network.of(cell.experiment["network"])
        case = Case(cell.experiment, network, traffic_of(cell.experiment, network))
        found = dict(one for trap in TRAPS for one in trap(case))
        for key, text in found.items():
            texts.setdefault(key, text)
            counts[key] = counts.get(key, 0) + 1
    said = [
        text for key, text in texts.items() if counts[key] == len(cells) or key.startswith(USED)
    ]
    return said + list(_about_repetition(plan))


@dataclass(frozen=True)
class Case:
    """A resolved experiment with its network and traffic."""

    experiment: Mapping[str, Any]
    network: Network
    traffic: list[Traffic]

    @property
    def flows(self) -> list[Mapping[str, Any]]:
        """The groups of flows."""
        groups: list[Mapping[str, Any]] = self.experiment["flows"]
        return groups

    def bottleneck_of(self, one: Traffic) -> Link | None:
        """Find the bottleneck on the way of some traffic."""
        return bottleneck_of(self.network.route(one.start, one.end))


Found = Iterator[tuple[str, str]]
"""Keys, which are the same in all cells, and texts."""


def _reverse_link(case: Case) -> Found:
    """Find answers that do not pass the bottleneck of a dumbbell, but its usual way back."""
    bottleneck = case.network.bottleneck
    if bottleneck is None:
        return
    for one in case.traffic:
        link = case.bottleneck_of(one)
        if not one.group.endswith("-responses") or link is None or link == bottleneck:
            continue
        is_small = one.volume_bytes < SMALL_RESPONSE_BYTES * one.packets
        if dict(link.queue) == USUAL_REVERSE_QUEUE and not is_small:
            name = one.group.removesuffix("-responses")
            yield (
                f"reverse {name}",
                f"flows.{name}: responses take the link {link.name} (pfifo, 1000 packets), and "
                "only requests pass the bottleneck; set path.reverse_rate and path.reverse_queue",
            )


def _queue_sizes(case: Case) -> Found:
    greedy = [one for one in case.traffic if _fills(one, case)]
    for link, rtt_s in bottlenecks(case.experiment, case.network):
        flows = sum(one.connections for one in greedy if case.bottleneck_of(one) == link)
        limit = queue_limit(link, case.network.mtu_bytes)
        product = product_bytes(link, rtt_s)
        if not flows or limit is None or not product or link.queue.get("discipline") not in FIFO:
            continue
        size = limit[0] / product
        words = f"the queue of {link.name} is {significant(size, 2)} bandwidth-delay products"
        # Many flows need less (Appenzeller and others, SIGCOMM 2004).
        if size < LEAST_QUEUE / math.sqrt(flows) or limit[0] < 2 * case.network.mtu_bytes:
            yield f"short {link.name}", f"{words}: greedy flows cannot fill the link; lengthen it"
        elif size > MOST_QUEUE:
            wait = time_in_words(8 * limit[0] / (link.rate_bits_per_second or 1.0))
            yield f"long {link.name}", f"{words}: packets may wait for {wait}; shorten it"


def _fills(one: Traffic, case: Case) -> bool:
    """Whether a group alone would fill its bottleneck."""
    link = case.bottleneck_of(one)
    rate = None if link is None else link.rate_bits_per_second
    return one.is_greedy or (rate is not None and 8 * one.volume_bytes > rate * one.active_s)


def _short_measurement(case: Case) -> Found:
    duration_s = parse_seconds(case.experiment["duration"])
    warmup_s = parse_seconds(case.experiment.get("measure", {}).get("warmup", "0 s"))
    rtt_s = max((case.network.rtt_s(one.start, one.end) for one in case.traffic), default=0.0)
    if rtt_s and duration_s - warmup_s < LEAST_ROUND_TRIPS * rtt_s:
        trips = significant((duration_s - warmup_s) / rtt_s, 2)
        yield (
            "duration",
            f"{time_in_words(duration_s - warmup_s)} are measured, which is {trips} round trips: "
            "mostly slow start; lengthen duration",
        )
    late = [
        group["name"]
        for group in case.flows
        if warmup_s and _last_start_s(group) > warmup_s and not _is_probe_of_start(group)
    ]
    if late:
        yield (
            "warmup",
            f"flows.{', '.join(late)}: flows start after the warm-up of {time_in_words(warmup_s)}, "
            "so that measures contain their beginning; lengthen measure.warmup",
        )


def _last_start_s(group: Mapping[str, Any]) -> float:
    start_s = parse_seconds(group.get("start", "0 s"))
    return start_s + parse_seconds(group.get("start_spread", "0 s"))


def _is_probe_of_start(group: Mapping[str, Any]) -> bool:
    """Whether a group's beginning is what it is there for: streams of a volume, and transfers."""
    workload = group["workload"]
    return workload["kind"] == "transfers" or workload.get("volume") is not None


def _thick_streams(case: Case) -> Found:
    for group in case.flows:
        workload = group["workload"]
        if workload["kind"] != "thin" or workload.get("transport") == "udp":
            continue
        interval_s = mean_of(workload["interval"], parse_seconds)
        sizes = workload["size"]
        size = mean_of(sizes.get("payload", sizes.get("packet")), parse_bytes)
        rtt_s = case.network.rtt_s(group["from"], group["to"])
        rate = max(math.ceil(size / case.network.mtu_bytes), 1) / max(interval_s, 1e-9)
        below = thin_below(group["tcp"])
        if rtt_s * rate >= below:
            yield (
                f"thick {group['name']}",
                f"flows.{group['name']}: {significant(rtt_s * rate, 2)} packets are in flight at "
                f"an RTT of {time_in_words(rtt_s)}, and mechanisms for thin streams work below "
                f"{significant(below, 2)}; lengthen workload.interval",
            )
            continue
        full_s = rtt_s + _full_queue_s(case, group)
        is_used = any(group["tcp"].get(key) for key in OF_THIN_STREAMS)
        if is_used and rate * full_s >= below:
            yield (
                f"{USED}thick {group['name']}",
                f"flows.{group['name']}: {significant(full_s * rate, 2)} packets are in flight "
                f"when the queue is full (RTT {time_in_words(full_s)}), and mechanisms for thin "
                f"streams work below {significant(below, 2)}, so they do nothing then; shorten "
                "path.queue.limit, or lengthen workload.interval",
            )


def thin_below(tcp: Mapping[str, Any]) -> float:
    """Give the number of packets below which a stream is thin; infinite by other definitions."""
    if tcp.get("thin_definition", "few-outstanding") != "few-outstanding":
        return math.inf
    return float(tcp.get("thin_segments", THIN_PACKETS))


def _full_queue_s(case: Case, group: Mapping[str, Any]) -> float:
    """Give the time that a full drop-tail queue before a group's bottleneck takes to empty.

    Zero where nothing fills it.
    """
    link = bottleneck_of(case.network.route(group["from"], group["to"]))
    limit = link and queue_limit(link, case.network.mtu_bytes)
    fills = any(one.is_greedy and case.bottleneck_of(one) == link for one in case.traffic)
    if not link or not limit or not fills or link.queue.get("discipline") not in FIFO:
        return 0.0
    return 8 * limit[0] / (link.rate_bits_per_second or math.inf)


def _overload(case: Case) -> Found:
    """Find groups that write at a rate of their own, and together more than their link carries."""
    kinds = {group["name"]: group["workload"]["kind"] for group in case.flows}
    offered: dict[str, list[Traffic]] = {}
    rates: dict[str, float] = {}
    for one in case.traffic:
        link = case.bottleneck_of(one)
        if link is None or link.rate_bits_per_second is None or not one.active_s:
            continue
        if kinds.get(one.group) in ("thin", "constant", "on-off") and not one.is_greedy:
            offered.setdefault(link.name, []).append(one)
            rates[link.name] = link.rate_bits_per_second
    for name, those in offered.items():
        total = sum(8 * one.volume_bytes / one.active_s for one in those)
        if total > rates[name]:
            groups = ", ".join(one.group for one in those)
            yield (
                f"overload {name}",
                f"flows.{groups}: they offer {rate_in_words(total)} to the link {name} of "
                f"{rate_in_words(rates[name])}, so its queue is always full; lower their count or "
                "raise the rate",
            )


def _few_pages(case: Case) -> Found:
    duration_s = parse_seconds(case.experiment["duration"])
    for group in case.flows:
        if group["workload"]["kind"] != "web":
            continue
        reading_s = mean_of(group["workload"]["reading_time"], parse_seconds)
        if reading_s and duration_s / reading_s < LEAST_PAGES:
            yield (
                f"pages {group['name']}",
                f"flows.{group['name']}: a user reads {time_in_words(reading_s)} between pages, so "
                f"{time_in_words(duration_s)} hold fewer than {LEAST_PAGES + 1} pages each; "
                "lengthen duration, raise count or shorten workload.reading_time",
            )


def _heavy_tails(case: Case) -> Found:
    for group in case.flows:
        for key, value in group["workload"].items():
            # Beyond a shape of 2 the variance is finite.
            is_pareto = isinstance(value, Mapping) and value.get("distribution") == "pareto"
            if is_pareto and value["shape"] <= 2:
                yield (
                    f"tail {group['name']} {key}",
                    f"flows.{group['name']}.workload.{key}: a Pareto distribution of shape "
                    f"{value['shape']:g} has no finite variance, so means settle slowly; "
                    "compare medians, or bound it",
                )


def _absent_mechanisms(case: Case) -> Found:
    """Find mechanisms that the kernel of a group's profile no longer has."""
    for group in case.flows:
        tcp = group.get("tcp", {})
        release = LINUX.fullmatch(tcp.get("profile", ""))
        for key, value, name, version in REMOVED:
            if release is None or tcp.get(key) != value:
                continue
            if (int(release[1]), int(release[2])) >= version:
                since = ".".join(map(str, version))
                yield (
                    f"{key} {group['name']}",
                    f"flows.{group['name']}.tcp.{key}: Linux has had no {name} since {since}, and "
                    f"the simulator adds it to {tcp['profile']}; leave it out, or choose an older "
                    "profile",
                )


def _assigned_capacity(case: Case) -> Found:
    """Find queues that wait for slots which nobody requests, or that are too short to wait.

    See docs/concepts/demand-assignment.md.
    """
    carriers = case.experiment["network"].get("carriers", ())
    assigned = {
        link["name"]: (link["assigned"]["terminal"], carriers[link["assigned"]["carrier"]])
        for link in case.experiment["network"]["links"]
        if "assigned" in link
    }
    ending = {one["name"] for one in case.flows if _has_pauses(one["workload"])}
    for link in case.network.links:
        terminal, carrier = assigned.get(link.name, ({}, {}))
        policy = terminal.get("requests", {}).get("policy")
        groups = [
            one.group for one in case.traffic if link in case.network.route(one.start, one.end)
        ]
        if policy is None or not groups:
            continue
        groups = [name for name in groups if name.removesuffix("-responses") in ending]
        if groups and policy in BY_RATE and not terminal.get("takes_free"):
            rate = terminal["guaranteed_slots"] * parse_bits_per_second(carrier["slot_rate"])
            yield (
                f"requests {link.name}",
                f"flows.{', '.join(groups)}: requests by rate ({policy}) stop when no more packets "
                f"come, and what then waits before {link.name} leaves by guaranteed slots alone "
                f"({rate_in_words(rate)}); raise guaranteed_slots, or request volume as well "
                "(rbdc-vbdc)",
            )
        limit, wait_s = queue_limit(link, case.network.mtu_bytes), _assignment_s(carrier)
        if limit is None or not link.rate_bits_per_second:
            continue
        held_s = 8 * limit[0] / link.rate_bits_per_second
        if link.queue.get("discipline") in FIFO and held_s < wait_s:
            yield (
                f"assigned {link.name}",
                f"the queue of {link.name} holds {time_in_words(held_s)} of its "
                f"rate, and slots come up to {time_in_words(wait_s)} after they were asked for: "
                "slow start loses packets; lengthen it (1 bdp counts the RTT without this time)",
            )


def _has_pauses(workload: Mapping[str, Any]) -> bool:
    """Whether an application stops writing at some time and goes on, or ends."""
    is_endless = workload["kind"] == "greedy" and workload.get("volume") is None
    return not is_endless and workload["kind"] not in ("thin", "constant", "relay")


def _assignment_s(carrier: Mapping[str, Any]) -> float:
    """Give the longest time from a packet to the frame with slots that it was asked for."""
    keys = ("request_period", "allocation_period", "frame")
    waits = sum(parse_seconds(carrier[key]) for key in keys)
    return 2 * parse_seconds(carrier["signalling_delay"]) + waits


TRAPS: tuple[Callable[[Case], Found], ...] = (
    _absent_mechanisms,
    _assigned_capacity,
    _reverse_link,
    _queue_sizes,
    _short_measurement,
    _thick_streams,
    _overload,
    _few_pages,
    _heavy_tails,
)


def _about_repetition(plan: Plan) -> Iterator[str]:
    """Find grids whose replicates show no spread."""
    if plan.replicates == 1:
        yield "one run per cell has no interval; set sweep.repeat = 5"
    elif not any(_is_random(cell.experiment) for cell in plan.cells[:MOST_CELLS]):
        yield (
            "nothing is drawn at random, so all replicates are the same; set start_spread and "
            'start_pattern = "random" for a group of flows'
        )


def _is_random(value: object) -> bool:
    """Whether a resolved experiment has anything that depends on the seed."""
    match value:
        case dict():
            return (
                (value.get("start_pattern") == "random" and value.get("start_spread") != "0 ns")
                or value.get("loss", "0 ppb") != "0 ppb"
                or value.get("discipline") in RANDOM_DISCIPLINES
                or value.get("congestion") in RANDOM_CONTROLS
                or any(key in value and not isinstance(value[key], list) for key in RANDOM_KEYS)
                or any(_is_random(inner) for inner in value.values())
            )
        case list():
            return any(_is_random(inner) for inner in value)
        case _:
            return False
