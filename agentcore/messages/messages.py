"""Messages and their parts, as values: the AI SDK's `ModelMessage` in Python form.

Equality and hash are by value, JSON compared as JSON is (`True` is not `1`, key order does not count). All
JSON is frozen when it is given, lists of parts become vectors, and nothing can be written afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar, cast, get_args

import attrs
from attrs import field

from agentcore.errors import InvalidMessageError
from agentcore.messages.brief import brief_json
from agentcore.messages.converters import input_json, part_options, value_json
from agentcore.messages.values import (
    FrozenDict,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    freeze,
    sealed,
    strict_key,
    vector,
)

__all__ = [
    "AssistantContent",
    "AssistantMessage",
    "AssistantPart",
    "ContentOutput",
    "ErrorJsonOutput",
    "ErrorTextOutput",
    "ExecutionDeniedOutput",
    "FilePart",
    "ImagePart",
    "JsonOutput",
    "Message",
    "Part",
    "ReasoningPart",
    "SystemMessage",
    "TextOutput",
    "TextPart",
    "ToolApprovalRequestPart",
    "ToolApprovalResponsePart",
    "ToolCallPart",
    "ToolMessage",
    "ToolOutput",
    "ToolPart",
    "ToolResultPart",
    "UserContent",
    "UserMessage",
    "UserPart",
]

_P = TypeVar("_P")


# Converters are named functions and not made by a factory, because mypy takes the constructor's types from
# them; for the same reason classes say `@sealed @attrs.frozen` and not `@frozen`.


def _text(value: str) -> str:
    return value if type(value) is str else _plain(value)


def _optional_text(value: str | None) -> str | None:
    return value if value is None or type(value) is str else _plain(value)


def _data(value: str | bytes) -> str | bytes:
    return value if type(value) is str or type(value) is bytes else _plain(value)


def _plain(value: object) -> str:
    # Of a subclass (an enum of tool names) only the text is kept; anything else is left to the validator.
    return str.__str__(value) if isinstance(value, str) else cast("str", value)


def _items(value: Iterable[object]) -> tuple[JsonValue, ...]:
    return cast("tuple[JsonValue, ...]", freeze(value, "$.value"))


def _parts(value: Iterable[_P] | Any) -> Vector[_P]:
    fast = type(value) is Vector or type(value) is list
    return vector(value) if fast or isinstance(value, Iterable) else cast("Vector[_P]", value)


def _user_content(value: str | Iterable[UserPart]) -> UserContent:
    return _plain(value) if isinstance(value, str) else _parts(value)


def _assistant_content(value: str | Iterable[AssistantPart]) -> AssistantContent:
    return _plain(value) if isinstance(value, str) else _parts(value)


def _tool_content(value: Iterable[ToolPart]) -> Vector[ToolPart]:
    return _parts(value)


_Check: TypeAlias = Callable[[object, "attrs.Attribute[Any]", Any], None]


def _names(kinds: tuple[type | None, ...]) -> str:
    return " or ".join("None" if kind is None else _SAID.get(kind, kind.__name__) for kind in kinds)


# As a person writes them, before they are frozen.
_SAID: Final[dict[type, str]] = {FrozenList: "list", FrozenDict: "dict"}


def _is(*kinds: type | None) -> _Check:
    exact = frozenset(type(None) if kind is None else kind for kind in kinds)

    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if type(value) not in exact:
            reason = f"expected {_names(kinds)}, got {type(value).__name__}"
            raise InvalidMessageError(f"$.{attribute.name}", reason)

    return check


def _holds(*kinds: type, or_text: bool = False) -> _Check:
    exact = frozenset(kinds)
    expected = f"{'a string or ' if or_text else ''}a list of {_names(kinds)}"

    def check(_: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if or_text and type(value) is str:
            return
        if type(value) is not Vector:
            raise InvalidMessageError(
                f"$.{attribute.name}", f"expected {expected}, got {type(value).__name__}"
            )
        for index, part in enumerate(value):
            if type(part) not in exact:
                where = f"$.{attribute.name}[{index}]"
                raise InvalidMessageError(where, f"expected {expected}, with a {type(part).__name__} in it")

    return check


_is_text = _is(str)
_is_options = _is(FrozenDict, None)


# ---------------------------------------------------------------- parts


@sealed
@attrs.frozen
class TextPart:
    """Text, of a user or of the model."""

    type: ClassVar[Literal["text"]] = "text"
    text: str = field(converter=_text, validator=_is_text)
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )


@sealed
@attrs.frozen
class ReasoningPart:
    """The model's reasoning before its answer."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str = field(converter=_text, validator=_is_text)
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )


