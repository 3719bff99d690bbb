"""The page of the Python interface, made from signatures and docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import griffe

import fairwind

HOMES = {
    "run": "scenario.runs.run",
    "load": "scenario.scenario.load",
    "Scenario": "scenario.scenario.Scenario",
    "open": "results.results.open_results",
    "Results": "results.results.Results",
    "Answer": "results.answer.Answer",
    "analyse": "analysis.execute.analyse",
}
"""Where the public names are defined, in the order of the page."""

ERRORS = ("FairwindError", "ScenarioError", "SimulationError", "RunInterrupted")

INTRODUCTION = """# Python

What `import fairwind` gives. The package is typed (`py.typed`), so editors and type checkers know
all of this; scenarios have [types of their own](../guides/python.md#keys-that-editors-know). How to
use it is in [Fairwind in Python](../guides/python.md), and [notebooks](../notebooks/README.md) show
it. The columns of the tables are those of [the reference](columns.md).
"""

TITLES = {"parameters": "Parameter", "returns": "Returns", "raises": "Raises", "yields": "Yields"}


def python_page() -> str:
    """Describe the public names of the package."""
    folder = Path(__file__).parents[1] / "python"
    package = griffe.load("fairwind", search_paths=[str(folder)], docstring_parser="numpy")
    lines = [INTRODUCTION]
    for name, place in HOMES.items():
        found = package[place]
        while found.is_alias:
            found = found.final_target
        lines += _class(name, found) if found.is_class else _function(f"fairwind.{name}", found, 2)
    return "\n".join([*lines, *_errors()]).rstrip() + "\n"


def _errors() -> Iterator[str]:
    """Describe the errors; the core makes some of them, so they are asked for their meaning."""
    yield "## Errors\n"
    yield "| error | of | meaning |"
    yield "|---|---|---|"
    for name in ERRORS:
        error = getattr(fairwind, name)
        first = (error.__doc__ or "").partition("\n\n")[0]
        yield f"| `fairwind.{name}` | `{error.__base__.__name__}` | {_line(first)} |"


def _class(name: str, found: griffe.Class) -> Iterator[str]:
    bases = ", ".join(map(str, found.bases))
    yield f"## fairwind.{name}{f' ({bases})' if bases else ''}\n"
    yield from _docstring(found)
    attributes = [*_attributes(found)]
    if attributes:
        yield "| attribute | meaning |"
        yield "|---|---|"
        yield from attributes
        yield ""
    for method in found.functions.values():
        if method.is_public and not method.name.startswith("_"):
            yield from _function(f"{name}.{method.name}", method, 3)


def _attributes(found: griffe.Class) -> Iterator[str]:
    """Give rows for properties and for tables, whose descriptor has the meaning."""
    for name, attribute in found.attributes.items():
        if name.startswith("_"):
            continue
        meaning = attribute.docstring.value if attribute.docstring else ""
        if not meaning and attribute.value is not None:
            text = re.fullmatch(r"_Table\w*\((.*)\)", str(attribute.value), re.DOTALL)
            meaning = text[1].strip("\"'") if text else ""
        if meaning:
            yield f"| `{name}` | {_line(meaning.partition(chr(10) * 2)[0])} |"


def _function(name: str, found: griffe.Function, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}\n"
    yield f"```python\n{_signature(name, found)}\n```\n"
    yield from _docstring(found)


def _signature(name: str, found: griffe.Function) -> str:
    """Give a signature, with one parameter on each line if it is long."""
    parameters = [*_parameters(found)]
    answer = f" -> {found.returns}" if found.returns else ""
    line = f"{name}({', '.join(parameters)}){answer}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{name}(", *(f"    {one}," for one in parameters), f"){answer}"])


def _parameters(found: griffe.Function) -> Iterator[str]:
    is_star_due = True
    for one in found.parameters:
        if one.name in ("self", "cls"):
            continue
        star = {"variadic positional": "*", "variadic keyword": "**"}.get(str(one.kind.value), "")
        if star == "*":
            is_star_due = False
        elif one.kind is griffe.ParameterKind.keyword_only and is_star_due:
            is_star_due = False
            yield "*"
        kind = f": {one.annotation}" if one.annotation else ""
        usual = f" = {one.default}" if one.default is not None and not star else ""
        yield f"{star}{one.name}{kind}{usual}"


def _docstring(found: griffe.Object) -> Iterator[str]:
    for section in found.docstring.parsed if found.docstring else ():
        kind = section.kind.value
        if kind == "text":
            yield f"{_prose(section.value)}\n"
        elif kind == "attributes":
            yield from _table("attribute", section.value)
        elif kind in TITLES:
            yield from _table(TITLES[kind].lower(), section.value)


def _table(title: str, rows: Sequence[griffe.DocstringElement]) -> Iterator[str]:
    """Give a table; parameters have their types in the signature above it."""
    yield f"| {title} |{' type |' if title == 'attribute' else ''} meaning |"
    yield f"|---|{'---|' if title == 'attribute' else ''}---|"
    for row in rows:
        name, kind = (
            getattr(row, "name", ""),
            re.sub(r"^\((.*)\)$", r"\1", str(row.annotation or "")),
        )
        first = [f"`{name}`", kind] if title == "attribute" else [f"`{name or kind}`"]
        yield f"| {' | '.join(first)} | {_line(row.description)} |"
    yield ""


def _line(text: str) -> str:
    return _prose(" ".join(text.split())).replace("|", "\\|")


def _prose(text: str) -> str:
    """Give text of docstrings as Markdown: code has one backtick there."""
    return text.replace("``", "`").strip()
