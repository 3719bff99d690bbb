"""Layout of the tables of `fairwind model` for people: columns in words with units, and legends.

JSON and CSV have the frames themselves, whose columns are names with units at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairwind.cli.output import aligned

if TYPE_CHECKING:
    import polars as pl

UNITS = {
    "_segments_per_second": "segments/s",
    "_bits_per_second": "bit/s",
    "_bytes": "bytes",
    "_ratio": "",
    "_s": "s",
}
"""Units by the endings of quantities."""

SOLUTIONS = (
    "constant: capacity that need not be requested, so that nothing waits for it",
    "slide, strict, two-root, exact: solutions for capacity on demand, as of --law",
    "  slide: the paper's approximation with its dominant root; right in the long run only",
    "  strict: the same, integrated from time 0",
    "  two-root: the approximation with both of its roots, integrated from time 0",
    "  exact: the delay equation itself",
)

SOLUTION_COLUMNS = {
    "constant_allocation": "constant",
    "slide": "slide",
    "strict": "strict",
    "two_root": "two-root",
    "exact": "exact",
}
"""Columns that say how a number was found, without their unit."""

K = "k: capacity that a terminal requests over the rate that it measured"


def link_text(frame: pl.DataFrame) -> str:
    """Lay out the table `link`: one quantity on each line, with its unit."""
    rows = [
        (meaning, value, next(unit for ending, unit in UNITS.items() if name.endswith(ending)))
        for name, value, meaning in frame.iter_rows()
    ]
    return _section("The link", (), ("quantity", "value", "unit"), rows)


def growth_text(frame: pl.DataFrame) -> str:
    """Lay out the table `growth`: one quantity on each line, one column for each multiplier."""
    words = {
        "loop_gain": ("loop gain: k times feedback delay over round trip", "", 1.0),
        "positive_root": ("growth exponent, approximation of second order", "", 1.0),
        "negative_root": ("second root of the approximation, which decays", "", 1.0),
        "exact_exponent": ("growth exponent, delay equation (exact)", "", 1.0),
        "error_ratio": ("error of the approximation", "%", 100.0),
        "packet_exponent": ("growth exponent, counting packets", "", 1.0),
        "doubling_time_s": ("time in which the window doubles (exact)", "s", 1.0),
        "equivalent_rtt_s": ("equivalent round trip, approximation", "s", 1.0),
        "exact_equivalent_rtt_s": ("equivalent round trip (exact)", "s", 1.0),
    }
    rows = [
        (text, unit, *(value * scale for value in frame[name]))
        for name, (text, unit, scale) in words.items()
    ]
    legend = (
        K,
        "growth exponent: the window grows by the factor e^exponent in each feedback delay",
        "equivalent round trip: the window grows as fast over constant capacity with this RTT",
    )
    columns = ("quantity", "unit", *(f"k = {k:g}" for k in frame["multiplier"]))
    return _section("Growth of the window in slow start", legend, columns, rows)


def multipliers_text(frame: pl.DataFrame) -> str:
    """Lay out the table `multipliers`: what each criterion asks for."""
    rows = frame.select("meaning", "multiplier", "criterion").rows()
    legend = (K, "-: no multiplier is large enough")
    return _section("How much to request", legend, ("aim", "k", "criterion"), rows)


def completion_text(frame: pl.DataFrame) -> str:
    """Lay out the table `completion`: times in seconds, one column for each solution."""
    columns = {
        "initial_window_segments": ("initial window", 1.0),
        "multiplier": ("k", 1.0),
        "volume_segments": ("volume", 1.0),
        "volume_bytes": ("volume / kB", 1e-3),
        **{f"{name}_s": (title, 1.0) for name, title in SOLUTION_COLUMNS.items()},
        "packets_s": ("packets", 1.0),
        "slot_utilisation_ratio": ("slots used / %", 100.0),
    }
    legend = (
        "Initial window and volume in segments.",
        K,
        *SOLUTIONS,
        "packets: counted packet by packet, until the last ACK; all others until all is carried",
    )
    return _section("Time to complete a transfer, in seconds", legend, *_scaled(frame, columns))


def carried_text(frame: pl.DataFrame) -> str:
    """Lay out the table `carried`: volumes in MB, one column for each solution."""
    within_s = frame["within_s"][0]
    columns = {
        "initial_window_segments": ("initial window / segments", 1.0),
        "multiplier": ("k", 1.0),
        "full_from_s": ("link full after / s", 1.0),
        **{f"{name}_bytes": (title, 1e-6) for name, title in SOLUTION_COLUMNS.items()},
    }
    legend = (K, *SOLUTIONS)
    heading = f"Volume carried within {within_s:g} s, in MB"
    return _section(heading, legend, *_scaled(frame, columns))


LAYOUTS = {
    "link": link_text,
    "growth": growth_text,
    "multipliers": multipliers_text,
    "completion": completion_text,
    "carried": carried_text,
}
"""By the names of the tables."""


def sharing_text(rows: Sequence[Mapping[str, float]], initial: float) -> str:
    """Lay out the speed-up of transfers from a remembered window.

    Parameters
    ----------
    rows : sequence of mappings
        As JSON has them.
    initial : float
        Initial window without memory, in segments.
    """
    columns = {
        "segments": "transfer",
        "remembered_segments": "remembered window",
        "rounds_initially": f"rounds from {initial:g}",
        "rounds_remembered": "rounds from memory",
        "initially_s": f"time from {initial:g} / s",
        "remembered_s": "time from memory / s",
        "speed_up_ratio": "speed-up",
    }
    legend = (
        "Transfer and windows in segments.",
        "rounds: windows of slow start, each one round trip after the one before",
        f"from {initial:g}: with the initial window; from memory: with the remembered window",
        "speed-up: the one time over the other",
    )
    body = [tuple(row[name] for name in columns) for row in rows]
    return _section(
        "Transfers that begin with a remembered window", legend, [*columns.values()], body
    )


def _section(
    heading: str, legend: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> str:
    lines = [heading, *(f"  {line}" for line in legend)]
    return "\n".join(lines) + "\n\n" + aligned(columns, rows)


def _scaled(
    frame: pl.DataFrame, columns: Mapping[str, tuple[str, float]]
) -> tuple[list[str], list[tuple[object, ...]]]:
    """Give titles and rows of the columns, each multiplied by its factor."""
    values = [
        [None if value is None else value * scale for value in frame[name]]
        for name, (_, scale) in columns.items()
    ]
    return [title for title, _ in columns.values()], list(zip(*values, strict=True))
