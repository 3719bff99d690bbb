"""All runs of a screening, and the findings that they give."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from fairwind.engine.core import core_version
from fairwind.engine.engines import Engine
from fairwind.engine.selection import engine_named
from fairwind.errors import ControlClassError, FairwindError, RunInterrupted
from fairwind.execution.address import LOCAL
from fairwind.execution.deploy import kept_clusters
from fairwind.execution.execute import RunSettings, RunState, folder_of, run_plan
from fairwind.results import Results, late_runs
from fairwind.scenario import Scenario
from fairwind.screen.control import ScreenedControl
from fairwind.screen.measures import measured
from fairwind.screen.record import ScreenRecord
from fairwind.screen.series import Series, series_of
from fairwind.screen.suite import Check, Scale, Suite, Template
from fairwind.screen.variants import with_controls, without_control
from fairwind.screen.verdicts import Finding, Samples, Verdict, finding_of, unjudged

SEED = 1
"""Of all random draws, unless another is given."""

FAULTS = "faults"
"""The area of what went wrong in runs, whatever they measure; every suite has it."""


@dataclass(frozen=True)
class ScreenSettings:
    """Settings of a screening.

    Attributes
    ----------
    runs : Path
        Folder of the simulations. A run that it has already is not repeated; several screenings may
        share it.
    against : tuple of str
        Standard controls; those of the suite if empty.
    engines : tuple of str
        Names as with ``--on``.
    areas : tuple of str
        Areas to screen; all if empty.
    seeds : int, optional
        Runs of each scenario; the suite's number if None.
    seed : int
        Of all random draws.
    jobs : int, optional
        Simulations at once.
    workers : str
        Where simulations run, as of `RunSettings`.
    """

    runs: Path
    against: tuple[str, ...] = ()
    engines: tuple[str, ...] = ("sim",)
    areas: tuple[str, ...] = ()
    seeds: int | None = None
    seed: int = SEED
    jobs: int | None = None
    workers: str = LOCAL


@dataclass(frozen=True)
class ScenarioDone:
    """Progress: a scenario is finished.

    Attributes
    ----------
    number, total : int
        Which it is, from 1, of how many.
    seconds : float
        How long it took.
    late : dict
        Folders of runs in real time in which the router was late, and in how many of their runs.
    """

    number: int
    total: int
    template: Template
    engine: str
    seconds: float
    findings: tuple[Finding, ...]
    late: Mapping[Path, int] = field(default_factory=dict)


def run_folder(scenario: Scenario, engine: Engine, settings: ScreenSettings) -> Path:
    """Give the folder of a scenario's run among those of screenings: equal ones have the same."""
    return settings.runs / folder_of(scenario.plan, engine, RunSettings(settings.jobs)).name


@dataclass
class _Screening:
    """The changing state of a screening on one engine."""

    control: ScreenedControl
    suite: Suite
    settings: ScreenSettings
    engine: Engine
    engine_name: str
    against: tuple[str, ...]
    on_progress: Callable[[RunState], None] | None = None
    done: dict[str, Results] = field(default_factory=dict)
    late: dict[Path, int] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)

    @property
    def seeds(self) -> int:
        return self.settings.seeds or self.suite.seeds

    def run(self, scenario: Scenario) -> Results:
        """Run a scenario, or take it from the folder of runs; once only."""
        out = run_folder(scenario, self.engine, self.settings)
        if out.name not in self.done:
            place = RunSettings(self.settings.jobs, out, workers=self.settings.workers)
            results = run_plan(scenario.plan, self.engine, place, self.on_progress)
            self.done[out.name] = results
            if late := late_runs(results).height:
                self.late[out] = late
        return self.done[out.name]

    def with_control(self, template: Template, standard: str) -> Results:
        """Run a scenario with the control, and note what its flows complained of."""
        names = self.control.name, standard, self.seeds, self.settings.seed
        results = self.run(with_controls(template, *names, self.control.classes))
        where = f"{template.name}: "
        complaints = results.control_complaints
        if complaints is not None:
            is_ours = pl.col("congestion") == self.control.name
            found = complaints.filter(is_ours)["complaint"].unique(maintain_order=True)
            self.complaints += [where + str(one) for one in found]
        self.complaints += [where + str(one) for one in results.failures]
        return results

    def with_standard(self, template: Template, standard: str) -> Results:
        """Run a scenario with the standard control in the place of the control."""
        return self.run(with_controls(template, standard, standard, self.seeds, self.settings.seed))

    def alone(self, template: Template, standard: str) -> Results:
        """Run a scenario without the control."""
        return self.run(without_control(template, standard, self.seeds, self.settings.seed))


