"""Conversations and turns as JSON, lossless and versioned.

A message that turns share is written once, by the turn that brought it in; the others refer to it by its id.
Nothing that follows from the turns is written, so that it cannot contradict them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeVar, cast, get_args

from cattrs import BaseValidationError

from agentcore.conversations.conversation import (
    Conversation,
    EditedMessage,
    GivenBy,
    KeptMessages,
    Piece,
    Turn,
    TurnMessage,
    context_length,
)
from agentcore.errors import AgentCoreError, InvalidConversationError, WireError
from agentcore.messages.messages import Message
from agentcore.messages.values import FrozenDict, JsonObject, JsonValue, freeze, json_path, thaw
from agentcore.messages.wire import (
    Codec,
    is_array,
    kind_of,
    located,
    message_from_wire,
    message_to_wire,
    read_object,
    read_text,
    same,
)
from agentcore.records.history import ROOM, Room
from agentcore.records.outcome_json import is_count

__all__ = [
    "VERSION",
    "conversation_from_json",
    "conversation_to_json",
    "message_fields",
    "read_message_fields",
    "read_turn_fields",
    "turn_fields",
]

VERSION: Final = 1
"""The version that `conversation_to_json` writes and `conversation_from_json` reads."""

_NAMES: Final = frozenset({"version", "turns", "head", "given"})
_T = TypeVar("_T")


# ---------------------------------------------------------------- fields of classes


def _read_count(value: object, _: object = None) -> int:
    if not is_count(value):
        raise WireError("$", f"expected a whole number from 0 on, got {kind_of(value)}")
    return cast("int", value)


def _read_giver(value: object, _: object = None) -> str:
    if value not in get_args(GivenBy):
        raise WireError("$", f"expected one of {', '.join(get_args(GivenBy))}")
    return cast("str", value)


def _read_message(value: object, _: object = None) -> Message:
    return message_from_wire(value)


def _read_list(value: object, _: object = None) -> Iterable[Any]:
    if not is_array(value):
        raise WireError("$", f"expected an array, got {kind_of(value)}")
    return cast("Iterable[Any]", value)


_CODEC: Final = Codec(
    {
        "str": (read_text, same),
        "int": (_read_count, same),
        "GivenBy": (_read_giver, same),
        "Message": (_read_message, message_to_wire),
        "JsonObject": (read_object, same),
        # References are resolved by whoever has the messages.
        "Vector[TurnMessage]": (_read_list, same),
        "tuple[Piece, ...]": (_read_list, same),
    }
)
_write_message: Final = _CODEC.writer(TurnMessage)
_read_message_fields: Final = _CODEC.reader(TurnMessage)
_write_turn: Final = _CODEC.writer(Turn)
_read_turn_fields: Final = _CODEC.reader(Turn)
_write_edited: Final = _CODEC.writer(EditedMessage)
_read_edited: Final = _CODEC.reader(EditedMessage)


def message_fields(one: TurnMessage) -> JsonObject:
    """Return a message with its provenance as JSON, but for the turn that brought it in."""
    fields = dict(_write_message(one))
    del fields["turn"]
    return FrozenDict(fields)


def read_message_fields(value: object, turn_id: str) -> TurnMessage:
    """Return the message that the JSON is, of that turn. Raises InvalidConversationError."""
    return _at("$", lambda: _message_of(value, turn_id))


def _message_of(value: object, turn_id: str) -> TurnMessage:
    if not isinstance(value, Mapping):
        raise WireError("$", f"expected an object or the id of a message, got {kind_of(value)}")
    if "turn" in value:
        raise WireError("$.turn", "unknown key; a message here belongs to its own turn")
    return cast("TurnMessage", _read_message_fields({**value, "turn": turn_id}, TurnMessage))


def turn_fields(turn: Turn, write: Callable[[TurnMessage], JsonValue]) -> JsonObject:
    """Return the turn as JSON, with what `write` makes of each of its messages; empty fields are left out."""
    fields = dict(_write_turn(turn))
    fields["messages"] = tuple(map(write, turn.messages))
    if turn.context is not None:
        fields["context"] = tuple(
            (piece.first, piece.count) if isinstance(piece, KeptMessages) else write(piece)
            for piece in turn.context
        )
    for name, empty in (("runStart", 0), ("metadata", {})):
        if fields[name] == empty:
            del fields[name]
    return cast("JsonObject", freeze(fields))


def read_turn_fields(value: object, read: Callable[[object, str], TurnMessage]) -> Turn:
    """Return the turn that the JSON is, with what `read` makes of each message or id, given the turn's id.

    Raises:
        InvalidConversationError: for anything that `turn_fields` does not write, with its path.
    """
    return _at("$", lambda: _turn_of(value, read))


def _turn_of(value: object, read: Callable[[object, str], TurnMessage]) -> Turn:
    if not isinstance(value, Mapping):
        raise WireError("$", f"expected an object, got {kind_of(value)}")
    if "id" not in value:
        raise WireError("$.id", "this required field is missing")
    turn_id = _at("$.id", lambda: read_text(value["id"]))
    fields = dict(value)
    if is_array(fields.get("messages")):
        fields["messages"] = _each("$.messages", fields["messages"], lambda one: read(one, turn_id))
    if is_array(fields.get("context")):
        fields["context"] = _each("$.context", fields["context"], lambda one: _piece(one, turn_id, read))
    return cast("Turn", _read_turn_fields(fields, Turn))


def _piece(value: object, turn_id: str, read: Callable[[object, str], TurnMessage]) -> Piece:
    if not is_array(value):
        return read(value, turn_id)
    match value:
        case (first, count) if is_count(first) and is_count(count):
            return KeptMessages(cast("int", first), cast("int", count))
        case _:
            raise WireError("$", "expected [first index, count]")


def _each(path: str, values: Any, read: Callable[[Any], _T]) -> list[_T]:
    return [_at(json_path(path, index), partial(read, value)) for index, value in enumerate(values)]


def _at(path: str, read: Callable[[], _T]) -> _T:
    """Return what `read` returns. Raises InvalidConversationError, with the fault's path below `path`."""
    try:
        return read()
    except (BaseValidationError, AgentCoreError, ValueError) as error:
        fault = located(error, path)
        raise InvalidConversationError(fault.path, fault.reason) from None


