from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import from_json as from_json_text

from agent.kit import add, call, run_by, scripted, streamed, text, types
from agentcore.agent.agent import Agent, AgentError, NoObjectError
from agentcore.agent.call.config import step_count_is
from agentcore.agent.call.loop import ASKED_AGAIN
from agentcore.agent.events import PartialObject
from agentcore.agent.middleware import InvokeModelStage
from agentcore.agent.models import ModelResponse
from agentcore.agent.output import OtherOutputError, Output, OutputError
from agentcore.agent.rules import AgentRule
from agentcore.errors import InvalidOverrideError
from agentcore.machine.hooks import StepOverride
from agentcore.machine.run import Run
from agentcore.machine.step import step
from agentcore.messages.chains import Chains
from agentcore.messages.content import GeneratedText
from agentcore.messages.messages import UserMessage
from agentcore.messages.values import dump_json, thaw
from agentcore.records.provenance import account
from agentcore.records.saved import from_json, to_json
from agentcore.requirements.rules import Rule
from rulebook import states

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])


class Sum(BaseModel):
    total: int


SUM = Output.of(Sum)


def step_chains(run: Run) -> Chains:
    """The chains that the results of all steps come to."""
    return reduce(
        step, (record.results for record in run.steps), Chains.start(run.given, run.settings.system)
    )


@BOTH
async def test_the_last_text_is_read_as_the_output_that_every_call_asks_for(path: str) -> None:
    model = scripted([call(a=1)], text('{"total": 2}'))
    result = await run_by(path, Agent(model, tools=[add], output=SUM), "q")
    assert result.object == Sum(total=2)
    assert [request.response_format for request in model.calls] == [SUM.response_format] * 2


@BOTH
async def test_a_text_that_is_not_the_output_is_an_error_with_the_whole_run(path: str) -> None:
    agent = Agent(scripted([call(a=1)], text('{"total": "x"}')), tools=[add], output=SUM)
    with pytest.raises(AgentError, match=r"OutputError: .*\n\$\.total: ") as raised:
        await run_by(path, agent, "q")
    assert isinstance(raised.value.__cause__, OutputError)
    assert raised.value.path == "$.total"
    assert len(raised.value.run.steps) == 2
    with pytest.raises(AgentError, match="OutputError"):
        await agent.resume(raised.value.run)


@BOTH
async def test_a_step_hook_changes_what_the_answer_is_to_be(path: str) -> None:
    model = scripted([call(a=1)], [call(a=2)], text('{"total": 2}'))
    other = {"type": "json", "schema": {"type": "object"}}
    changed: list[Any] = [{"response_format": {"type": "text"}}, {"response_format": other}, None]
    agent = Agent(model, tools=[add], output=SUM, prepare_step=lambda step: changed[step.step_number])
    result = await run_by(path, agent, "q")
    assert result.object == Sum(total=2)
    asked = [thaw(request.response_format) for request in model.calls]
    assert asked == [None, other, thaw(SUM.response_format)]


@BOTH
async def test_a_run_that_ended_before_the_answer_has_no_object(path: str) -> None:
    agent = Agent(scripted([*text("{}"), call(a=1)]), tools=[add], output=SUM, stop_when=step_count_is(1))
    result = await run_by(path, agent, "q")
    with pytest.raises(NoObjectError, match="the run has no object"):
        _ = result.object


async def test_calls_that_the_provider_ran_are_part_of_an_answer() -> None:
    search = call("search", query="x")
    searched = {
        "type": "tool-call",
        "toolCallId": search.tool_call_id,
        "toolName": "search",
        "input": {"query": "x"},
        "providerExecuted": True,
        "dynamic": True,
    }
    agent = Agent(scripted([searched, *text('{"total": 1}')]), output=SUM)
    assert (await agent.generate("q")).object.total == 1


async def test_a_call_and_prepare_call_may_ask_for_another_output() -> None:
    numbers = Output.of(list[int])
    agent = Agent(scripted(text('{"result": [1]}'), text('{"a": 1}'), text("plain")), output=SUM)
    assert (await agent.generate("q", output=numbers)).object == [1]
    schema: Output[Any] = Output.json_schema({"type": "object"})
    result = await agent.generate("q", prepare_call=lambda _: {"output": schema})
    assert thaw(result.object) == {"a": 1}
    plain: Any = await agent.generate("q", prepare_call=lambda _: {"output": None})
    assert plain.object is None
    assert agent.model.calls[2].response_format is None  # type: ignore[attr-defined]


