"""Write `python/fairwind/scenario/typed.py`: the schema of scenarios as types of Python.

    .venv/bin/python tools/typed_settings.py           write the module
    .venv/bin/python tools/typed_settings.py --check   write nothing; report whether it is stale

Every table becomes a `TypedDict`, every list of names a `Literal`, every table with several forms a
union. Needs the built package `fairwind` and `ruff`.

Exit code: 0 all is well, 1 the module is stale.
"""

import argparse
import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairwind._core as core

Schema = Mapping[str, Any]

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "python" / "fairwind" / "scenario" / "typed.py"

HEAD = '''"""Types of scenarios in Python, made of their schema.

``make docs`` writes this module, so a change made here is lost. `ScenarioSettings` is what
`fairwind.run` and `Scenario.from_dict` take. With it, editors complete keys and type checkers
refuse unknown ones. Numbers and units are checked when the scenario is resolved.
"""

# ruff: noqa: D205, D209, E501 - the schema's sentences are not divided

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypeAlias, TypedDict

from fairwind.units import BitRate, ByteCount, Ratio, Span
'''

QUANTITIES = ("BitRate", "ByteCount", "Ratio", "Span")
"""Definitions that have a class in `fairwind.units`."""

RENAMED = {
    f"{name}{number}": f"{kind}{name}"
    for name in ("Distribution", "Quantile", "Varying")
    for number, kind in (("", "Byte"), ("2", "Span"), ("3", "Count"))
}
"""Definitions of one name for several kinds of numbers."""

WIDTH = 96
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


@dataclass(frozen=True)
class Names:
    """Names of types by names of definitions in the schema."""

    definitions: Mapping[str, Any]

    def __getitem__(self, definition: str) -> str:
        """Give the type of a definition: tables end in ``Settings``, others keep their name."""
        if not _has_tables(self.definitions[definition]):
            return definition
        stem = re.sub(r"(Input|Settings|Table)$", "", RENAMED.get(definition, definition))
        # `QueueInput` is a text or a `QueueTable`: each needs a name.
        has_two = definition == f"{stem}Input" and self.definitions.keys() & {stem, f"{stem}Table"}
        return f"{stem}Value" if has_two else f"{stem}Settings"


def module(schema: Schema) -> str:
    """Return the text of the module."""
    definitions = schema["$defs"]
    names = Names(definitions)
    parts: list[str] = []
    for definition in sorted(definitions, key=lambda name: _has_tables(definitions[name])):
        if definition not in QUANTITIES:
            parts += definition_lines(names[definition], definitions[definition], names)
    parts += table_lines("ScenarioSettings", schema, names)
    return HEAD + "\n".join(parts) + "\n"


def definition_lines(name: str, schema: Schema, names: Names) -> Iterator[str]:
    """Yield the lines that define one type."""
    if "properties" in schema:
        yield from table_lines(name, schema, names)
        return
    kinds = []
    for choice in _choices(schema):
        if "properties" in choice:
            kinds.append(_form_name(name, choice))
            yield from table_lines(kinds[-1], choice, names)
        else:
            kinds.append(kind(choice, names))
    yield ""
    yield f"{name}: TypeAlias = {_joined(kinds or [kind(schema, names)])!r}"
    yield from _documented(schema.get("description", ""), "")


def _form_name(name: str, choice: Schema) -> str:
    """Name one of several tables after the value that identifies it."""
    fixed = [str(one["const"]) for one in choice["properties"].values() if "const" in one]
    words = re.findall(r"[A-Za-z0-9]+", fixed[0] if fixed else "named")
    return "".join(word[0].upper() + word[1:] for word in words) + name


def table_lines(name: str, schema: Schema, names: Names) -> Iterator[str]:
    """Yield the lines of a `TypedDict`; keys that are no names in Python go to a base of it."""
    required = set(schema.get("required", ()))
    keys = {key: value for key, value in schema["properties"].items() if value is not True}
    if isinstance(schema.get("additionalProperties"), Mapping) and name != "ScenarioSettings":
        # A table with further keys of any name is no TypedDict.
        more = kind(schema["additionalProperties"], names)
        yield f"\n{name}: TypeAlias = {f'Mapping[str, {more}]'!r}"
        yield from _documented(schema.get("description", ""), "")
        return
    base = {key: value for key, value in keys.items() if keyword.iskeyword(key)}
    if base:
        fields = ", ".join(
            f"{key!r}: {_field(value, names, is_required=key in required)}"
            for key, value in base.items()
        )
        yield f'\n_{name} = TypedDict("_{name}", {{{fields}}}, total=False)\n'
    yield f"\nclass {name}({f'_{name}' if base else 'TypedDict'}, total=False):"
    meanings = " ".join(f"`{key}`: {_sentence(value)}" for key, value in base.items())
    yield from _documented(schema.get("description", "") or f"A table of {name}.", "    ", meanings)
    for key in sorted(
        (key for key in keys if key not in base), key=lambda key: key not in required
    ):
        yield f"    {key}: {_field(keys[key], names, is_required=key in required)}"
        yield from _documented(_meaning(keys[key]), "    ")


