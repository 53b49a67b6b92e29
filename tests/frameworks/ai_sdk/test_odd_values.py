"""Values that languages hold in different ways, through the reference."""

from __future__ import annotations

import json

import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.reference import PROFILE_NAMES, trace
from agentcore.kit.program import BadProgram

ALL = pytest.mark.parametrize("profile", PROFILE_NAMES)


@ALL
def test_a_lone_surrogate_is_a_text_and_a_key_like_any_other(profile: str) -> None:
    message = '{"role": "user", "content": "\\ud800", "providerOptions": {"\\udfff": {"\\ud800": 1}}}'
    program = FAMILY.parse(f'{{"id": 1, "path": "generate", "messages": [{message}], "script": [[]]}}')
    result = trace(program, profile)
    assert result["error"] is None
    assert result["caller"] == [
        {"role": "user", "content": "\ud800", "providerOptions": {"\udfff": {"\ud800": 1}}}
    ]


@pytest.mark.parametrize("profile", ["immutable", "ai-sdk-6/stream", "ai-sdk-6/generate"])
def test_messages_that_are_none_are_so_whatever_their_keys_hold(profile: str) -> None:
    program = FAMILY.parse(
        '{"id": 1, "path": "stream", "messages": [{"role": "user", "\\ud800": 1}], "script": [[]]}'
    )
    assert trace(program, profile)["error"]["name"] == "AI_InvalidPromptError"


def test_a_computed_field_that_is_undefined_is_not_there() -> None:
    program = {
        "id": 1,
        "path": "generate",
        "messages": [{"role": "user", "content": "hi"}],
        "script": [[{"type": "text", "text": "t"}]],
        "hooks": {"onStepFinish": [[{"keep": ["reasoningText"], "as": "r"}, {"keep": ["text"], "as": "t"}]]},
    }
    assert len(trace(program)["opErrors"]) == 1


@pytest.mark.parametrize("text", ["1e999", "-1e999", "NaN", "Infinity", "1" * 5000])
def test_numbers_that_no_double_holds_are_no_program(text: str) -> None:
    line = f'{{"id": 1, "path": "stream", "messages": [], "script": [], "options": {{"x": {text}}}}}'
    with pytest.raises(BadProgram):
        FAMILY.parse(line)


def test_an_approved_call_without_input_is_traced_without_one() -> None:
    call = {"type": "tool-call", "toolCallId": "c0", "toolName": "look"}
    request = {"type": "tool-approval-request", "approvalId": "a0", "toolCallId": "c0"}
    answer = {"type": "tool-approval-response", "approvalId": "a0", "approved": True}
    program = {
        "id": 1,
        "path": "generate",
        "messages": [
            {"role": "assistant", "content": [call, request]},
            {"role": "tool", "content": [answer]},
        ],
        "script": [],
        "tools": {"look": {"output": 1}},
    }
    (approval,) = json.loads(json.dumps(trace(program, "ai-sdk-7/generate")))["approvals"]
    assert {*approval} == {"toolName", "toolCallId", "messages"}
