"""Settings of a Strands agent and its invocations under a profile: plain Python, one form for all.

Messages and blocks have the SDKs' data form in every profile; contexts, results and events have fields by
the names that they have in TypeScript, but for `system`, the system prompt of a context. Handlers, hooks,
tools and the model get views and may return plain values, views, or both mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from agentcore.frameworks.strands.emulation.turns import Item
from agentcore.heap.loading import is_list, is_mapping_of, is_one
from agentcore.heap.views import ObjectView
from agentcore.messages.brief import brief

Stage: TypeAlias = Literal["model", "tool", "stream"]
Phase: TypeAlias = Literal["input", "wrap", "output"]
Next: TypeAlias = Callable[[Any], Generator[Item, None, ObjectView]]
"""Runs what a wrap handler wraps on a context: `result = yield from next(context)`."""


@attrs.frozen(kw_only=True)
class Middleware:
    """A handler of a stage.

    Phase `wrap`: a generator function `call(context, next)` that yields what `next` yields and returns a
    result. Phase `input`: `call(context)` gives the context to go on with, None for the same. Phase `output`:
    `call(result)` likewise. A context or result that is passed on may be a plain dict.
    """

    __repr__ = brief

    stage: Stage
    phase: Phase = "wrap"
    call: Callable[..., Any]
    name: str | None = None


@attrs.frozen
class Hook:
    """A callback for an event, such as `beforeModel` or `afterTool`; it may set `retry` or `cancel`."""

    __repr__ = brief

    on: str
    call: Callable[[ObjectView], Any]


@attrs.frozen(kw_only=True)
class Said:
    """What a model says in one call; `error` is raised after it."""

    __repr__ = brief

    blocks: Sequence[Mapping[str, Any]] = ()
    stop_reason: str | None = None
    error: Exception | None = None


@attrs.frozen(kw_only=True)
class Model:
    """A model: `answer(request)` gives blocks (text, toolUse, reasoning), or a `Said`.

    The request has `messages`, `system`, `toolSpecs`, `toolChoice` and `modelState`, all live.
    """

    __repr__ = brief

    answer: Callable[[ObjectView], Said | Sequence[Mapping[str, Any]]]

    @classmethod
    def scripted(cls, *answers: Said | Sequence[Mapping[str, Any]]) -> Model:
        """A model that gives these answers in turn, and after them says `(end)`."""
        left = iter(answers)
        return cls(answer=lambda _: next(left, [{"text": "(end)"}]))


@attrs.frozen(kw_only=True)
class Tool:
    """A tool: `run(tool_use, invocation_state)` gives a text, `{status?, content}`, or any other JSON.

    `takes` is how long it waits before it returns or throws, in moments: of tools that run at once, those of
    fewer moments end first, and those of equally many in their order.
    """

    __repr__ = brief

    run: Callable[[ObjectView, ObjectView], Any]
    description: str | None = None
    input_schema: Mapping[str, Any] = attrs.field(factory=lambda: {"type": "object", "properties": {}})
    takes: int = 0


class InvalidOutputError(Exception):
    """A model's structured output is not what was asked for.

    The text is the model's result if it called the tool. `details` is for the error that is raised if it
    answered in text.
    """

    def __init__(self, text: str, details: str | None = None) -> None:
        super().__init__(text)
        self.details = text if details is None else details


@attrs.frozen(kw_only=True)
class StructuredOutput:
    """An agent's structured output: `validate(input)` returns it as JSON, or raises InvalidOutputError."""

    __repr__ = brief

    input_schema: Mapping[str, Any]
    validate: Callable[[Any], Any]
    description: str = ""
    name: str = "strands_structured_output"


@attrs.frozen(kw_only=True)
class Settings:
    """An agent, and what it is invoked with, one input after the other.

    `messages_as_data` and `inputs_as_data` mean that they are plain data rather than objects of the SDK's
    classes, which makes a difference in TypeScript only. An input is a text, a list of messages or a list of
    blocks. Without an `invocation_state` the agent makes one for each invocation.
    """

    __repr__ = brief

    model: Model = attrs.field(validator=is_one(Model, "a Model"))
    inputs: Sequence[Any] = attrs.field(validator=is_list("a list of inputs"))
    messages: Sequence[Any] = attrs.field(default=(), validator=is_list("a list of messages"))
    system: Any = None
    tools: Mapping[str, Tool] = attrs.field(factory=dict, validator=is_mapping_of(Tool, "a Tool"))
    middleware: Sequence[Middleware] = attrs.field(default=(), validator=is_list("a list of handlers"))
    hooks: Sequence[Hook] = attrs.field(default=(), validator=is_list("a list of hooks"))
    invocation_state: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None
    model_state: Mapping[str, Any] = attrs.field(factory=dict)
    concurrent: bool = False
    structured_output: StructuredOutput | None = None
    messages_as_data: bool = False
    inputs_as_data: bool = False
