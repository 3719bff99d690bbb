"""A path in a few words, written as a scenario."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal

from fairwind.engine import ScenarioError
from fairwind.errors import FairwindError

LONGEST = "2500 h"
"""How long a shell may last, a hundred days: a scenario names a duration, and windows of a second
are counted, of which a run has ten million at most."""

GENEROUS = "1000 packets"
"""A queue that is long enough not to matter, where nothing says how long it should be."""

TIME = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([a-zA-Zµ]+)\s*")
SHARE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(%?)\s*bdp\s*", re.IGNORECASE)
KEY_OF_LINK = re.compile(r"topology\.links\[([01])\]\.(delay|rate|queue|loss)")
QUEUE = re.compile(r"\s*([a-z_][a-z0-9_]*)\s+(.+)")
NAME_OR_TC = re.compile(r"\s*(?:tc[:\s].*|[a-z_][a-z0-9_]*\s*)", re.DOTALL)


@dataclass(frozen=True)
class PathOptions:
    """A path between a program and the outside.

    What is said without ``reverse_`` holds in both directions, unless the other says something else
    of the way to the program. Quantities are texts as in scenarios.

    Attributes
    ----------
    rate : str, optional
        Rate from the program; unlimited if not given.
    rtt : str, optional
        Round-trip time without queues; none if not given.
    queue : str, optional
        Limit of the queue before a rate, with the discipline before it if it is not pfifo: ``"64
        kB"``, ``"bfifo 1 bdp"``; or the name of a discipline, or the syntax of tc. One
        bandwidth-delay product if there is an RTT.
    loss : str, optional
        Share of packets lost at random.
    mtu : str, optional
        Largest IP packet.
    reverse_rate, reverse_queue, reverse_loss : str, optional
        The same of the way to the program.
    """

    rate: str | None = None
    rtt: str | None = None
    queue: str | None = None
    loss: str | None = None
    mtu: str | None = None
    reverse_rate: str | None = None
    reverse_queue: str | None = None
    reverse_loss: str | None = None


def path_scenario(options: PathOptions, *, capture: bool = False) -> str:
    """Write a scenario's TOML text with this path between the hosts ``program`` and ``outside``.

    With ``capture``, it asks for captures at both of them.
    """
    there, back = _halves(options.rtt)
    lines = ['name = "shell"', f"duration = {_text(LONGEST)}", "[topology]"]
    lines.append('hosts = ["program", "outside"]')
    if options.mtu is not None:
        lines.append(f"mtu = {_text(options.mtu)}")
    ways = [
        ("from-program", ("program", "outside"), there, options.rate, options.queue, options.loss),
        (
            "to-program",
            ("outside", "program"),
            back,
            options.reverse_rate or options.rate,
            options.reverse_queue or options.queue,
            options.reverse_loss or options.loss,
        ),
    ]
    for name, (source, destination), delay, rate, queue, loss in ways:
        lines += ["[[topology.links]]", f'name = "{name}"', "both_ways = false"]
        lines += [f'from = "{source}"', f'to = "{destination}"']
        if delay is not None:
            lines.append(f"delay = {_text(delay)}")
        if rate is not None:
            lines += [f"rate = {_text(rate)}", f"queue = {_queue(queue, options.rtt)}"]
        if loss is not None:
            lines.append(f"loss = {_text(loss)}")
    for name, (source, destination), *_ in ways:
        lines += ["[[flows]]", f'name = "{name}"', f'from = "{source}"', f'to = "{destination}"']
        lines.append('workload = { kind = "greedy" }')
    lines += ["[measure]", 'intervals = ["1 s"]']
    if capture:
        lines.append("[capture]")
    return "\n".join(lines) + "\n"


def problems(error: ScenarioError, options: PathOptions) -> list[str]:
    """Translate errors of a path's scenario into the options that it was made from.

    Who gave options has never seen the scenario. What both directions have in common is told once.
    """
    told = []
    for found in error.errors:
        option = _option(found["key"], options)
        value = found["value"] if option is None else getattr(options, option)
        name = found["key"] if option is None else f"--{option.replace('_', '-')}"
        line = f"{name} {value}: {found['rule']}"
        told.append(line if found["hint"] is None else f"{line}\n  hint: {found['hint']}")
    return list(dict.fromkeys(told))


def _option(key: str, options: PathOptions) -> str | None:
    """Find the option that a key of the scenario was written from."""
    if key == "topology.mtu":
        return "mtu"
    match = KEY_OF_LINK.match(key)
    if match is None:
        return None
    way, name = match.groups()
    if name == "delay":
        return "rtt"
    reverse = f"reverse_{name}"
    return reverse if way == "1" and getattr(options, reverse) is not None else name


def _halves(rtt: str | None) -> tuple[str | None, str | None]:
    """Divide a round-trip time; what is no time is left for the checker to complain about."""
    if rtt is None:
        return None, None
    match = TIME.fullmatch(rtt)
    if match is None:
        return rtt, rtt
    half = f"{(Decimal(match[1]) / 2).normalize():f} {match[2]}"
    return half, half


def _queue(queue: str | None, rtt: str | None) -> str:
    """Write a queue as TOML."""
    if queue is None:
        queue = GENEROUS if rtt is None else "1 bdp"
    if NAME_OR_TC.fullmatch(queue) is not None:
        return _text(queue)
    match = QUEUE.fullmatch(queue)
    discipline, limit = ("pfifo", queue) if match is None else match.groups()
    return f"{{ discipline = {_text(discipline)}, limit = {_text(_limit(limit, rtt))} }}"


def _limit(limit: str, rtt: str | None) -> str:
    """Write a share of the bandwidth-delay product as what the link sends in that share of the RTT.

    Links of a topology have no RTT of their own.
    """
    share = SHARE.fullmatch(limit)
    if share is None:
        return limit
    if rtt is None:
        raise FairwindError(
            f"the queue of {limit.strip()} needs a round-trip time", "give --rtt, or packets"
        )
    time = TIME.fullmatch(rtt)
    if time is None:
        return GENEROUS  # the checker complains about the time, and that is enough
    part = Decimal(share[1]) / (100 if share[2] else 1)
    return f"{(Decimal(time[1]) * part).normalize():f} {time[2]}"


def _text(value: str) -> str:
    """Quote a text for TOML, whose basic strings are JSON's."""
    return json.dumps(value)
