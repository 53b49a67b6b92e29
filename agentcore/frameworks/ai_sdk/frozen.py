"""Passes values of the immutable core to programs: frozen JSON to hooks, plain JSON to traces.

The names are those of the program format. Forms of one value are made once per run and shared, so they are to
be read, not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar, cast

from agentcore.errors import ImmutableWriteError
from agentcore.frameworks.ai_sdk.ops import Ops, Turn
from agentcore.kit.ops import Op, Record
from agentcore.machine.effects import NeedModel, RunResult, StepStartEvent, ToolSpec
from agentcore.machine.hooks import StepRecord
from agentcore.machine.prepare import StepPreparation
from agentcore.messages.content import (
    ContentPart,
    GeneratedFile,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolApprovalRequest,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.prompt import SystemPrompt
from agentcore.messages.readonly import read_only, refused_write
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenDict,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    json_path,
    thaw,
)
from agentcore.messages.wire import message_to_wire

__all__ = [
    "Frames",
    "FrozenObjects",
    "FrozenOps",
    "Shown",
    "StepFrame",
    "ToolFrame",
    "model_frame",
    "part_frame",
]

_T = TypeVar("_T")
_SCHEMA: Final[JsonObject] = FrozenDict({"type": "object"})
_TOKENS: Final[JsonObject] = FrozenDict(
    {
        "inputTokens": 1,
        "inputTokenDetails": FrozenDict(),
        "outputTokens": 1,
        "outputTokenDetails": FrozenDict(),
        "totalTokens": 2,
    }
)


# ---------------------------------------------------------------- ops on frozen values


class FrozenObjects:
    """Lists and dicts that ops make: the program may write to them, but not to the frozen values inside."""

    def new(self, value: Any) -> Any:
        """The value as it is: whoever makes a list owns it, and nothing else has it."""
        return value

    def clone(self, live: Any) -> Any:
        """The value with copies of the lists and dicts that are the program's own; frozen ones are shared."""
        if type(live) is list:
            return [self.clone(item) for item in live]
        if type(live) is dict:
            return {key: self.clone(item) for key, item in live.items()}
        return live

    def model(self, model_id: str) -> Any:
        """A model that answers from the same script."""
        return model_frame(model_id)

    def freeze(self, live: Any) -> None:
        """Does nothing: what the core hands out is frozen already, and what a program made is its own."""


class FrozenOps(Ops):
    """Ops on what the core hands out: a write goes to the value, which refuses it as it refuses a hook's."""

    def __init__(self, record: Record) -> None:
        super().__init__(FrozenObjects(), record)

    def turn(self, argument: Any, where: str) -> Turn:
        """The ops of one call of a hook."""
        return _FrozenTurn(self, argument, where)


class _FrozenTurn(Turn):
    def do(self, op: Op) -> None:
        try:
            super().do(op)
        except ImmutableWriteError as error:
            path = next(op[verb] for verb in ("set", "append", "clear", "delete") if verb in op)
            raise ImmutableWriteError(
                _shown_path(*path), error.reason, hook=error.hook, step_number=error.step_number
            ) from None


def _shown_path(first: str, *keys: str | int) -> str:
    return json_path(first, *keys) if first.startswith("$") else json_path("$", first, *keys)


# ---------------------------------------------------------------- frozen forms


def model_frame(model_id: str) -> JsonObject:
    """A model as hooks see and return it."""
    return FrozenDict({"specificationVersion": "v3", "provider": "scripted", "modelId": model_id})


def _named_model(model_id: str) -> JsonObject:
    return FrozenDict({"provider": "scripted", "modelId": model_id})


def _without_nothing(fields: Mapping[str, JsonValue]) -> JsonObject:
    return FrozenDict({key: value for key, value in fields.items() if value is not None})


def part_frame(part: ContentPart) -> JsonObject:
    """A part of a step's content as JSON (Difference.ERRORS_ARE_TEXT)."""
    fields = _WRITERS[type(part)](part)
    options = getattr(part, "provider_metadata", None)
    metadata = {} if options is None else {"providerMetadata": options}
    return FrozenDict({"type": part.type, **fields, **metadata})


def _call_fields(part: ToolCall | ToolResult | ToolError) -> dict[str, JsonValue]:
    marks = {"providerExecuted": part.provider_executed, "dynamic": part.dynamic}
    named = {"toolCallId": part.tool_call_id, "toolName": part.tool_name, "input": part.input}
    return named | {key: value for key, value in marks.items() if value is not None}


def _call(part: ToolCall) -> dict[str, JsonValue]:
    rest = {"invalid": part.invalid, "error": part.error, "title": part.title}
    return _call_fields(part) | {key: value for key, value in rest.items() if value is not None}


