"""A conversation: a tree of turns and a head, as a value.

A turn is what one call added: the messages that its caller gave, then those that its run produced. Turns are
never changed. An edit of a past message, or the same turn made again, is another turn beside the old one. The
turns from the root to the head are the path; their messages are the full record.

What the next turn begins with is the context: the full record, unless a hook returned `lasting_messages`,
such as a summary. Then the turn keeps besides its messages how the context after it is made of the context
before it, so that a compaction is a view beside the record, and a turn costs what it adds.

Messages have no field for an id, so a conversation keeps the id of each beside it. Which message is which
goes by these ids, never by position or by value.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias, get_args, overload

import attrs
from attrs import field

from agentcore.errors import InvalidConversationError, InvalidJsonError, NotInConversationError
from agentcore.messages.messages import Message
from agentcore.messages.readonly import read_only
from agentcore.messages.values import (
    NO_ENTRIES,
    FrozenDict,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    freeze,
    frozen_list_or_none,
    grown,
    json_path,
    sealed,
    strict_key,
    vector,
    with_fields,
)

__all__ = [
    "Conversation",
    "EditedMessage",
    "GivenBy",
    "KeptMessages",
    "Piece",
    "Turn",
    "TurnMessage",
    "check_messages",
    "context_length",
    "new_id",
]

_ROOT: Final = None


def new_id() -> str:
    """Make an id that no other turn has, whoever makes it: 32 hexadecimal digits, drawn at random."""
    return uuid.uuid4().hex


# ---------------------------------------------------------------- messages and turns

GivenBy: TypeAlias = Literal["caller", "run", "hook"]
"""The giver of a message: the caller of the agent, the run (its model and tools), or a hook, for good."""


def _is(*kinds: type) -> Callable[[object, attrs.Attribute[Any], Any], None]:
    expected = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)

    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if type(value) not in kinds:
            reason = f"expected {expected}, got {type(value).__name__}"
            raise InvalidConversationError(f"$.{attribute.name}", reason)

    return check


def _is_known(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value not in get_args(GivenBy):
        reason = f"expected one of {', '.join(get_args(GivenBy))}, got {value!r}"
        raise InvalidConversationError(f"$.{attribute.name}", reason)


def _each_is(*kinds: type) -> Callable[[object, attrs.Attribute[Any], Any], None]:
    check = _is(*kinds)

    def check_each(of: object, attribute: attrs.Attribute[Any], values: Any) -> None:
        for index, value in enumerate(values or ()):
            try:
                check(of, attribute, value)
            except InvalidConversationError as error:
                raise InvalidConversationError(f"{error.path}[{index}]", error.reason) from None

    return check_each


_is_id: Final = _is(str)
_is_id_or_none: Final = _is(str, type(None))


@sealed
@attrs.frozen(kw_only=True)
class TurnMessage:
    """A message of a conversation, with its origin.

    `turn` is the id of the turn that brought it in, `step` the step of that turn's run, and `hook` the hook
    that returned it; each may be None: a caller's message has no step, and an answer to an approval comes
    between two steps. `replaces` is the id of the message that this one is an edit of.
    """

    id: str = field(validator=_is_id)
    turn: str = field(validator=_is_id)
    message: Message = field(validator=_is(*get_args(Message)))
    given_by: GivenBy = field(default="caller", validator=_is_known)
    step: int | None = field(default=None, validator=_is(int, type(None)))
    hook: str | None = field(default=None, validator=_is_id_or_none)
    replaces: str | None = field(default=None, validator=_is_id_or_none)


@sealed
@attrs.frozen
class KeptMessages:
    """So many messages that follow each other, from index `first` on, of a context and a turn's messages."""

    first: int = field(validator=_is(int))
    count: int = field(validator=_is(int))


@sealed
@attrs.frozen
class EditedMessage:
    """A message that the next turn begins with in the place of another; `replaces` is the id of that one."""

    message: Message = field(validator=_is(*get_args(Message)))
    replaces: str = field(validator=_is_id)


