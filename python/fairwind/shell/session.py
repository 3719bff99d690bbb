"""A program behind the path of a scenario."""

from __future__ import annotations

import os
import pwd
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from fairwind import _core
from fairwind.engine.host import host_command
from fairwind.errors import FairwindError
from fairwind.scenario.plan import Plan

FOR_THE_PROGRAM = (signal.SIGINT, signal.SIGQUIT)
"""What a terminal sends to everybody in its foreground, and only the program should heed."""


@dataclass(frozen=True)
class Place:
    """Where a program behind a path is.

    Attributes
    ----------
    outside : list of str
        Addresses at which the program reaches the outside, IPv4 first.
    inside : list of str
        Addresses at which the outside reaches the program.
    remarks : list of str
        What works less well than one would think, and why.
    """

    outside: list[str]
    inside: list[str]
    remarks: list[str]


@dataclass(frozen=True)
class User:
    """Whom a program runs as."""

    name: str
    user: int
    group: int
    home: str
    shell: str


@dataclass(frozen=True)
class ShellSettings:
    """A program and what goes with it.

    Attributes
    ----------
    program : tuple of str
        The program and its arguments.
    user : User, optional
        Whom it runs as; this process' user if not given.
    """

    program: tuple[str, ...]
    user: User | None = None


def caller(environment: Mapping[str, str]) -> User | None:
    """Find the user who called `sudo`, if somebody did: the program runs with no more rights."""
    number = environment.get("SUDO_UID", "")
    if os.geteuid() != 0 or not number.isdigit() or number == "0":
        return None
    try:
        entry = pwd.getpwuid(int(number))
    except KeyError:
        return None
    return User(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir, entry.pw_shell)


def run_shell(
    plan: Plan, settings: ShellSettings, opened: Callable[[Place], None] | None = None
) -> int:
    """Run a program behind the path of a plan's first cell until it ends, and give its exit code.

    As shells have it: 128 and the signal's number if one ended it, 126 or 127 if it could not be
    started. Call it on the main thread.

    Parameters
    ----------
    plan : Plan
        The program is at the first group's sender, the outside at its receiver.
    settings : ShellSettings
    opened : callable, optional
        Is told where the program is, before it begins.

    Raises
    ------
    FairwindError
        If the path cannot be set up, or broke down.
    """
    tell = opened or (lambda _: None)
    user = settings.user
    try:
        with _signals_for_the_program():
            code, reason = _core.run_shell(
                plan.cells[0].experiment_json,
                plan.seeds[0],
                _with_environment(settings),
                host_command("serve_shell"),
                lambda *told: tell(Place(*told)),
                None if user is None else (user.name, user.user, user.group),
            )
    except _core.KernelUnavailable as error:
        raise FairwindError(str(error)) from error
    if reason is not None:
        sys.stderr.write(f"error: {reason}\n")
    return code


def _with_environment(settings: ShellSettings) -> list[str]:
    """Put the variables that belong to another user before the program."""
    user = settings.user
    if user is None:
        return list(settings.program)
    names = {"HOME": user.home, "USER": user.name, "LOGNAME": user.name, "SHELL": user.shell}
    return ["env", *(f"{name}={value}" for name, value in names.items()), *settings.program]


@contextmanager
def _signals_for_the_program() -> Iterator[None]:
    """Leave what a terminal sends to the program; a handler, as nothing ignored is inherited."""
    before = [(number, signal.signal(number, lambda *_: None)) for number in FOR_THE_PROGRAM]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
