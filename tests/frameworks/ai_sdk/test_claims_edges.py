"""Approvals, frozen and unchecked input, order and failures in ai@6.0.134: claims X14 to X19, on both paths.

What is not checkable here, and why, is told in test_claims.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.emulation.settings import Tool
from frameworks.ai_sdk.scene import (
    GENERATE,
    SCRIPT,
    STREAM,
    Scene,
    approval,
    calls,
    dump,
    look,
    says,
    user,
    user_list,
)

both = pytest.mark.parametrize("path", [STREAM, GENERATE])

OBSERVERS = (
    "on_start",
    "on_step_start",
    "on_tool_call_start",
    "on_tool_call_finish",
    "on_step_finish",
    "on_finish",
)


def throw(*_: Any) -> Any:
    raise ValueError("thrown")


# ---------------------------------------------------------------- approvals


@both
def test_an_approved_tool_is_given_the_callers_own_array_and_input(path: str) -> None:
    """X14: before step 0; a push by the tool is permanent, a write changes the caller's message."""
    steps: list[int] = []

    def execute(given: Any, options: Any) -> Any:
        steps.append(len(scene.prompts))
        given["x"] = "by the tool"
        options["messages"].append(user("pushed by the tool"))
        return look(given, options)

    scene = Scene(
        path,
        messages=approval("a", approved=True),
        tools={"look": Tool(execute=execute)},
        script=[[says("done")]],
    )
    scene.run()
    assert steps == [0]
    assert scene.caller[1]["content"][0]["input"]["x"] == "by the tool"
    assert scene.caller[-1].thaw() == user("pushed by the tool")
    assert "pushed by the tool" in dump(scene.prompts[0])


@both
def test_the_message_of_approvals_is_one_object_in_loop_and_reports_on_stream_only(path: str) -> None:
    """C5, C36, X14."""
    scene = Scene(path, messages=approval("a", approved=True)).run()
    made = scene.arrays[0][3]
    assert all(array[3].is_same(made) for array in scene.arrays)
    same = [step["response"]["messages"][0].is_same(made) for step in scene.steps]
    assert same == [path == STREAM] * 3


@both
def test_needs_approval_is_given_the_live_input(path: str) -> None:
    """X14."""

    def ask(given: Any, options: Any) -> bool:
        given["x"] = options["toolCallId"]
        return False

    scene = Scene(path, tools={"look": Tool(execute=look, needs_approval=ask)}).run()
    assert scene.prompts[1][1]["content"][1]["input"] == {"of": "c0", "x": "c0"}


@both
def test_a_call_that_asks_for_approval_ends_the_run(path: str) -> None:
    """C7: the request is in the assistant's message."""
    scene = Scene(path, tools={"look": Tool(execute=look, needs_approval=True)}).run()
    assert len(scene.prompts) == 1
    [message] = scene.reports[0]
    assert [part["type"] for part in message["content"]] == ["text", "tool-call", "tool-approval-request"]


# ---------------------------------------------------------------- frozen, unchecked


@both
def test_a_frozen_history_runs_and_takes_pushes(path: str) -> None:
    """X15."""
    scene = Scene(
        path, frozen=True, prepare_step=lambda given: given["messages"].append(user("pushed"))
    ).run()
    assert scene.error is None
    assert all("pushed" in dump(prompt) for prompt in scene.prompts)


@both
def test_a_write_to_a_frozen_history_in_prepare_step_fails_the_run(path: str) -> None:
    """X15: generate rejects, stream reports the error."""

    def write(given: Any) -> None:
        if given["stepNumber"] == 1:
            given["messages"][0]["content"] = "written"

    scene = Scene(path, frozen=True, prepare_step=write).run()
    assert scene.failure[0] == "TypeError"
    assert (scene.loop.outcome.steps is None) is (path == GENERATE)


@both
def test_hooks_may_freeze_the_messages_and_the_content_they_are_given(path: str) -> None:
    """X15."""

    def freeze(result: Any) -> None:
        for value in (result["content"], result["response"]["messages"]):
            value.desk.store.seal(value.ref)

    scene = Scene(
        path, prepare_step=lambda given: given.desk.store.seal(given["messages"].ref), on_step_finish=freeze
    ).run()
    assert scene.error is None
    assert scene.prompts == Scene(path).run().prompts


def assistant(part: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [part]}


RESULT = {
    "type": "tool-result",
    "toolCallId": "r",
    "toolName": "look",
    "output": {"type": "text", "value": "v"},
}


@both
@pytest.mark.parametrize(
    "messages", [[], [user_list("once")] * 2, [user_list("u"), {"role": "tool", "content": [RESULT]}]]
)
def test_overrides_are_not_checked(path: str, messages: list[Any]) -> None:
    """X16: an empty list, one message twice, a result without a call."""
    scene = Scene(path, script=[[says("done")]], prepare_step=lambda _: {"messages": messages}).run()
    assert scene.prompts == [messages]


@both
def test_one_object_twice_in_an_override_is_fine(path: str) -> None:
    """X16."""
    scene = Scene(
        path, script=[[says("done")]], prepare_step=lambda given: {"messages": [given["messages"][0]] * 2}
    )
    assert scene.run().prompts == [[user_list("hello")] * 2]


@both
@pytest.mark.parametrize(
    ("message", "name"),
    [
        ({"role": "nobody", "content": "c"}, "AI_InvalidMessageRoleError"),
        ({"role": "user", "content": [{"type": "nothing"}]}, "Error"),
        (assistant(calls("unanswered")), "AI_MissingToolResultsError"),
    ],
)
def test_an_unknown_role_or_part_or_a_call_without_a_result_throws(
    path: str, message: Any, name: str
) -> None:
    """X16."""
    scene = Scene(path, prepare_step=lambda _: {"messages": [message]}).run()
    assert scene.failure[0] == name
    assert scene.prompts == []


