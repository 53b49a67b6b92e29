"""Profiles, rules and settings of the boundary between a run and its store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import attrs

from agentcore.heap.copying import CopyDepth
from agentcore.kit.framework import decision
from agentcore.requirements.rules import Requirement

__all__ = [
    "AGENTCORE",
    "PROFILES",
    "Does",
    "Event",
    "Hook",
    "Ids",
    "LossRule",
    "Message",
    "New",
    "Saving",
    "Settings",
    "StoreProfile",
    "Turn",
    "default_order",
]


class Saving(Enum):
    """What a save does to the stored list."""

    APPEND = "appends what is new"
    REPLACE = "puts the list in the place of what is stored"
    MERGE = "merges what is new by id"
    PLACE = "writes what is new to the places behind what was loaded or saved last"


class New(Enum):
    """Which messages of a turn's list are new when it is saved."""

    ALL = "all of them"
    POSITION = "those beyond as many as were loaded or saved last"
    COUNT = "those beyond as many as are stored"
    EQUALITY = "those that equal no stored one"
    OBJECT = "those that are no object that was loaded or saved"
    FLAG = "those without the flag `stored`"
    IDENTITY = "those that the turn brought in, as its own record has them"


class Ids(Enum):
    """When a message without an id is given one."""

    NEVER = "never"
    SAID = "when it joins the list"
    SAVED = "when it is saved"


@attrs.frozen(kw_only=True)
class StoreProfile:
    """A store, and how a run and the store pass messages to each other."""

    name: str
    package: str

    loaded: CopyDepth = attrs.field(
        metadata=decision(
            "How much of the stored messages is new in the list that a load hands out.", heading="Loading"
        )
    )
    reloaded: bool = attrs.field(
        metadata=decision(
            "Whether each turn loads, rather than the first of its agent, which keeps its list from then on."
        )
    )
    given: CopyDepth = attrs.field(
        metadata=decision("How much of the caller's messages is new in the list.", heading="Running")
    )
    handed: CopyDepth = attrs.field(metadata=decision("How much of the list is new in what a hook gets."))
    returned_kept: bool = attrs.field(
        metadata=decision(
            "Whether the messages that a hook returns are the list from then on, rather than one prompt."
        )
    )
    recorded: CopyDepth = attrs.field(
        metadata=decision(
            "How much of a message is new in the turn's own record, made when the message joins the list."
        )
    )
    ids: Ids = attrs.field(metadata=decision("When a message without an id is given one."))
    saving: Saving = attrs.field(metadata=decision("What a save does to the stored list.", heading="Saving"))
    new: New = attrs.field(
        metadata=decision("Which messages are new when a turn is saved; replacing the list does not ask.")
    )
    stored: CopyDepth = attrs.field(metadata=decision("How much of what is saved is new in the store."))
    head_expected: bool = attrs.field(
        metadata=decision(
            "Whether a save names the head that its turn knows, and is refused if the store has another one."
        )
    )


