"""Build of a kernel: unpacked, configured and compiled in the cache, and resumed there."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairwind.errors import FairwindError
from fairwind.kernels import edits, tools
from fairwind.kernels.catalogue import (
    CONFIGURATION,
    DESCRIPTION,
    PROGRAM,
    BuiltKernel,
    cache,
    folder_name,
)
from fairwind.kernels.configuration import (
    ESSENTIAL,
    USUAL_FREQUENCY,
    digest,
    fragments,
    merged,
    options,
    refused,
)
from fairwind.kernels.sources import Source, release_of, unpack

LOG = "build.log"
FREE_BYTES = 3_000_000_000
"""Space that source and objects take."""

START_UP = "arch/um/os-Linux/start_up.c"

TYPICAL_FILES = 1100
"""Files that are compiled, more or less."""


@dataclass(frozen=True)
class BuildState:
    """Progress of a build.

    Attributes
    ----------
    step : str
        What is being done.
    compiled : int
        Files compiled since the build began or was resumed.
    typical : int
        How many there are in most versions.
    elapsed_s : float
    """

    step: str
    compiled: int
    typical: int
    elapsed_s: float


def build(
    source: Source,
    *,
    frequency: int = USUAL_FREQUENCY,
    jobs: int | None = None,
    on_progress: Callable[[BuildState], None] | None = None,
) -> BuiltKernel:
    """Build a kernel, unless it is there; an interrupted build goes on where it stopped.

    Parameters
    ----------
    source : Source
    frequency : int
        Timer frequency in hertz, one of `FREQUENCIES`.
    jobs : int, optional
        Compilers at once; all processors if None.
    on_progress : callable, optional

    Raises
    ------
    FairwindError
        If programs or space are missing, another build is under way, or the compiler fails.
    """
    tools.require()
    began = time.monotonic()

    def tell(step: str, compiled: int = 0) -> None:
        if on_progress is not None:
            on_progress(BuildState(step, compiled, TYPICAL_FILES, time.monotonic() - began))

    files = fragments(frequency)
    mark = digest(files, edits.TEXT, source.origin, str(frequency))
    work = cache() / f".work-hz{frequency}-{mark}"
    with _alone(work):
        tree, objects = work / "source", work / "objects"
        if not tree.exists():
            _require_space(work)
            tell("unpacking the source")
            unpack(source, tree)
        release = release_of(tree)
        folder = cache() / folder_name(release, frequency, mark)
        if not (folder / DESCRIPTION).exists():
            edits.apply(tree)
            tell(f"configuring Linux {release}")
            lacking = _configure(tree, objects, files)
            tell(f"compiling Linux {release}")
            _compile(objects, work / LOG, jobs or os.cpu_count() or 1, tell)
            kernel = BuiltKernel(
                release=release,
                frequency=frequency,
                digest=mark,
                origin=source.origin,
                compiler=(tools.output("gcc", "--version").splitlines() or ["gcc"])[0],
                has_seccomp="init_seccomp" in (tree / START_UP).read_text(encoding="utf-8"),
                lacking=lacking,
                shows_clock=True,
            )
            _install(kernel, objects, work / LOG)
    shutil.rmtree(work, ignore_errors=True)
    return BuiltKernel.read(folder)


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """Hold the work folder for one build."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FairwindError(
                "another process is building this kernel", "wait until it has finished"
            ) from error
        yield


def _require_space(work: Path) -> None:
    free = shutil.disk_usage(work).free
    if free < FREE_BYTES:
        raise FairwindError(
            f"{work.parent} has {free / 1e9:.1f} GB free; a build takes {FREE_BYTES / 1e9:.0f} GB",
            "free some space, or set XDG_CACHE_HOME to a folder on another disk",
        )


def _configure(tree: Path, objects: Path, files: list[Path]) -> list[str]:
    """Write the configuration, and give the options that this version does not have."""
    objects.mkdir(exist_ok=True)
    wanted = objects / ".config"
    make = ["make", "-s", "-C", str(tree), f"O={objects}", "ARCH=um"]
    tools.run([*make, "defconfig"])
    wanted.write_text(merged(wanted.read_text(encoding="ascii"), files), encoding="ascii")
    tools.run([*make, "olddefconfig"])
    configuration = wanted.read_text(encoding="ascii")
    has = options(configuration)
    if missing := [name for name in ESSENTIAL if has.get(name) != "y"]:
        raise FairwindError(
            f"Linux {release_of(tree)} lacks time travel or options that experiments need: "
            f"{', '.join(missing)}",
            "build a newer version; 5.10 and later are known to work",
        )
    return refused(configuration, files)


def _compile(objects: Path, log: Path, jobs: int, tell: Callable[[str, int], None]) -> None:
    command = ["make", "-C", str(objects), "ARCH=um", f"-j{jobs}", PROGRAM]
    compiled, step = 0, "compiling"
    with log.open("a", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        try:
            for line in process.stdout or ():
                file.write(line)
                if line.startswith("  CC "):
                    compiled += 1
                    tell(step, compiled)
        except BaseException:
            process.terminate()  # make removes what is half written
            raise
        finally:
            code = process.wait()
    if code != 0:
        raise FairwindError(
            f"compiling the kernel failed: {_first_error(log)}",
            f"read the output in {log}, then run the same command again to continue",
        )


def _first_error(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if re.search(r"error[: ]|\*\*\*", line)]
    return (errors or lines or ["no output"])[0].strip()


def _install(kernel: BuiltKernel, objects: Path, log: Path) -> None:
    """Put the kernel into its folder, complete or not at all."""
    part = kernel.folder.with_name(f".part-{kernel.folder.name}")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    tools.run(["strip", "-o", str(part / PROGRAM), str(objects / PROGRAM)])
    shutil.copyfile(objects / ".config", part / CONFIGURATION)
    shutil.copyfile(log, part / LOG)
    kernel.write(part)
    shutil.rmtree(kernel.folder, ignore_errors=True)
    part.rename(kernel.folder)
