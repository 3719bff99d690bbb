"""The command `shell`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from fairwind import _core
from fairwind.cli.output import complain, log
from fairwind.cli.settings import Settings, by_option, settings_of
from fairwind.engine.core import ScenarioError
from fairwind.engine.engines import Kernel
from fairwind.engine.selection import engine_named
from fairwind.engine.virtual import VirtualKernel
from fairwind.errors import FairwindError
from fairwind.scenario import Plan, Scenario, load
from fairwind.shell import (
    Ended,
    PathOptions,
    Place,
    ShellSettings,
    caller,
    option_of,
    path_scenario,
    run_shell,
)

CONTEXT = {"allow_interspersed_args": False}
"""Arguments after the program's name belong to the program."""

NETWORK = ("path", "topology")
"""The tables of a scenario that describe its network."""

Program = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- PROGRAM [ARGUMENT...]]",
        help="Program behind the path. Default: your shell.",
        show_default=False,
    ),
]
Rate = Annotated[
    str | None, typer.Option(help="Rate in both directions, like 5mbit. Default: unlimited.")
]
RoundTrip = Annotated[
    str | None, typer.Option(help="Round-trip time without queues, like 100ms. Default: 0.")
]
Queue = Annotated[
    str | None,
    typer.Option(
        metavar="[DISCIPLINE] LIMIT",
        help="Queue of the bottleneck, like '64 kB', 'bfifo 2 bdp', fq_codel or 'tc: red "
        "limit 60k'. Default: one bandwidth-delay product; 1000 packets without --rtt.",
    ),
]
Loss = Annotated[
    str | None, typer.Option(help="Share of packets lost at random, like 1%. Default: none.")
]
Mtu = Annotated[str | None, typer.Option(help="Size of the largest IP packet. Default: 1500 B.")]
ReverseRate = Annotated[
    str | None, typer.Option(help="Rate towards the program, like 5mbit. Default: --rate.")
]
ReverseQueue = Annotated[
    str | None,
    typer.Option(metavar="[DISCIPLINE] LIMIT", help="Queue towards the program. Default: --queue."),
]
ReverseLoss = Annotated[
    str | None, typer.Option(help="Loss towards the program, like 1%. Default: --loss.")
]
ScenarioFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Use the path of a scenario: the program replaces the sender of the first "
        "group, the outside its receiver. Default: the path of the options above.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Measure the program's flows into this new folder, for `fairwind report`. "
        "Default: measure nothing.",
    ),
]
Capture = Annotated[
    bool,
    typer.Option("--capture", help="With --report: capture at the program (sender) and outside."),
]
Seed = Annotated[
    int, typer.Option(help="Seed of random losses, and of the kernel's random numbers with --on.")
]
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Show goodput, RTT, losses and queues below the program's output; without a "
        "terminal, a line a second.",
    ),
]
On = Annotated[
    str,
    typer.Option(
        metavar="KERNEL",
        help="kernel: the running one, in real time, as root; or a built kernel in virtual time "
        "(`fairwind kernel list`), without root.",
    ),
]
Outside = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COMMAND",
        help="With a built kernel: start this command of a shell at the other end of the path, a "
        "second before the program, such as 'iperf3 -s'. Repeatable.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Do not print the description of the path.")
]


def shell(
    program: Program = None,
    *,
    rate: Rate = None,
    rtt: RoundTrip = None,
    queue: Queue = None,
    loss: Loss = None,
    mtu: Mtu = None,
    reverse_rate: ReverseRate = None,
    reverse_queue: ReverseQueue = None,
    reverse_loss: ReverseLoss = None,
    scenario: ScenarioFile = None,
    settings: Settings = None,
    report: Report = None,
    capture: Capture = False,
    seed: Seed = 1,
    live: Live = False,
    on: On = "kernel",
    outside: Outside = None,
    quiet: Quiet = False,
) -> None:
    """Run a program behind an emulated path and exit with its exit code.

    The program runs in a network namespace, and all its packets pass the path. The machine outside
    has the address in $FAIRWIND_OUTSIDE. On the running kernel this needs root.
    """
    path = PathOptions(rate, rtt, queue, loss, mtu, reverse_rate, reverse_queue, reverse_loss)
    if capture and report is None:
        raise FairwindError("--capture needs a folder", "name one with --report")
    chosen = _scenario(scenario, path, settings or [], capture=capture)
    chosen = chosen.with_settings({"seed": str(seed)})
    kernel = _kernel(on, program, outside or [])
    if live and kernel is not None:
        raise FairwindError(
            f"--live shows no program on {on}, which runs faster than one can look",
            "leave --live out, or write its measures with --report",
        )
    words = tuple(program or [os.environ.get("SHELL", "/bin/sh")])
    user = caller(os.environ) if kernel is None else None
    wanted = ShellSettings(words, user, report, kernel, tuple(outside or []))
    plan = _checked(chosen, None if scenario else path)
    if kernel is not None and not quiet:
        # Its addresses are the business of the programs in it: nothing else can reach them.
        log(f"behind the path on {on}: the outside is $FAIRWIND_OUTSIDE")
    ended = _run(plan, wanted, None if quiet else _print_place, is_live=live)
    if ended.not_started is not None:
        complain(ended.not_started)
    if not quiet:
        _print_lateness(ended)
    if report is not None:
        log(f"tables: {report}")
    raise typer.Exit(ended.code)