@sealed
@attrs.frozen
class ImagePart:
    """An image: its URL or base64 text as `str`, or its bytes."""

    type: ClassVar[Literal["image"]] = "image"
    image: str | bytes = field(converter=_data, validator=_is(str, bytes))
    media_type: str | None = field(default=None, converter=_optional_text, validator=_is(str, None))
    provider_options: JsonObject | None = field(
        default=None,
        kw_only=True,
        converter=part_options,
        validator=_is_options,
        eq=strict_key,
        repr=brief_json,
    )


@sealed
@attrs.frozen
class FilePart:
    """A file: its URL or base64 text as `str`, or its bytes."""

    type: ClassVar[Literal["file"]] = "file"
    data: str | bytes = field(converter=_data, validator=_is(str, bytes))
    media_type: str = field(converter=_text, validator=_is_text)
    filename: str | None = field(
        default=None, kw_only=True, converter=_optional_text, validator=_is(str, None)
    )
    provider_options: JsonObject | None = field(
        default=None,
        kw_only=True,
        converter=part_options,
        validator=_is_options,
        eq=strict_key,
        repr=brief_json,
    )


@sealed
@attrs.frozen
class ToolCallPart:
    """A tool call the model asked for; `input` is any JSON."""

    type: ClassVar[Literal["tool-call"]] = "tool-call"
    tool_call_id: str = field(converter=_text, validator=_is_text)
    tool_name: str = field(converter=_text, validator=_is_text)
    input: JsonValue = field(kw_only=True, converter=input_json, eq=strict_key, repr=brief_json)
    provider_executed: bool | None = field(default=None, kw_only=True, validator=_is(bool, None))
    provider_options: JsonObject | None = field(
        default=None,
        kw_only=True,
        converter=part_options,
        validator=_is_options,
        eq=strict_key,
        repr=brief_json,
    )


# ---------------------------------------------------------------- what a tool gave


@sealed
@attrs.frozen
class TextOutput:
    """The output of a tool, as text."""

    type: ClassVar[Literal["text"]] = "text"
    value: str = field(converter=_text, validator=_is_text)
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )


@sealed
@attrs.frozen
class JsonOutput:
    """The output of a tool, as any JSON."""

    type: ClassVar[Literal["json"]] = "json"
    value: JsonValue = field(converter=value_json, eq=strict_key, repr=brief_json)
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )


@sealed
@attrs.frozen
class ContentOutput:
    """A list of content items (text, media, files), each a JSON object that only providers look into."""

    type: ClassVar[Literal["content"]] = "content"
    value: tuple[JsonValue, ...] = field(
        converter=_items, validator=_is(FrozenList), eq=strict_key, repr=brief_json
    )
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )


@sealed
@attrs.frozen
class ErrorTextOutput:
    """The error of a tool that failed, as text."""

    type: ClassVar[Literal["error-text"]] = "error-text"
    value: str = field(converter=_text, validator=_is_text)
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )


@sealed
@attrs.frozen
class ErrorJsonOutput:
    """The error of a tool that failed, as JSON."""

    type: ClassVar[Literal["error-json"]] = "error-json"
    value: JsonValue = field(converter=value_json, eq=strict_key, repr=brief_json)
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )


@sealed
@attrs.frozen
class ExecutionDeniedOutput:
    """The output of a call that was not run, because the user did not approve it."""

    type: ClassVar[Literal["execution-denied"]] = "execution-denied"
    reason: str | None = field(default=None, converter=_optional_text, validator=_is(str, None))
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )


ToolOutput: TypeAlias = (
    TextOutput | JsonOutput | ContentOutput | ErrorTextOutput | ErrorJsonOutput | ExecutionDeniedOutput
)
"""The output of a tool, as the model gets it."""
OUTPUT_TYPES: Final = get_args(ToolOutput)


@sealed
@attrs.frozen
class ToolResultPart:
    """The answer to the tool call with the same id."""

    type: ClassVar[Literal["tool-result"]] = "tool-result"
    tool_call_id: str = field(converter=_text, validator=_is_text)
    tool_name: str = field(converter=_text, validator=_is_text)
    output: ToolOutput = field(kw_only=True, validator=_is(*OUTPUT_TYPES))
    provider_options: JsonObject | None = field(
        default=None,
        kw_only=True,
        converter=part_options,
        validator=_is_options,
        eq=strict_key,
        repr=brief_json,
    )


