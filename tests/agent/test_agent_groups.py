"""What comes out of task groups of tools: questions, cancellations and the end of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio
import anyio.lowlevel
import pytest

from agent.kit import call, run_by, scripted, text
from agentcore import Agent, AgentStreamStage, ExecuteToolStage, InvokeModelStage, ToolContext, tool
from agentcore.agent.call.errors import ChunkHookError, without_signals
from agentcore.agent.rules import AgentRule
from agentcore.machine.effects import NeedTools
from agentcore.machine.run import Failed
from agentcore.messages.interrupts import Interrupt, InterruptSignal
from rulebook import states

PATHS: Final = ["generate", "stream"]
pytestmark = pytest.mark.anyio


async def late(ask: Callable[[], object], begun: anyio.Event) -> None:
    """Ask when the run has been cancelled, beside a task that is cancelled with it."""

    async def shielded() -> None:
        with anyio.CancelScope(shield=True):
            begun.set()
            await anyio.sleep(0.02)
        ask()

    async with anyio.create_task_group() as group:
        group.start_soon(shielded)
        group.start_soon(anyio.sleep, 10)


@tool
async def asks_late(context: ToolContext) -> str:
    """Ask late."""
    await late(lambda: context.interrupt("sure"), context.invocation_state["begun"])
    return "asked"


@tool
async def waits() -> str:
    """Wait."""
    await anyio.sleep(10)
    return "waited"


async def wrapped(context: Any, call_next: Any) -> Any:
    await late(lambda: context.interrupt("sure"), context.invocation_state["begun"])
    return await call_next(context)


TWO: Final = [call("asks_late"), call("waits", "d")]
AGENTS: Final[dict[str, Callable[[], Agent[Any]]]] = {
    "tool": lambda: Agent(scripted([call("asks_late")], text()), tools=[asks_late]),
    "tools": lambda: Agent(scripted(TWO, text()), tools=[asks_late, waits]),
    "tool handler": lambda: Agent(
        scripted([call("waits")], text()), tools=[waits], middleware=[ExecuteToolStage.wrap(wrapped)]
    ),
    "model handler": lambda: Agent(scripted(text()), middleware=[InvokeModelStage.wrap(wrapped)]),
    "call handler": lambda: Agent(scripted(text()), middleware=[AgentStreamStage.wrap(wrapped)]),
}


async def cancelled(path: str, agent: Agent[Any]) -> list[Any]:
    """The run as it was when somebody cancelled it, if it was streamed. Raises what passes the scope."""
    begun, scope = anyio.Event(), anyio.CancelScope()
    runs: list[Any] = []

    async def main() -> None:
        with scope:
            if path == "generate":
                await agent.generate("hi", invocation_state={"begun": begun})
                return
            async with agent.stream("hi", invocation_state={"begun": begun}) as stream:
                try:
                    async for _ in stream:
                        pass
                finally:
                    runs.append(stream)

    async with anyio.create_task_group() as group:
        group.start_soon(main)
        await begun.wait()
        scope.cancel()
    return [stream.run for stream in runs]


@states(AgentRule.CANCEL_ONLY_THE_RUN)
@pytest.mark.parametrize("who", AGENTS)
@pytest.mark.parametrize("path", PATHS)
async def test_a_question_that_comes_with_the_runs_cancellation_is_no_error_of_the_caller(
    path: str, who: str
) -> None:
    runs = await cancelled(path, AGENTS[who]())
    assert len(runs) == (path == "stream")


async def test_the_run_that_was_cancelled_asks_again_when_it_goes_on() -> None:
    (run,) = await cancelled("stream", AGENTS["tools"]())
    assert isinstance(run.pending, Failed)
    assert isinstance(run.pending.run.pending, NeedTools)
    quick = tool(name="waits")(_at_once)
    agent = Agent(scripted(text()), tools=[asks_late, quick])
    again = await agent.resume(run, invocation_state={"begun": anyio.Event()})
    assert [each.id for each in again.pending] == ["tool/0/c/sure"]


async def _at_once() -> str:
    """Do not wait."""
    return "now"


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("others", [0, 2])
def test_what_ends_the_program_comes_out_as_it_was_raised(end: type[BaseException], others: int) -> None:
    @tool
    async def stops() -> str:
        """Stop."""
        await anyio.lowlevel.checkpoint()
        raise end

    calls = [call("stops"), *(call("waits", f"d{number}") for number in range(others))]
    for backend in ("asyncio", "trio"):
        agent = Agent(scripted(calls, text()), tools=[stops, waits])
        with pytest.raises(end):
            anyio.run(agent.generate, "hi", backend=backend)


@pytest.mark.parametrize("path", PATHS)
async def test_a_question_beside_a_tool_that_cancels_itself_is_asked(path: str) -> None:
    @tool
    async def asks(context: ToolContext) -> str:
        """Ask."""
        await anyio.sleep(0.01)
        return str(context.interrupt("sure"))

    @tool
    async def stray() -> str:
        """Be cancelled by a scope that this tool keeps."""
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.sleep(1)
        return "left"

    agent = Agent(scripted([call("stray"), call("asks", "d")], text()), tools=[asks, stray])
    result = await run_by(path, agent, "hi")
    (asked,) = result.pending
    again = await agent.resume(result.run, answers={asked.id: "yes"})
    assert again.text == "done"


def test_signals_are_taken_out_of_groups_only() -> None:
    signal, chunk, ended = (
        InterruptSignal(Interrupt(name="a")),
        ChunkHookError(ValueError()),
        KeyboardInterrupt(),
    )
    only = BaseExceptionGroup("g", [signal])
    assert without_signals(ended) is ended
    assert without_signals(only) is only
    left = without_signals(BaseExceptionGroup("g", [signal, BaseExceptionGroup("h", [chunk, ended])]))
    assert isinstance(left, BaseExceptionGroup)
    (inner,) = left.exceptions
    assert isinstance(inner, BaseExceptionGroup)
    assert inner.exceptions == (ended,)
