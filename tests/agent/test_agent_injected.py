"""Failures and cancellations at every point where a run waits, and many runs at once."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import attrs
import pytest
import trio
from anyio import from_thread
from anyio.lowlevel import checkpoint
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.kit import USER, text
from agentcore.agent.agent import Agent, AgentError, AgentResult, AgentStream
from agentcore.agent.models import ModelError, ModelRequest, ScriptedModel
from agentcore.agent.tools import Tool, ToolContext
from agentcore.errors import ImmutableWriteError
from agentcore.machine.run import Run
from agentcore.messages.content import ToolCall, to_response_messages
from agentcore.messages.messages import AssistantMessage, Message, TextPart, UserMessage
from agentcore.messages.values import dump_json, parse_json, thaw, vector
from agentcore.records.saved import from_json, to_json

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
HISTORY: list[Message] = [USER, AssistantMessage("before"), UserMessage("and now?")]
# Every example is run at each of its points.
FEW = max(settings().max_examples // 25, 1)
TOOLS = ("sync", "asynchronous", "generator")


@attrs.frozen(kw_only=True)
class Scenario:
    """A run: the tools of each step but the last, and how its hooks are."""

    steps: list[list[str]]
    is_async: bool
    overrides: bool
    flaky: bool
    concurrency: int


SCENARIOS = st.builds(
    Scenario,
    steps=st.lists(st.lists(st.sampled_from(TOOLS), min_size=1, max_size=2), max_size=2),
    is_async=st.booleans(),
    overrides=st.booleans(),
    flaky=st.booleans(),
    concurrency=st.integers(1, 3),
)


RICH = Scenario(
    steps=[["sync", "asynchronous"], ["generator"]], is_async=True, overrides=True, flaky=True, concurrency=2
)


class PlantedError(Exception):
    """What is raised at a point."""


class Gate:
    """Counts the points that a run passes; at one of them it fails or is cancelled."""

    def __init__(self, at: int | None = None, kind: str = "raise") -> None:
        self.at = at
        self.kind = kind
        self.passed = 0
        self.fired: str | None = None
        self.scope = anyio.CancelScope()
        self.executed: list[str] = []
        self.finished = 0

    def hit(self, where: str, *, in_thread: bool = False) -> None:
        self.passed += 1
        if self.passed != self.at:
            return
        self.fired = where
        if self.kind == "cancel":
            from_thread.run_sync(self.scope.cancel) if in_thread else self.scope.cancel()
        elif where == "tool":
            raise ImmutableWriteError("$", "planted")
        else:
            raise PlantedError(where)

    async def pass_through(self, where: str) -> None:
        self.hit(where)
        await checkpoint()


class Scene:
    """A scenario's agent, whose every point passes a gate."""

    def __init__(self, scenario: Scenario, gate: Gate) -> None:
        self.scenario = scenario
        self.gate = gate
        self.failed_once = not scenario.flaky

    def hook(self, name: str, result: Any = None) -> Any:
        gate = self.gate

        def sync(argument: Any) -> Any:
            if name == "on_step_finish":
                gate.finished += 1
            gate.hit(name)
            return result(argument) if result else None

        async def asynchronous(argument: Any) -> Any:
            value = sync(argument)
            await gate.pass_through(name)
            return value

        return asynchronous if self.scenario.is_async else sync

    def override(self, step: Any) -> Any:
        if not self.scenario.overrides:
            return None
        extra = UserMessage([TextPart(f"step {step.step_number}")])
        return {"messages": [*step.messages, extra], "experimental_context": {"step": step.step_number}}

    async def answer(self, request: ModelRequest) -> Any:
        await self.gate.pass_through("model")
        if not self.failed_once:
            self.failed_once = True
            raise ModelError("busy", retryable=True, retry_after=0)
        step = sum(isinstance(message, AssistantMessage) for message in request.prompt) - 1
        if step == len(self.scenario.steps):
            return text("all done")
        names = self.scenario.steps[step]
        return [
            ToolCall(tool_call_id=f"{step}.{index}", tool_name=name, input={"number": index})
            for index, name in enumerate(names)
        ]

    def tools(self) -> list[Any]:
        gate = self.gate

        def sync(number: int, about: ToolContext) -> int:
            gate.executed.append(about.tool_call_id)
            gate.hit("tool", in_thread=True)
            return number

        async def asynchronous(number: int, about: ToolContext) -> int:
            gate.executed.append(about.tool_call_id)
            await gate.pass_through("tool")
            await gate.pass_through("tool")
            return number

        async def generator(number: int, about: ToolContext) -> AsyncIterator[int]:
            gate.executed.append(about.tool_call_id)
            for each in range(2):
                await gate.pass_through("tool")
                yield number + each

        # With a reader of their own, because making schemas would be most of what the tests do.
        return [
            Tool(
                name,
                {},
                execute=function,
                read=lambda value: dict(cast("Any", value)),
                context_parameter="about",
            )
            for name, function in zip(TOOLS, (sync, asynchronous, generator), strict=True)
        ]

    def agent(self) -> Agent[None]:
        return Agent(
            ScriptedModel(self.answer),
            tools=self.tools(),
            prepare_step=self.hook("prepare_step", self.override),
            stop_when=self.hook("stop_when"),
            on_start=self.hook("on_start"),
            on_step_start=self.hook("on_step_start"),
            on_step_finish=self.hook("on_step_finish"),
            on_finish=self.hook("on_finish"),
            on_chunk=self.hook("on_chunk"),
            tool_concurrency=self.scenario.concurrency,
        )