@sealed
@attrs.frozen
class ToolApprovalRequestPart:
    """The loop asks the user whether a tool call may run."""

    type: ClassVar[Literal["tool-approval-request"]] = "tool-approval-request"
    approval_id: str = field(converter=_text, validator=_is_text)
    tool_call_id: str = field(converter=_text, validator=_is_text)


@sealed
@attrs.frozen
class ToolApprovalResponsePart:
    """The user's answer to an approval request."""

    type: ClassVar[Literal["tool-approval-response"]] = "tool-approval-response"
    approval_id: str = field(converter=_text, validator=_is_text)
    approved: bool = field(validator=_is(bool))
    reason: str | None = field(default=None, kw_only=True, converter=_optional_text, validator=_is(str, None))
    provider_executed: bool | None = field(default=None, kw_only=True, validator=_is(bool, None))


UserPart: TypeAlias = TextPart | ImagePart | FilePart
AssistantPart: TypeAlias = (
    TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart | ToolApprovalRequestPart
)
ToolPart: TypeAlias = ToolResultPart | ToolApprovalResponsePart
Part: TypeAlias = UserPart | AssistantPart | ToolPart
USER_PARTS: Final = get_args(UserPart)
ASSISTANT_PARTS: Final = get_args(AssistantPart)
TOOL_PARTS: Final = get_args(ToolPart)

UserContent: TypeAlias = str | Vector[UserPart]
AssistantContent: TypeAlias = str | Vector[AssistantPart]


# ---------------------------------------------------------------- messages


@sealed
@attrs.frozen
class SystemMessage:
    """Instructions to the model."""

    role: ClassVar[Literal["system"]] = "system"
    content: str = field(converter=_text, validator=_is_text)
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )
    # What agentcore.messages.wire and agentcore.messages.prompt make of the other fields, kept from its first
    # use on.
    _wire: JsonObject | None = field(init=False, default=None, eq=False, repr=False)
    _json: bytes | None = field(init=False, default=None, eq=False, repr=False)
    _prompt: object = field(init=False, default=None, eq=False, repr=False)


@sealed
@attrs.frozen
class UserMessage:
    """Words of the user: text, or text, image and file parts."""

    role: ClassVar[Literal["user"]] = "user"
    content: UserContent = field(converter=_user_content, validator=_holds(*USER_PARTS, or_text=True))
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )
    # What agentcore.messages.wire and agentcore.messages.prompt make of the other fields, kept from its first
    # use on.
    _wire: JsonObject | None = field(init=False, default=None, eq=False, repr=False)
    _json: bytes | None = field(init=False, default=None, eq=False, repr=False)
    _prompt: object = field(init=False, default=None, eq=False, repr=False)


@sealed
@attrs.frozen
class AssistantMessage:
    """An answer of the model: text, or parts."""

    role: ClassVar[Literal["assistant"]] = "assistant"
    content: AssistantContent = field(
        converter=_assistant_content, validator=_holds(*ASSISTANT_PARTS, or_text=True)
    )
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )
    # What agentcore.messages.wire and agentcore.messages.prompt make of the other fields, kept from its first
    # use on.
    _wire: JsonObject | None = field(init=False, default=None, eq=False, repr=False)
    _json: bytes | None = field(init=False, default=None, eq=False, repr=False)
    _prompt: object = field(init=False, default=None, eq=False, repr=False)


@sealed
@attrs.frozen
class ToolMessage:
    """Results of tools, and the user's answers to requests for approval."""

    role: ClassVar[Literal["tool"]] = "tool"
    content: Vector[ToolPart] = field(converter=_tool_content, validator=_holds(*TOOL_PARTS))
    provider_options: JsonObject | None = field(
        default=None, converter=part_options, validator=_is_options, eq=strict_key, repr=brief_json
    )
    # What agentcore.messages.wire and agentcore.messages.prompt make of the other fields, kept from its first
    # use on.
    _wire: JsonObject | None = field(init=False, default=None, eq=False, repr=False)
    _json: bytes | None = field(init=False, default=None, eq=False, repr=False)
    _prompt: object = field(init=False, default=None, eq=False, repr=False)


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage
"""A message of any role."""
