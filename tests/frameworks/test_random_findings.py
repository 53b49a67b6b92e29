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
