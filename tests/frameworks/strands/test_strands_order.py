"""In what order things run, and what happens when they fail: claims S65 to S69, S72 to S75, S77 to S79."""

from __future__ import annotations

from typing import Any, Final

import pytest

from frameworks.strands.strands_scene import (
    ALL,
    BEFORE,
    EVERY,
    LOOK,
    NEXT,
    NOW,
    PYTHON,
    Json,
    add,
    by_profile,
    copied,
    errors,
    hook,
    on_input,
    on_output,
    op,
    put,
    says,
    texts,
    traced,
    uses,
    wrap,
)

THROW: Final = op("throw", message="broken")


def log(trace: Json) -> list[str]:
    return [entry for entry in trace["log"] if not entry.endswith(":exit")]


# ---------------------------------------------------------------- phases


@EVERY
@pytest.mark.parametrize("stage", ["model", "tool", "stream"])
def test_input_wrap_and_output_run_in_this_order_whatever_was_registered_first(
    profile: str, stage: str
) -> None:
    middleware = [
        on_output(stage),
        on_output(stage),
        wrap(stage),
        on_input(stage),
        wrap(stage),
        on_input(stage),
    ]
    trace = traced(profile, script=[[uses()]], tools=LOOK, middleware=middleware)
    ran = [entry for entry in trace["log"] if entry.startswith("mw") and "next" not in entry]
    assert [entry.split(":")[0] + entry.rsplit(":", 1)[1][:2] for entry in ran[:12]] == [
        *("mw3en", "mw3ex", "mw5en", "mw5ex", "mw2en", "mw4en"),
        *("mw4ex", "mw2ex", "mw1en", "mw1ex", "mw0en", "mw0ex"),
    ]


@EVERY
def test_hooks_lie_outside_the_chain(profile: str) -> None:
    names = ["beforeInvocation", "messageAdded", "beforeModel", "afterModel", "afterInvocation"]
    trace = traced(profile, middleware=[wrap("model"), wrap("stream")], hooks=[hook(name) for name in names])
    assert [entry for entry in log(trace) if "next" not in entry] == [
        *("hook:beforeInvocation", "mw1:stream.wrap:enter", "hook:messageAdded", "hook:beforeModel"),
        *("mw0:model.wrap:enter", "model#0", "hook:afterModel", "hook:messageAdded", "hook:afterInvocation"),
    ]


@EVERY
def test_hooks_after_something_run_in_reverse(profile: str) -> None:
    hooks = [
        hook(on, op("observe", path=["x"], **{"as": name}))
        for on, name in [
            ("beforeModel", "b1"),
            ("afterModel", "a1"),
            ("beforeModel", "b2"),
            ("afterModel", "a2"),
        ]
    ]
    trace = traced(profile, hooks=hooks)
    assert [seen["what"] for seen in trace["observations"]] == ["b1", "b2", "a2", "a1"]


# ---------------------------------------------------------------- short circuits and retries


@EVERY
def test_a_short_circuit_of_the_model_stage_skips_what_is_inside(profile: str) -> None:
    middleware = [on_input("model"), on_output("model"), wrap("model", op("shortCircuit")), wrap("model")]
    trace = traced(profile, middleware=middleware, hooks=[hook("afterModel")])
    assert log(trace) == [
        *("mw0:model.input:enter", "mw2:model.wrap:enter", "mw1:model.output:enter", "hook:afterModel"),
    ]
    assert trace["calls"] == []
    assert trace["agentMessages"][-1] == {"role": "assistant", "content": says("(short)")}


@EVERY
def test_a_tool_use_that_a_short_circuit_makes_up_is_run(profile: str) -> None:
    handler = wrap("model", op("shortCircuit", blocks=[uses(q=1)], when=0))
    trace = traced(profile, tools=LOOK, middleware=[handler])
    assert [run["input"] for run in trace["toolRuns"]] == [{"q": 1}]


