"""Which message is which: by identity, and by ids.

Messages have no field for an id, so that two runs with the same messages have the same values. Ids are kept
beside them: the places in the chains (`initial-0`, `response-3`), or who brought a message in, and when
(`reminder-2-0`: the first that the processor `reminder` brought in at step 2). An edit keeps the ids of the
messages that it keeps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Sequence
from itertools import count
from typing import TypeAlias

from agentcore.messages.messages import Message
from agentcore.messages.values import Vector, following, grown, vector

__all__ = ["Identified", "fresh_ids", "kept_ids", "numbered", "sharing"]

Identified: TypeAlias = tuple[Vector[Message], Vector[str]]
"""Messages with their ids."""


def sharing(messages: Vector[Message], shown: Vector[Message]) -> Vector[Message]:
    """The same messages; if they begin with those shown, a vector that shares their structure."""
    if messages is shown:
        return messages
    new = following(messages, shown)
    return messages if new is None else grown(shown, new)


def numbered(name: str, length: int, first: int = 0) -> Vector[str]:
    """That many ids of a name, in order."""
    return vector(f"{name}-{number}" for number in range(first, first + length))


def fresh_ids(name: str, taken: Container[str]) -> Iterator[str]:
    """Ids of a name, but for those that are taken."""
    return (each for number in count() if (each := f"{name}-{number}") not in taken)


def kept_ids(messages: Vector[Message], known: Sequence[Identified], name: str) -> Vector[str]:
    """The ids of messages of which some are known: those keep their ids, others are numbered by the name.

    Messages are told apart by value, so that a run goes on alike wherever its messages came from; one that is
    there several times is known as often as it was there before. No id that is known is given to another
    message.
    """
    begun, others = _beginning(messages, known)
    free: dict[Message, deque[str]] = {}
    listed = set(begun)
    for shown, ids in others:
        for message, each in zip(shown, ids, strict=True):
            if each not in listed:
                free.setdefault(message, deque()).append(each)
        listed.update(ids)
    kept = [_next(free.get(message)) for message in messages[len(begun) :]]
    new = fresh_ids(name, listed)
    return grown(begun, (next(new) if each is None else each for each in kept))


def _beginning(
    messages: Vector[Message], known: Sequence[Identified]
) -> tuple[Vector[str], Sequence[Identified]]:
    """The ids of the first known messages if all these begin with them, else none; and what else is known."""
    (shown, ids), *others = known
    if following(messages, shown) is None:
        return vector(), known
    return ids, [one for one in others if one[1] is not ids]


def _next(ids: deque[str] | None) -> str | None:
    return ids.popleft() if ids else None