@kept_clusters()
def screen(
    control: ScreenedControl,
    suite: Suite,
    settings: ScreenSettings,
    on_scenario: Callable[[ScenarioDone], None] | None = None,
    on_progress: Callable[[RunState], None] | None = None,
) -> ScreenRecord:
    """Run a suite with a congestion control, and judge it area by area.

    Parameters
    ----------
    on_scenario : callable, optional
        Called when a scenario is finished.
    on_progress : callable, optional
        As of `run_plan`.

    Raises
    ------
    FairwindError
        If an area, an engine or a standard control does not exist, a scenario or a measure is
        wrong, or the run was interrupted (finished simulations are kept).
    """
    templates = suite.of_areas(tuple(one for one in settings.areas if one != FAULTS))
    findings: list[Finding] = []
    seconds: dict[str, float] = {}
    series: list[Series] = []
    number, total = 0, len(templates) * len(settings.engines)
    for name in settings.engines:
        engine = engine_named(name, dict(control.classes))
        against = settings.against or suite.against
        state = _Screening(control, suite, settings, engine, name, against, on_progress)
        for template in templates:
            begin = time.monotonic()
            state.late = {}
            found = _with_late_runs(_findings(state, template), state.late)
            took = time.monotonic() - begin
            seconds[template.area] = seconds.get(template.area, 0.0) + took
            findings += found
            number += 1
            if on_scenario is not None:
                on_scenario(ScenarioDone(number, total, template, name, took, found, state.late))
        findings.append(_faults(state))
        series += state.series
    return ScreenRecord(
        control=control.name,
        suite=suite.name,
        against=settings.against or suite.against,
        seed=settings.seed,
        seeds=settings.seeds or suite.seeds,
        version=core_version(),
        areas={**suite.areas, FAULTS: "Faults at run time"},
        findings=tuple(findings),
        seconds=seconds,
        series=tuple(series),
    )


def _findings(state: _Screening, template: Template) -> Iterator[Finding]:
    standards = state.against if template.has_standard else state.against[:1]
    for standard in standards:
        try:
            beside = state.with_control(template, standard)
        except RunInterrupted:
            raise
        except ControlClassError as error:
            state.complaints.append(f"{template.name}: {error.message}")
            yield from _unmeasured(state, template, standard, Verdict.FAIL, error.message)
            continue
        except FairwindError as error:
            if not _is_refusal(error, state):
                raise
            yield from _unmeasured(state, template, standard, Verdict.SKIPPED, error.message)
            continue
        yield from _judged(state, template, standard, beside)


def _with_late_runs(findings: Iterator[Finding], late: Mapping[Path, int]) -> tuple[Finding, ...]:
    """Say with each finding that the router was late in some of its scenario's runs."""
    found = tuple(findings)
    if not late:
        return found
    number = sum(late.values())
    note = f"the router was late in {number} runs: repeat them on an idle machine, with --jobs 1"
    return tuple(replace(one, note="; ".join(filter(None, (one.note, note)))) for one in found)


def _judged(
    state: _Screening, template: Template, standard: str, beside: Results
) -> Iterator[Finding]:
    """Judge all checks of a scenario against one standard control."""
    folders = {"control": str(beside.folder)}
    reference: Results | None = None
    if any(check.scale is not Scale.VALUE for check in template.checks):
        reference = state.with_standard(template, standard)
        folders["standard"] = str(reference.folder)
    state.series.append(
        series_of(state.engine_name, template, standard, beside, reference, state.control.name)
    )
    for check in template.checks:
        named = standard if template.has_standard or check.scale is not Scale.VALUE else ""
        samples = _samples(state, template, check, standard, beside)
        yield finding_of(template, check, samples, state.engine_name, named, folders)


def _samples(
    state: _Screening, template: Template, check: Check, standard: str, beside: Results
) -> Samples:
    control = [*measured(beside, check.measure).values()]
    if check.scale is Scale.VALUE:
        return Samples(control)
    reference = measured(state.with_standard(template, standard), check.measure)
    if check.scale is not Scale.HARM:
        return Samples(control, [*reference.values()])
    alone = measured(state.alone(template, standard), check.measure)
    return Samples(control, [*reference.values()], [*alone.values()])


def _unmeasured(
    state: _Screening, template: Template, standard: str, verdict: Verdict, why: str
) -> Iterator[Finding]:
    for check in template.checks:
        has_standard = template.has_standard or check.scale is not Scale.VALUE
        named = standard if has_standard else ""
        yield unjudged(template, check, state.engine_name, named, verdict, why)


def _is_refusal(error: FairwindError, state: _Screening) -> bool:
    """Return whether another engine than the simulator cannot run a scenario."""
    return state.engine_name != "sim" and "sim" in (error.hint or "")


def _faults(state: _Screening) -> Finding:
    """Judge what the control did in all runs that no control may do."""
    number = float(len(state.complaints))
    return Finding(
        engine=state.engine_name,
        area=FAULTS,
        scenario="all",
        check="faults",
        standard="",
        verdict=Verdict.FAIL if number else Verdict.PASS,
        limit=0.0,
        is_least=False,
        unit="",
        scale=Scale.VALUE,
        source="docs/guides/congestion-controls.md, faults at run time",
        title="No division by zero, endless hook, empty window or failed run in any scenario",
        estimate=number,
        low=number,
        high=number,
        samples=1,
        values=(number,),
        note="; ".join(state.complaints[:5]),
    )
