"""Description of a plan in about ten lines, as `fairwind check` prints it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fairwind.preview.network import Link, Network, bottleneck_of, queue_limit
from fairwind.preview.traffic import mean_of, traffic_of
from fairwind.quantities import (
    RATES,
    SIZES,
    TIMES,
    counted,
    parse_bits_per_second,
    parse_bytes,
    parse_seconds,
    rate_in_words,
    significant,
    size_in_words,
    time_in_words,
)
from fairwind.scenario.plan import Axis, Cell, Plan

NO_LOSS = "0 ppb"

MOST_VARIANTS = 3
"""So many different descriptions of cells are printed in full."""

MOST_GROUPS = 4
"""So many groups have a line of their own."""

BUSY = 0.01
"""A group that writes a smaller share of its link's rate does not fill a queue."""

MOST_CELLS = 300
"""Cells that are described; of larger grids this many, evenly spaced."""

MAGNITUDES = {unit.name: unit.size for unit in (*RATES, *SIZES, *TIMES)}
QUANTITY = re.compile(rf"[0-9.]+(?: (?:{'|'.join(MAGNITUDES)}))?")
TOKEN = re.compile(rf"[0-9.]+ (?:{'|'.join(MAGNITUDES)})\b|[^\s,;:()]+|[\s,;:()]+")
"""A quantity with its unit, a word, or what is between them."""

UNLIMITED = "unlimited"
"""The discipline of a link before which no packet waits."""

Line = tuple[str, str]
"""What it is about, and what there is to say."""


def describe(plan: Plan, cells: Sequence[Cell], each: str) -> list[Line]:
    """Describe a plan, or some of its cells.

    Parameters
    ----------
    plan : Plan
        The plan.
    cells : sequence of Cell
        Cells to describe: all of the plan, or one.
    each : str
        What one cell and seed is called: ``simulation`` or ``run``.

    Returns
    -------
    list of (str, str)
        Lines with their subjects: path, bdp, queue, carrier, flows, time, sweep and runs.
    """
    paired = _shown(cells)
    shown = [experiment for experiment, _ in paired]
    lines = [
        ("path", variants(_path(experiment, network) for experiment, network in paired)),
        ("bdp", variants(_products(experiment, network) for experiment, network in paired)),
        ("queue", variants(_queues(experiment, network) for experiment, network in paired)),
        ("carrier", variants(map(_carriers, shown))),
        ("impaired", variants(map(_impairments, shown))),
        *_groups(shown),
        ("time", variants(_times(experiment) for experiment in shown)),
    ]
    lines += [("sweep", _axis(axis)) for axis in plan.axes]
    runs = f"1 {each}" if plan.runs == 1 else f"{plan.runs} {each}s"
    grid = f"{counted(len(plan.cells), 'cell')} x {counted(plan.replicates, 'seed')} = {runs}"
    return [line for line in lines if line[1]] + [("runs", grid)]


def runs_in_words(plan: Plan) -> str:
    """Say in one sentence on which paths a plan's runs are, and how long and how many they are."""
    paired = _shown(plan.cells)
    queues = variants(_queues(experiment, network) for experiment, network in paired)
    parts = [
        variants(_path(experiment, network) for experiment, network in paired),
        f"queue {queues}" if queues else "",
        variants(_times(experiment) for experiment, _ in paired),
        counted(plan.replicates, "seed"),
    ]
    return f"{'; '.join(filter(None, parts))}."


