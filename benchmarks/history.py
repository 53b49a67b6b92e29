"""What a step costs, by the length of the history: an agent of 1,000 steps with one tool, all states kept."""

from __future__ import annotations

import asyncio
import sys
from time import perf_counter
from typing import Any

import pyperf

from agentcore import AssistantMessage, UserMessage
from agentcore.agent import Agent
from agentcore.content import GeneratedText, ToolCall
from agentcore.models.scripted import ScriptedModel
from agentcore.tools import tool

LENGTHS = (10, 1_000, 10_000)
STEPS = 1_000


@tool
async def look(q: int) -> str:
    """Look something up."""
    return f"found {q}"


def script() -> list[list[Any]]:
    """Every step but the last calls the tool once."""
    calls = [[ToolCall(tool_call_id=f"c{i}", tool_name="look", input={"q": i})] for i in range(STEPS - 1)]
    return [*calls, [GeneratedText("done")]]


def history(length: int) -> list[Any]:
    """Messages of 500 characters, by turns of assistant and user."""
    text = "x" * 500
    return [UserMessage(text) if i % 2 else AssistantMessage(text) for i in range(length)]


def seconds_per_step(length: int) -> float:
    """One run from a history of this length; checked before its time counts."""
    messages = history(length)
    # A run reads its history once, before its first step; the steps are what is timed.
    started: list[float] = []
    agent = Agent(
        ScriptedModel(script()),
        tools=[look],
        stop_when=(),
        on_step_start=lambda _: started.append(perf_counter()),
    )

    async def timed() -> float:
        result = await agent.generate(messages=messages)
        taken = perf_counter() - started[0]
        if len(result.steps) != STEPS or len(result.messages) != 2 * STEPS - 1:
            raise AssertionError(f"{len(result.steps)} steps, {len(result.messages)} messages")
        return taken / STEPS

    return asyncio.run(timed())


def main() -> None:
    """Times every length, interleaved by pyperf's processes, and prints the ratio."""
    runner = pyperf.Runner(processes=6, values=3, warmups=1, loops=1)
    benches = [
        runner.bench_time_func(
            f"step after {length} messages", lambda _, length=length: seconds_per_step(length)
        )
        for length in LENGTHS
    ]
    if not runner.args.worker and all(benches):
        ratio = benches[-1].median() / benches[0].median()
        sys.stdout.write(f"{LENGTHS[-1]} messages over {LENGTHS[0]}: {ratio:.2f} times the time of a step\n")


if __name__ == "__main__":
    main()
