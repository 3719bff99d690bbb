"""Refuse functions and files that have grown beyond `tools/sizes.toml`.

Finds functions in Rust by their braces, after comments and literals are blanked out, and in Python
by the syntax tree. It judges length only; it never changes a file. Standard library only.

    python3 tools/sizes.py [--root DIR] [--table FILE] [--longest N]

Exit code: 0 nothing is too long, 1 something is or an exception is no longer needed.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Everything in which a brace or the word `fn` has no meaning. Raw strings come before the others,
# which end otherwise. A comment inside a comment is not understood; its end stays behind as code.
RUST_OPAQUE = re.compile(
    r"""
      //[^\n]*
    | /\*.*?\*/
    | \bb?c?r(?P<hashes>\#*)".*?"(?P=hashes)
    | "(?:\\.|[^"\\])*"
    | '(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'
    """,
    re.VERBOSE | re.DOTALL,
)
RUST_FUNCTION = re.compile(r"\bfn\s+([A-Za-z_]\w*)")


@dataclass(frozen=True, order=True)
class Extent:
    """A function or a whole file and its length.

    Attributes
    ----------
    lines : int
        Length in lines.
    limit : int
        Lines that it may have.
    name : str
        ``path`` for a file, ``path::function`` for a function.
    line : int
        Line where it begins, from 1.
    """

    lines: int
    limit: int
    name: str
    line: int


def blank(text: str) -> str:
    """Replace all characters but line ends by spaces, so that positions stay."""
    return re.sub(r"[^\n]", " ", text)


def rust_functions(source: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, first line and length of each function with a body."""
    code = RUST_OPAQUE.sub(lambda found: blank(found[0]), source)
    for found in RUST_FUNCTION.finditer(code):
        end = body_end(code, found.end())
        if end is not None:
            first = code.count("\n", 0, found.start()) + 1
            yield found[1], first, code.count("\n", found.start(), end) + 1


def body_end(code: str, position: int) -> int | None:
    """Find the closing brace of the body that follows a signature; None if it ends with `;`."""
    depth = braces = 0
    for index in range(position, len(code)):
        match code[index]:
            case "(" | "[":
                depth += 1
            case ")" | "]":
                depth -= 1
            case ";" if depth == 0 and braces == 0:
                return None
            case "{":
                braces += 1
            case "}":
                braces -= 1
                # A brace inside brackets belongs to the signature: `[u8; { N + 1 }]`.
                if braces == 0 and depth == 0:
                    return index
    return None


def python_functions(source: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, first line and length of each function, decorators not counted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def extents(root: Path, limits: Sequence[Mapping[str, Any]]) -> Iterator[Extent]:
    """Measure every file that a limit speaks of, and every function in it."""
    for limit in limits:
        for file in sorted(root.glob(limit["files"])):
            source = file.read_text(encoding="utf-8")
            path = file.relative_to(root).as_posix()
            yield Extent(len(source.splitlines()), limit["file_lines"], path, 1)
            functions = rust_functions if file.suffix == ".rs" else python_functions
            for name, line, lines in functions(source):
                yield Extent(lines, limit["function_lines"], f"{path}::{name}", line)


def complaints(measured: Sequence[Extent], exceptions: Mapping[str, str]) -> list[str]:
    """Say what is too long, and which exceptions excuse nothing or give no reason."""
    too_long = [extent for extent in measured if extent.lines > extent.limit]
    lines = [
        f"{extent.name.partition('::')[0]}:{extent.line}: `{extent.name}` has {extent.lines} "
        f"lines, more than {extent.limit}; divide it, or give a reason in tools/sizes.toml"
        for extent in too_long
        if extent.name not in exceptions
    ]
    long_names = {extent.name for extent in too_long}
    for name, reason in exceptions.items():
        if name not in long_names:
            lines.append(f"tools/sizes.toml: the exception for `{name}` is no longer needed")
        if not reason.strip():
            lines.append(f"tools/sizes.toml: the exception for `{name}` gives no reason")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one tree and print what is too long in it."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="Refuse long functions and files.")
    parser.add_argument("--root", type=Path, default=here.parent, help="the tree to measure")
    parser.add_argument("--table", type=Path, default=here / "sizes.toml", help="the limits")
    parser.add_argument(
        "--longest", type=int, default=0, metavar="N", help="print the N longest too"
    )
    options = parser.parse_args(arguments)
    table = tomllib.loads(options.table.read_text(encoding="utf-8"))
    measured = list(extents(options.root.resolve(), table["limits"]))
    longest = sorted(measured, key=lambda one: (-one.lines / one.limit, one.name))
    for extent in longest[: options.longest]:
        print(f"{extent.lines:5} of {extent.limit:4}  {extent.name}")
    wrong = complaints(measured, table.get("exceptions", {}))
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"sizes: {len(measured)} functions and files, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