# ---------------------------------------------------------------- outputs that a hook asks for

NAMES = Output.of(list[str])
PLAIN = {"type": "text"}
OBJECT = {"type": "json", "schema": {"type": "object", "required": ["total"]}}
ANY = {"type": "json"}


def returning(result: Any) -> Any:
    return lambda _: result


@BOTH
@pytest.mark.parametrize("own", [None, SUM, NAMES])
@pytest.mark.parametrize(
    ("asked", "answer", "expected"),
    [
        (SUM, '{"total": 2}', Sum(total=2)),
        (NAMES, '{"result": ["a"]}', ["a"]),
        (PLAIN, '{"total": 2}', None),
        (PLAIN, "no JSON", None),
        (OBJECT, '{"total": "any"}', {"total": "any"}),
        (ANY, "[1, {}]", (1, {})),
    ],
)
@states(AgentRule.OUTPUT_OF_THE_LAST_STEP)
async def test_the_object_is_what_the_last_steps_hook_asked_for(
    path: str, own: Any, asked: Any, answer: str, expected: Any
) -> None:
    for name in ("structured_output", "response_format"):
        model = scripted(text(answer))
        result = await run_by(path, Agent(model, output=own, prepare_step=returning({name: asked})), "q")
        assert result.object == expected
        assert type(result.object) is type(expected) or isinstance(expected, dict | tuple)
        assert result.response_format == model.calls[0].response_format


@BOTH
async def test_what_earlier_steps_were_asked_for_does_not_count(path: str) -> None:
    returned: list[Any] = [{"structured_output": NAMES}, {"structured_output": PLAIN}, None]
    model = scripted([*text("no JSON"), call(a=1)], [*text("none"), call(a=2)], text('{"total": 2}'))
    agent = Agent(model, tools=[add], output=SUM, prepare_step=lambda step: returned[step.step_number])
    assert (await run_by(path, agent, "q")).object == Sum(total=2)


@BOTH
async def test_the_last_of_a_steps_hooks_decides(path: str) -> None:
    def first(_: Any) -> Any:
        return {"structured_output": NAMES}

    cases: list[tuple[Any, str, Any]] = [
        (SUM, '{"total": 2}', Sum(total=2)),
        (PLAIN, "no", None),
        (NAMES.response_format, '{"result": []}', []),
    ]
    for last, answer, expected in cases:
        agent = Agent(
            scripted(text(answer)),
            input_processors=[first],
            prepare_step=returning({"structured_output": last}),
        )
        assert (await run_by(path, agent, "q")).object == expected


@BOTH
async def test_an_answer_that_the_hook_did_not_ask_for_fails_the_run(path: str) -> None:
    for asked in (NAMES, NAMES.response_format):
        agent = Agent(
            scripted(text('{"total": 2}')),
            output=SUM,
            prepare_step=returning({"structured_output": asked}),
        )
        with pytest.raises(AgentError) as raised:
            await run_by(path, agent, "q")
        assert isinstance(raised.value.__cause__, OutputError)


@BOTH
async def test_a_saved_run_is_read_by_its_schema_and_object_as_reads_it_by_the_type(path: str) -> None:
    agent = Agent(scripted(text('{"total": 2}')), prepare_step=lambda _: {"structured_output": SUM})
    result = await run_by(path, agent, "q")
    loaded = await agent.resume(from_json(to_json(result.run)))
    assert (result.object, thaw(loaded.object)) == (Sum(total=2), {"total": 2})
    assert result.object_as(SUM) == loaded.object_as(SUM) == Sum(total=2)
    assert (await Agent(agent.model, output=SUM).resume(result.run)).object == Sum(total=2)


async def test_a_hook_that_asks_for_the_json_of_the_agents_output_leaves_it_read_by_its_type() -> None:
    asked = thaw(SUM.response_format)
    agent = Agent(
        scripted(text('{"total": 2}')), output=SUM, prepare_step=lambda _: {"structured_output": asked}
    )
    assert (await agent.generate("q")).object == Sum(total=2)


async def test_an_override_keeps_the_json_of_an_output() -> None:
    override = StepOverride(response_format=SUM)
    assert override.response_format == SUM.response_format
    agent = Agent(scripted(text('{"total": 2}')), prepare_step=lambda _: override)
    assert thaw((await agent.generate("q")).object) == {"total": 2}


