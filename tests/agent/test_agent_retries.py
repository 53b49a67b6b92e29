from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from trio.testing import MockClock

from agent.kit import add, call, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.call.needs import LONGEST_WAIT
from agentcore.agent.events import ModelRetry
from agentcore.agent.models import ModelError, ModelRequest, PartDone, ScriptedModel
from agentcore.agent.models.base import ModelEvent
from agentcore.agent.tools import tool
from agentcore.machine.processors import StepArguments
from agentcore.messages.messages import UserMessage
from agentcore.requirements.differences import Difference
from rulebook import states

BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    # Trio's clock jumps to when somebody wakes up, so waiting costs no time.
    return (
        ("trio", {"clock": MockClock(autojump_threshold=0)}) if request.param == "trio" else ("asyncio", {})
    )


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch, anyio_backend_name: str) -> list[float]:
    """The times that were waited for, which asyncio does not really wait for."""
    waited: list[float] = []
    sleep = anyio.sleep

    async def spy(seconds: float) -> None:
        if seconds:
            waited.append(seconds)
        await sleep(seconds if anyio_backend_name == "trio" else 0)

    monkeypatch.setattr(anyio, "sleep", spy)
    return waited


def busy(retry_after: float | None = None, *, retryable: bool = True) -> ModelError:
    return ModelError("busy", status=529, retryable=retryable, retry_after=retry_after)


@BOTH
async def test_a_call_that_may_succeed_later_is_made_again(path: str, waits: list[float]) -> None:
    model = scripted(busy(), busy(), [call(a=1)], busy(), text())
    result = await run_by(path, Agent(model, tools=[add]), "q")
    assert result.text == "done"
    assert len(model.calls) == 5
    assert [0.5 <= waits[0] <= 1.0, 1.0 <= waits[1] <= 1.5, 0.5 <= waits[2] <= 1.0] == [True] * 3
    assert model.calls[0] == model.calls[1] == model.calls[2]


@states(Difference.PROCESSED_ONCE)
@BOTH
async def test_a_call_that_is_made_again_asks_what_was_made_once_for_the_step(
    path: str, waits: list[float]
) -> None:
    processed: list[int] = []

    def remind(step: StepArguments) -> Any:
        processed.append(step.step_number)
        return [*step.messages, UserMessage("be brief")]

    model = scripted(busy(), busy(), text())
    await run_by(path, Agent(model, input_processors=[remind]), "q")
    assert (processed, len(waits)) == ([0], 2)
    assert [len(request.prompt) for request in model.calls] == [2, 2, 2]


@BOTH
async def test_after_its_retries_a_call_fails_with_what_the_last_one_raised(
    path: str, waits: list[float]
) -> None:
    errors = [busy(), busy(), busy()]
    model = scripted(*errors)
    with pytest.raises(AgentError) as raised:
        await run_by(path, Agent(model, max_retries=2), "q")
    assert raised.value.__cause__ is errors[2]
    assert len(waits) == 2


@BOTH
async def test_what_the_provider_says_of_the_time_is_kept(path: str, waits: list[float]) -> None:
    await run_by(path, Agent(scripted(busy(0.25), busy(7), text())), "q")
    assert waits == [0.25, 7]


@BOTH
@pytest.mark.parametrize(
    "error", [busy(retryable=False), ValueError("odd"), busy(LONGEST_WAIT + 1)], ids=["no", "other", "long"]
)
async def test_other_failures_are_not_tried_again(path: str, error: Exception, waits: list[float]) -> None:
    model = scripted(error, text())
    with pytest.raises(AgentError) as raised:
        await run_by(path, Agent(model), "q")
    assert raised.value.__cause__ is error
    assert (len(model.calls), waits) == (1, [])


@BOTH
async def test_no_retries_are_made_where_there_are_to_be_none(path: str, waits: list[float]) -> None:
    with pytest.raises(AgentError):
        await run_by(path, Agent(scripted(busy(), text()), max_retries=0), "q")
    assert waits == []


