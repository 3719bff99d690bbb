"""Screen controls on a kernel in virtual time, and hold the verdicts against the simulator's.

    python tools/kernel_screenings.py linux-7.3 --runs /tmp/runs

A kernel takes hours for the suite `quick`: each scenario is kept as soon as it is done, in
`docs/screenings/KERNEL/CONTROL.json`, and what is there is not run again. The tables of
`docs/screenings.md` are written from these files and from those of the simulator
(`tools/screenings.py --baselines docs/screenings/quick`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from screenings import PAGE, write_between

from fairwind.screen.control import control_named
from fairwind.screen.execute import FAULTS, ScreenSettings, screen
from fairwind.screen.record import ScreenRecord, read_record
from fairwind.screen.suite import Suite, Template, suite_named
from fairwind.screen.verdicts import Finding, worst
from fairwind.screen.words import (
    interval_in_words,
    limit_in_words,
    name_in_words,
    number_in_words,
)

BEGIN = "<!-- Made by `python tools/kernel_screenings.py`; a change made here is lost. -->"
SUITE = "quick"
CONTROLS = ("reno", "cubic", "bbr", "htcp", "westwood")
"""The controls that both a kernel and the simulator have."""


def main() -> None:
    """Screen what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", help="such as linux-7.3")
    parser.add_argument("--runs", type=Path, default=Path("screens/runs"))
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--controls", type=names, default=CONTROLS)
    parser.add_argument("--scenarios", type=names, default=(), help="all if not given")
    parser.add_argument("--without", type=names, default=(), help="scenarios to leave out")
    arguments = parser.parse_args()
    suite = suite_named(SUITE)
    settings = ScreenSettings(arguments.runs, engines=(arguments.kernel,), jobs=arguments.jobs)
    for template in suite.templates:
        if template.name in arguments.without:
            continue
        if arguments.scenarios and template.name not in arguments.scenarios:
            continue
        for control in arguments.controls:
            screen_scenario(suite, template, control, settings)
            write_between(PAGE, BEGIN, tables_of(suite, arguments.kernel))


def names(text: str) -> tuple[str, ...]:
    """Read names that are separated by commas."""
    return tuple(text.split(","))


def screen_scenario(
    suite: Suite, template: Template, control: str, settings: ScreenSettings
) -> None:
    """Screen a control in one scenario, and add its findings to the control's file."""
    (kernel,) = settings.engines
    file = file_of(kernel, control)
    before = read_record(file) if file.exists() else None
    if before and any(one.scenario == template.name for one in before.findings):
        return
    one = screen(control_named(control), replace(suite, templates=(template,)), settings)
    sys.stderr.write(f"{control}, {template.name}: {one.verdict}\n")
    record = merged(suite, before, one) if before else one
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{json.dumps(record.document())}\n", encoding="utf-8")


def merged(suite: Suite, before: ScreenRecord, one: ScreenRecord) -> ScreenRecord:
    """Add the findings of a scenario; the faults of all scenarios are one finding."""
    findings = [*before.findings, *one.findings]
    faults = [each for each in findings if each.area == FAULTS]
    order = [template.name for template in suite.templates]
    others = sorted(
        (each for each in findings if each.area != FAULTS), key=lambda it: order.index(it.scenario)
    )
    seconds = {
        area: before.seconds.get(area, 0.0) + one.seconds.get(area, 0.0) for area in one.areas
    }
    return replace(
        one, findings=(*others, max(faults, key=lambda it: it.estimate)), seconds=seconds
    )


def file_of(engine: str, control: str) -> Path:
    """Give the file of a control's verdicts."""
    return PAGE.with_suffix("") / engine / f"{control}.json"


def tables_of(suite: Suite, kernel: str) -> str:
    """Write the verdicts by area, and the checks in which they differ."""
    pairs = {
        control: (read_record(file_of(SUITE, control)), read_record(file_of(kernel, control)))
        for control in CONTROLS
        if file_of(kernel, control).exists()
    }
    compared = [pair for each in pairs.values() for pair in both(*each)]
    apart = [pair for pair in compared if pair[0].verdict is not pair[1].verdict]
    heading = f"| area | {' | '.join(pairs)} |"
    title = f"Linux {kernel.removeprefix('linux-')}"
    return "\n".join(
        [
            f"Verdicts in the simulator and on {title}, one word where they are the same; "
            "`-` was not screened.",
            "",
            heading,
            f"|---|{'---|' * len(pairs)}",
            *areas_in_words(suite, pairs),
            "",
            f"{len(compared) - len(apart)} of {len(compared)} checks have the same verdict. "
            "The others:",
            "",
            f"| control | check | simulator | {title} | threshold |",
            "|---|---|---|---|---|",
            *apart_in_words(pairs),
            "",
        ]
    )


def both(simulated: ScreenRecord, real: ScreenRecord) -> Iterator[tuple[Finding, Finding]]:
    """Yield the findings of the same check."""
    known = {one.key[1:]: one for one in simulated.findings}
    yield from ((known[one.key[1:]], one) for one in real.findings)


def areas_in_words(
    suite: Suite, pairs: dict[str, tuple[ScreenRecord, ScreenRecord]]
) -> Iterator[str]:
    """Write the verdicts of each area, over the checks that both engines have."""
    scenarios = {template.area: set[str]() for template in suite.templates}
    for template in suite.templates:
        scenarios[template.area].add(template.name)
    for area, wanted in scenarios.items():
        cells = []
        for pair in pairs.values():
            found = [one for one in both(*pair) if one[0].area == area]
            words = [str(worst([one[engine].verdict for one in found])) for engine in (0, 1)]
            cell = words[0] if words[0] == words[1] else " / ".join(words)
            is_whole = wanted == {one[0].scenario for one in found}
            cells.append((cell if is_whole else f"{cell} (in part)") if found else "-")
        yield f"| {suite.areas[area]} | {' | '.join(cells)} |"


def apart_in_words(pairs: dict[str, tuple[ScreenRecord, ScreenRecord]]) -> Iterator[str]:
    """Write the checks whose verdicts differ."""
    for control, pair in pairs.items():
        for simulated, real in both(*pair):
            if simulated.verdict is not real.verdict:
                cells = name_in_words(real), number_of(simulated), number_of(real)
                yield f"| {control} | {' | '.join(cells)} | {limit_in_words(real)} |"


def number_of(finding: Finding) -> str:
    """Write verdict, estimate and interval."""
    number = number_in_words(finding.estimate, finding.unit)
    return f"{finding.verdict}: {number} {interval_in_words(finding)}".rstrip()


if __name__ == "__main__":
    main()
