"""What an agent of Mastra's and one call of it are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentcore.heap.heap import Ref, Slot
from agentcore.heap.loading import is_list, is_mapping_of, is_one
from agentcore.heap.views import Desk
from agentcore.messages.brief import brief
from agentcore.messages.values import json_path

Hook: TypeAlias = Callable[[Any], Any]
"""Called with the arguments of a processor (`Arguments`)."""


@attrs.frozen
class Model:
    """A scripted model: `answer` is given the call's options and returns parts, or raises.

    Parts are {type: text or reasoning, text} and {type: tool-call, toolCallId, toolName, input}. `version` is
    the version of the AI SDK's model interface.
    """

    __repr__ = brief

    id: str
    answer: Callable[[Any], Sequence[Mapping[str, Any]]]
    version: str = "v2"


@attrs.frozen
class Router:
    """A model that the package finds by its name, such as openai/gpt-4o-mini; here none has a key."""

    __repr__ = brief

    name: str


@attrs.frozen(kw_only=True)
class Tool:
    """A tool with a schema: `execute` is given its input; returning UNDEFINED leaves the call unanswered."""

    __repr__ = brief

    execute: Callable[[Any], Any]
    description: str = ""


@attrs.frozen(kw_only=True)
class Processor:
    """A processor: `process_input` is called once per call, `process_input_step` before each model call."""

    __repr__ = brief

    id: str
    process_input: Hook | None = None
    process_input_step: Hook | None = None


@attrs.frozen(kw_only=True)
class Settings:
    """An agent (`model` to `default_prepare_step`) and a call of it.

    `options` are the call's providerOptions, modelSettings, toolChoice and activeTools. `request_context` are
    the values that the call's request context begins with, None where the call is given none.
    `call_processors` is None where the call says nothing of processors.
    """

    __repr__ = brief

    model: Model = attrs.field(validator=is_one(Model, "a Model"))
    messages: Sequence[Any] = attrs.field(validator=is_list("a list of messages"))
    fallback_models: Sequence[Model] = ()
    instructions: Any = None
    tools: Mapping[str, Tool] | None = attrs.field(
        default=None, validator=is_mapping_of(Tool, "a Tool", optional=True)
    )
    processors: Sequence[Processor] = attrs.field(default=(), validator=is_list("a list of processors"))
    default_prepare_step: Hook | None = None
    max_retries: int | None = None

    options: Mapping[str, Any] = attrs.field(factory=dict, validator=is_mapping_of(object, "JSON"))
    request_context: Mapping[str, Any] | None = attrs.field(
        default=None, validator=is_mapping_of(object, "JSON", optional=True)
    )
    context: Sequence[Any] = attrs.field(default=(), validator=is_list("a list of messages"))
    system: Any = None
    call_processors: Sequence[Processor] | None = None
    prepare_step: Hook | None = None
    max_steps: int = 10
    streams: bool = False


@attrs.frozen
class Loaded:
    """The values of some settings on the heap.

    `caller` has the caller's messages, context and options, and the request context if the caller made it.
    """

    caller: Ref
    request_context: Ref
    instructions: Slot
    system: Slot


def load(settings: Settings, desk: Desk) -> Loaded:
    """Puts the values of settings on the heap.

    Raises:
        HostValueError: for a value that JavaScript has no counterpart of.
    """
    own = {**settings.options, "messages": settings.messages, "context": settings.context}
    with desk.acting("settings"):
        caller = {name: desk.slot(value, json_path("$", name)) for name, value in own.items()}
        shared = desk.slot({} if settings.request_context is None else settings.request_context)
        if settings.request_context is not None:
            caller["requestContext"] = shared
        instructions = desk.slot(settings.instructions, "$.instructions")
        system = desk.slot(settings.system, "$.system")
        return Loaded(desk.store.object(caller), shared, instructions, system)  # type: ignore[arg-type]  # a mapping is an object
