"""Sync tools in threads, which a cancelled run waits for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import attrs
import pytest
from anyio import from_thread
from anyio.lowlevel import checkpoint

from agent.kit import call, errors, outputs, run_by, text
from agent.stray import requests
from agent.test_agent_cancelling import ASYNCIO, BOTH, asking
from agentcore.agent.agent import Agent
from agentcore.agent.call.needs import _Job
from agentcore.agent.middleware import AgentStreamStage, ExecuteToolStage
from agentcore.agent.models import ModelRequest, ModelResponse
from agentcore.agent.rules import AgentRule
from agentcore.agent.tools import Tool, ToolContext, tool
from agentcore.errors import ImmutableWriteError
from agentcore.machine.run import Run
from agentcore.messages.messages import AssistantMessage
from rulebook import states

pytestmark = pytest.mark.anyio


class Held:
    """A sync tool that is in its thread until it is released; and everything that happened."""

    def __init__(self) -> None:
        self.begun: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)
        self.go_on = threading.Event()
        self.events: list[str] = []
        self.saved: list[Run] = []

    def held(self, about: ToolContext) -> str:
        self.events.append(f"begin {about.tool_call_id}")
        from_thread.run_sync(self.begun[about.tool_call_id].set)
        assert self.go_on.wait(10)
        self.events.append(f"end {about.tool_call_id}")
        return f"returned {about.tool_call_id}"

    @property
    def tool(self) -> Tool[..., Any]:
        return tool(self.held)

    @asynccontextmanager
    async def time_limit(self, call_id: str = "a") -> AsyncIterator[None]:
        """A time limit of asyncio that is over once the thread has begun; it is released a while later."""

        async def end() -> None:
            await self.begun[call_id].wait()
            limit.reschedule(0)
            await some_turns()
            self.go_on.set()

        async with asyncio.timeout(None) as limit:
            ending = asyncio.create_task(end())
            yield
        await ending

    def agent(self, *ids: str, **fields: Any) -> Agent[None]:
        calls = [call("held", each) for each in ids]
        return asking(*calls, **{"tools": [self.tool], **fields})

    async def runs(self, agent: Agent[None], path: str) -> Any:
        if path == "generate":
            return await agent.generate("q", checkpoint=self.saved.append)
        async with agent.stream("q", checkpoint=self.saved.append) as stream:
            self.stream = stream
            return [event async for event in stream]

    def left(self, path: str) -> Run:
        return self.saved[-1] if path == "generate" else self.stream.run


async def some_turns() -> None:
    for _ in range(20):
        await checkpoint()


@states(AgentRule.CANCEL_WAITS_FOR_THREADS)
@ASYNCIO
@BOTH
@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_task_waits_for_the_thread_and_keeps_what_it_returned(
    path: str, concurrency: int, times: int
) -> None:
    scene = Held()
    agent = scene.agent("a", tool_concurrency=concurrency)
    task = asyncio.create_task(scene.runs(agent, path))
    await scene.begun["a"].wait()
    for _ in range(times):
        task.cancel()
        await some_turns()
    assert not task.done()
    assert scene.events == ["begin a"]
    scene.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert scene.events == ["begin a", "end a"]
    result = await agent.resume(scene.left(path))
    assert scene.events == ["begin a", "end a"]
    assert outputs(result) == ["returned a"]
    assert result.run == (await asking(call("held", "a"), tools=[scene.tool]).generate("q")).run


@ASYNCIO
@BOTH
async def test_of_calls_one_after_the_other_no_further_one_begins(path: str) -> None:
    scene = Held()
    agent = scene.agent("a", "b", tool_concurrency=1)
    task = asyncio.create_task(scene.runs(agent, path))
    await scene.begun["a"].wait()
    task.cancel()
    await some_turns()
    scene.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scene.events == ["begin a", "end a"]
    if path == "stream":
        assert outputs(await agent.resume(scene.stream.run)) == ["returned a", "returned b"]
        assert scene.events == ["begin a", "end a", "begin b", "end b"]


@ASYNCIO
@BOTH
async def test_all_threads_of_a_step_are_waited_for(path: str) -> None:
    scene = Held()
    agent = scene.agent("a", "b")
    task = asyncio.create_task(scene.runs(agent, path))
    for each in "ab":
        await scene.begun[each].wait()
    task.cancel()
    await some_turns()
    assert not task.done()
    scene.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(scene.events) == ["begin a", "begin b", "end a", "end b"]
    if path == "stream":
        assert outputs(await agent.resume(scene.stream.run)) == ["returned a", "returned b"]
        assert len(scene.events) == 4


@BOTH
async def test_a_scope_waits_for_the_thread_as_well(path: str) -> None:
    scene = Held()
    agent = scene.agent("a")
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(scene.runs, agent, path)
            await scene.begun["a"].wait()
            scope.cancel()
            scene.go_on.set()
    assert scope.cancelled_caught
    assert scene.events == ["begin a", "end a"]
    assert outputs(await agent.resume(scene.left(path))) == ["returned a"]
    assert scene.events == ["begin a", "end a"]


@ASYNCIO
@BOTH
@pytest.mark.parametrize("way", ["timeout", "wait_for", "group"])
async def test_time_limits_and_groups_of_asyncio_wait_for_the_thread(path: str, way: str) -> None:
    scene = Held()

    async def limited() -> None:
        if way == "timeout":
            async with scene.time_limit():
                await scene.runs(scene.agent("a"), path)
        elif way == "wait_for":
            task = asyncio.create_task(scene.runs(scene.agent("a"), path))
            await scene.begun["a"].wait()
            asyncio.get_running_loop().call_later(0.01, scene.go_on.set)
            await asyncio.wait_for(task, 0)
        else:
            async with asyncio.TaskGroup() as group:
                group.create_task(scene.runs(scene.agent("a"), path))
                await scene.begun["a"].wait()
                scene.go_on.set()
                raise TimeoutError

    with pytest.raises((TimeoutError, ExceptionGroup)) as raised:
        await limited()
    assert isinstance(raised.value, ExceptionGroup) is (way == "group")
    assert scene.events == ["begin a", "end a"]
    assert requests() == 0
    await some_turns()  # nothing comes afterwards


@ASYNCIO
async def test_a_thread_with_a_time_limit_is_left_behind() -> None:
    scene = Held()
    limited = attrs.evolve(scene.tool, timeout=60)
    task = asyncio.create_task(scene.runs(scene.agent("a", tools=[limited]), "generate"))
    await scene.begun["a"].wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scene.events == ["begin a"]
    scene.go_on.set()


@ASYNCIO
async def test_a_call_that_waits_for_a_thread_never_begins() -> None:
    scene = Held()
    limiter = anyio.to_thread.current_default_thread_limiter()
    for number in range(int(limiter.total_tokens)):
        limiter.acquire_on_behalf_of_nowait(number)
    task = asyncio.create_task(scene.runs(scene.agent("a"), "generate"))
    await some_turns()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for number in range(int(limiter.total_tokens)):
        limiter.release_on_behalf_of(number)
    assert scene.events == []


@ASYNCIO
async def test_a_thread_that_comes_after_the_cancellation_does_nothing() -> None:
    done: list[str] = []
    job = _Job(lambda: done.append("work"))
    assert job.taken_up.acquire(blocking=False)
    job.work()
    assert done == []
    late = _Job(lambda: done.append("work"))
    late.work()
    assert late.end_in(asyncio.get_running_loop()).is_set()
    assert done == ["work"]


@ASYNCIO
@BOTH
async def test_a_thread_whose_task_a_stranger_cancels_is_as_any_other(path: str) -> None:
    scene = Held()
    before = asyncio.all_tasks()
    released = anyio.Event()

    async def waits() -> str:
        before.add(asyncio.current_task())  # type: ignore[arg-type] # there is one
        await released.wait()
        return "waited"

    agent = asking(call("held", "a"), call("held", "b"), call("waits"), tools=[scene.tool, tool(waits)])
    task = asyncio.create_task(scene.runs(agent, path))
    for each in "ab":
        await scene.begun[each].wait()
    for one in asyncio.all_tasks() - before - {task}:
        if "run" in one.get_name():  # those of calls
            one.cancel()
    await some_turns()
    scene.go_on.set()
    await some_turns()
    released.set()
    await task
    assert sorted(scene.events) == ["begin a", "begin b", "end a", "end b"]
    assert outputs(await agent.resume(scene.left(path))) == ["returned a", "returned b", "waited"]


class Instant:
    """A model that waits for nothing, so that nothing after the tool does."""

    provider = model_id = "instant"

    async def generate(self, request: ModelRequest) -> ModelResponse:
        done = any(isinstance(one, AssistantMessage) for one in request.prompt)
        content: Any = text() if done else [call("held", "a")]
        return ModelResponse(content, finish_reason="stop")


@ASYNCIO
@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancellation_that_nothing_waits_after_arrives_within_the_call(fails: bool) -> None:
    scene = Held()
    instant: Any = Instant()

    def on_finish(_: object) -> None:
        if fails:
            raise ValueError

    async def main() -> None:
        try:
            async with scene.time_limit():
                await Agent(instant, tools=[scene.tool], on_finish=on_finish).generate("q")
        except TimeoutError:
            scene.events.append("timeout")
        await some_turns()
        scene.events.append("goes on")

    await main()
    assert scene.events == ["begin a", "end a", "timeout", "goes on"]
    assert requests() == 0


@ASYNCIO
@BOTH
@pytest.mark.parametrize("ids", ["a", "ab"])
async def test_a_time_limit_of_a_handler_lets_the_thread_end_and_the_run_go_on(path: str, ids: str) -> None:
    scene = Held()

    async def limited(context: Any, call_next: Any) -> Any:
        async with scene.time_limit(context.call.tool_call_id):
            return await call_next(context)

    agent = scene.agent(*ids, middleware=[ExecuteToolStage.wrap(limited)])
    result = await run_by(path, agent, "q")
    assert outputs(result) == [f"returned {each}" for each in ids]
    assert result.text == "done"
    assert requests() == 0


@ASYNCIO
@BOTH
async def test_a_time_limit_around_the_whole_call_is_the_handler_s_to_catch(path: str) -> None:
    scene = Held()

    async def limited(context: Any, call_next: Any) -> Any:
        try:
            async with scene.time_limit():
                return await call_next(context)
        except TimeoutError:
            return context.answered("too slow")

    result = await run_by(path, scene.agent("a", middleware=[AgentStreamStage.wrap(limited)]), "q")
    assert result.text == "too slow"
    assert scene.events == ["begin a", "end a"]
    assert requests() == 0


@ASYNCIO
@pytest.mark.parametrize("kind", ["raises", "asks", "writes", "lazy"])
async def test_a_cancellation_counts_whatever_the_thread_comes_to(kind: str) -> None:
    scene = Held()

    async def later() -> str:
        await anyio.sleep_forever()
        return "never"

    def held(about: ToolContext) -> Any:
        scene.held(about)
        if kind == "raises":
            raise ValueError
        if kind == "asks":
            about.interrupt("sure")
        if kind == "writes":
            raise ImmutableWriteError("$", "planted")
        return later()

    task = asyncio.create_task(scene.runs(scene.agent("a", tools=[tool(held)]), "generate"))
    await scene.begun["a"].wait()
    task.cancel()
    await some_turns()
    scene.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scene.events == ["begin a", "end a"]
    assert [len(run.steps) for run in scene.saved] == [1] * (kind == "raises")


@ASYNCIO
@BOTH
async def test_a_tool_that_answers_a_cancellation_with_another_error_does_not_stop_it(path: str) -> None:
    began = anyio.Event()

    async def careless() -> str:
        try:
            began.set()
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            raise ValueError("while closing") from None
        return "never"

    scene = Held()
    agent = asking(call("careless"), tools=[tool(careless)])
    task = asyncio.create_task(scene.runs(agent, path))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert errors(await agent.resume(scene.left(path))) == ["while closing"]


async def test_a_thread_that_sees_the_cancellation_and_raises_it_is_cancelled() -> None:
    begun = anyio.Event()

    def polite() -> str:
        from_thread.run_sync(begun.set)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            from_thread.check_cancelled()
            time.sleep(0.001)
        return "never"

    saved: list[Run] = []
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def main() -> None:
                await asking(call("polite"), tools=[tool(polite)]).generate("q", checkpoint=saved.append)

            group.start_soon(main)
            await begun.wait()
            scope.cancel()
    assert scope.cancelled_caught
    assert saved == []
