"""Features as the choice points of a schema."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.kit.choices import ChoicePoints, count_features
from agentcore.kit.framework import FRAMEWORKS, load_family
from agentcore.kit.program import schema

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "path": {"enum": ["a", "b"]},
        "ops": {"type": "array", "items": {"$ref": "#/$defs/op"}},
        "tools": {"additionalProperties": {"$ref": "#/$defs/tool"}},
        "any": {"$ref": "#/$defs/any"},
    },
    "$defs": {
        "op": {"anyOf": [{"$ref": "#/$defs/set"}, {"$ref": "#/$defs/say"}, {"enum": ["stop"]}]},
        "set": {"type": "object", "required": ["set", "to"], "properties": {"set": {}, "to": True}},
        "say": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"enum": ["aloud", "low"]}, "twice": {"type": "boolean"}},
        },
        "tool": {"type": "object", "properties": {"takes": {"type": "integer"}, "more": True}},
        "any": {"properties": {"deep": {"$ref": "#/$defs/any"}}},
    },
}
WORDS: Final = {"program": "has", "program.path": "path", "op": "op", "say": "say", "tool": "tool"}
POINTS: Final = ChoicePoints(SCHEMA, WORDS, {"has any": None, "tool more": "tool with more"})


def test_the_names_are_optional_fields_members_and_alternatives() -> None:
    assert len(POINTS.names) == 12
    assert {*POINTS.names} == {
        *("has path", "has ops", "has tools", "path a", "path b", "op set", "op aloud", "op low", "op stop"),
        *("say twice", "tool takes", "tool with more"),
    }


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ({"id": "x"}, set()),
        ({"id": "x", "path": "b"}, {"has path", "path b"}),
        ({"id": "x", "path": "c"}, {"has path"}),
        ({"id": "x", "ops": [{"set": 1, "to": 2}]}, {"has ops", "op set"}),
        ({"id": "x", "ops": [{"set": 1}]}, {"has ops"}),
        ({"id": "x", "ops": [{"kind": "low", "twice": True}]}, {"has ops", "op low", "say twice"}),
        (
            {"id": "x", "tools": {"t": {"takes": 1}, "u": {"more": {}}}},
            {"has tools", "tool takes", "tool with more"},
        ),
        ({"id": "x", "any": {"deep": {"deep": {}}}}, set()),
    ],
)
def test_a_program_has_the_choices_that_it_made(program: dict[str, Any], found: set[str]) -> None:
    assert POINTS.of(program) == found


def test_features_are_counted_over_programs_and_those_alive_too() -> None:
    programs = [{"id": "1", "path": "a"}, {"id": "2", "path": "a"}, {"id": "3"}]
    counts = count_features(programs, POINTS.of, POINTS.names, alive=lambda program: program["id"] != "1")
    assert {name: count for name, count in counts.items() if count} == {
        "has path": 2,
        "path a": 2,
        "alive": 2,
    }
    assert counts.keys() == {*POINTS.names, "alive"}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_op_of_a_schema_is_a_feature(name: str) -> None:
    program = schema("program", f"agentcore.frameworks.{name.replace('-', '_')}")
    ops = ChoicePoints(program, {"op": "op"}).names
    assert ops
    assert {*ops} <= {*load_family(name).feature_names}