_WRITERS: Final[dict[type, Callable[[Any], Mapping[str, JsonValue]]]] = {
    GeneratedText: lambda part: {"text": part.text},
    GeneratedReasoning: lambda part: {"text": part.text},
    GeneratedFile: lambda part: {
        "file": FrozenDict({"base64Data": part.data, "mediaType": part.media_type}),
    },
    Source: lambda part: part.fields,
    ToolCall: _call,
    ToolResult: lambda part: {**_call_fields(part), "output": part.output},
    ToolError: lambda part: {**_call_fields(part), "error": part.error},
    ToolApprovalRequest: lambda part: {
        "approvalId": part.approval_id,
        "toolCall": part_frame(part.tool_call),
    },
}


def _of_type(kind: str, *, dynamic: bool | None = None) -> Callable[[tuple[JsonObject, ...]], JsonValue]:
    def found(content: tuple[JsonObject, ...]) -> JsonValue:
        parts = (part for part in content if part["type"] == kind)
        return FrozenList(part for part in parts if dynamic is None or bool(part.get("dynamic")) == dynamic)

    return found


def _joined(kind: str) -> Callable[[tuple[JsonObject, ...]], JsonValue]:
    return lambda content: "".join(str(part["text"]) for part in content if part["type"] == kind)


_COMPUTED: Final[dict[str, Callable[[tuple[JsonObject, ...]], JsonValue]]] = {
    "text": _joined("text"),
    "reasoning": _of_type("reasoning"),
    "reasoningText": _joined("reasoning"),
    "files": lambda content: FrozenList(part["file"] for part in content if part["type"] == "file"),
    "sources": _of_type("source"),
    "toolCalls": _of_type("tool-call"),
    "staticToolCalls": _of_type("tool-call", dynamic=False),
    "dynamicToolCalls": _of_type("tool-call", dynamic=True),
    "toolResults": _of_type("tool-result"),
    "staticToolResults": _of_type("tool-result", dynamic=False),
    "dynamicToolResults": _of_type("tool-result", dynamic=True),
}