@EVERY
def test_a_short_circuit_of_the_tool_stage_is_the_result_and_is_told_of(profile: str) -> None:
    handler = wrap("tool", op("shortCircuit", content=says("mocked")))
    hooks = [hook("beforeTool"), hook("afterTool")]
    trace = traced(profile, script=[[uses()]], tools=LOOK, middleware=[handler], hooks=hooks)
    assert trace["toolRuns"] == []
    assert log(trace)[1:4] == ["hook:beforeTool", "mw0:tool.wrap:enter", "hook:afterTool"]
    result = trace["agentMessages"][2]["content"][0]["toolResult"]
    assert result == {"toolUseId": "u1", "status": "success", "content": says("mocked")}


@EVERY
def test_after_a_short_circuit_of_the_stream_stage_nothing_is_in_the_history(profile: str) -> None:
    trace = traced(profile, middleware=[wrap("stream", op("shortCircuit"))])
    assert trace["agentMessages"] == []
    assert trace["results"][0]["lastMessage"]["content"] == says("(short)")


def test_a_second_next_sees_what_was_edited_in_place_inside_the_first() -> None:
    outer = wrap("model", NEXT, op("next", ctx="original"))
    inner = wrap("model", add("messages", value={"role": "user", "content": says("more")}))
    asked = by_profile(lambda trace: texts(trace["calls"][1]["messages"]), middleware=[outer, inner])
    assert asked == (["go", "more", "more"],) * 3


@EVERY
def test_the_original_context_is_clean_of_what_was_done_to_copies(profile: str) -> None:
    more = {"role": "user", "content": says("more")}
    handler = wrap("model", copied("messages", action="append", value=more), NEXT, op("next", ctx="original"))
    trace = traced(profile, middleware=[handler])
    assert [texts(call["messages"]) for call in trace["calls"]] == [["go", "more"], ["go"]]


@EVERY
def test_of_two_results_the_last_one_counts_and_makes_one_message(profile: str) -> None:
    trace = traced(profile, script=[says("one"), says("two")], middleware=[wrap("model", NEXT, NEXT)])
    assert texts(trace["agentMessages"]) == ["go", "two"]


@EVERY
def test_a_second_next_of_the_stream_stage_puts_the_input_in_twice(profile: str) -> None:
    trace = traced(profile, script=[says("one"), says("two")], middleware=[wrap("stream", NEXT, NEXT)])
    assert texts(trace["agentMessages"]) == ["go", "one", "go", "two"]


@EVERY
def test_a_tool_that_runs_twice_sees_what_its_first_run_did_to_its_input(profile: str) -> None:
    tools = {"look": {"outputs": ["one", "two"], "mutateInput": [put("input", "n", value=1)]}}
    trace = traced(profile, script=[[uses()]], tools=tools, middleware=[wrap("tool", NEXT, NEXT)])
    assert [run["input"] for run in trace["toolRuns"]] == [{}, {"n": 1}]
    assert trace["agentMessages"][2]["content"][0]["toolResult"]["content"] == says("two")


def test_a_retry_that_a_hook_asks_for_runs_the_chain_anew_on_fresh_copies() -> None:
    handler = wrap("model", add("messages", value={"role": "user", "content": says("more")}))
    asked = by_profile(
        lambda trace: texts(trace["calls"][1]["messages"]),
        middleware=[handler],
        hooks=[hook("afterModel", op("retry", when=0))],
    )
    assert asked == (["go", "more", "more"], ["go", "more"], ["go", "more"])


@EVERY
def test_a_retry_of_a_tool_runs_it_again(profile: str) -> None:
    tools = {"look": {"outputs": ["one", "two"]}}
    hooks = [hook("afterTool", op("retry", when=0))]
    trace = traced(profile, script=[[uses()]], tools=tools, hooks=hooks)
    assert trace["agentMessages"][2]["content"][0]["toolResult"]["content"] == says("two")


@EVERY
def test_what_follows_a_stop_is_skipped_but_the_stage_runs(profile: str) -> None:
    trace = traced(profile, middleware=[wrap("model", op("stop"), THROW)])
    assert texts(trace["agentMessages"]) == ["go", "(end)"]


# ---------------------------------------------------------------- what hooks cancel


