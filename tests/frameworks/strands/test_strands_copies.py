"""What an edit of a handler reaches: claims S2 to S15, S28, S35, S46, S63, S64, S82 to S86."""

from __future__ import annotations

from typing import Any, Final

import pytest

from frameworks.strands.strands_scene import (
    EVERY,
    LOOK,
    NEXT,
    PYTHON,
    Json,
    add,
    by_profile,
    copied,
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

REMINDER: Final = {"role": "user", "content": [{"text": "remember"}]}
TWICE: Final = [[uses()], [uses("look", "u2")], says("done")]
GUARDED: Final = {"guardContent": {"text": {"text": "careful", "qualifiers": ["query"]}}}


def reminders(messages: list[Json]) -> int:
    return texts(messages).count("remember")


def test_a_message_pushed_at_each_call_piles_up_only_before() -> None:
    handler = wrap("model", add("messages", value=REMINDER))
    program: Json = {"script": TWICE, "tools": LOOK, "middleware": [handler]}
    assert by_profile(lambda trace: reminders(trace["agentMessages"]), **program) == (3, 0, 0)
    seen = by_profile(lambda trace: [reminders(call["messages"]) for call in trace["calls"]], **program)
    assert seen == ([1, 2, 3], [1, 1, 1], [1, 1, 1])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("content", 0, "text"), "leak"),
        (("metadata", "custom", "a"), "leak"),
        (("content", 1, "toolUse", "input", "a"), "leak"),
        (("content", 2, "toolResult", "content", 0, "json", "a"), "leak"),
    ],
)
def test_an_edit_at_any_depth_is_in_the_history_only_before(path: tuple[Any, ...], value: str) -> None:
    result = {"toolUseId": "x", "status": "success", "content": [{"json": {"a": 1}}]}
    held = {
        "role": "user",
        "content": [{"text": "x"}, uses(a=1), {"toolResult": result}],
        "metadata": {"custom": {"a": 1}},
    }
    assistant = {"role": "assistant", "content": says("y")}
    leaks = by_profile(
        lambda trace: "leak" in str(trace["agentMessages"]),
        messages=[held, assistant],
        middleware=[wrap("model", put("messages", 0, *path, value=value))],
    )
    assert leaks == (True, False, False)


def test_a_changed_description_is_the_tools_own_only_before() -> None:
    edit = put("toolSpecs", 0, "description", value="changed")
    kept = by_profile(
        lambda trace: trace["toolSpecs"][0]["description"], tools=LOOK, middleware=[wrap("model", edit)]
    )
    assert kept == ("changed", "tool look", "tool look")


def test_guarded_content_of_a_system_prompt_leaks_even_now() -> None:
    edit = add("system", -1, "guardContent", "text", "qualifiers", value="leak")
    program: Json = {"system": [{"text": "be good"}, GUARDED], "middleware": [wrap("model", edit)]}
    kept = by_profile(lambda trace: trace["system"][-1]["guardContent"]["text"]["qualifiers"], **program)
    assert kept == (["query", "leak"], ["query", "leak"], ["query"])
    # The caller's own objects are these in TypeScript, whose agent takes the inner object over.
    assert by_profile(lambda trace: trace["caller"]["changed"], **program) == (
        ["config.system"],
        ["config.system"],
        ["config.messages"],
    )


def test_a_text_block_of_a_system_prompt_leaks_only_before() -> None:
    edit = put("system", 0, "text", value="leak")
    program: Json = {"system": [{"text": "be good"}, GUARDED], "middleware": [wrap("model", edit)]}
    kept = by_profile(lambda trace: trace["system"][0]["text"], **program)
    assert kept == ("leak", "be good", "be good")


def test_a_guarded_block_of_a_message_is_copied_as_deep_as_all_others() -> None:
    edit = add("messages", 0, "content", 0, "guardContent", "text", "qualifiers", value="leak")
    program: Json = {"input": [GUARDED], "middleware": [wrap("model", edit)]}
    assert by_profile(lambda trace: "leak" in str(trace["agentMessages"]), **program) == (True, False, False)


