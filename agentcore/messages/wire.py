"""Messages to and from `ModelMessage` JSON, the form of ai@6.0.134.

Field names are camelCase, `type` or `role` comes first, absent fields are left out. Bytes of images and files
are `{"bytes": "<base64>"}`, as in traces: a bare string would come back as a string, which may be a URL.

Reading is strict where the package is not: it keeps unknown keys and calls without `input`, and here both are
refused, so that whatever is read is written again unchanged.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast, get_args

import attrs

from agentcore.errors import AgentCoreError, InvalidJsonError, WireError
from agentcore.messages.messages import AssistantPart, Message, Part, ToolOutput, ToolPart, UserPart
from agentcore.messages.values import (
    FrozenDict,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    dump_json,
    freeze,
    json_path,
    vector,
)

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = [
    "Codec",
    "Made",
    "Read",
    "Write",
    "faults",
    "is_array",
    "kind_of",
    "located",
    "message_from_wire",
    "message_to_wire",
    "messages_from_wire",
    "messages_to_json",
    "read_flag",
    "read_items",
    "read_json",
    "read_object",
    "read_output",
    "read_text",
    "reads_each",
    "reads_one_of",
    "reads_tagged",
    "same",
    "write_output",
]

# Values to and from JSON, by the annotations of their classes; what `wire` and `saved` are made of.
#
# Field names are camelCase, fields whose value is None are left out, and unknown keys are refused. Optional
# fields are read as their kind: absent is their only other value, null is not.

#
# cattrs is imported, and a reader or a writer made, with the first value of a class: whoever imports messages
# waits for neither.

Write: TypeAlias = Callable[[Any], JsonValue]
Read: TypeAlias = Callable[[Any, Any], Any]


# ---------------------------------------------------------------- kinds of values


def is_array(value: object) -> bool:
    """Return whether the value is an array of JSON, frozen or not."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def kind_of(value: object) -> str:
    """Return the JSON type of the value, for errors, which never show the value itself."""
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
    return "an array" if is_array(value) else f"a {type(value).__name__}"


def read_text(value: object, _: object = None) -> str:
    """A string."""
    if not isinstance(value, str):
        raise WireError("$", f"expected a string, got {kind_of(value)}")
    return value


def read_flag(value: object, _: object = None) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise WireError("$", f"expected true or false, got {kind_of(value)}")
    return value


def read_json(value: object, _: object = None) -> JsonValue:
    """Any JSON."""
    return freeze(value)


def read_object(value: object, _: object = None) -> JsonObject:
    """An object."""
    if not isinstance(value, Mapping):
        raise WireError("$", f"expected an object, got {kind_of(value)}")
    return cast("JsonObject", freeze(value))


def read_items(value: object, _: object = None) -> tuple[JsonValue, ...]:
    """An array."""
    if not is_array(value):
        raise WireError("$", f"expected an array, got {kind_of(value)}")
    return cast("tuple[JsonValue, ...]", freeze(value))


def same(value: Any) -> JsonValue:
    """The value, which is frozen JSON already."""
    return cast("JsonValue", value)


# ---------------------------------------------------------------- one of several classes


def reads_one_of(
    classes: Mapping[str, type], tag: str, readers: Mapping[type, Read], *, instead: str = ""
) -> Read:
    """A reader of objects whose `tag` names their class; `readers` may be filled in later.

    `instead` is what an error says to do about a name that no class has.
    """
    known = ", ".join(classes)

    def read(value: object, _: object = None) -> object:
        if not isinstance(value, Mapping):
            raise WireError("$", f"expected an object, got {kind_of(value)}")
        name = value.get(tag)
        if not isinstance(name, str) or name not in classes:
            told = f"; {instead}" if instead and isinstance(name, str) else ""
            raise WireError(f"$.{tag}", f"expected one of {known} here, got {_tag_text(value, tag)}{told}")
        cls = classes[name]
        return readers[cls]({key: field for key, field in value.items() if key != tag}, cls)

    return read


def reads_tagged(
    classes: Iterable[type], tag: str, readers: Mapping[type, Read], *, instead: str = ""
) -> Read:
    """The same, of classes that say their own name in the class variable `tag`."""
    return reads_one_of({getattr(cls, tag): cls for cls in classes}, tag, readers, instead=instead)


def _tag_text(value: Mapping[str, object], tag: str) -> str:
    name = value.get(tag)
    return repr(name) if isinstance(name, str) else kind_of(name) if tag in value else "nothing"


def reads_each(read: Read) -> Read:
    """A reader of arrays whose items `read` reads; an error has the path of its item."""

    def read_all(value: object, _: object = None) -> tuple[Any, ...]:
        if not is_array(value):
            raise WireError("$", f"expected an array, got {kind_of(value)}")
        items = cast("Sequence[object]", value)
        return FrozenList(_item(read, item, index) for index, item in enumerate(items))

    return read_all


def _item(read: Read, item: object, index: int) -> Any:
    try:
        return read(item, None)
    except faults(AgentCoreError) as error:
        raise located(error, f"$[{index}]") from None


