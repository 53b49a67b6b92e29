"""What ai@7.0.173 does with messages, row by row of what changed since 6.0.134, on both paths.

Not checkable here: what a failed call is retried with (scripted models do not fail so), steering, sandboxes,
`toolOrder` and the settings of the model call, which no message shows; what tools that take time do to the
order of results; `repairToolCall`. Dates and class instances in outputs are in test_host_values.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.emulation.settings import Tool
from agentcore.heap.heap import UNDEFINED
from frameworks.ai_sdk.scene import Scene, approval, calls, dump, live, look, says, user
from frameworks.ai_sdk.seven import GENERATE, REMINDER, STREAM, at, both, counts

# ---------------------------------------------------------------- the chain


@both
def test_a_step_is_given_what_the_last_one_was_given_and_its_response(path: str) -> None:
    scene = Scene(path).run()
    roles = [[message["role"] for message in given] for given in scene.prepared]
    assert roles == [["user"], ["user", "assistant", "tool"], ["user", *("assistant", "tool") * 2]]


@both
def test_a_returned_override_is_the_base_of_all_later_steps(path: str) -> None:
    scene = Scene(path, prepare_step=at(0, lambda _: {"messages": [user("instead")]})).run()
    assert counts(scene, "instead") == [1, 1, 1]
    assert counts(scene, "hello") == [0, 0, 0]


@both
@pytest.mark.parametrize(
    "change",
    [
        lambda given: given["messages"].append(REMINDER),
        lambda given: given["messages"].insert(0, REMINDER),
        lambda given: given["messages"].__setitem__(0, REMINDER),
    ],
    ids=["push", "splice", "replace"],
)
def test_what_is_done_to_the_list_in_place_stays(path: str, change: Any) -> None:
    scene = Scene(path, prepare_step=at(0, lambda given: (change(given), None)[1])).run()
    assert counts(scene, "a reminder") == [1, 1, 1]


@both
def test_a_filter_deletes_for_the_rest_of_the_run(path: str) -> None:
    messages = [user("first"), {"role": "assistant", "content": "old"}, user("next")]
    hook = at(0, lambda given: {"messages": [m for m in given["messages"] if m["role"] == "user"]})
    scene = Scene(path, messages=messages, prepare_step=hook).run()
    assert counts(scene, "old") == [0, 0, 0]


@both
def test_a_reminder_appended_at_every_step_accumulates(path: str) -> None:
    scene = Scene(path, prepare_step=lambda given: {"messages": [*given["messages"], REMINDER]}).run()
    assert counts(scene, "a reminder") == [1, 2, 3]


@both
def test_an_override_is_given_to_tools_and_to_those_who_watch_them(path: str) -> None:
    seen: dict[str, list[Any]] = {}

    def saw(name: str, options: Any) -> None:
        seen.setdefault(name, options["messages"].thaw())

    def asks(given: Any, options: Any) -> bool:
        del given
        saw("needsApproval", options)
        return False

    def execute(given: Any, options: Any) -> Any:
        saw("execute", options)
        return look(given, options)

    tool = Tool(execute=execute, needs_approval=asks, on_input_available=lambda o: saw("onInputAvailable", o))
    Scene(
        path,
        tools={"look": tool},
        prepare_step=at(0, lambda _: {"messages": [user("instead")]}),
        on_step_start=lambda event: saw("onStepStart", event),
        on_tool_call_start=lambda event: saw("onToolExecutionStart", event),
        on_tool_call_finish=lambda event: saw("onToolExecutionEnd", event),
    ).run()
    assert len(seen) == 6
    assert all(messages == [user("instead")] for messages in seen.values())


@both
@pytest.mark.parametrize("where", ["execute", "on_tool_call_start", "on_step_start"])
def test_a_push_on_the_messages_of_tools_and_observers_stays(path: str, where: str) -> None:
    pushed: list[Any] = []

    def push(event: Any) -> None:
        if not pushed:
            pushed.append(event["messages"].append(REMINDER))

    def execute(given: Any, options: Any) -> Any:
        push(options)
        return look(given, options)

    hooks: dict[str, Any] = {} if where == "execute" else {where: push}
    tool = Tool(execute=execute if where == "execute" else look)
    scene = Scene(path, tools={"look": tool}, **hooks).run()
    assert counts(scene, "a reminder") == [0, 1, 1]


@pytest.mark.parametrize(("path", "then"), [(STREAM, 1), (GENERATE, 0)])
def test_what_on_step_finish_pushes_to_the_kept_list_stays_on_stream_only(path: str, then: int) -> None:
    scene = Scene(
        path, on_step_finish=lambda result: result["stepNumber"] or scene.arrays[0].append(REMINDER)
    )
    scene.run()
    assert counts(scene, "a reminder") == [0, then, then]


@both
def test_the_callers_array_is_read_once(path: str) -> None:
    scene = Scene(path, on_step_finish=lambda _: scene.caller.append(user("pushed by the caller")))
    scene.run()
    assert counts(scene, "pushed by the caller") == [0, 0, 0]


@both
def test_a_field_of_an_initial_message_is_the_callers_own(path: str) -> None:
    scene = Scene(path, prepare_step=at(1, lambda given: given["messages"][0].update(content="written")))
    scene.run()
    assert counts(scene, "written") == [0, 1, 1]
    assert scene.caller[0]["content"] == "written"


@both
@pytest.mark.parametrize("name", ["system", "instructions"])
def test_a_system_override_stays(path: str, name: str) -> None:
    scene = Scene(path, system="one", prepare_step=at(1, lambda _: {name: "two"})).run()
    assert [prompt[0]["content"] for prompt in scene.prompts] == ["one", "two", "two"]


@both
def test_the_instructions_of_the_call_and_of_a_hook_win_over_a_system_prompt(path: str) -> None:
    hook = at(1, lambda _: {"instructions": "three", "system": "four"})
    scene = Scene(path, system="one", options={"instructions": "two"}, prepare_step=hook).run()
    assert [prompt[0]["content"] for prompt in scene.prompts] == ["two", "three", "three"]


@both
def test_a_context_of_the_older_name_is_ignored(path: str) -> None:
    given: list[Any] = []

    def hook(argument: Any) -> Any:
        given.append(dict(argument))
        return {"experimental_context": {"b": 1}}

    scene = Scene(
        path,
        options={"experimental_context": {"a": 1}},
        tools={"look": Tool(execute=lambda _, options: given.append(dict(options)))},
        prepare_step=hook,
    ).run()
    assert scene.error is None
    assert not any("experimental_context" in argument for argument in given)


@both
@pytest.mark.parametrize("name", ["runtimeContext", "toolsContext"])
def test_an_override_of_a_context_stays_and_null_is_none(path: str, name: str) -> None:
    seen: list[Any] = []
    results = [{name: {"look": 2}}, {name: None}, None]

    def hook(given: Any) -> Any:
        seen.append(given[name].thaw())
        return results[given["stepNumber"]]

    Scene(path, options={name: {"look": 1}}, prepare_step=hook).run()
    assert seen == [{"look": 1}, {"look": 2}, {"look": 2}]


@both
def test_contexts_that_the_call_does_not_give_are_empty_objects_that_stay(path: str) -> None:
    seen: list[Any] = []

    def hook(given: Any) -> None:
        seen.append(given["runtimeContext"].thaw())
        given["runtimeContext"]["step"] = given["stepNumber"]

    Scene(path, prepare_step=hook).run()
    assert seen == [{}, {"step": 0}, {"step": 1}]


@both
def test_a_tool_is_given_its_own_part_of_the_tools_context(path: str) -> None:
    seen: list[Any] = []
    tool = Tool(execute=lambda _, options: seen.append(options["context"].thaw()))
    Scene(path, tools={"look": tool}, options={"toolsContext": {"look": {"a": 1}, "save": 2}}).run()
    assert seen == [{"a": 1}, {"a": 1}]


@both
def test_model_tools_choice_and_provider_options_are_overridden_for_a_step(path: str) -> None:
    tools = {"look": Tool(execute=look), "save": Tool(execute=look)}
    hook = at(
        1,
        lambda given: {
            "model": given.desk.view(scene.loop.models.new(scene.model("other"))),
            "activeTools": ["look"],
            "toolChoice": "required",
            "providerOptions": {"p": {"b": 1}},
        },
    )
    scene: Scene = Scene(path, tools=tools, options={"providerOptions": {"p": {"a": 1}}}, prepare_step=hook)
    scene.run()
    assert scene.models == ["m", "other", "m"]
    assert [len(request["tools"]) for request in scene.requests] == [2, 1, 2]
    assert [request["toolChoice"]["type"] for request in scene.requests] == ["auto", "required", "auto"]
    assert [[*request["providerOptions"]["p"]] for request in scene.requests] == [["a"], ["a", "b"], ["a"]]


# ---------------------------------------------------------------- the report


@both
def test_a_report_has_its_own_steps_messages(path: str) -> None:
    scene = Scene(path).run()
    assert [[message["role"] for message in report] for report in scene.reports] == [
        ["assistant", "tool"],
        ["assistant", "tool"],
        ["assistant"],
    ]


@both
def test_the_results_messages_are_those_of_the_reports_in_a_new_list(path: str) -> None:
    scene = Scene(path).run()
    messages = scene.desk.view(scene.loop.result_messages())
    reported = [message for step in scene.steps for message in step["response"]["messages"]]
    assert [message.ref for message in messages] == [message.ref for message in reported]


@both
def test_a_report_is_a_deep_copy(path: str) -> None:
    def write(result: Any) -> None:
        for message in result["response"]["messages"]:
            message["content"][-1]["providerOptions"] = {"p": {"written": True}}
        for part in result["response"]["messages"][0]["content"]:
            if "input" in part:
                part["input"]["of"] = "written"

    scene = Scene(path, on_step_finish=write).run()
    assert counts(scene, "written") == [0, 0, 0]
    assert dump(scene.steps[0]["response"]["messages"].thaw()).count("written") == 3
    assert dump(scene.desk.view(scene.loop.result_messages()).thaw()).count("written") == 7


@both
def test_what_is_one_object_in_a_step_is_one_in_its_report(path: str) -> None:
    def execute(given: Any, options: Any) -> Any:
        del options
        given["list"] = live(given, [])
        given["same"] = given["list"]

    scene = Scene(path, tools={"look": Tool(execute=execute)}).run()
    copied = scene.steps[0]["response"]["messages"][0]["content"][1]["input"]
    own = scene.steps[0]["content"][1]["input"]
    assert copied["list"].ref == copied["same"].ref != own["list"].ref


@both
@pytest.mark.parametrize("hook", ["on_step_finish", "stop_when"])
def test_content_written_reaches_prompts_inside_inputs_and_metadata_only(path: str, hook: str) -> None:
    def write(event: Any) -> None:
        text, call, result = event["content"] if hook == "on_step_finish" else event["steps"][0]["content"]
        text["text"] = "written text"
        call["input"]["of"] = "written input"
        call["providerMetadata"]["p"]["a"] = "written metadata"
        result["output"]["found"] = "written output"

    script = [[says("first"), calls("c0", providerMetadata={"p": {}})], [says("second")]]
    hooks: dict[str, Any] = {hook: lambda event: None if len(scene.requests) > 1 else write(event)}
    scene: Scene = Scene(path, script=script, **hooks)
    scene.run()
    assert counts(scene, "written input") == [0, 1]
    # Call and result share it.
    assert counts(scene, "written metadata") == [0, 2]
    assert counts(scene, "written text") == counts(scene, "written output") == [0, 0]


@both
def test_an_earlier_response_message_written_in_prepare_step_is_in_no_report(path: str) -> None:
    hook = at(1, lambda given: given["messages"][1]["content"][0].update(text="written"))
    scene = Scene(path, prepare_step=hook).run()
    assert counts(scene, "written") == [0, 1, 1]
    assert "written" not in dump(scene.steps.thaw())


@both
def test_the_message_made_of_approvals_is_the_loops_own_in_the_result_and_in_no_report(path: str) -> None:
    scene = Scene(path, messages=approval("a", approved=True), script=[[says("done")]]).run()
    assert [message["role"] for message in scene.reports[0]] == ["assistant"]
    first = scene.desk.view(scene.loop.result_messages())[0]
    assert first["role"] == "tool"
    assert first.ref == scene.arrays[0][3].ref


@both
def test_reasoning_of_a_step_is_a_copy_with_provider_options(path: str) -> None:
    part = {"type": "reasoning", "text": "so", "providerMetadata": {"p": {"a": 1}}}
    scene = Scene(path, script=[[part, {"type": "reasoning", "text": ""}]]).run()
    read = scene.steps[0]["reasoning"]
    assert read.thaw() == [
        {"type": "reasoning", "text": "so", "providerOptions": {"p": {"a": 1}}},
        {"type": "reasoning", "text": ""},
    ]
    read[0]["text"] = "written"
    assert scene.steps[0]["content"][0]["text"] == "so"
    assert "reasoningText" not in dict(scene.steps[0])
    assert scene.steps[0]["reasoningText"] == "so"


@both
def test_reasoning_without_text_has_no_text(path: str) -> None:
    scene = Scene(path, script=[[{"type": "reasoning", "text": ""}]]).run()
    assert scene.steps[0]["reasoningText"] is UNDEFINED
