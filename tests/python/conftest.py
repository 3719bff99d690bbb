"""Skipped tests: counted for `make test`, and failures where kernel or browser are required."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from browser import browser as browser

REQUIRED = {
    mark: variable
    for mark, variable in (
        ("kernel", "FAIRWIND_REQUIRE_KERNEL"),
        ("browser", "FAIRWIND_REQUIRE_BROWSER"),
    )
    if os.environ.get(variable) == "1"
}
"""Marks of tests that must not be skipped here, and the variables that say so."""

SKIPPED_TESTS = os.environ.get("FAIRWIND_SKIPPED_TESTS")


@pytest.fixture(autouse=True)
def no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the width that tests are printed with, so that tables are as in a pipe."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failure if what it needs is required here."""
    report = yield
    for mark, variable in REQUIRED.items():
        if report.skipped and item.get_closest_marker(mark):
            report.outcome = "failed"
            report.longrepr = f"requires the {mark} ({variable}=1): {reason(report)}"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append a skipped test to the file that `make test` counts."""
    if SKIPPED_TESTS and report.skipped and "PYTEST_XDIST_WORKER" not in os.environ:
        line = " ".join(reason(report).split())
        with Path(SKIPPED_TESTS).open("a", encoding="utf-8") as file:
            file.write(f"Python\t{report.nodeid}\t{line}\n")


def reason(report: pytest.TestReport) -> str:
    """Give the reason of a skipped test, without the place where it was skipped."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return text.removeprefix("Skipped: ")
