"""Measurement: runs in the simulator and another engine until all rows are decided."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairwind.engine.engines import Engine
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, RunState, run_plan
from fairwind.quantities import parse_bits_per_second
from fairwind.scenario import Plan, Scenario

from .agreement import SIMULATOR, TOLERANCES, Verdict, agreements
from .record import Measured, Record

FULL_PACKET_BITS = 12_000
PUNCTUAL_PACKETS_PER_SECOND = 4000
"""Runs in real time are punctual side by side if their bottlenecks carry so many full packets."""

MOST_JOBS = 4
MOST_RUNS = 32
"""Largest number of runs of a scenario in virtual time."""


@dataclass(frozen=True)
class Settings:
    """How scenarios are measured.

    Attributes
    ----------
    values : Path
        Folder of the stored values.
    runs : Path
        Folder of unfinished runs.
    commit : str
        The state of the sources, which is stored with the values.
    most_runs : int
        Largest number of runs in virtual time; in real time there are as many as the file says.
    jobs : int, optional
        Runs at once in virtual time; all processors if None.
    on_progress : callable, optional
        As for `run_plan`.
    """

    values: Path
    runs: Path
    commit: str
    most_runs: int = MOST_RUNS
    jobs: int | None = None
    on_progress: Callable[[RunState], None] | None = None


def measure(
    name: str, scenario: Scenario, engines: tuple[Engine, Engine], settings: Settings
) -> Record:
    """Run a scenario in the simulator and another engine, as far as values are not stored.

    Runs are doubled until the interval of every row is within its tolerance or apart from it.
    Simulated values are measured again by another version of the simulator; those of kernels are
    kept until the scenario changes.

    Parameters
    ----------
    name : str
        Of the scenario's file, without the ending.
    scenario : Scenario
        With a single cell.
    engines : tuple of Engine
        The simulator, and the engine that is compared with it.
    settings : Settings

    Raises
    ------
    FairwindError
        If the scenario has several cells, a run failed, or the engine cannot run here at all.
    """
    first = scenario.plan
    record = stored(name, first, settings.values)
    simulator, kernel = engines
    before = record.engines.get(SIMULATOR)
    if before is not None and before.versions != simulator.versions():
        del record.engines[SIMULATOR]
    refusals = [str(one) for one in kernel.refusals(first.cells[0])]
    if refusals:
        record.engines[kernel.name] = Measured(refusals=refusals, commit=settings.commit)
        record.write(settings.values)
        return record
    most = len(first.seeds) if kernel.is_real_time else settings.most_runs
    plan = scenario.with_settings({"sweep.repeat": max(most, len(first.seeds))}).plan
    wanted = len(first.seeds)
    while True:
        for engine in engines:
            _extend(record, plan, wanted, engine, settings)
        if wanted >= most or not _is_undecided(record, kernel):
            return record
        wanted = min(2 * wanted, most)


def stored(name: str, plan: Plan, values: Path) -> Record:
    """Read the record of a scenario; an empty one if there is none or the scenario has changed."""
    record = Record.of_plan(name, plan)
    file = values / f"{name}.json"
    earlier = Record.read(file) if file.exists() else record
    return earlier if earlier.digest == record.digest else record


def discard(name: str, values: Path, engine: str) -> None:
    """Forget what an engine measured of a scenario, so that it is measured again."""
    file = values / f"{name}.json"
    if file.exists():
        record = Record.read(file)
        record.engines.pop(engine, None)
        record.write(values)


def _is_undecided(record: Record, engine: Engine) -> bool:
    simulated, real = record.engines[SIMULATOR], record.engines[engine.name]
    found = agreements(simulated, real, is_paired=not engine.is_real_time)
    return any(one.verdict is Verdict.UNDECIDED for one in found)


def _extend(record: Record, plan: Plan, wanted: int, engine: Engine, settings: Settings) -> None:
    """Run what is missing of the first seeds, and store the values."""
    known = record.engines.setdefault(engine.name, Measured())
    if known.is_summary or known.runs >= wanted:
        return
    part = plan_of_seeds(plan, known.runs, wanted)
    out = settings.runs / f"{record.name}-{engine.name}"
    jobs = punctual_jobs(plan) if engine.is_real_time else settings.jobs
    results = run_plan(part, engine, RunSettings(jobs, out, force=True), settings.on_progress)
    if results.failures:
        raise FairwindError(
            f"{record.name} failed on {engine.name}: {results.failures[0]}",
            "the same command tries the run again",
        )
    known.refusals = []
    known.extend(Measured.of_results(results, list(TOLERANCES), settings.commit))
    record.write(settings.values)
    shutil.rmtree(out)


def plan_of_seeds(plan: Plan, begin: int, end: int) -> Plan:
    """Give the part of a plan with some of its seeds."""
    seeds = list(plan.seeds[begin:end])
    document = plan.document | {"seeds": seeds, "repeat": len(seeds)}
    return Plan.from_document(document, ())


def punctual_jobs(plan: Plan) -> int:
    """Choose how many runs share the machine in real time: slow ones do, a fast one runs alone."""
    links = plan.cells[0].experiment["network"]["links"]
    rates = [parse_bits_per_second(link["rate"]) for link in links if link.get("rate")]
    packets_per_second = max(rates, default=0) / FULL_PACKET_BITS
    if packets_per_second * MOST_JOBS <= PUNCTUAL_PACKETS_PER_SECOND:
        return MOST_JOBS
    return max(1, int(PUNCTUAL_PACKETS_PER_SECOND / packets_per_second))
