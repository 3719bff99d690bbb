"""Screen controls on kernels scenario by scenario, and compare the verdicts with the simulator's.

    python tools/kernel_screenings.py linux-7.3 --runs /tmp/runs
    python tools/kernel_screenings.py kernel --runs /tmp/runs --jobs 4 --at-once 2
    python tools/kernel_screenings.py kernel --scenarios long-fast --router kernel --jobs 2

A kernel takes hours for the suite `quick`: each scenario is kept as soon as it is done, in
`docs/screenings/ENGINE/CONTROL.json`, and what is there is not run again without `--again`. The
tables of `docs/screenings.md` are written from these files and from those of the simulator
(`tools/screenings.py --baselines docs/screenings/quick`).

Where a machine is too slow for our router in real time, `--router kernel` lets the kernel's own
queue carry the packets, by netem and a shaper, if the kernel has these.

With `--at-once` several scenarios are screened side by side: first those of the standard control,
whose runs the others share. Runs in which the router was late are removed, and repeated.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from kernel_screening_tables import BEGIN, SUITE, file_of, tables
from screenings import PAGE, all_controls, write_between, write_record

from fairwind.screen.control import control_named
from fairwind.screen.execute import FAULTS, ScenarioDone, ScreenSettings, screen
from fairwind.screen.record import ScreenRecord, read_record
from fairwind.screen.suite import Suite, Template, suite_named
from fairwind.screen.verdicts import Finding, worst

ROUTERS = ("user", "kernel")

ATTEMPTS = 3
"""A scenario of which runs were late so often is given up."""


@dataclass(frozen=True)
class Task:
    """A control in a scenario, on a kernel."""

    control: str
    scenario: str
    settings: ScreenSettings
    router: str | None = None


def main() -> None:
    """Screen what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", help="such as linux-7.3; kernel is the running one")
    parser.add_argument("--runs", type=Path, default=Path("screens/runs"))
    parser.add_argument("--jobs", type=int, help="runs of a scenario at once")
    parser.add_argument("--at-once", type=int, default=1, help="scenarios at once")
    parser.add_argument("--controls", type=parse_names, help="in their order; all if not given")
    parser.add_argument("--scenarios", type=parse_names, help="in their order; all if not given")
    parser.add_argument("--without", type=parse_names, default=(), help="scenarios to leave out")
    parser.add_argument("--router", choices=ROUTERS, help="in the place of the scenario's own")
    parser.add_argument("--again", action="store_true", help="also what was screened before")
    arguments = parser.parse_args()
    suite = suite_named(SUITE)
    controls = arguments.controls or all_controls()
    scenarios = arguments.scenarios or [template.name for template in suite.templates]
    scenarios = [name for name in scenarios if name not in arguments.without]
    settings = ScreenSettings(arguments.runs, engines=(arguments.engine,), jobs=arguments.jobs)
    write_between(PAGE, BEGIN, tables(suite))
    for group in standards_first(controls, suite):
        wanted = [
            Task(control, name, settings, arguments.router)
            for control in group
            for name in missing(
                file_of(arguments.engine, control), scenarios, is_again=arguments.again
            )
        ]
        for task, record in screened(wanted, arguments.at_once):
            keep(suite, file_of(arguments.engine, task.control), record)
            write_between(PAGE, BEGIN, tables(suite))


def parse_names(text: str) -> tuple[str, ...]:
    """Read names that are separated by commas."""
    return tuple(text.split(","))


def standards_first(controls: Sequence[str], suite: Suite) -> list[list[str]]:
    """Divide controls into those that the suite holds others against, and the others."""
    standards = [name for name in controls if name in suite.against]
    return [standards, [name for name in controls if name not in suite.against]]


def missing(file: Path, scenarios: Sequence[str], *, is_again: bool) -> list[str]:
    """Give the scenarios that a control's file does not have, or all to screen them again."""
    known = read_record(file).findings if file.exists() and not is_again else ()
    screened_before = {one.scenario for one in known}
    return [name for name in scenarios if name not in screened_before]


def screened(tasks: list[Task], at_once: int) -> Iterator[tuple[Task, ScreenRecord]]:
    """Screen tasks side by side, and give each one's record as soon as it is there."""
    with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(screen_in_time, task): task for task in tasks}
        for future in as_completed(running):
            task, (record, late) = running[future], future.result()
            lateness = f", late {late} times" if late else ""
            sys.stderr.write(f"{task.control}, {task.scenario}: {record.verdict}{lateness}\n")
            if late < ATTEMPTS:
                yield task, record


def screen_in_time(task: Task) -> tuple[ScreenRecord, int]:
    """Screen a control in a scenario, again where the router was late; give how often it was."""
    suite = suite_named(SUITE)
    template = next(one for one in suite.templates if one.name == task.scenario)
    alone = replace(suite, templates=(routed(template, task.router),))
    done: list[ScenarioDone] = []
    for late in range(ATTEMPTS):
        record = screen(control_named(task.control), alone, task.settings, done.append)
        if not done[-1].late:
            return record, late
        for folder in done[-1].late:
            shutil.rmtree(folder)
    return record, ATTEMPTS


def routed(template: Template, router: str | None) -> Template:
    """Choose who carries the packets of a scenario with a path, if somebody is named."""
    if router is None:
        return template
    settings = dict(template.settings)
    return replace(template, settings=settings | {"path": {**settings["path"], "router": router}})


def keep(suite: Suite, file: Path, one: ScreenRecord) -> None:
    """Add the findings of a scenario to a control's file."""
    record = merge_scenario(suite, read_record(file), one) if file.exists() else one
    write_record(file, record)


def merge_scenario(suite: Suite, before: ScreenRecord, one: ScreenRecord) -> ScreenRecord:
    """Add the findings of a scenario, in the place of earlier ones.

    Faults and seconds are summed up, also those of a scenario that was screened again.

    Raises
    ------
    ValueError
        If the seeds differ.
    """
    if (before.seed, before.seeds) != (one.seed, one.seeds):
        raise ValueError(f"{before.control} was screened with other seeds: remove its file")
    order = [template.name for template in suite.templates]
    new = {finding.scenario for finding in one.findings} - {"all"}
    found = [each for each in before.findings if each.scenario not in new] + list(one.findings)
    checks = [each for each in found if each.area != FAULTS]
    seconds = {
        area: before.seconds.get(area, 0.0) + one.seconds.get(area, 0.0) for area in one.areas
    }
    return replace(
        one,
        findings=(
            *sorted(checks, key=lambda it: order.index(it.scenario)),
            sum_faults([each for each in found if each.area == FAULTS]),
        ),
        seconds=seconds,
    )


def sum_faults(faults: list[Finding]) -> Finding:
    """Make one finding of the faults of several scenarios."""
    number = sum(one.estimate for one in faults)
    return replace(
        faults[-1],
        verdict=worst([one.verdict for one in faults]),
        estimate=number,
        low=number,
        high=number,
        values=(number,),
        note="; ".join(one.note for one in faults if one.note),
    )


if __name__ == "__main__":
    main()
