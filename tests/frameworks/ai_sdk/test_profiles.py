from __future__ import annotations

from typing import Any

import attrs
import pytest

from agentcore.frameworks import ai_sdk
from agentcore.frameworks.ai_sdk.profiles import AI_SDK_6_STREAM, PROFILES, Base, Moment
from agentcore.frameworks.ai_sdk.reference import Recording
from agentcore.heap.copying import CopyDepth


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("caller_to_initial", CopyDepth.PART),
        ("chains_to_hooks", CopyDepth.SHARE),
        ("response_made", Moment.AFTER_STEP_FINISH),
        ("step_recorded", Moment.AFTER_STOP_WHEN),
        ("base_made", Moment.AFTER_STOP_WHEN),
    ],
)
def test_a_profile_has_no_moment_or_depth_that_its_loop_does_not_know(field: str, value: object) -> None:
    changed: dict[str, Any] = {field: value}
    with pytest.raises(ValueError, match=field):
        attrs.evolve(AI_SDK_6_STREAM, **changed)


def test_a_profile_is_found_by_its_name() -> None:
    assert {name: profile.name for name, profile in PROFILES.items()} == {name: name for name in PROFILES}


@pytest.mark.parametrize("made", [Moment.BEFORE_STEP_FINISH, Moment.AFTER_STOP_WHEN])
def test_a_carried_base_has_the_responses_whenever_they_are_made(made: Moment) -> None:
    own = attrs.evolve(AI_SDK_6_STREAM, base=Base.CARRIED, response_made=made)
    program = {
        "id": "a",
        "path": "stream",
        "messages": [{"role": "user", "content": "hi"}],
        "script": [[{"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {}}], []],
        "tools": {"look": {"output": 1}},
        "hooks": {"prepareStep": [[{"append": ["messages"], "with": {"role": "user", "content": "r"}}]]},
    }
    later = Recording(own, program).trace()["steps"][1]["prepareStep"]["messages"]
    assert [message["role"] for message in later] == ["user", "user", "assistant", "tool"]


def test_a_name_of_nothing_shows_a_hook_nothing() -> None:
    own = attrs.evolve(AI_SDK_6_STREAM, shown_to_prepare_step=("messages", "nothing"))
    shown: list[list[str]] = []
    ai_sdk.run(
        own,
        ai_sdk.Settings(
            messages=[{"role": "user", "content": "hi"}],
            model=ai_sdk.Model(id="m", answer=lambda _: []),
            hooks=ai_sdk.Hooks(prepare_step=lambda step: shown.append([*step])),
        ),
    )
    assert shown == [["messages"]]
