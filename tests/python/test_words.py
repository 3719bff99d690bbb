"""Texts that people read: no expressions that must be read twice, and hints in errors."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairwind import _core

PACKAGE = Path(__file__).parents[2] / "python" / "fairwind"
FILES = sorted(PACKAGE.rglob("*.py"))

UNCLEAR = re.compile(
    r"\b(tells?|told|whose|minded|be it|by which|that which|what comes of it|"
    r"all the same|(?<!soon )as it is|"
    r"liv(?:e|es) no more|addresses nothing|not known here|is not here|if ours|"
    r"of ours|nevertheless|may say|says itself|goes on (?:there|where)|stood still)\b"
)
"""Expressions that the project's language rules out, and those that readers stumbled over."""

UNHINTED = {"error", "refused", "str(error)", "str(refused)"}
"""Texts of the core, which have their hints in them."""


def text_of(node: ast.expr) -> str | None:
    """Give the text of a literal; places of an f-string are left out."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) or "" for part in parts)
    return None


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield all literals of several words but docstrings, with their lines."""
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Expr) and isinstance(child, ast.Constant):
            continue
        if isinstance(child, ast.expr) and (text := text_of(child)) is not None:
            if " " in text:
                yield child.lineno, text
        else:
            yield from texts(child)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_messages_are_clear(file):
    found = [
        f"{line}: {text}"
        for line, text in texts(ast.parse(file.read_text(encoding="utf-8")))
        if UNCLEAR.search(text)
    ]
    assert found == []


def test_messages_are_found():
    source = "raise FairwindError(f'{a} lives no more', 'be it')\n'''told'''\n"
    found = [text for _, text in texts(ast.parse(source)) if UNCLEAR.search(text)]
    assert found == [" lives no more", "be it"]


def descriptions(schema: object) -> Iterator[str]:
    """Yield all descriptions of a schema."""
    match schema:
        case dict():
            if isinstance(text := schema.get("description"), str):
                yield text
            for inner in schema.values():
                yield from descriptions(inner)
        case list():
            for inner in schema:
                yield from descriptions(inner)


def test_descriptions_of_keys_and_columns_are_clear():
    columns = [*json.loads(_core.columns()), *json.loads(_core.analysis_columns())]
    every = [*descriptions(json.loads(_core.schema())), *(row["definition"] for row in columns)]
    assert len(every) > 500
    assert [text for text in every if UNCLEAR.search(text)] == []


def test_errors_say_what_to_do():
    bare = []
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("FairwindError", "ModelError")
                and len(node.args) == 1
                and ast.unparse(node.args[0]) not in UNHINTED
            ):
                bare.append(f"{file.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    # Both join texts of the core, or of a process that has said more.
    known = ("cli/shell.py", "plots/save.py")
    assert [one for one in bare if not one.startswith(known)] == []
