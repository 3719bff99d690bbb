"""The reference page of scenarios says what the schema says, for every form that schemas use."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from schema_page import schema_page


def page_of(**definitions: dict[str, Any]) -> list[str]:
    """Return the lines of the page of an empty file with these definitions."""
    return schema_page({"type": "object", "$defs": definitions}).splitlines()


def row_of(**key: Any) -> str:  # noqa: ANN401 - any value of a schema
    """Return the row of a table with one key that has this schema."""
    lines = page_of(Path={"type": "object", "properties": {"rtt": key}})
    return next(line for line in lines if line.startswith("| `rtt`"))


def test_a_required_key_is_marked_and_an_optional_one_shows_its_default() -> None:
    lines = page_of(
        Path={
            "type": "object",
            "required": ["rate"],
            "properties": {
                "loss": {"type": "string", "default": "0 %"},
                "rate": {"type": "string", "description": "How fast it is."},
            },
        }
    )
    assert "## Path" in lines
    assert lines[-2:] == [
        "| `rate` | string | **required** | How fast it is. |",
        '| `loss` | string | `"0 %"` |  |',
    ]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$ref": "#/$defs/Queue Limit"}, "[Queue Limit](#queue-limit)"),
        ({"anyOf": [{"$ref": "#/$defs/Span"}, {"type": "null"}]}, "[Span](#span)"),
        ({"type": ["integer", "null"], "minimum": 1}, "integer (at least 1)"),
        ({"type": "array", "items": {"type": "number"}}, "list of number"),
        ({"type": "object", "additionalProperties": True}, "table"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "table of string"),
        ({"type": "boolean"}, "`true` or `false`"),
        ({"enum": ["pfifo", "bfifo", None]}, '`"pfifo"`, `"bfifo"`'),
        ({"anyOf": [{"const": "left"}, {"const": "right"}]}, '`"left"` or `"right"`'),
        ({"type": "integer", "maximum": 2**32 - 1, "format": "uint32"}, "integer"),
        ({}, "anything"),
    ],
)
def test_a_value_is_described_by_its_schema(schema: dict[str, Any], said: str) -> None:
    assert row_of(**schema).split(" | ")[1] == said


def test_a_meaning_of_several_lines_stays_in_its_cell() -> None:
    assert row_of(type="string", description="a | b,\nor c").endswith("| a \\| b, or c |")


def test_alternatives_are_items_and_tables() -> None:
    lines = page_of(
        Workload={
            "oneOf": [
                {"const": "idle", "description": "Does nothing."},
                {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {"kind": {"const": "greedy"}, "volume": {"type": "string"}},
                },
            ]
        }
    )
    assert '- `"idle"`: Does nothing.' in lines
    assert 'As a table with `kind = "greedy"`:' in lines
    assert not any(line.startswith("| `kind`") for line in lines)
    assert "| `volume` | string | - |  |" in lines


def test_a_scalar_says_how_it_is_written() -> None:
    lines = page_of(Span={"type": "string", "description": "A time."})
    assert lines[-3:] == ["A time.", "", "Written as: string."]
