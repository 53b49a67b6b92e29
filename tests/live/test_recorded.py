"""Recorded conversations are read in the format of live checks and as the messages of frameworks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest

import agentcore
from agentcore.live.conversations import PIXEL, conversation
from agentcore.live.recorded import recorded, sample

_SCHEMA: Final = Path(agentcore.__file__).parent / "live" / "schemas" / "conversation.schema.json"
VALID: Final = jsonschema_rs.validator_for(json.loads(_SCHEMA.read_text("utf-8")))

CALL: Final = {"type": "call", "id": "c1", "tool": "pay", "input": {"n": 1}, "output": {"ok": True}}
EXPECTED: Final[list[Any]] = [
    {"role": "user", "parts": [{"type": "text", "text": "please pay"}]},
    {"role": "assistant", "parts": [CALL]},
    {"role": "assistant", "parts": [{"type": "text", "text": "paid"}]},
    {"role": "user", "parts": [{"type": "text", "text": "thanks"}]},
]
OK: Final = json.dumps({"ok": True})

FORMS: Final[dict[str, list[Any]]] = {
    "OpenAI chat": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "please pay"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n":1}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": {"ok": True}},
        {"role": "assistant", "content": "paid"},
        {"role": "user", "content": "thanks"},
    ],
    "Responses API": [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "input_text", "text": "please pay"}]},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "call_id": "c1", "id": "fc", "name": "pay", "arguments": '{"n":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": {"ok": True}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "paid"}]},
        {"role": "user", "content": "thanks"},
    ],
    "Anthropic": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "please pay"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": {"n": 1}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": {"ok": True}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "paid"}]},
        {"role": "user", "content": "thanks"},
    ],
    "AI SDK": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "please pay"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "pay", "input": {"n": 1}}],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "pay",
                    "output": {"type": "json", "value": {"ok": True}},
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "paid"}]},
        {"role": "user", "content": "thanks"},
    ],
    "LangChain": [
        {"type": "system", "data": {"content": "be brief"}},
        {"type": "human", "data": {"content": "please pay"}},
        {
            "type": "ai",
            "data": {"content": "", "tool_calls": [{"id": "c1", "name": "pay", "args": {"n": 1}}]},
        },
        {"type": "tool", "data": {"content": {"ok": True}, "tool_call_id": "c1"}},
        {"type": "ai", "data": {"content": "paid", "tool_calls": []}},
        {"type": "human", "data": {"content": "thanks"}},
    ],
    "pydantic-ai": [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "be brief"},
                {"part_kind": "user-prompt", "content": "please pay"},
            ],
        },
        {
            "kind": "response",
            "parts": [
                {"part_kind": "tool-call", "tool_name": "pay", "args": '{"n":1}', "tool_call_id": "c1"}
            ],
        },
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "tool-return",
                    "tool_name": "pay",
                    "content": {"ok": True},
                    "tool_call_id": "c1",
                }
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": "paid"}]},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "thanks"}]},
    ],
}


def read(tmp_path: Path, value: Any) -> list[dict[str, Any]]:
    file = tmp_path / "messages.json"
    file.write_text(json.dumps(value), encoding="utf-8")
    return recorded(file)


@pytest.mark.parametrize("form", FORMS)
def test_messages_of_a_framework_are_a_conversation(tmp_path: Path, form: str) -> None:
    (made,) = read(tmp_path, FORMS[form])
    VALID.validate(made)
    assert made["instructions"] == "be brief"
    assert made["turns"] == [
        {"messages": EXPECTED, "answers": [{"parts": [{"type": "text", "text": "done"}]}]},
    ]


@pytest.mark.parametrize("form", FORMS)
def test_what_comes_after_the_last_message_of_the_user_are_answers(tmp_path: Path, form: str) -> None:
    (made,) = read(tmp_path, FORMS[form][:-1])
    (turn,) = made["turns"]
    assert turn["messages"] == EXPECTED[:1]
    assert turn["answers"] == [{"parts": each["parts"]} for each in EXPECTED[1:3]]


def test_files_errors_and_what_has_no_outcome_are_read(tmp_path: Path) -> None:
    (made,) = read(
        tmp_path,
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "data:image/gif;base64,QUJD"}},
                    {"type": "image", "image": "https://example.com/cat.png", "mediaType": "image/png"},
                ],
            },
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "a", "function": {"name": "see it", "arguments": "no json"}},
                    {"id": "b", "function": {"name": "2see", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "broken", "status": "error"},
        ],
    )
    VALID.validate(made)
    (turn,) = made["turns"]
    assert [part["type"] for part in turn["messages"][0]["parts"]] == ["text", "file", "file"]
    assert turn["messages"][0]["parts"][1] == {"type": "file", "mediaType": "image/gif", "data": "QUJD"}
    assert turn["answers"][0]["parts"] == [
        {"type": "call", "id": "a", "tool": "see_it", "input": {"text": "no json"}, "error": "broken"},
        {"type": "call", "id": "b", "tool": "_2see", "input": {}, "output": None},
    ]
    assert turn["answers"][1] == {"parts": [{"type": "text", "text": "done"}]}


def test_two_messages_of_the_user_are_two(tmp_path: Path) -> None:
    (made,) = read(
        tmp_path, {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}
    )
    assert [each["parts"][0]["text"] for each in made["turns"][0]["messages"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([{"role": "user", "content": "a"}, 7], r"messages.json\[1\] is no message that is known"),
        ([{"speaker": "user", "words": "a"}], r"messages.json\[0\] is no message that is known"),
        ([{"role": "assistant", "content": "a"}], "has no message of a user"),
        ([], "has no message of a user"),
        ({"format": 2, "turns": []}, "no conversation of format 1"),
        ({"format": 1, "turns": [{"messages": [], "answers": []}]}, "a turn needs `messages`"),
        (7, "no conversation of format 1"),
    ],
)
def test_what_is_not_known_is_refused_with_its_place(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(tmp_path, value)


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "messages.json"
    file.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="is no JSON"):
        recorded(file)


def test_recorded_conversations_come_first_and_then_variants_of_them(tmp_path: Path) -> None:
    known = read(tmp_path, FORMS["AI SDK"])
    assert sample(0, known, 3, ()) == known[0]
    for index in range(1, 30):
        made = sample(index, known, 3, ("hello",))
        VALID.validate(made)
        first, turn = made["turns"]
        assert first["messages"] == EXPECTED[-len(first["messages"]) :]
        assert turn["messages"][-1]["role"] == "user"
    assert sample(4, [], 3, ("x",)) == conversation(7, ("x",))


def test_reasoning_files_and_lists_of_parts_are_read_in_the_spellings_of_the_frameworks(
    tmp_path: Path,
) -> None:
    (made,) = read(
        tmp_path,
        [
            {
                "role": "user",
                "content": [
                    {"part_kind": "user-prompt", "content": ["look", {"type": "file", "data": "QUJD"}]},
                    {"type": "file", "data": "QUJD", "mediaType": "text/plain"},
                    {"type": "file", "data": "not base64!", "media_type": "text/plain"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "reasoning", "text": ""},
                    {"type": "text", "text": "yes"},
                ],
            },
        ],
    )
    VALID.validate(made)
    (turn,) = made["turns"]
    assert turn["messages"][0]["parts"] == [
        {"type": "text", "text": "look"},
        {"type": "file", "mediaType": "image/png", "data": "QUJD"},
        {"type": "file", "mediaType": "text/plain", "data": "QUJD"},
        {"type": "file", "mediaType": "text/plain", "data": PIXEL},
    ]
    assert turn["answers"][0]["parts"] == [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "yes"},
    ]
