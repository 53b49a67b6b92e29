"""What step hooks are given, and what `prepare_step` may return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, cast

import attrs
from attrs import field
from immutabledict import immutabledict

from agentcore.chains import checked_messages
from agentcore.content import ContentPart, GeneratedText, ToolCall
from agentcore.errors import InvalidJsonError, InvalidOverrideError, InvalidPromptError
from agentcore.messages import Message, SystemMessage
from agentcore.prompt import SystemPrompt, system_messages
from agentcore.usage import Usage
from agentcore.values import JsonObject, JsonValue, Vector, freeze, sealed, strict_key, vector

__all__ = [
    "PrepareStepArguments",
    "StepOverride",
    "StepRecord",
    "merge_provider_options",
    "system_prompt",
    "tool_choice",
]

_CHOICES: Final = ("auto", "none", "required")
_AUTO: Final[JsonObject] = immutabledict({"type": "auto"})


def system_prompt(value: str | SystemMessage | Iterable[SystemMessage] | None) -> SystemPrompt | None:
    """Instructions in one of their forms, a list of system messages as a vector.

    Raises InvalidPromptError for anything else.
    """
    if value is None or isinstance(value, (str, SystemMessage)):
        return value
    if not isinstance(value, Iterable):
        raise InvalidPromptError("instructions are a text, a system message or a list of them", "$.system")
    return system_messages(value)


def tool_choice(value: str | Mapping[str, object] | None) -> JsonObject | None:
    """A tool choice as models are given it: `{"type": "auto" | "none" | "required"}`, or a tool's name.

    A tool is `{"type": "tool", "toolName": name}`. Takes the short form, a text, as well. Raises
    InvalidOverrideError for anything else (claim C58).
    """
    if value is None or value is _AUTO:  # which is what most steps have
        return value
    given = _choice_fields(value)
    kind = given.get("type")
    if kind in _CHOICES and len(given) == 1:
        return _AUTO if kind == "auto" else immutabledict({"type": str(kind)})
    if kind == "tool" and len(given) == 2 and isinstance(given.get("toolName"), str):  # noqa: PLR2004
        return immutabledict({"type": "tool", "toolName": str(given["toolName"])})
    reason = 'use "auto", "none", "required" or {"type": "tool", "toolName": name}'
    raise InvalidOverrideError("$.tool_choice", reason)


def _choice_fields(value: object) -> dict[str, object]:
    if isinstance(value, str):
        return {"type": value}
    return dict(value) if isinstance(value, Mapping) else {}


def _system(value: str | SystemMessage | Iterable[SystemMessage] | None) -> SystemPrompt | None:
    try:
        return system_prompt(value)
    except InvalidPromptError as error:
        raise InvalidOverrideError("$.system", error.reason) from None


def _messages(value: Iterable[Message] | None) -> Vector[Message] | None:
    return _message_list(value, "$.messages")


def _lasting(value: Iterable[Message] | None) -> Vector[Message] | None:
    return _message_list(value, "$.lasting_messages")


def _message_list(value: Iterable[Message] | None, path: str) -> Vector[Message] | None:
    if value is None:
        return None
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InvalidOverrideError(path, f"use a list of messages, not {type(value).__name__}")
    try:
        return checked_messages(value, path)
    except InvalidPromptError as error:
        raise InvalidOverrideError(cast("str", error.path), error.reason) from None


def _names(value: Iterable[str] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidOverrideError("$.active_tools", "use a list of tool names")
    names = tuple(value)
    if not all(isinstance(name, str) for name in names):
        raise InvalidOverrideError("$.active_tools", "use a list of tool names")
    return names


class Frozen(NamedTuple):
    """A JSON value that is known to be frozen: what takes it need not walk it again."""

    value: JsonValue


def context(value: object) -> JsonValue:
    """The `experimental_context`, frozen; a `Frozen` one costs nothing, whatever its size."""
    return value.value if type(value) is Frozen else freeze(value, "$.experimental_context")


def metadata(value: Mapping[str, object] | None) -> JsonObject | None:
    """What a provider said of an answer, frozen."""
    return None if value is None else cast("JsonObject", freeze(value, "$.provider_metadata"))


def warnings(value: Iterable[str]) -> tuple[str, ...]:
    """Warnings as a tuple."""
    return tuple(value)


def _options(value: Mapping[str, object] | None) -> JsonObject | None:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidOverrideError("$.provider_options", "use an object of options by provider")
    return cast("JsonObject | None", _json(value, "$.provider_options"))


def _context(value: object) -> JsonValue:
    return _json(value, "$.experimental_context")


def _json(value: object, path: str) -> JsonValue:
    try:
        return freeze(value, path)
    except InvalidJsonError as error:
        raise InvalidOverrideError(error.path, error.reason) from None


def _format(value: object) -> JsonObject | None:
    if value is not None and not (isinstance(value, Mapping) and value.get("type") in ("json", "text")):
        reason = 'use {"type": "text"} or {"type": "json", "schema": ...}'
        raise InvalidOverrideError("$.response_format", reason)
    return cast("JsonObject | None", _json(value, "$.response_format"))


def _is_name(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidOverrideError(f"$.{attribute.name}", "use the model's id, a text")


@sealed
@attrs.frozen(kw_only=True)
class StepOverride:
    """What one step uses in place of the call's own values; a field that is None is absent (claims C53, C54).

    The seven fields of the package hold for the step. `lasting_messages` hold from this step on: its step
    input, and that of later steps with the responses since (Difference.LASTING_MESSAGES); `messages` beside
    them are what this step's own prompt is made of. `response_format` is what the step's answer is to be:
    `{"type": "text"}`, or `{"type": "json"}` with `schema` and `name`, as an Output has it.

    Raises InvalidOverrideError, with the path of the field, for a wrong kind of value.
    """

    model: str | None = field(default=None, validator=_is_name)
    system: SystemPrompt | None = field(default=None, converter=_system)
    messages: Vector[Message] | None = field(default=None, converter=_messages)
    active_tools: tuple[str, ...] | None = field(default=None, converter=_names)
    tool_choice: JsonObject | None = field(default=None, converter=tool_choice, eq=strict_key)
    provider_options: JsonObject | None = field(default=None, converter=_options, eq=strict_key)
    experimental_context: JsonValue = field(default=None, converter=_context, eq=strict_key, repr=False)
    lasting_messages: Vector[Message] | None = field(default=None, converter=_lasting)
    response_format: JsonObject | None = field(default=None, converter=_format, eq=strict_key)

    @classmethod
    def from_result(cls, value: object) -> StepOverride:
        """What a hook returned, as an override: None, a mapping of some of its fields, or an override.

        Raises InvalidOverrideError for anything else (Difference.OVERRIDES_CHECKED).
        """
        if isinstance(value, StepOverride):
            return value
        if value is None:
            return NO_OVERRIDE
        if not isinstance(value, Mapping):
            raise InvalidOverrideError(
                "$", f"return None, a mapping or a StepOverride, not {type(value).__name__}"
            )
        for name in value:
            if name not in _FIELDS:
                reason = f"no field of an override; the fields are {', '.join(_FIELDS)}"
                raise InvalidOverrideError(f"$.{name}", reason)
        return cls(**value)


_FIELDS: Final = tuple(attribute.name for attribute in attrs.fields(StepOverride))
NO_OVERRIDE: Final = StepOverride()
NO_USAGE: Final = Usage()


def merge_provider_options(base: JsonObject | None, override: JsonObject | None) -> JsonObject | None:
    """Both, key by key at every depth; where they meet and are not both objects, the override's value.

    Keys keep the base's order, new ones follow; what is not touched is shared (rule override.options-merged).
    """
    if base is None or override is None:
        return base if override is None else override
    merged: dict[str, object] = dict(base)
    pending: list[tuple[dict[str, object], JsonObject]] = [(merged, override)]
    while pending:  # a loop, because options may nest deeper than Python's stack
        target, changes = pending.pop()
        for key, value in changes.items():
            below = target.get(key)
            if isinstance(value, immutabledict) and isinstance(below, immutabledict):
                inner = dict(below)
                target[key] = inner
                pending.append((inner, value))
            else:
                target[key] = value
    return cast("JsonObject", freeze(merged))


@sealed
@attrs.frozen(kw_only=True)
class StepRecord:
    """A finished step, as hooks, stop conditions and the caller see it.

    `messages` is the report: the whole response chain so far, sharing structure with the loop's own
    (Difference.REPORT_IS_THE_LOOPS_OWN). `model`, `prompt` and `experimental_context` are those of this step.
    `response_model` and `response_id` are what the provider called the model that answered, and its answer.
    `step_input` is what hooks were shown, `initial_messages` what the run was given, and `response_start` how
    many messages the response chain had before the step; `agentcore.account` reads an account of them.
    """

    step_number: int
    model: str
    prompt: Vector[Message]
    content: Vector[ContentPart]
    messages: Vector[Message]
    finish_reason: str
    override: StepOverride = NO_OVERRIDE
    experimental_context: JsonValue = field(default=None, converter=context, eq=strict_key, repr=False)
    usage: Usage = NO_USAGE
    response_model: str | None = None
    response_id: str | None = None
    provider_metadata: JsonObject | None = field(default=None, converter=metadata, eq=strict_key)
    warnings: tuple[str, ...] = field(default=(), converter=warnings)
    initial_messages: Vector[Message] = field(factory=vector, repr=False)
    step_input: Vector[Message] = field(factory=vector, repr=False)
    response_start: int = 0

    @property
    def new_messages(self) -> Vector[Message]:
        """The messages that this step added to the response chain."""
        return self.messages[self.response_start :]

    @property
    def text(self) -> str:
        """The text that the model wrote in this step."""
        return "".join(part.text for part in self.content if isinstance(part, GeneratedText))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that the model asked for in this step, in order."""
        return tuple(part for part in self.content if isinstance(part, ToolCall))


def total_usage(records: Iterable[StepRecord]) -> Usage:
    """What the steps used together."""
    return sum((record.usage for record in records), NO_USAGE)


@sealed
@attrs.frozen(kw_only=True)
class PrepareStepArguments:
    """What `prepare_step` is called with (claim C43); all of it is values, so nothing can be written.

    `messages` is the step input; the chains that it is made of are there by themselves as well, complete
    whatever lasting edits there were. `invocation_state` is no value: the dict that all of a call share on
    purpose, None in the machine, which knows nothing of it.
    """

    model: str
    steps: Vector[StepRecord]
    step_number: int
    messages: Vector[Message]
    initial_messages: Vector[Message]
    response_messages: Vector[Message]
    experimental_context: JsonValue = field(default=None, converter=context, eq=strict_key, repr=False)
    invocation_state: dict[str, Any] | None = field(default=None, eq=False, repr=False)