def test_a_cancelled_invocation_is_an_answer_that_is_announced_in_python_only() -> None:
    hooks = [hook("beforeInvocation", op("cancel")), hook("messageAdded"), hook("afterInvocation")]
    program: Json = {"hooks": hooks}
    assert (
        by_profile(lambda trace: texts(trace["agentMessages"]), **program)
        == (["invocation denied by hook"],) * 3
    )
    ran = ["hook:beforeInvocation", "hook:afterInvocation"]
    told = by_profile(lambda trace: trace["log"], **program)
    assert told == (ran, ran, [ran[0], "hook:messageAdded", ran[1]])


@EVERY
def test_a_cancelled_call_is_an_answer_in_the_hooks_words(profile: str) -> None:
    hooks = [hook("beforeModel", op("cancel", message="not now")), hook("afterModel")]
    trace = traced(profile, hooks=hooks)
    assert trace["calls"] == []
    assert trace["results"][0]["lastMessage"]["content"] == says("not now")
    assert trace["results"][0]["stopReason"] == "endTurn"


@EVERY
def test_a_cancelled_call_can_be_retried(profile: str) -> None:
    hooks = [hook("beforeModel", op("cancel", when=0)), hook("afterModel", op("retry", when=0))]
    assert len(traced(profile, hooks=hooks)["calls"]) == 1


@EVERY
def test_an_empty_text_cancels_nothing(profile: str) -> None:
    trace = traced(profile, hooks=[hook("beforeModel", op("cancel", message=""))])
    assert len(trace["calls"]) == 1


@EVERY
def test_cancelled_tools_are_all_answered(profile: str) -> None:
    hooks = [hook("beforeTools", op("cancel")), hook("afterTools")]
    trace = traced(profile, script=[[uses(), uses("look", "u2")]], tools=LOOK, hooks=hooks)
    content = trace["agentMessages"][2]["content"]
    assert [block["toolResult"]["content"] for block in content] == [says("Tool cancelled by hook")] * 2


def test_a_cancelled_tool_is_answered_and_can_be_retried_in_typescript_only() -> None:
    hooks = [hook("beforeTool", op("cancel", when=0)), hook("afterTool", op("retry", when=0))]
    content = by_profile(
        lambda trace: trace["agentMessages"][2]["content"][0]["toolResult"]["content"],
        script=[[uses()]],
        tools=LOOK,
        hooks=hooks,
    )
    assert content == (says("seen"), says("seen"), says("tool cancelled by user"))


# ---------------------------------------------------------------- errors in the model stage


@EVERY
def test_what_a_handler_throws_is_raised_as_it_is_and_the_input_stays(profile: str) -> None:
    middleware = [wrap("model", THROW), on_output("model")]
    trace = traced(profile, middleware=middleware, hooks=[hook("afterModel")])
    assert trace["results"][0]["error"]["message"] == "broken"
    assert "mw1:model.output:enter" not in trace["log"]
    assert "hook:afterModel" in trace["log"]
    assert texts(trace["agentMessages"]) == ["go"]


def test_a_providers_error_becomes_one_of_the_model_in_typescript() -> None:
    program: Json = {"script": [{"throw": "broken"}]}
    assert by_profile(errors, **program) == (["ModelError"], ["ModelError"], ["RuntimeError"])
    later: Json = {"script": [[uses()], {"throw": "broken"}], "tools": LOOK}
    assert by_profile(errors, **later) == (["ModelError"], ["ModelError"], ["EventLoopException"])


@EVERY
def test_an_outer_handler_can_catch_what_an_inner_one_throws(profile: str) -> None:
    outer = wrap("model", op("next", catch=True), op("shortCircuit", blocks=says("saved")))
    trace = traced(profile, middleware=[outer, wrap("model", THROW)])
    assert trace["results"][0]["lastMessage"]["content"] == says("saved")
    assert "mw0:model.wrap:caught" in trace["log"]


@EVERY
def test_a_caught_error_with_no_result_after_it_is_raised_at_the_end(profile: str) -> None:
    trace = traced(profile, middleware=[wrap("model", op("next", catch=True)), wrap("model", THROW)])
    assert trace["results"][0]["error"]["message"] == "broken"


@EVERY
def test_a_failed_call_can_be_retried_by_a_hook(profile: str) -> None:
    hooks = [hook("afterModel", op("retry", when=0))]
    trace = traced(profile, script=[{"throw": "broken"}, says("two")], hooks=hooks)
    assert texts(trace["agentMessages"]) == ["go", "two"]


