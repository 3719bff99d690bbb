"""The command `windows`: start, stop, show, clear."""

from __future__ import annotations

import sys
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import Annotated

import typer

from fairwind.cli.output import Format, OutputFormat, command_group, print_json, print_rows
from fairwind.cli.settings import read_option
from fairwind.quantities import parse_seconds
from fairwind.windows import RememberedWindow, WindowOptions, clear, show, start, stop

USUAL = WindowOptions()

app = command_group(
    "Let the running kernel cache congestion windows by peer address, for a control group; "
    "needs root."
)

Group = Annotated[
    Path,
    typer.Option("--cgroup", metavar="PATH", help="The folder of a control group of version 2."),
]


@app.command("start")
def start_(
    group: Group,
    *,
    lifetime: Annotated[str, typer.Option(help="Age at which a cached window expires.")] = "10 min",
    entries: Annotated[
        int, typer.Option(min=0, max=10_000_000, help="Largest number of cached peers.")
    ] = USUAL.entries,
    largest_window: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**31,
            help="Largest initial window from the cache, in packets.  [default: 100; with "
            "--exact no limit]",
            show_default=False,
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Use the largest cached window, as in BUCS-1998-001. Default: use half of it, "
            "and halve it on loss.",
        ),
    ] = False,
    outgoing: Annotated[
        bool,
        typer.Option("--outgoing", help="Also for connections opened here, not only by the peer."),
    ] = False,
    at_close: Annotated[
        bool,
        typer.Option(
            "--at-close",
            help="Cache the window when the application closes the connection, as in "
            "BUCS-1998-001. Default: when all data is acknowledged.",
        ),
    ] = False,
) -> None:
    """Start: new connections use the windows of ended ones, until `stop`."""
    usual = None if exact else USUAL.largest_window_packets
    largest = usual if largest_window is None else largest_window
    lifetime_s = read_option("--lifetime", lifetime, parse_seconds)
    options = WindowOptions(lifetime_s, entries, largest, exact, outgoing, at_close)
    name = start(group, options)
    if not (group / "cgroup.type").exists():  # which only the root group lacks
        sys.stderr.write(
            f"warning: {group} is the root of all control groups: this affects every program on "
            "this machine; create a group below it with mkdir for the programs to affect\n"
        )
    sys.stderr.write(
        "affected: connections with sockets that are created in the group from now on\n"
    )
    sys.stdout.write(f"{name}\n")


@app.command("stop")
def stop_(group: Group) -> None:
    """Stop, and delete the cached windows."""
    stop(group)


@app.command("show")
def show_(
    group: Group,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    output: Format = OutputFormat.TABLE,
) -> None:
    """Print the cached windows with their ages, youngest first.

    JSON also has the options and the event counters, which otherwise go to standard error.
    """
    found = show(group)
    if as_json or output is OutputFormat.JSON:
        print_json(asdict(found))
        return
    columns = [one.name for one in fields(RememberedWindow)]
    print_rows(columns, [astuple(one) for one in found.windows], output)
    counts = ", ".join(f"{number} {name}" for name, number in asdict(found.counts).items())
    sys.stderr.write(f"{len(found.windows)} of {found.options.entries} entries; {counts}\n")


@app.command("clear")
def clear_(group: Group) -> None:
    """Delete the cached windows and continue."""
    sys.stderr.write(f"deleted windows: {clear(group)}\n")