Piece: TypeAlias = KeptMessages | TurnMessage
"""A part of a context: messages that were there, or one that a hook brought in."""


def _messages(value: Iterable[TurnMessage]) -> Vector[TurnMessage]:
    return vector(value)


def _pieces(value: Iterable[Piece] | None) -> tuple[Piece, ...] | None:
    return frozen_list_or_none(value)


def _metadata(value: Mapping[str, object]) -> JsonObject:
    try:
        frozen: JsonValue = freeze(value, "$.metadata")
    except InvalidJsonError as error:
        raise InvalidConversationError(error.path, error.reason) from None
    if not isinstance(frozen, FrozenDict):
        raise InvalidConversationError("$.metadata", f"expected an object, got {type(value).__name__}")
    return frozen


@sealed
@attrs.frozen(kw_only=True)
class Turn:
    """The messages that one call of an agent added to a conversation.

    Args:
        id: the turn's own id.
        parent: the id of the turn that it follows; None for a first turn.
        messages: those of the caller, then those of the run. Some may be of a turn on another branch, whose
            id is then their `turn`.
        context: how the context after the turn is made from the context before it followed by `messages`;
            None keeps all of them.
        run_start: how many responses of the run earlier turns have, if a run that waited went on.
        metadata: the caller's own JSON, such as who wrote and when.
    """

    id: str = field(factory=new_id, validator=_is_id)
    parent: str | None = field(default=_ROOT, validator=_is_id_or_none)
    messages: Vector[TurnMessage] = field(converter=_messages, validator=_each_is(TurnMessage))
    context: tuple[Piece, ...] | None = field(
        default=None, converter=_pieces, validator=_each_is(KeptMessages, TurnMessage)
    )
    run_start: int = field(default=0, validator=_is(int))
    metadata: JsonObject = field(default=NO_ENTRIES, converter=_metadata, eq=strict_key)

    @property
    def given(self) -> Vector[TurnMessage]:
        """The messages that the turn began with: those before the run's own."""
        return vector(one for one in self.messages if not self._is_response(one))

    @property
    def responses(self) -> Vector[TurnMessage]:
        """The messages that the turn's own run produced."""
        return vector(filter(self._is_response, self.messages))

    def _is_response(self, one: TurnMessage) -> bool:
        return one.given_by == "run" and one.turn == self.id

    @property
    def injected(self) -> tuple[TurnMessage, ...]:
        """The messages that hooks brought into the context; the record is without them."""
        return FrozenList(piece for piece in self.context or () if isinstance(piece, TurnMessage))

    @property
    def all_messages(self) -> tuple[TurnMessage, ...]:
        """The messages of the record, then those that hooks brought into the context."""
        return FrozenList((*self.messages, *self.injected))

    @property
    def own(self) -> Iterator[TurnMessage]:
        """Those of all its messages that this turn brought in, not another branch."""
        return (one for one in self.all_messages if one.turn == self.id)


def context_length(before: int, turn: Turn) -> int:
    """Return how many messages the context has after a turn, of so many before it.

    Raises:
        InvalidConversationError: if a piece of the context is not among those messages and the turn's.
    """
    base = before + len(turn.messages)
    if turn.context is None:
        return base
    length = 0
    for index, piece in enumerate(turn.context):
        if isinstance(piece, TurnMessage):
            length += 1
            continue
        if piece.first < 0 or piece.count < 1 or piece.first + piece.count > base:
            reason = f"expected messages of the {base} there are, got {piece.count} from {piece.first} on"
            raise InvalidConversationError(json_path("$.context", index), reason)
        length += piece.count
    return length


def _context_after(before: Sequence[TurnMessage], turn: Turn) -> list[TurnMessage]:
    """The context after a turn that has pieces of it, in the time that these take together."""
    base = [*before, *turn.messages]
    made: list[TurnMessage] = []
    for piece in turn.context or ():
        if isinstance(piece, TurnMessage):
            made.append(piece)
        else:
            made += base[piece.first : piece.first + piece.count]
    return made


