"""When a run stops, though its model would go on: conditions on the finished steps."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from agentcore.machine.hooks import StepRecord
from agentcore.messages.values import Vector

__all__ = ["StopCondition", "any_of", "has_tool_call", "step_count_is"]

StopCondition: TypeAlias = Callable[[Vector[StepRecord]], bool | Awaitable[bool]]
"""Asked after every step that another would follow; true ends the run."""


def step_count_is(count: int) -> StopCondition:
    """Stop once there are that many steps, or more: a resumed run may begin with more.

    Raises ValueError for less than one, because a run has a step before anything is asked.
    """
    if count < 1:
        raise ValueError(f"a run has at least one step, so it cannot stop at {count}; use 1 or more")

    def condition(steps: Vector[StepRecord]) -> bool:
        return len(steps) >= count

    return condition


def has_tool_call(tool_name: str) -> StopCondition:
    """Stop once the last step has a call of the tool, whatever came of it."""

    def condition(steps: Vector[StepRecord]) -> bool:
        return bool(steps) and any(call.tool_name == tool_name for call in steps[-1].tool_calls)

    return condition


def any_of(*conditions: StopCondition) -> StopCondition:
    """Stop once one of the conditions holds; they are asked in order, and none after the first that holds.

    Raises ValueError without conditions.
    """
    if not conditions:
        raise ValueError("any_of without conditions never stops a run; give one or more")

    async def condition(steps: Vector[StepRecord]) -> bool:
        for each in conditions:
            answer = each(steps)
            if await answer if inspect.isawaitable(answer) else answer:
                return True
        return False

    return condition
