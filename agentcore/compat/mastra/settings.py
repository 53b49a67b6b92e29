"""What an agent of Mastra's and one call of it are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentcore.brief import brief

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

    `options` are the call's providerOptions, modelSettings, toolChoice and activeTools. `call_processors` is
    None where the call says nothing of processors.
    """

    __repr__ = brief

    model: Model
    messages: Sequence[Any]
    fallback_models: Sequence[Model] = ()
    instructions: Any = None
    tools: Mapping[str, Tool] | None = None
    processors: Sequence[Processor] = ()
    default_prepare_step: Hook | None = None
    max_retries: int | None = None

    options: Mapping[str, Any] = attrs.Factory(dict)
    context: Sequence[Any] = ()
    system: Any = None
    call_processors: Sequence[Processor] | None = None
    prepare_step: Hook | None = None
    max_steps: int = 10
    streams: bool = False
