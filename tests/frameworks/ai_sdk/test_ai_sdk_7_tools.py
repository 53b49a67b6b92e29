"""What ai@7.0.173 does with what tools return and are, on both paths: the changes since 6.0.134."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.emulation.settings import Tool
from agentcore.frameworks.ai_sdk.reference import trace
from agentcore.heap.heap import Function
from frameworks.ai_sdk.scene import SCRIPT, Scene, calls, dump, live, look, says, user
from frameworks.ai_sdk.seven import GENERATE, REMINDER, STREAM, at, both, counts, fail, outputs, tool_message

# ---------------------------------------------------------------- payloads and prompts


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
def test_a_merged_tool_message_without_options_gives_its_parts_none(path: str) -> None:
    messages = [
        user("hi"),
        {"role": "assistant", "content": [calls("a"), calls("b")]},
        tool_message("a"),
        tool_message("b", providerOptions={"p": {"of": "b"}}),
    ]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    assert prompt[2]["providerOptions"] == {"p": {"of": "b"}}
    assert not any("providerOptions" in part for part in prompt[2]["content"])


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
def test_a_call_that_needs_approval_stays_open_with_its_request(path: str) -> None:
    tools = {"look": Tool(execute=look, needs_approval=True)}
    scene = Scene(path, tools=tools).run()
    assert [part["type"] for part in scene.steps[0]["content"]] == [
        "text",
        "tool-call",
        "tool-approval-request",
    ]
    assert len(scene.requests) == 1


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
    look_starts, fail_starts = ["toolCall", "messages", "toolContext"], ["toolCall", "messages"]
    look_ends, fail_ends = ["toolContext", "toolOutput", "tool-result"], ["toolOutput", "tool-error"]
    in_turn = [look_starts, look_ends, fail_starts, fail_ends, look_starts, look_ends]
    at_once = [look_starts, fail_starts, look_starts, fail_ends, look_ends, look_ends]
    assert seen == (at_once if path == STREAM else in_turn)


@both
def test_models_are_of_the_fourth_version_and_older_ones_are_taken_too(path: str) -> None:
    seen: list[Any] = []

    def hook(given: Any) -> None:
        seen.append(given["model"]["specificationVersion"])
        given["model"]["specificationVersion"] = ("v3", "v4", "v5")[given["stepNumber"]]

    scene = Scene(path, prepare_step=hook).run()
    assert seen == ["v4", "v3", "v4"]
    assert scene.failure[0] == "AI_UnsupportedModelVersionError"


@pytest.mark.parametrize(("at_once", "ended"), [(None, ["c1", "c0"]), (2, ["c1", "c0"]), (1, ["c0", "c1"])])
def test_of_calls_only_so_many_run_at_once_as_the_settings_allow(
    at_once: int | None, ended: list[str]
) -> None:
    """As ai@7.0.173 has it: a call that waits for its turn ends after the one that it waited for."""
    calls = [
        {"type": "tool-call", "toolCallId": f"c{number}", "toolName": name, "input": {}}
        for number, name in enumerate(("slow", "quick"))
    ]
    program = {
        "id": "a",
        "path": "stream",
        "messages": [{"role": "user", "content": "hi"}],
        "script": [calls],
        "tools": {"slow": {"output": "a", "takes": 1}, "quick": {"output": "b"}},
        "options": {} if at_once is None else {"toolCallConcurrency": at_once},
    }
    content = trace(program, "ai-sdk-7/stream")["steps"][0]["onStepFinish"]["content"]
    assert [part["toolCallId"] for part in content if part["type"] == "tool-result"] == ended
