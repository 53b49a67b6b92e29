"""What a type checker takes for a stop condition."""

from __future__ import annotations

from agentcore.agent import StopCondition, any_of, has_tool_call, step_count_is
from agentcore.machine.hooks import StepRecord
from agentcore.messages.values import Vector


async def slow(steps: Vector[StepRecord]) -> bool:
    return bool(steps)


def wrong(steps: str) -> bool:
    return bool(steps)


def test_sync_and_async_functions_are_conditions() -> None:
    conditions: list[StopCondition] = [step_count_is(1), has_tool_call("x"), lambda steps: not steps, slow]
    assert callable(any_of(*conditions))


def test_a_function_of_something_else_is_an_error() -> None:
    assert callable(any_of(wrong))  # type: ignore[arg-type]
