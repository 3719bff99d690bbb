"""Settings of an analysis, and their parsing.

Functions that read a text raise `FairwindError` with the name of the option.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal

from fairwind.errors import FairwindError
from fairwind.quantities import parse_seconds

LONGEST_NS = 2**62
"""Times beyond it, about 146 years, are refused."""

Vantage = Literal["auto", "sender", "receiver", "opener", "answerer"]
Clock = Literal["auto", "same", "free"]

USUAL_PERCENTILES = (1.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
"""As in scenarios that name none."""


@dataclass(frozen=True)
class When:
    """A place in a capture.

    Attributes
    ----------
    is_absolute : bool
        Whether it counts since 1970; otherwise since the first packet.
    """

    nanoseconds: int
    is_absolute: bool = False


@dataclass(frozen=True)
class Draw:
    """Connections to draw: by filter, by name, or the largest.

    Attributes
    ----------
    matching : str, optional
        A filter of addresses and ports.
    names : tuple of str
        Flows by their names, as tables have them.
    largest : int
        So many flows with most payload; for them, captures are read a second time.
    """

    matching: str | None = None
    names: tuple[str, ...] = ()
    largest: int = 0


@dataclass(frozen=True)
class AnalysisSettings:
    """Settings of an analysis.

    Attributes
    ----------
    packet_filter : str, optional
        A filter in pcap-filter syntax; other packets are not read.
    groups : tuple of (str, str)
        Name and filter of each group; a connection belongs to the first that fits it.
    intervals_ns : tuple of int
        Lengths of the windows that series are given in, in nanoseconds.
    percentiles : tuple of float
        Percentiles of latencies, above 0 and up to 100.
    per_flow : bool
        Whether series are kept for each connection, too.
    start, end : When, optional
        What counts of the capture.
    connection_from_ns, connection_to_ns : int, optional
        What is read of every connection, in nanoseconds since its first packet.
    idle_timeout_ns : int, optional
        A connection that is silent for longer has ended; never, if None.
    vantage : {"auto", "sender", "receiver", "opener", "answerer"}
        Whose side a single capture was taken at: of who sends the first data or receives it, opens
        the connection or answers; found out for each connection by its handshake, unless said.
    nat : tuple of (str, str)
        Addresses (with port, or without) at the sender's capture and at the receiver's that are the
        same.
    clock : {"auto", "same", "free"}
        Whether both captures were stamped by one clock; ``auto`` knows it of our own only.
    warmup_ns : int
        Time at the beginning that does not count, though connections are followed.
    slowest : int
        How many of the longest waits are kept in the table ``slowest``.
    draw : Draw, optional
        The connections that are kept point by point for pictures, in the table ``traces``.
    """

    packet_filter: str | None = None
    groups: tuple[tuple[str, str], ...] = ()
    intervals_ns: tuple[int, ...] = (1_000_000_000,)
    percentiles: tuple[float, ...] = USUAL_PERCENTILES
    per_flow: bool = False
    start: When | None = None
    end: When | None = None
    connection_from_ns: int | None = None
    connection_to_ns: int | None = None
    idle_timeout_ns: int | None = None
    vantage: Vantage = "auto"
    nat: tuple[tuple[str, str], ...] = ()
    clock: Clock = "auto"
    warmup_ns: int = 0
    slowest: int = 100
    draw: Draw | None = None


def span_ns(text: str, option: str) -> int:
    """Read a time such as ``100ms`` in nanoseconds."""
    try:
        nanoseconds = round(parse_seconds(text.strip().replace("µ", "u")) * 1e9)
    except FairwindError as error:
        raise FairwindError(
            f"{option} {text}: a time with its unit was expected",
            f"units are ns, us, ms, s, min, h: {option} 100ms",
        ) from error
    if nanoseconds > LONGEST_NS:
        raise FairwindError(f"{option} {text}: no capture is that long", "give a shorter time")
    return nanoseconds


def when(text: str, option: str) -> When:
    """Read a place in a capture: a time since its first packet, or an instant.

    Instants are seconds since 1970 after ``@``, or a date with time (UTC unless it says another
    zone).
    """
    if text.startswith("@") and re.fullmatch(r"@[0-9]+(\.[0-9]+)?", text):
        return When(int(Decimal(text[1:]) * 1_000_000_000), is_absolute=True)
    if re.match(r"\d{4}-\d{2}-\d{2}", text):
        try:
            at = datetime.fromisoformat(text)
        except ValueError as error:
            raise _no_instant(text, option) from error
        whole = at if at.tzinfo else at.replace(tzinfo=UTC)
        since = whole - datetime(1970, 1, 1, tzinfo=UTC)
        return When(since // timedelta(microseconds=1) * 1000, is_absolute=True)
    try:
        return When(span_ns(text, option))
    except FairwindError as error:
        raise _no_instant(text, option) from error


def _no_instant(text: str, option: str) -> FairwindError:
    return FairwindError(
        f"{option} {text}: neither a time since the first packet nor an instant",
        f"{option} 90s, {option} 2026-03-01T12:00:00, or {option} @1772366400.5",
    )


def percentiles_of(text: str) -> tuple[float, ...]:
    """Read percentiles such as ``50,90,99.9``."""
    try:
        numbers = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        numbers = ()
    if not numbers or not all(0 < number <= 100 for number in numbers):
        raise FairwindError(
            f"--percentiles {text}: numbers above 0 and up to 100 were expected",
            "--percentiles 50,90,99.9",
        )
    return tuple(sorted(set(numbers)))


def draw_of(text: str) -> Draw:
    """Read what is to be drawn: a number of connections, or a filter."""
    return Draw(largest=int(text)) if text.strip().isdigit() else Draw(matching=text)


def group_of(text: str) -> tuple[str, str]:
    """Read a group such as ``thin=dst port 5000``: name and filter."""
    return _pair(text, "--group", "NAME=FILTER", "--group 'thin=dst port 5000'")


def translation_of(text: str) -> tuple[str, str]:
    """Read a translated address such as ``10.0.0.1=192.0.2.7``: at the sender, at the receiver."""
    hint = "the address in the sender's capture first: --nat 10.0.0.1=192.0.2.7"
    return _pair(text, "--nat", "ADDRESS[:PORT]=ADDRESS[:PORT]", hint)


def _pair(text: str, option: str, form: str, hint: str) -> tuple[str, str]:
    first, _, second = (part.strip() for part in text.partition("="))
    if not first or not second:
        raise FairwindError(f"{option} {text}: {form} was expected", hint)
    return first, second
