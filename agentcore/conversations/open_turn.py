"""A turn that a run is making: what a conversation becomes with the run, as far as the run has come.

The run's own chain says which of its messages are new. What it was given and what hooks returned for good is
told apart by identity, since a run never copies a message. Only where a run or a conversation was loaded
since are equal messages taken for each other, in their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from uuid import UUID, uuid4

import attrs
from attrs import field

from agentcore.conversations.conversation import (
    Conversation,
    EditedMessage,
    GivenBy,
    KeptMessages,
    Piece,
    Turn,
    TurnMessage,
)
from agentcore.errors import InvalidConversationError
from agentcore.machine.effects import Forked, HookResult, Processed
from agentcore.machine.hooks import ProcessorEdit
from agentcore.machine.state import Draft, Run
from agentcore.messages.messages import Message
from agentcore.messages.values import Vector, following, grown, sealed, vector
from agentcore.records.origins import FORK

__all__ = ["OpenTurn", "first_turn_of", "open_turn_of"]

_GIVEN: Final = "prepare_call"


@sealed
@attrs.frozen(kw_only=True)
class OpenTurn:
    """The next turn of a conversation, before its run has ended.

    `base` is the conversation that the turn follows, None for none, `prompt` are the caller's new messages,
    and `run_start` counts the run's responses that `base` has already. `replaced_by` is who may have put
    other messages in the place of those that the run was to be given. Every call makes one, and few are asked
    for the conversation: the work is done then.
    """

    base: Conversation | None = None
    prompt: Vector[Message] = field(factory=vector)
    uuid: UUID = field(factory=uuid4)
    run_start: int = 0
    replaced_by: str = _GIVEN

    @property
    def id(self) -> str:
        """The id of the turn, as `new_id` makes it."""
        return self.uuid.hex

    @property
    def messages(self) -> Vector[Message]:
        """The messages that the run begins with."""
        return grown(self.base.messages, self.prompt) if self.base else self.prompt

    @property
    def _followed(self) -> Conversation:
        return Conversation() if self.base is None else self.base

    def after(self, run: Run) -> Conversation:
        """Return the conversation with the turn as the run has made it so far; costs what the turn adds.

        Each message has who gave it, its step and its hook (rule conversation.turn).

        The run is one that began with `messages`, or what a hook put in their place. Without a message in the
        turn, and without a lasting edit, it is the conversation before.
        """
        own = [*self._prompt_messages(), *self._responses(run)]
        context = self._context(run, own)
        if not own and context is None:
            return self._followed
        turn = Turn(
            id=self.id, parent=self._followed.head, messages=own, context=context, run_start=self.run_start
        )
        return self._followed.with_turn(turn)

    # ------------------------------------------------------------ what was said

    def _prompt_messages(self) -> Iterator[TurnMessage]:
        number = 0
        for one in self._followed.given:
            if isinstance(one, EditedMessage):
                yield self._made(number, one.message, "caller", replaces=one.replaces)
            else:
                yield one
            number += 1
        for message in self.prompt:
            yield self._made(number, message, "caller")
            number += 1

    def _responses(self, run: Run) -> Iterator[TurnMessage]:
        first = len(self._followed.given) + len(self.prompt) - self.run_start
        response, steps = run.chains.response, _steps(run)
        for index in range(self.run_start, len(response)):
            yield self._made(first + index, response[index], "run", step=steps.get(index))

    def _made(  # noqa: PLR0913 - what a message of a turn is made of
        self,
        number: int,
        message: Message,
        given_by: GivenBy,
        *,
        step: int | None = None,
        hook: str | None = None,
        replaces: str | None = None,
    ) -> TurnMessage:
        return TurnMessage(
            id=f"{self.id}-{number}",
            turn=self.id,
            message=message,
            given_by=given_by,
            step=step,
            hook=hook,
            replaces=replaces,
        )

    # ------------------------------------------------------------ what lasts of it

    def _context(self, run: Run, own: Sequence[TurnMessage]) -> list[Piece] | None:
        """Return how the context after the turn is made; None if nothing of the record is left out."""
        shown = run.conversation
        said = [one.message for one in own]
        before = len(shown) - len(said)
        base = self._followed.context
        if before == len(base) and following(shown, self._followed.context_messages) is not None:
            rest = (shown[index] for index in range(before, len(shown)))
            if all(one is other for one, other in zip(rest, said, strict=True)):
                return None
        pieces = self._pieces(run, [*base, *own])
        whole = [KeptMessages(0, len(base) + len(own))]
        return None if pieces == whole or (not pieces and whole[0].count == 0) else pieces

    def _pieces(self, run: Run, known: Sequence[TurnMessage]) -> list[Piece]:
        places = _Places(known)
        brought = _brought(run)
        pieces: list[Piece] = []
        first, count = 0, 0
        number = sum(1 for one in known if one.turn == self.id)
        for message in run.conversation:
            place = places.take(message, first + count)
            if place is not None and count and place == first + count:
                count += 1
                continue
            if count:
                pieces.append(KeptMessages(first, count))
            first, count = (0, 0) if place is None else (place, 1)
            if place is None:
                hook, step = brought.get(id(message), (self.replaced_by, None))
                pieces.append(self._made(number, message, "hook", step=step, hook=hook))
                number += 1
        return [*pieces, KeptMessages(first, count)] if count else pieces


class _Places:
    """The places of known messages, by identity or else by value, each place once."""

    def __init__(self, known: Sequence[TurnMessage]) -> None:
        self._known = known
        self._left = [True] * len(known)
        self._by_identity: dict[int, deque[int]] = {}
        self._by_value: dict[Message, deque[int]] | None = None
        for index, one in enumerate(known):
            self._by_identity.setdefault(id(one.message), deque()).append(index)

    def take(self, message: Message, wanted: int) -> int | None:
        """The place of the message, that one if the message is there; None if it is new."""
        if wanted < len(self._known) and self._left[wanted] and self._known[wanted].message is message:
            self._left[wanted] = False
            return wanted
        place = self._next(self._by_identity.get(id(message)))
        if place is None:
            place = self._next(self._values().get(message))
        return place

    def _next(self, places: deque[int] | None) -> int | None:
        while places:
            place = places.popleft()
            if self._left[place]:
                self._left[place] = False
                return place
        return None

    def _values(self) -> dict[Message, deque[int]]:
        if self._by_value is None:
            self._by_value = {}
            for index, one in enumerate(self._known):
                self._by_value.setdefault(one.message, deque()).append(index)
        return self._by_value


def _steps(run: Run) -> dict[int, int]:
    """The step of each message of the response chain; none of answers that came between steps."""
    return {
        index: record.step_number
        for record in run.steps
        for index in range(record.response_start, len(record.messages))
    }


def _brought(run: Run) -> dict[int, tuple[str, int | None]]:
    """Which hook brought in a message for good, and at which step, by the message's identity."""
    brought: dict[int, tuple[str, int | None]] = {}
    for messages, hook, step in _lasting(run):
        for message in messages:
            brought.setdefault(id(message), (hook, step))
    return brought


