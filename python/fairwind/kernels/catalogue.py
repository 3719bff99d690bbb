"""Built kernels, in the user's cache."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from fairwind.cache import user_cache
from fairwind.errors import FairwindError
from fairwind.kernels.configuration import USUAL_FREQUENCY

PREFIX = "linux-"
"""What the names of engines with a built kernel begin with."""

PROGRAM = "linux"
DESCRIPTION = "kernel.json"
CONFIGURATION = "config"
WORKER = Path(__file__).parent / "worker" / "fairwind-worker"
"""The first process of every instance."""


class MissingKernelError(FairwindError):
    """A kernel is not built on this machine."""


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel that was built for virtual time.

    Attributes
    ----------
    release : str
        Such as ``6.12.117``.
    frequency : int
        Timer frequency in hertz.
    digest : str
        Of configuration, edits and origin.
    origin : str
        Where its source comes from.
    compiler : str
    has_seccomp : bool
        Whether its processes are entered by seccomp, several times as fast as by ptrace.
    lacking : list of str
        Options of the configuration that this version does not have.
    shows_clock : bool
        Whether its clock is a page in memory; kernels built earlier are asked by system calls.
    """

    release: str
    frequency: int
    digest: str
    origin: str
    compiler: str
    has_seccomp: bool
    lacking: list[str]
    shows_clock: bool = False

    @property
    def folder(self) -> Path:
        """Where it is."""
        return cache() / folder_name(self.release, self.frequency, self.digest)

    @property
    def program(self) -> Path:
        """The kernel itself."""
        return self.folder / PROGRAM

    @property
    def name(self) -> str:
        """The name of its engine, such as ``linux-6.12`` or ``linux-6.12-hz1000``."""
        usual = self.frequency == USUAL_FREQUENCY
        return f"{PREFIX}{self.version}{'' if usual else f'-hz{self.frequency}'}"

    @property
    def version(self) -> str:
        """The first two numbers of the release."""
        return ".".join(self.release.split(".")[:2])

    @classmethod
    def read(cls, folder: Path) -> BuiltKernel:
        """Read the description beside a kernel."""
        return cls(**json.loads((folder / DESCRIPTION).read_text(encoding="utf-8")))

    def write(self, folder: Path) -> None:
        """Store the description beside the kernel."""
        text = json.dumps(asdict(self), indent=2) + "\n"
        (folder / DESCRIPTION).write_text(text, encoding="utf-8")


def cache() -> Path:
    """Folder of built kernels, in the user's cache."""
    return user_cache() / "kernels"


def folder_name(release: str, frequency: int, digest: str) -> str:
    """Name of a built kernel's folder."""
    return f"{PREFIX}{release}-hz{frequency}-{digest}"


def is_virtual(engine: str) -> bool:
    """Return whether an engine's name is that of a kernel in virtual time."""
    return engine.startswith(PREFIX)


def built_kernels() -> list[BuiltKernel]:
    """List the built kernels, the newest release first, and the latest build of each first."""
    found = []
    for file in cache().glob(f"{PREFIX}*/{DESCRIPTION}"):
        try:
            kernel = BuiltKernel.read(file.parent)
        except (OSError, ValueError, TypeError):
            continue  # of another version of Fairwind, or damaged: it can be built again
        if kernel.program.exists():
            numbers = tuple(map(int, re.findall(r"\d+", kernel.release)))
            found.append((numbers, file.stat().st_mtime, kernel))
    found.sort(key=lambda one: one[:2], reverse=True)
    return [kernel for *_, kernel in found]


def kernel_named(name: str) -> BuiltKernel:
    """Find a built kernel.

    Parameters
    ----------
    name : str
        ``linux-6.12``, ``linux-6.12.117``, either with ``-hz1000`` behind it, or a folder's name.

    Raises
    ------
    MissingKernelError
        If it is not built.
    """
    for kernel in built_kernels():
        stems = (f"{PREFIX}{kernel.version}", f"{PREFIX}{kernel.release}")
        names = {f"{stem}-hz{kernel.frequency}" for stem in stems} | {kernel.folder.name}
        if kernel.frequency == USUAL_FREQUENCY:
            names |= set(stems)
        if name in names:
            return kernel
    there = ", ".join(sorted({kernel.name for kernel in built_kernels()})) or "none"
    version = re.sub(r"-hz\d+$", "", name.removeprefix(PREFIX))
    raise MissingKernelError(
        f"the kernel {name} is not built; built are: {there}",
        f"fairwind kernel build {version or 'VERSION'}",
    )


def remove(name: str) -> Path:
    """Remove a built kernel, and give its folder."""
    folder = kernel_named(name).folder
    shutil.rmtree(folder)
    return folder


def worker() -> Path:
    """Give the program that is the first process of every instance.

    Raises
    ------
    FairwindError
        If this installation has none.
    """
    if not WORKER.exists():
        raise FairwindError(
            f"this installation lacks {WORKER.name}, the first process of a kernel in virtual time",
            "build it in the repository with `make build`",
        )
    return WORKER
