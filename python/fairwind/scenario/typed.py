"""Types of scenarios in Python, made of their schema.

`ScenarioSettings` is what `fairwind.run` and `Scenario.from_dict` take, and each table has a type.
Numbers and units are checked when the scenario is resolved.

At run time the types are made when this module is imported. Editors and type checkers read them in
its stub, ``typed.pyi``, which ``make build`` writes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from fairwind.scenario.schema_types import Type, schema_types
from fairwind.units import BitRate, ByteCount, Ratio, Span

# Annotations name these.
_NAMED = (Any, BitRate, ByteCount, Literal, Mapping, Ratio, Sequence, Span)


def _made(one: Type) -> object:
    if one.keys is None:
        return one.alias
    fields = {
        key: Required[value.annotation] if value.is_required else value.annotation
        for key, value in one.keys.items()
    }
    table: Any = TypedDict(one.name, fields, total=False)
    table.__doc__, table.__module__ = one.description, __name__
    return table


globals().update({one.name: _made(one) for one in schema_types()})
