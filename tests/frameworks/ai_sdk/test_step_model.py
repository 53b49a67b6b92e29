"""What a hook makes of the model of its step, with what the real packages do."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from cli.commands import lines_of, run

SIX: Final = ("ai-sdk-6/generate", "ai-sdk-6/stream", "ai-sdk-6.0.326/generate", "ai-sdk-6.0.326/stream")
SEVEN: Final = ("ai-sdk-7/generate", "ai-sdk-7/stream")


def trace(profile: str, program: dict[str, Any]) -> Any:
    return json.loads(run("trace", "--profile", profile, given=lines_of([program])).stdout)


@pytest.mark.parametrize("path", ["generate", "stream"])
@pytest.mark.parametrize("kind", ["file-id", "image-file-id"])
@pytest.mark.parametrize(
    ("provider", "key"), [("y", "y"), ("a.b", "a"), (".", ""), ("__proto__", "__proto__")]
)
def test_the_id_of_a_file_is_one_of_the_provider_that_the_model_has_in_the_step(
    path: str, kind: str, provider: str, key: str
) -> None:
    output = {"type": "content", "value": [{"type": kind, "fileId": "f"}]}
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "look", "output": output}
    call = {"type": "tool-call", "toolCallId": "k", "toolName": "look", "input": {}}
    program = {
        "id": "a",
        "path": path,
        "messages": [{"role": "tool", "content": [result]}],
        "tools": {"look": {"output": "o"}},
        "script": [[call], []],
        "hooks": {"prepareStep": [[], [{"set": ["model", "provider"], "to": provider}]]},
    }
    traced = trace(f"ai-sdk-7/{path}", program)
    items = [step["prompt"][0]["content"][0]["output"]["value"][0] for step in traced["steps"]]
    assert [item["data"]["reference"] for item in items] == [{"scripted": "f"}, {key: "f"}]


@pytest.mark.parametrize("profile", [*SIX, *SEVEN])
@pytest.mark.parametrize(
    ("version", "error"), [("v9", "AI_UnsupportedModelVersionError"), ({"toString": {}}, "TypeError")]
)
def test_the_error_of_a_model_names_its_version_as_a_text(profile: str, version: Any, error: str) -> None:
    write = {"set": ["model", "specificationVersion"], "to": version}
    program = {
        "id": "a",
        "path": profile.rpartition("/")[2],
        "messages": [{"role": "user", "content": "y"}],
        "script": [],
        "hooks": {"prepareStep": [[write]]},
    }
    assert trace(profile, program)["error"]["name"] == error
