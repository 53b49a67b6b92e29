"""Which cancellations are the run's own, in which task they come, and what else passes through a run."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from agent.kit import add, call, errors, outputs, run_by, scripted, streamed, text, types
from agent.stray import is_foreign, requests, stray
from agent.test_agent_cancelling import ASYNCIO, BOTH, RAN, TOOLS, Model, asking
from agentcore.agent.agent import Agent, AgentError, AgentResult
from agentcore.agent.middleware import AgentStreamStage, ExecuteToolStage, InvokeModelStage
from agentcore.agent.models import ModelRequest, ModelResponse
from agentcore.agent.rules import AgentRule
from agentcore.agent.tools import ToolContext, tool
from agentcore.errors import RunCancelledError
from agentcore.machine.run import Failed, Run
from rulebook import states

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- both at once


class Cancelled:
    """A call of an agent in a task of its own, which is cancelled while its tool waits for a future."""

    def __init__(self, path: str, names: str, **fields: Any) -> None:
        self.future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.started = anyio.Event()
        self.ran: list[str] = []
        self.path = path
        self.run: Run | None = None

        async def shared(about: ToolContext) -> str:
            self.ran.append(about.tool_call_id)
            self.started.set()
            return await self.future

        self.calls = [call("shared", f"c{index}") for index, _ in enumerate(names)]
        self.agent = asking(*self.calls, tools=[tool(shared)], **fields)

    async def main(self) -> AgentResult[Any]:
        if self.path == "generate":
            return await self.agent.generate("q")
        async with self.agent.stream("q") as stream:
            try:
                async for _ in stream:
                    pass
            finally:
                self.stream = stream
        return stream.result()


@states(AgentRule.CANCEL_ONLY_THE_RUN)
@ASYNCIO
@BOTH
@pytest.mark.parametrize("names", ["x", "xx"])
@pytest.mark.parametrize("first", ["future", "run"])
async def test_of_two_cancellations_at_the_same_time_the_run_s_own_counts(
    path: str, names: str, first: str
) -> None:
    scene = Cancelled(path, names)
    task = asyncio.create_task(scene.main())
    await scene.started.wait()
    await anyio.wait_all_tasks_blocked()
    for cancel in (
        (scene.future.cancel, task.cancel) if first == "future" else (task.cancel, scene.future.cancel)
    ):
        cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    if path == "stream":
        pending = scene.stream.run.pending
        assert isinstance(pending, Failed)
        assert isinstance(pending.error, RunCancelledError)
        assert not scene.stream.run.steps
        scene.future = asyncio.get_running_loop().create_future()
        scene.future.set_result("later")
        assert outputs(await scene.agent.resume(scene.stream.run)) == ["later"] * len(names)


@ASYNCIO
@pytest.mark.parametrize("handlers", [1, 2])
async def test_it_counts_through_the_tasks_of_handlers_as_well(handlers: int) -> None:
    async def iterating(context: Any, call_next: Any) -> AsyncIterator[Any]:
        made = call_next(context)
        async for event in made:
            yield event
        yield made.result

    scene = Cancelled("stream", "xx", middleware=[ExecuteToolStage.wrap(iterating)] * handlers)
    task = asyncio.create_task(scene.main())
    await scene.started.wait()
    await anyio.wait_all_tasks_blocked()
    scene.future.cancel()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not scene.stream.run.steps


@BOTH
@pytest.mark.parametrize("others", [0, 1])
async def test_a_scope_that_is_cancelled_as_a_tool_raises_one_wins(path: str, others: int) -> None:
    ended: list[str] = []

    @tool
    async def both() -> None:
        scope.cancel()
        try:
            await stray()
        finally:
            ended.append("both")

    saved: list[Run] = []
    with anyio.CancelScope() as scope:
        await run_by(
            path, asking(call("both"), *[call(a=1)] * others, tools=[both, add]), "q", checkpoint=saved.append
        )
        ended.append("never")
    assert scope.cancelled_caught
    assert ended == ["both"]
    assert saved == []
    assert requests() == 0


# ---------------------------------------------------------------- whose a request is


async def slow() -> str:
    await anyio.sleep_forever()
    return "never"


@ASYNCIO
@BOTH
@pytest.mark.parametrize("names", ["x", "xx"])
async def test_a_time_limit_of_asyncio_in_a_handler_is_the_handler_s_own(path: str, names: str) -> None:
    async def limited(context: Any, call_next: Any) -> Any:
        try:
            async with asyncio.timeout(0):
                return await call_next(context)
        except TimeoutError:
            return context.failed("too slow")

    calls = [call("slow", f"c{index}") for index, _ in enumerate(names)]
    agent = asking(*calls, tools=[tool(slow)], middleware=[ExecuteToolStage.wrap(limited)])
    assert errors(await run_by(path, agent, "q")) == ["too slow"] * len(names)
    assert requests() == 0


@ASYNCIO
async def test_a_time_limit_for_one_event_is_the_reader_s_own() -> None:
    release = anyio.Event()

    async def waiting() -> str:
        try:
            await stray()
        finally:
            await release.wait()
        return "never"

    seen: list[str] = []
    async with asking(call("waiting"), tools=[tool(waiting)]).stream("q") as stream:
        while True:
            try:
                async with asyncio.timeout(0.001):
                    seen.append((await anext(stream)).type)
            except TimeoutError:
                release.set()
            except StopAsyncIteration:
                break
    assert release.is_set()
    plain, _ = await streamed(asking(call("waiting"), tools=[tool(waiting)]), "q")
    assert seen == types(plain)
    assert len(errors(stream.result())) == 1


@ASYNCIO
@BOTH
async def test_a_request_from_before_the_call_is_none_of_the_call(path: str) -> None:
    agent = asking(call("waits"), tools=TOOLS.values())

    async def cleaning_up() -> AgentResult[Any]:
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            assert requests() == 1
            return await run_by(path, agent, "q")
        raise AssertionError

    task = asyncio.create_task(cleaning_up())
    await checkpoint()
    task.cancel()
    assert len(errors(await task)) == 1


@ASYNCIO
@BOTH
async def test_a_request_that_has_not_arrived_before_the_call_ends_it_before_it_begins(path: str) -> None:
    model = scripted(text())

    async def main() -> None:
        current = asyncio.current_task()
        assert current is not None
        current.cancel()
        await run_by(path, Agent(model), "q")

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(main())
    assert not model.calls


# ---------------------------------------------------------------- tasks that the driver made


async def cancels_itself() -> str:
    current = asyncio.current_task()
    assert current is not None
    current.cancel()
    await checkpoint()
    return "never"


@ASYNCIO
@BOTH
async def test_a_tool_that_cancels_the_task_that_it_is_alone_in_has_an_error(path: str) -> None:
    calls = [call("cancels_itself", "a"), call("add", "b", a=1), call("cancels_itself", "c")]
    result = await run_by(path, asking(*calls, tools=[tool(cancels_itself), add]), "q")
    assert outputs(result) == [2]
    assert ["the task of tool 'cancels_itself' was cancelled" in error for error in errors(result)] == [
        True
    ] * 2


async def cancels_itself_and_ends() -> str:
    current = asyncio.current_task()
    assert current is not None
    current.cancel()
    return "kept"


@ASYNCIO
@BOTH
async def test_an_outcome_stays_where_the_cancellation_arrives_after_it(path: str) -> None:
    calls = [call("cancels_itself_and_ends", "a"), call("add", "b", a=1)]
    result = await run_by(path, asking(*calls, tools=[tool(cancels_itself_and_ends), add]), "q")
    assert (outputs(result), errors(result)) == (["kept", 2], [])


@ASYNCIO
async def test_a_stream_whose_own_task_is_cancelled_fails_with_the_run() -> None:
    agent = asking(call("cancels_itself"), tools=[tool(cancels_itself)])
    async with agent.stream("q") as stream:
        with pytest.raises(AgentError) as raised:
            async for _ in stream:
                pass
        assert requests() == 0
    assert is_foreign(raised.value.__cause__, "the task of the run")
    with pytest.raises(AgentError):
        stream.result()
    with pytest.raises(asyncio.CancelledError):  # with generate, it is the caller's own task
        await asyncio.create_task(agent.generate("q"))


def cancel_others(before: set[asyncio.Task[Any]]) -> None:
    for task in asyncio.all_tasks() - before:
        task.cancel()


# Of anyio, whose groups wrap the coroutine of a task in one of their own.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@ASYNCIO
async def test_tasks_that_somebody_cancels_before_their_first_turn_end_nothing_silently() -> None:
    before = asyncio.all_tasks()
    agent = asking(call("ok", "a"), call("ok", "b"), tools=TOOLS.values())
    async with agent.stream("q") as stream:
        cancel_others(before)
        with pytest.raises(AgentError) as raised:
            await anext(stream)
    assert is_foreign(raised.value.__cause__, "the task of the run")
    RAN.clear()

    # The tasks of calls are made where the loop turns next.
    asyncio.get_running_loop().call_soon(cancel_others, before)

    class Eager(Model):
        async def generate(self, _: ModelRequest) -> ModelResponse:
            calls = [call("ok", "a"), call("ok", "b")]
            return ModelResponse(calls, finish_reason="tool-calls")

    with pytest.raises(AgentError) as failed:
        await Agent(Eager(""), tools=TOOLS.values()).generate("q")
    assert is_foreign(failed.value.__cause__, "the task of tool 'ok'")
    assert RAN == []
    del failed
    gc.collect()


@ASYNCIO
async def test_a_loop_that_ends_waits_for_its_runs() -> None:
    ended: list[str] = []

    async def stubborn() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("tool")
        return "never"

    async def left(stream: Any) -> None:
        async with stream as events:
            async for _ in events:
                pass

    async def main() -> None:
        for path in ("generate", "stream"):
            agent = asking(*[call("stubborn", str(index)) for index in range(2)], tools=[tool(stubborn)])
            made = agent.generate("q") if path == "generate" else left(agent.stream("q"))
            asyncio.ensure_future(made)  # noqa: RUF006 - what the end of the loop is about
        for _ in range(50):
            await asyncio.sleep(0)

    await anyio.to_thread.run_sync(asyncio.run, main())
    assert ended == ["tool"] * 4
    gc.collect()


# ---------------------------------------------------------------- groups


@BOTH
@pytest.mark.parametrize("alone", [True, False])
async def test_questions_from_the_tasks_of_a_tool_are_asked(path: str, alone: bool) -> None:
    @tool
    async def asks(about: ToolContext) -> str:
        answers: list[Any] = []

        async def ask(name: str) -> None:
            answers.append(about.interrupt(name))

        async with anyio.create_task_group() as outer, anyio.create_task_group() as inner:
            outer.start_soon(ask, "a")
            inner.start_soon(ask, "b")
        return "".join(sorted(answers))

    agent = asking(call("asks"), *[call("add", "d", a=1)] * (not alone), tools=[asks, add])
    asked = await run_by(path, agent, "q")
    answers = {one.id: one.name for one in asked.interrupts}
    assert set(answers.values()) <= {"a", "b"}
    assert answers
    while asked.interrupts:
        asked = await agent.resume(asked.run, answers={one.id: one.name for one in asked.interrupts})
    assert outputs(asked)[0] == "ab"


@BOTH
@pytest.mark.parametrize(
    "stage", [InvokeModelStage, AgentStreamStage, ExecuteToolStage], ids=lambda one: one.name
)
async def test_questions_from_the_tasks_of_a_handler_are_asked(path: str, stage: Any) -> None:
    async def asks(context: Any, call_next: Any) -> Any:
        async def ask() -> None:
            context.interrupt("sure")

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
        return await call_next(context)

    agent = asking(call(a=1), middleware=[stage.wrap(asks)])
    asked = await run_by(path, agent, "q")
    assert [one.name for one in asked.interrupts] == ["sure"]


@pytest.mark.parametrize("stage", [InvokeModelStage, ExecuteToolStage], ids=lambda one: one.name)
async def test_what_on_chunk_raises_in_the_tasks_of_a_handler_fails_the_run(stage: Any) -> None:
    async def hedged(context: Any, call_next: Any) -> Any:
        results: list[Any] = []

        async def one() -> None:
            results.append(await call_next(context))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
        return results[0]

    def on_chunk(event: Any) -> None:
        if event.type == ("tool-progress" if stage is ExecuteToolStage else "part-done"):
            raise ZeroDivisionError

    agent = asking(
        call("preliminary"), tools=TOOLS.values(), middleware=[stage.wrap(hedged)], on_chunk=on_chunk
    )
    with pytest.raises(AgentError) as raised:
        await streamed(agent, "q")
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


@BOTH
async def test_what_is_neither_failure_nor_cancellation_passes_as_it_is(path: str) -> None:
    class Stop(BaseException):
        pass

    @tool
    async def stops() -> None:
        raise Stop

    with pytest.raises(Stop):
        await run_by(path, asking(call("stops"), tools=[stops]), "q")

    async def hook(_: object) -> None:
        raise BaseExceptionGroup("mixed", [Stop(), ValueError()])

    with pytest.raises(BaseExceptionGroup):
        await run_by(path, asking(call(a=1), on_step_start=hook), "q")


async def test_what_ends_the_program_is_raised_where_a_stream_is_left_if_nobody_has_taken_it() -> None:
    class Stop(BaseException):
        pass

    @tool
    async def stops() -> None:
        raise Stop

    async def body() -> None:
        async with asking(call("stops"), tools=[stops]).stream("q") as stream:
            async for event in stream:
                if event.type == "tool-started":
                    break
            await anyio.wait_all_tasks_blocked()

    with pytest.raises(Stop):
        await body()
