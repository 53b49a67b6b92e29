"""Turns for tests, and random trees of them beside a plain model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs
from hypothesis import strategies as st

from agentcore.conversations.conversation import KeptMessages, Piece, Turn, TurnMessage, new_id
from agentcore.messages.messages import AssistantMessage, Message, UserMessage


def said(turn_id: str, number: int, message: Message, **fields: Any) -> TurnMessage:
    return TurnMessage(id=f"{turn_id}-{number}", turn=turn_id, message=message, **fields)


def turn_of(parent: str | None, *texts: str, turn_id: str | None = None, **fields: Any) -> Turn:
    """A turn of a user's text and answers."""
    name = new_id() if turn_id is None else turn_id
    messages = [
        said(name, 0, UserMessage(texts[0])),
        *(
            said(name, n, AssistantMessage(text), given_by="run", step=n - 1)
            for n, text in enumerate(texts[1:], 1)
        ),
    ]
    return Turn(id=name, parent=parent, messages=messages, **fields)


# ---------------------------------------------------------------- random trees


@attrs.frozen
class Planned:
    """A turn, and by a plain model what there is after it: the ids of the record and of the context."""

    turn: Turn
    record: list[str]
    context: list[str]


@st.composite
def plans(draw: st.DrawFn, most: int = 8, message: st.SearchStrategy[Message] | None = None) -> list[Planned]:
    """Turns in the order in which they are added: each follows any of those before, or none."""
    if message is None:
        message = st.builds(UserMessage, st.sampled_from(["a", "b", ""]))
    planned: list[Planned] = []
    for number in range(draw(st.integers(0, most))):
        before = draw(st.sampled_from([None, *planned]))
        planned.append(draw(_planned(f"t{number}", before, planned, message)))
    return planned


@st.composite
def _planned(
    draw: st.DrawFn,
    turn_id: str,
    before: Planned | None,
    planned: Sequence[Planned],
    message: st.SearchStrategy[Message],
) -> Planned:
    beside = [one for one in planned if one.turn.parent == (before.turn.id if before else None)]
    shared: list[TurnMessage] = []
    if beside:
        theirs = list(draw(st.sampled_from(beside)).turn.messages)
        shared = theirs[: draw(st.integers(0, len(theirs)))]
    new = [
        said(turn_id, len(shared) + n, draw(message), **draw(_PROVENANCE))
        for n in range(draw(st.integers(0, 3)))
    ]
    messages = [*shared, *new]
    old = before.context if before else []
    base = [*old, *(one.id for one in messages)]
    context = draw(st.none() | _contexts(turn_id, len(messages), len(base), message))
    turn = Turn(
        id=turn_id,
        parent=before.turn.id if before else None,
        messages=messages,
        context=context,
        run_start=draw(st.integers(0, 2)),
        metadata=draw(st.sampled_from([{}, {"who": "ä", "n": [1.5, None]}])),
    )
    after = base
    if context is not None:
        after = []
        for piece in context:
            after += (
                [piece.id]
                if isinstance(piece, TurnMessage)
                else base[piece.first : piece.first + piece.count]
            )
    record = [*(before.record if before else []), *(one.id for one in messages)]
    return Planned(turn, record, after)


_PROVENANCE: Final[st.SearchStrategy[dict[str, Any]]] = st.sampled_from(
    [
        {"given_by": "caller"},
        {"given_by": "run", "step": 1},
        {"given_by": "hook", "hook": "compact", "step": 0},
        {"given_by": "caller", "replaces": "t0-0"},
    ]
)


@st.composite
def _contexts(
    draw: st.DrawFn, turn_id: str, first: int, length: int, message: st.SearchStrategy[Message]
) -> list[Piece]:
    pieces: list[Piece] = []
    for number in range(draw(st.integers(0, 3))):
        if length and draw(st.booleans()):
            start = draw(st.integers(0, length - 1))
            pieces.append(KeptMessages(start, draw(st.integers(1, length - start))))
        else:
            pieces.append(said(turn_id, first + number, draw(message), given_by="hook", hook="compact"))
    return pieces
