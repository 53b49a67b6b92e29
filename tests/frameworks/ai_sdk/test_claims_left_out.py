"""What ai@6.0.134 does that the documents leave out: claims X1 to X13, on both paths.

What is not checkable here, and why, is told in test_claims.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.emulation.settings import Tool
from frameworks.ai_sdk.scene import (
    GENERATE,
    STREAM,
    Scene,
    calls,
    dump,
    live,
    look,
    says,
    user,
)

both = pytest.mark.parametrize("path", [STREAM, GENERATE])

# ---------------------------------------------------------------- who is given what


@both
def test_a_returned_override_is_seen_by_the_model_and_on_step_start_only(path: str) -> None:
    """X1: all other hooks of the step have its own array, one object."""
    others: list[Any] = []
    started: list[Any] = []

    def execute(given: Any, options: Any) -> Any:
        others.append(options["messages"])
        return look(given, options)

    def ask(given: Any, options: Any) -> bool:
        del given
        others.append(options["messages"])
        return False

    def keep(event: Any) -> None:
        others.append(event["messages"])

    scene = Scene(
        path,
        tools={"look": Tool(execute=execute, needs_approval=ask, on_input_available=keep)},
        prepare_step=lambda given: {"messages": [*given["messages"], user("override")]},
        on_step_start=lambda event: started.append(dump(event["messages"].thaw())),
        on_tool_call_start=keep,
        on_tool_call_finish=keep,
        script=[[calls("c0")], [says("done")]],
    ).run()
    assert ["override" in dump(prompt) for prompt in scene.prompts] == [True, True]
    assert ["override" in messages for messages in started] == [True, True]
    assert len(others) == 5
    assert all(messages.is_same(scene.arrays[0]) for messages in others)


@both
def test_a_push_in_place_is_seen_by_all_hooks_of_the_step(path: str) -> None:
    """X1, C21."""
    seen: list[bool] = []

    def execute(given: Any, options: Any) -> Any:
        seen.append("pushed" in dump(options["messages"].thaw()))
        return look(given, options)

    push = Scene(
        path,
        tools={"look": Tool(execute=execute)},
        prepare_step=lambda given: given["messages"].append(user("pushed")),
    )
    push.run()
    assert seen == [True, True]


@both
def test_on_step_start_comes_after_the_prompt_and_before_the_tools(path: str) -> None:
    """X2: a push reaches tools and not the prompt, a payload both; its steps are a copy."""
    seen: list[str] = []

    def execute(given: Any, options: Any) -> Any:
        seen.append(dump(options["messages"].thaw()))
        return look(given, options)

    def write(event: Any) -> None:
        if event["stepNumber"] == 1:
            event["messages"][1]["content"][1]["input"]["x"] = "payload"
            event["messages"].append(user("pushed"))
            event["steps"].clear()

    scene = Scene(path, tools={"look": Tool(execute=execute)}, on_step_start=write).run()
    assert "pushed" in seen[1]
    assert "pushed" not in dump(scene.prompts)
    assert "payload" in dump(scene.prompts[1])
    assert len(scene.steps) == 3


@both
def test_the_prompt_is_new_at_every_step_and_its_payloads_are_the_chains(path: str) -> None:
    """X3: a provider that rewrites a tool call's input changes the history."""
    prompts: list[Any] = []

    def write(options: Any) -> None:
        prompts.append(options["prompt"])
        if len(prompts) == 2:
            options["prompt"][1]["content"][1]["input"]["x"] = "normalised"
            options["prompt"][1]["content"][0]["text"] = "lost"

    scene = Scene(path, on_prompt=write).run()
    assert not prompts[0][0].is_same(prompts[1][0])
    assert not prompts[0][0]["content"].is_same(prompts[1][0]["content"])
    assert "normalised" in dump(scene.prepared[2])
    assert "lost" not in dump([scene.prepared, scene.prompts[2]])


