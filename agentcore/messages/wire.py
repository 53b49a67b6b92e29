"""Messages to and from `ModelMessage` JSON, the form of ai@6.0.134.

Field names are camelCase, `type` or `role` comes first, absent fields are left out. Bytes of images and files
are `{"bytes": "<base64>"}`, as in traces: a bare string would come back as a string, which may be a URL.

Reading is strict where the package is not: it keeps unknown keys and calls without `input`, and here both are
refused, so that whatever is read is written again unchanged.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast, get_args

from cattrs import BaseValidationError

from agentcore.errors import InvalidJsonError, WireError
from agentcore.messages.codec import (
    Codec,
    Read,
    Write,
    is_array,
    kind_of,
    located,
    read_flag,
    read_items,
    read_json,
    read_object,
    read_text,
    reads_each,
    reads_tagged,
    same,
)
from agentcore.messages.messages import AssistantPart, Message, Part, ToolOutput, ToolPart, UserPart
from agentcore.messages.values import (
    FrozenDict,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    dump_json,
    json_path,
    vector,
)

__all__ = [
    "message_from_wire",
    "message_to_wire",
    "messages_from_wire",
    "messages_to_json",
    "read_output",
    "write_output",
]

_READERS: Final[dict[type, Read]] = {}


def message_to_wire(message: Message) -> JsonObject:
    """Return the message as JSON; made once per message and kept with it."""
    kept = message._wire  # noqa: SLF001 - the slot is there for this module
    if kept is None:
        kept = _WRITERS[type(message)](message)
        object.__setattr__(message, "_wire", kept)
    return kept


def messages_to_json(messages: Iterable[Message]) -> bytes:
    """Return the messages as the text of a JSON array, in ASCII and without spaces.

    The part of each message is made once and kept with it, so that the text of a history that has grown
    costs little more than joining it: for bodies of requests, and for files.
    """
    pieces = [message._json or _json_of(message) for message in messages]  # noqa: SLF001 - as above
    if not pieces:
        return b"[]"
    pieces[0] = b"[" + pieces[0]
    pieces[-1] += b"]"
    return b",".join(pieces)


def _json_of(message: Message) -> bytes:
    made = dump_json(message_to_wire(message)).encode("ascii")
    object.__setattr__(message, "_json", made)
    return made


def message_from_wire(value: object, path: str = "$") -> Message:
    """Return the message that the JSON is; `path` is that of `value`, for errors.

    Raises:
        WireError: if it is none, with the path of the first fault.
    """
    try:
        return cast("Message", _read_message(value, Message))
    except (BaseValidationError, InvalidJsonError, WireError) as error:
        raise located(error, path) from None


def messages_from_wire(value: object, path: str = "$") -> Vector[Message]:
    """Return the messages that the JSON array is.

    Raises:
        WireError: as `message_from_wire` does.
    """
    if not is_array(value):
        raise WireError(path, f"expected an array of messages, got {kind_of(value)}")
    items = cast("Iterable[object]", value)
    return vector(_message_in(item, path, index) for index, item in enumerate(items))


def _message_in(item: object, path: str, index: int) -> Message:
    try:
        return message_from_wire(item)
    except WireError as error:
        raise located(error, json_path(path, index)) from None


# ---------------------------------------------------------------- data and content


def _read_data(value: object, _: object) -> str | bytes:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or list(value) != ["bytes"] or not isinstance(value["bytes"], str):
        raise WireError("$", f'expected a string or {{"bytes": "<base64>"}}, got {kind_of(value)}')
    try:
        return base64.b64decode(value["bytes"], validate=True)
    except ValueError as error:
        raise WireError("$.bytes", f"not base64: {error}") from None


def _write_data(value: str | bytes) -> JsonValue:
    if isinstance(value, str):
        return value
    return FrozenDict({"bytes": base64.b64encode(value).decode("ascii")})


_OF_A_PROVIDER: Final = "what only a provider knows goes into providerOptions of one of these"


def _reads_parts(union: object, *, or_text: bool) -> Read:
    # difference.parts-closed
    read_parts = reads_each(reads_tagged(get_args(union), "type", _READERS, instead=_OF_A_PROVIDER))
    expected = "a string or an array of parts" if or_text else "an array of parts"

    def read(value: object, _: object) -> object:
        if or_text and isinstance(value, str):
            return value
        if not is_array(value):
            raise WireError("$", f"expected {expected}, got {kind_of(value)}")
        return read_parts(value, None)

    return read


def _write_one(value: Any) -> JsonObject:
    return _WRITERS[type(value)](value)


def _write_content(value: str | Vector[Part]) -> JsonValue:
    return value if isinstance(value, str) else FrozenList(map(_write_one, value))


# ---------------------------------------------------------------- the codec, made from the classes

read_output: Final = reads_tagged(get_args(ToolOutput), "type", _READERS)
"""What the model is shown of a tool's output, from JSON; raises as `located` of `messages.codec` does."""
write_output: Final[Write] = _write_one
"""The JSON of what the model is shown of a tool's output."""

_FIELDS: Final[dict[str, tuple[Read, Write]]] = {
    "str": (read_text, same),
    "str | bytes": (_read_data, _write_data),
    "bool": (read_flag, same),
    "JsonValue": (read_json, same),
    "JsonObject": (read_object, same),
    "tuple[JsonValue, ...]": (read_items, same),
    "ToolOutput": (read_output, write_output),
    "UserContent": (_reads_parts(UserPart, or_text=True), _write_content),
    "AssistantContent": (_reads_parts(AssistantPart, or_text=True), _write_content),
    "Vector[ToolPart]": (_reads_parts(ToolPart, or_text=False), _write_content),
}
_CODEC: Final = Codec(_FIELDS)


def _tag(cls: type) -> str:
    return "role" if hasattr(cls, "role") else "type"


_CLASSES: Final = (*get_args(Message), *get_args(Part), *get_args(ToolOutput))
_READERS.update((cls, _CODEC.reader(cls)) for cls in _CLASSES)
_WRITERS: Final = {cls: _CODEC.writer(cls, _tag(cls), getattr(cls, _tag(cls))) for cls in _CLASSES}
_read_message: Final = reads_tagged(get_args(Message), "role", _READERS)