@pytest.mark.parametrize("schema", [{"type": 5}, {"$ref": "elsewhere.json"}, True, [], "x"])
async def test_a_schema_that_is_none_fails_where_the_hook_returned_it(schema: Any) -> None:
    model = scripted(text("{}"))

    def hook(_: Any) -> Any:
        return {"structured_output": {"type": "json", "schema": schema}}

    with pytest.raises(AgentError) as raised:
        await Agent(model, prepare_step=hook).generate("q")
    cause = raised.value.__cause__
    assert isinstance(cause, InvalidOverrideError)
    assert (cause.path, cause.processor_id, cause.step_number) == (
        "$.response_format.schema",
        "prepare_step",
        0,
    )
    assert not model.calls


@pytest.mark.parametrize("value", [Sum, Sum(total=1), "json", {"type": "yaml"}, 7])
async def test_what_is_no_output_fails_where_the_hook_returned_it(value: Any) -> None:
    agent = Agent(scripted(text("{}")), prepare_step=lambda _: {"structured_output": value})
    with pytest.raises(AgentError, match=r"\$\.response_format: use an Output, ") as raised:
        await agent.generate("q")
    assert isinstance(raised.value.__cause__, InvalidOverrideError)


@BOTH
async def test_a_run_that_a_hook_asked_for_an_object_and_that_ended_before_has_none(path: str) -> None:
    agent = Agent(
        scripted([*text("{}"), call(a=1)]),
        tools=[add],
        stop_when=step_count_is(1),
        prepare_step=lambda _: {"structured_output": SUM},
    )
    result = await run_by(path, agent, "q")
    with pytest.raises(NoObjectError):
        _ = result.object
    with pytest.raises(NoObjectError):
        result.object_as(SUM)


async def test_object_as_says_what_the_last_step_was_asked_for() -> None:
    result = await Agent(scripted(text('{"total": 2}')), output=SUM).generate("q")
    assert result.object_as(SUM) == result.object
    with pytest.raises(OtherOutputError) as raised:
        result.object_as(NAMES)
    assert (raised.value.asked, raised.value.wanted) == (SUM.response_format, NAMES.response_format)
    assert f"asked for {dump_json(SUM.response_format)}, not for {dump_json(NAMES.response_format)}" in str(
        raised.value
    )
    plain = await Agent(scripted(text())).generate("q")
    with pytest.raises(OtherOutputError, match="the last step was asked for text, not for"):
        plain.object_as(SUM)


# ---------------------------------------------------------------- partial objects


def partials(events: Any) -> list[Any]:
    return [thaw(event.value) for event in events if isinstance(event, PartialObject)]


@states(AgentRule.OUTPUT_PARTIAL)
async def test_a_stream_shows_the_object_as_far_as_it_has_come() -> None:
    model = scripted([*text('{"total": 1}'), call(a=1)], text('{"total": 25, "more": [1, "ab"]}'), chunk=1)
    chunks: list[Any] = []
    output = Output.json_schema({"type": "object"})
    events, result = await streamed(Agent(model, tools=[add], output=output, on_chunk=chunks.append), "q")
    seen = [(event.step_number, thaw(event.value)) for event in events if isinstance(event, PartialObject)]
    assert seen == [
        (0, {}),
        (0, {"total": 1}),
        (1, {}),
        (1, {"total": 2}),
        (1, {"total": 25}),
        (1, {"total": 25, "more": [1]}),
        (1, {"total": 25, "more": [1, "ab"]}),
    ]
    assert seen[-1][1] == thaw(result.object)
    assert "partial-object" not in types(chunks)


async def test_a_step_that_is_asked_for_text_has_no_partial_objects() -> None:
    for agent in (
        Agent(scripted(text('{"total": 1}'))),
        Agent(
            scripted(text('{"total": 1}')), output=SUM, prepare_step=lambda _: {"structured_output": PLAIN}
        ),
    ):
        events, _ = await streamed(agent, "q")
        assert partials(events) == []
    hooked = Agent(scripted(text('{"total": 1}')), prepare_step=lambda _: {"structured_output": SUM})
    events, _ = await streamed(hooked, "q")
    assert partials(events) == [{"total": 1}]


async def failing(answer: str) -> tuple[list[Any], AgentError]:
    """The events of a run whose answer is no JSON, and how it failed."""
    agent, seen = Agent(scripted(text(answer), chunk=3), output=Output.json_schema({})), []
    try:
        async with agent.stream("q") as stream:
            async for event in stream:
                seen.append(event)  # noqa: PERF401 - they are wanted although iterating raises
    except AgentError as error:
        return seen, error
    raise AssertionError(answer)


