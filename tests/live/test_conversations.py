"""Conversations that are made smaller: each cut is one, and the smallest is what it has to be."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from agentcore.live.conversations import conversation, smaller

Json = dict[str, Any]
CALL: Final[Json] = {"type": "call", "id": "call_1", "tool": "look", "input": {"query": "q"}}
REQUEST: Final[Json] = {"role": "user", "parts": [{"type": "text", "text": "one two three four"}]}
DONE: Final[Json] = {"parts": [{"type": "text", "text": "all done here"}]}


def asked(*answers: Json, messages: tuple[Json, ...] = (REQUEST,)) -> Json:
    return {"messages": [*messages], "answers": [*answers, DONE]}


def made(*turns: Json) -> Json:
    return {"format": 1, "turns": [*turns]}


def smallest(of: Json, wanted: str) -> Json:
    """Returns the smallest conversation that still has a text in it."""
    return smaller(of, lambda one: wanted in json.dumps(one), 1000)


def only(text: str) -> Json:
    return {"role": "user", "parts": [{"type": "text", "text": text}]}


def test_one_turn_of_several_is_left() -> None:
    (turn,) = smallest(made(asked(), asked(messages=(only("mark the end"),)), asked()), "mark")["turns"]
    assert turn["messages"] == [only("mark")]


def test_of_turns_that_are_needed_the_others_go() -> None:
    turns = (asked(messages=(only("alpha"),)), asked(), asked(messages=(only("omega"),)))
    found = smaller(made(*turns), lambda one: {"alpha", "omega"} <= {*json.dumps(one).split('"')}, 1000)
    assert [turn["messages"] for turn in found["turns"]] == [[only("alpha")], [only("omega")]]


def test_messages_go_by_halves_and_one_by_one() -> None:
    told = [only(f"text{number}") for number in range(6)]
    found = smallest(made(asked(messages=(*told,))), "text4")
    assert [each["parts"][0]["text"] for each in found["turns"][0]["messages"]] == ["text4", "text5"]


@pytest.mark.parametrize(
    ("part", "wanted", "left"),
    [
        ({"error": "alpha beta gamma"}, "beta", {"error": "alpha beta gamma"}),
        ({"error": "alpha beta gamma omega"}, "beta", {"error": "alpha beta"}),
        ({"output": {"rows": [1, ["mark"]]}}, "mark", {"output": "mark"}),
        ({"output": {"rows": 1}}, "call_1", {"output": "x"}),
        ({"output": "yes", "approval": True}, "yes", {"output": "yes"}),
        ({"denied": "no", "approval": True}, "no", {"denied": "no", "approval": True}),
    ],
)
def test_what_a_call_comes_to_is_made_smaller(part: Json, wanted: str, left: Json) -> None:
    found = smallest(made(asked({"parts": [{**CALL, **part}]})), wanted)
    [call] = [part for each in found["turns"][0]["answers"] for part in each["parts"] if "id" in part]
    assert {key: value for key, value in call.items() if key in left or key in part} == left


def test_after_so_many_tries_the_smallest_so_far_is_left() -> None:
    tried: list[Json] = []

    def shows(one: Json) -> bool:
        tried.append(one)
        return False

    of = conversation(3)
    assert smaller(of, shows, 5) == of
    assert len(tried) == 5
