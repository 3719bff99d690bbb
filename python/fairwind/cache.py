"""Where files lie that are made once for all runs of a user."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """Name the folder of such files, below ``XDG_CACHE_HOME`` or ``~/.cache``.

    Raises
    ------
    RuntimeError
        If neither is known.
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "fairwind"
