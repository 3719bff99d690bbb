"""Running what is missing: every scenario in both engines, kept and taken up again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairwind.engine import Engine
from fairwind.errors import FairwindError
from fairwind.folder.manifest import MANIFEST, read_manifest
from fairwind.folder.store import write_file
from fairwind.quantities import parse_bits_per_second
from fairwind.results import Results
from fairwind.run import RunSettings, RunState, run_plan
from fairwind.scenario import Plan, Scenario

SIMULATED, REAL, MADE_BY = "simulation", "kernel", "made-by.json"

FULL_PACKET_BITS = 12_000
PUNCTUAL_PACKETS_PER_SECOND = 4000
"""Runs whose bottlenecks carry so many full packets together are punctual side by side."""

MOST_JOBS = 4


@dataclass(frozen=True)
class Measured:
    """One scenario, run in both engines.

    Attributes
    ----------
    name : str
        Of its file, without the ending.
    simulated, real : Results
    commit : str
        The state of the sources with which the kernel was measured.
    """

    name: str
    simulated: Results
    real: Results
    commit: str


def measure(
    scenario: Scenario,
    folder: Path,
    engines: tuple[Engine, Engine],
    commit: str,
    on_progress: Callable[[RunState], None] | None = None,
) -> Measured:
    """Run a scenario in both engines, as far as the folder does not have it.

    What was simulated is made anew by another version. What was measured on the kernel takes its
    time, so it is kept until the scenario changes.

    Parameters
    ----------
    scenario : Scenario
        With a single cell.
    folder : Path
        What belongs to this scenario.
    engines : tuple of Engine
        The simulator and the kernel.
    commit : str
        The state of the sources, to be told on the page.
    on_progress : callable, optional
        As for `run_plan`.

    Raises
    ------
    FairwindError
        If the scenario has several cells, or an engine cannot run it.
    """
    plan = scenario.plan
    if len(plan.cells) != 1:
        raise FairwindError(
            f"{scenario.file} has {len(plan.cells)} cells", "make it several scenarios of one cell"
        )
    simulator, kernel = engines
    if not _is_current(folder / SIMULATED, plan, simulator.versions()):
        run_plan(plan, simulator, RunSettings(out=folder / SIMULATED, force=True), on_progress)
    if not _is_current(folder / REAL, plan, None):
        settings = RunSettings(jobs=punctual_jobs(plan), out=folder / REAL, force=True)
        run_plan(plan, kernel, settings, on_progress)
        write_file(folder / MADE_BY, json.dumps({"commit": commit}).encode())
    return read_measured(folder)


def discard(folder: Path) -> None:
    """Forget what was measured of a scenario, so that it is measured again."""
    for part in (SIMULATED, REAL):
        shutil.rmtree(folder / part, ignore_errors=True)
    (folder / MADE_BY).unlink(missing_ok=True)


def read_measured(folder: Path) -> Measured:
    """Read what was measured of a scenario.

    Raises
    ------
    FairwindError
        If it is not complete.
    """
    try:
        made_by = json.loads((folder / MADE_BY).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FairwindError(
            f"{folder} was not measured on the kernel", "make validity, as root"
        ) from error
    return Measured(
        name=folder.name,
        simulated=Results(folder / SIMULATED),
        real=Results(folder / REAL),
        commit=made_by["commit"],
    )


def punctual_jobs(plan: Plan) -> int:
    """Choose how many runs share the machine: slow ones do, a fast one has it for itself."""
    links = plan.cells[0].experiment["network"]["links"]
    rates = [parse_bits_per_second(link["rate"]) for link in links if link.get("rate")]
    packets_per_second = max(rates, default=0) / FULL_PACKET_BITS
    if packets_per_second * MOST_JOBS <= PUNCTUAL_PACKETS_PER_SECOND:
        return MOST_JOBS
    return max(1, int(PUNCTUAL_PACKETS_PER_SECOND / packets_per_second))


def _is_current(folder: Path, plan: Plan, versions: dict[str, str] | None) -> bool:
    """Return whether a folder has all runs of a plan, made by these versions if given."""
    if not (folder / MANIFEST).exists():
        return False
    manifest = read_manifest(folder)
    results = Results(folder)
    return (
        manifest.plan.document == plan.document
        and versions in (None, manifest.versions)
        and results.has_table("groups")
        and not results.failures
    )
