"""Built kernels on their way to another machine, which need not build them again."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fairwind.kernels.catalogue import (
    CONFIGURATION,
    DESCRIPTION,
    PROGRAM,
    BuiltKernel,
    cache,
)

UNFINISHED = ".unfinished-"
"""What the name of a kernel's folder begins with while it is written."""


@dataclass(frozen=True)
class PackedKernel:
    """A built kernel as bytes.

    Attributes
    ----------
    folder : str
        The name of its folder in the cache.
    files : mapping of str to bytes
        Its files, compressed.
    sha256 : str
        Digest of the program.
    """

    folder: str
    files: Mapping[str, bytes]
    sha256: str

    @property
    def size(self) -> int:
        """Bytes on the way."""
        return sum(map(len, self.files.values()))


@lru_cache(maxsize=8)
def program_digest(program: Path) -> str:
    """Give the SHA-256 of a kernel: with another compiler, the same sources give another one."""
    return hashlib.sha256(program.read_bytes()).hexdigest()


def pack_kernel(kernel: BuiltKernel) -> PackedKernel:
    """Pack what a run needs of a kernel.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    names = (PROGRAM, DESCRIPTION, CONFIGURATION)
    files = {name: kernel.folder / name for name in names if (kernel.folder / name).exists()}
    packed = {name: zlib.compress(file.read_bytes()) for name, file in files.items()}
    return PackedKernel(kernel.folder.name, packed, program_digest(kernel.program))


def install_kernel(packed: PackedKernel) -> None:
    """Put a kernel into this user's cache; it is there whole or not at all.

    Several processes may do so at once. One that is there already is left alone.

    Raises
    ------
    ValueError
        If it was damaged on the way.
    OSError
        If it cannot be written.
    """
    folder = cache() / Path(packed.folder).name
    if (folder / PROGRAM).exists():
        return
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=cache()) as place:
        made = Path(place) / "kernel"
        made.mkdir()
        for name, content in packed.files.items():
            (made / Path(name).name).write_bytes(_unpacked(content))
        if hashlib.sha256((made / PROGRAM).read_bytes()).hexdigest() != packed.sha256:
            raise ValueError(f"the kernel {packed.folder} was damaged on the way")
        (made / PROGRAM).chmod(0o755)
        try:
            made.rename(folder)
        except OSError:
            if (folder / PROGRAM).exists():
                return  # another process was first
            shutil.rmtree(folder)  # what was left of an earlier one
            made.rename(folder)


def _unpacked(content: bytes) -> bytes:
    try:
        return zlib.decompress(content)
    except zlib.error as error:
        raise ValueError(f"a kernel was damaged on the way: {error}") from error