def test_what_a_provider_does_to_its_messages_is_in_the_history_only_before() -> None:
    script = [{"blocks": [uses()], "mutate": [put("messages", 0, "content", 0, "text", value="leak")]}]
    asked = by_profile(lambda trace: texts(trace["calls"][1]["messages"])[0], script=script, tools=LOOK)
    assert asked == ("leak", "go", "go")


def test_what_a_provider_does_is_seen_by_a_second_next_in_typescript_only() -> None:
    script = [{"blocks": says("a"), "mutate": [put("messages", 0, "content", 0, "text", value="leak")]}]
    handler = wrap("model", NEXT, NEXT)
    asked = by_profile(
        lambda trace: texts(trace["calls"][1]["messages"]), script=script, middleware=[handler]
    )
    assert asked == (["leak"], ["leak"], ["go"])


def test_the_tool_stages_input_is_live_before_and_in_python() -> None:
    handler = wrap("tool", put("toolUse", "input", "q", value="leak"))
    program: Json = {"script": [[uses(q="?")]], "tools": LOOK, "middleware": [handler]}
    assert by_profile(lambda trace: trace["toolRuns"][0]["input"], **program) == ({"q": "leak"},) * 3
    kept = by_profile(lambda trace: trace["agentMessages"][1]["content"][0]["toolUse"]["input"], **program)
    assert kept == ({"q": "leak"}, {"q": "?"}, {"q": "leak"})


def test_a_tool_changes_its_own_input_for_good_before_and_in_python() -> None:
    tools = {"look": {"output": "seen", "mutateInput": [put("input", "q", value="leak")]}}
    kept = by_profile(
        lambda trace: trace["calls"][1]["messages"][1]["content"][0]["toolUse"]["input"],
        script=[[uses(q="?")]],
        tools=tools,
    )
    assert kept == ({"q": "leak"}, {"q": "?"}, {"q": "leak"})


@EVERY
def test_a_hook_before_a_tool_has_the_live_input_everywhere(profile: str) -> None:
    trace = traced(
        profile,
        script=[[uses(q="?")]],
        tools=LOOK,
        hooks=[hook("beforeTool", put("toolUse", "input", "q", value="leak"))],
    )
    assert trace["agentMessages"][1]["content"][0]["toolUse"]["input"] == {"q": "leak"}


def test_a_tool_use_that_a_hook_puts_in_is_ignored_before_and_keeps_its_id_now() -> None:
    other = {"name": "save", "toolUseId": "other", "input": {}}
    tools = {**LOOK, "save": {"output": "saved"}}
    hooks = [hook("beforeTool", put("toolUse", value=other))]
    program: Json = {"script": [[uses()]], "tools": tools, "hooks": hooks}
    ran = by_profile(
        lambda trace: (trace["toolRuns"][0]["name"], trace["toolRuns"][0]["toolUseId"]), **program
    )
    assert ran == (("look", "u1"), ("save", "u1"), ("save", "other"))
    answered = by_profile(
        lambda trace: trace["agentMessages"][2]["content"][0]["toolResult"]["toolUseId"], **program
    )
    assert answered == ("u1", "u1", "other")


@EVERY
def test_the_callers_array_of_arguments_is_pushed_to_everywhere(profile: str) -> None:
    given = [{"role": "user", "content": says("asked")}]
    trace = traced(profile, input=given, middleware=[wrap("stream", add("args", value=REMINDER))])
    assert reminders(trace["caller"]["inputs"][0]) == 1
    assert "inputs" in trace["caller"]["changed"]


@EVERY
def test_a_copy_passed_on_reaches_that_call_only(profile: str) -> None:
    handler = wrap("model", copied("messages", action="append", value=REMINDER, when=0))
    trace = traced(profile, script=TWICE, tools=LOOK, middleware=[handler])
    assert [reminders(call["messages"]) for call in trace["calls"]] == [1, 0, 0]
    assert reminders(trace["agentMessages"]) == 0


