"""A program behind the path of a scenario."""

from __future__ import annotations

import os
import pwd
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from fairwind import _core
from fairwind.engine.host import host_command
from fairwind.errors import FairwindError
from fairwind.scenario.plan import Plan
from fairwind.shell.report import new_report

FOR_THE_PROGRAM = (signal.SIGINT, signal.SIGQUIT)
"""Signals of the terminal that only the program handles."""


@dataclass(frozen=True)
class Place:
    """Location of a program behind a path.

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
    """User of a program."""

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
    report : Path, optional
        The folder of a run that its flows are measured into; nothing is measured if not given.
    """

    program: tuple[str, ...]
    user: User | None = None
    report: Path | None = None


@dataclass(frozen=True)
class Ended:
    """Exit status of a program.

    Attributes
    ----------
    code : int
        Its exit code, as shells have it: 128 and the signal's number if one ended it, 126 or 127
        if it could not be started.
    not_started : str, optional
        Why it could not be started.
    tables : dict of str to DataFrame
        The measures of its flows, if they were asked for, and ``lateness``.
    """

    code: int
    not_started: str | None
    tables: dict[str, pl.DataFrame]


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
) -> Ended:
    """Run a program behind the path of a plan's first cell until it ends.

    Call it on the main thread.

    Parameters
    ----------
    plan : Plan
        The program is at the first group's sender, the outside at its receiver. Of a grid the first
        cell is taken, of several seeds the first.
    settings : ShellSettings
    opened : callable, optional
        Is told where the program is, before it begins.

    Raises
    ------
    FairwindError
        If the path cannot be set up, or broke down, or the folder cannot be written.
    """
    first = replace(plan, cells=plan.cells[:1], seeds=plan.seeds[:1])
    tell = opened or (lambda _: None)
    if settings.report is None:
        return _run(first, settings, tell, None)
    with new_report(settings.report, first) as keep:
        ended = _run(first, settings, tell, keep.folder)
        keep.tables.update(ended.tables)
    return ended


def _run(
    plan: Plan, settings: ShellSettings, opened: Callable[[Place], None], folder: Path | None
) -> Ended:
    user = settings.user
    try:
        with _signals_for_the_program():
            code, reason, tables = _core.run_shell(
                plan.cells[0].experiment_json,
                plan.seeds[0],
                _with_environment(settings),
                host_command("serve_shell"),
                lambda *told: opened(Place(*told)),
                user=None if user is None else (user.name, user.user, user.group),
                folder=None if folder is None else str(folder),
            )
    except _core.KernelUnavailable as error:
        if os.geteuid() != 0:
            raise FairwindError(
                "fairwind shell requires root: it makes a network namespace and a TUN device",
                'run sudo "$(command -v fairwind)" shell ...; sudo alone may not find fairwind',
            ) from error
        raise FairwindError(str(error)) from error
    return Ended(code, reason, {name: pl.DataFrame(table) for name, table in tables.items()})


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
