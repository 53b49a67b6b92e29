"""How much a saved run may make of a short text.

A saved run is played again, and some outcomes of a few bytes go through much of the run once more:
references to a whole history, an edit that is merged over large options, a question beside thousands of
others. Among the outcomes of an agent's run there are few such; in a file from a stranger each can be one, so
that a file of 1 MB would take hours or all memory. So each of them takes what it costs from one `Room`,
before it is played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from agentcore.errors import WireError
from agentcore.machine.effects import (
    Answered,
    Asked,
    Logged,
    ModelAnswer,
    NeedModel,
    NeedPrepareStep,
    NeedTools,
    Processed,
    Settings,
    ToolSpec,
)
from agentcore.machine.state import Interrupted, Run
from agentcore.messages.content import ToolCall
from agentcore.messages.prompt import system_messages
from agentcore.messages.values import JsonObject, JsonValue

__all__ = ["ROOM", "Room", "id_cost", "play_cost"]

ROOM: Final = 4_000_000
"""The room of a load, unless the caller allows more: at worst some 10 seconds and 500 MB, as measured."""

# One unit is what a reference to a message costs: about a microsecond and 64 bytes.
_UNIT: Final = 64
_COPIED_AT_ONCE: Final = 4


class Room:
    """What is left of a limit of elements that references and replayed outcomes come to."""

    def __init__(self, left: int = ROOM) -> None:
        self._left = left

    def take(self, cost: int, path: str = "$") -> None:
        """Take room for so many elements. Raises WireError, with the path, if less is left."""
        self._left -= cost
        if self._left < 0:
            reason = "up to here the run comes to more messages, ids and copies than the limit"
            raise WireError(path, f"{reason}; if you trust who wrote it, load it with a higher `limit`")


def id_cost(name: str) -> int:
    """What one more id of the name costs."""
    return 1 + len(name) // _UNIT


def play_cost(run: Run, outcome: Logged) -> int:
    """What the run goes through again when it is given the outcome, its messages apart.

    Rule run.load-bounded.
    """
    pending = run.pending
    match outcome:
        case Asked() if isinstance(pending, Interrupted):
            return len(pending.interrupts)
        case Answered():
            return len(run.answers) // _COPIED_AT_ONCE
        case ModelAnswer():
            return _answer_cost(run, outcome)
        case Processed():
            return _step_cost(run.settings) + _merge_cost(run.settings, outcome)
    if isinstance(pending, NeedTools):
        return (len(pending.calls) + len(pending.finished)) // _COPIED_AT_ONCE
    return _step_cost(run.settings) if isinstance(pending, NeedPrepareStep) else 0


def _step_cost(settings: Settings) -> int:
    """Each step lists the tools that it offers, and its prompt begins with the instructions."""
    return (len(settings.tools or ()) + len(system_messages(settings.system))) // _COPIED_AT_ONCE


def _merge_cost(settings: Settings, outcome: Processed) -> int:
    """Options and settings of the model are merged edit by edit, each time with all those before."""
    cost, merged = 0, _size(settings.provider_options)
    for edit in outcome.edits:
        own = _size(edit.override.provider_options) + _size(edit.override.model_settings)
        merged += own
        cost += merged if own else 0
    return cost


def _answer_cost(run: Run, answer: ModelAnswer) -> int:
    """The error of a call of a tool that the step does not offer lists the names of those that it does."""
    states = 0 if answer.model_state is None else len(run.model_states)
    known = {tool.name for tool in _offered(run)}
    refused = sum(1 for part in answer.content if isinstance(part, ToolCall) and part.tool_name not in known)
    return states + refused * (1 + sum(len(tool.name) for tool in run.settings.tools or ()) // _UNIT)


def _offered(run: Run) -> Iterable[ToolSpec]:
    return run.pending.tools or () if isinstance(run.pending, NeedModel) else ()


def _size(options: JsonObject | None) -> int:
    """The count of all values in the options, at every depth."""
    count = 0
    pending: list[JsonValue] = [] if options is None else [options]
    while pending:
        value = pending.pop()
        count += 1
        if isinstance(value, tuple):
            pending += value
        elif isinstance(value, Mapping):
            pending += value.values()
    return count
