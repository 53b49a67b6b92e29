"""A person is asked: by tools and by handlers, in one place or in many, and runs go on with the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import attrs
import pytest

from agent.kit import USER, add, call, errors, outputs, run_by, scripted, streamed, text, types
from agentcore.agent.agent import Agent, AgentError, NoObjectError
from agentcore.agent.events import RunInterrupted
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
from agentcore.agent.output import AgentResult, Output
from agentcore.agent.tools import ToolContext, tool
from agentcore.errors import AnswersError
from agentcore.machine.effects import Done
from agentcore.machine.run import Run
from agentcore.messages.messages import UserMessage
from agentcore.messages.values import dump_json, freeze, parse_json
from agentcore.records.history import fork
from agentcore.records.saved import from_json, to_json
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from rulebook import states

BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
pytestmark = pytest.mark.anyio


@tool
async def delete(name: str, told: ToolContext) -> str:
    """Delete a file, if somebody agrees."""
    agreed = told.interrupt("sure", reason={"file": name})
    return f"deleted {name}" if agreed else f"kept {name}"


@tool
def ask_twice(told: ToolContext) -> list[Any]:
    """Ask two things, one after the other, in a thread."""
    return [told.interrupt("first"), told.interrupt("second")]


def deleting(*names: str, **fields: Any) -> Agent[None]:
    return Agent(
        scripted([call("delete", name, name=name) for name in names], text()), tools=[delete, add], **fields
    )


async def go_on(path: str, agent: Agent[Any], run: Run, **fields: Any) -> AgentResult[Any]:
    if path == "generate":
        return await agent.resume(run, **fields)
    async with agent.resume_stream(run, **fields) as stream:
        async for _ in stream:
            pass
    return stream.result()


def again(run: Run) -> Run:
    """The run, from the text that it was saved as."""
    return from_json(parse_json(dump_json(to_json(run))))


def ids(result: AgentResult[Any]) -> list[str]:
    return [interrupt.id for interrupt in result.interrupts]


# ---------------------------------------------------------------- tools


@states(Rule.INTERRUPT_NEEDED_AGAIN)
@BOTH
@pytest.mark.parametrize(("answer", "expected"), [(True, "deleted a"), (None, "kept a")])
async def test_a_tool_asks_and_is_given_the_answer(path: str, answer: Any, expected: str) -> None:
    agent = deleting("a")
    asked = await run_by(path, agent, "q")
    (question,) = asked.interrupts
    assert (question.id, question.name, question.reason) == ("tool/0/a/sure", "sure", freeze({"file": "a"}))
    assert (question.source, question.step_number, question.tool_call_id) == ("tool", 0, "a")
    assert (asked.finish_reason, asked.text, len(asked.steps), len(asked.messages)) == ("interrupt", "", 0, 0)
    for run in (asked.run, again(asked.run)):
        ended = await go_on(
            path, attrs.evolve(agent, model=scripted(text())), run, answers={question.id: answer}
        )
        assert outputs(ended) == [expected]
        assert (ended.text, ended.interrupts, ended.finish_reason) == ("done", (), "stop")
        assert isinstance(ended.run.pending, Done)


async def test_a_stream_ends_with_the_questions() -> None:
    events, result = await streamed(deleting("a"), "q")
    assert types(events)[-3:] == ["part-done", "tool-started", "run-interrupted"]
    assert events[-1] == RunInterrupted(result.interrupts)


@states(Rule.INTERRUPT_FINISHED_KEPT)
@BOTH
@pytest.mark.parametrize("concurrency", [1, 8])
async def test_several_tools_ask_at_once_and_those_that_have_finished_do_not_run_again(
    path: str, concurrency: int
) -> None:
    ran: list[str] = []

    @tool
    async def note(text: str) -> str:
        ran.append(text)
        return text

    calls = [
        call("delete", "a", name="a"),
        call("note", "b", text="b"),
        call("delete", "c", name="c"),
        call("note", "d", text="d"),
    ]
    agent = Agent(scripted(calls, text()), tools=[delete, note], tool_concurrency=concurrency)
    asked = await run_by(path, agent, "q")
    assert ids(asked) == ["tool/0/a/sure", "tool/0/c/sure"]
    ended = await go_on(
        path, agent, again(asked.run), answers=dict(zip(ids(asked), [True, False], strict=True))
    )
    assert outputs(ended) == ["deleted a", "b", "kept c", "d"]
    assert sorted(ran) == ["b", "d"]


@BOTH
async def test_a_tool_may_ask_one_thing_after_the_other(path: str) -> None:
    agent = Agent(scripted([call("ask_twice")], text()), tools=[ask_twice])
    first = await run_by(path, agent, "q")
    assert ids(first) == ["tool/0/c/first"]
    second = await go_on(path, agent, first.run, answers={"tool/0/c/first": 1})
    assert ids(second) == ["tool/0/c/second"]
    ended = await go_on(path, agent, again(second.run), answers={"tool/0/c/second": [2]})
    assert outputs(ended) == [(1, (2,))]
    assert dict(ended.run.answers) == {"tool/0/c/first": 1, "tool/0/c/second": (2,)}


@BOTH
async def test_the_same_question_at_a_later_step_is_another_one(path: str) -> None:
    one = [call("delete", "a", name="a")]
    agent = Agent(scripted(one, one, text()), tools=[delete])
    result = await run_by(path, agent, "q")
    for step in (0, 1):
        assert ids(result) == [f"tool/{step}/a/sure"]
        result = await go_on(path, agent, result.run, answers={ids(result)[0]: step == 0})
    assert [outputs(result, step) for step in (0, 1)] == [["deleted a"], ["kept a"]]


@states(Rule.INTERRUPT_ONE_QUESTION)
@BOTH
async def test_calls_that_share_an_id_share_their_question(path: str) -> None:
    calls = [call("delete", "a", name="a"), call("delete", "a", name="b")]
    agent = Agent(scripted(calls, text()), tools=[delete], validate_prompt=False)
    asked = await run_by(path, agent, "q")
    assert ids(asked) == ["tool/0/a/sure"]
    ended = await go_on(path, agent, asked.run, answers={"tool/0/a/sure": True})
    assert outputs(ended) == ["deleted a", "deleted b"]


@BOTH
async def test_of_calls_that_share_an_id_a_later_one_runs_again_with_the_first(path: str) -> None:
    calls = [call("delete", "a", name="a"), call("add", "a", a=1), call("add", "b", a=2)]
    agent = Agent(scripted(calls, text()), tools=[delete, add], validate_prompt=False)
    asked = await run_by(path, agent, "q")
    assert [one.tool_call_id for one in asked.run.pending.run.pending.calls] == ["a", "a"]  # type: ignore[union-attr] # it asks
    ended = await go_on(path, agent, asked.run, answers={"tool/0/a/sure": True})
    assert outputs(ended) == ["deleted a", 2, 3]


@BOTH
async def test_whether_a_call_needs_approval_may_be_asked_as_well(path: str) -> None:
    def rule(arguments: dict[str, Any], told: ToolContext) -> bool:
        return not told.interrupt("trusted", reason=arguments)

    model = scripted([call(a=2)], text())
    agent = Agent(model, tools=[attrs.evolve(add, needs_approval=rule)])
    asked = await run_by(path, agent, "q")
    assert ids(asked) == ["tool/0/c/trusted"]
    assert outputs(await go_on(path, agent, asked.run, answers={"tool/0/c/trusted": True})) == [3]
    assert len(model.calls) == 2


@states(Difference.QUESTIONS_PASS)
@BOTH
async def test_a_question_is_no_failure_that_a_handler_or_a_tool_could_catch(path: str) -> None:
    ended: list[str] = []

    @tool
    def careful(told: ToolContext) -> str:
        try:
            return str(told.interrupt("sure"))
        except Exception:  # noqa: BLE001 - what it must not catch
            return "caught"

    async def catching(context: ExecuteToolContext, call_next: CallTool) -> ToolOutcome:
        try:
            return await call_next(context)
        except Exception:  # noqa: BLE001 - what it must not catch
            return context.failed("caught")
        finally:
            ended.append(context.call.tool_name)

    model = scripted([call("careful")], text())
    agent = Agent(model, tools=[careful], middleware=[ExecuteToolStage.wrap(catching)])
    asked = await run_by(path, agent, "q")
    assert ids(asked) == ["tool/0/c/sure"]
    assert outputs(await go_on(path, agent, asked.run, answers={"tool/0/c/sure": "yes"})) == ["yes"]
    assert ended == ["careful"] * 2


# ---------------------------------------------------------------- handlers


@BOTH
async def test_a_handler_of_a_tool_asks_before_the_tool_runs(path: str) -> None:
    async def gate(context: ExecuteToolContext, call_next: CallTool) -> ToolOutcome:
        if context.interrupt("allow", reason=context.call.input):
            return await call_next(context)
        return context.failed("not allowed")

    model = scripted([call("add", "a", a=1), call("add", "b", a=2)], text())
    agent = Agent(model, tools=[add], middleware=[ExecuteToolStage.wrap(gate)])
    asked = await run_by(path, agent, "q")
    assert ids(asked) == ["execute-tool/0/a/allow", "execute-tool/0/b/allow"]
    answers = dict(zip(ids(asked), [True, False], strict=True))
    ended = await go_on(path, agent, again(asked.run), answers=answers)
    assert (outputs(ended), errors(ended)) == ([2], ["not allowed"])


@BOTH
@pytest.mark.parametrize("phase", ["input", "wrap", "output"])
async def test_a_handler_of_a_model_asks_in_any_phase(path: str, phase: str) -> None:
    def budget(context: InvokeModelContext, *_: Any) -> None:
        if context.step_number == 1:
            context.interrupt("more", reason="it costs")

    async def around(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        budget(context)
        return await call_next(context)

    handler: Any = around if phase == "wrap" else budget
    model = scripted([call(a=2)], text(), text())
    agent = Agent(model, tools=[add], middleware=[getattr(InvokeModelStage, phase)(handler)])
    asked = await run_by(path, agent, "q")
    assert ids(asked) == ["invoke-model/1/more"]
    assert len(asked.steps) == 1
    ended = await go_on(path, agent, again(asked.run), answers={"invoke-model/1/more": None})
    assert (ended.text, len(ended.steps)) == ("done", 2)


@BOTH
async def test_a_handler_of_the_whole_call_asks_before_it_begins(path: str) -> None:
    def gate(context: AgentStreamContext) -> AgentStreamContext:
        note = UserMessage(f"answer: {context.interrupt('topic')}")
        return attrs.evolve(context, messages=[*context.messages, note])

    model = scripted([call("delete", "a", name="a")], text())
    agent = Agent(model, tools=[delete], middleware=[AgentStreamStage.input(gate)])
    asked = await run_by(path, agent, messages=[USER])
    assert (ids(asked), list(asked.run.chains.initial)) == (["agent-stream/topic"], [USER])
    # It asks once: what was answered is in the run that begins with other messages, too.
    inner = await go_on(path, agent, again(asked.run), answers={"agent-stream/topic": "cats"})
    assert ids(inner) == ["tool/0/a/sure"]
    ended = await go_on(path, agent, again(inner.run), answers={"tool/0/a/sure": True})
    assert ended.run.chains.initial[1].content == "answer: cats"
    assert len(ended.run.chains.initial) == 2
    assert outputs(ended) == ["deleted a"]


@BOTH
async def test_a_handler_of_the_whole_call_asks_after_its_end(path: str) -> None:
    def release(context: AgentStreamContext, result: AgentResult[Any]) -> AgentResult[Any] | None:
        if result.interrupts:
            return None
        return None if context.interrupt("release", reason=result.text) else context.answered("held back")

    agent = deleting("a", middleware=[AgentStreamStage.output(release)])
    asked = await run_by(path, agent, "q")
    waiting = await go_on(path, agent, asked.run, answers={"tool/0/a/sure": True})
    assert ids(waiting) == ["agent-stream/release"]
    assert [one.reason for one in waiting.interrupts] == ["done"]
    for answer, expected in ((True, "done"), (False, "held back")):
        ended = await go_on(path, agent, again(waiting.run), answers={"agent-stream/release": answer})
        assert ended.text == expected


async def test_a_handler_asks_in_the_middle_of_a_stream() -> None:
    async def watch(context: AgentStreamContext, call_next: CallAgent) -> AsyncIterator[Any]:
        made = call_next(context)
        async for event in made:
            if event.type == "step-finished" and event.record.step_number == 0:
                context.interrupt("on", reason=event.record.finish_reason)
            yield event
        yield made.result

    agent = Agent(scripted([call(a=2)], text()), tools=[add], middleware=[AgentStreamStage.wrap(watch)])
    _, asked = await streamed(agent, "q")
    assert ids(asked) == ["agent-stream/on"]
    ended = await go_on("stream", agent, again(asked.run), answers={"agent-stream/on": True})
    assert (ended.text, len(ended.steps)) == ("done", 2)


@BOTH
async def test_questions_of_a_tool_and_of_a_handler_around_the_call_are_asked_together(path: str) -> None:
    async def both(context: AgentStreamContext, call_next: CallAgent) -> AgentResult[Any]:
        result = await call_next(context)
        context.interrupt("also")
        return result

    agent = deleting("a", middleware=[AgentStreamStage.wrap(both)])
    asked = await run_by(path, agent, "q")
    assert ids(asked) == ["tool/0/a/sure", "agent-stream/also"]
    ended = await go_on(path, agent, asked.run, answers=dict.fromkeys(ids(asked), True))
    assert outputs(ended) == ["deleted a"]


# ---------------------------------------------------------------- answers


@BOTH
async def test_wrong_answers_are_refused_and_the_run_can_still_go_on(path: str) -> None:
    agent = deleting("a", "b")
    asked = await run_by(path, agent, "q")
    for answers in (None, {}, {"tool/0/a/sure": True}, {"tool/0/a/sure": 1, "x": 1, "tool/0/b/sure": 1}):
        with pytest.raises(AnswersError):
            await go_on(path, agent, asked.run, answers=answers)
    ended = await go_on(path, agent, asked.run, answers=dict.fromkeys(ids(asked), True))
    assert outputs(ended) == ["deleted a", "deleted b"]
    with pytest.raises(AnswersError, match="there is no question x"):
        await go_on(path, agent, ended.run, answers={"x": 1})


@BOTH
async def test_a_run_that_asked_may_be_forked_before_the_step(path: str) -> None:
    agent = deleting("a")
    asked = await run_by(path, agent, "q")
    other = attrs.evolve(agent, model=scripted(text("other")))
    assert (await go_on(path, other, fork(asked.run, 0))).text == "other"


@BOTH
async def test_a_run_that_asks_has_no_object_yet(path: str) -> None:
    agent = Agent(scripted([call("delete", "a", name="a")], text("7")), tools=[delete], output=Output.of(int))
    asked = await run_by(path, agent, "q")
    with pytest.raises(NoObjectError, match="questions that wait"):
        _ = asked.object
    agent = attrs.evolve(agent, model=scripted(text('{"result": 7}')))
    assert (await go_on(path, agent, asked.run, answers={"tool/0/a/sure": True})).object == 7


# ---------------------------------------------------------------- tools that had finished


@states(Rule.INTERRUPT_FINISHED_KEPT)
@BOTH
@pytest.mark.parametrize("concurrency", [1, 8])
async def test_tools_that_had_finished_when_a_run_was_cancelled_do_not_run_again(
    path: str, concurrency: int
) -> None:
    ran: list[str] = []
    started = anyio.Event()

    @tool
    async def wait(seconds: float) -> str:
        ran.append(f"{seconds}")
        if seconds:
            started.set()
            await anyio.sleep(seconds)
        return "waited"

    kept: list[Run] = []

    async def run(agent: Agent[Any]) -> None:
        try:
            async with agent.stream("q") as stream:
                async for _ in stream:
                    pass
        finally:
            kept.append(stream.run)

    calls = [call("wait", "a", seconds=0), call("wait", "b", seconds=60)]
    agent = Agent(scripted(calls, text()), tools=[wait], tool_concurrency=concurrency)
    async with anyio.create_task_group() as group:
        group.start_soon(run, agent)
        await started.wait()
        await anyio.sleep(0.05)
        group.cancel_scope.cancel()
    done = attrs.evolve(wait, execute=instead)
    result = await go_on(path, attrs.evolve(agent, tools=[done]), again(kept[0]))
    assert outputs(result) == ["waited", "instead"]
    assert sorted(ran) == ["0.0", "60.0"]


async def instead(seconds: float) -> str:
    return "instead" if seconds else "again"


@BOTH
async def test_tools_that_had_finished_when_a_handler_failed_do_not_run_again(path: str) -> None:
    ran: list[int] = []

    @tool
    async def count(number: int) -> int:
        ran.append(number)
        return number

    def broken(context: ExecuteToolContext) -> None:
        if context.call.tool_call_id == "b":
            raise ZeroDivisionError

    model = scripted([call("count", "a", number=1), call("count", "b", number=2)], text())
    agent = Agent(model, tools=[count], tool_concurrency=1, middleware=[ExecuteToolStage.input(broken)])
    with pytest.raises(AgentError) as raised:
        await run_by(path, agent, "q")
    assert outputs(await go_on(path, agent, raised.value.run, middleware=[])) == [1, 2]
    assert ran == [1, 2]
