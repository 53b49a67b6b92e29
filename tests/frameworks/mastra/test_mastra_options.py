"""Options that a processor is given: which are the caller's own objects (claims M25, M32)."""

from __future__ import annotations

from typing import Any

import attrs

from agentcore.frameworks.mastra.emulation.loop import MastraLoop
from agentcore.frameworks.mastra.emulation.settings import Tool
from frameworks.mastra.stage import THREE_STEPS, TWO_STEPS, Stage, at_step, processor


def change(hook: Any, **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    stage = Stage(THREE_STEPS, processors=[processor(at_step(1, hook))], options=options)
    return stage.asked, stage.loop.store.plain(stage.loop.caller)


def test_provider_options_are_the_callers_own_object() -> None:
    asked, caller = change(
        lambda args: args["providerOptions"]["x"].update(k=2), providerOptions={"x": {"k": 1}}
    )
    assert [one["providerOptions"]["x"]["k"] for one in asked] == [1, 2, 2]
    assert caller["providerOptions"] == {"x": {"k": 2}}


def test_model_settings_are_a_new_object_at_each_step_with_the_callers_values() -> None:
    def edit(args: Any) -> None:
        args["modelSettings"]["temperature"] = 1
        args["modelSettings"]["stopSequences"].append("b")

    asked, caller = change(edit, modelSettings={"temperature": 0, "stopSequences": ["a"]})
    assert [one["temperature"] for one in asked] == [0, 1, 0]
    assert [one["stopSequences"] for one in asked] == [["a"], ["a", "b"], ["a", "b"]]
    assert caller["modelSettings"] == {"temperature": 0, "stopSequences": ["a", "b"]}


def test_how_often_to_retry_is_shown_to_processors_and_not_sent() -> None:
    seen: list[Any] = []
    asked, _ = change(lambda args: seen.append(dict(args["modelSettings"])))
    assert seen == [{"maxRetries": 0}]
    assert "maxRetries" not in asked[0]


def test_a_tool_choice_and_active_tools_are_the_callers_own_objects() -> None:
    def edit(args: Any) -> None:
        args["toolChoice"]["toolName"] = "other"
        args["activeTools"].append("other")

    asked, caller = change(edit, toolChoice={"type": "tool", "toolName": "look"}, activeTools=["look"])
    assert [one["toolChoice"]["toolName"] for one in asked] == ["look", "other", "other"]
    assert caller["activeTools"] == ["look", "other"]


def test_tools_are_one_object_for_the_whole_call() -> None:
    asked, _ = change(lambda args: args["tools"].pop("look"))
    assert ["tools" in one for one in asked] == [True, False, False]


def test_headers_among_the_settings_are_sent_as_headers() -> None:
    asked, _ = change(lambda _: None, modelSettings={"headers": {"X-One": "1"}})
    assert asked[0]["headers"] == {"x-one": "1"}


def test_active_tools_that_are_no_list_fail_the_call() -> None:
    stage = Stage(prepare_step=lambda _: {"activeTools": None})
    assert stage.outcome.error is not None
    assert stage.outcome.error.message == "Cannot read properties of null (reading 'flatMap')"


def test_what_a_tool_writes_into_its_input_is_lost_at_every_depth() -> None:
    def look(given: Any) -> Any:
        given["a"]["b"] = 2
        given["c"] = 3
        return 1

    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"a": {"b": 1}}}
    stage = Stage(([call], []), tools={"look": Tool(execute=look)})
    assert stage.asked[1]["prompt"][1]["content"][0]["input"] == {"a": {"b": 1}}


def test_a_watched_run_has_a_picture_of_each_prompt_and_of_the_end() -> None:
    stage = Stage(TWO_STEPS)
    assert stage.loop.snapshots == []
    loop = MastraLoop(stage.loop.profile, attrs.evolve(stage.loop.settings, messages=["watched"]))
    loop.store.watching = True
    stage.loop, stage.asked = loop, []
    loop.run()
    assert [(one.moment, one.step) for one in loop.snapshots] == [("prompt", 0), ("prompt", 1), ("end", 1)]
    first, _, last = loop.snapshots
    assert first.plain("caller") == {"messages": ["watched"], "context": []}
    [asked_first] = first.plain("prompt")["prompt"]
    assert (asked_first["role"], asked_first["content"][0]["text"]) == ("user", "watched")
    assert (len(first.plain("conversation")), len(last.plain("conversation"))) == (1, 2)
    assert [len(one.plain("steps")) for one in loop.snapshots] == [0, 1, 2]
    assert set(loop.holders) <= set(first.holders)
    assert list(first.plain("options")["tools"]) == ["look"]
    assert last.plain("system") == []
