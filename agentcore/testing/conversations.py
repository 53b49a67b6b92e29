"""Random conversations that a hook is run over: always ones that a provider would take.

A conversation has the `messages` that a run begins with, the `script` of what its model answers, and its
`tools` by name, each with its `output` or `error`: the fields of a program (`spec/program-format.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.programs import random_conversation
from agentcore.frameworks.ai_sdk.size import Size
from agentcore.kit.choices import RandomChoices
from agentcore.kit.places import at, has, places, put
from agentcore.testing.prompts import Flaw, first_non_message, prompt_faults

__all__ = ["SHRUNK", "as_conversation", "as_program", "is_conversation", "numbered_conversation"]

Json: TypeAlias = dict[str, Any]

# Each kind comes every so many conversations. The numbers are primes, so each kind also meets each other.
_LONG_HISTORY: Final = 5
_LONG_RUN: Final = 3
_PARALLEL_CALLS: Final = 2
_FAILING_TOOLS: Final = 7
_LONG_TEXTS: Final = 11
_USUAL: Final = Size()
# For hooks that count characters; about every other text of such a conversation begins with it.
_LONG_TEXT: Final = " ".join(["This is said at some length, and then it is said once more."] * 50)
_SHORT: Final = 60
_NEXT_SEED: Final = 1_000_003


def numbered_conversation(number: int, seed: int = 0, texts: Sequence[str] = ()) -> Json:
    """Returns a random conversation, the same for the same arguments.

    Most are short. Long histories, long runs, parallel calls, failing tools and long texts come in turns.

    Args:
        number: which of the seed's conversations.
        seed: chooses other conversations.
        texts: what some of the texts begin with.
    """
    choices = RandomChoices(seed * _NEXT_SEED + number)
    long = (_LONG_TEXT,) if number % _LONG_TEXTS in (4, 10) else ()
    while True:
        made = random_conversation(choices, (*texts, *long), _size(number))
        if is_conversation(made):
            return made


def _size(number: int) -> Size:
    long_history = number % _LONG_HISTORY == _LONG_HISTORY - 1
    long_run = number % _LONG_RUN == _LONG_RUN - 1
    # Never both: a hook is called at each step with everything before it.
    steps = (2, 3, 3, 4) if long_history else (5, 6, 8, 10) if long_run else _USUAL.steps
    return Size(
        turns=(4, 8, 14, 22) if long_history else _USUAL.turns,
        steps=steps,
        calls=(2, 2, 3, 4) if number % _PARALLEL_CALLS == _PARALLEL_CALLS - 1 else _USUAL.calls,
        failing_tools=60 if number % _FAILING_TOOLS > _FAILING_TOOLS - 3 else 0,
        repeated_ids=0,
    )


def is_conversation(value: Json) -> bool:
    """Whether the messages are messages, which begin with the user's, and no provider refuses any of it."""
    messages = value["messages"]
    if not messages or first_non_message(messages) is not None:
        return False
    first = next((each["role"] for each in messages if each["role"] != "system"), None)
    answers = [{"role": "assistant", "content": parts} for parts in value["script"]]
    # What the user has still to approve, and what the run will answer, has no result yet.
    pending = {part["toolCallId"] for each in messages for part in _parts(each, "tool-approval-request")}
    pending |= {part["toolCallId"] for parts in value["script"] for part in parts if "toolCallId" in part}
    flaws = prompt_faults([*messages, *(each for each in answers if each["content"])])
    return first == "user" and all(_is_pending(flaw, pending) for flaw in flaws)


def _parts(message: Json, kind: str) -> list[Json]:
    content = message["content"]
    return [] if isinstance(content, str) else [part for part in content if part["type"] == kind]


def _is_pending(flaw: Flaw, pending: set[str]) -> bool:
    return flaw.key[:1] == ("answer",) and flaw.key[1] in pending


def as_program(conversation: Json) -> Json:
    """The conversation as a program, which the oracle can make smaller."""
    return {"id": "smallest", "path": "stream", **conversation}


def as_conversation(program: Json) -> Json:
    """The fields of a program that a conversation has."""
    return {"messages": program["messages"], "script": program["script"], "tools": program.get("tools", {})}


def _recent_turns(smallest: Callable[[], Json]) -> Iterator[Json]:
    """Conversations that begin with a later message of the user."""
    messages = smallest()["messages"]
    for index in reversed(range(1, len(messages))):
        if messages[index]["role"] == "user":
            yield {**smallest(), "messages": messages[index:]}


def _without_calls(smallest: Callable[[], Json]) -> Iterator[Json]:
    """Conversations without one of the calls, and what belongs to it."""
    for own in [part["toolCallId"] for each in smallest()["messages"] for part in _parts(each, "tool-call")]:
        messages = [_without_call(each, own) for each in smallest()["messages"]]
        yield {**smallest(), "messages": [each for each in messages if each["content"]]}


def _without_call(message: Json, own: str) -> Json:
    content = message["content"]
    if isinstance(content, str):
        return message
    return {**message, "content": [part for part in content if part.get("toolCallId") != own]}


def _short_texts(smallest: Callable[[], Json]) -> Iterator[Json]:
    """Conversations in which a long text is only its last word, which no other text has."""
    for place in places(smallest()):
        text = at(smallest(), place) if has(smallest(), place) else None
        if isinstance(text, str) and len(text) > _SHORT:
            yield put(smallest(), place, text.split()[-1])


SHRUNK: Final = attrs.evolve(
    FAMILY,
    shrinking=attrs.evolve(
        FAMILY.shrinking,
        edits=(_recent_turns, _without_calls, _short_texts, *FAMILY.shrinking.edits),
        # Texts stay, too: a reader has to tell messages apart.
        names={*FAMILY.shrinking.names, "text", "content"},
    ),
)
"""The family of programs, with edits that leave a conversation whole."""
