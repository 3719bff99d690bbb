"""Keys of a scenario that are set on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from fairwind.errors import FairwindError


def settings_of(texts: Sequence[str]) -> dict[str, str]:
    """Read what stands behind ``--set``: key and value of each.

    Raises
    ------
    FairwindError
        If one is not ``KEY=VALUE``.
    """
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise FairwindError(f"--set {text}: KEY=VALUE was expected", '--set path.rtt="20 ms"')
        pairs[key.strip()] = value.strip()
    return pairs
