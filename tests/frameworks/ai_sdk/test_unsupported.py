"""What the emulation does not have is answered by its name, and never passed over."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks import ai_sdk
from agentcore.frameworks.ai_sdk.reference import trace
from agentcore.heap.heap import NotEmulatedError
from agentcore.kit.families import FAMILIES
from agentcore.oracle.campaign.verdicts import Sides
from agentcore.oracle.drivers.driver import Answer, Unsupported

PROFILES = ("ai-sdk-6/stream", "ai-sdk-6/generate", "ai-sdk-7/stream", "ai-sdk-7/generate")
CALL = {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {}}


def program(profile: str, **fields: Any) -> dict[str, Any]:
    """A program of one step that calls a tool, and one that answers."""
    return {
        "id": "p",
        "path": profile.rpartition("/")[2],
        "messages": [{"role": "user", "content": "hi"}],
        "script": [[{"type": "text", "text": "a"}, CALL], [{"type": "text", "text": "b"}]],
        "tools": {"look": {"output": 1}},
        **fields,
    }


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", ["timeout", "experimental_telemetry", "include", "nobodyKnowsThis"])
def test_a_setting_that_is_not_emulated_is_named(profile: str, name: str) -> None:
    said = trace(program(profile, options={name: {"totalMs": 1}}), profile)
    assert said == {"id": "p", "unsupported": f"the setting {name} is not emulated"}


def test_a_run_in_python_raises_for_a_setting_that_is_not_emulated() -> None:
    settings = ai_sdk.Settings(messages=[], model=ai_sdk.Model.scripted(), options={"timeout": 1})
    with pytest.raises(NotEmulatedError, match="the setting timeout is not emulated"):
        ai_sdk.run("ai-sdk-6/stream", settings)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_header_that_is_no_text_of_ascii_is_named_where_headers_are_read(profile: str) -> None:
    said = trace(program(profile, options={"headers": {"x": "\u00e9"}}), profile)
    assert said.get("unsupported") == (
        "the header x is not emulated" if profile.endswith("generate") else None
    )


@pytest.mark.parametrize("profile", PROFILES[2:])
def test_a_time_that_the_package_measures_is_in_no_trace(profile: str) -> None:
    moved = {"set": ["content", 0, "text"], "to": {"$ref": ["performance", "stepTimeMs"]}}
    said = trace(program(profile, hooks={"onStepFinish": [[moved]]}), profile)
    assert said == {"id": "p", "unsupported": "the trace would show a time that the package measures"}


def test_a_text_with_a_drawn_id_in_it_is_in_no_trace() -> None:
    added = {"append": ["content", 0, "text"], "with": {"$ref": ["response", "id"]}}
    said = trace(program(PROFILES[0], hooks={"onStepFinish": [[added]]}), PROFILES[0])
    assert said["unsupported"] == "a text that holds what the package draws or measures is not emulated"


def test_what_the_reference_does_not_run_is_no_disagreement() -> None:
    sides = Sides(reference=trace, driver=None, family=FAMILIES["ai-sdk"])  # type: ignore[arg-type]
    verdict = sides.compared({"id": "p", "unsupported": "x"}, Answer({"id": "p"}))
    assert verdict == Unsupported("the reference: x")


def _kinds(value: Any) -> set[type]:
    if isinstance(value, dict):
        return {dict}.union(*map(_kinds, value), *map(_kinds, value.values()))
    if isinstance(value, list):
        return {list}.union(*map(_kinds, value))
    return {type(value)}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_trace_is_plain_json_also_with_errors_and_drawn_ids(profile: str) -> None:
    moved = [
        {"set": ["content", 0, "text"], "to": {"$ref": ["response", "id"]}},
        {"set": ["content", 1, "input"], "to": {"e": {"$ref": ["content", 2, "error"]}}},
        {"set": ["content", 2, "extra"], "to": {"$clone": ["content", 2, "error"]}},
    ]
    said = trace(program(profile, tools={"look": {"error": "no"}}, hooks={"onStepFinish": [moved]}), profile)
    assert _kinds(said) <= {dict, list, str, int, float, bool, type(None)}
