"""One run at a time in a folder."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairwind.errors import FairwindError

LOCK = ".lock"
"""The file that a run holds; it stays behind empty, since removing it would open a gap."""

WITHOUT_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems without locks."""


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep every other run out of an existing folder while the block lasts.

    The system gives the lock back even if the process is killed.

    Raises
    ------
    FairwindError
        If another run, of this process or another, is using the folder.
    """
    with (out / LOCK).open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise _in_use(out, file.read().strip()) from error
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                raise
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _in_use(out: Path, holder: str) -> FairwindError:
    who = f"process {holder}" if holder.isdigit() else "another process"
    return FairwindError(
        f"{out} is in use: {who} is running into it",
        "wait until it has ended, or name another folder with --out",
    )