def _shown(cells: Sequence[Cell]) -> list[tuple[Mapping[str, Any], Network]]:
    """Give the experiments that are described, evenly spaced, each with its network."""
    step = max(-(-len(cells) // MOST_CELLS), 1)
    return [(cell.experiment, Network.of(cell.experiment["network"])) for cell in cells[::step]]


def _axis(axis: Axis) -> str:
    against = f"; compared with {axis.reference}" if len(axis.labels) > 1 else ""
    return f"{axis.name}: {labels_in_words(axis.labels)}{against}"


def labels_in_words(labels: Sequence[str]) -> str:
    """Give the settings along an axis, of many the ends and how many there are."""
    if len(labels) <= 8:
        return ", ".join(labels)
    return f"{labels[0]}, {labels[1]} to {labels[-1]} ({len(labels)} values)"


def variants(texts: Iterable[str]) -> str:
    """Give the texts of all cells as one: where they differ in a number or a word, its values.

    Empty texts are left out.
    """
    different = [text for text in dict.fromkeys(texts) if text]
    if len(different) <= 1:
        return "".join(different)
    split = [TOKEN.findall(text) for text in different]
    # Words stand at even places, and what is between them at odd ones.
    if len({tuple(tokens[1::2]) for tokens in split}) == 1:
        merged = [_values(list(dict.fromkeys(tokens))) for tokens in zip(*split, strict=True)]
        return "".join(merged)
    if len(different) <= MOST_VARIANTS:
        return " | ".join(different)
    return f"{different[0]} | and {len(different) - 1} others"


def _values(values: list[str]) -> str:
    """Give different values of one number or word: two of them, or the first and the last."""
    if len(values) == 1:
        return values[0]
    if all(QUANTITY.fullmatch(value) for value in values):
        ordered = sorted(values, key=_magnitude)
        return f"{ordered[0]} to {ordered[-1]}" if len(values) > 2 else " or ".join(values)
    if len(values) == 2:
        return f"{values[0]} or {values[1]}"
    return f"{values[0]} or {len(values) - 1} others"


def _magnitude(quantity: str) -> float:
    number, _, unit = quantity.partition(" ")
    return float(number) * MAGNITUDES.get(unit, 1.0)


def _ways(experiment: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Give group, sender and receiver of each group; groups between the same nodes once."""
    ways: dict[tuple[str, str], str] = {}
    for group in experiment["flows"]:
        ways.setdefault((group["from"], group["to"]), group["name"])
    return [(name, start, end) for (start, end), name in ways.items()]


def _by_text(texts: Iterable[tuple[str, str]], *, is_always_named: bool = False) -> str:
    """Give texts behind their names; names of one text share it, and one for all stands alone."""
    names: dict[str, list[str]] = {}
    for name, text in texts:
        names.setdefault(text, []).append(name)
    if len(names) == 1 and not is_always_named:
        return next(iter(names))
    return "; ".join(f"{', '.join(of_one)}: {text}" for text, of_one in names.items())


def _carriers(experiment: Mapping[str, Any]) -> str:
    """Describe carriers with capacity on demand, and when slots come that a terminal asks for."""
    found = []
    for carrier in experiment["network"].get("carriers", ()):
        periods = [carrier[key] for key in ("request_period", "allocation_period", "frame")]
        delay_s = 2 * parse_seconds(carrier["signalling_delay"])
        latest_s = delay_s + sum(map(parse_seconds, periods))
        found.append(
            f"{carrier['slots']} slots of {carrier['slot_rate']} in {carrier['frame']}, requests "
            f"every {periods[0]}, plans every {periods[1]}; slots come {time_in_words(delay_s)} "
            f"to {time_in_words(latest_s)} after their packets"
        )
    return "; ".join(found)


def _impairments(experiment: Mapping[str, Any]) -> str:
    """Describe random losses and other impairments of each link that has any."""
    links = experiment["network"]["links"]
    found = [(link["name"], words) for link in links if (words := impairment_words(link))]
    return "; ".join(f"{name}: {words}" for name, words in found)


def impairment_words(link: Mapping[str, Any]) -> str:
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


def _path(experiment: Mapping[str, Any], network: Network) -> str:
    """Describe rate and round-trip time of each way."""
    texts = []
    for name, start, end in _ways(experiment):
        there = _rate(bottleneck_of(network.route(start, end)))
        back = _rate(bottleneck_of(network.route(end, start)))
        text = there if there == back else f"{there}, reverse {back}"
        texts.append((name, f"{text}, RTT {time_in_words(network.rtt_s(start, end))}"))
    return _by_text(texts)


def _rate(link: Link | None) -> str:
    if link is None or link.rate_bits_per_second is None:
        return "unlimited rate"
    return rate_in_words(link.rate_bits_per_second)


def bottlenecks(experiment: Mapping[str, Any], network: Network) -> list[tuple[Link, float]]:
    """Give the slowest link of each way that data takes, and the smallest RTT of its groups.

    Ways that carry next to nothing are left out, unless there is no other.
    """
    found: dict[str, tuple[Link, float]] = {}
    busy: set[str] = set()
    for one in traffic_of(experiment, network):
        link = bottleneck_of(network.route(one.start, one.end))
        if link is not None:
            rtt_s = network.rtt_s(one.start, one.end)
            known = found.get(link.name, (link, rtt_s))
            found[link.name] = (link, min(known[1], rtt_s))
            if 8 * one.volume_bytes > BUSY * (link.rate_bits_per_second or 0.0) * one.active_s:
                busy.add(link.name)
    return [both for name, both in found.items() if name in busy or not busy]


def product_bytes(link: Link, rtt_s: float) -> float:
    """Give the bandwidth-delay product of a link."""
    return (link.rate_bits_per_second or 0.0) / 8 * rtt_s


def _products(experiment: Mapping[str, Any], network: Network) -> str:
    texts = []
    for link, rtt_s in bottlenecks(experiment, network):
        product = product_bytes(link, rtt_s)
        packets = significant(product / network.mtu_bytes, 3)
        text = f"{size_in_words(product)} = {packets} packets of {network.mtu_bytes:.0f} B"
        texts.append((link.name, text))
    return _by_text(texts)


def _queues(experiment: Mapping[str, Any], network: Network) -> str:
    texts = []
    for link, rtt_s in bottlenecks(experiment, network):
        text = queue_in_words(link, network.mtu_bytes) or UNLIMITED
        limit, product = queue_limit(link, network.mtu_bytes), product_bytes(link, rtt_s)
        if limit and product and "target" not in link.queue:
            text += f" = {significant(limit[0] / product, 2)} BDP"
        texts.append((link.name, text))
    return _by_text(texts, is_always_named=True)


def queue_in_words(link: Link, mtu_bytes: float) -> str:
    """Give discipline and limit of a link's queue, and how long a full one takes to empty.

    Empty if the queue has no limit, because packets never wait there.
    """
    queue = link.queue
    name = str(queue.get("discipline", UNLIMITED))
    if name == UNLIMITED:
        return ""
    parts = [name]
    if classes := queue.get("classes"):
        parts.append(f"{len(classes)} classes")
    if "rate" in queue:  # a shaper
        parts.append(str(queue["rate"]))
    if limit := queue_limit(link, mtu_bytes):
        size, in_packets = limit
        packets = f"{significant(size / mtu_bytes, 3)} packets"
        parts.append(packets if in_packets else f"{size_in_words(size)} ({packets})")
    if "target" in queue:
        parts.append(f"target {queue['target']}")
    elif limit and link.rate_bits_per_second:
        parts[-1] += f" = {time_in_words(8 * limit[0] / link.rate_bits_per_second)}"
    return ", ".join(parts)


def _groups(shown: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Describe the groups by name, the first ones in a line each."""
    by_name: dict[str, list[str]] = {}
    for experiment in shown:
        for group in experiment["flows"]:
            by_name.setdefault(group["name"], []).append(group_in_words(group))
    alike: dict[str, list[str]] = {}
    for name, texts in by_name.items():
        alike.setdefault(variants(texts), []).append(name)
    lines = [("flows", f"{', '.join(names)}: {text}") for text, names in alike.items()]
    rest = [name for names in list(alike.values())[MOST_GROUPS:] for name in names]
    if len(lines) > MOST_GROUPS + 1:
        lines[MOST_GROUPS:] = [("flows", f"and {len(rest)} more groups: {', '.join(rest)}")]
    return lines


def group_in_words(group: Mapping[str, Any]) -> str:
    """Describe a group: how many flows, what they write, and their TCP."""
    workload = group["workload"]
    kind = workload["kind"]
    words = f"{group.get('count', 1)} x {kind}"
    details = _DETAILS[kind](workload) if kind in _DETAILS else ""
    tcp = group.get("tcp", {})
    control = tcp.get("congestion")
    if isinstance(control, Mapping):
        control = control["name"]
    stack = " ".join(part for part in (tcp.get("profile"), control) if part)
    if workload.get("transport") == "udp":
        stack = "UDP"
    return ", ".join(part for part in (words, details, stack) if part)


def _mean_size(value: object) -> str:
    return _mean(value, size_in_words(mean_of(value, parse_bytes)))


def _mean_time(value: object) -> str:
    return _mean(value, time_in_words(mean_of(value, parse_seconds)))


def _mean(value: object, text: str) -> str:
    return f"{text} on average" if isinstance(value, Mapping) else text


def _bursts_in_words(workload: Mapping[str, Any]) -> str:
    burst = workload["burst"]
    on = _mean_time(burst["time"]) if "time" in burst else _mean_size(burst["volume"])
    pace = workload.get("pace")
    rate = f" at {rate_in_words(parse_bits_per_second(pace['rate']))}" if pace else ""
    return f"{on} on{rate}, {_mean_time(workload['off'])} off"


_DETAILS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greedy": lambda it: _mean_size(it["volume"]) if it.get("volume") else "",
    "thin": lambda it: (
        f"{_mean_size(next(iter(it['size'].values())))} every {_mean_time(it['interval'])}"
    ),
    "constant": lambda it: rate_in_words(parse_bits_per_second(it["rate"])),
    "on-off": _bursts_in_words,
    "request-response": lambda it: (
        f"{_mean_size(it['request'])} asked, {_mean_size(it['response'])} answered"
    ),
    "web": lambda it: f"pages with {_mean_time(it['reading_time'])} of reading between them",
    "transfers": lambda it: f"at most {it['transfers']} of {_mean_size(it['volume'])} each",
    "replay": lambda it: f"{len(it['writes'])} writes",
    "relay": lambda it: f"of {it['of']}",
}
"""What a workload does, in a few words, by its kind."""


def _times(experiment: Mapping[str, Any]) -> str:
    duration_s = parse_seconds(experiment["duration"])
    warmup_s = parse_seconds(experiment.get("measure", {}).get("warmup", "0 s"))
    if not warmup_s:
        return f"{time_in_words(duration_s)}, all of it measured"
    return f"{time_in_words(duration_s)}, measured after {time_in_words(warmup_s)} of warm-up"
