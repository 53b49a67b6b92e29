"""Messages to and from `ModelMessage` JSON, the form of ai@6.0.134.

Field names are camelCase, `type` or `role` comes first, absent fields are left out. Bytes of images and files
are `{"bytes": "<base64>"}`, as in traces: a bare string would come back as a string, which may be a URL.

Reading is strict where the package is not: it keeps unknown keys and calls without `input`, and here both are
refused, so that whatever is read is written again unchanged.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast, get_args

from cattrs import (
    BaseValidationError,
    Converter,
    ForbiddenExtraKeysError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from immutabledict import immutabledict

from agentcore.errors import InvalidJsonError, WireError
from agentcore.messages import AssistantPart, Message, Part, ToolOutput, ToolPart, UserPart
from agentcore.values import JsonObject, JsonValue, Vector, freeze, json_path, vector

__all__ = ["message_from_wire", "message_to_wire", "messages_from_wire"]

_Write: TypeAlias = Callable[[Any], JsonValue]
_Read: TypeAlias = Callable[[Any, Any], Any]

_CONVERTER: Final = Converter()


def message_to_wire(message: Message) -> JsonObject:
    """Return the message as JSON; made once per message and kept with it."""
    kept = message._wire  # noqa: SLF001 - the slot is there for this module
    if kept is None:
        kept = _WRITERS[type(message)](message)
        object.__setattr__(message, "_wire", kept)
    return kept


def message_from_wire(value: object, path: str = "$") -> Message:
    """Return the message that the JSON is; `path` is that of `value`, for errors.

    Raises:
        WireError: if it is none, with the path of the first fault.
    """
    try:
        return cast("Message", _read_message(value, Message))
    except (BaseValidationError, InvalidJsonError, WireError) as error:
        raise _located(error, path) from None


def messages_from_wire(value: object, path: str = "$") -> Vector[Message]:
    """Return the messages that the JSON array is.

    Raises:
        WireError: as `message_from_wire` does.
    """
    if not _is_array(value):
        raise WireError(path, f"expected an array of messages, got {_kind(value)}")
    items = cast("Iterable[object]", value)
    return vector(message_from_wire(item, json_path(path, index)) for index, item in enumerate(items))


# ---------------------------------------------------------------- reading


def _is_array(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Mapping):
        return "an object"
    return "an array" if _is_array(value) else f"a {type(value).__name__}"


def _read_text(value: object, _: object) -> str:
    if not isinstance(value, str):
        raise WireError("$", f"expected a string, got {_kind(value)}")
    return value


def _read_flag(value: object, _: object) -> bool:
    if not isinstance(value, bool):
        raise WireError("$", f"expected true or false, got {_kind(value)}")
    return value


def _read_data(value: object, _: object) -> str | bytes:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or list(value) != ["bytes"] or not isinstance(value["bytes"], str):
        raise WireError("$", f'expected a string or {{"bytes": "<base64>"}}, got {_kind(value)}')
    try:
        return base64.b64decode(value["bytes"], validate=True)
    except ValueError as error:
        raise WireError("$.bytes", f"not base64: {error}") from None


def _read_json(value: object, _: object) -> JsonValue:
    return freeze(value)


def _read_object(value: object, _: object) -> JsonObject:
    if not isinstance(value, Mapping):
        raise WireError("$", f"expected an object, got {_kind(value)}")
    return cast("JsonObject", freeze(value))


def _read_items(value: object, _: object) -> tuple[JsonValue, ...]:
    if not _is_array(value):
        raise WireError("$", f"expected an array, got {_kind(value)}")
    return cast("tuple[JsonValue, ...]", freeze(value))


def _reads_one_of(union: object, tag: str) -> _Read:
    classes = {getattr(cls, tag): cls for cls in get_args(union)}
    known = ", ".join(classes)

    def read(value: object, _: object) -> object:
        if not isinstance(value, Mapping):
            raise WireError("$", f"expected an object, got {_kind(value)}")
        name = value.get(tag)
        if not isinstance(name, str) or name not in classes:
            raise WireError(f"$.{tag}", f"expected one of {known} here, got {_shown(value, tag)}")
        cls = classes[name]
        return _READERS[cls]({key: field for key, field in value.items() if key != tag}, cls)

    return read


def _shown(value: Mapping[str, object], tag: str) -> str:
    name = value.get(tag)
    return repr(name) if isinstance(name, str) else _kind(name) if tag in value else "nothing"


def _reads_parts(union: object, *, or_text: bool) -> _Read:
    _CONVERTER.register_structure_hook(union, _reads_one_of(union, "type"))
    parts = list[union]  # type: ignore[valid-type] # the union is a value here, which cattrs takes as a type
    expected = "a string or an array of parts" if or_text else "an array of parts"

    def read(value: object, _: object) -> object:
        if or_text and isinstance(value, str):
            return value
        if not _is_array(value):
            raise WireError("$", f"expected {expected}, got {_kind(value)}")
        return _CONVERTER.structure(value, parts)

    return read


def _located(error: Exception, path: str) -> WireError:
    """Make one error of cattrs' tree of exceptions: its first leaf, with the path that leads there."""
    while isinstance(error, BaseValidationError):
        error = error.exceptions[0]
        path = json_path(path, *_steps(error))
    if isinstance(error, ForbiddenExtraKeysError):
        key = min(error.extra_fields, key=str)
        return WireError(json_path(path, key), "unknown key; take it out, or put it into providerOptions")
    if isinstance(error, KeyError):
        return WireError(path, "this field is missing, and may not be")
    fault = cast("WireError | InvalidJsonError", error)
    return WireError(path + fault.path.removeprefix("$"), fault.reason)


