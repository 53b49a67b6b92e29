from __future__ import annotations

import itertools
from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.program import features
from agentcore.frameworks.ai_sdk.programs import program_of_seed
from agentcore.kit.shrink import shrink, size

Json = dict[str, Any]


def first_with(feature: str) -> Json:
    return next(
        program for program in map(program_of_seed, itertools.count()) if feature in features(program)
    )


def test_a_program_of_which_nothing_matters_becomes_the_smallest() -> None:
    for seed in range(5):
        smallest = shrink(program_of_seed(seed), lambda _: True, FAMILY)
        assert {**smallest, "id": "", "path": ""} == {"id": "", "path": "", "messages": [], "script": []}


@pytest.mark.parametrize(
    ("feature", "steps", "ops"),
    [
        ("hook onFinish", 0, 0),
        ("op keep", 0, 1),
        ("write nested input", 0, 1),
        ("stage replace", 0, 1),
        ("override providerOptions", 0, 1),
        ("history image", 0, 0),
        ("script 3 calls", 1, 0),
        ("script 4 steps", 4, 0),
        ("tool mutate", 0, 0),
        ("write value $clone", 0, 1),
    ],
)
def test_what_matters_stays_and_the_rest_goes(feature: str, steps: int, ops: int) -> None:
    smallest = shrink(first_with(feature), lambda program: feature in features(program), FAMILY)
    assert feature in features(smallest)
    assert size(smallest, FAMILY)[:2] == (steps, ops)
    assert size(smallest, FAMILY)[2] < 300
    FAMILY.require(smallest)


def test_shrinking_is_deterministic_and_leaves_its_input_alone() -> None:
    program = first_with("op freeze")
    again = first_with("op freeze")

    def holds(candidate: Json) -> bool:
        return "op freeze" in features(candidate)

    assert shrink(program, holds, FAMILY) == shrink(again, holds, FAMILY)
    assert program == again


def test_hooks_move_with_the_steps_they_belong_to() -> None:
    op = {"throw": "x"}
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {}}
    program = program_of_seed(1) | {"script": [[call], [call], []], "hooks": {"model": [None, None, [op]]}}

    def holds(candidate: Json) -> bool:
        entries = candidate.get("hooks", {}).get("model", [])
        last = len(candidate["script"]) - 1
        return 0 <= last < len(entries) and bool(entries[last])

    smallest = shrink(program, holds, FAMILY)
    assert (smallest["script"], smallest["hooks"]) == ([[]], {"model": [[{"throw": "x"}]]})


def test_paths_follow_the_messages_they_point_to() -> None:
    texts = [{"role": "user", "content": str(index)} for index in range(4)]
    op = {"set": ["messages", 2, "content"], "to": "x"}
    program = {
        "id": "a",
        "path": "stream",
        "messages": texts,
        "script": [[]],
        "hooks": {"prepareStep": [[op]]},
    }

    def holds(candidate: Json) -> bool:
        match candidate:
            case {"hooks": {"prepareStep": [[{"set": ["messages", int(at), "content"]}]]}}:
                messages = candidate["messages"]
                return at < len(messages) and messages[at] == texts[2]
        return False

    smallest = shrink(program, holds, FAMILY)
    assert smallest["messages"] == [texts[2]]
    assert smallest["hooks"]["prepareStep"][0][0]["set"] == ["messages", 0, "content"]
