"""What a reader of an analysis must know before believing a number, drawn from its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fairwind.analysis.rows import OTHER

CONNECTIONS = "connections"


def caveats_of(folder: Path, facts: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Give what is to be minded of the tables in a folder, the gravest first.

    Parameters
    ----------
    folder : Path
    facts : sequence of dict
        What the core tells beside tables, of each pair of inputs.
    """
    file = folder / f"{CONNECTIONS}.parquet"
    if not file.exists():
        return ()
    connections = pl.scan_parquet(file)
    total = connections.select(pl.len()).collect().item()
    told = [
        *_clocks(folder, facts),
        _no_packets(facts) or _empty_groups(folder),
        *(ask(connections, total) for ask in ASKED),
        _not_drawn(facts),
        _beyond_windows(facts),
    ]
    return tuple(sentence for sentence in told if sentence is not None)


def _clocks(folder: Path, facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tell how the clocks of two captures went, where there were two."""
    file = folder / "clocks.parquet"
    if not file.exists():
        return []
    strangers = {(fact["cell"], fact["replicate"]) for fact in facts if not fact["packets_in_both"]}
    told = []
    for row in pl.read_parquet(file).iter_rows(named=True):
        if (row["cell"], row["replicate"]) in strangers:
            told.append(STRANGERS)
        if row["clock"] == "shared" or row["offset_s"] is None:
            continue
        drift = row["drift_parts_per_million"]
        drifts = "no drift can be measured"
        if drift is not None and row["is_compensated"]:
            drifts = f"its drift of {drift:+.3g} parts in a million is taken off"
        told.append(
            f"Two clocks: the receiver's is {_apart(row['offset_s'])}; {drifts}. {_meant_by(row)}"
        )
    return told


STRANGERS = (
    "No packet is in both captures, so nothing is known of what one side sent and the other got. "
    "Perhaps they are not of the same time or path; if something between them translates "
    "addresses, --nat names them; a proxy makes connections of its own."
)


def _meant_by(row: Mapping[str, Any]) -> str:
    """Say what delays by two clocks are worth."""
    if not row["is_symmetric"]:
        return (
            "Packets of one direction only are in both captures, so their smallest delay counts "
            "as none; the variation of delays needs no such assumption."
        )
    return (
        "Delays are right but for a constant, as if both ways took the same time; their variation "
        "needs no such assumption."
    )


def _apart(offset_s: float) -> str:
    """Say how far a clock is from another one, to the microsecond."""
    side = "ahead of" if offset_s > 0 else "behind"
    size = abs(offset_s)
    if size < 1e-6:
        return "at the sender's time"
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
    """Tell of groups whose rules fit no flow: a misspelt port measures nothing."""
    flows = pl.scan_parquet(folder / "groups.parquet").group_by("group").agg(pl.col("flows").sum())
    empty = flows.filter(pl.col("flows").eq(0) & pl.col("group").ne(OTHER)).select("group")
    names = sorted(empty.collect()["group"])
    if not names:
        return None
    return (
        f"No flow of data is in {' or '.join(names)}: the rule fits none, or an earlier one has "
        "taken them. --limit 1000 lists the connections with their addresses and ports."
    )


def _not_drawn(facts: Sequence[Mapping[str, Any]]) -> str | None:
    """Tell of flows that were chosen to be drawn and are not."""
    many = sum(fact.get("connections_not_drawn") or 0 for fact in facts)
    if not many:
        return None
    return (
        f"{many} connections that --draw chose are not drawn, as there were too many at once: "
        "choose fewer by a narrower filter."
    )


def _beyond_windows(facts: Sequence[Mapping[str, Any]]) -> str | None:
    """Tell of windows that were too many to be kept."""
    many = sum(fact.get("packets_beyond_windows") or 0 for fact in facts)
    if not many:
        return None
    return (
        f"Windows are too short for so long a capture: losses and queueing over time lack {many} "
        "packets. Choose longer ones with --interval."
    )


def _offload(connections: pl.LazyFrame, total: int) -> str | None:
    """Packets larger than the receiver takes were not what was on the wire."""
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
        f"Offload: on {_of(many, total)} packets are larger than the segments that the other side "
        f"takes, up to {most} B of payload: the network card cuts or joins them (TSO, GSO, GRO). "
        "Counts of packets are too low where the capture was taken; bytes and ranges are right."
    )


def _one_direction(connections: pl.LazyFrame, total: int) -> str | None:
    alone = (pl.col("opener_packets") == 0) != (pl.col("answerer_packets") == 0)
    unanswered = pl.col("set_up").is_in(["unanswered"])
    many = connections.filter(alone & ~unanswered).select(pl.len()).collect().item()
    if not many:
        return None
    return (
        f"One direction is missing of {_of(many, total)}: without acknowledgments nothing is known "
        "of latencies, round trips and why packets were sent again."
    )


def _midway(connections: pl.LazyFrame, total: int) -> str | None:
    many = connections.filter(pl.col("opener_guessed")).select(pl.len()).collect().item()
    if not many:
        return None
    return (
        f"The beginning is missing of {_of(many, total)}: who opened them is guessed (the lower "
        "port answers), and window scale and options are not known."
    )


def _vantage(connections: pl.LazyFrame, total: int) -> str | None:
    many = (
        connections.filter(pl.col("vantage").is_in(["between"])).select(pl.len()).collect().item()
    )
    if not many:
        return None
    return (
        f"The capture was taken on the way of {_of(many, total)}, far from both ends: times and "
        "losses are those behind the place of the capture. --vantage says whose side it is near."
    )


ASKED: tuple[Callable[[pl.LazyFrame, int], str | None], ...] = (
    _offload,
    _one_direction,
    _midway,
    _vantage,
)


def _of(many: int, total: int) -> str:
    return f"{many} of {total} connections"
