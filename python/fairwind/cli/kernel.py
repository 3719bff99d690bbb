"""The command `kernel`: list, build, remove."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from fairwind.cli.output import Format, OutputFormat, command_group, print_rows
from fairwind.errors import FairwindError, RunInterrupted
from fairwind.kernels.build import BuildState, build
from fairwind.kernels.catalogue import built_kernels, cache, remove
from fairwind.kernels.configuration import FREQUENCIES
from fairwind.kernels.sources import offered_versions, source_of_file, source_of_version

app = command_group("Build Linux kernels for virtual time, and list or remove them.")

LINES_EVERY = 250
"""Without a terminal, progress is a line for so many files."""


@app.command("list")
def list_(*, output: Format = OutputFormat.TABLE) -> None:
    """List built kernels; print which versions the machine's package sources have."""
    rows = [
        (
            kernel.name,
            kernel.release,
            kernel.frequency,
            "seccomp" if kernel.has_seccomp else "ptrace",
            "page" if kernel.shows_clock else "calls",
            kernel.origin,
            str(kernel.folder),
        )
        for kernel in built_kernels()
    ]
    columns = ["engine", "release", "hz", "system_calls", "clock", "origin", "folder"]
    print_rows(columns, rows, output)
    offered = ", ".join(offered_versions()) or "none (no Debian packages here)"
    sys.stderr.write(f"sources that can be built: {offered}\n")


@app.command("build")
def build_(
    version: Annotated[
        str | None,
        typer.Argument(metavar="[VERSION]", help="Version of Debian's linux-source, as 6.12."),
    ] = None,
    *,
    source: Annotated[
        Path | None, typer.Option(metavar="TREE|TARBALL", help="Build this source instead.")
    ] = None,
    hz: Annotated[
        int, typer.Option(help=f"Timer frequency: {', '.join(map(str, FREQUENCIES))}.")
    ] = 250,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Compilers at once. Default: one per processor.")
    ] = None,
) -> None:
    """Build a kernel into the user's cache; resume an interrupted build. Needs no root."""
    if (version is None) == (source is None):
        raise FairwindError(
            "give either a version or a source", "fairwind kernel build 6.12, or --source TREE"
        )
    if hz not in FREQUENCIES:
        raise FairwindError(
            f"--hz {hz}: kernels have {', '.join(map(str, FREQUENCIES))}",
            "distributions use 250 or 1000",
        )
    if source is not None:
        chosen = source_of_file(source)
    else:
        chosen = source_of_version(version or "", cache() / "sources")
    sys.stderr.write(f"source: {chosen.origin}\n")
    try:
        kernel = build(chosen, frequency=hz, jobs=jobs, on_progress=_shown())
    except KeyboardInterrupt as interrupt:
        raise RunInterrupted(
            "interrupted: the files compiled so far are kept",
            "run the same command again to continue",
        ) from interrupt
    if kernel.lacking:
        sys.stderr.write(f"this version has no {', '.join(kernel.lacking)}\n")
    sys.stderr.write(f"run scenarios on it with --on {kernel.name}\n")
    sys.stdout.write(f"{kernel.folder}\n")


@app.command("remove")
def remove_(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Name of a built kernel, such as linux-6.12, or of its folder."
        ),
    ],
) -> None:
    """Remove a built kernel from the cache."""
    full = name if name.startswith("linux-") else f"linux-{name}"
    sys.stdout.write(f"{remove(full)}\n")


def _shown() -> Callable[[BuildState], None]:
    is_terminal = sys.stderr.isatty()
    last = ""

    def show(state: BuildState) -> None:
        nonlocal last
        minutes, seconds = divmod(int(state.elapsed_s), 60)
        if is_terminal and state.compiled:
            count = f"{state.compiled} of about {state.typical} files, {minutes}:{seconds:02}"
            sys.stderr.write(f"\r  {count}\033[K")
        elif state.compiled == 0 and state.step != last:
            sys.stderr.write(f"{state.step}\n")
            last = state.step
        elif state.compiled % LINES_EVERY == 0 and state.compiled:
            sys.stderr.write(f"  {state.compiled} of about {state.typical} files\n")
        sys.stderr.flush()

    return show
