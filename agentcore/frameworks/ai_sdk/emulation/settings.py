"""What a compat run is given: messages, model, tools and hooks, all plain Python.

Hooks and tools get views and may return plain values, views, or both mixed. Fields keep the names they have
in the AI SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentcore.heap.heap import UNDEFINED, Ref, Value
from agentcore.heap.host_values import is_list, is_mapping_of, is_one
from agentcore.heap.views import Desk, ObjectView
from agentcore.messages.brief import brief
from agentcore.messages.values import json_path

Hook: TypeAlias = Callable[[ObjectView], Any]
"""Called with its argument or event; what it returns counts for `prepare_step` and `stop_when` only."""


@attrs.frozen(kw_only=True)
class Tool:
    """A tool: `execute(input, options)` is called with views; None leaves its calls pending.

    `needs_approval` is a bool or is called as `execute` is. `to_model_output` is called with
    `{toolCallId, input, output}` and gives the output of the message. `takes` is how long a call waits before
    it returns or throws, in moments: of the calls of a step that run at once, those of fewer moments end
    first, and those of equally many in their order.
    """

    __repr__ = brief

    execute: Callable[[Any, ObjectView], Any] | None = None
    needs_approval: bool | Callable[[Any, ObjectView], Any] | None = None
    to_model_output: Hook | None = None
    on_input_available: Hook | None = None
    takes: int = 0


@attrs.frozen(kw_only=True)
class Model:
    """A model: `answer(options)` is called with a view of the call's options and gives parts.

    Parts are JSON objects: `{type: "text" | "reasoning", text}`, `{type: "tool-call", toolCallId, toolName,
    input}`, `{type: "source", ...}`, and what the provider ran itself: tool calls with `providerExecuted`
    and `{type: "tool-result", toolCallId, toolName, result, isError?}`; each with `providerMetadata?`.
    `on_parts` is called with a view of the parts as the model returned them.
    """

    __repr__ = brief

    id: str
    answer: Callable[[ObjectView], Sequence[Mapping[str, Any]]]
    on_parts: Callable[[Any], None] | None = None

    @classmethod
    def scripted(cls, *answers: Sequence[Mapping[str, Any]], id: str = "scripted") -> Model:  # noqa: A002
        """A model for one run, which gives these answers in turn, and after them none."""
        left = iter(answers)
        return cls(id=id, answer=lambda _: next(left, ()))


@attrs.frozen(kw_only=True)
class Hooks:
    """The hooks of a run; None where nobody listens."""

    __repr__ = brief

    on_start: Hook | None = None
    prepare_step: Hook | None = None
    on_step_start: Hook | None = None
    on_tool_call_start: Hook | None = None
    on_tool_call_finish: Hook | None = None
    on_chunk: Hook | None = None
    on_step_finish: Hook | None = None
    stop_when: Hook | None = None
    on_finish: Hook | None = None


@attrs.frozen(kw_only=True)
class Settings:
    """One call of an agent loop.

    `messages` is the caller's list, plain JSON; `options` are the call's other settings as the AI SDK names
    them: `providerOptions`, `activeTools`, `toolChoice`, `experimental_context`. `frozen` freezes the
    messages deeply first.
    """

    __repr__ = brief

    messages: Sequence[Any] = attrs.field(validator=is_list("a list of messages"))
    model: Model = attrs.field(validator=is_one(Model, "a Model"))
    tools: Mapping[str, Tool] | None = attrs.field(
        default=None, validator=is_mapping_of(Tool, "a Tool", optional=True)
    )
    system: Any = None
    options: Mapping[str, Any] = attrs.field(factory=dict, validator=is_mapping_of(object, "JSON"))
    hooks: Hooks = attrs.field(factory=Hooks, validator=is_one(Hooks, "Hooks"))
    max_steps: int = 20
    frozen: bool = False


@attrs.frozen
class Loaded:
    """The values of some settings on the heap."""

    messages: Ref
    options: Mapping[str, Value]
    system: Value


def load(settings: Settings, desk: Desk) -> Loaded:
    """Puts the values of settings on the heap.

    Raises:
        HostValueError: for a value that JavaScript has no counterpart of.
    """
    with desk.acting("settings"):
        listed = [desk.slot(each, f"$.messages[{index}]") for index, each in enumerate(settings.messages)]
        options = {
            name: desk.slot(value, json_path("$.options", name)) for name, value in settings.options.items()
        }
        system = UNDEFINED if settings.system is None else desk.slot(settings.system, "$.system")
    return Loaded(desk.store.array(listed), options, system)
