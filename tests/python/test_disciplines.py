"""The page that holds our queue disciplines against the kernel's."""

from __future__ import annotations

import tomllib

from fairwind_studies.validity import Measured, Record
from fairwind_studies.validity.disciplines import (
    OURS,
    PAGE,
    REASONS,
    THEIRS,
    VALUES,
    known,
    page,
)

RUNS = 4


def record(name: str, ours: float, theirs: float) -> Record:
    """Make up drops of two routers, alike in all runs but for one packet."""

    def measured(drops: float) -> Measured:
        values: list[float | None] = [drops, drops + 1, drops, drops + 1]
        rows = {"bottleneck": {"drops_packets": values, "backlog_mean_packets": [9.0] * RUNS}}
        return Measured(RUNS, dict(rows), {"kernel": "7.3.4"})

    engines = {OURS: measured(ours), THEIRS: measured(theirs)}
    return Record(name, "some queue", "30 s", "digest", engines)


def test_page_judges_each_row():
    text = page([record("queue-x", 100, 101), record("queue-y", 100, 200)], {})
    assert "| [queue-x](#queue-x) | some queue | 4 | 2 | 0 | 0 |" in text
    assert "| [queue-y](#queue-y) | some queue | 4 | 1 | 0 | 1 |" in text
    assert "The reason of drops of bottleneck is not known." in text


def test_known_reason_stands_below_the_table():
    reasons = {"queue-y": {"drops_packets": "another law"}}
    text = page([record("queue-x", 100, 101), record("queue-y", 100, 200)], reasons)
    assert text.count("- Another law.") == 1
    assert "not known" not in text


def test_refused_discipline_is_listed():
    refused = record("queue-z", 1, 1)
    refused.engines[THEIRS] = Measured(refusals=["no such discipline"])
    text = page([refused], {})
    assert "| refused | - | - | - |" in text
    assert "Refused: no such discipline." in text


def test_stored_page_is_that_of_the_stored_values():
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    records = [Record.read(file) for file in sorted(VALUES.glob("*.json"))]
    assert {one.name for one in records} == set(known())
    assert set(reasons) <= set(known())
    assert page(records, reasons) == PAGE.read_text(encoding="utf-8")