@both
@pytest.mark.parametrize(("kind", "shared"), [("json", True), ("content", False)])
def test_a_tool_outputs_wrapper_is_in_every_prompt_unless_it_is_content(
    path: str, kind: str, *, shared: bool
) -> None:
    """X3."""
    value = [{"type": "text", "text": "t"}]
    tools = {"look": Tool(execute=look, to_model_output=lambda _: {"type": kind, "value": value})}
    outputs: list[Any] = []

    def keep(options: Any) -> None:
        outputs.extend(
            part["output"] for part in options["prompt"][-1]["content"] if part["type"] == "tool-result"
        )

    scene = Scene(path, tools=tools, on_prompt=keep, script=[[calls("c0")], [says("done")]]).run()
    assert outputs[0].is_same(scene.arrays[1][-1]["content"][0]["output"]) is shared
    assert outputs[0].thaw() == {"type": kind, "value": value}


@both
def test_a_tools_input_and_output_are_live(path: str) -> None:
    """X4: written later, the output changes later prompts; on stream also reports that were given already."""
    kept: list[Any] = []

    def execute(given: Any, options: Any) -> Any:
        given["written"] = "by the tool"
        if kept:
            kept[0]["changed"] = "later"
        kept.append(live(options, look(given, options)))
        return kept[-1]

    scene = Scene(path, tools={"look": Tool(execute=execute)}).run()
    assert "by the tool" in dump(scene.prompts[1])
    assert ["changed" in dump(prompt) for prompt in scene.prompts] == [False, False, True]
    first = dump(scene.steps[0]["response"]["messages"].thaw())
    assert ("changed" in first) is (path == STREAM)


@both
@pytest.mark.parametrize("same", ["input", "object"])
def test_a_tool_that_returns_an_object_twice_ties_its_holders_together(path: str, same: str) -> None:
    """X4."""
    kept: list[Any] = []

    def execute(given: Any, options: Any) -> Any:
        kept.append(given if same == "input" else live(options, {"n": 0}))
        return kept[0]

    def write(given: Any) -> None:
        if given["stepNumber"] == 2:
            given["messages"][2]["content"][0]["output"]["value"]["x"] = "tied"

    scene = Scene(path, tools={"look": Tool(execute=execute)}, prepare_step=write).run()
    messages = scene.prompts[2]
    assert messages[4]["content"][0]["output"]["value"]["x"] == "tied"
    assert messages[1]["content"][1]["input"].get("x") == ("tied" if same == "input" else None)


@both
def test_a_call_and_its_result_share_their_provider_metadata(path: str) -> None:
    """X5."""
    script = [[calls("c0", providerMetadata={"p": {}})], [says("done")]]

    def write(given: Any) -> None:
        if given["stepNumber"] == 1:
            given["messages"][1]["content"][0]["providerOptions"]["p"]["x"] = 1

    scene = Scene(path, script=script, prepare_step=write).run()
    assert scene.prompts[1][2]["content"][0]["providerOptions"] == {"p": {"x": 1}}
    first, second = scene.steps[0]["content"]
    assert first["providerMetadata"].is_same(second["providerMetadata"])


# ---------------------------------------------------------------- steps, stopWhen, onFinish


@both
def test_steps_popped_in_prepare_step_are_counted_again_and_gone_from_the_result(path: str) -> None:
    """X6."""
    numbers: list[int] = []

    def pop(given: Any) -> None:
        numbers.append(given["stepNumber"])
        if len(numbers) == 2:
            given["steps"].pop()

    scene = Scene(path, prepare_step=pop).run()
    assert numbers == [0, 1, 1]
    assert len(scene.steps) == 2


def test_steps_popped_in_stop_when_break_a_stream() -> None:
    """X6: the result never settles."""
    scene = Scene(STREAM, stop_when=lambda given: given["steps"].pop() and None).run()
    assert scene.failure[0] == "TypeError"
    assert scene.loop.outcome.hung
    assert Scene(GENERATE, stop_when=lambda given: given["steps"].pop() and None).run().error is None


@both
def test_a_frozen_list_of_steps_makes_the_next_step_fail(path: str) -> None:
    """X6, X15."""
    scene = Scene(path, prepare_step=lambda given: given.desk.store.seal(given["steps"].ref)).run()
    assert scene.failure[0] == "TypeError"
    assert len(scene.prompts) == 1


