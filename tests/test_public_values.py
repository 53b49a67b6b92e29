"""Every public value class of the core is hashable and deeply immutable; messages survive the wire."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from enum import Enum
from types import BuiltinFunctionType
from typing import Any, Final, get_args

import attrs
import pytest
from hypothesis import given, settings

from agentcore.machine.effects import HookResult, Outcome, Settings
from agentcore.machine.processors import MessageList
from agentcore.machine.run import give, start
from agentcore.messages.messages import (
    Message,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import FrozenDict, FrozenList, FrozenSet, Vector, freeze, frozen, vector
from agentcore.messages.wire import message_from_wire, message_to_wire
from agentcore.requirements.rules import Rule
from plays import Play, played, plays
from test_imports import core_modules

MODULES: Final = [
    importlib.import_module(f"agentcore.{name.removesuffix('.__init__')}") for name in core_modules()
]
CLASSES: Final[dict[str, Any]] = {
    name: value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, type) and value.__module__ == module.__name__ and attrs.has(value) and name[0] != "_"
}
NAMES: Final[dict[str, Any]] = {name: value for module in MODULES for name, value in vars(module).items()}


# ---------------------------------------------------------------- examples

CALL: Final = ToolCallPart("c", "t", input={"a": [1]}, provider_options={"p": {}})
RESULT: Final = ToolResultPart("c", "t", output=TextOutput("x"))

# By annotation, every field filled, JSON as plain dicts and lists: a field with a converter freezes them.
FIELDS: Final[dict[str, Callable[[], Any]]] = {
    "None": lambda: None,
    "bool": lambda: True,
    "int": lambda: 1,
    "object": lambda: "anything",
    "str": lambda: "x",
    "bytes": lambda: b"x",
    "Exception": lambda: ValueError("x"),
    # An invocation_state is shared on purpose, and no value.
    "State": lambda: None,
    "frozenset[str]": lambda: frozenset({"c"}),
    "JsonValue": lambda: {"a": [1, {"b": None}]},
    "JsonObject": lambda: {"p": {"a": [1, {"b": None}]}},
    "UserContent": lambda: [TextPart("x", {"p": {"a": []}})],
    "AssistantContent": lambda: [TextPart("x"), CALL],
    "ToolPart": lambda: RESULT,
    "Message": lambda: UserMessage([TextPart("x")]),
    "ToolMessage": lambda: ToolMessage([RESULT]),
    "MessageList": lambda: MessageList(vector(), vector, vector(), ("p", 0)),
    "MutationKind": lambda: "add",
    "PendingKind": lambda: "call",
    "Rule": lambda: Rule.PROMPT_NOT_EMPTY,
    "ProcessInput[Any]": lambda: print,
    "ProcessInputStep[Any]": lambda: print,
}

# Fields that take less than their annotation says, by name.
NARROW: Final[dict[str, Any]] = {
    "tool_choice": {"type": "tool", "toolName": "t"},
    "response_format": {"type": "json", "schema": {}},
}

# Of classes whose fields depend on each other.
EXAMPLES: Final[dict[str, Callable[[], Any]]] = {
    "Run": lambda: give(start(Settings(model="m"), [UserMessage("x")]), HookResult()),
    "Chains": lambda: CLASSES["Chains"].start([UserMessage("x")]).with_override([UserMessage("y")]),
}


def split(annotation: str, separator: str) -> list[str]:
    """Split outside of brackets."""
    parts, depth = [""], 0
    for piece in re.split(r"([\[\]]|" + re.escape(separator) + ")", annotation):
        depth += (piece == "[") - (piece == "]")
        if piece == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts]


def example_of(annotation: str) -> Any:
    if annotation in FIELDS:
        return FIELDS[annotation]()
    first = split(annotation, "|")[0]
    if first != annotation:
        return example_of(first)
    name, _, inside = annotation.rstrip("]").partition("[")
    if name == "Vector":
        return vector([example_of(inside)])
    if name == "tuple":
        return tuple(example_of(part) for part in split(inside, ",") if part != "...")
    if annotation in CLASSES:
        return make(annotation)
    # The name of a union: its first member.
    return example_of(get_args(NAMES[annotation])[0].__name__)


def make(name: str) -> Any:
    if name in EXAMPLES:
        return EXAMPLES[name]()
    return CLASSES[name](
        **{a.name: field_of(CLASSES[name], a) for a in attrs.fields(CLASSES[name]) if a.init}
    )


def field_of(cls: Any, field: attrs.Attribute[Any]) -> Any:
    given = NARROW.get(field.name) or example_of(cls.__annotations__[field.name])
    if field.converter is not None:
        return given
    if isinstance(given, frozenset):
        return FrozenSet(given)
    if isinstance(given, tuple):
        return FrozenList(given)
    return freeze(given) if isinstance(given, dict) else given


# ---------------------------------------------------------------- the tests

PLAIN: Final = (str, int, float, bool, type(None), bytes, Enum)
# What values hold that is no value: functions, and the list that one call of a processor is handed.
HANDED: Final = (BuiltinFunctionType, MessageList)


def mutable_parts(value: Any, path: str = "$") -> Iterator[str]:
    """Paths of all that could be changed inside of a value."""
    if attrs.has(type(value)):
        if type(value).__name__ not in CLASSES or hasattr(value, "__dict__"):
            yield path
        for attribute in attrs.fields(type(value)):
            yield from mutable_parts(getattr(value, attribute.name), f"{path}.{attribute.name}")
    elif type(value) in (FrozenList, FrozenSet, Vector) or (type(value) is tuple and ".Prompt" in path):
        for index, item in enumerate(value):
            yield from mutable_parts(item, f"{path}[{index}]")
    elif type(value) is FrozenDict:
        for key, item in value.items():
            yield from mutable_parts(key, f"{path} key {key!r}")
            yield from mutable_parts(item, f"{path}.{key}")
    # An exception is carried as it was raised: the caller's, and nothing in the core looks into it.
    elif not isinstance(value, (*PLAIN, *HANDED, Exception)):
        yield path


@pytest.mark.parametrize("name", CLASSES)
def test_a_public_value_is_hashable_and_deeply_immutable(name: str) -> None:
    value = make(name)
    if isinstance(value, get_args(Message)):
        message_to_wire(value)
    # Prompts that are folded so far are handed to nobody, and have tuples.
    is_prompt = name in ("PromptForm", "PromptState", "Rounds")
    assert list(mutable_parts(value, "$.Prompt" if is_prompt else "$")) == []
    assert hash(value) == hash(value)
    assert value == attrs.evolve(value)


# What people, drivers and models make; all else is made by the machine, of parts that are values already.
GIVEN: Final = {
    *("Settings", "StepOverride", "StepResults", *(cls.__name__ for cls in get_args(Outcome))),
    *(
        "ToolSucceeded",
        "ToolFailed",
        "Interrupt",
        "SystemMessage",
        *(cls.__name__ for cls in get_args(Message)),
    ),
}


def test_the_classes_are_those_of_all_rooms_of_the_core() -> None:
    assert {"UserMessage", "Chains", "StepOverride", "Settings", "Run", "StepAccount"} <= CLASSES.keys()


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_a_value_that_people_make_converts_each_field_that_can_be_mutable(name: str) -> None:
    plain = ("JsonValue", "JsonObject", "Vector", "tuple", "frozenset", "SystemPrompt", "UserContent")
    for field in attrs.fields(CLASSES[name]):
        annotation = CLASSES[name].__annotations__.get(field.name, "")
        assert field.converter is not None or not field.init or not annotation.startswith(plain), field.name


@settings(max_examples=25)
@given(plays)
def test_what_the_machine_makes_of_it_is_deeply_immutable(play: Play) -> None:
    runs = played(play)
    for run in (runs[-1], runs[len(runs) // 2]):
        found = mutable_parts(attrs.evolve(run, outcomes=vector(), history=vector()))
        # Prompts that are folded so far are handed to nobody, and have tuples.
        assert [path for path in found if ".folded" not in path] == []


@pytest.mark.parametrize("name", CLASSES)
def test_no_attribute_of_a_public_value_can_be_set_or_deleted(name: str) -> None:
    value = make(name)
    before = repr(value)
    for attribute in [a.name for a in attrs.fields(type(value))] + ["anything"]:
        with pytest.raises(AttributeError):
            setattr(value, attribute, 1)
        with pytest.raises(AttributeError):
            delattr(value, attribute)
    assert repr(value) == before


@pytest.mark.parametrize("name", [cls.__name__ for cls in get_args(Message)])
def test_a_message_with_every_field_survives_the_wire(name: str) -> None:
    message = make(name)
    assert message.provider_options is not None
    assert message_from_wire(message_to_wire(message)) == message


@frozen
class Leaky:
    items: Any


def test_the_walk_finds_a_list_in_a_frozen_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CLASSES, "Leaky", Leaky)
    assert list(mutable_parts(Leaky(FrozenList((1, FrozenDict(a=[2])))))) == ["$.items[1].a"]
    assert list(mutable_parts(Leaky({}))) == ["$.items"]