LIVE: Final = StoreProfile(
    name="store/live",
    package="InMemoryChatMessageHistory.messages of langchain-core==1.8.3",
    loaded=CopyDepth.SHARE,
    reloaded=True,
    given=CopyDepth.SHARE,
    handed=CopyDepth.SHARE,
    returned_kept=False,
    recorded=CopyDepth.SHARE,
    ids=Ids.NEVER,
    saving=Saving.REPLACE,
    new=New.ALL,
    stored=CopyDepth.SHARE,
    head_expected=False,
)
LIVE_APPEND: Final = attrs.evolve(
    LIVE,
    name="store/live-append",
    package="RunnableWithMessageHistory of langchain-core==1.8.3",
    loaded=CopyDepth.LIST,
    saving=Saving.APPEND,
    new=New.COUNT,
)
KEPT_LIST: Final = StoreProfile(
    name="store/kept-list",
    package="FileSessionManager of strands-agents==1.62.0",
    loaded=CopyDepth.DEEP,
    reloaded=False,
    given=CopyDepth.SHARE,
    handed=CopyDepth.SHARE,
    returned_kept=False,
    recorded=CopyDepth.DEEP,
    ids=Ids.NEVER,
    saving=Saving.PLACE,
    new=New.IDENTITY,
    stored=CopyDepth.DEEP,
    head_expected=False,
)
RELOAD_APPEND: Final = attrs.evolve(
    LIVE_APPEND,
    name="store/reload-append",
    package="own code that counts",
    loaded=CopyDepth.DEEP,
    returned_kept=True,
    new=New.POSITION,
    stored=CopyDepth.DEEP,
)
REPLACE_ALL: Final = attrs.evolve(
    RELOAD_APPEND,
    name="store/replace-all",
    package="a column of JSON",
    saving=Saving.REPLACE,
    new=New.ALL,
)
MERGE_BY_ID: Final = attrs.evolve(
    REPLACE_ALL,
    name="store/merge-by-id",
    package="add_messages of langgraph==1.2.24",
    ids=Ids.SAVED,
    saving=Saving.MERGE,
    stored=CopyDepth.SHARE,
)
AGENTCORE: Final = StoreProfile(
    name="store/agentcore",
    package="agentcore",
    loaded=CopyDepth.DEEP,
    reloaded=True,
    given=CopyDepth.DEEP,
    handed=CopyDepth.DEEP,
    returned_kept=False,
    recorded=CopyDepth.DEEP,
    ids=Ids.NEVER,
    saving=Saving.APPEND,
    new=New.IDENTITY,
    stored=CopyDepth.DEEP,
    head_expected=True,
)
"""What `agentcore.conversations` does."""

PROFILES: Final[Mapping[str, StoreProfile]] = MappingProxyType(
    {
        profile.name: profile
        for profile in (LIVE, LIVE_APPEND, KEPT_LIST, RELOAD_APPEND, REPLACE_ALL, MERGE_BY_ID, AGENTCORE)
    }
)


class LossRule(Requirement):
    """What is found by comparing a store with the record that was meant."""

    INTENDED = (
        "store-boundary.intended-record",
        (
            "The intended record has what was stored before, then each saved turn's messages once, as they "
            "were said, the turns in the order of their first accepted saves."
        ),
    )
    DOUBLED = ("store-boundary.doubled", "Doubled: a message is stored more than once.")
    DROPPED = ("store-boundary.dropped", "Dropped: a message of the intended record is not stored.")
    INTERLEAVED = (
        "store-boundary.interleaved",
        (
            "Interleaved: a message is stored behind one that the intended record has after it, or is of a "
            "turn that no save was accepted of."
        ),
    )
    REWRITTEN = (
        "store-boundary.rewritten",
        "Rewritten: a message is stored that is not as it was said, or that nobody said.",
    )
    BLAME = (
        "store-boundary.blame",
        "A loss is blamed on the event (load, step or save of a turn) from which on it is there to the end.",
    )
    CONFLICT = (
        "store-boundary.conflict-loses-nothing",
        "A refused save stores nothing and names both heads; what it would have stored is not intended yet.",
    )


# ---------------------------------------------------------------- what there is to run

Message: TypeAlias = Mapping[str, Any]
Hook: TypeAlias = Callable[[Any], Any]
Does: TypeAlias = Literal["load", "step", "save"]
Event: TypeAlias = tuple[Does, int]
"""What happens, and the number of the turn that it happens in."""


@attrs.frozen(kw_only=True)
class Turn:
    """A turn: what its caller gives, what the model answers at each step, and a hook for each step.

    An answer is several messages where tools are called. A step without a hook has None. `retry` says whether
    a turn that is refused loads again, is run again as far as it was, and is saved again, once.
    """

    agent: str
    given: Sequence[Message]
    answers: Sequence[Sequence[Message]] = ()
    hooks: Sequence[Hook | None] = ()
    retry: bool = False


@attrs.frozen(kw_only=True)
class Settings:
    """What is stored before, the turns, and the order of what happens in them: by default turn after turn."""

    stored: Sequence[Message] = ()
    turns: Sequence[Turn]
    order: Sequence[Event] | None = None


def default_order(steps: Sequence[int]) -> Iterator[Event]:
    """Yields the events of turns of so many steps, one turn after the other."""
    for number, count in enumerate(steps):
        yield "load", number
        yield from (("step", number) for _ in range(count))
        yield "save", number
