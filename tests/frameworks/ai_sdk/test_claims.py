"""What ai@6.0.134 does with messages: claims C1 to C42 (the message reference model), on both paths.

C43 to C83 are in test_claims_prepare_step.py, X1 to X13 in test_claims_left_out.py, X14 to X19 in
test_claims_edges.py. What a single write shows is a row of the propagation matrix (test_matrix.py), and
identity in a run without writes is in test_aliases.py; claims that say only that are not repeated: C4, C11,
C12, C27, C79.

Not checkable here, and why:

- C1, C33, and the line numbers in C6, C9, C16, C53, C60, C68: where something stands in the package's source;
- C16 as to how many rows of the matrix differ: the file has half of the rows;
- C23, C24, C39: advice, and what the package's own documents say;
- C26 as to its reason, C40, C82: cost and time;
- C37 as to class instances: test_host_values.py has what becomes of them;
- C44 as to promises, C80 as to microtasks: hooks are called synchronously;
- C54 as to what is read of the returned object: a returned dict is turned into cells as a whole;
- C64, C70, C83 (`prepareCall`, agents), C56 and X11 as to `experimental_repairToolCall`, C81 as to retries,
  X9 but for `on_chunk` of tool calls and results (`fullStream`, transforms, deltas): not in compat;
- X18 as to tools that take time: tools take none here, so only the order on the stream;
- X20: another version.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.emulation.settings import Tool
from agentcore.heap.heap import Function
from agentcore.heap.js import text
from frameworks.ai_sdk.scene import (
    GENERATE,
    SCRIPT,
    STREAM,
    Scene,
    approval,
    calls,
    dump,
    live,
    says,
    user,
    user_list,
)

both = pytest.mark.parametrize("path", [STREAM, GENERATE])


def roles(messages: list[Any]) -> list[str]:
    return [message["role"] for message in messages]


# ---------------------------------------------------------------- the chains


@both
def test_the_loop_reads_the_callers_own_array_at_every_step(path: str) -> None:
    """C2."""
    scene = Scene(path, stop_when=lambda _: scene.caller.append(user("pushed by the caller")))
    scene.run()
    assert [dump(prompt).count("pushed by the caller") for prompt in scene.prompts] == [0, 1, 2]


@both
def test_the_callers_array_is_as_long_after_the_run_as_before(path: str) -> None:
    """C3."""
    assert len(Scene(path).run().caller) == 1


@both
def test_response_messages_start_with_the_results_of_approved_calls(path: str) -> None:
    """C5, X14."""
    scene = Scene(path, messages=approval("a", approved=True), script=[[says("done")]]).run()
    made = [{"type": "tool-result", "toolCallId": "a", "toolName": "look"}]
    made[0]["output"] = {"type": "json", "value": {"found": "a"}}  # type: ignore[assignment]
    assert scene.prepared[0][3:] == [{"role": "tool", "content": made}]
    assert scene.reports[0][0] == {"role": "tool", "content": made}


@both
def test_response_messages_start_with_the_denials(path: str) -> None:
    """C5."""
    messages = approval("a", approved=False, reason="no")
    scene = Scene(path, messages=messages, script=[[says("done")]]).run()
    assert scene.prepared[0][3]["content"][0]["output"] == {"type": "execution-denied", "reason": "no"}


@both
def test_the_content_of_a_step_becomes_one_assistant_and_one_tool_message(path: str) -> None:
    """C7."""
    source = {"type": "source", "sourceType": "url", "id": "s", "url": "https://example.com"}
    content = [{"type": "reasoning", "text": "so"}, says("a"), says(""), source, calls("c0"), calls("c1")]
    scene = Scene(path, script=[content, [says("done")]]).run()
    assistant, tool = scene.prepared[1][1:]
    assert [part["type"] for part in assistant["content"]] == ["reasoning", "text", "tool-call", "tool-call"]
    assert [part["toolCallId"] for part in tool["content"]] == ["c0", "c1"]
    assert roles([assistant, tool]) == ["assistant", "tool"]


@both
def test_a_step_with_nothing_to_say_adds_no_message(path: str) -> None:
    """C7."""
    assert Scene(path, script=[[says("")]]).run().reports == [[]]


@both
def test_a_user_message_pushed_by_a_hook_is_in_no_later_step_and_no_report(path: str) -> None:
    """C8, C14, C21."""

    def push(given: Any) -> None:
        if given["stepNumber"] == 0:
            given["messages"].append(user("pushed"))

    scene = Scene(path, prepare_step=push).run()
    assert ["pushed" in dump(prompt) for prompt in scene.prompts] == [True, False, False]
    assert "pushed" not in dump([scene.prepared[1:], scene.reports, scene.caller.thaw()])


@both
def test_each_step_has_an_array_of_its_own_that_is_not_the_callers(path: str) -> None:
    """C9, C10, C48."""
    script = [[calls("c0")], [calls("c1")], [calls("c2")], [says("done")]]
    scene = Scene(path, script=script).run()
    arrays = [*scene.arrays, scene.caller]
    assert len({array.ref for array in arrays}) == len(arrays) == 5


@both
def test_a_step_sees_the_callers_messages_and_then_those_of_all_steps_before(path: str) -> None:
    """C9, C34, C42."""
    scene = Scene(path).run()
    assert [roles(messages) for messages in scene.prepared] == [
        ["user"],
        ["user", "assistant", "tool"],
        ["user", "assistant", "tool", "assistant", "tool"],
    ]


# ---------------------------------------------------------------- what prepareStep returns


@both
def test_a_message_appended_to_a_returned_copy_is_seen_by_the_model_of_that_step_only(path: str) -> None:
    """C13, C14, C15, C19, C28, C57, C66."""

    def remind(given: Any) -> Any:
        return {"messages": [*given["messages"], user("reminder")]} if given["stepNumber"] == 1 else None

    scene = Scene(path, prepare_step=remind).run()
    assert ["reminder" in dump(prompt) for prompt in scene.prompts] == [False, True, False]
    assert "reminder" not in dump([scene.prepared, scene.reports, scene.caller.thaw()])


@both
def test_a_filter_hides_and_does_not_delete(path: str) -> None:
    """C15, C20."""

    def hide(given: Any) -> Any:
        shown = [message for message in given["messages"] if message["role"] == "user"]
        return {"messages": shown} if given["stepNumber"] == 1 else None

    scene = Scene(path, prepare_step=hide).run()
    assert [roles(prompt) for prompt in scene.prompts] == [
        ["user"],
        ["user"],
        ["user", "assistant", "tool", "assistant", "tool"],
    ]


@both
def test_elements_of_a_returned_array_keep_their_identity(path: str) -> None:
    """C18, C41."""

    def rewrite(given: Any) -> Any:
        copy = list(given["messages"])
        if given["stepNumber"] == 0:
            copy[0]["content"][0]["text"] = "rewritten"
        return {"messages": copy}

    scene = Scene(path, prepare_step=rewrite).run()
    assert [prompt[0]["content"][0]["text"] for prompt in scene.prompts] == ["rewritten"] * 3
    assert scene.caller[0]["content"][0]["text"] == "rewritten"


@both
def test_text_added_to_a_content_of_parts_makes_it_the_text_object_object(path: str) -> None:
    """C17: `content += 'x'` assigns `String(content) + 'x'`."""

    def add(given: Any) -> None:
        message = given["messages"][0]
        message["content"] = text(given.desk.store, message["content"].ref) + "x"

    scene = Scene(path, prepare_step=add, script=[[says("done")]]).run()
    assert scene.prompts[0][0]["content"] == [{"type": "text", "text": "[object Object]x"}]


@both
def test_text_as_the_content_of_a_tool_message_kills_the_run(path: str) -> None:
    """C17, C30: `message.content.filter is not a function`."""

    def reformat(given: Any) -> Any:
        last = given["messages"][-1]
        kept = [*given["messages"][:-1], {**last, "content": "reformatted"}]
        return {"messages": kept} if last["role"] == "tool" else None

    scene = Scene(path, prepare_step=reformat).run()
    assert scene.failure == ("TypeError", "filter is not a function")
    assert len(scene.prompts) == 1


@both
def test_a_part_cannot_be_pushed_to_a_content_of_text(path: str) -> None:
    """C17."""
    push = Scene(
        path, messages=[user("hello")], prepare_step=lambda given: given["messages"][0]["content"].append({})
    )
    assert push.run().error is not None
    assert push.prompts == []


@both
def test_hiding_tool_messages_after_a_call_fails_for_want_of_results(path: str) -> None:
    """C29: fine while there are no tool calls."""

    def hide(given: Any) -> Any:
        return {"messages": [message for message in given["messages"] if message["role"] != "tool"]}

    scene = Scene(path, prepare_step=hide).run()
    assert scene.failure == ("AI_MissingToolResultsError", "Tool result is missing for tool call c0.")
    assert len(scene.prompts) == 1


def test_the_finished_steps_of_a_stream_that_failed_are_still_reported() -> None:
    """C29, X19; on generate they are lost."""

    def fail(given: Any) -> Any:
        return {
            "messages": [user("u"), {"role": "assistant", "content": [calls("x")]}]
            if given["stepNumber"]
            else None
        }

    assert len(Scene(STREAM, prepare_step=fail).run().steps) == 1
    assert Scene(GENERATE, prepare_step=fail).run().loop.outcome.steps is None


@both
def test_hiding_assistant_and_tool_messages_together_works(path: str) -> None:
    """C29."""

    def hide(given: Any) -> Any:
        return {"messages": [message for message in given["messages"] if message["role"] == "user"]}

    scene = Scene(path, prepare_step=hide).run()
    assert scene.error is None
    assert [roles(prompt) for prompt in scene.prompts] == [["user"]] * 3


@both
def test_a_shallow_copy_of_a_message_shares_its_content(path: str) -> None:
    """C30."""

    def rewrite(given: Any) -> Any:
        if given["stepNumber"] > 0:
            return None
        copy = {**given["messages"][0]}
        copy["content"][0]["text"] = "rewritten"
        return {"messages": [copy]}

    scene = Scene(path, prepare_step=rewrite).run()
    assert scene.caller[0]["content"][0]["text"] == "rewritten"


@both
def test_everything_that_prepare_step_is_given_can_be_written(path: str) -> None:
    """C31: nothing is frozen."""

    def write(given: Any) -> None:
        last = given["messages"][-1]
        last["providerOptions"] = {}
        last["content"][0]["providerOptions"] = {"p": {}}
        last["content"][0]["providerOptions"]["p"]["x"] = 1
        given["messages"].pop()
        given["messages"].append(last)

    assert Scene(path, prepare_step=write).run().error is None


# ---------------------------------------------------------------- reports


@both
def test_no_object_of_the_loops_messages_is_in_a_report(path: str) -> None:
    """C25."""
    scene = Scene(path).run()
    reported = {message.ref for step in scene.steps for message in step["response"]["messages"]}
    assert not reported & {message.ref for message in scene.arrays[-1]}


def test_reports_share_messages_on_stream_and_are_clones_on_generate() -> None:
    """C26, C35, C37, X13."""
    for path, shared in ((STREAM, True), (GENERATE, False)):
        first, second = (step["response"]["messages"] for step in Scene(path).run().steps[:2])
        assert not first.is_same(second)
        assert [len(first), len(second)] == [2, 4]
        assert first[0].is_same(second[0]) is shared


def test_on_generate_the_number_of_reported_messages_is_that_of_the_clones() -> None:
    """C26: lists of 2, 4, 6, 7 in a run of four steps."""
    script = [[calls("c0")], [calls("c1")], [calls("c2")], [says("done")]]
    scene = Scene(GENERATE, script=script).run()
    assert [len(messages) for messages in scene.reports] == [2, 4, 6, 7]


@both
def test_a_reported_message_rewritten_in_on_step_finish_is_not_the_loops(path: str) -> None:
    """C36, C38."""

    def rewrite(result: Any) -> None:
        result["response"]["messages"][0]["content"][0]["text"] = "rewritten"

    scene = Scene(path, on_step_finish=rewrite).run()
    assert "rewritten" not in dump([scene.prepared, scene.prompts])
    assert scene.steps[0]["response"]["messages"][0]["content"][0]["text"] == "rewritten"


def test_a_payload_rewritten_in_a_report_is_the_loops_on_stream_only() -> None:
    """C36, C38."""

    def rewrite(result: Any) -> None:
        if result["stepNumber"] == 0:
            result["response"]["messages"][0]["content"][1]["input"]["x"] = "rewritten"

    assert "rewritten" in dump(Scene(STREAM, on_step_finish=rewrite).run().prompts[1])
    assert "rewritten" not in dump(Scene(GENERATE, on_step_finish=rewrite).run().prompts)


def test_content_pushed_in_on_step_finish_is_in_the_next_prompt_on_stream_only() -> None:
    """C16, C36, C38."""

    def push(result: Any) -> None:
        if result["stepNumber"] == 0:
            result["content"].append(says("pushed"))

    for path, seen in ((STREAM, True), (GENERATE, False)):
        scene = Scene(path, on_step_finish=push).run()
        assert ("pushed" in dump(scene.prompts[1])) is seen
        assert "pushed" not in dump(scene.reports)


@both
def test_a_payload_of_the_content_written_in_on_step_finish_is_in_the_next_prompt(path: str) -> None:
    """C38."""

    def write(result: Any) -> None:
        if result["stepNumber"] == 0:
            result["toolCalls"][0]["input"]["x"] = "call"
            result["toolResults"][0]["output"]["x"] = "result"

    prompt = dump(Scene(path, on_step_finish=write).run().prompts[1])
    assert '"x": "call"' in prompt
    assert '"x": "result"' in prompt


def test_a_message_rewritten_in_prepare_step_is_in_later_reports_on_generate_only() -> None:
    """C16."""

    def rewrite(given: Any) -> None:
        if given["stepNumber"] == 1:
            given["messages"][1]["content"][0]["text"] = "rewritten"

    for path, reported in ((STREAM, False), (GENERATE, True)):
        scene = Scene(path, prepare_step=rewrite).run()
        assert "rewritten" in dump(scene.prompts[2])
        assert ("rewritten" in dump(scene.reports)) is reported


def test_an_output_that_cannot_be_cloned_ends_a_run_on_generate_only() -> None:
    """C37."""

    def execute(given: Any, options: Any) -> Any:
        del given
        return live(options, {"call": Function("call"), "found": 1})

    tools = {"look": Tool(execute=execute)}
    scene = Scene(GENERATE, tools=tools).run()
    assert scene.failure[0] == "DataCloneError"
    assert scene.loop.outcome.steps is None
    assert Scene(STREAM, tools=tools, script=SCRIPT).run().error is None


@both
def test_a_caller_that_wants_a_lasting_change_can_write_its_messages_before_the_call(path: str) -> None:
    """C22."""
    scene = Scene(path, messages=[user_list("hello")])
    scene.caller[0]["content"].append(says("lasting"))
    scene.run()
    assert all("lasting" in dump(prompt) for prompt in scene.prompts)
