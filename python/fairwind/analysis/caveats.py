"""Warnings about an analysis, from its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fairwind.analysis.core import OTHER

CONNECTIONS = "connections"


def caveats_of(folder: Path, facts: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Give warnings about the tables in a folder, the gravest first.

    Parameters
    ----------
    facts : sequence of dict
        Notes of the core on each pair of inputs.
    """
    file = folder / f"{CONNECTIONS}.parquet"
    if not file.exists():
        return ()
    connections = pl.scan_parquet(file)
    total = connections.select(pl.len()).collect().item()
    found = [
        *_clocks(folder, facts),
        _no_packets(facts) or _empty_groups(folder),
        _offload(connections, total),
        *_incomplete(connections, total),
        *(
            text.format(many)
            for name, text in COUNTED.items()
            if (many := sum(fact.get(name) or 0 for fact in facts))
        ),
    ]
    return tuple(sentence for sentence in found if sentence is not None)


def _clocks(folder: Path, facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Warn of different clocks of two captures."""
    file = folder / "clocks.parquet"
    if not file.exists():
        return []
    strangers = {(fact["cell"], fact["replicate"]) for fact in facts if not fact["packets_in_both"]}
    parts = []
    for row in pl.read_parquet(file).iter_rows(named=True):
        if (row["cell"], row["replicate"]) in strangers:
            parts.append(STRANGERS)
        if row["clock"] == "shared" or row["offset_s"] is None:
            continue
        drift = row["drift_parts_per_million"]
        drifts = "its drift is unknown"
        if drift is not None and row["is_compensated"]:
            drifts = f"its drift of {drift:+.3g} parts per million is removed"
        parts.append(
            f"The captures have different clocks: the receiver's is {_apart(row['offset_s'])}; "
            f"{drifts}. {_accuracy_of_delays(row)}"
        )
    return parts


STRANGERS = (
    "No packet is in both captures, so one-way losses and delays are unknown. Check that both are "
    "of the same time and path; with address translation between them, use --nat. A proxy opens "
    "its own connections."
)


def _accuracy_of_delays(row: Mapping[str, Any]) -> str:
    error = "Delays have a constant error, because both directions are assumed to be equal"
    if not row["is_symmetric"]:
        error = (
            "Only packets of one direction are in both captures, so their smallest delay is taken "
            "as 0"
        )
    return f"{error}. The variation of delays does not depend on this."


def _apart(offset_s: float) -> str:
    """Format the offset between two clocks, to the microsecond."""
    side = "ahead of" if offset_s > 0 else "behind"
    size = abs(offset_s)
    if size < 1e-6:
        return "equal to the sender's"
    if size < 1:
        return f"{size * 1000:.3f} ms {side} the sender's"
    return f"{size:,.6f} s {side} the sender's"


def _no_packets(facts: Sequence[Mapping[str, Any]]) -> str | None:
    """Tell of captures without any TCP packet."""
    taps = [tap for fact in facts for tap in fact.get("taps", ())]
    if not taps or any(tap["tcp_packets"] for tap in taps):
        return None
    frames = sum(tap["frames"] for tap in taps)
    if frames == 0:
        return (
            "The capture holds no packets, only a header: the recording ended before any packet "
            "came, or its filter matched none. Record again, and stop tcpdump with Ctrl-C."
        )
    return (
        f"None of the {frames} packets in the capture is a TCP packet that was read: the filter "
        "excludes them, or the traffic uses another protocol."
    )


def _empty_groups(folder: Path) -> str | None:
    """Warn of groups with a rule that matches no flow."""
    flows = pl.scan_parquet(folder / "groups.parquet").group_by("group").agg(pl.col("flows").sum())
    empty = flows.filter(pl.col("flows").eq(0) & pl.col("group").ne(OTHER)).select("group")
    names = sorted(empty.collect()["group"])
    if not names:
        return None
    return (
        f"Group {' or '.join(names)} has no connection with data: correct its filter, or that of "
        "an earlier group. --limit 1000 lists the connections with their addresses and ports."
    )


COUNTED = {
    "connections_not_drawn": "{} connections of --draw are not drawn, because there are too many; "
    "use a narrower filter.",
    "packets_beyond_windows": "The windows are too short for the capture: losses and queueing over "
    "time lack {} packets. Set longer windows with --interval.",
}
"""Counts of the core that are 0 if all is well, and the warnings about others."""


def _offload(connections: pl.LazyFrame, total: int) -> str | None:
    """Warn of packets larger than the MSS, which were not on the wire."""
    ways = (("opener", "answerer"), ("answerer", "opener"))
    excess = [
        pl.when(pl.col(f"{sender}_largest_payload_bytes") > pl.col(f"{other}_mss_bytes")).then(
            pl.col(f"{sender}_largest_payload_bytes")
        )
        for sender, other in ways
    ]
    largest = pl.max_horizontal(*excess)
    found = connections.select(largest.count().alias("many"), largest.max().alias("most")).collect()
    many, most = found.row(0)
    if not many:
        return None
    return (
        f"Offload: on {_of(many, total)} packets exceed the MSS of the other side, up to {most} B "
        "of payload: the network card splits or joins them (TSO, GSO, GRO). Packet counts at this "
        "point are too low; bytes and ranges are right."
    )


INCOMPLETE = (
    (
        (pl.col("opener_packets") == 0).ne(pl.col("answerer_packets") == 0)
        & ~pl.col("set_up").is_in(["unanswered"]),
        "Only one direction was captured of {}: without acknowledgments latencies, round trips and "
        "the causes of retransmissions are unknown.",
    ),
    (
        pl.col("opener_guessed"),
        "The handshake was not captured of {}: the opener is guessed (the lower port answers); "
        "window scale and options are unknown.",
    ),
    (
        pl.col("vantage").is_in(["between"]),
        "The capture is from the middle of the path of {}: times and losses are those behind it. "
        "Set the side with --vantage.",
    ),
)
"""Conditions of connections that are not seen completely, and the warnings about them."""


def _incomplete(connections: pl.LazyFrame, total: int) -> list[str]:
    counts = connections.select(
        condition.sum().alias(text) for condition, text in INCOMPLETE
    ).collect()
    return [
        text.format(_of(many, total)) for text, many in counts.row(0, named=True).items() if many
    ]


def _of(many: int, total: int) -> str:
    return f"{many} of {total} connections"
