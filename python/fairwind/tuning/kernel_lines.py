"""Settings as a Linux kernel takes them: sysctls, attributes of routes, socket options, `tc`.

What they do there, and from which release on, stands in docs/reference/kernel-settings.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairwind.quantities import parse_ratio, parse_seconds

Line = Callable[[Any], str]


def _sysctl(name: str, **values: int) -> Line:
    """Give the line of a sysctl; words of a scenario become the numbers given for them."""

    def line(value: Any) -> str:  # noqa: ANN401 - a TOML value
        key = str(value).lower().replace("-", "_")
        number = values.get(key, int(value) if isinstance(value, bool) else value)
        return f"sysctl -w net.ipv4.{name}={number}"

    return line


def _option(name: str, number: Callable[[Any], int] = int, remark: str = "") -> Line:
    def line(value: Any) -> str:  # noqa: ANN401 - a TOML value
        argument = f"&(int){{{number(value)}}}, sizeof(int)"
        return f"setsockopt(fd, IPPROTO_TCP, {name}, {argument}){remark}"

    return line


def _milliseconds(value: Any) -> str:  # noqa: ANN401 - a quantity
    return f"{max(1, round(1000 * parse_seconds(str(value))))}ms"


TCP: Mapping[str, Line] = {
    "collapse_retransmissions": _sysctl("tcp_retrans_collapse"),
    "congestion": _sysctl("tcp_congestion_control"),
    "duplicate_sack": _sysctl("tcp_dsack"),
    "duplicate_threshold": _sysctl("tcp_reordering"),
    "ecn": _sysctl("tcp_ecn", off=0, when_asked=2, classic=1, accurate=3),
    "forward_rto": _sysctl("tcp_frto", true=2, false=0),
    "linear_timeouts": _option("TCP_THIN_LINEAR_TIMEOUTS"),
    "maximum_rto": _option("TCP_RTO_MAX_MS", lambda value: round(1000 * parse_seconds(value))),
    "modified_fast_retransmit": _option("TCP_THIN_DUPACK", remark=" /* up to 4.10 */"),
    "nagle": _option("TCP_NODELAY", lambda value: int(not value)),
    "retransmission_limit": _sysctl("tcp_retries2"),
    "sack": _sysctl("tcp_sack"),
    "slow_start_after_idle": _sysctl("tcp_slow_start_after_idle"),
    "timestamps": _sysctl("tcp_timestamps"),
    "window_scaling": _sysctl("tcp_window_scaling"),
}
"""Keys of `tcp` that a kernel can be told one by one, and how."""

ROUTE: Mapping[str, Line] = {
    "delayed_ack": lambda value: "" if value else "quickack 1",
    "initial_window": lambda value: f"initcwnd {value}",
    "minimum_rto": lambda value: f"rto_min {_milliseconds(value)}",
}
"""Keys that are attributes of a route. One command sets all: each replaces those of the last."""

RECOVERY = ("loss_detection", "reordering_window_grows", "rack_duplicate_threshold")
EARLY_RETRANS = ("early_retransmit", "early_retransmit_delay", "tail_loss_probe")
"""Keys that share the sysctls `tcp_recovery` and `tcp_early_retrans`."""

QUARTER = 0.25
"""Share of a round trip that RACK and early retransmit wait."""

CONSTANTS: Mapping[str, float | str] = {
    "backoff_factor": 2,
    "linear_retries": 6,
    "probe_factor": 2,
    "reordering_window": QUARTER,
    "thin_definition": "few-outstanding",
    "thin_duplicate_threshold": 1,
    "thin_segments": 4,
}
"""Keys that no kernel can be told, with the value that every one has."""

SCOPE = ("constants_for",)
"""Says only for whom the constants are that no kernel can be told."""

NEEDED: Mapping[str, str] = {
    "linear_retries": "linear_timeouts",
    "probe_ack_delay": "tail_loss_probe",
    "probe_factor": "tail_loss_probe",
    "redundant_bytes": "redundant_bundling",
    "redundant_interval": "redundant_bundling",
    "redundant_segments": "redundant_bundling",
    "redundant_streams": "redundant_bundling",
    "thin_duplicate_threshold": "modified_fast_retransmit",
}
"""Keys without effect where a setting switches another one off."""

LEAST_TIMEOUT, GREATEST_TIMEOUT_S = "200 ms", 120
"""The least time-out of a kernel unless it is set, and the longest bound that it takes."""

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

    def __add__(self, other: KernelSettings) -> KernelSettings:
        """Put the lines and keys of two parts together, each once."""
        lines, untold = self.lines + other.lines, self.untold + other.untold
        return KernelSettings(tuple(dict.fromkeys(lines)), tuple(dict.fromkeys(untold)))


def kernel_settings(keys: Mapping[str, Any], base: Mapping[str, Any]) -> KernelSettings:
    """Write key paths of a setting as lines for a kernel.

    Parameters
    ----------
    base : mapping
        The document of the scenario, which names the discipline of a queue.
    """
    found = KernelSettings((), ())
    tables: dict[str, dict[str, Any]] = {}
    for key, value in keys.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, {})[name] = value
    for table, values in tables.items():
        if table.endswith(".tcp"):
            found += _tcp(table, values)
        elif table in QUEUES:
            found += KernelSettings((_queue(table, values, base),), ())
        else:
            found += KernelSettings((), tuple(f"{table}.{name}" for name in values))
    return found


def _tcp(table: str, values: Mapping[str, Any]) -> KernelSettings:
    untold = [name for name in values if _is_untold(name, values)]
    told = {name: value for name, value in values.items() if name not in untold}
    lines = [TCP[name](value) for name, value in told.items() if name in TCP]
    attributes = [ROUTE[name](value) for name, value in told.items() if name in ROUTE]
    if any(attributes):
        lines.insert(0, f"ip route change ROUTE {' '.join(filter(None, attributes))}")
    lines += [_recovery(values)] if any(name in told for name in RECOVERY) else []
    has_early = "tail_loss_probe" in told or told.get("early_retransmit")
    lines += [_early_retrans(values)] if has_early else []
    return KernelSettings(tuple(lines), tuple(f"{table}.{name}" for name in untold))


def _recovery(values: Mapping[str, Any]) -> str:
    by_count = values.get("loss_detection", "rack") == "rfc6675"
    bits = 0 if by_count else 1
    bits += 0 if values.get("reordering_window_grows", True) else 2
    bits += 0 if values.get("rack_duplicate_threshold", True) else 4
    return f"sysctl -w net.ipv4.tcp_recovery={bits}" + ("  # up to 6.16" if by_count else "")


def _early_retrans(values: Mapping[str, Any]) -> str:
    probes = values.get("tail_loss_probe", True)
    if not values.get("early_retransmit"):
        return f"sysctl -w net.ipv4.tcp_early_retrans={3 if probes else 0}"
    is_delayed = parse_ratio(values.get("early_retransmit_delay", "25 %")) > 0
    number = (3 if probes else 2) if is_delayed else 1
    return f"sysctl -w net.ipv4.tcp_early_retrans={number}  # up to 4.11"


def _is_untold(name: str, values: Mapping[str, Any]) -> bool:
    """Return whether a kernel differs from a setting in this key, whatever it is told."""
    value = values[name]
    if name in NEEDED and values.get(NEEDED[name]) is False:
        return False
    if name in CONSTANTS:
        return bool(_plain(value) != CONSTANTS[name])
    match name:
        case "early_retransmit_delay":
            # Without a delay there are no probes.
            has_none = parse_ratio(value) == 0 and values.get("tail_loss_probe") is False
            is_known = has_none or parse_ratio(value) == QUARTER
            return bool(values.get("early_retransmit")) and not is_known
        case "loss_detection":
            return str(value) == "forward"  # gone since 4.15
        case "maximum_rto":
            return not 1 <= parse_seconds(value) <= GREATEST_TIMEOUT_S
        case "probe_ack_delay":
            least_s = parse_seconds(values.get("minimum_rto", LEAST_TIMEOUT))
            return bool(parse_seconds(value) != least_s)
    if any(name in names for names in (TCP, ROUTE, RECOVERY, EARLY_RETRANS, SCOPE)):
        return isinstance(value, dict)
    return value is not False  # what is off is off there as well


def _plain(value: Any) -> Any:  # noqa: ANN401 - a TOML value
    """Give a share as a number, anything else as it is."""
    return parse_ratio(value) if isinstance(value, str) and value.endswith("%") else value


def _queue(table: str, values: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    queue = base.get("path", {}).get(table.removeprefix("path."), "pfifo")
    kind = queue if isinstance(queue, str) else queue.get("discipline", "pfifo")
    texts = " ".join(f"{name} {_word(value)}" for name, value in values.items())
    return f"tc qdisc replace dev DEVICE root {kind} {texts}"


def _word(value: Any) -> str:  # noqa: ANN401 - a TOML value
    """Write a value as `tc` takes it: without a blank, and a number of packets alone."""
    return str(value).removesuffix(" packets").replace(" ", "")
