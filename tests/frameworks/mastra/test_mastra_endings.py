"""How calls end: aborts, errors and what the caller gets of them (claims M44 to M51, M89 to M91)."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.mastra.emulation.arguments import ListHandle
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.settings import Model, Router, Tool
from agentcore.heap.heap import UNDEFINED
from frameworks.mastra.stage import CALL, TWO_STEPS, Stage, at_step, on_input, processor, text


def boom(_: Any) -> Any:
    raise ValueError("boom")


def abort(args: Any) -> Any:
    args.abort("no", {"retry": True, "metadata": {"why": 1}})


def external(args: Any) -> ListHandle:
    target = args.message_list.target
    return ListHandle(args.desk, MessageList(target.store, target.clock, target.profile))


def test_an_abort_ends_the_call_with_what_there_is() -> None:
    stage = Stage(
        [[text("first"), CALL], [text("done")]], processors=[processor(at_step(1, abort))], streams=True
    )
    outcome = stage.outcome
    assert outcome.error is None
    assert outcome.tripwire is not None
    assert (outcome.tripwire.reason, outcome.tripwire.processor_id) == ("no", "p1")
    assert (outcome.tripwire.retry, outcome.tripwire.metadata) == (True, {"why": 1})
    assert (outcome.text, outcome.last_text, outcome.finish_reason) == ("first", "first", "other")
    assert outcome.chunks[-2:] == ["step-finish", "tripwire"]
    assert len(stage.asked) == 1


def test_an_abort_without_a_reason_has_one() -> None:
    stage = Stage(prepare_step=lambda args: args.abort())
    assert stage.outcome.tripwire is not None
    assert stage.outcome.tripwire.reason == "Tripwire triggered by prepare-step"


def test_an_abort_of_the_input_asks_no_model() -> None:
    stage = Stage(processors=[on_input(abort)], streams=True)
    assert stage.outcome.chunks == ["tripwire"]
    assert stage.asked == []


def test_an_abort_is_no_reason_to_try_another_model() -> None:
    stage = Stage(processors=[processor(abort)], fallback_models=[Model("second", lambda _: [])])
    assert stage.outcome.tripwire is not None


def test_an_error_of_a_processor_stops_the_chain_and_comes_wrapped() -> None:
    seen: list[Any] = []
    stage = Stage(processors=[processor(boom), processor(seen.append, "p2")], prepare_step=seen.append)
    error = stage.outcome.error
    assert seen == []
    assert stage.asked == []
    assert error is not None
    assert (error.code, error.domain, error.category) == ("PROCESSOR_WORKFLOW_FAILED", "AGENT", "USER")
    assert error.message == (
        "Processor workflow agent-input-processor failed with status: failed — boom; step processor:p1: boom"
    )


def test_an_error_of_prepare_step_comes_as_it_is() -> None:
    error = Stage(prepare_step=boom).outcome.error
    assert error is not None
    assert (error.name, error.message, error.code) == ("ValueError", "boom", None)


@pytest.mark.parametrize(
    ("streams", "name"), [(True, "AGENT_STREAM_FAILED"), (False, "AGENT_GENERATE_FAILED")]
)
def test_an_error_with_the_input_is_the_calls(streams: bool, name: str) -> None:
    error = Stage(processors=[on_input(boom)], streams=streams).outcome.error
    assert error is not None
    assert (error.id, error.class_name) == (name, "MastraError")
    assert error.cause is not None
    assert error.cause.code == "AGENT_INPUT_PROCESSOR_ERROR"


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (external, "PROCESSOR_RETURNED_EXTERNAL_MESSAGE_LIST"),
        (lambda args: {"messageList": external(args)}, "PROCESSOR_RETURNED_EXTERNAL_MESSAGE_LIST"),
        (
            lambda args: {"messages": [], "messageList": args.message_list},
            "PROCESSOR_RETURNED_MESSAGES_AND_MESSAGE_LIST",
        ),
        (lambda _: {"model": Model("old", lambda _: [], "v1")}, "PROCESSOR_RETURNED_UNSUPPORTED_MODEL"),
    ],
)
def test_a_result_that_is_none_fails_the_call_by_its_kind(result: Any, kind: str) -> None:
    error = Stage(prepare_step=result).outcome.error
    assert error is not None
    assert error.code == kind


def test_a_foreign_list_fails_the_input_too() -> None:
    assert Stage(processors=[on_input(external)]).outcome.error is not None


@pytest.mark.parametrize(
    ("model", "told"),
    [(Router("gpt"), "doesn't appear to contain a provider"), (7, "Invalid model configuration")],
)
def test_what_names_no_model_fails_the_call(model: Any, told: str) -> None:
    error = Stage(prepare_step=lambda _: {"model": model}).outcome.error
    assert error is not None
    assert told in error.message


def test_a_model_of_the_router_has_no_key() -> None:
    stage = Stage(prepare_step=lambda _: {"model": "openai/gpt-4o-mini"})
    assert stage.outcome.error is not None
    assert "OPENAI_API_KEY" in stage.outcome.error.message


def test_models_of_other_versions_may_be_returned() -> None:
    for version in ("v2", "v3", "v4", "v9"):
        other = Model("other", lambda _: [text("mine")], version)
        stage = Stage(prepare_step=lambda _, other=other: {"model": other})
        assert stage.outcome.text == "mine"


def test_a_failed_model_is_an_error_and_recorded_in_the_conversation() -> None:
    stage = Stage([[CALL], ValueError("down")], prepare_step=lambda _: None, streams=True)
    assert stage.outcome.error is not None
    assert stage.outcome.error.message == "down"
    answer = stage.loop.store.plain(stage.loop.list.all()[-1])
    assert answer["content"]["parts"][-1]["error"] == {"name": "ValueError", "message": "down"}
    assert stage.outcome.chunks[-3:] == ["error", "step-finish", "finish"]


def test_a_model_that_fails_at_once_leaves_a_message_that_says_so() -> None:
    stage = Stage([ValueError("down")])
    assert stage.stored == [("input", "user: hi"), ("response", "assistant: ")]


def test_a_failed_call_is_made_again_as_often_as_the_agent_says() -> None:
    stage = Stage([ValueError("down"), [text("ok")]], max_retries=1)
    assert stage.outcome.text == "ok"
    assert len(stage.asked) == 2


def test_another_model_is_tried_and_kept_for_the_steps_after() -> None:
    seen: list[str] = []
    second = Model("second", lambda _: [CALL] if seen[-1] == "second" and len(seen) < 3 else [text("ok")])
    stage = Stage(
        [ValueError("down")],
        prepare_step=lambda args: seen.append(args["model"]["modelId"]),
        fallback_models=[second, Model("third", lambda _: [])],
    )
    assert seen == ["base", "second", "second"]
    assert stage.outcome.text == "ok"


def test_what_a_failed_attempt_did_to_the_list_stays_for_the_next() -> None:
    stage = Stage(
        [ValueError("down")],
        prepare_step=lambda args: args.message_list.add("again", "input"),
        fallback_models=[Model("second", lambda _: [text("ok")])],
    )
    assert [told for _, told in stage.stored] == ["user: hi", "user: again", "user: again", "assistant: ok"]


def test_a_failing_tool_answers_with_its_error_and_the_run_goes_on() -> None:
    stage = Stage(TWO_STEPS, tools={"look": Tool(execute=boom)})
    output = stage.asked[1]["prompt"][-1]["content"][0]["output"]
    assert output == {"type": "error-text", "value": "boom"}


def test_a_tool_without_an_answer_ends_the_run() -> None:
    stage = Stage(TWO_STEPS, tools={"look": Tool(execute=lambda _: UNDEFINED)})
    assert len(stage.asked) == 1
    assert stage.outcome.finish_reason == "tool-calls"
    assert stage.stored[-1] == ("response", "assistant: look?")


def test_a_run_ends_after_so_many_steps() -> None:
    stage = Stage([[CALL]] * 5, max_steps=2)
    assert len(stage.asked) == 2
    assert stage.outcome.finish_reason == "tool-calls"


@pytest.mark.parametrize("message", [{"role": "user"}, {"role": "user", "content": None}])
def test_a_message_without_content_fails_the_call(message: Any) -> None:
    error = Stage(messages=[message]).outcome.error
    assert error is not None
    assert error.cause is not None
    assert error.cause.code == "INVALID_MESSAGE_CONTENT"


def test_an_empty_system_message_fails_the_call() -> None:
    error = Stage(instructions=[{"role": "system", "content": ""}]).outcome.error
    assert error is not None
    assert error.cause is not None
    assert error.cause.code == "INVALID_SYSTEM_MESSAGE_FORMAT"


def test_a_message_without_a_date_fails_the_call_when_the_answer_is_added() -> None:
    stage = Stage(
        processors=[processor(lambda args: args["messages"].append({"role": "user", "content": "x"}))]
    )
    assert stage.outcome.error is not None
    assert "getTime" in stage.outcome.error.message


def test_a_stream_runs_its_tools_before_the_message_is_in_the_list_and_generate_after() -> None:
    def undated(args: Any) -> None:
        args["messages"].insert(0, {"role": "user", "content": {"format": 2, "parts": []}})

    ran = [Stage(TWO_STEPS, prepare_step=undated, streams=streams).looked for streams in (True, False)]
    assert ran == [[{"a": 1}], []]


def test_a_message_without_a_date_that_was_put_in_past_the_list_fails_the_next_adding() -> None:
    def put(args: Any) -> None:
        args["messages"][0] = {"role": "user", "content": "x"}

    error = Stage(prepare_step=put).outcome.error
    assert error is not None
    assert error.message == "Cannot read properties of undefined (reading 'getTime')"
    # An answer without parts is not added; that the agent's messages cannot be added again nobody is told.
    outcome = Stage([[CALL], []], prepare_step=at_step(1, put)).outcome
    assert (outcome.error, outcome.finish_reason) == (None, "stop")
