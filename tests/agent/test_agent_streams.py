"""Streams that are left, closed, collected or used too late."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import pytest
import trio
from anyio.lowlevel import checkpoint

from agent.kit import add, call, scripted, streamed, text, types
from agent.stray import on_asyncio, requests
from agent.test_agent_cancelling import ASYNCIO, asking
from agent.test_agent_injected import living
from agentcore.agent.agent import Agent, AgentError, AgentStream, ClosedStreamError, UnfinishedStreamError
from agentcore.agent.call.stages import Handover
from agentcore.agent.events import AgentEvent
from agentcore.agent.rules import AgentRule
from agentcore.agent.tools import tool
from agentcore.errors import AgentCoreError, RunCancelledError
from agentcore.machine.run import Failed
from rulebook import states

pytestmark = pytest.mark.anyio


class Scene:
    """An agent whose tool never ends, the streams that were made of it, and what became of the tool."""

    def __init__(self) -> None:
        self.streams: list[AgentStream[None]] = []
        self.ended: list[str] = []

        @tool(name="add")
        async def slow(a: int) -> int:
            try:
                await anyio.sleep_forever()
            finally:
                self.ended.append("tool")
            return a

        self.agent = asking(call(a=2), tools=[slow])

    async def events(self) -> AsyncIterator[AgentEvent]:
        """A generator around a stream, as many write one."""
        async with self.agent.stream("q") as stream:
            self.streams.append(stream)
            async for event in stream:
                yield event

    async def started(self, events: AsyncIterator[AgentEvent]) -> None:
        async for event in events:
            if event.type == "tool-started":
                break

    async def has_ended(self) -> None:
        """What a task of the loop does, such as its hook for generators, needs a few turns."""
        for _ in range(20):
            await checkpoint()
        (stream,) = self.streams
        assert self.ended == ["tool"]
        assert isinstance(stream.run.pending, Failed)
        assert isinstance(stream.run.pending.error, RunCancelledError)
        whole = await asking(call(a=2)).generate("q")
        assert (await asking(call(a=2)).resume(stream.run)).run == whole.run


async def break_in_body(scene: Scene) -> None:
    async with scene.agent.stream("q") as stream:
        scene.streams.append(stream)
        await scene.started(stream)


async def return_from_body(scene: Scene) -> None:
    async def reading() -> str:
        async with scene.agent.stream("q") as stream:
            scene.streams.append(stream)
            async for event in stream:
                if event.type == "tool-started":
                    return event.type
        return "never"

    assert await reading() == "tool-started"


async def close_generator(scene: Scene) -> None:
    events = scene.events()
    await scene.started(events)
    await events.aclose()  # type: ignore[attr-defined] # a generator


async def closing(scene: Scene) -> None:
    async with aclosing(scene.events()) as events:  # type: ignore[type-var] # a generator
        await scene.started(events)


async def closed(events: Any) -> None:
    await events.aclose()


async def close_in_another_task(scene: Scene) -> None:
    events = scene.events()
    await scene.started(events)
    async with anyio.create_task_group() as group:
        group.start_soon(closed, events)


async def collect_generator(scene: Scene) -> None:
    await scene.started(scene.events())
    gc.collect()


async def collect_in_scope(scene: Scene) -> None:
    with anyio.fail_after(60):
        await scene.started(scene.events())
        gc.collect()
        await checkpoint()


async def collect_stream(scene: Scene) -> None:
    opened = scene.agent.stream("q")
    stream = await opened.__aenter__()
    scene.streams.append(stream)
    await scene.started(stream)
    del opened, stream
    gc.collect()


async def exception_in_body(scene: Scene) -> None:
    async def body() -> None:
        async with scene.agent.stream("q") as stream:
            scene.streams.append(stream)
            await scene.started(stream)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()


async def exception_in_loop_over_generator(scene: Scene) -> None:
    async def body() -> None:
        async for event in scene.events():
            if event.type == "tool-started":
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()
    gc.collect()


async def read_in_nested_task(scene: Scene) -> None:
    async with scene.agent.stream("q") as stream:
        scene.streams.append(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(scene.started, stream)


async def leave_in_nested_task(scene: Scene) -> None:
    opened = scene.agent.stream("q")
    stream = await opened.__aenter__()
    scene.streams.append(stream)
    await scene.started(stream)
    async with anyio.create_task_group() as group:
        group.start_soon(opened.__aexit__, None, None, None)


async def whole_in_nested_task(scene: Scene) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(break_in_body, scene)


async def scope_in_body(scene: Scene) -> None:
    async with scene.agent.stream("q") as stream:
        scene.streams.append(stream)
        with anyio.CancelScope() as scope:
            async for event in stream:
                if event.type == "tool-started":
                    scope.cancel()
        assert scope.cancelled_caught


WAYS = [
    break_in_body,
    return_from_body,
    close_generator,
    closing,
    close_in_another_task,
    collect_generator,
    collect_in_scope,
    collect_stream,
    exception_in_body,
    exception_in_loop_over_generator,
    read_in_nested_task,
    leave_in_nested_task,
    whole_in_nested_task,
    scope_in_body,
]


@pytest.mark.slow
@states(AgentRule.STREAM_READER_UNTOUCHED)
# trio says of each generator that is collected that it had better be closed.
@pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_a_stream_that_is_left_before_its_end_never_cancels_its_reader(way: Any) -> None:
    before, scene = living(), Scene()
    with anyio.CancelScope() as scope:
        await way(scene)
        assert requests() == 0
        await scene.has_ended()
    assert not scope.cancelled_caught
    assert requests() == 0
    assert living() == before


@pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning")
async def test_a_reader_goes_on_in_any_order_of_streams() -> None:
    scene = Scene()
    outer, inner = scene.events(), scene.events()
    await scene.started(outer)
    await scene.started(inner)
    del outer
    gc.collect()
    for _ in range(20):
        await checkpoint()
    assert scene.ended == ["tool"]
    async with aclosing(inner):  # type: ignore[type-var] # a generator
        assert len(scene.streams) == 2
    assert scene.ended == ["tool"] * 2


async def test_a_reader_s_own_error_of_something_cancelled_is_not_lost() -> None:
    async def body(error: BaseException) -> None:
        async with asking(call(a=1)).stream("q"):
            raise error

    if on_asyncio():
        # As of a task that a scope has cancelled, which a group around the stream would take for its own.
        error = asyncio.CancelledError("Cancelled via cancel scope 7f0000000000")
        with pytest.raises(asyncio.CancelledError) as raised:
            await body(error)
        assert raised.value is error
    with pytest.raises(KeyboardInterrupt):
        await body(KeyboardInterrupt())


@ASYNCIO
async def test_leaving_waits_whatever_cancels_the_reader() -> None:
    ended: list[str] = []
    begun, release = anyio.Event(), anyio.Event()

    async def stubborn() -> None:
        try:
            begun.set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await release.wait()
            ended.append("tool")

    async def reading() -> None:
        async with asking(call("stubborn"), tools=[tool(stubborn)]).stream("q") as stream:
            async for event in stream:
                if event.type == "tool-started":
                    break
            await begun.wait()

    task = asyncio.create_task(reading())
    await begun.wait()
    for _ in range(3):
        for _ in range(10):
            await checkpoint()
        task.cancel()
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["tool"]


# ---------------------------------------------------------------- used too late, or too early

TOO_LATE = "the stream was left: iterate over it inside of its `async with`"


@states(AgentRule.STREAM_CLOSED_SAYS_SO)
@pytest.mark.parametrize("taken", [0, 3, 100])
async def test_a_stream_that_was_left_says_so(taken: int) -> None:
    async with asking(call(a=1)).stream("q") as stream:
        for _ in range(taken):
            if await anext(stream, None) is None:
                break
    for _ in range(2):
        with pytest.raises(ClosedStreamError, match=TOO_LATE):
            async for _ in stream:
                pass
        with pytest.raises(ClosedStreamError):
            await anext(stream)
    if taken == 100:
        assert stream.result().text == "done"
    else:
        with pytest.raises(UnfinishedStreamError):
            stream.result()
    assert stream.timings is not None


async def test_a_stream_that_has_ended_stays_at_its_end_inside() -> None:
    async with asking(call(a=1)).stream("q") as stream:
        assert len([event async for event in stream]) > 3
        assert [event async for event in stream] == []
        assert stream.result().text == "done"


async def test_a_stream_that_has_failed_says_why_inside_and_that_it_was_left_outside() -> None:
    async with asking(call(a=1), on_finish=lambda _: 1 // 0).stream("q") as stream:
        for _ in range(2):
            with pytest.raises(AgentError):
                async for _ in stream:
                    pass
    with pytest.raises(ClosedStreamError):
        await anext(stream)
    with pytest.raises(AgentError):
        stream.result()


async def test_a_task_that_still_reads_when_the_stream_is_left_is_told() -> None:
    raised: list[BaseException] = []

    async def reading(stream: AgentStream[None]) -> None:
        try:
            async for _ in stream:
                pass
        except AgentCoreError as error:
            raised.append(error)

    scene = Scene()
    async with anyio.create_task_group() as group, scene.agent.stream("q") as stream:
        group.start_soon(reading, stream)
        await anyio.wait_all_tasks_blocked()
    assert [type(error) for error in raised] == [ClosedStreamError]


async def test_a_stream_is_entered_once_and_before_it_is_iterated_over() -> None:
    agent = asking(call(a=1))
    opened = agent.stream("q")
    with pytest.raises(ClosedStreamError, match=r"enter the stream first: `async with agent\.stream"):
        async for _ in opened:  # type: ignore[attr-defined] # what it says
            pass
    with pytest.raises(ClosedStreamError, match="enter the stream first"):
        await opened  # type: ignore[misc] # as above
    with pytest.raises(ClosedStreamError, match="enter the stream first"):
        await opened.__aexit__(None, None, None)
    async with opened as stream:
        assert types([event async for event in stream])[-1] == "run-finished"
    with pytest.raises(ClosedStreamError, match="was entered before"):
        async with opened:
            pass


async def test_a_stream_without_a_run_raises_as_it_is_entered() -> None:
    opened = asking(call(a=1)).stream([])
    with pytest.raises(AgentCoreError):
        await opened.__aenter__()
    with pytest.raises(ClosedStreamError, match="was entered before"):
        await opened.__aenter__()


# ---------------------------------------------------------------- events on their way


@ASYNCIO
async def test_no_event_is_lost_where_its_reader_is_cancelled_as_it_comes() -> None:
    events: Handover[int] = Handover()
    reader = asyncio.create_task(events.take())
    await checkpoint()
    writer = asyncio.create_task(events.put(1))
    await asyncio.sleep(0)  # it is offered, and the reader is to run next
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert not writer.done()
    assert await events.take() == 1
    await writer


async def test_events_come_in_order_to_any_number_of_readers_until_the_end() -> None:
    events: Handover[int] = Handover()
    seen: list[int] = []

    async def write(first: int) -> None:
        for number in range(first, first + 5):
            await events.put(number)

    async def read() -> None:
        while True:
            try:
                seen.append(await events.take())
            except anyio.EndOfStream:
                return

    async with anyio.create_task_group() as readers:
        for _ in range(3):
            readers.start_soon(read)
        async with anyio.create_task_group() as writers:
            for first in (0, 10):
                writers.start_soon(write, first)
        events.close()
    assert [one for one in seen if one < 10] == list(range(5))
    assert [one for one in seen if one >= 10] == list(range(10, 15))


async def test_an_event_that_is_withdrawn_does_not_come() -> None:
    events: Handover[int] = Handover()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(events.put, 1)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    async with anyio.create_task_group() as group:
        group.start_soon(events.put, 2)
        assert await events.take() == 2


async def test_a_reader_that_is_cancelled_takes_nothing() -> None:
    events: Handover[int] = Handover()
    async with anyio.create_task_group() as group:
        group.start_soon(events.put, 1)
        await anyio.wait_all_tasks_blocked()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await events.take()
        assert scope.cancelled_caught
        assert await events.take() == 1


# ---------------------------------------------------------------- what tasks raise on their way out


# A group of asyncio or anyio has only the error in the end, which is the tool's.
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_what_a_tool_s_tasks_raise_as_the_stream_is_left_is_raised_there() -> None:
    async def fails() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise ZeroDivisionError

    async def grouped() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fails)
            nursery.start_soon(anyio.sleep_forever)

    async def body() -> None:
        async with asking(call("grouped"), tools=[tool(grouped)]).stream("q") as stream:
            async for event in stream:
                if event.type == "tool-started":
                    await anyio.wait_all_tasks_blocked()
                    break

    with pytest.raises(ExceptionGroup):
        await body()


async def test_a_stream_and_generate_have_one_result() -> None:
    agent = Agent(scripted([call(a=1)], text(), [call(a=1)], text()), tools=[add])
    _, result = await streamed(agent, "q")
    assert (await agent.generate("q")).run == result.run
