"""What a scenario's schema says of its tables, as names and annotations of Python."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fairwind.engine.core import scenario_schema

Schema: TypeAlias = Mapping[str, Any]

QUANTITIES = ("BitRate", "ByteCount", "Ratio", "Span")
"""Definitions that have a class in `fairwind.units`."""

RENAMED = {
    f"{name}{number}": f"{kind}{name}"
    for name in ("Distribution", "Quantile", "Varying")
    for number, kind in (("", "Byte"), ("2", "Span"), ("3", "Count"))
}
"""Definitions of one name for several kinds of numbers."""

SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

BAR = re.compile(r" \| (?![^\[]*\])")
"""What divides the types of a union; not within brackets."""


@dataclass(frozen=True)
class Key:
    """A key of a table: its annotation, whether a table must have it, and what it means."""

    annotation: str
    is_required: bool
    meaning: str


@dataclass(frozen=True)
class Type:
    """A type by name: a table with keys, required ones first, or another name of a type."""

    name: str
    description: str
    keys: Mapping[str, Key] | None = None
    alias: str = ""


def schema_types() -> Iterator[Type]:
    """Yield the types of all tables; what a type stands on comes before it."""
    schema = scenario_schema()
    maker = _Maker(schema["$defs"])
    for definition in sorted(schema["$defs"], key=lambda one: _has_tables(schema["$defs"][one])):
        if definition not in QUANTITIES:
            yield from maker.of_definition(definition)
    yield maker.table("ScenarioSettings", {**schema, "additionalProperties": False})


@dataclass(frozen=True)
class _Maker:
    definitions: Mapping[str, Any]

    def of_definition(self, definition: str) -> Iterator[Type]:
        name, schema = self._name(definition), self.definitions[definition]
        if "properties" in schema:
            yield self.table(name, schema)
            return
        forms = []
        for choice in _choices(schema):
            if "properties" in choice:
                table = self.table(_form_name(name, choice), choice)
                forms.append(table.name)
                yield table
            else:
                forms.append(self._annotation(choice))
        alias = _union(forms or [self._annotation(schema)])
        yield Type(name, schema.get("description", ""), alias=alias)

    def table(self, name: str, schema: Schema) -> Type:
        description, required = schema.get("description", ""), schema.get("required", ())
        if isinstance(schema.get("additionalProperties"), Mapping):
            # A table with further keys of any name is no TypedDict.
            further = self._annotation(schema["additionalProperties"])
            return Type(name, description, alias=f"Mapping[str, {further}]")
        keys = {
            key: Key(self._annotation(value), key in required, _meaning(value))
            for key, value in schema["properties"].items()
            if value is not True
        }
        return Type(
            name, description, dict(sorted(keys.items(), key=lambda one: not one[1].is_required))
        )

    def _name(self, definition: str) -> str:
        """Give the type of a definition: tables end in ``Settings``, others keep their name."""
        if not _has_tables(self.definitions[definition]):
            return definition
        stem = re.sub(r"(Input|Settings|Table)$", "", RENAMED.get(definition, definition))
        # `QueueInput` is a text or a `QueueTable`: each needs a name.
        has_two = definition == f"{stem}Input" and self.definitions.keys() & {stem, f"{stem}Table"}
        return f"{stem}Value" if has_two else f"{stem}Settings"

    def _annotation(self, schema: Any) -> str:  # noqa: ANN401 - a schema may be `true`
        if schema is True or not schema:
            return "Any"
        if "$ref" in schema:
            known = schema["$ref"].rpartition("/")[2]
            return f"{known} | str" if known in QUANTITIES else self._name(known)
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(repr(one) for one in schema['enum'] if one is not None)}]"
        if choices := _choices(schema):
            return _union([self._annotation(choice) for choice in choices])
        return self._of_json_type(schema)

    def _of_json_type(self, schema: Schema) -> str:
        types = schema.get("type", ())
        kinds = []
        for one in [types] if isinstance(types, str) else types:
            if one == "array":
                kinds.append(f"Sequence[{self._annotation(schema.get('items', True))}]")
            elif one == "object":
                kinds.append("Mapping[str, Any]")
            elif one != "null":
                kinds.append(SIMPLE[one])
        # A limit such as "30 kB" is a text of its own kind, which a size fits.
        if schema.get("format") == "QueueLimit":
            kinds.append("ByteCount")
        return _union(kinds) or "Any"


def _form_name(name: str, choice: Schema) -> str:
    """Name one of several tables after the value that identifies it."""
    fixed = [str(one["const"]) for one in choice["properties"].values() if "const" in one]
    words = re.findall(r"[A-Za-z0-9]+", fixed[0] if fixed else "named")
    return "".join(word[0].upper() + word[1:] for word in words) + name


def _union(kinds: Sequence[str]) -> str:
    """Return a union; literals are brought together."""
    parts = list(dict.fromkeys(part for one in kinds for part in BAR.split(one)))
    literals = [part[len("Literal[") : -1] for part in parts if part.startswith("Literal[")]
    others = [part for part in parts if not part.startswith("Literal[")]
    return " | ".join([*([f"Literal[{', '.join(literals)}]"] if literals else []), *others])


def _meaning(schema: Schema) -> str:
    """Return what a key means, and its default."""
    default, text = schema.get("default"), sentence(schema.get("description", ""))
    if default is None or isinstance(default, Mapping) or "default:" in text:
        return text
    return f"{text} Default: {json.dumps(default, ensure_ascii=False)}."


def sentence(text: str) -> str:
    """Return a description with a full stop."""
    text = " ".join(text.split())
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _choices(schema: Schema) -> list[Schema]:
    choices = schema.get("anyOf") or schema.get("oneOf") or []
    return [one for one in choices if one != {"type": "null"}]


def _has_tables(schema: Schema) -> bool:
    """Return whether a definition is a table, or may be one."""
    return "properties" in schema or any(
        "properties" in one or "Table" in one.get("$ref", "") or "$ref" in one
        for one in _choices(schema)
    )
