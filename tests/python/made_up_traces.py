"""Traces of a made-up flow: slow start, a loss repaired, a time-out, a closed window, the end."""

from __future__ import annotations

import polars as pl

NAME = "10.0.0.1:49152>10.0.1.1:60000"
SEGMENT = 1448
ROUND_TRIP_S = 0.05

SCHEMA = {
    "name": pl.String,
    "series": pl.String,
    "kind": pl.String,
    "time_s": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "points": pl.UInt64,
}


def flow_trace(rounds: int = 24, name: str = NAME, *, is_joined: bool = True) -> pl.DataFrame:
    """Give the points of a flow that doubles its window, loses, halves it and grows slowly."""
    rows: list[tuple[str, str, float, float, float]] = [("mark", "syn", 0.0, 0, 0)]
    window, byte, now = 4, 0, ROUND_TRIP_S
    for turn in range(rounds):
        loses = turn % 8 == 5
        for place in range(window):
            at = now + place * ROUND_TRIP_S / (2 * window)
            low, high = byte + place * SEGMENT, byte + (place + 1) * SEGMENT
            rows += [
                ("data", "new", at, low, high),
                ("segment_size", "new", at, SEGMENT, SEGMENT),
                ("flight", "", at, (place + 1) * SEGMENT, (place + 1) * SEGMENT),
            ]
            is_lost = loses and place == window // 3
            if is_joined:
                rows.append(
                    ("lost", "", at, low, high)
                    if is_lost
                    else ("arrival", "new", at + ROUND_TRIP_S / 2, low, high)
                )
            back = at + ROUND_TRIP_S
            if loses and place > window // 3:
                hole = byte + window // 3 * SEGMENT
                rows.append(("sack", "sack", back, hole + SEGMENT, high))
                rows.append(("duplicate_ack", "", back, hole, hole))
            elif not is_lost:
                rows.append(("acknowledged", "", back, high, high))
                rows.append(("window_edge", "", back, high + 131072, high + 131072))
                rows.append(("rtt", "", back, ROUND_TRIP_S + at % 0.01, ROUND_TRIP_S + at % 0.01))
        if loses:
            hole = byte + window // 3 * SEGMENT
            kind = "timeout" if turn % 16 == 13 else "fast_retransmit"
            wait = 0.3 if kind == "timeout" else 1.7 * ROUND_TRIP_S
            rows.append(("data", kind, now + wait, hole, hole + SEGMENT))
            end = byte + window * SEGMENT
            rows.append(("acknowledged", "", now + wait + ROUND_TRIP_S, end, end))
            now += wait
        rate = window * SEGMENT * 8 / ROUND_TRIP_S
        rows += [
            ("throughput", "payload_sent", now, rate, rate),
            ("throughput", "new_payload_sent", now, 0.95 * rate, 0.95 * rate),
        ]
        byte += window * SEGMENT
        window = max(2, window // 2) if loses else window * 2 if turn < 5 else window + 1
        now += ROUND_TRIP_S
    rows += [("mark", "fin", now, byte, byte), ("mark", "reset", now + 0.001, byte, byte)]
    return pl.DataFrame([(name, *row, 1) for row in rows], schema=SCHEMA, orient="row")


def empty_trace() -> pl.DataFrame:
    return pl.DataFrame(schema=SCHEMA)
