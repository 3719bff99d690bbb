"""The command `congestion`: list, build, show, load, unload."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fairwind.cli.output import Format, OutputFormat, command_group, print_rows
from fairwind.congestion.sources import (
    available,
    built_in,
    built_in_named,
    load,
    loaded,
    own_controls,
    own_named,
    unload,
)
from fairwind.congestion.sources import build as build_control
from fairwind.errors import FairwindError

ENDPOINTS = {
    "reno": "Reno of the endpoint; the kernel's own on the kernel.",
    "bic": "BIC of the endpoint; the kernel's own, if its module is there, on the kernel.",
    "cubic": "CUBIC of the endpoint; the kernel's own on the kernel.",
    "bbr": "BBR (version 1) of the endpoint; the kernel's, if its module is there, on the kernel.",
}

app = command_group("List, compile and load congestion controls in C.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name in scenarios.")]


@app.command("list")
def list_(*, output: Format = OutputFormat.TABLE) -> None:
    """List congestion controls, and those that the running kernel has loaded.

    The column `loaded` is empty for controls that no kernel can have, and without Linux.
    """
    has = available()
    controls: list[tuple[str, str, str | None, str]] = [
        *((name, "endpoint", name, text) for name, text in ENDPOINTS.items()),
        ("bbr3", "endpoint", None, "BBR version 3 of the endpoint."),
        *((one.name, "C", one.kernel_name, one.description) for one in built_in()),
        *((one.name, "own", one.kernel_name, one.origin) for one in own_controls()),
    ]
    rows = [
        (name, kind, known_as, None if None in (has, known_as) else known_as in (has or ()), what)
        for name, kind, known_as, what in controls
    ]
    known = {row[2] for row in rows}
    rows += [("", "others'", name, True, "") for name in sorted(set(loaded()) - known)]
    print_rows(["name", "kind", "kernel_name", "loaded", "what"], rows, output)


@app.command()
def build(
    source: Annotated[Path, typer.Argument(metavar="FILE.c", help="The C source.")],
    *,
    name: Annotated[
        str | None, typer.Option(help="Name in scenarios. Default: the file name without .c.")
    ] = None,
    no_object: Annotated[
        bool, typer.Option("--no-object", help="Compile for the simulator only; needs no clang.")
    ] = False,
    take_name: Annotated[
        bool,
        typer.Option(
            "--take-name",
            help="Allow a `.name` that another control of Linux or Fairwind uses.",
        ),
    ] = False,
) -> None:
    """Compile a C source for the simulator and for kernels, and register it for scenarios."""
    former = {one.name: one.source for one in own_controls()}
    own, warned = build_control(source, name, with_object=not no_object, takes_name=take_name)
    for text in warned:
        sys.stderr.write(f"{text}\n")
    if former.get(own.name, own.source) != own.source:
        sys.stderr.write(f"{source} replaces another source that was built as {own.name}\n")
    sys.stderr.write(f'use it in a scenario: congestion = "{own.name}"\n')
    sys.stdout.write(f"{own.folder}\n")


@app.command()
def show(name: Name) -> None:
    """Print the C source of a congestion control."""
    one = built_in_named(name) or own_named(name)
    if one is None:
        raise FairwindError(
            f"there is no congestion control {name!r} in C",
            "list them with `fairwind congestion list`",
        )
    sys.stdout.write(one.source)


@app.command("load")
def load_(
    what: Annotated[
        str, typer.Argument(metavar="NAME|FILE.c", help="Name of a known control, or a C source.")
    ],
) -> None:
    """Load a congestion control into the running kernel; needs root."""
    kernel_name = load(what)
    sys.stderr.write("programs choose it by TCP_CONGESTION, all by default by\n")
    sys.stderr.write(f"  sysctl net.ipv4.tcp_congestion_control={kernel_name}\n")
    sys.stdout.write(f"{kernel_name}\n")


@app.command("unload")
def unload_(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name in scenarios or in the kernel.")
    ],
) -> None:
    """Remove a congestion control that was loaded from the running kernel; needs root."""
    sys.stdout.write(f"{unload(name)}\n")
