"""Programs on which random programs once found an emulation wrong, with what the real package does."""

from __future__ import annotations

import json
from typing import Any

from cli.commands import lines_of, run


def trace(profile: str, program: dict[str, Any]) -> Any:
    return json.loads(run("trace", "--profile", profile, given=lines_of([program])).stdout)


def test_no_approvals_are_looked_for_in_a_system_message() -> None:
    write = {"set": ["$caller", 0, "content"], "to": [None]}
    system = {"role": "system", "content": "y"}
    program = {
        "id": "a",
        "path": "stream",
        "messages": [system],
        "script": [],
        "hooks": {"prepareStep": [[write]]},
    }
    traced = trace("ai-sdk-6/stream", program)
    assert traced["error"] is None
    assert traced["steps"][0]["prompt"] == [{"role": "system", "content": [None]}]


def test_a_system_message_without_content_is_not_iterable() -> None:
    adds = {"op": "list", "call": "addSystem", "args": [{"role": "system"}]}
    traced = trace("mastra@1.0.4", {"id": "a", "callSystem": "y", "prepareStep": {"0": [adds]}})
    assert traced["received"][0]["threw"] == "content is not iterable"


def test_a_call_that_has_to_wait_for_others_takes_its_time_from_then_on() -> None:
    calls = [("c1", "look"), ("c2", "look"), ("c3", "save")]
    program = {
        "id": "a",
        "path": "stream",
        "messages": [{"role": "user", "content": "y"}],
        "options": {"toolCallConcurrency": 2},
        "tools": {"look": {"output": {}, "takes": 3}, "save": {"output": {}, "takes": 1}},
        "script": [
            [
                {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": {}}
                for call_id, name in calls
            ]
        ],
    }
    traced = trace("ai-sdk-7/stream", program)
    content = traced["steps"][0]["onStepFinish"]["content"]
    assert [part["toolCallId"] for part in content if part["type"] == "tool-result"] == ["c1", "c2", "c3"]
