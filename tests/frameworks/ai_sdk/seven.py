"""What tests of the ai-sdk-7 profiles have in common."""

from __future__ import annotations

from typing import Any, Final

import pytest

from frameworks.ai_sdk.scene import Scene, dump, user

STREAM: Final = "ai-sdk-7/stream"
GENERATE: Final = "ai-sdk-7/generate"
REMINDER: Final = user("a reminder")
both = pytest.mark.parametrize("path", [STREAM, GENERATE])


def counts(scene: Scene, text: str) -> list[int]:
    """How often a text is in each prompt."""
    return [dump(prompt).count(text) for prompt in scene.prompts]


def at(step: int, change: Any) -> Any:
    """A step hook that acts at one step only."""
    return lambda given: change(given) if given["stepNumber"] == step else None


def outputs(scene: Scene, step: int) -> list[Any]:
    """The values of the results in a prompt."""
    messages = [message for message in scene.prompts[step] if message["role"] == "tool"]
    return [part["output"]["value"] for message in messages for part in message["content"]]


def tool_message(call_id: str, **fields: Any) -> dict[str, Any]:
    """A message with the result of a call, which is its id."""
    result = {"type": "tool-result", "toolCallId": call_id, "toolName": "look"}
    return {"role": "tool", "content": [{**result, "output": {"type": "text", "value": call_id}}], **fields}


def fail(*_: Any) -> Any:
    """A tool or a hook that throws."""
    raise ValueError("no")