@pytest.mark.parametrize("answer", ["no JSON", "", "```json\n{}\n```", "[NaN", '{"a":"\ud800"'])
async def test_a_text_that_is_no_json_so_far_has_no_partial_objects_of_that(answer: str) -> None:
    seen, error = await failing(answer)
    assert [value for value in partials(seen) if value not in ([], {})] == []
    assert isinstance(error.__cause__, OutputError)


async def test_an_answer_that_is_nested_without_end_fails_as_it_would_without_partial_objects() -> None:
    seen, error = await failing("[" * 5000)
    assert 1 < len(partials(seen)) < 200
    assert isinstance(error.__cause__, OutputError)


async def test_the_last_partial_object_is_that_of_the_answer_which_a_handler_gave() -> None:
    async def instead(context: Any, call_next: Any) -> ModelResponse:
        await call_next(context)
        return ModelResponse([GeneratedText('{"total": '), GeneratedText("7}")], finish_reason="stop")

    agent = Agent(scripted(text('{"total": 1}')), output=SUM, middleware=[InvokeModelStage.wrap(instead)])
    events, result = await streamed(agent, "q")
    assert partials(events) == [{"total": 1}, {"total": 7}]
    assert result.object == Sum(total=7)


@pytest.mark.slow
async def test_the_work_of_partial_objects_grows_with_the_text_and_not_its_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []

    def counted(given: str, **options: Any) -> Any:
        read.append(len(given))
        return from_json_text(given, **options)

    monkeypatch.setattr("pydantic_core.from_json", counted)
    sums: list[int] = []
    for count in (500, 4000):
        read.clear()
        answer = dump_json({"result": ["text"] * count})
        await streamed(Agent(scripted(text(answer), chunk=5), output=NAMES), "q")
        assert sum(read) < 25 * len(answer)
        sums.append(sum(read))
    assert sums[1] < 10 * sums[0]


@states(Rule.OUTPUT_ASKED_AGAIN)
@BOTH
async def test_a_model_whose_answer_is_not_the_output_is_told_why_and_asked_again(path: str) -> None:
    model = scripted(text('{"total": "x"}'), [call(a=1)], text('{"total": 2}'))
    ends: list[object] = []
    agent = Agent(model, tools=[add], output=SUM, output_retries=1, on_finish=ends.append, stop_when=None)
    result = await run_by(path, agent, "q")
    assert result.object == Sum(total=2)
    assert len(ends) == 1
    told = model.calls[1].prompt[-1]
    assert isinstance(told, UserMessage)
    assert "$.total" in str(told.content)
    assert [message.role for message in result.messages] == ["assistant", "assistant", "tool", "assistant"]
    [edit] = account(result.steps[1], result.steps[:1]).hooks
    assert (edit.hook, edit.fields) == (ASKED_AGAIN, ("lasting_messages",))
    assert from_json(to_json(result.run)) == result.run
    assert [message.role for message in result.conversation][:3] == ["user", "assistant", "user"]
    [brought] = [one for one in result.conversation.context if one.given_by == "hook"]
    assert (brought.hook, brought.step) == (ASKED_AGAIN, 1)
    assert step_chains(result.run) == result.run.chains


@BOTH
async def test_a_model_whose_answer_is_the_output_is_not_asked_again(path: str) -> None:
    model = scripted(text('{"total": 2}'), text('{"total": 3}'))
    result = await run_by(path, Agent(model, output=SUM, output_retries=2), "q")
    assert (result.object, len(model.calls)) == (Sum(total=2), 1)


@states(Rule.OUTPUT_ASKED_AGAIN)
@BOTH
async def test_a_model_is_asked_again_as_often_as_it_may_be_in_a_run(path: str) -> None:
    agent = Agent(scripted(*[text("no")] * 5), output=SUM, output_retries=2)
    with pytest.raises(AgentError, match="OutputError") as raised:
        await run_by(path, agent, "q")
    assert len(raised.value.run.steps) == 3
    with pytest.raises(AgentError) as resumed:
        await agent.resume(raised.value.run)
    assert len(resumed.value.run.steps) == 3


@BOTH
async def test_a_result_without_an_answer_is_not_asked_for_again(path: str) -> None:
    agent = Agent(
        scripted([call(a=1)]), tools=[add], output=SUM, output_retries=2, stop_when=step_count_is(1)
    )
    result = await run_by(path, agent, "q")
    with pytest.raises(NoObjectError):
        _ = result.object
