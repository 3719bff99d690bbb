"""Figure 3 of the report, from four of its cells: simulated, and on the running kernel."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from fairwind_studies.remembered_windows.claims import (
    faster_with_delay,
    meets_the_form_with_serialisation,
    slower_with_volume,
)
from fairwind_studies.remembered_windows.measures import by_delay

from fairwind.engine.selection import engine_named
from fairwind.results import Verdict
from fairwind.studies import study_named

PROBLEM = engine_named("kernel").obstacle()


def measured(on: str, out: Path) -> pl.DataFrame:
    """Run the cells that the study has on the kernel, but for the middle delay, once each."""
    scenario = study_named("remembered-windows").scenario("kernel")
    few = scenario.with_settings(
        {
            "sweep.repeat": "1",
            "sweep.flows.web.workload.ack_delay": '["20 ms", "100 ms"]',
            "flows.web.workload.transfers": "2",
            "duration": "4 s",
        }
    )
    return by_delay(few.run(on, jobs=2, out=out))


def test_figure_3_matches_report_and_closed_form(tmp_path):
    found = measured("sim", tmp_path)
    assert found.height == 4
    assert found["mean"].to_numpy().max() > 3, "much is gained from 1 MB at 100 ms"
    for judge in (faster_with_delay, slower_with_volume, meets_the_form_with_serialisation):
        claim = judge(found)
        assert claim.verdict is Verdict.HOLDS, claim.evidence


@pytest.mark.alone
@pytest.mark.kernel
@pytest.mark.skipif(PROBLEM is not None, reason=f"no run on the kernel: {PROBLEM}")
def test_the_kernel_has_the_same_two_trends(tmp_path):
    """Eight runs of four seconds, two at a time."""
    found = measured("kernel", tmp_path)
    assert found.height == 4
    for judge in (faster_with_delay, slower_with_volume):
        claim = judge(found)
        assert claim.verdict is Verdict.HOLDS, claim.evidence