@both
def test_consecutive_tool_messages_are_one_in_the_prompt_only(path: str) -> None:
    """X17: with the first one's provider options."""
    first = {
        "role": "tool",
        "content": [{**RESULT, "toolCallId": "a"}],
        "providerOptions": {"p": {"of": "first"}},
    }
    second = {
        "role": "tool",
        "content": [{**RESULT, "toolCallId": "b"}],
        "providerOptions": {"p": {"of": "second"}},
    }
    asked = {"role": "assistant", "content": [calls("a"), calls("b")]}
    scene = Scene(path, messages=[user_list("u"), asked, first, second], script=[[says("done")]]).run()
    assert scene.prompts[0][2:] == [{**first, "content": [*first["content"], *second["content"]]}]
    assert scene.prepared[0][2:] == [first, second]


# ---------------------------------------------------------------- order, and who throws


def test_results_are_recorded_as_they_are_ready_on_stream_and_after_the_calls_on_generate() -> None:
    """X18."""
    ids = ["c0", "c1", "c2", "c3"]
    script = [[calls(call_id) for call_id in ids], [says("done")]]
    kinds = {}
    for path in (STREAM, GENERATE):
        content = Scene(path, script=script).run().steps[0]["content"].thaw()
        results = [part["toolCallId"] for part in content if part["type"] == "tool-result"]
        assert results == ids
        kinds[path] = [part["type"] for part in content]
    assert kinds[GENERATE] == ["tool-call"] * 4 + ["tool-result"] * 4
    assert kinds[STREAM].index("tool-result") < 3


@both
@pytest.mark.parametrize("hook", OBSERVERS)
def test_what_an_observer_throws_is_swallowed(path: str, hook: str) -> None:
    """X19."""
    hooks: dict[str, Any] = {hook: throw}
    scene = Scene(path, **hooks).run()
    assert scene.error is None
    assert scene.reports == Scene(path).run().reports


@both
def test_what_stop_when_throws_fails_the_run(path: str) -> None:
    """X19: on stream the result never settles."""
    scene = Scene(path, stop_when=throw).run()
    assert scene.failure == ("ValueError", "thrown")
    assert scene.loop.outcome.hung is (path == STREAM)


def test_what_on_chunk_throws_fails_a_stream() -> None:
    """X19: the result never settles."""
    scene = Scene(STREAM, on_chunk=throw).run()
    assert scene.failure == ("ValueError", "thrown")
    assert scene.loop.outcome.hung
    assert Scene(GENERATE, on_chunk=throw).run().error is None


@both
def test_what_prepare_step_throws_leaves_a_stream_its_finished_steps(path: str) -> None:
    """X19: generate rejects."""
    scene = Scene(
        path, prepare_step=lambda given: throw() if given["stepNumber"] == 2 else None, script=SCRIPT
    ).run()
    assert scene.failure == ("ValueError", "thrown")
    assert (scene.loop.outcome.steps is None) is (path == GENERATE)
    if path == STREAM:
        assert len(scene.steps) == 2


@both
def test_what_a_tool_throws_is_a_tool_error(path: str) -> None:
    """C7, X19: the run goes on."""
    scene = Scene(path, tools={"look": Tool(execute=throw)}, script=[[calls("c0")], [says("done")]]).run()
    assert scene.prepared[1][-1]["content"][0]["output"] == {"type": "error-text", "value": "thrown"}
    assert scene.error is None


# ---------------------------------------------------------------- the model's own array of parts


def with_model_parts(path: str, write: Any) -> Scene:
    """A run whose tool writes the array that the model returned."""
    kept: list[Any] = []

    def execute(given: Any, options: Any) -> Any:
        write(kept[-1])
        return look(given, options)

    scene = Scene(path, tools={"look": Tool(execute=execute)}, on_parts=kept.append, script=SCRIPT[1:])
    return scene.run()


def test_what_is_no_part_in_the_models_array_is_passed_over_on_generate() -> None:
    """Run on ai@6.0.134: what has another type than the parts of content is dropped."""
    scene = with_model_parts(GENERATE, lambda parts: parts.extend([{"type": "other"}, says("kept"), "text"]))
    assert [part["type"] for part in scene.steps[0]["content"]] == [
        "text",
        "tool-call",
        "text",
        "tool-result",
    ]


def test_a_call_put_into_the_models_array_after_the_calls_ran_fails_generate() -> None:
    """Run on ai@6.0.134: TypeError, no call was parsed for the part."""
    scene = with_model_parts(GENERATE, lambda parts: parts.append(calls("late")))
    assert scene.failure[0] == "TypeError"


def test_a_stream_does_not_read_the_models_array_again() -> None:
    """On a stream the parts are chunks."""
    scene = with_model_parts(STREAM, lambda parts: parts.append(says("late")))
    assert "late" not in dump(scene.steps[0]["content"].thaw())


def test_the_models_own_text_part_is_in_the_content_on_generate_and_a_copy_on_stream() -> None:
    """Only on generate the content has the object that the model returned."""
    for path, own in ((GENERATE, True), (STREAM, False)):
        kept: list[Any] = []
        scene = Scene(path, on_parts=kept.append, script=[[says("done")]]).run()
        assert scene.steps[0]["content"][0].is_same(kept[0][0]) is own
