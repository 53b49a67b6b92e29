"""The protocol of a store of conversations, its errors, and the store in memory.

A store keeps turns, and never changes one. `append` adds one turn to an expected head, as a whole or not at
all; the error of a writer that expected another head names both, so two never interleave. Whether a turn is
new goes by its id: the same turn again is stored once.
"""

from __future__ import annotations

import threading
from typing import Protocol

import anyio.lowlevel

from agentcore.conversations.conversation import Conversation, Turn
from agentcore.errors import AgentCoreError

__all__ = [
    "ConversationStore",
    "HeadConflictError",
    "MemoryStore",
    "StoreError",
    "StoreUnavailableError",
    "StoreVersionError",
    "TurnConflictError",
    "check_head",
]


# ---------------------------------------------------------------- errors


class StoreError(AgentCoreError):
    """Base of the errors of stores; `conversation_id` is the conversation, or None."""

    wire_name = "StoreError"

    def __init__(self, reason: str, conversation_id: str | None = None) -> None:
        super().__init__(reason, conversation_id)
        self.reason = reason
        self.conversation_id = conversation_id

    def __str__(self) -> str:
        if self.conversation_id is None:
            return self.reason
        return f"conversation {self.conversation_id!r}: {self.reason}"


class HeadConflictError(StoreError):
    """A turn was appended to another head than the conversation has; nothing was stored.

    `expected` is the head that the writer knew, `actual` the stored one; None stands for no turn yet.
    """

    wire_name = "HeadConflictError"

    def __init__(self, conversation_id: str, expected: str | None, actual: str | None) -> None:
        reason = (
            f"its head is {actual!r}, not {expected!r}: another writer has added a turn; load it again and "
            "make the turn anew, or append this one to the actual head, as a branch"
        )
        super().__init__(reason, conversation_id)
        self.args = (conversation_id, expected, actual)
        self.expected = expected
        self.actual = actual


class TurnConflictError(StoreError):
    """Another turn is stored under the id of this one; nothing was stored. `turn_id` is the id."""

    wire_name = "TurnConflictError"

    def __init__(self, conversation_id: str, turn_id: str) -> None:
        reason = f"another turn is stored as {turn_id!r}; turns are not rewritten, so give each its own id"
        super().__init__(reason, conversation_id)
        self.args = (conversation_id, turn_id)
        self.turn_id = turn_id


class StoreUnavailableError(StoreError):
    """The database did not answer; `__cause__` is its error. The turn is stored, or it is not.

    Append the same turn again: it is stored once, however often it is appended.
    """

    wire_name = "StoreUnavailableError"


class StoreVersionError(StoreError):
    """The tables in the database are of another version; `found` is it, None where there are no tables."""

    wire_name = "StoreVersionError"

    def __init__(self, found: str | None, reason: str) -> None:
        super().__init__(reason)
        self.args = (found, reason)
        self.found = found


# ---------------------------------------------------------------- the protocol


class ConversationStore(Protocol):
    """The methods of a store of conversations, such as `MemoryStore` and `conversations.sql.SqlStore`."""

    async def load(self, conversation_id: str) -> Conversation:
        """Return the conversation with all turns that have been appended, in one order for all readers.

        Args:
            conversation_id: any text. A conversation that nobody has appended to is empty.

        Returns:
            The conversation, its head where the last `append` or `move` left it.

        Raises:
            StoreUnavailableError: if the database does not answer.
        """
        ...

    async def append(self, conversation_id: str, expected_head: str | None, turn: Turn) -> None:
        """Store a turn, which is the conversation's head then; all of it or nothing (rule store.whole-turn).

        A turn that is stored already is not stored again (rule store.stored-once), and moves no head: so a
        turn may be appended again after a failure, a cancellation or a crash. A cancelled append has either
        happened or not.

        Args:
            conversation_id: any text; the first turn makes the conversation.
            expected_head: the head that the writer knows, which is the conversation's `head` as it was
                loaded; None: no turn yet.
            turn: the turn, such as `result.conversation.turn`. It may follow another turn than the head:
                then it begins a branch.

        Raises:
            HeadConflictError: if the conversation has another head.
            TurnConflictError: if another turn is stored under its id.
            InvalidConversationError: if the turn does not fit the conversation, with its path in the turn.
            StoreUnavailableError: if the database does not answer; append the turn again.
        """
        ...

    async def move(self, conversation_id: str, expected_head: str | None, head: str | None) -> None:
        """Make another turn the conversation's head, to go on with that branch.

        Args:
            conversation_id: the conversation.
            expected_head: the head that the writer knows, as for `append`.
            head: the id of the turn; None if the next turn begins a branch at the root.

        Raises:
            HeadConflictError: if the conversation has another head than the expected one.
            NotInConversationError: if there is no such turn.
            StoreUnavailableError: if the database does not answer.
        """
        ...

    async def delete(self, conversation_id: str) -> None:
        """Delete the conversation `conversation_id` with all its turns; one that is not there is no error.

        Raises:
            StoreUnavailableError: if the database does not answer.
        """
        ...


def check_head(conversation_id: str, expected: str | None, actual: str | None) -> None:
    """Check that a writer knows the head (rule store.expected-head). Raises HeadConflictError if not."""
    if expected != actual:
        raise HeadConflictError(conversation_id, expected, actual)


# ---------------------------------------------------------------- in memory


class MemoryStore:
    """Keeps conversations in this process, for as long as the store is there; may be used by many threads."""

    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}
        self._lock = threading.Lock()

    async def load(self, conversation_id: str) -> Conversation:
        """Return the conversation (`ConversationStore.load`)."""
        await anyio.lowlevel.checkpoint()
        with self._lock:
            return self._conversations.get(conversation_id, Conversation())

    async def append(self, conversation_id: str, expected_head: str | None, turn: Turn) -> None:
        """Store a turn, or raise (`ConversationStore.append`).

        Raises:
            HeadConflictError: if the conversation has another head.
            TurnConflictError: if another turn is stored under its id.
            InvalidConversationError: if the turn does not fit the conversation.
        """
        await anyio.lowlevel.checkpoint()
        with self._lock:
            conversation = self._conversations.get(conversation_id, Conversation())
            stored = conversation.find_turn(turn.id)
            if stored is not None:
                if stored != turn:
                    raise TurnConflictError(conversation_id, turn.id)
                return
            check_head(conversation_id, expected_head, conversation.head)
            self._conversations[conversation_id] = conversation.with_turn(turn)

    async def move(self, conversation_id: str, expected_head: str | None, head: str | None) -> None:
        """Make another turn the head, or raise (`ConversationStore.move`)."""
        await anyio.lowlevel.checkpoint()
        with self._lock:
            conversation = self._conversations.get(conversation_id, Conversation())
            check_head(conversation_id, expected_head, conversation.head)
            moved = conversation.at(head)
            if moved.turns:
                self._conversations[conversation_id] = moved

    async def delete(self, conversation_id: str) -> None:
        """Delete the conversation (`ConversationStore.delete`)."""
        await anyio.lowlevel.checkpoint()
        with self._lock:
            self._conversations.pop(conversation_id, None)