# ---------------------------------------------------------------- which turn and which message is where


class _Index:
    """An index: the place of each turn by its id, and the turn that brought in each message.

    One index is written on from conversation to conversation: how many turns a conversation has says what of
    it holds there. A branch that adds another turn at a place that is taken goes on with a copy.
    """

    __slots__ = ("messages", "turns")

    def __init__(self) -> None:
        self.turns: dict[str, int] = {}
        self.messages: dict[str, str] = {}

    def number(self, turns: Vector[Turn], turn_id: str | None) -> int | None:
        number = None if turn_id is None else self.turns.get(turn_id)
        if number is None or number >= len(turns) or turns[number].id != turn_id:
            return None
        return number

    def turn_of(self, turns: Vector[Turn], message_id: str) -> Turn | None:
        """The turn that brought the message in."""
        number = self.number(turns, self.messages.get(message_id))
        return None if number is None else turns[number]

    def with_turn(self, turns: Vector[Turn], turn: Turn) -> _Index:
        index = self
        if len(self.turns) != len(turns):
            index = _Index()
            for number, one in enumerate(turns):
                index.add(one, number)
        index.add(turn, len(turns))
        return index

    def add(self, turn: Turn, number: int) -> None:
        self.turns[turn.id] = number
        self.messages.update((one.id, turn.id) for one in turn.own)


_Given: TypeAlias = TurnMessage | EditedMessage


def _turns(value: Iterable[Turn]) -> Vector[Turn]:
    return vector(value)


def _vector_of(value: Iterable[_Given]) -> Vector[_Given]:
    return vector(value)


# ---------------------------------------------------------------- conversations


