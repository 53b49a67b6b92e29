"""What a type checker takes for an agent, its calls and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, assert_type

import anyio
import pytest
from pydantic import BaseModel

from agentcore.agent.agent import Agent, AgentError, AgentResult, AgentStream, CallArguments
from agentcore.agent.call.config import has_tool_call, step_count_is
from agentcore.agent.events import StepFinished, TextDelta
from agentcore.agent.models import ScriptedModel
from agentcore.agent.output import Output
from agentcore.agent.tools import tool
from agentcore.conversations.conversation import Conversation
from agentcore.errors import AnswersError
from agentcore.machine.effects import RunResult
from agentcore.machine.hooks import StepOverride, StepRecord
from agentcore.machine.pending import Pending
from agentcore.machine.processors import StepArguments


class Answer(BaseModel):
    total: int


@tool
def add(a: int, b: int) -> int:
    return a + b


def prepare(step: StepArguments) -> dict[str, Any] | None:
    return {"messages": step.messages[-2:]} if step.step_number else None


async def prepare_slowly(step: StepArguments) -> StepOverride:
    return StepOverride(messages=step.messages)


def prepare_call(call: CallArguments) -> Mapping[str, Any]:
    return {"system": f"{len(call.messages)} messages"}


async def told(record: StepRecord) -> None:
    assert record.usage.total_tokens >= 0


def finished(result: RunResult) -> None:
    assert result.steps


def answering(answer: str = '{"total": 1}') -> ScriptedModel:
    return ScriptedModel([[{"type": "text", "text": answer}]])


def test_a_plain_agent_has_no_object() -> None:
    agent = Agent(
        answering(),
        tools=[add],
        system="s",
        prepare_call=prepare_call,
        prepare_step=prepare,
        on_step_finish=told,
        on_finish=finished,
        stop_when=[step_count_is(3), has_tool_call("add")],
    )
    assert_type(agent, Agent[None])
    result = anyio.run(agent.generate, "q")
    assert_type(result, AgentResult[None])


def test_the_object_has_the_outputs_type() -> None:
    async def main() -> None:
        agent = Agent(answering(), output=Output.of(Answer), prepare_step=prepare_slowly)
        assert_type(agent, Agent[Answer])
        result = await agent.generate("q", on_step_finish=told)
        assert_type(result.object, Answer)
        other = await agent.generate("q", model=answering('{"result": 3}'), output=Output.of(int))
        assert_type(other.object, int)
        assert result.object.total + other.object == 4

    anyio.run(main)


def test_streams_have_events_and_results_of_the_same_types() -> None:
    async def main() -> None:
        async with Agent(answering(), output=Output.of(Answer)).stream("q") as stream:
            assert_type(stream, AgentStream[Answer])
            async for event in stream:
                if isinstance(event, StepFinished):
                    assert_type(event.record, StepRecord)
                elif isinstance(event, TextDelta):
                    assert_type(event.text, str)
        assert_type(stream.result().object, Answer)

    anyio.run(main)


def test_what_a_run_waits_for_and_its_conversation_are_sequences_of_values() -> None:
    agent = Agent(answering())
    result = agent.generate_sync("q")
    assert_type(result.pending, Sequence[Pending])
    assert_type(result.conversation, Conversation)
    for one in result.pending:
        assert_type(one.kind, Literal["approval", "question", "call"])
        assert_type((one.id, one.text, one.tool_name), tuple[str, str, str | None])
        assert_type(one.step_number, int | None)
    with pytest.raises(AttributeError):
        result.pending.append(1)  # type: ignore[attr-defined]
    second = agent.generate_sync("q", messages=result.conversation)
    assert_type(second, AgentResult[None])
    assert_type(agent.generate_sync("q", conversation=second.conversation), AgentResult[None])
    assert_type(agent.resume_sync(second.run, answers={}), AgentResult[None])

    async def main() -> None:
        async with agent.stream("q") as stream:
            assert_type(stream.conversation, Conversation)
        try:
            await agent.resume(stream.run, answers={"x": {"approved": True}})
        except AgentError as error:
            assert_type(error.conversation, Conversation)
        except AnswersError as error:
            assert_type(error.wrong, tuple[tuple[str, str], ...])

    anyio.run(main)


def test_calls_that_block_have_the_results_of_those_that_are_awaited() -> None:
    agent = Agent(answering(), output=Output.of(Answer))
    result = agent.generate_sync("q", on_step_finish=told)
    assert_type(result, AgentResult[Answer])
    assert_type(agent.resume_sync(result.run, answers=None), AgentResult[Answer])
    other = agent.generate_sync("q", model=answering('{"result": 3}'), output=Output.of(int))
    assert_type(other.object, int)
    with pytest.raises(TypeError):
        agent.generate_sync("q", temperature=1)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="its own system"):
        agent.resume_sync(result.run, system="s")  # type: ignore[call-arg]


def test_wrong_overrides_are_errors() -> None:
    async def main() -> None:
        agent = Agent(answering())
        with pytest.raises(TypeError):
            await agent.generate("q", temperature=1)  # type: ignore[call-overload]
        with pytest.raises(ValueError, match="max_retries"):
            await agent.generate("q", max_retries=-1)
        run = (await agent.generate("q")).run
        with pytest.raises(ValueError, match="its own system"):
            await agent.resume(run, system="s")  # type: ignore[call-arg]

    anyio.run(main)
