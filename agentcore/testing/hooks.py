"""`check_hook`: a hook over random conversations, under every profile of the AI SDK."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import attrs
from anyio.from_thread import start_blocking_portal

from agentcore.frameworks.ai_sdk import PROFILES
from agentcore.kit.shrink import shrink
from agentcore.testing.conversations import (
    SHRUNK,
    as_conversation,
    as_program,
    is_conversation,
    numbered_conversation,
)
from agentcore.testing.faults import HookFault, HookFaultError, NothingPollutedError
from agentcore.testing.runs import Check, Hook, Takes

__all__ = ["check_hook"]

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
