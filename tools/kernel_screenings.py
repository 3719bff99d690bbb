"""Screen controls on a kernel in virtual time, and compare the verdicts with the simulator's.

    python tools/kernel_screenings.py linux-7.3 --runs /tmp/runs

A kernel takes hours for the suite `quick`: each scenario is kept as soon as it is done, in
`docs/screenings/KERNEL/CONTROL.json`, and what is there is not run again without `--again`. The
tables of `docs/screenings.md` are written from these files and from those of the simulator
(`tools/screenings.py --baselines docs/screenings/quick`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from screenings import PAGE, write_between, write_record

from fairwind.screen.control import control_named
from fairwind.screen.execute import FAULTS, ScreenSettings, screen
from fairwind.screen.record import ScreenRecord, read_record
from fairwind.screen.suite import Suite, Template, suite_named
from fairwind.screen.verdicts import Finding, Verdict, worst
from fairwind.screen.words import estimate_in_words, limit_in_words, name_in_words

BEGIN = "<!-- Made by `python tools/kernel_screenings.py`; a change made here is lost. -->"
SUITE = "quick"
CONTROLS = ("reno", "cubic", "bbr", "htcp", "westwood")
"""The controls that are compared."""

Pair = tuple[Finding, Finding]
"""What the simulator and a kernel found in the same check."""


def main() -> None:
    """Screen what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", help="such as linux-7.3")
    parser.add_argument("--runs", type=Path, default=Path("screens/runs"))
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--controls", type=parse_names, default=CONTROLS)
    parser.add_argument("--scenarios", type=parse_names, help="in their order; all if not given")
    parser.add_argument("--without", type=parse_names, default=(), help="scenarios to leave out")
    parser.add_argument("--again", action="store_true", help="also what was screened before")
    arguments = parser.parse_args()
    suite = suite_named(SUITE)
    templates = {template.name: template for template in suite.templates}
    settings = ScreenSettings(arguments.runs, engines=(arguments.kernel,), jobs=arguments.jobs)
    write_between(PAGE, BEGIN, tables_of(suite, arguments.kernel))
    for name in arguments.scenarios or templates:
        for control in arguments.controls if name not in arguments.without else ():
            screen_scenario(suite, templates[name], control, settings, is_again=arguments.again)
            write_between(PAGE, BEGIN, tables_of(suite, arguments.kernel))


def parse_names(text: str) -> tuple[str, ...]:
    """Read names that are separated by commas."""
    return tuple(text.split(","))


def screen_scenario(
    suite: Suite, template: Template, control: str, settings: ScreenSettings, *, is_again: bool
) -> None:
    """Screen a control in one scenario, and add its findings to the control's file."""
    (kernel,) = settings.engines
    file = file_of(kernel, control)
    before = read_record(file) if file.exists() else None
    if before and not is_again and template.name in {one.scenario for one in before.findings}:
        return
    one = screen(control_named(control), replace(suite, templates=(template,)), settings)
    sys.stderr.write(f"{control}, {template.name}: {one.verdict}\n")
    record = merge_scenario(suite, before, one) if before else one
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


def file_of(engine: str, control: str) -> Path:
    """Give the file of a control's verdicts."""
    return PAGE.with_suffix("") / engine / f"{control}.json"


def tables_of(suite: Suite, kernel: str) -> str:
    """Write the verdicts by area, and the checks in which they differ."""
    pairs = {
        control: pair_findings(
            read_record(file_of(SUITE, control)), read_record(file_of(kernel, control))
        )
        for control in CONTROLS
        if file_of(kernel, control).exists()
    }
    title = f"Linux {kernel.removeprefix('linux-')}"
    compared = [pair for each in pairs.values() for pair in each]
    equal = sum(simulated.verdict is there.verdict for simulated, there in compared)
    return "\n".join(
        [
            f"Verdicts in the simulator and on {title}, one word where they are the same; "
            "`-` has not been screened.",
            "",
            f"| area | {' | '.join(pairs)} |",
            f"|---|{'---|' * len(pairs)}",
            *areas_in_words(suite, pairs),
            "",
            f"{equal} of {len(compared)} checks have the same verdict. The others:",
            "",
            f"| control | check | simulator | {title} | threshold |",
            "|---|---|---|---|---|",
            *differences_in_words(pairs),
            "",
        ]
    )


def pair_findings(simulated: ScreenRecord, on_kernel: ScreenRecord) -> list[Pair]:
    """Give the findings of each check that both engines have."""
    known = {one.key[1:]: one for one in simulated.findings}
    return [(known[one.key[1:]], one) for one in on_kernel.findings if one.key[1:] in known]


def areas_in_words(suite: Suite, pairs: Mapping[str, list[Pair]]) -> Iterator[str]:
    """Write the verdicts of each area, over the checks that both engines have."""
    for area, title in suite.areas.items():
        wanted = {template.name for template in suite.templates if template.area == area}
        cells = [
            area_in_words([pair for pair in each if pair[0].area == area], wanted)
            for each in pairs.values()
        ]
        yield f"| {title} | {' | '.join(cells)} |"


def area_in_words(found: list[Pair], wanted: set[str]) -> str:
    """Write both verdicts on an area, and which of its scenarios are missing."""
    verdicts = [worst([pair[engine].verdict for pair in found]) for engine in (0, 1)]
    missing = wanted - {simulated.scenario for simulated, _ in found}
    words = " / ".join(dict.fromkeys(map(str, verdicts))) if found else "-"
    return f"{words} (without {', '.join(sorted(missing))})" if found and missing else words


def differences_in_words(pairs: Mapping[str, list[Pair]]) -> Iterator[str]:
    """Write the checks that have another verdict on the kernel."""
    for control, each in pairs.items():
        for simulated, there in each:
            if simulated.verdict is not there.verdict:
                cells = name_in_words(there), number_of(simulated), number_of(there)
                yield f"| {control} | {' | '.join(cells)} | {limit_in_words(there)} |"


def number_of(finding: Finding) -> str:
    """Write verdict, estimate and interval, or why there are none."""
    if finding.verdict is Verdict.SKIPPED:
        return f"{finding.verdict}: {finding.note}"
    return f"{finding.verdict}: {estimate_in_words(finding)}"


if __name__ == "__main__":
    main()
