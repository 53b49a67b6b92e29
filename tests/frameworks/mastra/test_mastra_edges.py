"""Odd values in random programs, and parts of the package that the emulation names as left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agentcore.frameworks.mastra.program import check
from agentcore.frameworks.mastra.programs import random_program
from agentcore.frameworks.mastra.reference import PROFILE_NAMES, trace
from agentcore.kit.choices import RandomChoices

SEEDS = 400


def _programs(profile: str) -> Iterator[dict[str, Any]]:
    return (random_program(RandomChoices(seed), f"s{seed}", profile) for seed in range(SEEDS))


def test_random_programs_reach_each_of_the_edges() -> None:
    told = [json.dumps(program) for program in _programs("mastra@1.71.0")]
    for sign in (
        '"args": [',
        '"modelOutput"',
        '"twice"',
        '"metadata": {"createdAt"',
        '"id": "odd"',
        '"delete"',
    ):
        assert any(sign in text for text in told), sign


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_a_random_program_is_one_of_the_format_and_has_a_trace(profile: str) -> None:
    for program in _programs(profile):
        check(json.loads(json.dumps(program)))
        assert {"events", "unsupported"} & trace(program, profile).keys()


@pytest.mark.parametrize(
    ("program", "named"),
    [
        (
            {
                "prepareStep": {
                    "0": [{"op": "list", "call": "add", "args": [{"role": "signal", "content": "x"}]}]
                }
            },
            "a message of the role signal",
        ),
        (
            {"messages": [{"role": "user", "content": "x", "metadata": {"createdAt": "1st May"}}]},
            "the date '1st May'",
        ),
        (
            {"processors": [{"id": "p", "steps": {"0": [{"op": "return", "phase": "input"}]}}]},
            "the field phase of a result",
        ),
        (
            {
                "script": [[{"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {}}]],
                "tools": {"t": {"output": {"content": [{"type": "image", "data": "aa"}]}}},
            },
            "a result with images or audio",
        ),
        (
            {
                "messages": [
                    {
                        "id": "m",
                        "role": "user",
                        "content": {"format": 2, "parts": [], "metadata": {"mastra": {"sealed": True}}},
                    },
                    "hi",
                ]
            },
            "a sealed message",
        ),
    ],
)
def test_what_is_not_emulated_is_answered_by_name(program: dict[str, Any], named: str) -> None:
    answer = trace({"id": "x", **program}, "mastra@1.71.0")
    assert set(answer) == {"id", "unsupported"}
    assert named in answer["unsupported"]


def _call(call_id: str, name: str, number: int) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": {"n": number}}


# Of calls (id, tool), in the order of their answer, the numbers of those that ran, as mastra 1.71.0 ran them.
@pytest.mark.parametrize(
    ("calls", "ran"),
    [
        ([("a", "look"), ("a", "look"), ("c", "save")], [0, 2, 1]),
        ([("a", "look"), ("a", "look"), ("b", "nope"), ("c", "save")], [0, 1, 3]),
        ([("c", "save"), ("c", "nope"), ("a", "nope"), ("c", "look"), ("a", "look")], [0, 3, 4]),
        ([("b", "toString"), ("b", "look"), ("a", "toString"), ("c", "look")], [1, 3]),
        ([("b", "look"), ("a", "toString"), ("b", "save"), ("c", "save")], [0, 3, 2]),
    ],
)
def test_calls_of_one_id_wait_for_the_first_that_runs_unless_a_tool_is_missing(
    calls: list[tuple[str, str]], ran: list[int]
) -> None:
    answer = [_call(*each, number) for number, each in enumerate(calls)]
    program = {"id": "x", "path": "generate", "script": [answer], "tools": {"look": {}, "save": {}}}
    assert [each["input"]["n"] for each in trace(program, "mastra@1.71.0")["tools"]] == ran