def _lasting(run: Run) -> Iterator[tuple[Iterable[Message], str, int | None]]:
    for edit in _input_edits(run):
        yield edit.override.messages or (), edit.processor_id, None
    for record in run.steps:
        for edit in record.edits:
            yield edit.override.lasting_messages or (), edit.processor_id, record.step_number
    if isinstance(run.current, Draft):
        for edit in run.current.edits:
            yield edit.override.lasting_messages or (), edit.processor_id, run.step_number
    for outcome in run.outcomes:
        if isinstance(outcome, Forked):
            yield outcome.messages or (), FORK, None


def _input_edits(run: Run) -> tuple[ProcessorEdit, ...]:
    """Return the edits of the processors to the run's input, if it has any."""
    if not run.started_with.process_input:
        return ()
    first = next((one for one in run.outcomes if isinstance(one, HookResult | Processed)), None)
    return first.edits if isinstance(first, Processed) else ()


# ---------------------------------------------------------------- runs that go on


def first_turn_of(run: Run) -> OpenTurn:
    """Return the turn that the run makes of no conversation: all that the run was given is of the turn."""
    return OpenTurn(prompt=run.given)


def open_turn_of(conversation: Conversation, run: Run) -> OpenTurn:
    """Return the turn that the run goes on with, in the conversation that it has made so far.

    Raises:
        InvalidConversationError: if the conversation's last turn is not what the run has made.
    """
    last = conversation.turn
    # Another run's conversation is refused (rule conversation.run-goes-on).
    if last is None or conversation.given:
        raise _other_run("$.head", "it ends with no turn of this run")
    responses = last.responses
    end = last.run_start + len(responses)
    made = vector(
        run.chains.response[index] for index in range(last.run_start, min(end, len(run.chains.response)))
    )
    if vector(one.message for one in responses) != made or (not responses and not _ends_with(run, last)):
        raise _other_run("$.head", f"its turn {last.id!r} has other messages than the run")
    return OpenTurn(base=conversation, run_start=end)


def _ends_with(run: Run, turn: Turn) -> bool:
    given = [one.message for one in turn.given]
    return not given or list(run.given)[-len(given) :] == given


def _other_run(path: str, reason: str) -> InvalidConversationError:
    return InvalidConversationError(path, f"{reason}; give it the `conversation` of the result that waits")