@both
def test_stop_when_is_not_called_after_a_step_without_calls(path: str) -> None:
    """X7."""
    seen: list[int] = []
    Scene(path, stop_when=lambda given: seen.append(len(given["steps"]))).run()
    assert seen == [1, 2]


def test_content_text_written_in_stop_when_reaches_the_next_prompt_on_stream_only() -> None:
    """X7, C6."""

    def write(given: Any) -> None:
        given["steps"][-1]["content"][0]["text"] = "rewritten"

    for path, seen in ((STREAM, True), (GENERATE, False)):
        assert ("rewritten" in dump(Scene(path, stop_when=write).run().prompts)) is seen


@both
def test_what_stop_when_returns_ends_the_run(path: str) -> None:
    """X7."""
    assert len(Scene(path, stop_when=lambda given: len(given["steps"]) == 2).run().prompts) == 2


@both
def test_writes_in_on_finish_show_in_the_result(path: str) -> None:
    """X8."""

    def write(event: Any) -> None:
        event["response"]["messages"].append(user("in the response"))
        event["steps"][0]["content"].append(says("in a step"))

    scene = Scene(path, on_finish=write).run()
    assert "in the response" in dump(scene.steps[-1]["response"]["messages"].thaw())
    assert "in a step" in dump(scene.steps[0]["content"].thaw())


def test_a_call_written_in_on_chunk_is_written_in_content_prompts_and_reports() -> None:
    """X9."""

    def write(event: Any) -> None:
        if event["chunk"]["type"] == "tool-call":
            event["chunk"]["input"]["x"] = "written"

    scene = Scene(STREAM, on_chunk=write).run()
    assert all("written" in dump(seen) for seen in (scene.prompts[1], scene.reports[0]))
    assert "written" in dump(scene.steps[0]["content"].thaw())


@both
def test_to_model_output_runs_twice_a_result_on_stream_and_once_on_generate(path: str) -> None:
    """X10: once in the last step of a stream; so the model and the report may have different values."""
    made: list[str] = []

    def convert(given: Any) -> Any:
        made.append(given["toolCallId"])
        return {"type": "text", "value": f"conversion {len(made)}"}

    tools = {"look": Tool(execute=look, to_model_output=convert)}
    scene = Scene(path, tools=tools, max_steps=2).run()
    assert made == (["c0", "c0", "c1"] if path == STREAM else ["c0", "c1"])
    assert "conversion 1" in dump(scene.reports[0])
    assert ("conversion 2" if path == STREAM else "conversion 1") in dump(scene.prompts[1])


@both
def test_a_push_in_on_start_is_the_callers_and_in_every_prompt(path: str) -> None:
    """X12, C2."""
    scene = Scene(path, on_start=lambda event: event["messages"].append(user("pushed")))
    scene.run()
    assert all("pushed" in dump(prompt) for prompt in scene.prompts)
    assert len(scene.caller) == 2


# ---------------------------------------------------------------- the result


@both
def test_tool_calls_are_a_fresh_list_of_the_contents_own_parts(path: str) -> None:
    """X13: a push is lost, a field write is not."""
    step = Scene(path).run().steps[0]
    step["toolCalls"].append(says("lost"))
    step["toolCalls"][0]["input"] = {"x": 1}
    assert not step["toolCalls"].is_same(step["toolCalls"])
    assert len(step["toolCalls"]) == 1
    assert step["content"][1]["input"] == {"x": 1}


@both
def test_a_run_continued_from_a_result_writes_that_result(path: str) -> None:
    """X13: the messages are the next run's initial messages, by reference."""
    first = Scene(path).run()
    reported = first.steps[-1]["response"]["messages"]

    def write(given: Any) -> None:
        given["messages"][0]["content"][0]["text"] = "by the second run"

    handed_on = [message.ref for message in reported]
    second = Scene(path, messages=handed_on, script=[[says("done")]], prepare_step=write, desk=first.desk)
    assert second.run().error is None
    assert reported[0]["content"][0]["text"] == "by the second run"
