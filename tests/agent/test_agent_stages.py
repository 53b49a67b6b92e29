"""What handlers do to calls of tools and of agents, and what they share."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from agent.kit import USER, add, adding, call, errors, outputs, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentError
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
    ToolOutcome,
)
from agentcore.agent.models import ModelResponse
from agentcore.agent.output import AgentResult
from agentcore.agent.rules import AgentRule
from agentcore.agent.tools import ToolContext, tool
from agentcore.machine.effects import ToolFailed, ToolSucceeded
from agentcore.messages.content import GeneratedText
from agentcore.messages.messages import (
    SystemMessage,
    TextPart,
    ToolApprovalResponsePart,
    ToolMessage,
    UserMessage,
)
from agentcore.messages.values import JsonValue, freeze
from agentcore.messages.wire import message_to_wire
from rulebook import states

BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
STAGES: list[Any] = [InvokeModelStage, ExecuteToolStage, AgentStreamStage]
pytestmark = pytest.mark.anyio

NOTE = UserMessage([TextPart("note")])


# ---------------------------------------------------------------- calls of tools


@BOTH
async def test_a_tool_is_given_the_input_that_is_passed_on_and_the_history_keeps_its_own(path: str) -> None:
    def double(context: ExecuteToolContext) -> ExecuteToolContext:
        made = attrs.evolve(context.call, input={"a": 20})
        return attrs.evolve(context, call=made)

    result = await run_by(path, adding(middleware=[ExecuteToolStage.input(double)]), "q")
    assert outputs(result) == [21]
    assert result.steps[0].tool_calls[0].input == freeze({"a": 2})


@BOTH
async def test_input_that_is_passed_on_is_checked_as_the_models_own_is(path: str) -> None:
    def spoil(context: ExecuteToolContext) -> ExecuteToolContext:
        return attrs.evolve(context, call=attrs.evolve(context.call, input={"a": "many"}))

    result = await run_by(path, adding(middleware=[ExecuteToolStage.input(spoil)]), "q")
    assert "Invalid input for tool 'add'" in errors(result)[0]


@BOTH
async def test_another_tool_may_be_run_in_the_place_of_one(path: str) -> None:
    @tool
    def subtract(a: int, b: int = 1) -> int:
        return a - b

    def instead(context: ExecuteToolContext) -> ExecuteToolContext:
        return attrs.evolve(context, tool=subtract)

    result = await run_by(path, adding(middleware=[ExecuteToolStage.input(instead)]), "q")
    assert outputs(result) == [1]


@states(AgentRule.STAGE_TOOL_ANSWERS_ITS_CALL)
@BOTH
async def test_an_outcome_is_that_of_the_call_that_the_model_made(path: str) -> None:
    def rename(context: ExecuteToolContext) -> ExecuteToolContext:
        return attrs.evolve(context, call=attrs.evolve(context.call, tool_call_id="other", tool_name="x"))

    result = await run_by(path, adding(middleware=[ExecuteToolStage.input(rename)]), "q")
    (part,) = [part for part in result.steps[0].content if part.type == "tool-result"]
    assert part.tool_call_id == "c"
    assert outputs(result) == [3]


@BOTH
async def test_a_wrap_may_give_a_tools_outcome_without_running_it(path: str) -> None:
    ran: list[str] = []

    @tool
    async def delete(name: str) -> str:
        ran.append(name)
        return "deleted"

    async def guard(context: ExecuteToolContext, call_next: CallTool) -> ToolOutcome:
        match context.call.tool_call_id:
            case "a":
                return context.failed("not this one")
            case "b":
                return context.succeeded({"already": True})
        return await call_next(context)

    model = scripted([call("delete", one, name=one) for one in "abc"], text())
    agent = Agent(model, tools=[delete], middleware=[ExecuteToolStage.wrap(guard)])
    result = await run_by(path, agent, "q")
    assert (errors(result), outputs(result)) == (["not this one"], [freeze({"already": True}), "deleted"])
    assert ran == ["c"]


@BOTH
async def test_what_a_tool_raises_is_an_outcome_that_a_wrap_may_try_again(path: str) -> None:
    tries: list[int] = []

    @tool
    async def unsteady() -> str:
        tries.append(len(tries))
        if len(tries) < 3:
            raise ConnectionError("lost")
        return "found"

    async def patient(context: ExecuteToolContext, call_next: CallTool) -> ToolOutcome:
        outcome = await call_next(context)
        while isinstance(outcome, ToolFailed):
            assert outcome.error == "lost"
            outcome = await call_next(context)
        return outcome

    model = scripted([call("unsteady")], text())
    agent = Agent(model, tools=[unsteady], middleware=[ExecuteToolStage.wrap(patient)])
    assert outputs(await run_by(path, agent, "q")) == ["found"]


@BOTH
async def test_an_output_handler_may_change_what_the_model_is_told_of_a_tool(path: str) -> None:
    async def redact(context: ExecuteToolContext, outcome: ToolOutcome) -> ToolOutcome:
        assert isinstance(outcome, ToolSucceeded)
        return context.succeeded(f"{outcome.output} or so")

    result = await run_by(path, adding(middleware=[ExecuteToolStage.output(redact)]), "q")
    assert outputs(result) == ["3 or so"]


@BOTH
async def test_approved_calls_are_run_through_the_stage_too(path: str) -> None:
    seen: list[Any] = []
    agent = adding(middleware=[ExecuteToolStage.input(lambda context: seen.append(context.step_number))])
    agent = attrs.evolve(agent, tools=[attrs.evolve(add, needs_approval=True)])
    first = await run_by(path, agent, "q")
    approval = ToolMessage([ToolApprovalResponsePart("approval-c", approved=True)])
    await run_by(path, agent, messages=[UserMessage("q"), *first.messages, approval])
    assert seen == [0]


# ---------------------------------------------------------------- calls of agents


@BOTH
async def test_a_run_begins_with_the_messages_and_settings_that_are_passed_on(path: str) -> None:
    def prepare(context: AgentStreamContext) -> AgentStreamContext:
        assert not context.resumed
        settings = attrs.evolve(context.settings, system="s")
        return attrs.evolve(context, messages=[*context.messages, NOTE], settings=settings)

    started: list[Any] = []
    model = scripted(text())
    agent = Agent(
        model,
        middleware=[AgentStreamStage.input(prepare)],
        on_start=lambda event: started.append((event.settings.system, list(event.messages))),
    )
    given = [USER]
    result = await run_by(path, agent, messages=given)
    assert list(result.run.chains.initial) == [USER, NOTE]
    assert model.calls[0].prompt[0] == SystemMessage("s")
    assert started == [("s", [USER, NOTE])]
    assert given == [USER]


@BOTH
async def test_a_whole_call_may_be_made_again_with_what_went_wrong(path: str) -> None:
    async def repair(context: AgentStreamContext, call_next: CallAgent) -> AgentResult[Any]:
        try:
            return await call_next(context)
        except AgentError as error:
            note = UserMessage(f"it failed: {type(error.__cause__).__name__}")
            return await call_next(attrs.evolve(context, messages=[*context.messages, note]))

    model = scripted(ValueError("odd"), [call(a=2)], text())
    agent = Agent(model, tools=[add], middleware=[AgentStreamStage.wrap(repair)])
    result = await run_by(path, agent, "q")
    assert len(result.steps) == 2
    assert message_to_wire(result.run.chains.initial[-1])["content"] == "it failed: ValueError"


@BOTH
async def test_a_call_may_be_answered_without_a_run_of_a_model(path: str) -> None:
    async def cached(context: AgentStreamContext, call_next: CallAgent) -> AgentResult[Any]:
        del call_next
        return context.answered("cached")

    model = scripted(text())
    result = await run_by(path, Agent(model, middleware=[AgentStreamStage.wrap(cached)]), "q")
    assert (result.text, len(result.messages), model.calls) == ("cached", 1, ())
    assert result.finish_reason == "stop"
    assert (await Agent(model).resume(result.run)).text == "cached"


@BOTH
async def test_an_answer_to_messages_that_make_no_run_fails_as_the_run_would(path: str) -> None:
    lost = ToolMessage([ToolApprovalResponsePart("lost", approved=True)])

    async def cached(context: AgentStreamContext, call_next: CallAgent) -> AgentResult[Any]:
        del call_next
        return context.answered("cached")

    agent = adding(middleware=[AgentStreamStage.wrap(cached)])
    with pytest.raises(AgentError, match="InvalidToolApprovalError"):
        await run_by(path, agent, messages=[USER, lost])


@BOTH
async def test_an_output_handler_may_give_another_result(path: str) -> None:
    def redact(context: AgentStreamContext, result: AgentResult[Any]) -> AgentResult[Any]:
        return context.answered([GeneratedText(result.text.upper())])

    agent = adding(middleware=[AgentStreamStage.output(redact)])
    assert (await run_by(path, agent, "q")).text == "DONE"


@BOTH
async def test_what_a_handler_raises_after_a_run_comes_with_that_run(path: str) -> None:
    def broken(_: AgentStreamContext, __: AgentResult[Any]) -> None:
        raise ZeroDivisionError

    agent = adding(middleware=[AgentStreamStage.output(broken)])
    with pytest.raises(AgentError, match="ZeroDivisionError") as raised:
        await run_by(path, agent, "q")
    assert len(raised.value.run.steps) == 2
    assert (await agent.resume(raised.value.run, middleware=[])).text == "done"


@states(AgentRule.STAGE_RUN_BEGINS_ONCE)
@BOTH
async def test_a_run_that_goes_on_keeps_the_messages_that_it_began_with(path: str) -> None:
    seen: list[Any] = []

    def add_note(context: AgentStreamContext) -> AgentStreamContext:
        seen.append((context.resumed, len(context.messages)))
        return attrs.evolve(context, messages=[*context.messages, NOTE], resumed=False)

    agent = Agent(scripted(ValueError(), text()), middleware=[AgentStreamStage.input(add_note)])
    with pytest.raises(AgentError) as raised:
        await run_by(path, agent, messages=[USER])
    result = await agent.resume(raised.value.run)
    assert list(result.run.chains.initial) == [USER, NOTE]
    assert seen == [(False, 1), (True, 2)]


# ---------------------------------------------------------------- what is shared on purpose


@BOTH
async def test_one_invocation_state_goes_through_a_call_and_is_on_its_result(path: str) -> None:
    state: dict[str, Any] = {"mine": object()}
    seen: list[dict[str, Any] | None] = []

    @tool
    def note(told: ToolContext) -> JsonValue:
        seen.append(told.invocation_state)
        told.invocation_state["tool"] = told.step_number
        return None

    def keep(argument: Any, *_: Any) -> None:
        seen.append(argument.invocation_state)

    stages = [stage.input(keep) for stage in STAGES] + [stage.output(keep) for stage in STAGES]
    agent = Agent(
        scripted([call("note")], text()),
        tools=[note],
        middleware=stages,
        prepare_call=keep,
        prepare_step=keep,
        on_start=keep,
    )
    result = await run_by(path, agent, "q", invocation_state=state)
    assert result.invocation_state is state
    # Two calls of the model, one of the tool and of the agent, three hooks in two steps, and the tool.
    assert len(seen) == 2 * (2 + 1 + 1) + 4 + 1
    assert all(one is state for one in seen)
    assert state["tool"] == 0


@BOTH
async def test_calls_without_an_invocation_state_have_one_each(path: str) -> None:
    def count(context: InvokeModelContext) -> None:
        context.invocation_state["calls"] = context.invocation_state.get("calls", 0) + 1

    agent = Agent(
        scripted([call(a=2)], text(), text()), tools=[add], middleware=[InvokeModelStage.input(count)]
    )
    first = await run_by(path, agent, "q")
    second = await run_by(path, agent, "q")
    assert (first.invocation_state, second.invocation_state) == ({"calls": 2}, {"calls": 1})


@BOTH
async def test_an_invocation_state_that_is_passed_on_reaches_the_inside_only(path: str) -> None:
    inside: list[Any] = []

    def replace(context: InvokeModelContext) -> InvokeModelContext:
        return attrs.evolve(context, invocation_state={"own": True})

    async def look(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        inside.append(context.invocation_state)
        return await call_next(context)

    agent = adding(middleware=[InvokeModelStage.input(replace), InvokeModelStage.wrap(look)])
    result = await run_by(path, agent, "q")
    assert inside == [{"own": True}] * 2
    assert result.invocation_state == {}
