"""Tables of the verdicts on kernels, beside those in the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from screenings import PAGE, all_controls

from fairwind.screen.record import ScreenRecord, read_record
from fairwind.screen.suite import Suite
from fairwind.screen.verdicts import Finding, Verdict, worst
from fairwind.screen.words import estimate_in_words, limit_in_words, name_in_words

BEGIN = "<!-- Made by `python tools/kernel_screenings.py`; a change made here is lost. -->"
SUITE = "quick"

Pair = tuple[Finding, Finding]
"""What the simulator and a kernel found in the same check."""


def file_of(engine: str, control: str) -> Path:
    """Give the file of a control's verdicts."""
    return PAGE.with_suffix("") / engine / f"{control}.json"


def tables(suite: Suite) -> str:
    """Write the tables of all kernels that controls were screened on."""
    folders = sorted(one.name for one in PAGE.with_suffix("").iterdir() if one.name != SUITE)
    return "\n".join(tables_of(suite, engine) for engine in folders)


def tables_of(suite: Suite, engine: str) -> str:
    """Write the verdicts by area, and the checks in which they differ."""
    pairs = {
        control: pair_findings(
            read_record(file_of(SUITE, control)), read_record(file_of(engine, control))
        )
        for control in all_controls()
        if file_of(engine, control).exists()
    }
    title = "the running kernel" if engine == "kernel" else f"Linux {engine.removeprefix('linux-')}"
    compared = [pair for each in pairs.values() for pair in each if is_judged(pair)]
    equal = sum(simulated.verdict is there.verdict for simulated, there in compared)
    return "\n".join(
        [
            f"### In the simulator and on {title}",
            "",
            "One word where the verdicts are the same; an empty cell is a pass in both, `-` has "
            f"not been screened.{missing_in_words(suite, pairs)}",
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


def is_judged(pair: Pair) -> bool:
    """Return whether both engines could run a check."""
    return all(one.verdict is not Verdict.SKIPPED for one in pair)


def missing_in_words(suite: Suite, pairs: Mapping[str, list[Pair]]) -> str:
    """Write which scenarios no control was screened in."""
    known = {pair[0].scenario for each in pairs.values() for pair in each}
    missing = [one.name for one in suite.templates if one.name not in known]
    return f" Without {', '.join(missing)}." if missing else ""


def areas_in_words(suite: Suite, pairs: Mapping[str, list[Pair]]) -> Iterator[str]:
    """Write the verdicts of each area, over the checks that both engines have."""
    for area, title in suite.areas.items():
        found = [
            [pair for pair in each if pair[0].area == area and is_judged(pair)]
            for each in pairs.values()
        ]
        yield f"| {title} | {' | '.join(map(area_in_words, found))} |"


def area_in_words(found: list[Pair]) -> str:
    """Write both verdicts on an area."""
    if not found:
        return "-"
    verdicts = [worst([pair[engine].verdict for pair in found]) for engine in (0, 1)]
    if set(verdicts) == {Verdict.PASS}:
        return ""
    return " / ".join(dict.fromkeys(map(str, verdicts)))


def differences_in_words(pairs: Mapping[str, list[Pair]]) -> Iterator[str]:
    """Write the checks that have another verdict on the kernel."""
    for control, each in pairs.items():
        for simulated, there in each:
            if is_judged((simulated, there)) and simulated.verdict is not there.verdict:
                cells = name_in_words(there), number_of(simulated), number_of(there)
                yield f"| {control} | {' | '.join(cells)} | {limit_in_words(there)} |"


def number_of(finding: Finding) -> str:
    """Write verdict, estimate and interval."""
    return f"{finding.verdict}: {estimate_in_words(finding)}"