# ---------------------------------------------------------------- errors


def faults(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """The classes of what readers raise, to be caught: that of cattrs, and the others."""
    from cattrs import BaseValidationError  # noqa: PLC0415

    return BaseValidationError, *others


def located(error: Exception, path: str) -> WireError:
    """Make one error of cattrs' tree of exceptions: its first leaf, with the path that leads there."""
    from cattrs import BaseValidationError, ForbiddenExtraKeysError  # noqa: PLC0415

    while isinstance(error, BaseValidationError):
        error = error.exceptions[0]
        path = json_path(path, *_steps(error))
    if isinstance(error, ForbiddenExtraKeysError):
        key = min(error.extra_fields, key=str)
        return WireError(json_path(path, key), "unknown key; take it out, or put it into providerOptions")
    if isinstance(error, KeyError):
        return WireError(path, "this required field is missing")
    inner = getattr(error, "path", None) or "$"
    return WireError(path + inner.removeprefix("$"), getattr(error, "reason", str(error)))


def _steps(error: Exception) -> Iterable[str]:
    for note in getattr(error, "__notes__", ()):
        yield _camel(note.name)


# ---------------------------------------------------------------- made from the classes


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


class Codec:
    """Makes readers and writers of attrs classes; a new field of a known kind needs nothing here.

    `fields` says how a field is read and written, by its annotation.
    """

    def __init__(self, fields: Mapping[str, tuple[Read, Write]]) -> None:
        self.fields = fields

    @cached_property
    def converter(self) -> Converter:
        """The converter of cattrs that all readers and writers share."""
        from cattrs import Converter  # noqa: PLC0415

        return Converter()

    def reader(self, cls: type) -> Read:
        """A reader of objects that are the class's fields."""
        from cattrs.gen import make_dict_structure_fn  # noqa: PLC0415

        rows = self._rows(cls)
        return make_dict_structure_fn(cls, self.converter, _cattrs_forbid_extra_keys=True, **rows)

    def writer(self, cls: Any, tag: str | None = None, name: str = "") -> Callable[[Any], JsonObject]:
        """A writer of its fields, after the tag with its name if there is one."""
        from cattrs.gen import make_dict_unstructure_fn  # noqa: PLC0415

        fields = make_dict_unstructure_fn(cls, self.converter, **self._rows(cls))
        if tag is None:
            return lambda value: FrozenDict(fields(value))
        return lambda value: FrozenDict({tag: name, **fields(value)})

    def _rows(self, cls: Any) -> dict[str, Any]:
        from cattrs.gen import override  # noqa: PLC0415

        rows: dict[str, Any] = {}
        for one in attrs.fields(cls):
            if not one.init:
                continue
            read, write = self.fields[cls.__annotations__[one.name].removesuffix(" | None")]
            # Other defaults are written, so that what was written keeps its meaning if they change.
            rows[one.name] = override(
                rename=_camel(one.name),
                struct_hook=read,
                unstruct_hook=write,
                omit_if_default=one.default is None,
            )
        return rows


_Made = TypeVar("_Made")


class Made(dict[type, _Made]):
    """Readers or writers by class, each made when it is used first."""

    def __init__(self, make: Callable[[Any], _Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, cls: type) -> _Made:
        made = self[cls] = self._make(cls)
        return made


def _reader(cls: type) -> Read:
    return _CODEC.reader(cls)


def _writer(cls: Any) -> Callable[[Any], JsonObject]:
    tag = "role" if hasattr(cls, "role") else "type"
    return _CODEC.writer(cls, tag, getattr(cls, tag))


_READERS: Final = Made(_reader)
_WRITERS: Final = Made(_writer)


def message_to_wire(message: Message) -> JsonObject:
    """Return the `message` as JSON; made once per message and kept with it."""
    kept = message._wire  # noqa: SLF001 - the slot is there for this module
    if kept is None:
        kept = _WRITERS[type(message)](message)
        object.__setattr__(message, "_wire", kept)
    return kept


def messages_to_json(messages: Iterable[Message]) -> bytes:
    """Return the messages as the text of a JSON array, in ASCII and without spaces.

    The part of each message is made once and kept with it, so that the text of a history that has grown
    costs little more than joining it: for bodies of requests, and for files.

    Args:
        messages: the messages, in their order.

    Returns:
        The text.
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
        WireError: if it is not a message, with the path of the first fault.
    """
    try:
        return cast("Message", _read_message(value, Message))
    except faults(InvalidJsonError, WireError) as error:
        raise located(error, path) from None


def messages_from_wire(value: object, path: str = "$") -> Vector[Message]:
    """Return the messages of a JSON array.

    Args:
        value: the array, as `json.loads` gives it.
        path: its place in the whole document, for errors.

    Returns:
        The messages.

    Raises:
        WireError: if it is not an array of messages, with the path of the first fault.
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
_CODEC: Final[Codec] = Codec(_FIELDS)
_read_message: Final = reads_tagged(get_args(Message), "role", _READERS)
