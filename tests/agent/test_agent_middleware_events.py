"""What wraps do with the events of streams."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import attrs
import pytest

from agent.kit import adding, call, run_by, scripted, streamed, text, types
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.events import AgentEvent, StepFinished, TextDelta, ToolProgress
from agentcore.agent.middleware import (
    AgentStreamContext,
    AgentStreamStage,
    CallAgent,
    CallModel,
    CallTool,
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
    ModelDelta,
    ToolOutcome,
)
from agentcore.agent.models import ModelError, ModelResponse
from agentcore.agent.output import AgentResult
from agentcore.agent.tools import tool

pytestmark = pytest.mark.anyio

TEXTS = ["text-delta", "text-delta", "part-done"]


def speaking(*wraps: Any, **fields: Any) -> Agent[None]:
    """An agent that says `hello` in two pieces."""
    model = scripted(text("hello"), text("again"), chunk=3)
    return Agent(model, middleware=[InvokeModelStage.wrap(wrap) for wrap in wraps], **fields)


def said(events: list[AgentEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


async def shout(
    context: InvokeModelContext, call_next: CallModel
) -> AsyncIterator[ModelDelta | ModelResponse]:
    made = call_next(context)
    async for event in made:
        yield attrs.evolve(event, text=event.text.upper()) if isinstance(event, TextDelta) else event
    yield made.result


async def plain(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
    return await call_next(context)


@pytest.mark.parametrize("wraps", [[shout], [plain, shout], [shout, plain], [plain, shout, plain]])
async def test_a_wrap_changes_what_a_stream_tells_and_not_what_the_answer_is(wraps: list[Any]) -> None:
    told: list[AgentEvent] = []
    events, result = await streamed(speaking(*wraps, on_chunk=told.append), "q")
    assert said(events) == said(told) == ["HEL", "LO"]
    assert result.text == "hello"
    assert types(events) == ["step-started", *TEXTS, "step-finished", "run-finished"]


async def test_a_wrap_may_keep_events_and_tell_others() -> None:
    async def prefixed(context: InvokeModelContext, call_next: CallModel) -> AsyncIterator[Any]:
        yield TextDelta("0", "well, ")
        made = call_next(context)
        async for event in made:
            if event.type == "part-done":
                yield event
        yield made.result

    events, result = await streamed(speaking(prefixed), "q")
    assert said(events) == ["well, "]
    assert result.text == "hello"


async def test_without_a_stream_there_are_no_events_and_the_same_result() -> None:
    seen: list[Any] = []

    async def watched(context: InvokeModelContext, call_next: CallModel) -> AsyncIterator[Any]:
        made = call_next(context)
        seen.extend([event async for event in made])
        seen.extend([event async for event in made])
        yield TextDelta("0", "for nobody")
        assert await made is made.result
        yield made.result

    assert (await run_by("generate", speaking(watched), "q")).text == "hello"
    assert seen == []
    events, _ = await streamed(speaking(watched), "q")
    assert types(seen) == TEXTS
    assert said(events) == ["for nobody"]


async def test_a_call_that_was_looked_into_may_be_awaited_to_its_end() -> None:
    async def peeking(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        made = call_next(context)
        first = await anext(aiter(made))
        assert isinstance(first, TextDelta)
        assert first.text == "hel"
        response = await made
        assert [event async for event in made] == []
        return response

    events, result = await streamed(speaking(peeking), "q")
    assert said(events) == ["lo"]
    assert result.text == "hello"


async def test_a_call_that_was_awaited_has_no_more_events() -> None:
    async def late(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        made = call_next(context)
        await made
        assert [event async for event in made] == []
        return made.result

    events, _ = await streamed(speaking(late), "q")
    assert said(events) == ["hel", "lo"]


async def test_a_call_that_is_left_is_ended_and_another_may_be_made() -> None:
    ended: list[str] = []

    async def impatient(context: InvokeModelContext, call_next: CallModel) -> AsyncIterator[Any]:
        async for event in call_next(context):
            yield event
            break
        made = call_next(context)
        async for event in made:
            yield event
        yield made.result

    async def inside(context: InvokeModelContext, call_next: CallModel) -> AsyncIterator[Any]:
        try:
            made = call_next(context)
            async for event in made:
                yield event
            yield made.result
        finally:
            ended.append(context.model.model_id)

    events, result = await streamed(speaking(impatient, inside), "q")
    assert said(events) == ["hel", "aga", "in"]
    assert result.text == "again"
    assert ended == ["scripted"] * 2


async def test_a_wrap_may_give_a_call_a_time_of_its_own() -> None:
    log: list[str] = []

    async def bounded(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        made = call_next(context)
        with anyio.move_on_after(0.05):
            return await made if context.invocation_state["awaits"] else await taken(made)
        log.append("too slow")
        return ModelResponse(text("too slow"), finish_reason="stop")

    async def taken(made: Any) -> ModelResponse:
        async for _ in made:
            pass
        response: ModelResponse = made.result
        return response

    async def inside(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        try:
            return await call_next(context)
        finally:
            log.append("ended")

    slow = scripted(text("hello"), delay=60)
    agent = Agent(slow, middleware=[InvokeModelStage.wrap(bounded), InvokeModelStage.wrap(inside)])
    for path in ("generate", "stream"):
        for awaits in (True, False):
            result = await run_by(path, agent, "q", invocation_state={"awaits": awaits})
            assert result.text == "too slow"
    assert log == ["ended", "too slow"] * 4


async def test_what_a_call_raises_is_raised_where_its_events_are_taken() -> None:
    async def mended(context: InvokeModelContext, call_next: CallModel) -> AsyncIterator[Any]:
        made = call_next(context)
        try:
            async for event in made:
                yield event
        except ModelError as error:
            yield ModelResponse(text(f"mended: {error}"), finish_reason="stop")

    model = scripted([*text("half"), ModelError("broke")])
    events, result = await streamed(Agent(model, middleware=[InvokeModelStage.wrap(mended)]), "q")
    assert said(events) == ["half"]
    assert result.text == "mended: broke"


@pytest.mark.parametrize("wrap", [shout, plain])
async def test_what_on_chunk_raises_is_no_failure_for_a_handler_to_mend(wrap: Any) -> None:
    caught: list[Exception] = []

    async def catching(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        try:
            return await call_next(context)
        except Exception as error:
            caught.append(error)
            raise

    def on_chunk(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(AgentError) as raised:
        await streamed(speaking(catching, wrap, on_chunk=on_chunk), "q")
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert caught == []


async def test_a_stream_that_is_left_ends_its_handlers() -> None:
    ended: list[str] = []

    async def watched(context: Any, call_next: Any) -> AsyncIterator[Any]:
        try:
            async for event in call_next(context):
                yield event
        finally:
            ended.append(type(context).__name__)

    stages: list[Any] = [AgentStreamStage, InvokeModelStage]
    agent = Agent(scripted(text(), chunk=1), middleware=[stage.wrap(watched) for stage in stages])
    async with agent.stream("q") as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
    assert sorted(ended) == ["AgentStreamContext", "InvokeModelContext"]
    assert (await agent.resume(stream.run, model=scripted(text("after")), middleware=[])).text == "after"


async def test_progress_of_tools_goes_through_their_handlers() -> None:
    @tool
    async def count(to: int) -> AsyncIterator[int]:
        for number in range(to):
            yield number

    async def even(
        context: ExecuteToolContext, call_next: CallTool
    ) -> AsyncIterator[ToolProgress | ToolOutcome]:
        made = call_next(context)
        async for event in made:
            assert isinstance(event.output, int)
            if event.output % 2 == 0:
                yield event
        yield made.result

    model = scripted([call("count", "c", to=4), call("count", "d", to=1)], text())
    agent = Agent(model, tools=[count], middleware=[ExecuteToolStage.wrap(even)])
    events, result = await streamed(agent, "q")
    progress = [
        (event.call.tool_call_id, event.output) for event in events if isinstance(event, ToolProgress)
    ]
    assert sorted(progress) == [("c", 0), ("c", 2), ("d", 0)]
    assert [part.output for part in result.steps[0].content if part.type == "tool-result"] == [3, 0]


async def test_a_wrap_of_the_whole_call_sees_all_events_but_the_last() -> None:
    seen: list[AgentEvent] = []

    async def quiet(
        context: AgentStreamContext, call_next: CallAgent
    ) -> AsyncIterator[AgentEvent | AgentResult[Any]]:
        made = call_next(context)
        async for event in made:
            seen.append(event)
            if isinstance(event, StepFinished):
                yield event
        yield made.result

    events, result = await streamed(adding(middleware=[AgentStreamStage.wrap(quiet)]), "q")
    assert types(events) == ["step-finished", "step-finished", "run-finished"]
    plain_events, _ = await streamed(adding(), "q")
    assert [*types(seen), "run-finished"] == types(plain_events)
    assert result.text == "done"
