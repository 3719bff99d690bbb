"""A real program behind an emulated path: `fairwind shell` as functions.

`path_scenario` makes the scenario of a path that is described in a few words, `run_shell` runs a
program behind the path of a scenario. Nothing is printed here.
"""

from __future__ import annotations

import os
import pwd
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwind import _core
from fairwind.engine.core import host_command
from fairwind.engine.engines import Engine, Kernel, frames_of
from fairwind.errors import FairwindError
from fairwind.folder.manifest import MANIFEST, Manifest
from fairwind.folder.store import CELLS, locked, new_cell
from fairwind.scenario import Plan, Scenario
from fairwind.scenario.settings import toml_document

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


def path_scenario(options: PathOptions, *, capture: bool = False) -> Scenario:
    """Make a scenario with this path between the hosts ``program`` and ``outside``.

    With ``capture``, it asks for captures at both of them.
    """
    back = replace(
        options,
        rate=options.reverse_rate or options.rate,
        queue=options.reverse_queue or options.queue,
        loss=options.reverse_loss or options.loss,
    )
    ends = (("from-program", "program", "outside"), ("to-program", "outside", "program"))
    named = [{"name": name, "from": start, "to": end} for name, start, end in ends]
    ways = zip(named, (options, back), strict=True)
    links = [way | {"both_ways": False} | _link(wanted) for way, wanted in ways]
    topology = {"hosts": ["program", "outside"], "mtu": options.mtu, "links": links}
    settings: dict[str, Any] = {
        "name": "shell",
        "duration": LONGEST,
        "topology": _given(topology),
        "flows": [way | {"workload": {"kind": "greedy"}} for way in named],
        "measure": {"intervals": ["1 s"]},
        "capture": {} if capture else None,
    }
    return Scenario("the path", toml_document(_given(settings)))


def _link(options: PathOptions) -> dict[str, Any]:
    """Describe one direction, by the options without ``reverse_``."""
    limited = None if options.rate is None else _queue(options.queue, options.rtt)
    settings = {"rate": options.rate, "queue": limited, "loss": options.loss}
    return _given({"delay": _half(options.rtt)} | settings)


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out what nobody has chosen."""
    return {key: value for key, value in settings.items() if value is not None}


def option_of(key: str, options: PathOptions) -> tuple[str, str] | None:
    """Find the option that a key of the path's scenario was written from, and its value."""
    if key == "topology.mtu":
        name = "mtu"
    elif (match := KEY_OF_LINK.match(key)) is None:
        return None
    else:
        way, name = match.groups()
        reverse = f"reverse_{name}"
        if name == "delay":
            name = "rtt"
        elif way == "1" and getattr(options, reverse) is not None:
            name = reverse
    return f"--{name.replace('_', '-')}", getattr(options, name)


def _half(rtt: str | None) -> str | None:
    """Halve a round-trip time; what is no time is left for the checker to complain about."""
    match = None if rtt is None else TIME.fullmatch(rtt)
    return rtt if match is None else f"{(Decimal(match[1]) / 2).normalize():f} {match[2]}"


def _queue(queue: str | None, rtt: str | None) -> str | dict[str, str]:
    """Give a queue as a scenario has it."""
    if queue is None:
        queue = GENEROUS if rtt is None else "1 bdp"
    if NAME_OR_TC.fullmatch(queue) is not None:
        return queue
    match = QUEUE.fullmatch(queue)
    discipline, limit = ("pfifo", queue) if match is None else match.groups()
    return {"discipline": discipline, "limit": _limit(limit, rtt)}


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


OTHER = "other"
"""The group of what is no connection."""


@contextmanager
def new_report(
    out: Path, plan: Plan, engine: Engine
) -> Iterator[tuple[Path, dict[str, pl.DataFrame]]]:
    """Make a run's folder of one cell and write into it what the block leaves.

    What a program does is never the same again, so no earlier run is taken up or replaced; and if
    the block fails, nothing of it is left.

    Yields
    ------
    tuple of Path and dict
        A folder for captures, and the tables, to be filled.

    Raises
    ------
    FairwindError
        If the folder is none, or holds something.
    """
    from fairwind.execution.folder import discard, make_folder, with_leading_columns
    from fairwind.execution.merge import merge_tables
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
                tables: dict[str, pl.DataFrame] = {}
                yield folder, tables
                if (fairness := tables.get("fairness")) is not None:
                    # What is no connection has no goodput, and two directions do not compete.
                    among = fairness["scope"].eq("group") & fairness["name"].ne(OTHER)
                    tables["fairness"] = fairness.filter(among)
                seed = plan.seed_of(0)
                write_tables(folder, with_leading_columns(tables, plan.axes, cell, 0, seed))
        except BaseException:  # whoever tries again shall find the folder free
            discard(out)
            raise
        merge_tables(out, plan)


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
class ShellSettings:
    """A program and what goes with it.

    Attributes
    ----------
    program : tuple of str
        The program and its arguments.
    user : struct_passwd, optional
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
    user: pwd.struct_passwd | None = None
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


def caller(environment: Mapping[str, str]) -> pwd.struct_passwd | None:
    """Find the user who called `sudo`, if somebody did: the program runs with no more rights."""
    number = environment.get("SUDO_UID", "")
    if os.geteuid() != 0 or not number.isdigit() or number == "0":
        return None
    try:
        return pwd.getpwuid(int(number))
    except KeyError:
        return None


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
        The program's flows are counted there while it runs, for `fairwind.engine.live.LiveWatch`.

    Raises
    ------
    FairwindError
        If the path cannot be set up, or broke down, or the folder cannot be written.
    """
    first = replace(plan, cells=plan.cells[:1], seeds=plan.seeds[:1])
    tell = opened or (lambda _: None)
    if settings.report is None:
        return _run(first, settings, tell, None, progress)
    with new_report(settings.report, first, settings.kernel or Kernel()) as (folder, tables):
        ended = _run(first, settings, tell, folder, progress)
        tables.update(ended.tables)
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
                user=None if user is None else (user.pw_name, user.pw_uid, user.pw_gid),
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
    name = user.pw_name
    names = (f"HOME={user.pw_dir}", f"USER={name}", f"LOGNAME={name}", f"SHELL={user.pw_shell}")
    return ["env", *names, *settings.program]


@contextmanager
def _signals_for_the_program() -> Iterator[None]:
    """Leave what a terminal sends to the program; a handler, as nothing ignored is inherited."""
    before = [(number, signal.signal(number, lambda *_: None)) for number in FOR_THE_PROGRAM]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
