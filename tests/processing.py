"""Folds of processors without a driver, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from agentcore.machine.effects import Settings, ToolSpec
from agentcore.machine.prepare import CallPreparation, StepPreparation
from agentcore.machine.state import need_prepare_step, need_process_input
from agentcore.messages.chains import Chains
from agentcore.messages.messages import AssistantMessage, Message, UserMessage
from agentcore.messages.values import vector

USER = UserMessage("u")
ANSWER = AssistantMessage("a")
SETTINGS = Settings(
    model="m",
    system="s",
    tools=[ToolSpec("t"), ToolSpec("x")],
    tool_choice="auto",
    active_tools=["t"],
    provider_options={"p": {"a": 1, "b": {"c": 1}}},
    experimental_context={"k": 1},
)

Turn = Callable[[Any], object]


def a_step(
    *messages: Message, number: int = 0, settings: Settings = SETTINGS, response: Iterable[Message] = ()
) -> StepPreparation:
    """A step of that number, which has no steps before it all the same."""
    chains = Chains.start(messages or [USER], settings.system).appended(response)
    step = need_prepare_step(settings, chains, vector()).step
    return step if not number else _numbered(step, number)


def _numbered(step: StepPreparation, number: int) -> StepPreparation:
    return attrs.evolve(step, step_number=number)


def a_call(*messages: Message, settings: Settings = SETTINGS) -> CallPreparation:
    return need_process_input(settings, Chains.start(messages or [USER], settings.system)).call


def through(so_far: Any, *turns: Turn) -> Any:
    """What is left after these processors, which are called p0, p1 and so on."""
    for number, turn in enumerate(turns):
        arguments = so_far.arguments(f"p{number}")
        so_far = so_far.after(so_far.edit(arguments, turn(arguments)))
    return so_far


def shown_after(so_far: Any, *turns: Turn) -> Any:
    """What the next processor is handed after these."""
    return through(so_far, *turns).arguments("next")


def returning(result: object) -> Turn:
    return lambda _: result


def using(change: Callable[[Any], object], result: object = None) -> Turn:
    """A processor that does something with its list and returns that."""

    def turn(arguments: Any) -> object:
        change(arguments.message_list)
        return result

    return turn