def _steps(error: Exception) -> Iterable[str | int]:
    for note in getattr(error, "__notes__", ()):
        yield note.index if isinstance(note, IterableValidationNote) else _camel(note.name)


# ---------------------------------------------------------------- writing


def _same(value: Any) -> JsonValue:
    return cast("JsonValue", value)


def _write_data(value: str | bytes) -> JsonValue:
    if isinstance(value, str):
        return value
    return immutabledict({"bytes": base64.b64encode(value).decode("ascii")})


def _write_one(value: Any) -> JsonObject:
    return _WRITERS[type(value)](value)


def _write_content(value: str | Vector[Part]) -> JsonValue:
    return value if isinstance(value, str) else tuple(map(_write_one, value))


# ---------------------------------------------------------------- the codec, made from the classes

# How a field is read and written goes by its annotation: a new field of a known kind needs nothing here.
# Optional fields are read as their kind: absent is their only other value, null is not.
_FIELDS: Final[dict[str, tuple[_Read, _Write]]] = {
    "str": (_read_text, _same),
    "str | bytes": (_read_data, _write_data),
    "bool": (_read_flag, _same),
    "JsonValue": (_read_json, _same),
    "JsonObject": (_read_object, _same),
    "tuple[JsonValue, ...]": (_read_items, _same),
    "ToolOutput": (_reads_one_of(ToolOutput, "type"), _write_one),
    "UserContent": (_reads_parts(UserPart, or_text=True), _write_content),
    "AssistantContent": (_reads_parts(AssistantPart, or_text=True), _write_content),
    "Vector[ToolPart]": (_reads_parts(ToolPart, or_text=False), _write_content),
}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _overrides(cls: type) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name, annotation in cls.__annotations__.items():
        if annotation.startswith("ClassVar") or name.startswith("_"):
            continue
        read, write = _FIELDS[annotation.removesuffix(" | None")]
        rows[name] = override(rename=_camel(name), struct_hook=read, unstruct_hook=write)
    return rows


def _reader(cls: type) -> _Read:
    return make_dict_structure_fn(cls, _CONVERTER, _cattrs_forbid_extra_keys=True, **_overrides(cls))


def _writer(cls: Any) -> Callable[[Any], JsonObject]:
    fields = make_dict_unstructure_fn(cls, _CONVERTER, _cattrs_omit_if_default=True, **_overrides(cls))
    tag = "role" if hasattr(cls, "role") else "type"
    name = getattr(cls, tag)
    return lambda value: immutabledict({tag: name, **fields(value)})


_CLASSES: Final = (*get_args(Message), *get_args(Part), *get_args(ToolOutput))
_READERS: Final = {cls: _reader(cls) for cls in _CLASSES}
_WRITERS: Final = {cls: _writer(cls) for cls in _CLASSES}
_read_message: Final = _reads_one_of(Message, "role")
