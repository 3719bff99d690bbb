"""Settings from Python, written as TOML."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from fairwind.errors import FairwindError

Setting: TypeAlias = str | bool | int | float | Sequence["Setting"] | Mapping[str, "Setting"]
"""What a key of a scenario can be set to."""

LARGEST = 2**63 - 1
"""The largest whole number of TOML."""


def toml_of(value: Setting, key: str) -> str:
    """Write the value of a key as TOML; a text stays as it is, for it may be TOML itself.

    Parameters
    ----------
    value : str, bool, int, float, list or dict
    key : str
        Named in errors.

    Raises
    ------
    FairwindError
        If TOML cannot say it.
    """
    return value if isinstance(value, str) else _toml(value, key)


def _toml(value: object, key: str) -> str:
    # Numbers of numpy are numbers as well.
    if not isinstance(value, (str, bool, int, float, Mapping, Sequence)) and hasattr(value, "item"):
        value = value.item()
    match value:
        case bool():
            return str(value).lower()
        case int() if abs(value) <= LARGEST:
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            entries = (
                f"{json.dumps(str(name), ensure_ascii=False)} = {_toml(inner, f'{key}.{name}')}"
                for name, inner in value.items()
            )
            return f"{{ {', '.join(entries)} }}"
        case Sequence() if not isinstance(value, (bytes, bytearray)):
            return f"[{', '.join(_toml(inner, key) for inner in value)}]"
    hint = "leave the key out for its default" if value is None else "give a text with its unit"
    raise FairwindError(
        f"{key} cannot be set to {value!r}: a setting is a text, a number, true or false, a list, "
        "or a dict",
        hint,
    )
