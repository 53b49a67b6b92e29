"""What @mastra/core 1.0.4 does otherwise: a test for each field in which its profile differs."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest

from agentcore.frameworks.mastra.emulation.settings import Model, Tool, is_date, time_of
from agentcore.frameworks.mastra.profiles import MASTRA_1_0, MASTRA_1_71, MastraProfile
from agentcore.heap.heap import UNDEFINED, Ref
from agentcore.heap.js import elements, get
from frameworks.mastra.stage import CALL, SECOND, TWO_STEPS, at_step, on_input, processor, stored, text
from frameworks.mastra.stage import Stage as AnyStage

OK = ([text("ok")],)
BOTH = [CALL, {**CALL, "toolCallId": "c2", "toolName": "save"}]


class Stage(AnyStage):
    """A call of an agent of version 1.0.4."""

    def __init__(self, script: Any = OK, **settings: Any) -> None:
        super().__init__(script, MASTRA_1_0.name, **settings)

    @property
    def parts(self) -> list[list[dict[str, Any]]]:
        """The parts of the messages at the end."""
        store = self.loop.store
        return [store.plain(message)["content"]["parts"] for message in self.loop.list.all()]


def fail(_: Any) -> Any:
    raise ValueError("boom")


def test_the_profiles_differ_in_every_field_that_is_there_for_it() -> None:
    for field in attrs.fields(MastraProfile):
        assert getattr(MASTRA_1_0, field.name) != getattr(MASTRA_1_71, field.name), field.name


# ---------------------------------------------------------------- messages


def test_parts_have_no_dates_and_stay_in_the_callers_array() -> None:
    message = {**stored("a", "x"), "createdAt": "2000-01-01T00:00:00Z"}
    stage = Stage(messages=[message])
    assert stage.parts[0] == [text("x")]
    store = stage.loop.store
    given = get(store, stage.loop.caller, "messages")
    for array in (given, stage.loop.list.messages):
        assert isinstance(array, Ref)
    first, kept = (elements(store, array)[0] for array in (given, stage.loop.list.messages))
    parts = [get(store, get(store, one, "content"), "parts") for one in (first, kept)]
    assert parts[0] == parts[1]


def test_a_stored_message_without_a_date_has_one_that_is_no_time() -> None:
    stage = Stage(messages=[stored("a", "x")])
    store = stage.loop.store
    message = stage.loop.list.all()[0]
    assert isinstance(message, Ref)
    at = get(store, message, "createdAt")
    assert is_date(store, at)
    assert math.isnan(time_of(store, at))
    assert store.plain(message)["createdAt"] is None


def test_a_message_without_a_time_is_neither_before_nor_after_others() -> None:
    stage = Stage(messages=["one", stored("a", "two"), "three"])
    assert [told for _, told in stage.stored][:3] == ["user: one", "user: two", "user: three"]


def test_a_message_from_the_future_is_dated_now() -> None:
    late = {"role": "user", "content": "late", "metadata": {"createdAt": "2100-01-01T00:00:00Z"}}
    stage = Stage(messages=["now", late])
    store = stage.loop.store
    dates = [time_of(store, get(store, one, "createdAt")) for one in stage.loop.list.all()]
    assert dates[1] <= stage.loop.clock.now


def test_reasoning_is_told_in_its_details_only() -> None:
    stage = Stage([[{"type": "reasoning", "text": "hm"}, text("ok")]])
    assert stage.parts[1][0] == {"type": "reasoning", "reasoning": "", "details": [text("hm")]}
    assert stage.prompts == [["user: hi"]]


def test_an_answer_of_a_tool_that_ends_a_message_is_followed_by_an_empty_text() -> None:
    part = {
        "type": "tool-result",
        "toolCallId": "h",
        "toolName": "x.y",
        "output": {"type": "json", "value": 1},
    }
    stage = Stage(messages=["hi", {"role": "assistant", "content": [part]}])
    call = {"toolCallId": "h", "toolName": "x.y", "args": {}, "state": "result", "result": 1}
    assert stage.parts[1][:2] == [{"type": "tool-invocation", "toolInvocation": call}, text("")]


def test_an_answer_is_merged_into_the_last_message_only() -> None:
    def add(args: Any) -> None:
        args.message_list.add(stored("a", "again", "assistant", createdAt="2000-01-01T00:00:00Z"), "response")

    first = stored("a", "first", "assistant", createdAt="2000-01-01T00:00:00Z")
    stage = Stage(messages=[first, "hi"], prepare_step=add)
    assert stage.stored[0] == ("response", "assistant: again")


def test_a_remembered_message_that_is_answered_counts_as_remembered() -> None:
    def add(args: Any) -> None:
        args.message_list.add([stored("a", "known", "assistant", createdAt="2100-01-01T00:00:00Z")], "memory")

    assert Stage(prepare_step=add).stored[-1] == ("memory", "assistant: known ok")


def test_replacing_the_system_messages_takes_those_with_a_tag_away() -> None:
    stage = Stage(TWO_STEPS, instructions="own", system="the call's")
    assert [list_.startswith("system") for list_ in stage.prompts[1]] == [True, True, False, False, False]
    assert stage.loop.list.tagged == {}


def test_system_messages_cannot_be_taken_out() -> None:
    seen: list[str] = []

    def clear(args: Any) -> None:
        with pytest.raises(TypeError) as caught:
            args.message_list.clear_system_messages()
        seen.append(str(caught.value))

    Stage(instructions="own", prepare_step=clear)
    assert seen == ["target.clearSystemMessages is not a function"]


# ---------------------------------------------------------------- prompts


def test_blank_texts_and_answers_without_calls_are_shown_to_a_model() -> None:
    result = {
        "type": "tool-result",
        "toolCallId": "h",
        "toolName": "look",
        "output": {"type": "text", "value": "r"},
    }
    stage = Stage(messages=["", {"role": "tool", "content": [result]}, "hi"])
    assert stage.prompts == [["user: ", "assistant: look?", "tool: look!", "user: hi"]]


def test_options_stand_at_the_message_of_the_same_number() -> None:
    options = {"x": {"k": 1}}
    call = {"role": "assistant", "content": [CALL], "providerOptions": None}
    answer = {
        "type": "tool-result",
        "toolCallId": "c1",
        "toolName": "look",
        "output": {"type": "text", "value": "r"},
    }
    asked = Stage(
        messages=[
            "a",
            call,
            {"role": "tool", "content": [answer]},
            {"role": "user", "content": "b", "providerOptions": options},
        ]
    ).asked[0]["prompt"]
    assert [message.get("providerOptions") for message in asked] == [None, None, options, None]


def test_a_prompt_of_system_messages_alone_fails() -> None:
    error = Stage(messages=[], instructions="own").outcome.error
    assert error is not None
    assert error.message.startswith("Exhausted all fallback models")


# ---------------------------------------------------------------- processors


def test_processors_of_a_call_are_run_one_by_one_and_those_of_the_agent_as_a_workflow() -> None:
    for place, expected in (("call_processors", [["hi"], ["new"]]), ("processors", [["hi"], ["hi"]])):
        seen: list[list[str]] = []

        def look(args: Any, seen: list[list[str]] = seen) -> None:
            seen.append([one["content"]["parts"][0]["text"] for one in args["messages"]])
            args.message_list.clear_all()
            args.message_list.add("new", "input")

        Stage(**{place: [processor(look), processor(look, "p2")]})
        assert seen == expected


def test_what_processors_of_a_call_return_of_the_input_replaces_it() -> None:
    def both(_: Any) -> Any:
        systems = [{"role": "system", "content": "s"}]
        return {"messages": [stored("n", "new", createdAt="2000-01-01T00:00:00Z")], "systemMessages": systems}

    stage = Stage(call_processors=[on_input(both), on_input(lambda _: None, "p2")], instructions="own")
    assert stage.prompts == [["system: s", "user: new"]]
    stage = Stage(call_processors=[on_input(lambda args: args.message_list)], messages=["hi"])
    assert stage.prompts == [["user: hi"]]
    assert Stage(call_processors=[on_input(lambda _: [])], messages=["hi"]).outcome.error is not None


@pytest.mark.parametrize("messages", [["hi"], []])
def test_an_object_without_both_arrays_is_no_input(messages: list[Any]) -> None:
    stage = Stage(call_processors=[on_input(lambda _: {"messages": []})], messages=messages)
    assert stage.outcome.error is not None
    assert stage.outcome.error.message == "[Agent:agent] - Input processor error"
    assert stage.outcome.error.cause is not None


def test_system_messages_among_the_input_come_first() -> None:
    def mixed(args: Any) -> Any:
        return [*args["messages"], {"role": "system", "content": {"format": 2, "parts": [text("late")]}}]

    stage = Stage(call_processors=[on_input(mixed)])
    assert stage.prompts == [["system: late", "user: hi"]]


def test_processors_are_given_all_system_messages_in_a_new_array() -> None:
    def change(args: Any) -> None:
        assert [one["content"] for one in args["systemMessages"]] == ["own", "the call's"]
        args["systemMessages"].append({"role": "system", "content": "lost"})

    stage = Stage(instructions="own", system="the call's", call_processors=[processor(change)])
    assert stage.prompts == [["system: own", "system: the call's", "user: hi"]]


def test_the_workflow_gives_each_processor_steps_of_its_own_without_any_in_it() -> None:
    seen: list[int] = []

    def count(args: Any) -> None:
        seen.append(len(args["steps"]))
        args["steps"].append({})

    Stage(TWO_STEPS, processors=[processor(count), processor(count, "p2")])
    assert seen == [0, 0, 0, 0]
    seen.clear()
    Stage(TWO_STEPS, prepare_step=lambda args: seen.append(len(args["steps"])))
    assert seen == [0, 1]


def test_returned_messages_are_merged_though_they_are_the_lists_own() -> None:
    answers = [stored(name, name, "assistant", createdAt=f"2000-01-0{name}T00:00:00Z") for name in "12"]
    stage = Stage(messages=[*answers, "hi"], prepare_step=lambda args: args["messages"])
    assert [told for _, told in stage.stored[:2]] == ["assistant: 1 2", "user: hi"]


@pytest.mark.parametrize("version", ["v1", "v4", "v9"])
def test_a_model_of_a_version_that_is_not_known_is_refused(version: str) -> None:
    stage = Stage(prepare_step=lambda _: {"model": Model("other", lambda _: [], version)})
    assert stage.outcome.error is not None
    assert stage.asked == []


def test_processors_are_given_no_message_id_and_set_none() -> None:
    def rename(args: Any) -> Any:
        assert "messageId" not in args
        return {"messageId": "mine"}

    stage = Stage(prepare_step=rename)
    assert stage.loop.list.by_id("mine") is None


# ---------------------------------------------------------------- options


def test_model_settings_are_one_object_for_the_whole_call() -> None:
    def warm(args: Any) -> None:
        args["modelSettings"]["topK"] = args["stepNumber"]

    stage = Stage(
        TWO_STEPS, options={"modelSettings": {"seed": 1, "maxRetries": 0}}, prepare_step=at_step(0, warm)
    )
    assert [(asked["temperature"], asked["seed"], asked["topK"]) for asked in stage.asked] == [
        (0, 1, 0),
        (0, 1, 0),
    ]
    assert "maxRetries" not in stage.asked[0]


def test_active_tools_of_a_call_are_lost_and_the_choice_of_none_sends_tools() -> None:
    asked = Stage(options={"activeTools": [], "toolChoice": "none"}).asked[0]
    assert [tool["name"] for tool in asked["tools"]] == ["look"]
    assert asked["toolChoice"] == {"type": "none"}


def test_headers_keep_their_letters() -> None:
    assert Stage(options={"modelSettings": {"headers": {"X-A": "1"}}}).asked[0]["headers"] == {"X-A": "1"}


# ---------------------------------------------------------------- model calls


def test_a_failed_model_call_is_made_again_twice() -> None:
    failed = ValueError("boom")
    stage = Stage([failed, failed, [text("ok")]])
    assert (stage.outcome.error, len(stage.asked)) == (None, 3)
    stage = Stage([failed] * 3, streams=True)
    assert stage.outcome.error is not None
    assert (stage.outcome.error.message, len(stage.asked)) == ("boom", 3)
    assert [told for _, told in stage.stored] == ["user: hi"]
    assert len(Stage([failed], options={"modelSettings": {"maxRetries": 0}}).asked) == 1


def test_the_agents_retries_run_processors_again_and_their_error_is_lost() -> None:
    runs: list[int] = []

    def count(_: Any) -> None:
        runs.append(1)
        raise ValueError("boom")

    outcome = Stage(
        prepare_step=count, max_retries=1, fallback_models=[Model("second", lambda _: [])]
    ).outcome
    assert len(runs) == 4
    assert outcome.error is not None
    assert outcome.error.message == "Exhausted all fallback models and reached the maximum number of retries."


def test_each_step_begins_with_the_first_model() -> None:
    stage = Stage(max_retries=0, fallback_models=[Model("second", lambda _: [])])
    stage = Stage(
        [ValueError(), ValueError(), ValueError(), [CALL], [text("ok")]],
        fallback_models=[stage.model("second")],
    )
    assert [asked["model"] for asked in stage.asked] == ["base"] * 3


# ---------------------------------------------------------------- answers and tools


def test_steps_tell_what_was_in_the_list_a_step_before() -> None:
    seen: list[list[str]] = []
    stage = Stage(
        ([text("one"), CALL], [text("two"), SECOND], [text("three")]),
        prepare_step=lambda args: seen.append([step["text"] for step in args["steps"]]),
    )
    assert stage.outcome.step_texts == ["one", "two", "three"]
    assert seen == [[], [""], ["", ""]]


def test_answers_have_no_marks_at_the_end_of_a_step_and_name_no_model() -> None:
    stage = Stage(TWO_STEPS)
    kinds = [part["type"] for part in stage.parts[1]]
    assert kinds == ["tool-invocation", "step-start", "text"]
    assert "model" not in stage.parts[1][1]
    content = stage.loop.store.plain(stage.loop.list.all()[1])["content"]
    assert "metadata" not in content


def test_a_tool_that_fails_answers_with_its_error() -> None:
    stage = Stage(TWO_STEPS, tools={"look": Tool(execute=fail)}, streams=True)
    result = stage.parts[1][0]["toolInvocation"]["result"]
    assert (result["message"], result["id"]) == ("boom", "TOOL_EXECUTION_FAILED")
    assert "tool-result" in stage.outcome.chunks


def test_a_tool_that_does_not_answer_leaves_all_calls_of_the_step_unanswered() -> None:
    stage = Stage(
        [BOTH], tools={"look": Tool(execute=lambda _: 1), "save": Tool(execute=lambda _: UNDEFINED)}
    )
    assert [part["toolInvocation"]["state"] for part in stage.parts[1]] == ["call", "call"]
    assert stage.outcome.finish_reason == "tool-calls"


def test_a_call_of_a_tool_that_there_is_not_fails_the_run() -> None:
    stage = Stage([BOTH], streams=True)
    assert stage.outcome.error is not None
    assert stage.outcome.error.message == "Tool save not found"
    assert stage.outcome.chunks[-1] == "error"
    assert len(stage.looked) == 1


def test_a_tool_that_is_not_active_runs() -> None:
    stage = Stage(TWO_STEPS, prepare_step=lambda _: {"activeTools": []})
    assert len(stage.looked) == 1
    assert stage.asked[0]["tools"] == []


def test_a_streams_text_is_that_of_all_steps() -> None:
    stage = Stage(([text("one"), CALL], [text("two")]), streams=True)
    assert (stage.outcome.text, stage.outcome.last_text) == ("onetwo", "onetwo")


def put(args: Any) -> None:
    args["messages"][0] = stored("a", "x")


def test_a_stream_runs_no_tool_whose_call_the_list_does_not_take() -> None:
    stage = Stage([[CALL, text("one")]], prepare_step=put, streams=True)
    assert stage.looked == []
    assert stage.outcome.chunks[2:] == ["tool-call", "text-start", "text-delta", "error"]


def test_what_comes_after_a_text_that_the_list_does_not_take_is_lost() -> None:
    stage = Stage([[text("one"), CALL]], prepare_step=put, streams=True)
    assert stage.outcome.chunks == ["start", "step-start", "text-start", "text-delta", "error"]
    assert stage.looked == []
    assert stage.outcome.error is not None
    assert "getTime" in stage.outcome.error.message


def test_a_stream_passes_every_call_whatever_its_id() -> None:
    stage = Stage([[CALL, {**CALL, "input": {"a": 2}}], [CALL], [text("ok")]], streams=True)
    assert [given["a"] for given in stage.looked] == [1, 2, 1]
    assert stage.outcome.chunks.count("tool-call") == 2  # those that follow each other count as one


def test_a_remembered_message_replaces_the_lists_own_of_its_id() -> None:
    def remember(args: Any) -> None:
        args.message_list.add([stored("c", "new", createdAt="2000-01-01T00:00:00Z")], "memory")

    given: dict[str, Any] = {
        "messages": ["hi"],
        "context": [stored("c", "old", createdAt="2000-01-01T00:00:00Z")],
    }
    assert Stage(prepare_step=remember, **given).stored[0] == ("memory", "user: new")
    now = AnyStage(prepare_step=remember, **given)
    assert now.stored[0] == ("memory", "user: old")