class Attempt:
    """One run of a scenario, and what is left of it."""

    def __init__(self, scenario: Scenario, path: str, gate: Gate) -> None:
        self.scene = Scene(scenario, gate)
        self.path = path
        self.gate = gate
        self.saved: list[Run] = []
        self.stream: AgentStream[None] | None = None
        self.result: AgentResult[None] | None = None
        self.error: AgentError | None = None

    async def run(self) -> None:
        with self.gate.scope:
            try:
                self.result = await self._run(self.scene.agent())
            except AgentError as error:
                self.error = error
            except PlantedError:
                assert self.gate.fired == "event"

    async def _run(self, agent: Agent[None]) -> AgentResult[None]:
        if self.path == "generate":
            return await agent.generate(HISTORY, checkpoint=self.saved.append)
        async with agent.stream(HISTORY, checkpoint=self.saved.append) as stream:
            self.stream = stream
            async for _ in stream:
                await self.gate.pass_through("event")
        return stream.result()

    def left(self) -> Run | None:
        """The run as somebody gets hold of it afterwards."""
        if self.result is not None:
            return self.result.run
        if self.error is not None:
            return self.error.run
        if self.stream is not None:
            return self.stream.run
        return self.saved[-1] if self.saved else None


def check_invariants(run: Run) -> None:
    chains = run.chains
    assert list(chains.initial) == HISTORY
    made = [message for record in run.steps for message in to_response_messages(record.content)]
    assert list(chains.response) == made
    assert list(chains.step_input) == HISTORY + made
    for record in run.steps:
        assert list(record.messages) == made[: len(record.messages)]
    assert [record.step_number for record in run.steps] == list(range(len(run.steps)))


def living() -> int:
    """How many tasks there are."""
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:
        return trio.lowlevel.current_statistics().tasks_living


def loaded(run: Run) -> Run:
    return from_json(parse_json(dump_json(to_json(run))))


async def undisturbed(scenario: Scenario, path: str) -> tuple[Run, int]:
    attempt = Attempt(scenario, path, Gate())
    await attempt.run()
    assert attempt.result is not None
    check_invariants(attempt.result.run)
    return attempt.result.run, attempt.gate.passed


async def check_attempt(scenario: Scenario, attempt: Attempt, expected: Run) -> None:
    run = attempt.left()
    if run is None:
        assert not attempt.gate.finished
        return
    check_invariants(run)
    assert len(run.steps) >= attempt.gate.finished
    if attempt.saved:
        assert run.steps[: len(attempt.saved[-1].steps)] == attempt.saved[-1].steps
    assert run.steps == expected.steps[: len(run.steps)]
    for record in run.steps:
        for call in record.tool_calls:
            assert attempt.gate.executed.count(call.tool_call_id) == 1
    again = Scene(scenario, Gate())
    # Every third as somebody who has saved it, which costs much more than all the rest.
    is_saved = attempt.gate.passed % 3 == 0
    resumed = await again.agent().resume(loaded(run) if is_saved else run)
    assert resumed.run == expected
    assert not {call.tool_call_id for record in run.steps for call in record.tool_calls} & set(
        again.gate.executed
    )


@pytest.mark.slow
@BACKENDS
@BOTH
@settings(max_examples=FEW)
@given(scenario=SCENARIOS)
@example(scenario=RICH)
def test_a_failure_or_a_cancellation_at_any_point_loses_nothing(
    backend: str, path: str, scenario: Scenario
) -> None:
    async def main() -> None:
        before = living()
        expected, points = await undisturbed(scenario, path)
        for kind in ("raise", "cancel"):
            for at in range(1, points + 1):
                attempt = Attempt(scenario, path, Gate(at, kind))
                await attempt.run()
                await check_attempt(scenario, attempt, expected)
                assert living() == before

    anyio.run(main, backend=backend)
    gc.collect()


