"""The longest waits of a capture, as people read them."""

from __future__ import annotations

import polars as pl

from fairwind.analysis.summary import readable_slowest, slowest_rows
from fairwind.report.page import write_report
from fairwind.results import Results
from test_captured_folder import captured_folder


def slowest_folder(out, seen_at: list[str]) -> Results:
    """Give the folder of a capture with a row of the table ``slowest`` for each place."""
    results = captured_folder(out)
    rows = {
        "cell": 0,
        "replicate": 0,
        "seed": None,
        "flow": range(len(seen_at)),
        "name": [f"a:{n}>b:1" for n in range(len(seen_at))],
        "group": "thin",
        "seen_at": seen_at,
        "sent_s": 12.3456,
        "wait_s": [(n + 1) / 2 for n in range(len(seen_at))],
        "place_bytes": 100,
        "payload_bytes": 20,
        "repeats": [n % 2 for n in range(len(seen_at))],
        "cause": ["timeout" if n % 2 else "" for n in range(len(seen_at))],
        "segments_behind": 3,
        "bytes_behind": 60,
    }
    pl.DataFrame(rows).write_parquet(results.folder / "slowest.parquet")
    return Results(results.folder)


def test_the_longest_waits_come_first_and_say_why(tmp_path):
    results = slowest_folder(tmp_path / "seen", ["sender", "sender", "sender"])
    headers, cells = readable_slowest(results, 2)
    assert headers == [
        "slowest segments",
        "sent at / s",
        "until acknowledged / ms",
        "bytes of the stream",
        "retransmissions",
        "last cause",
        "segments behind it",
        "payload behind it / B",
    ]
    assert cells == [
        ["a:2>b:1", "12.346", 1500.0, "100 to 119", 0, "not retransmitted", 3, 60],
        ["a:1>b:1", "12.346", 1000.0, "100 to 119", 1, "time-out", 3, 60],
    ]
    assert slowest_rows(results, 2)[0]["cause"] is None
    assert readable_slowest(results, 0)[1] == []


def test_waits_that_were_seen_at_several_places_say_where(tmp_path):
    results = slowest_folder(tmp_path / "seen", ["sender", "receiver"])
    headers, cells = readable_slowest(results, 5)
    assert headers[2:4] == ["waited / ms", "waited"]
    assert [row[3] for row in cells] == [
        "until acknowledged, near the receiver",
        "until acknowledged",
    ]


def test_the_page_of_a_capture_tells_of_its_longest_waits(tmp_path):
    results = slowest_folder(tmp_path / "seen", ["both", "both"])
    page = write_report(results).page.read_text(encoding="utf-8")
    assert "Longest waits" in page
    assert "until in order at the receiver / ms" in page
