"""The message list of a processor: messages that it may change step by step.

A transient: it works on persistent vectors that are its own, and what it has come to is taken when the
processor returns (rule list.committed-on-return). Nothing that others hold can change through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs
from attrs import field

from agentcore.errors import ClosedMessageListError, InvalidPromptError, UnknownMessageError
from agentcore.messages.chains import (
    MESSAGES,
    MessageForm,
    SystemForm,
    message_form,
    message_forms,
    system_prompt,
)
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.prompt import system_messages
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenList,
    Vector,
    frozen_list,
    grown,
    replace_item,
    sealed,
    vector,
)

__all__ = ["ListChanges", "MessageList", "Mutation", "MutationKind"]

MutationKind: TypeAlias = Literal["add", "add_system", "remove", "replace"]


def _ids(value: Iterable[str]) -> tuple[str, ...]:
    return frozen_list(value)


def _messages(value: Iterable[Message]) -> Vector[Message]:
    return vector(value)


@sealed
@attrs.frozen
class Mutation:
    """One change of a message list: the messages that came or, of `remove`, went, and their ids.

    System messages that were added have no ids; `replace` keeps the id.
    """

    kind: MutationKind
    messages: Vector[Message] = field(converter=_messages)
    ids: tuple[str, ...] = field(default=NO_ITEMS, converter=_ids, kw_only=True)


class ListChanges(NamedTuple):
    """What a closed list has come to; None for messages or system messages that are what they were.

    There are no ids where nobody has asked for them: then all that was done is that messages were added.
    """

    messages: Vector[Message] | None
    ids: Vector[str] | None
    system_messages: Vector[SystemMessage] | None
    mutations: tuple[Mutation, ...]


class MessageList:
    """Messages with their ids, which a processor may change by the methods here; handed to it, never made.

    Whatever the list has come to when the processor returns is what it wants its messages to be, also if it
    returns nothing; if it raises, all of it is dropped. Messages are given as values or as `ModelMessage`
    JSON; ids are the same for all processors and at every step. After the processor has returned, any use
    raises ClosedMessageListError.
    """

    __slots__ = (
        "_added",
        "_closed",
        "_ids",
        "_known",
        "_messages",
        "_mutations",
        "_new",
        "_places",
        "_system",
        "_whose",
    )

    def __init__(
        self,
        messages: Vector[Message],
        ids: Callable[[], Vector[str]],
        system: Vector[SystemMessage],
        whose: tuple[str, int | None],
    ) -> None:
        self._messages = messages
        # Ids are asked for when somebody wants them: after edits that say nothing of them they have to be
        # found out. Those of messages that were added before that wait in `_added`.
        self._known = ids
        self._ids: Vector[str] | None = None
        self._added: list[str] = []
        self._places: dict[str, int] | None = None
        self._system = system
        self._whose = whose
        self._new = count()
        self._mutations: list[Mutation] = []
        self._closed = False

    # ------------------------------------------------------------ reading

    def __len__(self) -> int:
        self._check_open()
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        """The messages as they are now: changes made on the way do not show."""
        self._check_open()
        return iter(self._messages)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._messages)} messages"
        return f"<MessageList: {state}>"

    @property
    def ids(self) -> Vector[str]:
        """The ids of the messages, in their order."""
        self._check_open()
        return self._all_ids()

    @property
    def system_messages(self) -> Vector[SystemMessage]:
        """The system messages as they are now, which are no part of the list itself."""
        self._check_open()
        return self._system

    @property
    def mutations(self) -> tuple[Mutation, ...]:
        """What was changed so far, in order."""
        self._check_open()
        return FrozenList(self._mutations)

    def get(self, message_id: str) -> Message | None:
        """The message of that id, or None."""
        self._check_open()
        place = self._all_places().get(message_id)
        return None if place is None else self._messages[place]

    # ------------------------------------------------------------ changing

    def add(self, messages: MessageForm | Iterable[MessageForm]) -> tuple[str, ...]:
        """Add one message or several at the end; system messages go to the system messages.

        Returns the ids of those that are in the list now. Raises InvalidPromptError for what is no message.
        """
        self._check_open()
        is_one = isinstance(messages, Mapping) or type(messages) in MESSAGES
        given = vector((message_form(messages),)) if is_one else message_forms(messages, "$")
        system = [message for message in given if isinstance(message, SystemMessage)]
        if system:  # processor.system-added
            self._add_system(system)
        new = [message for message in given if not isinstance(message, SystemMessage)]
        return self._extend(new) if new else NO_ITEMS

    def _extend(self, new: Sequence[Message]) -> tuple[str, ...]:
        ids = FrozenList(self._new_id() for _ in new)
        if self._places is not None:
            self._places.update(zip(ids, count(len(self._messages)), strict=False))
        self._messages = grown(self._messages, new)
        if self._ids is None:
            self._added += ids
        else:
            self._ids = grown(self._ids, ids)
        self._mutations.append(Mutation("add", new, ids=ids))
        return ids

    def _new_id(self) -> str:
        processor_id, step_number = self._whose
        where = "input" if step_number is None else step_number
        return f"{processor_id}-{where}-{next(self._new)}"

    def add_system(self, messages: SystemForm | Iterable[SystemForm]) -> None:
        """Add system messages, in any form, after those there are.

        Raises InvalidPromptError for anything else.
        """
        self._check_open()
        self._add_system(system_messages(system_prompt(messages, "$")))

    def _add_system(self, new: Iterable[SystemMessage]) -> None:
        added = vector(new)
        if added:
            self._system = grown(self._system, added)
            self._mutations.append(Mutation("add_system", added))

    def remove_by_ids(self, ids: Iterable[str]) -> None:
        """Remove these messages; without all of them in the list, UnknownMessageError and no change."""
        self._check_open()
        gone = dict.fromkeys((ids,) if isinstance(ids, str) else ids)
        places = sorted(self._place(each) for each in gone)
        if not places:
            return
        messages, kept = self._messages, self._all_ids()
        removed = Mutation(
            "remove", [messages[place] for place in places], ids=[kept[place] for place in places]
        )
        self._messages = vector(
            message for message, each in zip(messages, kept, strict=True) if each not in gone
        )
        self._ids = vector(each for each in kept if each not in gone)
        self._places = None
        self._mutations.append(removed)

    def replace(self, message_id: str, message: MessageForm) -> None:
        """Put a message in the place of that one; it has its id from now on.

        Raises UnknownMessageError, and InvalidPromptError for what is no message, or for a system message
        where there was none: such are no part of the conversation.
        """
        self._check_open()
        place = self._place(message_id)
        new = message_form(message)
        if isinstance(new, SystemMessage) and not isinstance(self._messages[place], SystemMessage):
            raise InvalidPromptError("system messages do not stand among the others; use add_system", "$")
        self._messages = replace_item(self._messages, place, new)
        self._mutations.append(Mutation("replace", (new,), ids=(message_id,)))

    # ------------------------------------------------------------ ids

    def _all_ids(self) -> Vector[str]:
        if self._ids is None:
            self._ids = grown(self._known(), self._added)
        return self._ids

    def _all_places(self) -> dict[str, int]:
        if self._places is None:
            self._places = {each: place for place, each in enumerate(self._all_ids())}
        return self._places

    def _place(self, message_id: str) -> int:
        place = self._all_places().get(message_id)
        if place is None:
            raise UnknownMessageError(message_id)
        return place

    # ------------------------------------------------------------ the end

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedMessageListError(*self._whose)

    def close(self) -> ListChanges:
        """Close the list, which is for whoever handed it out to do: what it has come to."""
        self._closed = True
        kinds: set[Any] = {mutation.kind for mutation in self._mutations}
        changed = bool(kinds - {"add_system"})
        return ListChanges(
            self._messages if changed else None,
            self._ids if changed else None,
            self._system if "add_system" in kinds else None,
            tuple(self._mutations),
        )
