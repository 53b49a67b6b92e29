"""`check_hook`: a hook over random conversations, under every profile of the AI SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs
from anyio.from_thread import start_blocking_portal

from agentcore.frameworks.ai_sdk import PROFILES
from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.programs import Size, random_conversation
from agentcore.kit.choices import RandomChoices
from agentcore.kit.program import at, has, places, put
from agentcore.kit.shrink import shrink
from agentcore.testing.prompts import (
    Flaw,
    HookFault,
    HookFaultError,
    NothingPollutedError,
    first_non_message,
    prompt_faults,
)
from agentcore.testing.runs import Check, Hook, Takes

__all__ = [
    "SHRUNK",
    "as_conversation",
    "as_program",
    "check_hook",
    "is_conversation",
    "numbered_conversation",
]

Json: TypeAlias = dict[str, Any]

_PROFILES: Final = tuple(PROFILES)
# For making a conversation smaller: nearly the smallest at once is better than the smallest later.
_SECONDS: Final = 20.0


def check_hook(  # noqa: PLR0913 - what is asked of a hook, by name
    hook: Hook,
    *,
    takes: Takes = "messages",
    profiles: Sequence[str] = _PROFILES,
    idempotent: bool = True,
    texts: Sequence[str] = (),
    examples: int = 100,
    seed: int = 0,
    expected_pollution: Sequence[str] | None = None,
) -> None:
    """Runs a hook over random conversations, and raises for the smallest one in which it is at fault.

    The hook is called at every step of each conversation with plain dicts and lists in the AI SDK's message
    form. An async one is awaited on an event loop of its own, so a test may be sync or async. What it does
    has to follow from its argument only. It is at fault if it

    - writes in place to what it is given;
    - raises, or returns what is not messages;
    - leaves a prompt without what the user asked, with a tool call or its result but not both, with an id
      twice, or with a message that has no content (rule testing.prompt-whole);
    - makes a run fail under a profile, which does not fail without the hook;
    - has another effect under a profile than if it is given copies (rule testing.as-values): another prompt
      at some step, or other messages left for the caller or in the result;
    - returns something else when it is given what it returned (unless `idempotent` is false). This is
      reported only if there is no other fault.

    Args:
        hook: with `takes="messages"`, a function of a list of messages that returns one, or None for no
            change; with `takes="options"`, a `prepare_step` as the AI SDK calls it: a function of an object
            with `messages`, `steps`, `stepNumber` and so on that returns an object of overrides, or None.
        takes: what the hook takes.
        profiles: names of `agentcore.frameworks.ai_sdk.PROFILES`; with none, it is not run under any.
        idempotent: whether a second application has to change nothing.
        texts: what some of the texts begin with; for a hook that looks for something.
        examples: how many conversations.
        seed: chooses other conversations; those of a seed are always the same.
        expected_pollution: if not None, in-place writes are expected, at these paths if any are given
            (`$[*].content`, and what lies below it); then it is an error if there are none.

    Raises:
        HookFaultError: if the hook is at fault.
        NothingPollutedError: if writes are expected and there are none.
        KeyError: if there is no profile of a name.
    """
    __tracebackhide__ = True
    for name in profiles:
        PROFILES[name]
    with start_blocking_portal() as portal:
        check = Check(hook, _name(hook), portal, takes, tuple(profiles), idempotent, expected_pollution)
        fault = _smallest_fault(check, (numbered_conversation(n, seed, texts) for n in range(examples)))
    if fault is not None:
        # Rule testing.sentence: what the hook raised is an attribute and no cause, and the text says where.
        raise HookFaultError(check.name, fault, check.raised if fault.kind == "raised" else None)
    if expected_pollution is not None and not check.polluted:  # testing.strict
        raise NothingPollutedError(check.name, examples, tuple(expected_pollution))


def _name(hook: Hook) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def _smallest_fault(check: Check, conversations: Iterable[Json]) -> HookFault | None:
    """The fault that some conversation shows, shown by the smallest one.

    That a hook is not idempotent has no effect by itself, so any other fault comes before it.
    """
    again: tuple[Json, HookFault] | None = None
    for conversation in conversations:
        fault = check.fault(conversation)
        if fault is not None and fault.kind != "not idempotent":
            return _smaller(check, conversation, fault)
        if fault is not None:
            again, check.idempotent = (conversation, fault), False
    if again is None:
        return None
    check.idempotent = True
    return _smaller(check, *again)


def _smaller(check: Check, conversation: Json, fault: HookFault) -> HookFault | None:
    """The fault as the smallest conversation shows it (rule testing.smallest)."""
    # What was found under one profile need not be looked for under the others.
    narrow = attrs.evolve(check, profiles=check.profiles and (fault.profile,))

    def shows_it(program: Json) -> bool:
        smaller = as_conversation(program)
        if not is_conversation(smaller):
            return False
        found = narrow.fault(smaller)
        # Fewer messages may show another fault, which would be another story.
        return found is not None and (found.kind, found.profile) == (fault.kind, fault.profile)

    smallest = as_conversation(shrink(as_program(conversation), shows_it, SHRUNK, seconds=_SECONDS))
    found = narrow.fault(smallest)
    check.raised = narrow.raised
    return check.with_spread(smallest, found) if found is not None and found.kind == "in place" else found


# Random conversations that a hook is run over: always ones that a provider would take.
#
# A conversation has the `messages` that a run begins with, the `script` of what its model answers, and its
# `tools` by name, each with its `output` or `error`: the fields of a program (`spec/program-format.md`).

# Each kind comes every so many conversations. The numbers are primes, so each kind also meets each other.
_LONG_HISTORY: Final = 5
_LONG_RUN: Final = 3
_PARALLEL_CALLS: Final = 2
_FAILING_TOOLS: Final = 7
_LONG_TEXTS: Final = 11
_USUAL: Final = Size()
# For hooks that count characters; about every other text of such a conversation begins with it.
_LONG_TEXT: Final = " ".join(["This is written at some length, and then it is written once more."] * 50)
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