@EVERY
def test_after_an_error_the_next_input_is_answered(profile: str) -> None:
    trace = traced(profile, inputs=["a", "b"], script=[{"throw": "broken"}])
    assert [error is None for error in errors(trace)] == [False, True]
    assert texts(trace["agentMessages"]) == ["a", "b", "(end)"]


# ---------------------------------------------------------------- errors of hooks


def test_a_hook_that_fails_before_a_call_is_followed_by_the_hook_after_it_in_python_only() -> None:
    hooks = [hook("beforeModel", THROW), hook("afterModel")]
    told = by_profile(lambda trace: trace["log"], hooks=hooks)
    assert told == (["hook:beforeModel"], ["hook:beforeModel"], ["hook:beforeModel", "hook:afterModel"])


def test_a_hook_that_fails_after_a_call_runs_again_in_python() -> None:
    hooks = [hook("afterModel", op("throw", when=0))]
    told = by_profile(lambda trace: trace["log"].count("hook:afterModel"), hooks=hooks)
    assert told == (1, 1, 2)


@EVERY
def test_the_hook_after_an_invocation_runs_whatever_failed(profile: str) -> None:
    hooks = [hook("messageAdded", THROW), hook("afterInvocation")]
    trace = traced(profile, hooks=hooks)
    assert trace["log"] == ["hook:messageAdded", "hook:afterInvocation"]
    assert trace["results"][0]["error"]["message"] == "broken"


def test_a_hook_that_fails_at_the_answers_message_is_an_error_of_the_loop_in_python() -> None:
    hooks = [hook("messageAdded", op("throw", when=1))]
    assert by_profile(errors, hooks=hooks) == (["Error"], ["Error"], ["EventLoopException"])


def test_a_hook_that_fails_before_an_invocation_ends_it_at_once() -> None:
    hooks = [hook("beforeInvocation", THROW), hook("afterInvocation")]
    assert by_profile(lambda trace: trace["log"], hooks=hooks) == (["hook:beforeInvocation"],) * 3


def test_a_hook_that_fails_while_tools_run_leaves_a_loop_in_typescript_that_goes_on() -> None:
    hooks = [hook("beforeTool", op("throw", message="broken", when=0)), hook("afterTools", THROW)]
    program: Json = {"script": [[uses()], says("ghost")], "tools": LOOK, "hooks": hooks}
    # The loop tells of the end of its tools though it is being closed, and asks the model again. What it
    # comes to enters the history; what hooks throw meanwhile is lost.
    asked = by_profile(lambda trace: len(trace["calls"]), **program)
    assert asked == (2, 2, 1)
    kept = by_profile(lambda trace: texts(trace["agentMessages"]), **program)
    assert kept == (["go", "ghost"], ["go", "ghost"], ["go"])
    messages = by_profile(lambda trace: trace["results"][0]["error"]["message"], **program)
    assert messages == ("broken",) * 3


@pytest.mark.parametrize("profile", ALL[:2])
def test_an_error_of_the_loop_that_goes_on_takes_the_place_of_the_hooks(profile: str) -> None:
    hooks = [hook("beforeTool", THROW)]
    trace = traced(profile, script=[[uses()], {"throw": "later"}], tools=LOOK, hooks=hooks)
    assert trace["results"][0]["error"] == {"type": "ModelError", "message": "later"}


# ---------------------------------------------------------------- tools


def test_a_handler_that_fails_around_a_tool_ends_the_invocation_in_typescript() -> None:
    hooks = [hook("afterTool"), hook("afterTools")]
    program: Json = {
        "script": [[uses()]],
        "tools": LOOK,
        "middleware": [wrap("tool", THROW)],
        "hooks": hooks,
    }
    assert by_profile(errors, **program) == (["Error"], ["Error"], [None])
    told = by_profile(lambda trace: [entry for entry in trace["log"] if "hook" in entry], **program)
    assert told == (["hook:afterTools"], ["hook:afterTools"], ["hook:afterTool", "hook:afterTools"])