def _field(schema: Schema, names: Names, *, is_required: bool) -> str:
    written = repr(kind(schema, names))
    return f"Required[{written}]" if is_required else written


def _meaning(schema: Schema) -> str:
    """Return what a key means, and its default."""
    default, text = schema.get("default"), _sentence(schema)
    if default is None or isinstance(default, Mapping) or "default:" in text:
        return text
    return f"{text} Default: {json.dumps(default, ensure_ascii=False)}."


def _sentence(schema: Schema) -> str:
    text = " ".join(str(schema.get("description", "")).split())
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _documented(text: str, indent: str, more: str = "") -> Iterator[str]:
    """Yield a docstring."""
    whole = f"{_sentence({'description': text})} {more}".strip().replace("\\", "\\\\")
    if not whole:
        return
    *lines, last = textwrap.wrap(
        f'"""{whole[0].upper()}{whole[1:]}', WIDTH, initial_indent=indent, subsequent_indent=indent
    )
    yield from lines
    yield f'{last}"""' if not last.endswith('"') else f'{last} """'


def kind(schema: Any, names: Names) -> str:  # noqa: ANN401 - a schema may be `true`
    """Return the type of a value."""
    if schema is True or not schema:
        return "Any"
    if "$ref" in schema:
        definition = schema["$ref"].rpartition("/")[2]
        known = definition if definition in QUANTITIES else names[definition]
        return f"{known} | str" if definition in QUANTITIES else known
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        return f"Literal[{', '.join(repr(one) for one in schema['enum'] if one is not None)}]"
    if choices := _choices(schema):
        return _joined([kind(choice, names) for choice in choices])
    return _kind_of_type(schema, names)


def _kind_of_type(schema: Schema, names: Names) -> str:
    types = schema.get("type", ())
    kinds = []
    for one in [types] if isinstance(types, str) else types:
        if one == "array":
            kinds.append(f"Sequence[{kind(schema.get('items', True), names)}]")
        elif one == "object":
            kinds.append("Mapping[str, Any]")
        elif one != "null":
            kinds.append(SIMPLE[one])
    # A limit such as "30 kB" is a text of its own kind, which a size fits.
    if schema.get("format") == "QueueLimit":
        kinds.append("ByteCount")
    return _joined(kinds) or "Any"


BAR = re.compile(r" \| (?![^\[]*\])")
"""What divides the types of a union; not within brackets."""


def _joined(kinds: Sequence[str]) -> str:
    """Return a union; literals are brought together."""
    parts = list(dict.fromkeys(part for one in kinds for part in BAR.split(one)))
    literals = [part[len("Literal[") : -1] for part in parts if part.startswith("Literal[")]
    others = [part for part in parts if not part.startswith("Literal[")]
    return " | ".join([*([f"Literal[{', '.join(literals)}]"] if literals else []), *others])


def _choices(schema: Schema) -> list[Schema]:
    choices = schema.get("anyOf") or schema.get("oneOf") or []
    return [one for one in choices if one != {"type": "null"}]


def _has_tables(schema: Schema) -> bool:
    """Return whether a definition is a table, or may be one."""
    return "properties" in schema or any(
        "properties" in one or "Table" in one.get("$ref", "") or "$ref" in one
        for one in _choices(schema)
    )


def formatted(text: str) -> str:
    """Return a module as the formatter writes it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    answer = subprocess.run(command, input=text, check=True, text=True, stdout=subprocess.PIPE)
    return answer.stdout


def main() -> int:
    """Write or check the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="report a stale module, write nothing")
    arguments = parser.parse_args()
    text = formatted(module(json.loads(core.schema())))
    if arguments.check:
        if TARGET.read_text(encoding="utf-8") == text:
            return 0
        print(f"{TARGET.relative_to(ROOT)} is stale: run `make docs`", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
