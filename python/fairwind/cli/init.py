"""The command `init`: a new scenario from four questions."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from fairwind.cli.output import log
from fairwind.cli.settings import by_option
from fairwind.engine.core import ScenarioError, scenario_schema
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.quantities import parse_seconds, time_in_words
from fairwind.scenario import Scenario
from fairwind.scenario.plan import Plan
from fairwind.scenario.template import (
    COMPARISONS,
    SCHEMA_FILE,
    WORKLOADS,
    Answers,
    InitChoice,
    scenario_text,
)

WorkloadName = Literal["thin", "greedy", "requests", "web", "transfers"]
ComparisonName = Literal["queue", "length", "congestion", "rtt", "none"]
"""What can be studied and compared: the keys of `WORKLOADS` and `COMPARISONS`."""

File = Annotated[Path, typer.Argument(metavar="[FILE]", help="The scenario to write.")]
Workload = Annotated[
    WorkloadName | None, typer.Option(help="What to study. Asked for if not given.")
]
Rate = Annotated[str | None, typer.Option(help="Rate of the path, like '10 Mbit/s'.")]
RoundTrip = Annotated[
    str | None, typer.Option(help="Round-trip time without queues, like '50 ms'.")
]
Comparison = Annotated[ComparisonName | None, typer.Option(help="What to compare.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite FILE without a question.")]

RTT_FACTORS = (0.5, 1.0, 2.0)
"""Round-trip times that are compared, in those of the path."""


def init(
    file: File = Path("scenario.toml"),
    *,
    workload: Workload = None,
    rate: Rate = None,
    rtt: RoundTrip = None,
    comparison: Comparison = None,
    force: Force = False,
) -> None:
    """Write a commented scenario from four answers, and the schema for editors beside it.

    On a terminal, missing options are asked for; elsewhere they have their defaults.
    """
    usual = Answers()
    answers = Answers(
        _chosen(workload, "What do you want to study?", WORKLOADS, usual.workload),
        rate or _asked("Rate of the path", usual.rate),
        rtt or _asked("Round-trip time of the path", usual.rtt),
        _chosen(comparison, "What do you want to compare?", COMPARISONS, usual.comparison),
    )
    _refuse_existing(file, is_approved=force)
    text = _checked_text(file, answers)
    _write(file, text)
    log(f"scenario: {file}")
    _write_schema(file.parent / SCHEMA_FILE, is_approved=force)
    log(f"next: fairwind check {file}, then fairwind run {file}")


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _chosen(given: str | None, question: str, answers: Mapping[str, InitChoice], usual: str) -> str:
    """Give an answer from a list: that of the option, of the person, or the usual one."""
    if given is not None:
        return given
    if not _is_terminal():
        return usual
    log(question)
    names = list(answers)
    for number, (name, answer) in enumerate(answers.items(), start=1):
        log(f"  {number}  {name:<11} {answer.description}")
    while True:
        word = str(typer.prompt("Number or name", default=usual, err=True)).strip()
        if word in answers:
            return word
        if word.isdecimal() and 1 <= int(word) <= len(names):
            return names[int(word) - 1]
        log(f"{word!r} is not in the list: choose 1 to {len(names)}, or a name")


def _asked(question: str, usual: str) -> str:
    if not _is_terminal():
        return usual
    return str(typer.prompt(question, default=usual, err=True)).strip()


def _refuse_existing(file: Path, *, is_approved: bool) -> None:
    """Ask before a file is overwritten; without a terminal, refuse."""
    if not file.exists() or is_approved:
        return
    hint = "name another file, or overwrite it with --force"
    if not _is_terminal():
        raise FairwindError(f"{file} exists already", hint)
    if not typer.confirm(f"{file} exists already. Overwrite it?", err=True):
        raise RunInterrupted(f"{file} is kept as it was", hint)


def _checked_text(file: Path, answers: Answers) -> str:
    """Write the scenario, and refuse what is no path; errors name the options."""
    plain = Answers(answers.workload, answers.rate, answers.rtt, "none")
    plan = _plan(scenario_text(file.stem, plain), answers)
    delays = [link["delay"] for link in plan.cells[0].experiment["network"]["links"][:2]]
    rtt_s = sum(parse_seconds(delay) for delay in delays)
    rtts = tuple(time_in_words(factor * rtt_s) for factor in RTT_FACTORS)
    text = scenario_text(file.stem, answers, rtts)
    _plan(text, answers)
    return text


def _plan(text: str, answers: Answers) -> Plan:
    try:
        return Scenario("the answers", text).check()
    except ScenarioError as error:
        options = {"path.rate": ("--rate", answers.rate), "path.rtt": ("--rtt", answers.rtt)}
        hint = "for example --rate '10 Mbit/s' --rtt '50 ms'"
        raise by_option(error, options.get, hint) from error


def _write_schema(file: Path, *, is_approved: bool) -> None:
    """Write the schema for editors, but keep another one, such as an older version's."""
    text = json.dumps(scenario_schema(), indent=2) + "\n"
    if file.exists() and not is_approved and file.read_text(encoding="utf-8") != text:
        log(f"schema for editors: {file} is another one and is kept; `fairwind schema` prints ours")
        return
    _write(file, text)
    log(f"schema for editors: {file}")


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FairwindError(
            f"cannot write {file}: {error.strerror}", "name a file in a folder of yours"
        ) from error