def test_a_handler_that_fails_around_one_of_several_tools_is_an_error_result() -> None:
    hooks = [hook("afterTool")]
    program: Json = {
        "script": [[uses()]],
        "tools": LOOK,
        "middleware": [wrap("tool", THROW)],
        "hooks": hooks,
        "executor": "concurrent",
    }
    results = by_profile(lambda trace: trace["agentMessages"][2]["content"][0]["toolResult"], **program)
    said = [(result["status"], result["content"][0]["text"]) for result in results]
    assert said == [("error", "broken"), ("error", "broken"), ("error", "Error: broken")]
    assert by_profile(lambda trace: "hook:afterTool" in trace["log"], **program) == (False, False, True)


def test_what_a_tool_raises_is_its_result() -> None:
    results = by_profile(
        lambda trace: trace["agentMessages"][2]["content"][0]["toolResult"]["content"],
        script=[[uses()]],
        tools={"look": {"throw": "broken"}},
    )
    assert results == (says("broken"), says("broken"), says("Error: broken"))


def test_an_unknown_tool_is_answered_through_the_stage() -> None:
    program: Json = {"script": [[uses("nothing")]], "middleware": [wrap("tool")]}
    results = by_profile(
        lambda trace: trace["agentMessages"][2]["content"][0]["toolResult"]["content"][0]["text"], **program
    )
    unknown = "Tool 'nothing' not found in registry"
    assert results == (unknown, unknown, "Unknown tool: nothing")
    assert by_profile(lambda trace: "mw0:tool.wrap:enter" in trace["log"], **program) == (True,) * 3


def test_a_name_that_no_tool_can_have_is_answered_at_once_in_python_only() -> None:
    long = "x" * 65
    program: Json = {"script": [[uses("bad name"), uses(long, "u2"), uses("look", "u3")]], "tools": LOOK}
    told = by_profile(lambda trace: len(trace["toolRuns"]), **program)
    assert told == (1, 1, 1)
    results = traced(PYTHON, **program)["agentMessages"][2]["content"]
    assert [result["toolResult"]["content"][0]["text"] for result in results] == [
        "Error: tool_name=<bad name> | invalid tool name pattern",
        f"Error: tool_name=<{long}>, tool_name_max_length=<64> | invalid tool name length",
        "seen",
    ]


@EVERY
def test_a_tool_that_is_hidden_from_the_model_still_runs(profile: str) -> None:
    handler = wrap("model", copied("toolSpecs", value=[]))
    trace = traced(profile, script=[[uses()]], tools=LOOK, middleware=[handler])
    assert trace["calls"][0]["toolSpecs"] == []
    assert len(trace["toolRuns"]) == 1


@EVERY
def test_another_name_in_the_tool_stage_runs_the_same_tool(profile: str) -> None:
    tools = {**LOOK, "save": {"output": "saved"}}
    handler = wrap("tool", put("toolUse", "name", value="save"))
    trace = traced(profile, script=[[uses()]], tools=tools, middleware=[handler])
    assert [run["name"] for run in trace["toolRuns"]] == ["look"]


@EVERY
def test_another_name_from_a_hook_runs_the_tool_of_that_name(profile: str) -> None:
    tools = {**LOOK, "save": {"output": "saved"}}
    hooks = [hook("beforeTool", put("toolUse", "name", value="save"))]
    trace = traced(profile, script=[[uses()]], tools=tools, hooks=hooks)
    assert [run["name"] for run in trace["toolRuns"]] == ["save"]


def test_another_id_in_the_tool_stage_is_in_the_result_but_now() -> None:
    handler = wrap("tool", put("toolUse", "toolUseId", value="other"))
    ids = by_profile(
        lambda trace: trace["agentMessages"][2]["content"][0]["toolResult"]["toolUseId"],
        script=[[uses()]],
        tools=LOOK,
        middleware=[handler],
    )
    assert ids == ("other", "u1", "other")


def test_a_result_that_a_hook_puts_in_is_the_one_that_counts() -> None:
    other = {"toolUseId": "other", "status": "success", "content": says("hooked")}
    hooks = [hook("afterTool", put("toolResult", value=other))]
    results = by_profile(
        lambda trace: trace["agentMessages"][2]["content"][0]["toolResult"],
        script=[[uses()]],
        tools=LOOK,
        hooks=hooks,
    )
    assert results == (other, {**other, "toolUseId": "u1"}, other)