# ---------------------------------------------------------------- whole conversations


def conversation_to_json(conversation: Conversation) -> dict[str, Any]:
    """Return the `conversation` as plain JSON, with all its branches; `conversation_from_json` reads it."""
    saved = FrozenDict(
        {
            "version": VERSION,
            "turns": tuple(turn_fields(turn, _written_in(turn)) for turn in conversation.turns),
            "head": conversation.head,
            "given": tuple(
                _write_edited(one) if isinstance(one, EditedMessage) else one.id for one in conversation.given
            ),
        }
    )
    return cast("dict[str, Any]", thaw(saved))


def _written_in(turn: Turn) -> Callable[[TurnMessage], JsonValue]:
    return lambda one: message_fields(one) if one.turn == turn.id else one.id


def conversation_from_json(value: object, *, limit: int = ROOM) -> Conversation:
    """Return the conversation that was saved, equal to it (rule conversation.saved).

    Args:
        value: what `conversation_to_json` returned, or its JSON text read again.
        limit: how many messages the contexts of its turns may come to together: a few bytes can name many.

    Raises:
        InvalidConversationError: for anything that `conversation_to_json` did not write, with the path of the
            fault. No content of a message is in the error's text.
    """
    fields = _fields(value)
    reader = _Reader(Room(limit))
    turns = _each("$.turns", _at("$.turns", lambda: _read_list(fields["turns"])), reader.turn)
    given = _each("$.given", _at("$.given", lambda: _read_list(fields["given"])), reader.read_given)
    head = fields["head"]
    return Conversation(
        turns=turns, head=None if head is None else _at("$.head", lambda: read_text(head)), given=given
    )


def _fields(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidConversationError("$", f"expected an object, got {kind_of(value)}")
    version = value.get("version")
    if version != VERSION or isinstance(version, bool):
        reason = f"expected {VERSION}; another version of the package wrote this"
        raise InvalidConversationError("$.version", reason)
    for name in value.keys() ^ _NAMES:
        reason = "this field is missing" if name in _NAMES else "unknown key"
        raise InvalidConversationError(json_path("$", str(name)), reason)
    return value


class _Reader:
    """Reads turns in their order; knows the messages of those before, and how long their contexts are."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._known: dict[str, TurnMessage] = {}
        self._lengths: dict[str | None, int] = {None: 0}

    def turn(self, value: object) -> Turn:
        turn = read_turn_fields(value, self._message)
        if turn.parent not in self._lengths:
            raise InvalidConversationError("$.parent", f"there is no turn {turn.parent!r} before this one")
        length = self._lengths[turn.id] = context_length(self._lengths[turn.parent], turn)
        if turn.context is not None:
            self._room.take(length, "$.context")
        self._known.update((one.id, one) for one in turn.own)
        return turn

    def _message(self, value: object, turn_id: str) -> TurnMessage:
        if not isinstance(value, str):
            return _message_of(value, turn_id)
        if value not in self._known:
            raise InvalidConversationError("$", f"no turn before this one has a message {value!r}")
        return self._known[value]

    def read_given(self, value: object) -> TurnMessage | EditedMessage:
        if isinstance(value, str):
            return self._message(value, "")
        if not isinstance(value, Mapping):
            raise WireError("$", f"expected an object or the id of a message, got {kind_of(value)}")
        return cast("EditedMessage", _read_edited(value, EditedMessage))
