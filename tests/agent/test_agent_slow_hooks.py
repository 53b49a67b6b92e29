"""The limit of hooks, and what blocks the event loop told from what waits."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

import anyio
import pytest

from agent.kit import add, call, run_by, scripted, streamed, text
from agent.tracing import Tracing
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.models import ModelError
from agentcore.agent.telemetry import Observer

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
TIME = 0.03
# Below the sum of two, above one; the machine may be busy, so that most tests have none at all.
LIMIT = 0.055


def blocks(_: Any) -> None:
    time.sleep(TIME)


async def waits(_: Any) -> None:
    await anyio.sleep(TIME)


async def does_both(_: Any) -> None:
    time.sleep(TIME)  # noqa: ASYNC251 - that is what is measured
    await anyio.sleep(TIME)
    time.sleep(TIME)  # noqa: ASYNC251


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "agentcore"]


# ---------------------------------------------------------------- the limit


@BOTH
async def test_the_hooks_before_a_model_call_have_one_limit_together(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    agent = Agent(
        scripted([call(a=1)], text()),
        tools=[add],
        input_processors=[blocks],
        prepare_step=waits,
        on_step_start=lambda _: None,
    )
    await run_by(path, agent, "q", slow_hook_seconds=LIMIT)
    first, second = warned(caplog)
    assert first.startswith("together, the hooks before the model call (blocks ")
    assert " ms, prepare_step " in first
    assert " ms, on_step_start 0 ms) took " in first
    assert "at step 0, which is above 55 ms; a run waits for its hooks; " in first
    assert "at step 1, " in second


@BOTH
async def test_one_hook_above_the_limit_is_named_alone(path: str, caplog: pytest.LogCaptureFixture) -> None:
    await run_by(path, Agent(scripted(text()), on_step_start=waits), "q", slow_hook_seconds=0.01)
    (text_of_it,) = warned(caplog)
    assert text_of_it.startswith("on_step_start took ")


@BOTH
async def test_hooks_elsewhere_have_the_limit_alone(path: str, caplog: pytest.LogCaptureFixture) -> None:
    class Input:
        id = "input"

        async def process_input(self, given: Any) -> None:
            await waits(given)

    hooks: Any = dict.fromkeys(["prepare_call", "on_start", "on_step_finish", "on_finish"], waits)
    agent = Agent(scripted(text()), input_processors=[Input()], **hooks)
    await run_by(path, agent, "q", slow_hook_seconds=0.01)
    names = [each.split(" took ")[0] for each in warned(caplog)]
    assert names == ["prepare_call", "on_start", "input", "on_step_finish", "on_finish"]


async def test_hooks_of_one_step_do_not_count_at_the_next(caplog: pytest.LogCaptureFixture) -> None:
    async def once(step: Any) -> None:
        if step.step_number == 0:
            await waits(step)

    agent = Agent(scripted([call(a=1)], text()), tools=[add], prepare_step=once)
    await agent.generate("q", slow_hook_seconds=TIME / 2)
    assert ["at step 0" in each for each in warned(caplog)] == [True]


async def test_a_slow_hook_that_raises_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(given: Any) -> None:
        await waits(given)
        raise ValueError

    for name in ("prepare_step", "on_step_start", "on_finish"):
        hook: Any = {name: fails}
        with pytest.raises(AgentError):
            await Agent(scripted(text()), slow_hook_seconds=0.01, **hook).generate("q")
    assert warned(caplog) == []


# ---------------------------------------------------------------- what blocks


@BOTH
@pytest.mark.parametrize("name", ["prepare_call", "prepare_step", "on_step_start", "on_finish"])
@pytest.mark.parametrize(("hook", "seconds", "blocked"), [(blocks, 1, 1), (waits, 1, 0), (does_both, 3, 2)])
async def test_a_timing_says_how_long_a_hook_blocked_the_event_loop(
    path: str, name: str, hook: Any, seconds: int, blocked: int
) -> None:
    hooks: Any = {name: hook}
    timings = (await run_by(path, Agent(scripted(text()), **hooks), "q")).timings
    (entry,) = [each for each in timings.of("hook") if each.name == name]
    assert entry.seconds >= 0.9 * seconds * TIME
    assert entry.blocked_seconds >= 0.9 * blocked * TIME
    # What it waited for is no part of what it blocked.
    assert entry.blocked_seconds <= entry.seconds - 0.9 * (seconds - blocked) * TIME
    assert timings.blocked_seconds() >= timings.blocked_seconds(step_number=entry.step_number) > 0


async def test_another_task_stands_still_for_as_long_as_a_timing_says() -> None:
    gaps: list[float] = []

    async def beats() -> None:
        before = time.perf_counter()
        while True:
            await anyio.sleep(0.001)
            gaps.append((now := time.perf_counter()) - before)
            before = now

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beats)
        await anyio.sleep(0.005)
        result = await Agent(scripted(text()), prepare_step=blocks).generate("q")
        await anyio.sleep(0.005)
        tasks.cancel_scope.cancel()
    (entry,) = [each for each in result.timings.of("hook") if each.name == "prepare_step"]
    assert max(gaps) >= entry.blocked_seconds >= 0.9 * TIME


async def test_chunks_are_summed_by_step_with_what_blocked() -> None:
    agent = Agent(scripted(text("abc"), chunk=1), on_chunk=lambda _: time.sleep(0.005))
    _, result = await streamed(agent, "q")
    (entry,) = [each for each in result.timings.of("hook") if each.name == "on_chunk"]
    assert entry.seconds >= entry.blocked_seconds >= 4 * 0.0045


@pytest.mark.parametrize(("hook", "is_said"), [(blocks, True), (waits, False)])
async def test_the_warning_says_what_to_do_if_most_of_it_blocked(
    hook: Any, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    await Agent(scripted(text()), prepare_step=hook).generate("q", slow_hook_seconds=0.01)
    (message,) = warned(caplog)
    assert ("run what blocks in a thread (anyio.to_thread.run_sync)" in message) is is_said
    assert "ms of it blocked the event loop" in message


async def test_spans_say_what_blocked_and_what_a_model_call_waited_for() -> None:
    tracing = Tracing()
    busy = ModelError("busy", retryable=True, retry_after=0)

    def fails(step: Any) -> None:
        blocks(step)
        if step.step_number:
            raise ValueError

    agent = Agent(
        scripted(busy, [call(a=1)]),
        tools=[add],
        prepare_step=fails,
        on_step_start=waits,
        tracer=tracing.tracer,
    )
    with pytest.raises(AgentError):
        await agent.generate("q")
    blocked = [
        each["agentcore.blocked_seconds"] for each in tracing.attributes("process_input_step prepare_step")
    ]
    assert [each >= 0.9 * TIME for each in blocked] == [True, True]
    chats = tracing.attributes("chat scripted")
    assert len(chats) == 2
    for each in chats:
        assert each["agentcore.hooks.seconds"] >= 0.9 * 2 * TIME
        assert each["agentcore.hooks.blocked_seconds"] >= 0.9 * TIME
        assert each["agentcore.hooks.blocked_seconds"] <= each["agentcore.hooks.seconds"] - 0.9 * TIME


async def test_a_model_call_without_hooks_waited_for_none() -> None:
    tracing = Tracing()
    await Agent(scripted(text()), tracer=tracing.tracer).generate("q")
    assert not any(name.startswith("agentcore.hooks") for name in tracing.attributes("chat scripted")[0])


# ---------------------------------------------------------------- awaiting as Python does


class Steps:
    """An awaitable whose iterator is no generator."""

    def __init__(self) -> None:
        self.left = 2

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.left -= 1
        if self.left < 0:
            raise StopIteration("done")
        return self.left


class Sending:
    """An awaitable that gives what it is sent, and takes what is thrown."""

    def __await__(self) -> Generator[Any, Any, Any]:
        sent: list[Any] = []
        while len(sent) < 3:
            try:
                sent.append((yield len(sent)))
            except KeyError as error:
                sent.append(error)
        return sent


def watched(value: Any) -> Any:
    watch = Observer(60).hook("hook", 0)
    return watch.called(lambda _: value, None)


def test_an_iterator_without_send_is_awaited() -> None:
    steps = watched(Steps())
    assert [steps.send(None), steps.send(None)] == [1, 0]
    with pytest.raises(StopIteration, match="done"):
        steps.send("dropped")


def test_what_is_thrown_at_an_iterator_without_throw_is_raised() -> None:
    steps = watched(Steps())
    assert steps.send(None) == 1
    with pytest.raises(KeyError):
        steps.throw(KeyError("x"))


def test_what_is_sent_and_thrown_reaches_the_hook() -> None:
    steps, error = watched(Sending()), KeyError("x")
    assert [steps.send(None), steps.send("a"), steps.throw(error)] == [0, 1, 2]
    with pytest.raises(StopIteration) as ended:
        steps.send("b")
    assert ended.value.value == ["a", error, "b"]


def test_a_hook_that_is_closed_ends_where_it_waits() -> None:
    ended: list[str] = []

    async def hook() -> None:
        try:
            await Steps()
        finally:
            ended.append("closed")

    steps = watched(hook())
    steps.send(None)
    steps.close()
    assert ended == ["closed"]


async def test_a_cancellation_reaches_the_hook_that_waits() -> None:
    ended: list[str] = []

    async def hook(_: Any) -> None:
        try:
            await anyio.sleep(60)
        finally:
            ended.append("cancelled")

    with anyio.move_on_after(0.02) as scope:
        await Agent(scripted(text()), prepare_step=hook).generate("q")
    assert (ended, scope.cancelled_caught) == (["cancelled"], True)
