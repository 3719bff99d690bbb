"""The model's numbers as frames: columns are whole words with their unit at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from fairwind.models.dama.growth import (
    CRITERIA,
    SOURCE_MULTIPLIER,
    approximate_roots,
    equivalent_rtt,
    exact_equivalent_rtt,
    exact_exponent,
    packet_exponent,
)
from fairwind.models.dama.laws import (
    Law,
    carried_segments,
    completion_time_s,
    constant_allocation_time_s,
    quickest,
    saturation_time_s,
)
from fairwind.models.dama.packets import packet_completion_time_s, slot_utilisation
from fairwind.models.dama.start_up import DemandAssignedLink
from fairwind.models.errors import Floats


def link_table(link: DemandAssignedLink) -> pl.DataFrame:
    """Derive quantities of a link: columns ``quantity``, ``value``, ``meaning``."""
    rows = [
        ("rtt_s", link.rtt_s, "round trip without waiting for capacity"),
        ("allocation_delay_s", link.allocation_delay_s, "mean wait for capacity"),
        ("feedback_delay_s", link.feedback_delay_s, "feedback delay: round trip and wait together"),
        ("delay_ratio", link.delay_ratio, "feedback delay over round trip"),
        ("rate_segments_per_second", link.rate_segments_per_second, "rate of the full link"),
        ("capacity_bits_per_second", link.capacity_bits_per_second, "capacity of all slots"),
        ("slot_bytes", link.slot_bytes, "size of one slot"),
    ]
    return pl.DataFrame(rows, schema=["quantity", "value", "meaning"], orient="row")


def growth_table(link: DemandAssignedLink, multipliers: Sequence[float]) -> pl.DataFrame:
    """Tabulate the growth of windows: one row for each multiplier.

    Exponents are per feedback delay. ``error_ratio`` is the approximation's, ``rtt`` columns are
    equivalent round trips, ``packet_exponent`` is what packets that are counted give.
    """
    k = np.asarray(multipliers, dtype=np.float64)
    gain = link.start_up(multiplier=k).loop_gain
    negative, positive = approximate_roots(gain)
    exact = exact_exponent(gain)
    return pl.DataFrame(
        {
            "multiplier": k,
            "loop_gain": gain,
            "negative_root": negative,
            "positive_root": positive,
            "exact_exponent": exact,
            "error_ratio": positive / exact - 1,
            "packet_exponent": packet_exponent(link.delay_ratio, k),
            "doubling_time_s": math.log(2) * link.feedback_delay_s / exact,
            "equivalent_rtt_s": equivalent_rtt(link.rtt_s, link.delay_ratio, k),
            "exact_equivalent_rtt_s": exact_equivalent_rtt(link.rtt_s, link.delay_ratio, k),
        }
    )


def multiplier_table(
    link: DemandAssignedLink, initial_windows: Sequence[float], volumes: Sequence[float]
) -> pl.DataFrame:
    """Tabulate how much to request: columns ``criterion``, ``multiplier``, ``meaning``.

    A multiplier is missing where none is enough.
    """
    rows: list[tuple[str, float | None, str]] = [
        ("source", SOURCE_MULTIPLIER, "recommended in the paper, for its own platform")
    ]
    for name, (criterion, meaning) in CRITERIA.items():
        enough = float(criterion(link.delay_ratio))
        rows.append((name, enough if math.isfinite(enough) else None, meaning))
    for initial in initial_windows:
        best = quickest(link.start_up(initial), np.asarray(volumes, dtype=np.float64))
        words = f"segments from an initial window of {initial:g}, by the paper's formula"
        rows += [
            ("quickest", float(multiplier), f"shortest time for {volume:g} {words}")
            for volume, multiplier in zip(volumes, best, strict=True)
        ]
    schema = {"criterion": pl.String, "multiplier": pl.Float64, "meaning": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def completion_table(
    link: DemandAssignedLink,
    initial_windows: Sequence[float],
    multipliers: Sequence[float],
    volumes: Sequence[float],
) -> pl.DataFrame:
    """Tabulate completion times: one row for each initial window, multiplier and volume.

    ``constant_allocation_s`` is exact, the columns after it are named after laws (see `Law`). The
    last two count packets (see `packets`), until the last acknowledgment; they are missing where
    nothing is guaranteed.
    """
    initial, k, volume = (
        axis.ravel() for axis in np.meshgrid(initial_windows, multipliers, volumes, indexing="ij")
    )
    start_up = link.start_up(initial, k)
    return pl.DataFrame(
        {
            "initial_window_segments": initial,
            "multiplier": k,
            "volume_segments": volume,
            "volume_bytes": volume * link.segment_bytes,
            "constant_allocation_s": constant_allocation_time_s(start_up, volume),
            **{f"{_word(law)}_s": completion_time_s(start_up, volume, law) for law in Law},
            **_in_packets(link, initial, k, volume),
        }
    )


def _in_packets(
    link: DemandAssignedLink, initial: Floats, multiplier: Floats, volume: Floats
) -> dict[str, Floats | None]:
    if link.guaranteed_bits_per_second == 0:
        return {"packets_s": None, "slot_utilisation_ratio": None}
    return {
        "packets_s": packet_completion_time_s(link, volume, initial, multiplier),
        "slot_utilisation_ratio": slot_utilisation(link, volume, multiplier),
    }


def carried_table(
    link: DemandAssignedLink,
    initial_windows: Sequence[float],
    multipliers: Sequence[float],
    within_s: float,
) -> pl.DataFrame:
    """Tabulate the volume carried within a time, and when the link is full.

    One row for each initial window and multiplier.
    """
    initial, k = (axis.ravel() for axis in np.meshgrid(initial_windows, multipliers, indexing="ij"))
    start_up = link.start_up(initial, k)
    constant = start_up.with_constant_allocation()
    size = link.segment_bytes
    return pl.DataFrame(
        {
            "initial_window_segments": initial,
            "multiplier": k,
            "within_s": np.full(k.shape, within_s),
            "full_from_s": saturation_time_s(start_up),
            "constant_allocation_bytes": size * carried_segments(constant, within_s),
            **{
                f"{_word(law)}_bytes": size * carried_segments(start_up, within_s, law)
                for law in Law
            },
        }
    )


def _word(law: Law) -> str:
    return law.value.replace("-", "_")
