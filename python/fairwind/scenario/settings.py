"""Settings of scenarios from Python values, as TOML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, TypeAlias

from fairwind.engine.core import scenario_schema
from fairwind.errors import FairwindError
from fairwind.units import Quantity

Setting: TypeAlias = (
    str
    | bool
    | int
    | float
    | Quantity
    | PathLike[str]
    | Sequence["Setting"]
    | Mapping[str, "Setting"]
)
"""What a key of a scenario can be set to."""

LARGEST = 2**63 - 1
"""The largest whole number of TOML."""

SWEEP = "sweep"
"""The table whose entries are axes: their values are lists or tables of labels."""


def flattened(settings: Mapping[str, Any]) -> dict[str, str]:
    """Give key paths and TOML values of nested settings, as ``--set`` takes them.

    A dict is entered where the schema knows only a table (``path``, ``measure``, ``tcp``), and
    where names lead to entries of a list (``flows``): its keys are set and others stay. Elsewhere
    it is the value: a queue, a workload or a congestion control is replaced as a whole.

    Parameters
    ----------
    settings : mapping
        Key path to `Setting`. A text that is not within a dict stays as it is, because it may be
        TOML itself.

    Raises
    ------
    FairwindError
        If a value is nothing that TOML can express, such as None.
    """
    schema = None
    found: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            schema = schema or scenario_schema()
            found |= dict(_entries(key, value, _table_at(schema, key), schema))
        else:
            found[key] = value if isinstance(value, str) else toml_value(value, key)
    return found


Table: TypeAlias = dict[str, Any] | None
"""The schema of a table that is entered, or of a list of named tables; None of all others."""


def _entries(
    key: str, value: Mapping[str, Any], table: Table, schema: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield the key paths below a key, and their TOML values."""
    if table is None or not value:
        yield key, toml_value(value, key)
        return
    for name, inner in value.items():
        path = f"{key}.{name}"
        if isinstance(inner, Mapping):
            yield from _entries(path, inner, _step(table, name, schema), schema)
        else:
            yield path, toml_value(inner, path)


def _table_at(schema: dict[str, Any], key: str) -> Table:
    """Find the schema of the table that a key path leads to."""
    if key == SWEEP:
        return {"properties": {}}  # its entries are axes, each a value
    table: Table = schema
    for step in key.split("."):
        if table is None:
            return None
        table = _step(table, step, schema)
    return table


def _step(table: dict[str, Any], name: str, schema: dict[str, Any]) -> Table:
    """Enter a table by a key, or a list of named tables by the name of an entry."""
    if table.get("type") == "array":
        below = _resolved(table["items"], schema)
    else:
        below = _resolved(table.get("properties", {}).get(name, {}), schema)
    is_list = below.get("type") == "array" and "properties" in _resolved(below["items"], schema)
    return below if "properties" in below or is_list else None


def _resolved(schema: Any, root: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - may be `True`
    """Follow references; a key that may be missing is what it is when it is there."""
    if not isinstance(schema, dict):
        return {}
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        return _resolved(choices[0], root)
    if "$ref" not in schema:
        return schema
    return _resolved(root["$defs"][schema["$ref"].rpartition("/")[2]], root)


def toml_value(value: object, key: str) -> str:
    """Write a value as TOML on one line.

    Parameters
    ----------
    value : Setting
        Numbers and arrays of numpy are numbers and lists as well, paths are texts.
    key : str
        Named in errors.

    Raises
    ------
    FairwindError
        If TOML cannot express it.
    """
    if not isinstance(value, (str, bool, int, float, Mapping, Sequence)) and hasattr(
        value, "tolist"
    ):
        value = value.tolist()
    match value:
        case bool():
            return str(value).lower()
        case int() if abs(value) <= LARGEST:
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str() | Quantity():
            return _quoted(str(value))
        case PathLike():
            return _quoted(fspath(value))
        case Mapping():
            return f"{{ {', '.join(_lines_of(value, key))} }}" if value else "{}"
        case Sequence() if not isinstance(value, (bytes, bytearray)):
            return f"[{', '.join(toml_value(inner, key) for inner in value)}]"
    hint = "leave the key out for its default" if value is None else "give a text with its unit"
    raise FairwindError(
        f"{key} cannot be set to {value!r}: a setting is a text, a number, true or false, a "
        "quantity, a list, or a dict",
        hint,
    )


def toml_document(settings: Mapping[str, Any]) -> str:
    """Write a whole scenario as TOML: plain keys, then its tables and lists of tables.

    Tables below these stand on one line, so that a line of an error is that of one setting.

    Raises
    ------
    FairwindError
        If a value is nothing that TOML can express.
    """
    plain = {key: value for key, value in settings.items() if not _has_header(value)}
    lines = [f"{_key(key)} = {toml_value(value, key)}" for key, value in plain.items()]
    for key, value in settings.items():
        if key in plain:
            continue
        header = f"[{_key(key)}]" if isinstance(value, Mapping) else f"[[{_key(key)}]]"
        tables = [value] if isinstance(value, Mapping) else value
        for table in tables:
            lines += ["", header, *_lines_of(table, key)]
    return "".join(f"{line}\n" for line in lines)


def _lines_of(table: Mapping[str, Any], key: str) -> Iterator[str]:
    """Write the keys of a table with their values."""
    for name, value in table.items():
        yield f"{_key(name)} = {toml_value(value, f'{key}.{name}')}"


def _has_header(value: Any) -> bool:  # noqa: ANN401 - whatever somebody gives
    """Return whether a value of the document is a table, or a list of nothing but tables."""
    if isinstance(value, Mapping):
        return True
    is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
    return is_list and bool(value) and all(isinstance(one, Mapping) for one in value)


def _key(name: object) -> str:
    return str(name) if re.fullmatch(r"[A-Za-z0-9_-]+", str(name)) else _quoted(str(name))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