@pytest.mark.slow
@BACKENDS
@BOTH
@settings(max_examples=FEW)
@given(scenario=SCENARIOS)
@example(scenario=RICH)
def test_a_cancellation_at_any_turn_of_the_loop_loses_nothing(
    backend: str, path: str, scenario: Scenario
) -> None:
    async def cancel_after(turns: int, scope: anyio.CancelScope) -> None:
        for _ in range(turns):
            await checkpoint()
        scope.cancel()

    async def main() -> None:
        before = living()
        expected, _ = await undisturbed(scenario, path)
        turns, ended = 0, 0
        # Threads and timers take turns of their own; three in a row that were too late are enough.
        while ended < 3:
            attempt = Attempt(scenario, path, Gate())
            async with anyio.create_task_group() as group:
                group.start_soon(cancel_after, turns, attempt.gate.scope)
                await attempt.run()
                group.cancel_scope.cancel()
            ended = ended + 1 if attempt.result is not None else 0
            await check_attempt(scenario, attempt, expected)
            assert living() == before
            turns += 1

    anyio.run(main, backend=backend)
    gc.collect()


@pytest.mark.slow
@BOTH
@settings(max_examples=FEW)
@given(scenario=SCENARIOS)
@example(scenario=RICH)
def test_a_cancellation_of_the_task_at_any_turn_of_the_loop_loses_nothing(
    path: str, scenario: Scenario
) -> None:
    """As above by asyncio's own cancellation, which no shield of anyio keeps off."""

    async def main() -> None:
        before = living()
        expected, _ = await undisturbed(scenario, path)
        turns, ended = 0, 0
        while ended < 3:
            attempt = Attempt(scenario, path, Gate())
            task = asyncio.create_task(attempt.run())
            for _ in range(turns):
                await checkpoint()
            task.cancel()
            await asyncio.wait([task])
            ended = 0 if task.cancelled() else ended + 1
            await check_attempt(scenario, attempt, expected)
            assert living() == before
            turns += 1

    anyio.run(main)
    gc.collect()


@BACKENDS
@settings(max_examples=10)
@given(scenario=SCENARIOS)
@example(scenario=RICH)
def test_generate_and_stream_give_equal_runs_on_asyncio_and_trio(backend: str, scenario: Scenario) -> None:
    async def main() -> None:
        generated, _ = await undisturbed(scenario, "generate")
        streamed, _ = await undisturbed(scenario, "stream")
        assert generated == streamed

    anyio.run(main, backend=backend)


# ---------------------------------------------------------------- many runs at once


@pytest.mark.slow
@BACKENDS
@BOTH
@settings(max_examples=FEW)
@given(scenario=SCENARIOS)
@example(scenario=RICH)
def test_a_hundred_runs_over_the_same_messages_do_not_meet(  # noqa: C901 - one scene
    backend: str, path: str, scenario: Scenario
) -> None:

    history = vector(HISTORY)

    def marked(number: int) -> Any:
        def prepare(step: Any) -> Any:
            assert step.messages[: len(history)] == history
            extra = UserMessage([TextPart(f"mine {number}")])
            return {"messages": [*step.messages, extra], "experimental_context": {"mine": number}}

        return prepare

    async def one(agent: Agent[None], number: int) -> AgentResult[None]:
        if path == "generate":
            return await agent.generate(messages=history, prepare_step=marked(number))
        async with agent.stream(messages=history, prepare_step=marked(number)) as stream:
            async for _ in stream:
                pass
        return stream.result()

    async def main() -> None:
        # One agent for all: its model answers by the prompt.
        agent = Scene(attrs.evolve(scenario, flaky=False, is_async=True), Gate()).agent()
        results: dict[int, AgentResult[None]] = {}

        async def keep(number: int) -> None:
            results[number] = await one(agent, number)

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(keep, number)
        alone = {number: await one(agent, number) for number in (0, 57)}
        for number, result in results.items():
            for record in result.steps:
                texts = [part.text for m in record.prompt for part in m.content if isinstance(part, TextPart)]
                assert [t for t in texts if t.startswith("mine")] == [f"mine {number}"]
                assert thaw(record.experimental_context) == {"mine": number}
            assert result.run.chains.initial is history
        for number, result in alone.items():
            assert results[number].run == result.run

    anyio.run(main, backend=backend)
    assert list(history) == HISTORY
