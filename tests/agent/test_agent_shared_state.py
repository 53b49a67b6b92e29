from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, assert_type

import anyio
import pytest

from agent.kit import call, scripted, text
from agentcore import (
    Agent,
    AgentError,
    AgentResult,
    AgentStreamContext,
    AgentStreamStage,
    ExecuteToolContext,
    ExecuteToolStage,
    InputArguments,
    InvokeModelContext,
    InvokeModelStage,
    StepArguments,
    ToolContext,
    tool,
)
from agentcore.agent.agent import CallArguments, StartEvent
from agentcore.machine.prepare import StepPreparation
from agentcore.messages.chains import Chains
from agentcore.messages.messages import UserMessage
from agentcore.messages.values import vector
from agentcore.records.saved import to_json
from agentcore.requirements.rules import Rule
from rulebook import states


@dataclass
class Seen:
    """Who was given this very object, by name."""

    names: list[str] = field(default_factory=list)

    def by(self, name: str) -> None:
        self.names.append(name)


def prepare_call(arguments: CallArguments[Seen]) -> None:
    arguments.invocation_state.by("prepare_call")


def on_start(event: StartEvent[Seen]) -> None:
    event.invocation_state.by("on_start")


def prepare_step(step: StepArguments[Seen]) -> None:
    assert_type(step.invocation_state, Seen)
    step.invocation_state.by("prepare_step")


class Processor:
    id = "processor"

    def process_input(self, call: InputArguments[Seen]) -> None:
        call.invocation_state.by("process_input")

    def process_input_step(self, step: StepArguments[Seen]) -> None:
        step.invocation_state.by("process_input_step")


def model_input(context: InvokeModelContext[Seen]) -> None:
    context.invocation_state.by("invoke-model")


def tool_input(context: ExecuteToolContext[Seen]) -> None:
    context.invocation_state.by("execute-tool")


def agent_input(context: AgentStreamContext[Seen]) -> None:
    context.invocation_state.by("agent-stream")


def needs_approval(_: dict[str, Any], context: ToolContext[Seen]) -> bool:
    context.invocation_state.by("needs_approval")
    return False


@tool(needs_approval=needs_approval)
async def look(context: ToolContext[Seen]) -> str:
    """Look."""
    assert_type(context.invocation_state, Seen)
    context.invocation_state.by("tool")
    return "seen"


def watched() -> Agent[None, Seen]:
    return Agent(
        scripted([call("look")], text()),
        tools=[look],
        middleware=[
            InvokeModelStage.input(model_input),
            ExecuteToolStage.input(tool_input),
            AgentStreamStage.input(agent_input),
        ],
        input_processors=[Processor()],
        prepare_call=prepare_call,
        prepare_step=prepare_step,
        on_start=on_start,
    )


@states(Rule.CONTEXT_SHARED)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_everything_of_a_call_gets_the_object_that_the_call_was_given(backend: str) -> None:
    seen = Seen()

    async def run() -> AgentResult[None, Seen]:
        return await watched().generate("hi", invocation_state=seen)

    result = anyio.run(run, backend=backend)
    assert result.invocation_state is seen
    first = [
        "prepare_call",
        "agent-stream",
        "on_start",
        "process_input",
        "process_input_step",
        "prepare_step",
    ]
    assert seen.names[:6] == first
    assert {*seen.names} == {*first, "invoke-model", "needs_approval", "execute-tool", "tool"}
    assert "names" not in str(to_json(result.run))


def test_a_call_without_a_state_has_a_dict_of_its_own() -> None:
    kept: list[object] = []

    def look_at(step: StepArguments) -> None:
        assert_type(step.invocation_state, dict[str, Any])
        step.invocation_state["step"] = step.step_number
        kept.append(step.invocation_state)

    agent = Agent(scripted(text(), text()), prepare_step=look_at)
    first, second = anyio.run(agent.generate, "hi"), anyio.run(agent.generate, "hi")
    assert_type(first, AgentResult[None])
    assert first.invocation_state == second.invocation_state == {"step": 0}
    assert first.invocation_state is not second.invocation_state
    assert kept == [first.invocation_state, second.invocation_state]


def test_a_resumed_call_has_the_state_that_it_is_given() -> None:
    first, then = Seen(), Seen()

    def fail(_: object) -> None:
        raise LookupError

    async def run() -> AgentResult[None, Seen]:
        agent = watched()
        with pytest.raises(AgentError) as raised:
            await agent.generate("hi", invocation_state=first, on_step_finish=fail)
        async with agent.resume_stream(raised.value.run, invocation_state=then) as stream:
            async for _ in stream:
                pass
        return stream.result()

    result = anyio.run(run)
    assert_type(result, AgentResult[None, Seen])
    assert result.invocation_state is then
    assert "tool" in first.names
    assert "tool" not in then.names
    assert "prepare_step" in then.names


def test_arguments_that_nobody_gave_a_state_have_a_dict() -> None:

    step = StepPreparation(model="m", steps=vector(), step_number=0, chains=Chains.start([UserMessage("x")]))
    assert step.arguments("p").invocation_state == {}
