"""What ai@7.0.173 does with messages, row by row of what changed since 6.0.134, on both paths.

Not checkable here: what a failed call is retried with (scripted models do not fail so), steering, sandboxes,
`toolOrder` and the settings of the model call, which no message shows; what tools that take time do to the
order of results; dates and class instances in outputs (a heap holds JSON and functions); `repairToolCall`.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.compat.heap import UNDEFINED, Function
from agentcore.compat.settings import Tool
from compat.scene import SCRIPT, Scene, approval, calls, dump, live, look, says, user, user_list

STREAM = "ai-sdk-7/stream"
GENERATE = "ai-sdk-7/generate"
both = pytest.mark.parametrize("path", [STREAM, GENERATE])
REMINDER = user("a reminder")


def counts(scene: Scene, text: str) -> list[int]:
    """How often a text is in each prompt."""
    return [dump(prompt).count(text) for prompt in scene.prompts]


def at(step: int, change: Any) -> Any:
    """A step hook that acts at one step only."""
    return lambda given: change(given) if given["stepNumber"] == step else None


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
    pushed = []

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
    scene = Scene(
        path,
        options={"experimental_context": {"a": 1}},
        tools={"look": Tool(execute=lambda _, options: given.append(dict(options)))},
        prepare_step=lambda argument: given.append(dict(argument)) or {"experimental_context": {"b": 1}},
    ).run()
    assert scene.error is None
    assert not any("experimental_context" in argument for argument in given)


@both
@pytest.mark.parametrize("name", ["runtimeContext", "toolsContext"])
def test_an_override_of_a_context_stays_and_null_is_none(path: str, name: str) -> None:
    seen: list[Any] = []
    results = [{name: {"look": 2}}, {name: None}, None]
    Scene(
        path,
        options={name: {"look": 1}},
        prepare_step=lambda given: (seen.append(given[name].thaw()), results[given["stepNumber"]])[1],
    ).run()
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
    scene = Scene(path, tools=tools, options={"providerOptions": {"p": {"a": 1}}}, prepare_step=hook)
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
    assert dump(scene.steps[0]["response"].thaw()).count("written") == 3
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
    scene = Scene(path, script=script, **{hook: lambda e: None if len(scene.requests) > 1 else write(e)})
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


# ---------------------------------------------------------------- payloads and prompts


def outputs(scene: Scene, step: int) -> list[Any]:
    """The values of the results in a prompt."""
    parts = [
        part for message in scene.prompts[step] if message["role"] == "tool" for part in message["content"]
    ]
    return [part["output"]["value"] for part in parts]


@both
def test_a_kept_output_written_later_changes_the_content_only(path: str) -> None:
    kept: list[Any] = []

    def execute(given: Any, options: Any) -> Any:
        del options
        kept.append(live(given, {"v": 1}))
        return kept[-1]

    scene = Scene(path, tools={"look": Tool(execute=execute)}, on_step_finish=lambda _: kept[0].update(v=2))
    scene.run()
    assert outputs(scene, 1) == [{"v": 1}]
    assert scene.steps[0]["content"][2]["output"]["v"] == 2


@both
def test_one_object_returned_twice_ties_no_results(path: str) -> None:
    kept: list[Any] = []

    def execute(given: Any, options: Any) -> Any:
        del options
        kept.append(kept[0] if kept else live(given, {"v": 0}))
        kept[0]["v"] += 1
        return kept[0]

    scene = Scene(path, tools={"look": Tool(execute=execute)}).run()
    assert outputs(scene, 2) == [{"v": 1}, {"v": 2}]


@both
def test_an_output_is_what_json_makes_of_it(path: str) -> None:
    def execute(given: Any, options: Any) -> Any:
        del options
        shared = live(given, [1])
        function = Function(name="f")
        return live(given, {"f": function, "list": [function, shared, shared], "o": {"n": None}})

    scene = Scene(path, tools={"look": Tool(execute=execute)}).run()
    assert scene.error is None
    assert outputs(scene, 1) == [{"list": [None, [1], [1]], "o": {"n": None}}]
    message = scene.arrays[1][2]["content"][0]["output"]["value"]
    assert message["list"][1].ref != message["list"][2].ref


@both
def test_an_output_that_is_a_function_becomes_null(path: str) -> None:
    scene = Scene(path, tools={"look": Tool(execute=lambda *_: Function(name="f"))}).run()
    assert outputs(scene, 1) == [None]


@both
def test_an_output_inside_itself_cannot_be_made_a_message(path: str) -> None:
    def execute(given: Any, options: Any) -> Any:
        del options
        made = live(given, {})
        made["self"] = made
        return made

    scene = Scene(path, tools={"look": Tool(execute=execute)}).run()
    assert scene.failure == ("TypeError", "Converting circular structure to JSON")
    assert scene.loop.outcome.steps is None
    assert not scene.loop.outcome.hung


@both
def test_input_is_shared_by_tool_content_loop_and_prompt_but_not_the_report(path: str) -> None:
    seen: list[Any] = []

    def execute(given: Any, options: Any) -> Any:
        seen.append(given)
        return look(given, options)

    scene = Scene(path, tools={"look": Tool(execute=execute)}).run()
    first = seen[0].ref
    assert scene.steps[0]["content"][1]["input"].ref == first
    assert scene.arrays[1][1]["content"][1]["input"].ref == first
    assert scene.steps[0]["response"]["messages"][0]["content"][1]["input"].ref != first


@both
def test_the_prompt_holds_the_callers_own_payloads(path: str) -> None:
    call = {"type": "tool-call", "toolCallId": "a", "toolName": "look", "input": {"of": "a"}}
    output = {"type": "json", "value": {"v": 1}}
    result = {"type": "tool-result", "toolCallId": "a", "toolName": "look", "output": output}
    messages = [
        {**user("hi"), "providerOptions": {"p": {"v": 1}}},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [result]},
    ]

    def write(options: Any) -> None:
        first, second, third = options["prompt"]
        first["providerOptions"]["p"]["v"] = "written"
        second["content"][0]["input"]["of"] = "written"
        third["content"][0]["output"]["value"]["v"] = "written"

    scene = Scene(path, messages=messages, script=[[says("done")]], on_prompt=write).run()
    assert dump(scene.caller.thaw()).count("written") == 3


@both
def test_to_model_output_runs_once_for_a_result(path: str) -> None:
    ran: list[Any] = []

    def made(given: Any) -> Any:
        ran.append(given["toolCallId"])
        return {"type": "text", "value": "made"}

    scene = Scene(path, tools={"look": Tool(execute=look, to_model_output=made)}).run()
    assert ran == ["c0", "c1"]
    assert outputs(scene, 2) == ["made", "made"]


def tool_message(call_id: str, **fields: Any) -> dict[str, Any]:
    result = {"type": "tool-result", "toolCallId": call_id, "toolName": "look"}
    return {"role": "tool", "content": [{**result, "output": {"type": "text", "value": call_id}}], **fields}


@both
def test_merged_tool_messages_keep_all_provider_options(path: str) -> None:
    messages = [
        user("hi"),
        {"role": "assistant", "content": [calls("a"), calls("b"), calls("c")]},
        tool_message("a", providerOptions={"p": {"of": "a"}}),
        tool_message("b", providerOptions={"p": {"of": "b"}}),
        tool_message("c"),
    ]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    assert "providerOptions" not in prompt[2]
    options = [part.get("providerOptions") for part in prompt[2]["content"]]
    assert options == [{"p": {"of": "a"}}, {"p": {"of": "b"}}, None]


@both
def test_the_options_of_an_empty_tool_message_go_on_to_the_next(path: str) -> None:
    messages = [
        user("hi"),
        {"role": "assistant", "content": [calls("a")]},
        {"role": "tool", "content": [], "providerOptions": {"p": {"of": "none"}, "q": {"x": 1}}},
        tool_message("a", providerOptions={"p": {"of": "a"}}),
    ]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    assert prompt[2]["providerOptions"] == {"p": {"of": "a"}, "q": {"x": 1}}


PARALLEL = ((calls("c0"), calls("c1", "fail"), calls("c2")), (says("done"),))


def fail(*_: Any) -> Any:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("path", "content"),
    [(STREAM, ["c0", "c1", "c2", "c1", "c0", "c2"]), (GENERATE, ["c0", "c1", "c2", "c0", "c1", "c2"])],
)
def test_results_are_in_call_order_in_messages_and_as_ready_in_the_streams_content(
    path: str, content: list[str]
) -> None:
    tools = {"look": Tool(execute=look), "fail": Tool(execute=fail)}
    scene = Scene(path, script=PARALLEL, tools=tools).run()
    assert [part["toolCallId"] for part in scene.steps[0]["content"]] == content
    assert [part["toolCallId"] for part in scene.prepared[1][2]["content"]] == ["c0", "c1", "c2"]


@both
def test_the_text_of_a_tools_error_begins_with_its_name(path: str) -> None:
    class OutOfReachError(Exception):
        name = "OutOfReach"

    def execute(*_: Any) -> Any:
        raise OutOfReachError("no")

    scene = Scene(path, tools={"look": Tool(execute=execute)}).run()
    assert outputs(scene, 1) == ["OutOfReach: no"]


@both
def test_an_empty_text_with_metadata_stays_in_the_message(path: str) -> None:
    script = [[says("", providerMetadata={"p": {}}), says(""), calls("c0")], [says("done")]]
    scene = Scene(path, script=script).run()
    assert [part["type"] for part in scene.prepared[1][1]["content"]] == ["text", "tool-call"]


@both
def test_the_input_of_an_invalid_call_is_emptied_in_its_message_unless_it_is_an_object(path: str) -> None:
    calls_of = [{**calls(f"c{i}", "absent"), "input": given} for i, given in enumerate(("x", {"a": 1}, None))]
    scene = Scene(path, script=[calls_of, [says("done")]]).run()
    assert [part["input"] for part in scene.prepared[1][1]["content"]] == [{}, {"a": 1}, None]
    assert [part.get("input") for part in scene.steps[0].thaw()["content"][:1]] == ["x"]


@both
def test_a_providers_call_of_an_unknown_tool_gets_no_error_here(path: str) -> None:
    script = [[{**calls("c0", "absent"), "providerExecuted": True}], [says("done")]]
    scene = Scene(path, script=script).run()
    assert [part["type"] for part in scene.steps[0]["content"]] == ["tool-call"]
    assert len(scene.requests) == 1


# ---------------------------------------------------------------- prepareStep


@both
def test_prepare_step_is_shown_the_initial_messages_which_are_the_callers(path: str) -> None:
    scene = Scene(path, prepare_step=at(0, lambda given: given["initialMessages"].append(REMINDER))).run()
    assert counts(scene, "a reminder") == [0, 0, 0]
    assert scene.caller[-1].thaw() == REMINDER


@both
def test_prepare_step_is_shown_the_reports_messages_in_a_new_list(path: str) -> None:
    def hook(given: Any) -> None:
        messages = given["responseMessages"]
        messages.append(REMINDER)
        messages[0]["content"][0]["text"] = "written"

    scene = Scene(path, prepare_step=at(1, hook)).run()
    assert counts(scene, "a reminder") == counts(scene, "written") == [0, 0, 0]
    assert scene.steps[0]["response"]["messages"][0]["content"][0]["text"] == "written"


@both
def test_prepare_step_is_shown_the_instructions_in_force_and_those_of_the_call(path: str) -> None:
    seen: list[Any] = []

    def hook(given: Any) -> Any:
        seen.append((given["initialInstructions"], given["instructions"]))
        return {"system": "two"} if given["stepNumber"] == 0 else None

    Scene(path, system="one", prepare_step=hook).run()
    assert seen == [("one", "one"), ("one", "two"), ("one", "two")]


# ---------------------------------------------------------------- tools in force


@both
def test_a_call_of_a_hidden_tool_is_a_tool_error_and_does_not_run(path: str) -> None:
    ran: list[Any] = []
    tools = {"look": Tool(execute=lambda *_: ran.append(1)), "save": Tool(execute=look)}
    scene = Scene(path, tools=tools, options={"activeTools": ["save"]}).run()
    assert ran == []
    assert outputs(scene, 1) == [
        "AI_NoSuchToolError: Model tried to call unavailable tool 'look'. Available tools: save."
    ]


@both
def test_without_any_active_tool_none_is_listed(path: str) -> None:
    scene = Scene(path, options={"activeTools": []}).run()
    assert "tools" not in scene.requests[0]
    assert "No tools are available" not in outputs(scene, 1)[0]


CHOICES = [("none", SCRIPT), ("required", [[says("no")]]), ({"type": "tool", "toolName": "save"}, SCRIPT)]


@both
@pytest.mark.parametrize(("choice", "script"), CHOICES, ids=["none", "required", "named"])
def test_an_answer_that_breaks_the_tool_choice_is_an_error_and_nothing_runs(
    path: str, choice: Any, script: Any
) -> None:
    ran: list[Any] = []
    tools = {name: Tool(execute=lambda *_: ran.append(1)) for name in ("look", "save")}
    scene = Scene(path, tools=tools, script=script, options={"toolChoice": choice}).run()
    assert scene.failure[0] == "AI_ToolChoiceViolationError"
    assert ran == []
    assert len(scene.requests) == 1


def test_a_broken_tool_choice_leaves_the_step_on_stream_without_calls_that_were_forbidden() -> None:
    script = [
        [says("so"), calls("c0"), {"type": "tool-result", "toolCallId": "c0", "toolName": "x", "result": 1}]
    ]
    scene = Scene(STREAM, script=script, options={"toolChoice": "none"}).run()
    assert [part["type"] for part in scene.steps[0]["content"]] == ["text"]
    assert scene.steps[0]["finishReason"] == scene.loop.outcome.finish_reason == "error"


def test_a_broken_tool_choice_leaves_no_result_on_generate() -> None:
    scene = Scene(GENERATE, options={"toolChoice": "none"}).run()
    assert scene.loop.outcome.steps is None
    assert scene.reports == []


@both
def test_a_choice_that_is_kept_to_changes_nothing(path: str) -> None:
    scene = Scene(
        path, script=SCRIPT[:1], options={"toolChoice": {"type": "tool", "toolName": "look"}}, max_steps=1
    )
    assert scene.run().error is None
    assert [part["type"] for part in scene.steps[0]["content"]] == ["text", "tool-call", "tool-result"]


def test_the_choice_that_is_shown_at_the_step_start_is_the_models_own_on_generate_only() -> None:
    def write(event: Any) -> None:
        event["stepToolChoice"]["type"] = "required"

    script = [[says("no")]]
    assert Scene(GENERATE, script=script, on_step_start=write).run().error is not None
    assert Scene(STREAM, script=script, on_step_start=write).run().error is None


@both
def test_the_prompt_shown_at_the_step_start_is_the_models_own(path: str) -> None:
    def write(event: Any) -> None:
        event["promptMessages"][0]["content"][0]["text"] = "written"

    scene = Scene(path, script=[[says("done")]], on_step_start=write).run()
    assert counts(scene, "written") == [1]


@both
def test_a_tool_whose_execute_is_no_function_leaves_its_call_pending(path: str) -> None:
    def write(event: Any) -> None:
        event["tools"]["look"]["execute"] = 5

    scene = Scene(path, on_step_start=write).run()
    assert scene.error is None
    assert [part["type"] for part in scene.steps[0]["content"]] == ["text", "tool-call"]


@pytest.mark.parametrize(("path", "ran"), [(STREAM, 1), (GENERATE, 0)])
def test_a_providers_result_of_no_call_fails_generate_before_anything_runs(path: str, ran: int) -> None:
    count: list[Any] = []
    result = {"type": "tool-result", "toolCallId": "nowhere", "toolName": "x", "result": 1}
    tools = {"look": Tool(execute=lambda *_: count.append(1))}
    scene = Scene(path, script=[[calls("c0"), result]], tools=tools, max_steps=1).run()
    assert len(count) == ran
    assert (scene.error is None) == bool(ran)


@both
def test_observers_of_tool_calls_are_told_the_call_its_context_and_what_came_of_it(path: str) -> None:
    seen: list[Any] = []
    Scene(
        path,
        script=PARALLEL,
        tools={"look": Tool(execute=look), "fail": Tool(execute=fail)},
        options={"toolsContext": {"look": {"a": 1}}},
        max_steps=1,
        on_tool_call_start=lambda event: seen.append([*event]),
        on_tool_call_finish=lambda event: seen.append([*[*event][2:], event["toolOutput"]["type"]]),
    ).run()
    assert seen == [
        ["toolCall", "messages", "toolContext"],
        ["toolContext", "toolOutput", "tool-result"],
        ["toolCall", "messages"],
        ["toolOutput", "tool-error"],
        ["toolCall", "messages", "toolContext"],
        ["toolContext", "toolOutput", "tool-result"],
    ]


@both
def test_models_are_of_the_fourth_version_and_older_ones_are_taken_too(path: str) -> None:
    seen: list[Any] = []

    def hook(given: Any) -> None:
        seen.append(given["model"]["specificationVersion"])
        given["model"]["specificationVersion"] = ("v3", "v4", "v5")[given["stepNumber"]]

    scene = Scene(path, prepare_step=hook).run()
    assert seen == ["v4", "v3", "v4"]
    assert scene.failure[0] == "AI_UnsupportedModelVersionError"


# ---------------------------------------------------------------- what is checked


def test_each_steps_messages_are_checked_on_stream() -> None:
    for messages in ([], [{"role": "system", "content": "s"}]):
        scene = Scene(STREAM, prepare_step=at(1, lambda _, given=messages: {"messages": given})).run()
        assert scene.failure[0] == "AI_InvalidPromptError"
        assert len(scene.steps) == 1


def test_each_steps_messages_go_out_unchecked_on_generate() -> None:
    for messages, roles in ([], []), ([{"role": "system", "content": "s"}], ["system"]):
        scene = Scene(GENERATE, prepare_step=at(1, lambda _, given=messages: {"messages": given})).run()
        assert scene.error is None
        assert [message["role"] for message in scene.prompts[1]] == roles


@both
def test_no_messages_or_system_messages_among_them_are_refused_unless_allowed(path: str) -> None:
    messages = [{"role": "system", "content": "s"}, user("hi")]
    assert Scene(path, messages=[]).run().failure[0] == "AI_InvalidPromptError"
    assert Scene(path, messages=messages).run().failure[0] == "AI_InvalidPromptError"
    allowed = {"allowSystemInMessages": True}
    assert Scene(path, messages=messages, script=[[says("done")]], options=allowed).run().error is None


@both
def test_messages_of_no_schema_are_converted_as_they_are(path: str) -> None:
    messages = [{**user("hi"), "odd": 1}, {"role": "assistant", "content": [{"type": "text", "text": 7}]}]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    assert prompt[1]["content"] == [{"type": "text", "text": 7}]


# ---------------------------------------------------------------- approvals


@both
def test_a_call_is_approved_once_and_in_the_order_of_the_calls(path: str) -> None:
    def answer(index: int, *, approved: bool) -> dict[str, Any]:
        return {"type": "tool-approval-response", "approvalId": f"a{index}", "approved": approved}

    def request(index: int) -> dict[str, Any]:
        return {"type": "tool-approval-request", "approvalId": f"a{index}", "toolCallId": f"c{index}"}

    asked = [calls("c0"), calls("c1"), request(0), request(1)]
    answers = [answer(1, approved=True), answer(0, approved=True), answer(1, approved=False)]
    messages = [user("go"), {"role": "assistant", "content": asked}, {"role": "tool", "content": answers}]
    scene = Scene(path, messages=messages, script=[[says("done")]]).run()
    assert [part["toolCallId"] for part in scene.prepared[0][3]["content"]] == ["c0", "c1"]


@both
def test_a_denial_that_has_its_result_already_gets_no_other(path: str) -> None:
    messages = approval("c0", approved=False)
    denied = {
        "type": "tool-result",
        "toolCallId": "c0",
        "toolName": "look",
        "output": {"type": "execution-denied"},
    }
    messages[-1]["content"].insert(0, denied)
    scene = Scene(path, messages=messages, script=[[says("done")]]).run()
    assert len(scene.prepared[0]) == 3


@both
def test_an_approved_call_runs_as_a_copy_and_its_tool_is_asked_again(path: str) -> None:
    asked: list[Any] = []
    told: list[Any] = []

    def asks(given: Any, options: Any) -> bool:
        del given
        asked.append(options["toolCallId"])
        return True

    messages = approval("c0", approved=True)
    messages[1]["content"][0]["dynamic"] = True
    scene = Scene(
        path,
        messages=messages,
        script=[[says("done")]],
        tools={"look": Tool(execute=look, needs_approval=asks)},
        on_tool_call_start=lambda event: told.append(event["toolCall"]),
    ).run()
    assert asked == ["c0"]
    assert told[0].ref != scene.caller[1]["content"][0].ref
    assert told[0]["input"].ref == scene.caller[1]["content"][0]["input"].ref
    assert "dynamic" not in told[0]


@both
def test_an_answered_request_does_not_excuse_a_missing_result(path: str) -> None:
    messages = [*approval("c0", approved=True), user("more")]
    scene = Scene(path, messages=messages).run()
    assert scene.failure[0] == "AI_MissingToolResultsError"


@both
def test_answers_about_a_providers_call_make_no_message(path: str) -> None:
    messages = approval("c0", approved=True)
    messages[1]["content"][0]["providerExecuted"] = True
    scene = Scene(path, messages=messages, script=[[says("done")]]).run()
    assert len(scene.prepared[0]) == 3


# ---------------------------------------------------------------- failures that settle


def test_a_throwing_on_chunk_changes_nothing() -> None:
    scene = Scene(STREAM, on_chunk=fail).run()
    assert scene.error is None
    assert len(scene.steps) == 3


def test_a_chunk_hook_is_told_of_every_kind_of_part() -> None:
    kinds: list[str] = []
    tools = {"look": Tool(execute=fail)}
    Scene(
        STREAM,
        script=SCRIPT[:1],
        tools=tools,
        max_steps=1,
        on_chunk=lambda e: kinds.append(e["chunk"]["type"]),
    ).run()
    assert kinds == ["text", "tool-call", "tool-error"]


@both
def test_after_a_throwing_stop_condition_there_is_no_result_and_nothing_hangs(path: str) -> None:
    scene = Scene(path, stop_when=fail).run()
    assert str(scene.error) == "no"
    assert scene.loop.outcome.steps is None
    assert not scene.loop.outcome.hung


@pytest.mark.parametrize(("path", "error"), [(STREAM, None), (GENERATE, None)])
def test_taking_a_step_out_in_a_stop_condition_breaks_nothing(path: str, error: None) -> None:
    scene = Scene(path, stop_when=lambda event: event["steps"].pop() and None).run()
    assert scene.error is error
    assert len(scene.requests) == 3


def test_generate_reads_the_last_step_to_tell_if_the_run_goes_on() -> None:
    def drop(given: Any) -> None:
        scene.kept = given["steps"]  # type: ignore[attr-defined]

    scene = Scene(GENERATE, prepare_step=drop, on_step_finish=lambda _: scene.kept.pop())  # type: ignore[attr-defined]
    assert scene.run().failure == (
        "TypeError",
        "Cannot read properties of undefined (reading 'finishReason')",
    )


def test_a_run_that_is_interrupted_ends_on_generate() -> None:
    scene = Scene(GENERATE, on_step_finish=lambda result: result.update(finishReason="interrupted")).run()
    assert len(scene.requests) == 1
    assert scene.loop.outcome.finish_reason == "interrupted"


def test_generate_reads_the_text_of_a_last_step_that_ended_for_another_reason_than_calls() -> None:
    def end(event: Any) -> None:
        event["steps"][0]["finishReason"] = "odd"
        del event["steps"][0]["content"]

    assert Scene(GENERATE, script=[[says("done")]], on_finish=end).run().error is not None
    called = Scene(GENERATE, max_steps=1, on_finish=lambda event: event["steps"][0].pop("content") and None)
    assert called.run().error is None


@both
def test_the_last_event_lists_the_parts_of_all_steps_in_new_lists(path: str) -> None:
    seen: list[Any] = []
    scene = Scene(path, on_finish=seen.append).run()
    (event,) = seen
    assert len(event["content"]) == 7
    assert [call["toolCallId"] for call in event["toolCalls"]] == ["c0", "c1"]
    assert event["text"] == "third"
    assert len(event["responseMessages"]) == 5
    assert event["finalStep"].ref == scene.steps[2].ref
    event["content"].clear()
    assert len(scene.steps[2]["content"]) == 1


@both
def test_a_report_that_a_hook_took_away_is_missed_at_the_next_step(path: str) -> None:
    scene = Scene(path, stop_when=lambda event: event["steps"][0].pop("response") and None).run()
    assert scene.error is not None
    assert len(scene.requests) == 1


def test_an_overridden_model_is_recorded_under_its_own_name_on_stream() -> None:
    hook = at(1, lambda given: {"model": given.desk.view(scene.loop.models.new(scene.model("other")))})
    scene = Scene(STREAM, prepare_step=hook)
    scene.run()
    assert [step["model"]["modelId"] for step in scene.steps] == ["m", "other", "m"]


# ---------------------------------------------------------------- files


FILES: list[tuple[Any, Any]] = [
    ({"type": "image", "image": "aGk="}, {"mediaType": "image", "data": {"type": "data", "data": "aGk="}}),
    (
        {"type": "file", "data": "iVBORw0KGgo=", "mediaType": "text/plain", "filename": "f"},
        {"mediaType": "image/png", "filename": "f", "data": {"type": "data", "data": "iVBORw0KGgo="}},
    ),
    (
        {"type": "image", "image": "https://example.com/a.png"},
        {"mediaType": "image", "data": {"type": "url", "url": "https://example.com/a.png"}},
    ),
    (
        {"type": "file", "data": "data:text/plain;base64,aGk=", "mediaType": "x/y"},
        {"mediaType": "text/plain", "data": {"type": "data", "data": "aGk="}},
    ),
    (
        {"type": "file", "data": {"openai": "id"}, "mediaType": "x/y"},
        {"mediaType": "x/y", "data": {"type": "reference", "reference": {"openai": "id"}}},
    ),
    *(
        ({"type": "file", "data": data, "mediaType": "x/y"}, {"mediaType": "x/y", "data": data})
        for data in (
            {"type": "data", "data": "aGk="},
            {"type": "url", "url": "https://example.com/"},
            {"type": "reference", "reference": {"a": "b"}},
            {"type": "text", "text": "hi"},
        )
    ),
    (
        {"type": "odd", "data": 7, "mediaType": "x/y"},
        {"mediaType": "x/y", "data": {"type": "data", "data": 7}},
    ),
]


@both
@pytest.mark.parametrize(("part", "shown"), FILES)
def test_a_file_says_in_a_prompt_what_its_data_is(path: str, part: Any, shown: Any) -> None:
    messages = [{"role": "user", "content": [part]}]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    assert prompt[0]["content"] == [{"type": "file", **shown}]


BROKEN: list[tuple[Any, str]] = [
    ({"type": "file", "data": "aGk="}, "Error"),
    ({"type": "file", "data": "https://example.com/a"}, "AI_DownloadError"),
    (
        {"type": "file", "data": {"type": "data", "data": "data:a/b,c"}, "mediaType": "x/y"},
        "AI_InvalidDataContentError",
    ),
    ({"type": "file", "data": {"type": "url"}, "mediaType": "x/y"}, "TypeError"),
    ({"type": "file", "data": "data:nothing", "mediaType": "x/y"}, "InvalidCharacterError"),
    ({"type": "image", "image": "not base64!"}, "InvalidCharacterError"),
]


@both
@pytest.mark.parametrize(("part", "name"), BROKEN)
def test_a_file_that_cannot_be_sent_is_an_error(path: str, part: Any, name: str) -> None:
    failure = Scene(path, messages=[{"role": "user", "content": [part]}]).run().failure
    assert failure[0] == name


@both
def test_an_assistants_files_and_provider_parts_are_handed_on(path: str) -> None:
    content = [
        {"type": "file", "data": "aGk=", "mediaType": "text/plain", "filename": "f"},
        {"type": "reasoning-file", "data": "aGk=", "mediaType": "x/y"},
        {"type": "custom", "kind": "p.k", "providerOptions": {"p": {}}},
    ]
    messages = [user("hi"), {"role": "assistant", "content": content}]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    data = {"type": "data", "data": "aGk="}
    assert prompt[1]["content"] == [{**content[0], "data": data}, {**content[1], "data": data}, content[2]]


@both
def test_a_reasoning_file_holds_data_or_an_address(path: str) -> None:
    part = {"type": "reasoning-file", "data": {"type": "text", "text": "x"}, "mediaType": "x/y"}
    messages = [user("hi"), {"role": "assistant", "content": [part]}]
    assert Scene(path, messages=messages).run().failure[0] == "Error"


INLINE = {"type": "data", "data": "aGk="}
ITEMS: list[tuple[Any, Any]] = [
    ({"type": "text", "text": "hi"}, {"type": "text", "text": "hi"}),
    ({"type": "media", "data": "aGk="}, {"type": "media", "data": "aGk="}),
    (
        {"type": "file", "data": "aGk=", "mediaType": "x/y", "filename": "f"},
        {"data": INLINE, "mediaType": "x/y", "filename": "f"},
    ),
    (
        {"type": "file-data", "data": "aGk=", "mediaType": "x/y", "filename": "f"},
        {"data": INLINE, "mediaType": "x/y", "filename": "f"},
    ),
    ({"type": "image-data", "data": "aGk=", "mediaType": "x/y"}, {"data": INLINE, "mediaType": "x/y"}),
    (
        {"type": "file-url", "url": "https://example.com/a.PDF?x"},
        {"data": {"type": "url", "url": "https://example.com/a.PDF?x"}, "mediaType": "application/pdf"},
    ),
    (
        {"type": "file-url", "url": "https://example.com/a"},
        {"data": {"type": "url", "url": "https://example.com/a"}, "mediaType": "application/octet-stream"},
    ),
    (
        {"type": "image-url", "url": "https://example.com/a"},
        {"data": {"type": "url", "url": "https://example.com/a"}, "mediaType": "image"},
    ),
    (
        {"type": "file-id", "fileId": "f"},
        {"data": {"type": "reference", "reference": {"scripted": "f"}}, "mediaType": "application"},
    ),
    (
        {"type": "image-file-id", "fileId": {"p": "f"}},
        {"data": {"type": "reference", "reference": {"p": "f"}}, "mediaType": "image"},
    ),
    (
        {"type": "file-reference", "providerReference": {"p": 1}},
        {"data": {"type": "reference", "reference": {"p": 1}}, "mediaType": "application"},
    ),
    (
        {"type": "image-file-reference", "providerReference": {"p": 1}},
        {"data": {"type": "reference", "reference": {"p": 1}}, "mediaType": "image"},
    ),
]


def with_content_output(item: Any) -> list[Any]:
    result = tool_message("a")
    result["content"][0]["output"] = {"type": "content", "value": [item]}
    return [user("hi"), {"role": "assistant", "content": [calls("a")]}, result]


@both
@pytest.mark.parametrize(("item", "shown"), ITEMS)
def test_files_in_a_tools_output_are_files_of_the_prompt(path: str, item: Any, shown: Any) -> None:
    (prompt,) = Scene(path, messages=with_content_output(item), script=[[says("done")]]).run().prompts
    assert prompt[2]["content"][0]["output"]["value"] == [{"type": "file", **shown}]


@both
@pytest.mark.parametrize("item", [{"type": "file-url", "url": "nowhere"}, {"type": "image-url"}])
def test_an_address_in_a_tools_output_that_is_none_is_an_error(path: str, item: Any) -> None:
    assert Scene(path, messages=with_content_output(item)).run().error is not None


@both
def test_images_are_told_by_more_of_their_first_bytes_than_before(path: str) -> None:
    images = [
        "R0lGODlhAQ==",
        "R0lGODdhAQ==",
        "R0lGOQ==",
        "Qk0AAAAAAAAAAAAA",
        "Qk0BAQEBAQEBAQEB",
        "AAAAHGZ0eXBhdmlm",
    ]
    messages = [{"role": "user", "content": [{"type": "image", "image": image} for image in images]}]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    assert [part["mediaType"] for part in prompt[0]["content"]] == [
        *("image/gif", "image/gif", "image", "image/bmp", "image", "image/avif"),
    ]


@both
def test_the_history_is_listed_for_files_before_any_is_read(path: str) -> None:
    broken = {"type": "file", "data": {"type": "data", "data": "data:a/b,c"}, "mediaType": "x/y"}
    messages = [{"role": "user", "content": [broken]}, {"role": "tool", "content": [{"type": "tool-result"}]}]
    assert not Scene(path, messages=messages).run().failure[0].startswith("AI_")


@both
def test_user_lists_are_messages_as_before(path: str) -> None:
    (prompt,) = Scene(path, messages=[user_list("hi")], script=[[says("done")]]).run().prompts
    assert prompt == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
