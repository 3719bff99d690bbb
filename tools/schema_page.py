"""Turn the JSON Schema of scenarios into a page of Markdown.

Every object of the schema becomes a section with a table of its keys, the required ones first;
everything else with a name becomes a section that says how its value is written.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

Schema = Mapping[str, Any]
# A schema may also be `true`: anything goes.
AnySchema = Schema | Literal[True]

DEFINITIONS = "#/$defs/"

# What stands in a cell that has nothing to say.
NONE = "-"


def schema_page(schema: Schema) -> str:
    """Return the whole page."""
    lines = [
        "# Scenarios",
        "",
        "All keys of a scenario, made from the schema that checks it; `fairwind schema` prints it",
        "for editors. First the file itself, then, by name, what its keys lead to.",
        "",
        "## The file",
        "",
        *section(schema),
    ]
    for name, definition in sorted(schema.get("$defs", {}).items()):
        lines += [f"## {name}", "", *section(definition)]
    return "\n".join(lines).rstrip() + "\n"


def section(schema: Schema) -> Iterator[str]:
    """Yield the lines that describe one schema, without its heading."""
    if schema.get("description"):
        yield from [schema["description"].strip(), ""]
    if schema.get("properties"):
        yield from key_table(schema)
    for name in ("oneOf", "anyOf"):
        if name in schema:
            yield from alternatives(schema[name])
    if "properties" not in schema and "oneOf" not in schema and "anyOf" not in schema:
        yield from [f"Written as: {kind(schema)}.", ""]


def key_table(schema: Schema) -> Iterator[str]:
    """Yield a table with one row for each key of an object."""
    required = set(schema.get("required", ()))
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    # What has to be there comes first; a key with one fixed value stands above its table already.
    for key, value in sorted(
        schema["properties"].items(), key=lambda item: item[0] not in required
    ):
        if value is not True and "const" in value:
            continue
        default = "**required**" if key in required else default_of(value)
        yield f"| `{key}` | {cell(kind(value))} | {default} | {cell(meaning(value))} |"
    yield ""


def alternatives(choices: Sequence[Schema]) -> Iterator[str]:
    """Yield the ways in which a value may be given: tables for objects, items for the others."""
    simple = [choice for choice in choices if not choice.get("properties")]
    for choice in simple:
        text = " ".join(choice.get("description", "").split())
        yield f"- {kind(choice)}" + (f": {text}" if text else "")
    if simple:
        yield ""
    for choice in choices:
        if choice.get("properties"):
            yield from [f"As a table{tag(choice)}:", ""]
            if choice.get("description"):
                yield from [choice["description"].strip(), ""]
            yield from key_table(choice)


def tag(choice: Schema) -> str:
    """Name the key with a fixed value that tells one alternative from the others."""
    fixed = [
        f"`{key} = {json.dumps(value['const'])}`"
        for key, value in choice["properties"].items()
        if "const" in value
    ]
    return f" with {', '.join(fixed)}" if fixed else ""


def kind(schema: AnySchema) -> str:
    """Say in a few words what a value looks like."""
    if schema is True:
        return "anything"
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(DEFINITIONS)
        return f"[{name}](#{anchor(name)})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"] if value is not None)
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema:
            kinds = [kind(choice) for choice in schema[name] if choice != {"type": "null"}]
            return " or ".join(dict.fromkeys(kinds))
    return kind_of_type(schema)


def kind_of_type(schema: Schema) -> str:
    """Say what a value looks like that the schema describes by its type alone."""
    types = schema.get("type", ())
    types = [types] if isinstance(types, str) else [one for one in types if one != "null"]
    names = []
    for one in types:
        match one:
            case "array":
                names.append(f"list of {kind(schema.get('items', True))}")
            case "object" if isinstance(schema.get("additionalProperties"), Mapping):
                names.append(f"table of {kind(schema['additionalProperties'])}")
            case "object":
                names.append("table")
            case "boolean":
                names.append("`true` or `false`")
            case _:
                names.append(one + bounds(schema))
    return " or ".join(names) or "anything"


def bounds(schema: Schema) -> str:
    """Say the range of a number; empty if it has none beyond its type's."""
    parts = []
    if schema.get("minimum"):
        parts.append(f"at least {schema['minimum']}")
    if "exclusiveMinimum" in schema:
        parts.append(f"above {schema['exclusiveMinimum']}")
    if schema.get("maximum", 2**31) < 2**31 and not str(schema.get("format", "")).startswith(
        "uint"
    ):
        parts.append(f"at most {schema['maximum']}")
    return f" ({', '.join(parts)})" if parts else ""


def default_of(schema: AnySchema) -> str:
    """Write the default of a key, or a dash where the key has none."""
    if schema is True or schema.get("default") is None:
        return NONE
    return f"`{json.dumps(schema['default'], ensure_ascii=False)}`"


def meaning(schema: AnySchema) -> str:
    """Return what the schema says about a key."""
    return "" if schema is True else schema.get("description", "")


def cell(text: str) -> str:
    """Make a text fit into one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def anchor(heading: str) -> str:
    """Return the name that Markdown renderers use to link to a heading."""
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))
