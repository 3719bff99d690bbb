"""Folder of cached files, which all runs of a user share."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """Name the folder of such files, below ``XDG_CACHE_HOME`` or ``~/.cache``.

    Raises
    ------
    RuntimeError
        If there is no home folder.
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "fairwind"
