"""The command `shell`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fairwind.errors import FairwindError
from fairwind.scenario import Scenario, load
from fairwind.shell import (
    PathOptions,
    Place,
    ShellSettings,
    caller,
    path_scenario,
    run_shell,
)

CONTEXT = {"allow_interspersed_args": False}
"""What stands behind the program's name is the program's."""

Text = str | None


def shell(
    program: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- PROGRAM [ARGUMENT...]]",
            help="What runs behind the path; your shell if nothing is named.",
            show_default=False,
        ),
    ] = None,
    *,
    rate: Annotated[
        Text, typer.Option(help="Rate in both directions, like 5mbit; unlimited if not given.")
    ] = None,
    rtt: Annotated[Text, typer.Option(help="Round-trip time without queues, like 100ms.")] = None,
    queue: Annotated[
        Text,
        typer.Option(
            metavar="[DISCIPLINE] LIMIT",
            help="Queue before the rate, like '64 kB' or 'bfifo 2 bdp'; one bandwidth-delay "
            "product if not given.",
        ),
    ] = None,
    loss: Annotated[Text, typer.Option(help="Share of packets lost at random, like 1%.")] = None,
    mtu: Annotated[Text, typer.Option(help="Largest IP packet; 1500 B if not given.")] = None,
    reverse_rate: Annotated[Text, typer.Option(help="Another rate to the program.")] = None,
    reverse_queue: Annotated[
        Text,
        typer.Option(metavar="[DISCIPLINE] LIMIT", help="Another queue to the program."),
    ] = None,
    reverse_loss: Annotated[Text, typer.Option(help="Another loss to the program.")] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take the path of a scenario instead: the program in the place of the first "
            "group's sender, the outside in that of its receiver.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a key of the scenario; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(help="What random losses are drawn from.")] = 1,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not tell where the program is.")
    ] = False,
) -> None:
    """Run a program behind an emulated path (needs root); its exit code becomes ours.

    The program lives in a network namespace of its own, and everything it sends and receives
    passes the path. It finds the machine outside at the address in $FAIRWIND_OUTSIDE.
    """
    path = PathOptions(rate, rtt, queue, loss, mtu, reverse_rate, reverse_queue, reverse_loss)
    chosen = _scenario(scenario, path, settings or []).with_settings({"seed": str(seed)})
    words = tuple(program or [os.environ.get("SHELL", "/bin/sh")])
    told = None if quiet else _tell
    code = run_shell(chosen.check(), ShellSettings(words, caller(os.environ)), told)
    raise typer.Exit(code)


def _scenario(file: Path | None, path: PathOptions, settings: list[str]) -> Scenario:
    if file is None:
        return _changed(Scenario("the path", path_scenario(path)), settings)
    if path != PathOptions():
        raise FairwindError(
            "a scenario describes its path itself",
            "leave --scenario out, or change the scenario's with --set",
        )
    return _changed(load(file), settings)


def _changed(scenario: Scenario, settings: list[str]) -> Scenario:
    pairs = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise FairwindError(
                f"--set {setting}: KEY=VALUE was expected", '--set path.rtt="20 ms"'
            )
        pairs[key.strip()] = value.strip()
    return scenario.with_settings(pairs)


def _tell(place: Place) -> None:
    outside, inside = " and ".join(place.outside), " and ".join(place.inside)
    sys.stderr.write(f"behind the path: this machine is {outside}, the program is {inside}\n")
    for remark in place.remarks:
        sys.stderr.write(f"note: {remark}\n")
