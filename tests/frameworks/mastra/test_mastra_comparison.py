"""What two traces of processors may differ in, and which programs smaller ones stay among."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.mastra.family import COMPARISON, SHRINKING
from agentcore.frameworks.mastra.program import is_well_formed
from agentcore.frameworks.mastra.programs import random_program
from agentcore.kit.choices import RandomChoices
from agentcore.kit.compare import differences

Json = dict[str, Any]
BASE: Json = {"id": "a", "version": "1", "events": [], "received": [], "error": None, "logged": []}
FAILED: Json = {"name": "Error", "class": "MastraError", "id": "KIND", "message": "p1 said: #1"}
COPIED: Json = {"name": "Error", "class": "Error", "code": "KIND", "message": "failed — #1; step p1: #1"}

PERMITTED: dict[str, tuple[Json, Json]] = {
    "id": (BASE, {**BASE, "id": "b"}),
    "version": (BASE, {**BASE, "version": "2"}),
    "logged": (BASE, {**BASE, "logged": [{"line": "x"}]}),
    "opErrors": ({**BASE, "opErrors": ["no element 1"]}, {**BASE, "opErrors": ["nothing there"]}),
    "error.message": ({**BASE, "error": FAILED}, {**BASE, "error": {**FAILED, "message": "#1"}}),
    "error.class": (
        {**BASE, "error": FAILED},
        {**BASE, "error": {**COPIED, "message": FAILED["message"]}},
    ),
    "error.cause": (
        {**BASE, "error": FAILED},
        {**BASE, "error": {**FAILED, "cause": {"message": "#1"}}},
    ),
}


@pytest.mark.parametrize("name", PERMITTED)
def test_what_is_permitted_is_no_difference_unless_it_is_switched_off(name: str) -> None:
    mine, theirs = PERMITTED[name]
    assert differences(mine, theirs, COMPARISON) is None
    assert differences(mine, theirs, COMPARISON, strict_about=[name]) is not None


def test_every_permission_is_tested_and_says_why() -> None:
    assert {*PERMITTED} == {*COMPARISON.permitted}
    assert all(function.__doc__ for function in COMPARISON.permitted.values())


@pytest.mark.parametrize(
    ("mine", "theirs", "path"),
    [
        ({"error": FAILED}, {"error": {**FAILED, "message": "#2"}}, "$.error.message[0]"),
        ({"error": FAILED}, {"error": {**FAILED, "id": "OTHER"}}, "$.error.kind"),
        ({"error": FAILED}, {"error": None}, "$.error"),
        ({"opErrors": ["x"]}, {"opErrors": ["x", "y"]}, "$.opErrors[1]"),
        ({"opErrors": ["x"]}, {}, "$.opErrors[0]"),
        ({"events": ["p1@0"]}, {"events": ["p2@0"]}, "$.events[0]"),
        ({"callerChanged": {}}, {"callerChanged": {"messages": []}}, "$.callerChanged.messages"),
    ],
)
def test_other_differences_are_told(mine: Json, theirs: Json, path: str) -> None:
    found = differences({**BASE, **mine}, {**BASE, **theirs}, COMPARISON)
    assert found is not None
    assert found.path == path


def test_what_a_processor_was_given_is_told_before_what_came_of_it() -> None:
    mine = {"received": [{"processor": "p", "got": {"messages": [1]}}], "final": {"text": "a"}}
    theirs = {"received": [{"processor": "p", "got": {"messages": [2]}}], "final": {"text": "b"}}
    found = differences({**BASE, **mine}, {**BASE, **theirs}, COMPARISON)
    assert found is not None
    assert found.observation == "$.received[0].got"


# --- smaller programs ---------------------------------------------------------------------------------------


def test_every_random_program_is_well_formed() -> None:
    for seed in range(1_000):
        assert is_well_formed(random_program(RandomChoices(seed), "a", "mastra@1.71.0"))


CALL = {"type": "tool-call", "toolCallId": "h", "toolName": "look", "input": {}}
RESULT = {
    "type": "tool-result",
    "toolCallId": "h",
    "toolName": "look",
    "output": {"type": "json", "value": 1},
}
ASKED = {"role": "assistant", "content": [CALL]}
TEXT = {"type": "text", "text": "#1"}
INVOCATION = {"state": "result", "toolCallId": "h", "toolName": "look", "args": {}, "result": 1}


def stored(*parts: Any) -> Json:
    return {"role": "user", "content": {"format": 2, "parts": [*parts]}}


@pytest.mark.parametrize(
    "messages",
    [
        ["#1"],
        [{"role": "user", "content": "#1"}],
        [{"role": "user", "content": [TEXT]}],
        [{"role": "user", "parts": [TEXT]}],
        [stored(TEXT, {"type": "tool-invocation", "toolInvocation": INVOCATION})],
        [ASKED, {"role": "tool", "content": [RESULT]}],
    ],
)
def test_messages_in_their_forms_are_well_formed(messages: list[Any]) -> None:
    assert is_well_formed({"id": "a", "messages": messages})


@pytest.mark.parametrize(
    "messages",
    [
        [{}],
        [{"content": "#1"}],
        [{"role": "user", "content": 1}],
        [{"role": "user", "content": []}],
        [{"role": "user", "content": [{"type": "text"}]}],
        [{"role": "user", "parts": []}],
        [{"role": "user", "parts": [{"text": "#1"}]}],
        [stored()],
        [{"role": "user", "content": {"format": 2}}],
        [stored({"type": "tool-invocation", "toolInvocation": {**INVOCATION, "state": "call"}})],
        [stored({"type": "tool-invocation", "toolInvocation": {"state": "result", "args": {}, "result": 1}})],
        [ASKED],
        [{"role": "tool", "content": [RESULT]}],
        [ASKED, {"role": "tool", "content": [{**RESULT, "output": 1}]}],
    ],
)
def test_messages_that_have_lost_something_are_not_well_formed(messages: list[Any]) -> None:
    assert not is_well_formed({"id": "a", "messages": messages})


TEXT_OF_FIRST = [0, "content", "parts", 0, "text"]
SYSTEM = {"role": "system", "content": "#1"}


@pytest.mark.parametrize(
    ("op", "well_formed"),
    [
        ({"op": "set", "at": TEXT_OF_FIRST, "value": "#1"}, True),
        ({"op": "set", "at": TEXT_OF_FIRST, "value": 0}, False),
        ({"op": "set", "at": [0, "content"], "value": stored(TEXT)["content"]}, True),
        ({"op": "set", "at": [0, "content"], "value": {}}, False),
        ({"op": "set", "at": [0, "content", "content"], "value": "#1"}, True),
        ({"op": "set", "at": [0, "content", "content"], "value": 0}, False),
        ({"op": "set", "at": [0, "content", "parts", 0], "value": TEXT}, True),
        ({"op": "set", "at": [0, "content", "parts", 0], "value": 0}, False),
        ({"op": "set", "at": [0], "value": 0}, False),
        ({"op": "set", "at": [0], "message": {"role": "user", "text": "#1"}}, True),
        ({"op": "set", "at": [0], "message": {"role": "", "text": "#1"}}, False),
        ({"op": "push", "at": [0, "content", "parts"], "value": TEXT}, True),
        ({"op": "push", "at": [0, "content", "parts"], "value": {}}, False),
        ({"op": "push", "value": {}}, False),
        ({"op": "push", "on": "systemMessages", "value": SYSTEM}, True),
        ({"op": "push", "on": "systemMessages", "value": "#1"}, False),
        ({"op": "set", "on": "systemMessages", "at": [0, "content"], "value": 0}, False),
        ({"op": "push", "on": "steps", "value": {}}, True),
        ({"op": "push", "on": "steps", "value": 0}, False),
        ({"op": "set", "on": "toolChoice", "at": ["toolName"], "value": 0}, False),
        ({"op": "set", "on": "providerOptions", "at": ["x"], "value": 0}, True),
        ({"op": "splice", "items": [{"value": 0}]}, False),
        ({"op": "splice", "on": "steps", "items": [{"value": 0}]}, True),
        ({"op": "splice", "items": [{"message": {"role": "user", "text": "#1"}}]}, True),
        ({"op": "returnMessages", "messages": [{"role": "x", "text": "#1"}]}, False),
        (
            {
                "op": "returnMessages",
                "messages": {"from": "list", "pipe": [{"concat": [{"role": "x", "text": ""}]}]},
            },
            False,
        ),
        ({"op": "reverse"}, True),
    ],
)
def test_what_ops_put_into_messages_is_well_formed_or_not(op: Json, well_formed: bool) -> None:
    for program in ({"prepareStep": {"0": [op]}}, {"processors": [{"id": "p", "input": [op]}]}):
        assert is_well_formed({"id": "a", **program}) is well_formed


def smaller(program: Json) -> list[Json]:
    return [candidate for edits in SHRINKING.edits for candidate in edits(lambda: program)]


ANSWERS = [[TEXT], [{"type": "text", "text": "#2"}]]


def test_ops_move_up_with_the_steps_that_are_taken_out() -> None:
    program = {"id": "a", "script": ANSWERS, "prepareStep": {"1": [{"op": "reverse"}], "*": []}}
    expected = {"id": "a", "script": ANSWERS[1:], "prepareStep": {"0": [{"op": "reverse"}], "*": []}}
    assert expected in smaller(program)


def test_ops_for_every_step_become_ops_for_one() -> None:
    program = {"id": "a", "prepareStep": {"*": [{"op": "reverse"}]}}
    assert {"id": "a", "prepareStep": {"0": [{"op": "reverse"}]}} in smaller(program)


def test_a_processor_becomes_prepare_step() -> None:
    program = {"id": "a", "processors": [{"id": "p", "steps": {"0": [{"op": "reverse"}]}}]}
    assert {"id": "a", "processors": [], "prepareStep": {"0": [{"op": "reverse"}]}} in smaller(program)


def test_fewer_answers_are_smaller_than_fewer_ops() -> None:
    assert SHRINKING.measure({"id": "a", "script": ANSWERS}) == (2, 0)
    program = {"id": "a", "processors": [{"id": "p", "input": [{"op": "reverse"}] * 2}]}
    assert SHRINKING.measure(program) == (0, 2)
