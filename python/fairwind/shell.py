"""A real program behind an emulated path: `fairwind shell` as functions.

`path_scenario` writes the scenario of a path that is described in a few words, `run_shell` runs a
program behind the path of a scenario. Nothing is printed here.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from fairwind import _core
from fairwind.engine.core import ScenarioError, host_command
from fairwind.engine.engines import Engine, Kernel, frames_of
from fairwind.errors import FairwindError
from fairwind.folder.manifest import MANIFEST, Manifest
from fairwind.folder.store import CELLS, locked, new_cell
from fairwind.scenario.plan import Plan

if TYPE_CHECKING:
    import polars as pl

    from fairwind.engine.virtual import VirtualKernel

LONGEST = "2500 h"
"""How long a shell may last, a hundred days: a scenario names a duration, and windows of a second
are counted, of which a run has ten million at most."""

GENEROUS = "1000 packets"
"""A queue that is long enough not to matter, where nothing says how long it should be."""

TIME = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([a-zA-Zµ]+)\s*")
SHARE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(%?)\s*bdp\s*", re.IGNORECASE)
KEY_OF_LINK = re.compile(r"topology\.links\[([01])\]\.(delay|rate|queue|loss)")
QUEUE = re.compile(r"\s*([a-z_][a-z0-9_]*)\s+(.+)")
NAME_OR_TC = re.compile(r"\s*(?:tc[:\s].*|[a-z_][a-z0-9_]*\s*)", re.DOTALL)


@dataclass(frozen=True)
class PathOptions:
    """A path between a program and the outside.

    What is said without ``reverse_`` holds in both directions, unless the other says something else
    of the way to the program. Quantities are texts as in scenarios.

    Attributes
    ----------
    rate : str, optional
        Rate from the program; unlimited if not given.
    rtt : str, optional
        Round-trip time without queues; none if not given.
    queue : str, optional
        Limit of the queue before a rate, with the discipline before it if it is not pfifo: ``"64
        kB"``, ``"bfifo 1 bdp"``; or the name of a discipline, or the syntax of tc. One
        bandwidth-delay product if there is an RTT.
    loss : str, optional
        Share of packets lost at random.
    mtu : str, optional
        Largest IP packet.
    reverse_rate, reverse_queue, reverse_loss : str, optional
        The same of the way to the program.
    """

    rate: str | None = None
    rtt: str | None = None
    queue: str | None = None
    loss: str | None = None
    mtu: str | None = None
    reverse_rate: str | None = None
    reverse_queue: str | None = None
    reverse_loss: str | None = None


def path_scenario(options: PathOptions, *, capture: bool = False) -> str:
    """Write a scenario's TOML text with this path between the hosts ``program`` and ``outside``.

    With ``capture``, it asks for captures at both of them.
    """
    there, back = _halves(options.rtt)
    lines = ['name = "shell"', f"duration = {_text(LONGEST)}", "[topology]"]
    lines.append('hosts = ["program", "outside"]')
    if options.mtu is not None:
        lines.append(f"mtu = {_text(options.mtu)}")
    ways = [
        ("from-program", ("program", "outside"), there, options.rate, options.queue, options.loss),
        (
            "to-program",
            ("outside", "program"),
            back,
            options.reverse_rate or options.rate,
            options.reverse_queue or options.queue,
            options.reverse_loss or options.loss,
        ),
    ]
    for name, (source, destination), delay, rate, queue, loss in ways:
        lines += ["[[topology.links]]", f'name = "{name}"', "both_ways = false"]
        lines += [f'from = "{source}"', f'to = "{destination}"']
        if delay is not None:
            lines.append(f"delay = {_text(delay)}")
        if rate is not None:
            lines += [f"rate = {_text(rate)}", f"queue = {_queue(queue, options.rtt)}"]
        if loss is not None:
            lines.append(f"loss = {_text(loss)}")
    for name, (source, destination), *_ in ways:
        lines += ["[[flows]]", f'name = "{name}"', f'from = "{source}"', f'to = "{destination}"']
        lines.append('workload = { kind = "greedy" }')
    lines += ["[measure]", 'intervals = ["1 s"]']
    if capture:
        lines.append("[capture]")
    return "\n".join(lines) + "\n"


def problems(error: ScenarioError, options: PathOptions) -> list[str]:
    """Translate errors of a path's scenario into the options that it was made from.

    The user has never seen the scenario. Errors of both directions are reported once.
    """
    parts = []
    for found in error.errors:
        option = _option(found["key"], options)
        value = found["value"] if option is None else getattr(options, option)
        name = found["key"] if option is None else f"--{option.replace('_', '-')}"
        line = f"{name} {value}: {found['rule']}"
        parts.append(line if found["hint"] is None else f"{line}\n  hint: {found['hint']}")
    return list(dict.fromkeys(parts))


def _option(key: str, options: PathOptions) -> str | None:
    """Find the option that a key of the scenario was written from."""
    if key == "topology.mtu":
        return "mtu"
    match = KEY_OF_LINK.match(key)
    if match is None:
        return None
    way, name = match.groups()
    if name == "delay":
        return "rtt"
    reverse = f"reverse_{name}"
    return reverse if way == "1" and getattr(options, reverse) is not None else name


def _halves(rtt: str | None) -> tuple[str | None, str | None]:
    """Divide a round-trip time; what is no time is left for the checker to complain about."""
    if rtt is None:
        return None, None
    match = TIME.fullmatch(rtt)
    if match is None:
        return rtt, rtt
    half = f"{(Decimal(match[1]) / 2).normalize():f} {match[2]}"
    return half, half


def _queue(queue: str | None, rtt: str | None) -> str:
    """Write a queue as TOML."""
    if queue is None:
        queue = GENEROUS if rtt is None else "1 bdp"
    if NAME_OR_TC.fullmatch(queue) is not None:
        return _text(queue)
    match = QUEUE.fullmatch(queue)
    discipline, limit = ("pfifo", queue) if match is None else match.groups()
    return f"{{ discipline = {_text(discipline)}, limit = {_text(_limit(limit, rtt))} }}"


def _limit(limit: str, rtt: str | None) -> str:
    """Write a share of the bandwidth-delay product as what the link sends in that share of the RTT.

    Links of a topology have no RTT of their own.
    """
    share = SHARE.fullmatch(limit)
    if share is None:
        return limit
    if rtt is None:
        raise FairwindError(
            f"the queue of {limit.strip()} needs a round-trip time",
            "give --rtt, or a limit in packets",
        )
    time = TIME.fullmatch(rtt)
    if time is None:
        return GENEROUS  # the checker complains about the time, and that is enough
    part = Decimal(share[1]) / (100 if share[2] else 1)
    return f"{(Decimal(time[1]) * part).normalize():f} {time[2]}"


def _text(value: str) -> str:
    """Quote a text for TOML; its basic strings are those of JSON."""
    return json.dumps(value)


OTHER = "other"
"""The group of what is no connection."""


@dataclass
class Keep:
    """Record of a program in a run's folder.

    Attributes
    ----------
    folder : Path
        Captures go there.
    tables : dict of str to DataFrame
        To be filled until the program has ended.
    """

    folder: Path
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)


@contextmanager
def new_report(out: Path, plan: Plan, engine: Engine) -> Iterator[Keep]:
    """Make a run's folder of one cell and write into it what the block leaves.

    What a program does is never the same again, so no earlier run is taken up or replaced; and if
    the block fails, nothing of it is left.

    Raises
    ------
    FairwindError
        If the folder is none, or holds something.
    """
    from fairwind.execution.folder import (
        discard,
        make_folder,
        merge_tables,
        with_leading_columns,
    )
    from fairwind.folder.cell_tables import write_tables

    make_folder(out)
    with locked(out):
        if (out / MANIFEST).exists():
            raise FairwindError(f"{out} holds a run already", "name another folder with --report")
        manifest = Manifest.of_run(
            plan,
            engine.name,
            engine.versions(),
            columns=engine.columns(),
            facts=engine.facts(),
            study=None,
        )
        manifest.write(out)
        cell = plan.cells[0]
        try:
            (out / CELLS).mkdir()
            with new_cell(out, cell.index, 0) as folder:
                keep = Keep(folder)
                yield keep
                tables = _among_connections(keep.tables)
                write_tables(folder, with_leading_columns(tables, plan, cell, 0))
        except BaseException:  # whoever tries again shall find the folder free
            discard(out)
            raise
        merge_tables(out, plan)


def _among_connections(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Leave the fairness among the connections of one direction.

    What is no connection has no goodput, and the two directions of a path do not compete.
    """
    if "fairness" not in tables:
        return tables
    fairness = tables["fairness"]
    among = fairness["scope"].eq("group") & fairness["name"].ne(OTHER)
    return tables | {"fairness": fairness.filter(among)}


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
    kernel : VirtualKernel, optional
        The kernel in virtual time that it runs on; the running kernel if not given. Its
        programs read nothing from standard input.
    outside : tuple of str
        Commands of a shell that start at the other end of the path, a second before the program;
        only on a kernel in virtual time, whose outside is empty otherwise.
    """

    program: tuple[str, ...]
    user: User | None = None
    report: Path | None = None
    kernel: VirtualKernel | None = None
    outside: tuple[str, ...] = ()


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


def new_progress() -> _core.Progress:
    """Make the object through which a program's flows are watched while it runs.

    `fairwind.engine.live.LiveWatch` makes figures of it.
    """
    return _core.Progress()


def run_shell(
    plan: Plan,
    settings: ShellSettings,
    opened: Callable[[Place], None] | None = None,
    progress: _core.Progress | None = None,
) -> Ended:
    """Run a program behind the path of a plan's first cell until it ends.

    Call it on the main thread.

    Parameters
    ----------
    plan : Plan
        The program is at the first group's sender, the outside at its receiver. Of a grid the first
        cell is taken, of several seeds the first.
    opened : callable, optional
        Called with the program's place before it begins.
    progress : Progress, optional
        Made by `new_progress`: the program's flows are counted there while it runs.

    Raises
    ------
    FairwindError
        If the path cannot be set up, or broke down, or the folder cannot be written.
    """
    first = replace(plan, cells=plan.cells[:1], seeds=plan.seeds[:1])
    tell = opened or (lambda _: None)
    if settings.report is None:
        return _run(first, settings, tell, None, progress)
    with new_report(settings.report, first, settings.kernel or Kernel()) as keep:
        ended = _run(first, settings, tell, keep.folder, progress)
        keep.tables.update(ended.tables)
    return ended


def _run(
    plan: Plan,
    settings: ShellSettings,
    opened: Callable[[Place], None],
    folder: Path | None,
    progress: _core.Progress | None,
) -> Ended:
    if settings.kernel is not None:
        code, reason, tables = settings.kernel.run_program(
            plan.cells[0], plan.seeds[0], settings.program, settings.outside, folder
        )
        return Ended(code, reason, frames_of(tables))
    user = settings.user
    try:
        with _signals_for_the_program():
            code, reason, tables = _core.run_shell(
                plan.cells[0].experiment_json,
                plan.seeds[0],
                _with_environment(settings),
                host_command("serve_shell"),
                lambda *place: opened(Place(*place)),
                user=None if user is None else (user.name, user.user, user.group),
                folder=None if folder is None else str(folder),
                progress=progress,
            )
    except _core.KernelUnavailable as error:
        if os.geteuid() != 0:
            raise FairwindError(
                "fairwind shell requires root: it creates a network namespace and a TUN device",
                'run sudo "$(command -v fairwind)" shell ...; sudo alone may not find fairwind',
            ) from error
        raise FairwindError(str(error)) from error
    return Ended(code, reason, frames_of(tables))


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
