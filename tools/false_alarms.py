"""Screen a congestion control against itself with other seeds, and count the checks that fail.

    python tools/false_alarms.py --runs /tmp/runs --times 20

Each of the screenings has seeds of its own, and its runs are held against those of the next one:
the control is the same, the draws are others, so that each failure is a false alarm.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fairwind.engine.selection import engine_named
from fairwind.execution.execute import RunSettings, run_plan
from fairwind.results import Results
from fairwind.scenario import Scenario
from fairwind.screen.execute import ScreenSettings, run_folder
from fairwind.screen.measures import measured
from fairwind.screen.suite import Scale, Suite, suite_named
from fairwind.screen.variants import with_controls, without_control
from fairwind.screen.verdicts import Finding, Samples, Verdict, finding_of
from fairwind.screen.words import evidence_of, name_in_words

FIRST_SEED = 2
"""The seed of screenings is 1: these are others."""

Measured = dict[tuple[str, str], Samples]
"""Samples of the control, and of the flows alone, by scenario and check."""


def main() -> int:
    """Screen, and print what failed; gives 1 if anything did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--control", default="cubic")
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--runs", type=Path, default=Path("screens/runs"))
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--jobs", type=int)
    arguments = parser.parse_args()
    suite = suite_named(arguments.suite)
    settings = ScreenSettings(arguments.runs, jobs=arguments.jobs)
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.times + 1)
    verdicts: Counter[str] = Counter()
    screenings_with_failures = 0
    before: Measured | None = None
    for seed in seeds:
        now = _measured(suite, arguments.control, settings, seed)
        if before is not None:
            findings = list(_judged(suite, arguments.control, before, now))
            failures = [one for one in findings if one.verdict is Verdict.FAIL]
            verdicts.update(one.verdict.value for one in findings)
            screenings_with_failures += bool(failures)
            for one in failures:
                print(f"seeds {seed - 1} and {seed}: {name_in_words(one)}: {evidence_of(one)}")
            sys.stderr.write(f"seeds {seed - 1} and {seed}: {len(failures)} failures\n")
        before = now
    counts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items()))
    print(f"{arguments.control} against itself, suite {suite.name}; checks: {counts}")
    print(f"{screenings_with_failures} of {arguments.times} screenings have a failure")
    return int(screenings_with_failures > 0)


def _measured(suite: Suite, control: str, settings: ScreenSettings, seed: int) -> Measured:
    """Run a suite with a control in each place, and measure all of its checks."""
    engine = engine_named("sim")

    def run(scenario: Scenario) -> Results:
        place = run_folder(scenario, engine, settings)
        return run_plan(scenario.plan, engine, RunSettings(settings.jobs, place))

    found: Measured = {}
    for template in suite.templates:
        results = run(with_controls(template, control, control, suite.seeds, seed))
        has_harm = any(check.scale is Scale.HARM for check in template.checks)
        alone = run(without_control(template, control, suite.seeds, seed)) if has_harm else None
        for check in template.checks:
            values = [*measured(results, check.measure).values()]
            is_harm = check.scale is Scale.HARM
            base = [*measured(alone, check.measure).values()] if alone and is_harm else []
            found[template.name, check.name] = Samples(values, alone=base)
    return found


def _judged(suite: Suite, control: str, one: Measured, other: Measured) -> Iterator[Finding]:
    """Judge the control of one screening by the runs of another as those of the standard."""
    for template in suite.templates:
        for check in template.checks:
            ours, theirs = (each[template.name, check.name] for each in (one, other))
            samples = Samples(ours.control, theirs.control, ours.alone)
            yield finding_of(template, check, samples, "sim", control, {})


if __name__ == "__main__":
    sys.exit(main())