async def test_a_stream_tells_of_its_retries(waits: list[float], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "agentcore")
    error = busy()
    async with Agent(scripted(error, text())).stream("q") as stream:
        events = [event async for event in stream]
    retry = events[1]
    assert retry == ModelRetry(step_number=0, attempt=1, delay=waits[0], error=error)
    assert "model scripted failed at step 0 (attempt 1), next attempt in" in caplog.text
    assert "busy" not in caplog.text


async def test_a_stream_that_has_begun_is_not_begun_anew(waits: list[float]) -> None:
    error = busy()
    model = scripted([*text("half"), error], text())
    agent = Agent(model)
    seen: list[str] = []

    async def take() -> None:
        async with agent.stream("q") as stream:
            async for event in stream:
                seen.extend([event.type])

    with pytest.raises(AgentError) as raised:
        await take()
    assert raised.value.__cause__ is error
    assert seen == ["step-started", "text-delta", "part-done"]
    assert waits == []
    assert (await agent.resume(raised.value.run)).text == "done"


class BrokenModel(ScriptedModel):
    """A model whose streams end without a whole answer, as often as it was told."""

    def __init__(self, times: int) -> None:
        super().__init__([text()])
        self.times = times

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        self.times -= 1
        if self.times < 0:
            async with super().stream(request) as events:
                yield events
        else:
            yield nothing()


async def nothing() -> AsyncIterator[ModelEvent]:
    for _ in ():
        yield _


async def test_a_stream_that_ends_without_anything_is_tried_again(waits: list[float]) -> None:
    assert (await run_by("stream", Agent(BrokenModel(1)), "q")).text == "done"
    with pytest.raises(AgentError, match="the stream ended without a whole answer"):
        await run_by("stream", Agent(BrokenModel(9)), "q")
    assert len(waits) == 3


async def test_what_on_chunk_raises_fails_the_run_and_is_no_failure_of_the_model(waits: list[float]) -> None:
    caught: list[Exception] = []

    class Catching(ScriptedModel):
        @asynccontextmanager
        async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
            async with super().stream(request) as events:
                try:
                    yield events
                except Exception as error:
                    caught.append(error)
                    raise

    error = busy()

    def on_chunk(event: Any) -> None:
        if isinstance(event, PartDone):
            raise error

    model = Catching([text(), text()])
    with pytest.raises(AgentError) as raised:
        await run_by("stream", Agent(model, on_chunk=on_chunk), "q")
    assert raised.value.__cause__ is error
    assert (caught, waits, len(model.calls)) == ([], [], 1)


@pytest.mark.parametrize("concurrency", [1, 8])
async def test_what_on_chunk_raises_at_a_tool_fails_the_run_and_no_tool_runs_twice(concurrency: int) -> None:
    ran: list[int] = []

    @tool
    async def count(number: int) -> None:
        ran.append(number)

    def on_chunk(event: Any) -> None:
        if event.type == "tool-finished":
            raise ZeroDivisionError

    model = scripted([call("count", f"c{number}", number=number) for number in range(2)], text())
    agent = Agent(model, tools=[count], tool_concurrency=concurrency)
    with pytest.raises(AgentError) as raised:
        await run_by("stream", agent, "q", on_chunk=on_chunk)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert (await agent.resume(raised.value.run)).text == "done"
    assert sorted(ran) == [0, 1]


async def test_what_on_chunk_raises_at_the_last_tool_leaves_a_step_that_has_finished() -> None:
    def on_chunk(event: Any) -> None:
        if event.type == "tool-finished":
            raise ZeroDivisionError

    agent = Agent(scripted([call(a=1)], text()), tools=[add])
    with pytest.raises(AgentError) as raised:
        await run_by("stream", agent, "q", on_chunk=on_chunk)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert len(raised.value.run.steps) == 1