def _run(
    plan: Plan, wanted: ShellSettings, opened: Callable[[Place], None] | None, *, is_live: bool
) -> Ended:
    if not is_live:
        return run_shell(plan, wanted, opened)
    from rich.console import Console

    from fairwind.cli.shell_live import shown_live

    progress = _core.Progress()
    with shown_live(Console(stderr=True), progress):
        return run_shell(plan, wanted, opened, progress)


def _kernel(on: str, program: list[str] | None, outside: list[str]) -> VirtualKernel | None:
    """Find the kernel in virtual time that is named, none for the running one."""
    match engine_named(on):
        case VirtualKernel() as kernel:
            if not program:
                raise FairwindError(
                    f"--on {on}: programs on a kernel in virtual time have no standard input, so "
                    "a shell would end at once",
                    "name a program behind --, such as -- sh -c 'ping -c 3 $FAIRWIND_OUTSIDE'",
                )
            return kernel
        case Kernel() if outside:
            raise FairwindError(
                "--outside starts a command on a kernel in virtual time",
                "start it yourself before the shell, or choose --on linux-VERSION",
            )
        case Kernel():
            return None
        case _:
            raise FairwindError(
                f"--on {on}: no real program runs there",
                "choose --on kernel, or a built kernel such as --on linux-6.12",
            )


def _scenario(
    file: Path | None, path: PathOptions, settings: list[str], *, capture: bool
) -> Scenario:
    if file is None:
        wanted = settings_of(settings)
        if of_path := [key for key in wanted if key.split(".")[0] in NETWORK]:
            raise FairwindError(
                f"--set {of_path[0]}: without --scenario, options describe the path",
                "use --rate, --rtt, --queue, --loss or --mtu, or name a file with --scenario",
            )
        return path_scenario(path, capture=capture).with_settings(wanted)
    if capture:
        raise FairwindError(
            "--capture does not apply to a scenario, which has its own [capture] table",
            "add this table to the scenario, or use --set capture={}",
        )
    if path != PathOptions():
        raise FairwindError(
            "options of the path do not apply with --scenario, which describes the path",
            "leave --scenario out, or change the scenario's with --set",
        )
    return load(file).with_settings(settings_of(settings))


def _checked(scenario: Scenario, path: PathOptions | None) -> Plan:
    """Check a scenario; what was written from options is complained about by their names."""
    try:
        return scenario.check()
    except ScenarioError as error:
        if path is None:
            raise
        raise by_option(error, lambda key: option_of(key, path)) from error


def _print_place(place: Place) -> None:
    outside, inside = " and ".join(place.outside), " and ".join(place.inside)
    log(f"behind the path: this machine is {outside}, the program is {inside}")
    for remark in place.remarks:
        log(f"note: {remark}")


def _print_lateness(ended: Ended) -> None:
    """Warn if packets came too late for the path to be what it claims."""
    late_rows = (row for row in ended.tables["lateness"].to_dicts() if row["exceeds_bound"])
    for row in late_rows:
        late, bound = row["lateness_p99_s"] * 1e3, row["bound_s"] * 1e3
        log(
            f"warning: 1 % of the packets were more than {late:.2g} ms late, above the bound of "
            f"{bound:.2g} ms: the machine was too busy for this path"
        )
