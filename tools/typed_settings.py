"""Write `python/fairwind/scenario/typed.pyi`: the schema of scenarios as types of Python.

    .venv/bin/python tools/typed_settings.py

Every table becomes a `TypedDict`, every list of names a `Literal`, every table with several forms a
union. Needs the built package `fairwind`, whose module of that name makes the same types at run
time, and `ruff`.
"""

import keyword
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from fairwind.scenario.schema_types import Key, Type, schema_types, sentence

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "python" / "fairwind" / "scenario" / "typed.pyi"

HEAD = '''"""Types of scenarios in Python, made of their schema.

``make build`` writes this stub, so a change made here is lost. `ScenarioSettings` is what
`fairwind.run` and `Scenario.from_dict` take. With it, editors complete keys and type checkers
refuse unknown ones. Numbers and units are checked when the scenario is resolved.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypeAlias, TypedDict

from fairwind.units import BitRate, ByteCount, Ratio, Span
'''

WIDTH = 96


def lines(one: Type) -> Iterator[str]:
    """Yield the lines that define a type."""
    if one.keys is None:
        yield f"\n{one.name}: TypeAlias = {one.alias!r}"
        yield from _documented(one.description, "")
        return
    # Keys that are no names in Python go to a base.
    base = {key: value for key, value in one.keys.items() if keyword.iskeyword(key)}
    if base:
        fields = ", ".join(f"{key!r}: {_annotation(value)}" for key, value in base.items())
        yield f'\n_{one.name} = TypedDict("_{one.name}", {{{fields}}}, total=False)'
    yield f"\nclass {one.name}({f'_{one.name}' if base else 'TypedDict'}, total=False):"
    meanings = " ".join(f"`{key}`: {value.meaning}" for key, value in base.items())
    yield from _documented(one.description or f"A table of {one.name}.", "    ", meanings)
    for key, value in one.keys.items():
        if key not in base:
            yield f"    {key}: {_annotation(value)}"
            yield from _documented(value.meaning, "    ")


def _annotation(key: Key) -> str:
    return f"Required[{key.annotation!r}]" if key.is_required else repr(key.annotation)


def _documented(text: str, indent: str, more: str = "") -> Iterator[str]:
    """Yield a docstring."""
    whole = f"{sentence(text)} {more}".strip().replace("\\", "\\\\")
    if not whole:
        return
    *lines, last = textwrap.wrap(
        f'"""{whole[0].upper()}{whole[1:]}', WIDTH, initial_indent=indent, subsequent_indent=indent
    )
    yield from lines
    yield f'{last}"""' if not last.endswith('"') else f'{last} """'


def main() -> None:
    """Write the stub."""
    text = HEAD + "\n".join(line for one in schema_types() for line in lines(one)) + "\n"
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    done = subprocess.run(command, input=text, check=True, encoding="utf-8", stdout=subprocess.PIPE)
    TARGET.write_text(done.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
