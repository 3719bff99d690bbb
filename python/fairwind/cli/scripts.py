"""The command `packetdrill`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairwind.cli.output import ExitCode, complain
from fairwind.errors import FairwindError
from fairwind.packetdrill import (
    FollowSettings,
    ScriptOutcome,
    UnreadableScriptError,
    Verdict,
    find_scripts,
    first_difference,
    follow,
)

# What the person writes in the way of the tool, `--name=value`, is for the scripts.
CONTEXT = {"ignore_unknown_options": True}
DEFAULT_PROFILE = FollowSettings.profile
SYSTEMS = (
    "System under test: sim (Fairwind's endpoint), kernel (needs root), or a built kernel "
    "(`fairwind kernel list`)."
)


def packetdrill(
    scripts: Annotated[
        list[str],
        typer.Argument(
            metavar="SCRIPT...",
            help="Script files, or folders with *.pkt files. `--NAME=VALUE` among them applies "
            "to every script.",
        ),
    ],
    *,
    on: Annotated[str, typer.Option(help=SYSTEMS)] = "sim",
    profile: Annotated[
        str | None,
        typer.Option(help=f"Profile of Fairwind's endpoint. Default: {DEFAULT_PROFILE}."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM",
            help="Show for each script where the system of --on first differs from this one.",
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Print all packets and calls up to a failing line."),
    ] = False,
    definitions: Annotated[
        list[str] | None,
        typer.Option("-D", "--define", metavar="NAME=VALUE", help="Define a name; repeatable."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Compare more than packetdrill does: echoed timestamps, how packets are divided, "
            "and packets of all connections.",
        ),
    ] = False,
    strict_echo: Annotated[
        bool, typer.Option("--strict-echo", help="Compare echoed timestamps (TSecr).")
    ] = False,
) -> None:
    """Run packetdrill scripts; print one line with the result of each."""
    if "sim" not in (on, against) and profile is not None:
        raise FairwindError(
            "--profile sets Fairwind's endpoint and does not apply to a kernel",
            "leave one of the two out",
        )
    words = [one.removeprefix("--").partition("=") for one in scripts if one.startswith("--")]
    settings = FollowSettings(
        on=on,
        profile=profile or DEFAULT_PROFILE,
        strict=strict,
        strict_echo=strict_echo,
        definitions=dict(_definition(one) for one in definitions or []),
        options={name: value if sign else None for name, sign, value in words},
    )
    found = find_scripts(Path(one) for one in scripts if not one.startswith("--"))
    _follow_all(found, settings, against, verbose=verbose)


def _follow_all(
    found: Sequence[Path], settings: FollowSettings, against: str | None, *, verbose: bool
) -> None:
    """Run all scripts and show what became of them; the exit code tells whether all passed."""
    if not found:
        raise FairwindError("no script is given", "fairwind packetdrill SCRIPT...")
    outcomes, unread, differing = [], 0, 0
    for script in found:
        try:
            outcomes.append(outcome := follow(script, settings))
            sys.stdout.write(f"{outcome}\n{outcome.dialogue if verbose else ''}")
            sys.stdout.flush()
            if against is not None:
                other = follow(script, replace(settings, on=against))
                differing += _compared(outcome, other, settings.on, against)
        except UnreadableScriptError as error:
            # One file among many must not hide what became of the others.
            unread += 1
            complain(error)
    sys.stdout.write(f"{_counted(outcomes)}\n")
    if unread:
        raise typer.Exit(ExitCode.BAD_INPUT)
    if against is not None:
        sys.stdout.write(
            f"{differing} of {len(outcomes)} differ between {settings.on} and {against}\n"
        )
    if differing or any(outcome.verdict is not Verdict.PASSED for outcome in outcomes):
        raise typer.Exit(ExitCode.FAILED_CELLS)


def _compared(one: ScriptOutcome, other: ScriptOutcome, on: str, against: str) -> bool:
    """Show where two systems first differ, with what each does there."""
    line = first_difference(one, other)
    if line is None:
        return False
    sys.stdout.write(f"  differs at line {line}\n")
    for system, outcome in ((on, one), (against, other)):
        broken = outcome.verdict is not Verdict.PASSED and (outcome.line or 0) == line
        sys.stdout.write(f"    {system}: {outcome.message if broken else 'passes'}\n")
    return True


def _definition(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise FairwindError(f"-D {text}: expected NAME=VALUE", "for example -D MSS=1460")
    return name, value


def _counted(outcomes: Sequence[ScriptOutcome]) -> str:
    counts = Counter(outcome.verdict for outcome in outcomes)
    text = f"{counts[Verdict.PASSED]} passed, {counts[Verdict.FAILED]} failed"
    unsupported = counts[Verdict.UNSUPPORTED]
    return f"{text}, {unsupported} unsupported" if unsupported else text
