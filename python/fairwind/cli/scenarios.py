"""Scenarios on the command line: the argument, and the named tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairwind.cli.completion import complete_scenario
from fairwind.cli.output import Format, OutputFormat, log, print_rows
from fairwind.cli.settings import settings_of
from fairwind.scenario import Scenario
from fairwind.scenario.named import find_scenario, named_test_names, named_tests

ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A TOML scenario file, or the name of a test (`fairwind tests`).",
        autocompletion=complete_scenario,
    ),
]


def chosen_scenario(word: str, settings: list[str] | None, seed: int | None) -> Scenario:
    """Read a scenario with the settings of the command line."""
    if word in named_test_names() and Path(word).exists():
        log(f"note: {word} is the named test; the file is ./{word}")
    pairs = settings_of(settings or ())
    if seed is not None:
        pairs["seed"] = str(seed)
    return find_scenario(word).with_settings(pairs)


def tests(*, output: Format = OutputFormat.TABLE) -> None:
    """List the named tests, which `fairwind run NAME` runs."""
    print_rows(("name", "description"), list(named_tests().items()), output)