def test_uses_that_a_hook_adds_are_run_in_typescript_only() -> None:
    hooks = [hook("beforeTools", add("message", "content", value=uses("look", "u2")))]
    ran = by_profile(lambda trace: len(trace["toolRuns"]), script=[[uses()]], tools=LOOK, hooks=hooks)
    assert ran == (2, 2, 1)


def test_an_answer_that_says_it_uses_tools_has_to_use_some_in_typescript() -> None:
    program: Json = {
        "script": [{"blocks": says("no"), "stopReason": "toolUse"}],
        "hooks": [hook("afterTools")],
    }
    assert by_profile(errors, **program) == (["Error"], ["Error"], [None])
    assert by_profile(lambda trace: "hook:afterTools" in trace["log"], **program) == (True,) * 3
    assert traced(PYTHON, **program)["agentMessages"][2]["content"] == []


def test_a_turn_that_ends_with_a_tool_use_is_one_that_uses_tools_in_python_only() -> None:
    program: Json = {"script": [{"blocks": [uses()], "stopReason": "endTurn"}], "tools": LOOK}
    assert by_profile(lambda trace: len(trace["toolRuns"]), **program) == (0, 0, 1)


def test_the_answer_enters_the_history_after_its_tools_in_typescript_and_before_in_python() -> None:
    look = hook("beforeTool", op("observeAgent"))
    seen = by_profile(
        lambda trace: len(trace["observations"][0]["value"]), script=[[uses()]], tools=LOOK, hooks=[look]
    )
    assert seen == (1, 1, 2)


def test_unanswered_uses_are_answered_before_an_input_in_python_only() -> None:
    history = [{"role": "assistant", "content": [uses(), uses("look", "u2")]}]
    program: Json = {"messages": history, "tools": LOOK}
    assert by_profile(lambda trace: len(trace["agentMessages"]), **program) == (3, 3, 4)
    answers = traced(PYTHON, **program)["agentMessages"][1]["content"]
    assert [answer["toolResult"]["content"] for answer in answers] == [says("Tool was interrupted.")] * 2


def test_uses_at_the_end_of_the_input_are_run_in_python_instead_of_asking() -> None:
    given = [{"role": "assistant", "content": [uses(q=1)]}]
    program: Json = {"input": given, "tools": LOOK}
    assert by_profile(lambda trace: len(trace["toolRuns"]), **program) == (0, 0, 1)
    assert by_profile(lambda trace: len(trace["calls"]), **program) == (1, 1, 1)


@pytest.mark.parametrize(("profile", "kept"), [(BEFORE, ["go"]), (NOW, ["go"])])
def test_an_answer_that_is_too_long_is_an_error_that_leaves_nothing(profile: str, kept: list[str]) -> None:
    trace = traced(profile, script=[{"blocks": says("long"), "stopReason": "maxTokens"}])
    assert errors(trace) == ["MaxTokensError"]
    assert texts(trace["agentMessages"]) == kept


def test_an_answer_that_is_too_long_is_kept_in_python_without_its_tool_uses() -> None:
    script = [{"blocks": [*says("long"), uses("save")], "stopReason": "maxTokens"}]
    trace = traced(PYTHON, script=script)
    assert errors(trace) == ["MaxTokensReachedException"]
    told = "The selected tool save's tool use was incomplete due to maximum token limits being reached."
    assert texts(trace["agentMessages"]) == ["go", "long", told]


@pytest.mark.parametrize(
    ("blocks", "kept"),
    [
        ([{"text": ""}], (says(""), [], [])),
        ([{"text": " "}], (says(" "), [], says(" "))),
        ([{"reasoning": {"text": ""}}], (says(""), [], [])),
        ([uses("look", "")], (says(""), [], [])),
        ([{"reasoning": {"text": "", "signature": "s"}}], None),
    ],
)
def test_blocks_in_which_nothing_is_said(blocks: list[Json], kept: Any) -> None:
    contents = by_profile(
        lambda trace: trace["agentMessages"][-1]["content"],
        script=[{"blocks": blocks, "stopReason": "endTurn"}],
    )
    signed = ([{"reasoning": {"signature": "s"}}],) * 2
    assert contents == (kept or (*signed, blocks))