@EVERY
def test_a_copy_of_the_tool_use_leaves_the_history_clean(profile: str) -> None:
    handler = wrap("tool", copied("toolUse", "input", "q", value="changed"))
    trace = traced(profile, script=[[uses(q="?")]], tools=LOOK, middleware=[handler])
    assert trace["toolRuns"][0]["input"] == {"q": "changed"}
    assert trace["agentMessages"][1]["content"][0]["toolUse"]["input"] == {"q": "?"}


def test_an_edit_beside_a_copy_leaks_where_the_context_is_live() -> None:
    handler = wrap(
        "model", add("messages", value=REMINDER), copied("messages", 0, "content", 0, "text", value="copied")
    )
    program: Json = {"middleware": [handler]}
    asked = by_profile(lambda trace: texts(trace["calls"][0]["messages"]), **program)
    assert asked == (["copied", "remember"],) * 3
    kept = by_profile(lambda trace: texts(trace["agentMessages"]), **program)
    assert kept == (["go", "remember", "(end)"], ["go", "(end)"], ["go", "(end)"])


@EVERY
def test_handlers_of_one_chain_share_one_copy(profile: str) -> None:
    outer = wrap("model", NEXT, op("observe", path=["messages", 0, "content", 0, "text"]))
    inner = wrap("model", put("messages", 0, "content", 0, "text", value="inner"))
    trace = traced(profile, middleware=[outer, inner])
    assert [seen["value"] for seen in trace["observations"]] == ["inner"]


@EVERY
def test_a_copy_passed_on_keeps_the_outer_context_clean(profile: str) -> None:
    outer = wrap("model", NEXT, op("observe", path=["messages", 0, "content", 0, "text"]))
    inner = wrap("model", copied("messages", 0, "content", 0, "text", value="inner"))
    trace = traced(profile, middleware=[outer, inner])
    assert [seen["value"] for seen in trace["observations"]] == ["go"]
    assert texts(trace["calls"][0]["messages"]) == ["inner"]


def test_one_message_held_twice_is_two_in_a_copy_by_json_and_one_in_a_deep_copy() -> None:
    given = [{"role": "user", "content": says("asked")}]
    again = wrap("stream", op("next", catch=True), NEXT)
    fails = on_input("model", op("throw", when=0))
    edit = wrap("model", put("messages", -1, "content", 0, "text", value="changed"))
    asked = by_profile(
        lambda trace: texts(trace["calls"][0]["messages"]), input=given, middleware=[again, fails, edit]
    )
    assert asked == (["changed", "changed"], ["asked", "changed"], ["changed", "changed"])


def test_the_callers_objects_become_the_historys() -> None:
    history = [{"role": "user", "content": says("a")}, {"role": "assistant", "content": says("b")}]
    given = [{"role": "user", "content": says("c")}]
    program: Json = {"messages": history, "input": given}
    objects = ([[0], [0]], [[1], [1]])
    shared = by_profile(lambda trace: trace["aliases"]["historyAndConfig"], **program)
    assert shared == ([*objects], [*objects], [[[], []]])
    asked = by_profile(lambda trace: trace["aliases"]["historyAndInput"], **program)
    assert asked == ([[[2], [0, 0]]],) * 3


def test_plain_data_is_made_into_objects_that_share_its_payloads() -> None:
    history = [{"role": "user", "content": [uses(a=1)], "metadata": {"custom": {"b": 1}}}]
    program: Json = {"messages": history, "messagesForm": "data"}
    shared = by_profile(lambda trace: trace["aliases"]["historyAndConfig"], **program)
    payloads = [[[0, "content", 0, "toolUse", "input"]] * 2, [[0, "metadata"]] * 2]
    assert shared[:2] == (payloads, payloads)


def test_a_list_of_blocks_is_the_content_of_the_message_made_of_it() -> None:
    shared = by_profile(lambda trace: trace["aliases"]["historyAndInput"], input=says("asked"))
    assert shared == ([[[0, "content"], [0]]],) * 3
    parts = by_profile(lambda trace: trace["aliases"]["historyAndInput"], input=[GUARDED], inputForm="data")
    inner = [[[0, "content", 0, "guardContent", "text"], [0, 0, "guardContent", "text"]]]
    assert parts == (inner, inner, [[[0, "content"], [0]]])