class ToolFrame(dict[str, Any]):
    """The objects of a tool's ops: its input and output are its own, all others belong to its context."""

    def __setitem__(self, key: str, value: Any) -> None:
        self._check_own(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._check_own(key)
        super().__delitem__(key)

    def _check_own(self, key: str) -> None:
        if key not in _OWN:
            raise refused_write(self, key, "ToolContext values do not change; return what should be used")


_OWN: Final = frozenset({"input", "output"})


@read_only("dict")
class StepFrame(Mapping[str, JsonValue]):
    """A step's result; its computed fields can be read, and are no part of its copies, as in the package."""

    _fields: Mapping[str, JsonValue]
    _content: tuple[JsonObject, ...]

    def __init__(self, fields: Mapping[str, JsonValue]) -> None:
        # What `read_only` makes of a class refuses every other way.
        object.__setattr__(self, "_fields", fields)
        object.__setattr__(self, "_content", fields["content"])

    def __getitem__(self, key: str) -> JsonValue:
        if key in self._fields:
            return self._fields[key]
        if key not in self:
            raise KeyError(key)
        return _COMPUTED[key](self._content)

    def __contains__(self, key: object) -> bool:
        if key == "reasoningText":
            return any(part["type"] == "reasoning" for part in self._content)
        return key in self._fields or key in _COMPUTED

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def everything(self) -> dict[str, JsonValue]:
        """Its fields, the computed ones among them."""
        return {key: self[key] for key in (*self._fields, *_COMPUTED) if key in self}


class Frames:
    """The arguments of a run's hooks, made when a hook has something to do."""

    def __init__(self, tools: Mapping[str, Any] | None, *, has_context: bool) -> None:
        self._tools = tools
        self._has_context = has_context
        self._steps: dict[int, StepFrame] = {}
        # A message hands out one JSON value as long as it lives, so identity is enough to know it again.
        self._messages: dict[int, Message] = {}

    def messages(self, messages: Iterable[Message]) -> tuple[JsonObject, ...]:
        """Messages, known again by `message_of`."""
        wires = []
        for message in messages:
            wire = message_to_wire(message)
            self._messages[id(wire)] = message
            wires.append(wire)
        return FrozenList(wires)

    def message_of(self, value: object) -> Message | None:
        """The message that hooks were shown as this very value."""
        return self._messages.get(id(value))

    def prepare_step(self, arguments: StepPreparation) -> Mapping[str, Any]:
        """The argument of `prepareStep`."""
        fields = {
            "model": model_frame(arguments.model),
            "steps": self.steps(arguments.steps),
            "stepNumber": arguments.step_number,
            "messages": self.messages(arguments.messages),
        }
        return FrozenDict(fields | self._context(arguments.experimental_context))

    def step_start(self, event: StepStartEvent) -> Mapping[str, Any]:
        """The event of `onStepStart`."""
        fields = {
            "stepNumber": event.step_number,
            "model": _named_model(event.model),
            "system": self._system(event.system),
            "messages": self.messages(event.messages),
            "tools": None if self._tools is None else self._own_tools(self._tools),
            "toolChoice": event.tool_choice,
            "activeTools": event.active_tools,
            "steps": self.steps(event.steps),
            "providerOptions": event.provider_options,
        }
        return FrozenDict(_without_nothing(fields) | self._context(event.experimental_context))

    def model(self, wanted: NeedModel) -> Mapping[str, Any]:
        """The options of the model's call."""
        fields = {
            "prompt": self.messages(wanted.prompt),
            "tools": FrozenList(map(_tool, wanted.tools)) if wanted.tools else None,
            "toolChoice": wanted.tool_choice,
            "providerOptions": wanted.provider_options,
        }
        return _without_nothing(fields)

    def execute(self, own: Mapping[str, Any], messages: Iterable[Message], context: JsonValue) -> ToolFrame:
        """The argument of a tool; `own` is its input and, if there is one, its output."""
        return ToolFrame({**own, "messages": self.messages(messages), **self._context(context)})

    def stop_when(self, records: Iterable[StepRecord]) -> Mapping[str, Any]:
        """The argument of `stopWhen`."""
        return FrozenDict({"steps": self.steps(records)})

    def finish(self, result: RunResult) -> Mapping[str, Any]:
        """The event of `onFinish`."""
        last = self.step(result.steps[-1]).everything()
        return FrozenDict({**last, "steps": self.steps(result.steps)})

    def steps(self, records: Iterable[StepRecord]) -> Any:
        """The finished steps."""
        return FrozenList(map(self.step, records))

    def step(self, record: StepRecord) -> StepFrame:
        """A finished step; made once."""
        known = self._steps.get(record.step_number)
        if known is None:
            known = self._steps[record.step_number] = self._step(record)
        return known

    def _step(self, record: StepRecord) -> StepFrame:
        response: dict[str, JsonValue] = {
            "modelId": record.model,
            "messages": self.messages(record.messages),
        }
        fields: dict[str, JsonValue] = {
            "stepNumber": record.step_number,
            "model": _named_model(record.model),
            "content": FrozenList(map(part_frame, record.content)),
            "finishReason": record.finish_reason,
            "usage": _TOKENS,
            "warnings": NO_ITEMS,
            "request": FrozenDict(),
            "response": FrozenDict(response),
        }
        return StepFrame(fields | self._context(record.experimental_context))

    def _context(self, context: JsonValue) -> dict[str, JsonValue]:
        # A context of null was given, and is there; one that was not given is not.
        return {"experimental_context": context} if self._has_context or context is not None else {}

    def _system(self, system: SystemPrompt | None) -> JsonValue:
        if system is None or isinstance(system, str):
            return system
        return message_to_wire(system) if isinstance(system, SystemMessage) else self.messages(system)

    def _own_tools(self, tools: Mapping[str, Any]) -> JsonObject:
        rows: dict[str, dict[str, JsonValue]] = {
            name: {"inputSchema": _SCHEMA, "needsApproval": tool.get("needsApproval")}
            for name, tool in tools.items()
        }
        return FrozenDict({name: _without_nothing(row) for name, row in rows.items()})


def _tool(tool: ToolSpec) -> JsonObject:
    return FrozenDict({"type": "function", "name": tool.name, "inputSchema": _SCHEMA})


# ---------------------------------------------------------------- plain forms


class Shown:
    """Plain JSON of messages and parts for a trace, each made once, and each list of them too.

    Ids that the run made up are left out, as of any implementation that draws them: `drawn` holds them.
    """

    def __init__(self) -> None:
        self.drawn: set[str] = set()
        # By identity, and with the value, whose identity is then its own for as long as this lives.
        self._known: dict[int, tuple[object, Any]] = {}

    def messages(self, messages: Vector[Message]) -> list[Any]:
        """Messages."""
        return self._list(messages, message_to_wire)

    def content(self, parts: Vector[ContentPart]) -> list[Any]:
        """The parts of a step's content."""
        return self._list(parts, part_frame)

    def json(self, value: JsonValue) -> Any:
        """Any frozen JSON."""
        try:
            plain = _plain(value)
        except RecursionError:
            plain = thaw(value)
        return _without_drawn(plain, self.drawn) if self.drawn else plain

    def _list(self, values: Vector[_T], to_json: Callable[[_T], JsonObject]) -> list[Any]:
        known = self._known
        found = known.get(id(values))
        if found is not None:
            return cast("list[Any]", found[1])
        shown = []
        for value in values:
            one = known.get(id(value))
            if one is None:
                one = known[id(value)] = (value, self.json(to_json(value)))
            shown.append(one[1])
        known[id(values)] = (values, shown)
        return shown


def _plain(value: Any) -> Any:
    # Recursion is twice as fast as the walk that `thaw` makes, and traces are made of little else.
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if type(value) is FrozenDict:
        return {key: item if type(item) is str else _plain(item) for key, item in value.items()}
    return value


def _without_drawn(plain: Any, drawn: set[str]) -> Any:
    pending = [plain]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            if value.get("approvalId") in drawn:
                del value["approvalId"]
            pending += value.values()
    return plain
