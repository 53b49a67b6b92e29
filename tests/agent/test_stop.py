from __future__ import annotations

import inspect

import anyio
import anyio.lowlevel
import pytest

from agentcore.agent import StopCondition, any_of, has_tool_call, step_count_is
from agentcore.machine.hooks import StepRecord
from agentcore.messages.content import ContentPart, GeneratedText, ToolCall
from agentcore.messages.values import Vector, vector


def steps_of(*tool_names: str | None) -> Vector[StepRecord]:
    return vector(_step(number, name) for number, name in enumerate(tool_names))


def _step(number: int, tool_name: str | None) -> StepRecord:
    content: list[ContentPart] = [GeneratedText("x")]
    if tool_name is not None:
        content.append(ToolCall(tool_call_id=f"c{number}", tool_name=tool_name, input={}))
    return StepRecord(
        step_number=number,
        model="m",
        prompt=vector(),
        content=vector(content),
        messages=vector(),
        finish_reason="stop",
    )


def answer(condition: StopCondition, steps: Vector[StepRecord]) -> bool:
    async def ask() -> bool:
        given = condition(steps)
        return await given if inspect.isawaitable(given) else given

    return anyio.run(ask)


@pytest.mark.parametrize(("finished", "stops"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_step_count_holds_from_that_many_steps_on(finished: int, stops: bool) -> None:
    assert answer(step_count_is(2), steps_of(*[None] * finished)) is stops


@pytest.mark.parametrize("count", [0, -1])
def test_a_step_count_below_one_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="use 1 or more"):
        step_count_is(count)


def test_a_tool_call_counts_in_the_last_step_only() -> None:
    done = has_tool_call("done")
    assert answer(done, steps_of("look", "done")) is True
    assert answer(done, steps_of("done", "look")) is False
    assert answer(done, steps_of("done", None)) is False
    assert answer(done, steps_of()) is False


def test_any_of_holds_if_one_of_them_does() -> None:
    async def never(steps: Vector[StepRecord]) -> bool:
        await anyio.lowlevel.checkpoint()
        return not steps

    condition = any_of(never, step_count_is(3), has_tool_call("done"))
    assert answer(condition, steps_of("look", "look")) is False
    assert answer(condition, steps_of("look", "done")) is True
    assert answer(condition, steps_of("look", "look", "look")) is True
    assert answer(condition, steps_of()) is True


def test_nothing_is_asked_after_the_first_that_holds() -> None:
    asked: list[int] = []

    def counts(steps: Vector[StepRecord]) -> bool:
        asked.append(len(steps))
        return False

    assert answer(any_of(counts, step_count_is(1), counts), steps_of(None)) is True
    assert asked == [1]


def test_any_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="give one or more"):
        any_of()
