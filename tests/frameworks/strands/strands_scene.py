"""Programs of the middleware format in few words, and what they come to under the three profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from agentcore.frameworks.strands.family import FAMILY

Json = dict[str, Any]

BEFORE: Final = "strands-ts@1.5.0"
NOW: Final = "strands-ts@1.19.0"
PYTHON: Final = "strands-py@1.62.0"
ALL: Final = (BEFORE, NOW, PYTHON)
EVERY: Final = pytest.mark.parametrize("profile", ALL)


def traced(profile: str, **program: Any) -> Json:
    """The trace of a program, which is one of the format."""
    whole = {"id": "test", **program}
    FAMILY.require(whole)
    return FAMILY.trace(whole, profile)


def by_profile(look: Callable[[Json], Any], **program: Any) -> tuple[Any, Any, Any]:
    """What is to be seen in the trace: before, now, in Python."""
    before, now, python = (look(traced(profile, **program)) for profile in ALL)
    return before, now, python


def says(text: str) -> list[Json]:
    return [{"text": text}]


def uses(name: str = "look", tool_use_id: str = "u1", /, **given: Any) -> Json:
    return {"toolUse": {"name": name, "toolUseId": tool_use_id, "input": given}}


def wrap(stage: str, *ops: Json) -> Json:
    return {"stage": stage, "ops": list(ops)}


def on_input(stage: str, *ops: Json) -> Json:
    return {"stage": stage, "phase": "input", "ops": list(ops)}


def on_output(stage: str, *ops: Json) -> Json:
    return {"stage": stage, "phase": "output", "ops": list(ops)}


def hook(on: str, *ops: Json) -> Json:
    return {"on": on, "ops": list(ops)}


def put(*path: Any, value: Any, **more: Any) -> Json:
    return {"op": "set", "path": list(path), "value": value, **more}


def add(*path: Any, value: Any, **more: Any) -> Json:
    return {"op": "append", "path": list(path), "value": value, **more}


def copied(*path: Any, value: Any, action: str = "set", **more: Any) -> Json:
    return {"op": "with", "action": action, "path": list(path), "value": value, **more}


def op(name: str, **more: Any) -> Json:
    return {"op": name, **more}


NEXT: Final[Json] = {"op": "next"}
LOOK: Final[Json] = {"look": {"output": "seen"}}


def texts(messages: Iterable[Json]) -> list[str]:
    """All texts of messages."""
    return [block["text"] for message in messages for block in message["content"] if "text" in block]


def errors(trace: Json) -> list[Any]:
    """How the invocations ended: the errors, None for results."""
    return [result.get("error", {}).get("type") for result in trace["results"]]
