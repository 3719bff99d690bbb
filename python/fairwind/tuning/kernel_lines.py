"""Settings as a Linux kernel takes them: sysctls, attributes of routes, socket options, `tc`.

What they do there, and from which release on, stands in docs/reference/kernel-settings.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairwind.quantities import parse_seconds

Line = Callable[[Any], str]


def _sysctl(name: str, **values: int) -> Line:
    """Give the line of a sysctl; words of a scenario become the numbers given for them."""

    def line(value: Any) -> str:  # noqa: ANN401 - a TOML value
        key = str(value).lower().replace("-", "_")
        number = values.get(key, int(value) if isinstance(value, bool) else value)
        return f"sysctl -w net.ipv4.{name}={number}"

    return line


def _option(name: str) -> Line:
    return lambda value: f"setsockopt(fd, IPPROTO_TCP, {name}, &(int){{{int(value)}}}, sizeof(int))"


def _route(attribute: str, text: Callable[[Any], str] = str) -> Line:
    return lambda value: f"ip route change ROUTE {attribute} {text(value)}"


def _milliseconds(value: Any) -> str:  # noqa: ANN401 - a quantity
    return f"{max(1, round(1000 * parse_seconds(str(value))))}ms"


TCP: Mapping[str, Line] = {
    "congestion": _sysctl("tcp_congestion_control"),
    "collapse_retransmissions": _sysctl("tcp_retrans_collapse"),
    "delayed_ack": lambda value: "" if value else "ip route change ROUTE quickack 1",
    "duplicate_sack": _sysctl("tcp_dsack"),
    "duplicate_threshold": _sysctl("tcp_reordering"),
    "ecn": _sysctl("tcp_ecn", off=0, when_asked=2, classic=1, accurate=3),
    "forward_rto": _sysctl("tcp_frto", true=2, false=0),
    "initial_window": _route("initcwnd"),
    "linear_timeouts": _option("TCP_THIN_LINEAR_TIMEOUTS"),
    "loss_detection": _sysctl("tcp_recovery", rack=1, rfc6675=0),
    "minimum_rto": _route("rto_min", _milliseconds),
    "modified_fast_retransmit": _option("TCP_THIN_DUPACK"),
    "nagle": lambda value: _option("TCP_NODELAY")(not value),
    "retransmission_limit": _sysctl("tcp_retries2"),
    "sack": _sysctl("tcp_sack"),
    "slow_start_after_idle": _sysctl("tcp_slow_start_after_idle"),
    "tail_loss_probe": _sysctl("tcp_early_retrans", true=3, false=0),
    "timestamps": _sysctl("tcp_timestamps"),
    "window_scaling": _sysctl("tcp_window_scaling"),
}
"""Keys of `tcp` that a kernel can be told, and how."""

QUEUES = ("path.queue", "path.reverse_queue")


@dataclass(frozen=True)
class KernelSettings:
    """A setting as a kernel takes it.

    Attributes
    ----------
    lines : tuple of str
        To type, or to write into a program.
    untold : tuple of str
        Keys that no kernel can be told.
    """

    lines: tuple[str, ...]
    untold: tuple[str, ...]


def kernel_settings(keys: Mapping[str, Any], base: Mapping[str, Any]) -> KernelSettings:
    """Write key paths of a setting as lines for a kernel.

    Parameters
    ----------
    base : mapping
        The document of the scenario, which names the discipline of a queue.
    """
    lines: list[str] = []
    untold: list[str] = []
    queues: dict[str, dict[str, Any]] = {}
    for key, value in keys.items():
        table, _, name = key.rpartition(".")
        if table.endswith(".tcp") and name in TCP and not isinstance(value, dict):
            lines.append(TCP[name](value))
        elif table in QUEUES:
            queues.setdefault(table, {})[name] = value
        elif value is not False:  # what is off is off there as well
            untold.append(key)
    for table, words in queues.items():
        queue = base.get("path", {}).get(table.removeprefix("path."), "pfifo")
        kind = queue if isinstance(queue, str) else queue.get("discipline", "pfifo")
        texts = " ".join(f"{name} {_word(value)}" for name, value in words.items())
        lines.append(f"tc qdisc replace dev DEVICE root {kind} {texts}")
    return KernelSettings(tuple(dict.fromkeys(filter(None, lines))), tuple(untold))


def _word(value: Any) -> str:  # noqa: ANN401 - a TOML value
    """Write a value as `tc` takes it: without a blank, and a number of packets alone."""
    return str(value).removesuffix(" packets").replace(" ", "")