def test_the_agent_as_a_way_round_reaches_this_call_only_before() -> None:
    handler = on_input("model", put("messages", 0, "content", 0, "text", value="live", on="agent"))
    program: Json = {"script": [[uses()]], "tools": LOOK, "middleware": [handler]}
    asked = by_profile(lambda trace: [texts(call["messages"])[0] for call in trace["calls"]], **program)
    assert asked == (["live", "live"], ["go", "live"], ["go", "live"])


@EVERY
def test_an_output_handler_edits_the_real_result(profile: str) -> None:
    edit = on_output("model", put("message", "content", 0, "toolUse", "input", "q", value="changed"))
    trace = traced(profile, script=[[uses(q="?")]], tools=LOOK, middleware=[edit])
    assert trace["toolRuns"][0]["input"] == {"q": "changed"}
    assert trace["agentMessages"][1]["content"][0]["toolUse"]["input"] == {"q": "changed"}


@EVERY
def test_a_copy_of_the_last_result_is_in_the_result_only(profile: str) -> None:
    edit = on_output("stream", copied("lastMessage", "content", 0, "text", value="changed"))
    trace = traced(profile, script=[says("said")], middleware=[edit])
    assert trace["results"][0]["lastMessage"]["content"] == says("changed")
    assert trace["agentMessages"][-1]["content"] == says("said")


def test_python_takes_the_metadata_of_answers_for_its_own_measures() -> None:
    edit = on_output("model", put("message", "metadata", "custom", value={"a": 1}))
    kept = by_profile(lambda trace: trace["agentMessages"][-1].get("metadata"), middleware=[edit])
    assert kept == ({"custom": {"a": 1}}, {"custom": {"a": 1}}, None)


def test_a_model_is_told_of_metadata_in_typescript_only() -> None:
    history = [{"role": "user", "content": says("a"), "metadata": {"custom": {"b": 1}}}]
    told = by_profile(lambda trace: trace["calls"][0]["messages"][0].get("metadata"), messages=history)
    assert told == ({"custom": {"b": 1}}, {"custom": {"b": 1}}, None)


def test_python_fills_the_blanks_of_assistant_messages_for_the_provider_only() -> None:
    history = [
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": says(" ")},
        {"role": "assistant", "content": [{"text": ""}, uses("bad name")]},
        {"role": "user", "content": []},
    ]
    trace = traced(PYTHON, messages=history)
    told = [message["content"] for message in trace["calls"][0]["messages"][:4]]
    named = {"toolUse": {"name": "INVALID_TOOL_NAME", "toolUseId": "u1", "input": {}}}
    assert told == [says("[blank text]"), says("[blank text]"), [named], []]
    assert [message["content"] for message in trace["agentMessages"][:2]] == [[], says(" ")]


@EVERY
def test_a_name_that_no_tool_can_have_is_replaced_for_the_provider(profile: str) -> None:
    history = [{"role": "assistant", "content": [uses("bad name")]}, {"role": "user", "content": says("x")}]
    trace = traced(profile, messages=history)
    assert trace["calls"][0]["messages"][0]["content"][0]["toolUse"]["name"] == "INVALID_TOOL_NAME"
    assert trace["agentMessages"][0]["content"][0]["toolUse"]["name"] == "bad name"


def test_a_tool_result_given_as_data_shares_its_json_only() -> None:
    result = {"toolUseId": "x", "status": "success", "content": [{"json": {"a": 1}}, {"text": "b"}]}
    given = [{"role": "user", "content": [{"toolResult": result}]}]
    shared = by_profile(lambda trace: trace["aliases"]["historyAndInput"], input=given, inputForm="data")
    inner = ["content", 0, "toolResult", "content", 0, "json"]
    assert shared[:2] == ([[[0, *inner], [0, 0, *inner]]],) * 2
