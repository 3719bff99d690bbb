"""Keys of a scenario that are set on the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence

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


def meant_for(texts: Sequence[str], settings: Mapping[str, str]) -> list[dict[str, str]]:
    """Give each of several scenarios the settings that are meant for it.

    A study may consist of several scenarios with different axes; what chooses among the values of
    an axis is meant for those that have it, and for all where none has it.

    Parameters
    ----------
    texts : sequence of str
        The scenarios, as TOML.
    settings : mapping of str to str
        Key and value of each, as from `settings_of`.
    """
    axes = [{f"sweep.{axis}" for axis in tomllib.loads(text).get("sweep", {})} for text in texts]
    some = frozenset[str]().union(*axes) - {"sweep.repeat"}
    return [
        {
            key: value
            for key, value in settings.items()
            if (plain := key.replace('"', "")) not in some or plain in own
        }
        for own in axes
    ]
