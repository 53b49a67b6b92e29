"""What a type checker takes for a processor, what it is handed and what it may return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, assert_type

import anyio
import pytest

from agentcore import (
    Agent,
    InputArguments,
    Message,
    MessageList,
    Processor,
    ScriptedModel,
    StepArguments,
    StepOverride,
    Tripwire,
    UserMessage,
)
from agentcore.machine.processors import NamedProcessor, TripwireError, abort
from agentcore.messages.values import JsonObject, JsonValue, Vector


def model() -> ScriptedModel:
    return ScriptedModel([[{"type": "text", "text": "done"}]])


class Whole:
    """A processor of both kinds, one of them async."""

    id = "whole"

    async def process_input(self, given: InputArguments) -> list[Message]:
        return [*given.messages]

    def process_input_step(self, step: StepArguments) -> StepOverride | None:
        return None if step.step_number else StepOverride(tool_choice="auto")


class Named:
    """One whose id is a property."""

    @property
    def id(self) -> str:
        return "named"

    async def process_input_step(self, step: StepArguments) -> MessageList:
        return step.message_list


def remind(step: StepArguments) -> list[Message]:
    return [*step.messages, UserMessage("remember")]


def trimmed(step: StepArguments) -> Vector[Message]:
    return step.messages[-2:]


def as_json(_: StepArguments) -> list[Mapping[str, Any]]:
    return [{"role": "user", "content": "u"}]


async def settings(step: StepArguments) -> dict[str, object] | None:
    return {"model_settings": {"temperature": 0}} if step.step_number else None


def guard(step: StepArguments) -> None:
    if step.step_number > 100:
        step.abort("enough", retry=False, metadata={"steps": step.step_number})


def test_objects_and_functions_sync_and_async_are_processors() -> None:
    given: list[Processor] = [Whole(), Named(), remind, trimmed, as_json, settings, guard]
    agent = Agent(model(), input_processors=given, prepare_step=remind)
    assert_type(agent.input_processors, tuple[NamedProcessor, ...])
    result = anyio.run(agent.generate, "q")
    assert_type(result.tripwire, Tripwire | None)
    assert result.tripwire is None


def test_they_may_be_given_with_a_call_with_those_of_the_agent_among_them() -> None:
    async def main() -> None:
        agent = Agent(model(), input_processors=[Whole()])
        result = await agent.generate("q", input_processors=[*agent.input_processors, settings])
        async with agent.stream("q", input_processors=(guard,)) as stream:
            async for event in stream:
                if event.type == "run-tripped":
                    assert_type(event.tripwire, Tripwire)
        assert result.steps[0].override.tool_choice is not None

    anyio.run(main)


def test_what_processors_are_handed_has_types() -> None:
    def check(step: StepArguments) -> None:
        assert_type(step.messages, Vector[Message])
        assert_type(step.model, str)
        assert_type(step.message_list, MessageList)
        assert_type(step.message_list.get("initial-0"), Message | None)
        assert_type(step.message_list.add(UserMessage("u")), tuple[str, ...])
        assert_type(step.tool_choice, JsonObject | None)
        assert_type(step.request_context, JsonValue)
        for mutation in step.message_list.mutations:
            assert_type(mutation.kind, Literal["add", "add_system", "remove", "replace"])

    anyio.run(Agent(model(), input_processors=[check]).generate, "q")


def test_nothing_comes_after_an_abort() -> None:
    # Without a return at the end: a checker knows that there is none.
    def chosen(step: StepArguments) -> str:  # noqa: RET503
        if step.step_number < 0:
            return "never"
        step.abort("done")

    with pytest.raises(TripwireError, match="done"):
        abort("done")
    result = anyio.run(Agent(model(), prepare_step=lambda step: {"model": chosen(step)}).generate, "q")
    assert result.finish_reason == "tripwire"


class NoProcessor:
    """It has a name and nothing to call."""

    id = "idle"


def test_what_is_no_processor_is_an_error() -> None:
    with pytest.raises(ValueError, match="it is not a processor"):
        Agent(model(), input_processors=[NoProcessor()])  # type: ignore[list-item]

    def wrong(step: StepArguments) -> int:
        return step.step_number

    # Of what may not be returned a checker tells before the run does.
    agent = Agent(model(), input_processors=[wrong])  # type: ignore[list-item]
    with pytest.raises(Exception, match="return nothing, a mapping"):
        anyio.run(agent.generate, "q")
    unknown = Agent(model(), prepare_step=lambda step: step.nothing)  # type: ignore[attr-defined]
    with pytest.raises(Exception, match="no attribute 'nothing'"):
        anyio.run(unknown.generate, "q")