@read_only("list")
@sealed
@attrs.frozen(kw_only=True)
class Conversation(Sequence[Message]):
    """A conversation with all its branches; as a sequence, the messages that the next turn begins with.

    `agent.generate(prompt, conversation=...)` makes the next turn; the result's `conversation` has it.

    Args:
        turns: the turns of all branches, in the order in which they were added.
        head: the id of the turn that the next one follows; None if the next begins a branch at the root.
        given: messages that the next turn begins with, before those of its caller (`before`, `edit`).

    Raises:
        InvalidConversationError: for turns that do not make a conversation, with the path of the fault.
    """

    turns: Vector[Turn] = field(factory=vector, converter=_turns, validator=_each_is(Turn))
    head: str | None = field(default=None, validator=_is_id_or_none)
    given: Vector[TurnMessage | EditedMessage] = field(
        factory=vector, converter=_vector_of, validator=_each_is(TurnMessage, EditedMessage)
    )
    path: Vector[Turn] = field(init=False, eq=False, repr=False)
    """The turns from the root to the head."""
    context: Vector[TurnMessage] = field(init=False, eq=False, repr=False)
    """The context: the messages that the next turn begins with, each with its origin."""
    context_messages: Vector[Message] = field(init=False, eq=False, repr=False)
    _index: _Index = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Check the turns and make what follows from them."""
        object.__setattr__(self, "_index", _Index())
        lengths: dict[str | None, int] = {_ROOT: 0}
        for number, turn in enumerate(self.turns):
            try:
                _check(turn, self.turns, self._index)
                lengths[turn.id] = context_length(lengths[turn.parent], turn)
            except InvalidConversationError as error:
                raise error.below(json_path("$.turns", number)) from None
            self._index.add(turn, number)
        if self.head not in lengths:
            raise InvalidConversationError("$.head", f"there is no turn {self.head!r}")
        for name, value in self._fields_at(self.head).items():
            object.__setattr__(self, name, value)
        for number, one in enumerate(self.given):
            self._check_given(one, json_path("$.given", number))

    def _check_given(self, one: TurnMessage | EditedMessage, path: str) -> None:
        message_id = one.id if isinstance(one, TurnMessage) else one.replaces
        found = _message_in(self.turns, self._index, message_id)
        if found is None or (isinstance(one, TurnMessage) and one != found):
            raise InvalidConversationError(path, f"the conversation has no such message {message_id!r}")

    def _fields_at(self, turn_id: str | None) -> dict[str, Any]:
        """Return the fields that follow from the turns up to this one."""
        path: list[Turn] = []
        at = turn_id
        while at is not None:
            path.append(self.turn_of(at))
            at = path[-1].parent
        path.reverse()
        context: list[TurnMessage] = []
        for turn in path:
            if turn.context is None:
                context += turn.messages
            else:
                context = _context_after(context, turn)
        begins = vector(one.message for one in context)
        return {"path": vector(path), "context": vector(context), "context_messages": begins}

    # ------------------------------------------------------------ the messages

    @property
    def messages(self) -> Vector[Message]:
        """The messages that the next turn begins with: those of the context, then those of `given`."""
        return (
            grown(self.context_messages, (one.message for one in self.given))
            if self.given
            else self.context_messages
        )

    @property
    def record(self) -> Vector[TurnMessage]:
        """All messages up to the head, unedited (rule conversation.record-whole)."""
        return vector(one for turn in self.path for one in turn.messages)

    def __len__(self) -> int:
        return len(self.context_messages) + len(self.given)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Vector[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Vector[Message]:
        return self.messages[index]

    # ------------------------------------------------------------ turns

    @property
    def turn(self) -> Turn | None:
        """The turn at the head; None if the next turn is the first of its branch."""
        return self.path[-1] if self.path else None

    def find_turn(self, turn_id: str) -> Turn | None:
        """Return the turn with the id `turn_id`, on any branch; None if there is none."""
        number = self._index.number(self.turns, turn_id)
        return None if number is None else self.turns[number]

    def turn_of(self, turn_id: str) -> Turn:
        """Return the turn with the id `turn_id`, on any branch.

        Raises:
            NotInConversationError: if there is no such turn.
        """
        found = self.find_turn(turn_id)
        if found is None:
            raise NotInConversationError("turn", turn_id)
        return found

    def message_of(self, message_id: str) -> TurnMessage:
        """Return the message with the id `message_id`, on any branch.

        Raises:
            NotInConversationError: if there is no such message.
        """
        found = _message_in(self.turns, self._index, message_id)
        if found is None:
            raise NotInConversationError("message", message_id)
        return found

    def branches(self, turn_id: str | None = _ROOT) -> Vector[Turn]:
        """Return the turns that follow the turn `turn_id`, in the order in which they were added.

        The first turns follow None. Goes through all turns.
        """
        return vector(turn for turn in self.turns if turn.parent == turn_id)

    def with_turn(self, turn: Turn) -> Conversation:
        """Return the conversation with one more turn, which is its head then; costs what the turn adds.

        A turn that it has already is not added again: then only the head moves. A turn that does not follow
        the head costs its path.

        Args:
            turn: the turn, such as `result.conversation.turn`.

        Returns:
            The conversation with that turn at its head.

        Raises:
            InvalidConversationError: for a turn that follows none of these, has messages of a turn that is
                not there, or an id that another turn or message has; with the path of the fault in the turn.
        """
        found = self.find_turn(turn.id)
        if found is not None:
            if found != turn:
                raise _doubled(turn)
            return self.at(turn.id)
        _check(turn, self.turns, self._index)
        start = self if turn.parent == self.head else self.at(turn.parent)
        context_length(len(start.context), turn)
        if turn.context is None:
            context = grown(start.context, turn.messages)
            before = start.context_messages
            begins = grown(before, (one.message for one in turn.messages))
        else:
            context = vector(_context_after(start.context, turn))
            begins = vector(one.message for one in context)
        return with_fields(
            start,
            turns=grown(self.turns, (turn,)),
            head=turn.id,
            given=vector(),
            path=grown(start.path, (turn,)),
            context=context,
            context_messages=begins,
            _index=self._index.with_turn(self.turns, turn),
        )

    # ------------------------------------------------------------ branches

    def at(self, turn_id: str | None) -> Conversation:
        """Return the conversation with its head at a turn, which the next one follows.

        Args:
            turn_id: the id of the turn; None for the place before the first turn.

        Returns:
            The conversation, with the same turns.

        Raises:
            NotInConversationError: if there is no such turn.
        """
        return with_fields(self, head=turn_id, given=vector(), **self._fields_at(turn_id))

    def before(self, message_id: str) -> Conversation:
        """Return the conversation as it was before a message: the next turn has another one in its place.

        The next turn is a branch beside the one that has the message, and begins with what stands before it
        in that turn. Before a turn's first response, the turn is made again with other responses:
        `conversation.before(turn.responses[0].id)`.

        Args:
            message_id: the id of a message that some turn has.

        Returns:
            The conversation, with the same turns.

        Raises:
            NotInConversationError: if no turn has the message in its record.
        """
        turn = self._on_path(message_id)
        number = next(n for n, one in enumerate(turn.messages) if one.id == message_id)
        return with_fields(self.at(turn.parent), given=vector(list(turn.messages)[:number]))

    def edit(self, message_id: str, message: Message) -> Conversation:
        """Return the conversation before a message (`before`), with another one in its place.

        The turn of that message stays as it is, beside the next one (rule conversation.branch).

        The next turn is made by `agent.generate(conversation=...)`, without a prompt.

        Args:
            message_id: the id of a message that some turn has.
            message: the message in its place.

        Returns:
            The conversation, with the same turns.

        Raises:
            NotInConversationError: if no turn has the message in its record.
        """
        before = self.before(message_id)
        return with_fields(before, given=grown(before.given, (EditedMessage(message, message_id),)))

    def _on_path(self, message_id: str) -> Turn:
        """The turn that has the message: one on the path to the head, or else the one that brought it in."""
        for turn in reversed(self.path):
            if any(one.id == message_id for one in turn.messages):
                return turn
        found = self._index.turn_of(self.turns, message_id)
        if found is None or all(one.id != message_id for one in found.messages):
            raise NotInConversationError("message", message_id)
        return found


def _doubled(turn: Turn) -> InvalidConversationError:
    return InvalidConversationError("$.id", f"another turn has the id {turn.id!r}; give each its own")


def _check(turn: Turn, turns: Vector[Turn], index: _Index) -> None:
    """Raise InvalidConversationError for a turn that cannot be added to those that the index has."""
    if index.number(turns, turn.id) is not None:
        raise _doubled(turn)
    if turn.parent is not _ROOT and index.number(turns, turn.parent) is None:
        raise InvalidConversationError("$.parent", f"there is no turn {turn.parent!r} before this one")
    check_messages(turn, partial(_message_in, turns, index))


def _message_in(turns: Vector[Turn], index: _Index, message_id: str) -> TurnMessage | None:
    turn = index.turn_of(turns, message_id)
    return None if turn is None else next(one for one in turn.own if one.id == message_id)


def check_messages(turn: Turn, known: Callable[[str], TurnMessage | None]) -> None:
    """Check that a turn's own messages are new and that its others are there as they are.

    Raises:
        InvalidConversationError: with the path of the first that is not; `known` returns a message by its id.
    """
    new: set[str] = set()
    for place, one in _placed(turn):
        stored = known(one.id)
        if one.turn == turn.id:
            if one.id in new or stored is not None:
                raise InvalidConversationError(f"{place}.id", f"another message has the id {one.id!r}")
            new.add(one.id)
        elif stored != one:
            reason = f"turn {one.turn!r} has no message {one.id!r} like this one; messages are not rewritten"
            raise InvalidConversationError(place, reason)


def _placed(turn: Turn) -> Iterator[tuple[str, TurnMessage]]:
    for number, one in enumerate(turn.messages):
        yield json_path("$.messages", number), one
    for number, piece in enumerate(turn.context or ()):
        if isinstance(piece, TurnMessage):
            yield json_path("$.context", number), piece
