"""What the newest AI SDK 6 does otherwise than 6.0.134, beyond what vectors show; run on ai@6.0.326."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.frameworks.ai_sdk.reference import trace

PATHS: Final = ("stream", "generate")
USER: Final = {"role": "user", "content": "hi"}
DONE: Final = [[{"type": "text", "text": "done"}]]
each_path = pytest.mark.parametrize("path", PATHS)


def run(path: str, messages: list[Any], **given: Any) -> dict[str, Any]:
    program = {"id": "a", "path": path, "messages": messages, "script": DONE, **given}
    return trace(program, f"ai-sdk-6.0.326/{path}")


def approved(given: Any, **request: Any) -> list[Any]:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": given}
    asked = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c", **request}
    answer = {"type": "tool-approval-response", "approvalId": "a", "approved": True}
    return [USER, {"role": "assistant", "content": [call, asked]}, {"role": "tool", "content": [answer]}]


@each_path
@pytest.mark.parametrize(
    ("given", "of_request", "runs"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, True),
        ({"a": [1, {"b": 2}]}, {"a": [{"b": 2}, 1]}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1], [1, 2], False),
        ([1], {"0": 1}, False),
        (1, True, False),
        (None, None, True),
        ({}, None, False),
        ("x", "x", True),
    ],
)
def test_an_approved_call_runs_with_the_input_of_its_request(
    given: Any, of_request: Any, runs: bool, path: str
) -> None:
    messages = approved(given, inputSchemaInput=of_request)
    found = run(path, messages, tools={"look": {"output": 1, "needsApproval": True}})
    output = found["steps"][0]["prompt"][-1]["content"][0]["output"]
    if runs:
        assert output == {"type": "json", "value": 1}
    else:
        unlike = "Approved tool input does not match the validated schema output."
        assert output == {"type": "error-text", "value": f"Invalid input for tool look: {unlike}"}


@each_path
def test_an_approved_call_of_a_tool_without_execute_is_not_held_against_its_request(path: str) -> None:
    messages = approved(1, inputSchemaInput=2)
    found = run(path, messages, tools={"look": {"noExecute": True, "needsApproval": True}})
    assert found["error"]["name"] == "AI_MissingToolResultsError"


@each_path
@pytest.mark.parametrize(
    ("allowed", "fails"), [(False, True), (True, False), (None, False), (0, False), ("", False)]
)
def test_only_false_forbids_system_messages(allowed: Any, fails: bool, path: str) -> None:
    messages = [{"role": "system", "content": "s"}, USER]
    found = run(path, messages, options={"allowSystemInMessages": allowed})
    assert (found["error"] is not None) is fails


@each_path
def test_a_system_message_ends_the_search_for_one(path: str) -> None:
    found = run(path, [{"role": "system", "content": "s"}, None])
    assert found["error"]["name"] == "AI_InvalidPromptError"
    assert run(path, [USER, None])["error"]["name"] == "TypeError"


@each_path
@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("https://EXAMPLE.com", "https://EXAMPLE.com"),
        ("https://example.com/a b", "https://example.com/a b"),
        ("https://example.com/", None),
    ],
)
def test_an_address_has_its_text_beside_it_if_the_parser_writes_another(
    address: str, text: str | None, path: str
) -> None:
    found = run(path, [{"role": "user", "content": [{"type": "image", "image": address}]}])
    assert found["steps"][0]["prompt"][0]["content"][0].get("originalUrl") == text


@each_path
def test_a_text_stands_beside_an_image(path: str) -> None:
    content = [{"type": "text", "text": "t"}, {"type": "image", "image": "https://example.com/"}]
    found = run(path, [{"role": "user", "content": content}])
    assert [part["type"] for part in found["steps"][0]["prompt"][0]["content"]] == ["text", "file"]
