"""What really happened in a step: an account of its prompt, read off the records of the steps.

Nothing of it is computed while a run goes on, and each step costs what is new in it. Whether two messages are
the same one goes by identity where it is asked where a message comes from, and by value where it is asked
what a hook changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple, TypeAlias, cast

import attrs
from attrs import field

from agentcore.machine.hooks import StepRecord
from agentcore.messages.message_trim import TokenCounter, estimate_tokens
from agentcore.messages.messages import Message
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenList,
    Vector,
    following,
    frozen_list,
    sealed,
)
from agentcore.messages.vectors import changed_places
from agentcore.records.origins import (
    Initial,
    Injected,
    Instruction,
    Origin,
    Response,
    Stage,
    TracedPrompt,
    traced,
)

__all__ = [
    "Added",
    "CachedStep",
    "Change",
    "HookEdit",
    "Initial",
    "Injected",
    "Instruction",
    "Origin",
    "PrefixBreak",
    "Removed",
    "Replaced",
    "Response",
    "StepAccount",
    "account",
    "changes",
    "prompt_cache",
]


@sealed
@attrs.frozen
class Added:
    """A message that was not there; `position` is in the new list."""

    position: int
    message: Message


@sealed
@attrs.frozen
class Removed:
    """A message that is not there any more; `position` is in the old list."""

    position: int
    message: Message


@sealed
@attrs.frozen(kw_only=True)
class Replaced:
    """A message in the place of another; `position` is in the new list, `old_position` in the old one."""

    position: int
    old_position: int
    before: Message
    after: Message


Change: TypeAlias = Added | Removed | Replaced


@sealed
@attrs.frozen(kw_only=True)
class HookEdit:
    """What a hook did: the fields that it changed, and how its messages differ from those it was shown.

    `hook` is the id of the processor; that of `prepare_step` is its name.

    `changes` are about the messages of this step's prompt, `lasting` about those of later steps.
    """

    hook: str
    fields: tuple[str, ...] = field(default=NO_ITEMS, converter=frozen_list)
    changes: tuple[Change, ...] = field(default=NO_ITEMS, converter=frozen_list)
    lasting: tuple[Change, ...] = field(default=NO_ITEMS, converter=frozen_list)


@sealed
@attrs.frozen(kw_only=True)
class PrefixBreak:
    """Why the prompt does not begin with the whole prompt before it: where they differ first, and by whom.

    `hook` and `step_number` name the hook whose edit came or, having been for its own step only, is gone; no
    hook where the run's settings are others, as after a fork.
    """

    position: int
    hook: str | None
    step_number: int


def _frozen_lists(value: Iterable[Iterable[Origin]]) -> tuple[tuple[Origin, ...], ...]:
    # Those of a vector were made here, so that nothing of Python's own goes through them.
    return FrozenList(value if isinstance(value, Vector) else map(frozen_list, value))


@sealed
@attrs.frozen(kw_only=True)
class StepAccount:
    """The account of a step.

    `origins` has an entry for each message of the prompt: where it comes from, or where its parts come from
    if it was merged of several tool messages. `shared_prefix` counts the messages at the beginning that the
    prompt has in common with the one before it, which providers need not read again.
    """

    step_number: int
    prompt: Vector[Message]
    hooks: tuple[HookEdit, ...] = field(converter=frozen_list)
    origins: tuple[tuple[Origin, ...], ...] = field(converter=_frozen_lists)
    shared_prefix: int
    broken_by: PrefixBreak | None


def account(record: StepRecord, previous: Sequence[StepRecord] = ()) -> StepAccount:
    """What happened in a step, given the steps before it, as hooks and stop conditions are given them.

    Raises ValueError if these are not all the steps before.
    """
    if len(previous) != record.step_number:
        raise ValueError(
            f"step {record.step_number} has {record.step_number} steps before it; give all of them"
        )
    now = _Prompt(record, traced(record, previous))
    # Made on the way to this one.
    then = _Prompt(previous[-1], traced(previous[-1], previous[:-1])) if previous else None
    shared = 0 if then is None else _shared(then.record.prompt, record.prompt)
    return StepAccount(
        step_number=record.step_number,
        prompt=record.prompt,
        hooks=now.edits,
        origins=now.origins,
        shared_prefix=shared,
        broken_by=None if then is None else _break(now, then, shared),
    )


def _shared(one: Vector[Message], other: Vector[Message]) -> int:
    """How many messages two prompts have in common at their beginning; costs what they do not share."""
    # Places that share no structure may still be equal, as messages that a hook made anew; providers
    # compare texts.
    differ = (place for place in changed_places(one, other) if one[place] != other[place])
    return next(differ, min(len(one), len(other)))


# ---------------------------------------------------------------- what a provider need not read again


@sealed
@attrs.frozen(kw_only=True)
class CachedStep:
    """How much of a step's prompt a provider has in its cache at best, and what was lost of it.

    Args:
        step_number: the step.
        tokens: those of the prompt, by the count that was given.
        cached_tokens: those of the messages at the beginning that the step before had sent already.
        lost_tokens: those of the messages that the step before had sent and that follow the place where this
            prompt differs first, so that they are read, or paid for, in vain.
        broken_by: that place, and the hook that made it; None while the prompt goes on where the one before
            ended.
    """

    step_number: int
    tokens: int
    cached_tokens: int
    lost_tokens: int
    broken_by: PrefixBreak | None


def prompt_cache(
    steps: Sequence[StepRecord], count: Callable[[Message], int] = estimate_tokens
) -> tuple[CachedStep, ...]:
    """What each step's prompt shares with the one before it, in tokens, and which hook broke it.

    Rule cache.prefix.

    Args:
        steps: all steps of a run, from step 0, as `run.steps`.
        count: the tokens of a message; without it an estimate, a quarter of its characters.

    Returns:
        An entry for each step. What providers really took from their caches is in each record's `usage`.
    """
    tokens = TokenCounter(count)
    found: list[CachedStep] = []
    for number, record in enumerate(steps):
        told = account(record, steps[:number])
        before = found[-1].tokens if found else 0
        cached = before if told.broken_by is None else tokens(record.prompt[: told.shared_prefix])
        found.append(
            CachedStep(
                step_number=number,
                tokens=tokens(record.prompt),
                cached_tokens=cached,
                lost_tokens=before - cached,
                broken_by=told.broken_by,
            )
        )
    return frozen_list(found)


# ---------------------------------------------------------------- what hooks did


def _edit(stage: Stage) -> HookEdit:
    return HookEdit(
        hook=stage.hook,
        fields=stage.override.fields,
        changes=changes(stage.shown, stage.left),
        lasting=() if stage.lasting is None else changes(stage.shown, stage.lasting),
    )


def changes(before: Sequence[Message], after: Sequence[Message]) -> tuple[Change, ...]:
    """Return the edits that turn one list of messages into the other, by value, in order of position."""
    if isinstance(before, Vector) and isinstance(after, Vector):
        more = following(after, before)
        if more is not None:
            return tuple(Added(len(before) + index, message) for index, message in enumerate(more))
    old, new = list(before), list(after)
    start = _common(old, new)
    # A message at the beginning must not count at the end as well, where a list is the other one repeated.
    end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    numbers: dict[Message, int] = {}

    def tokens(messages: list[Message]) -> list[int]:
        return [
            numbers.setdefault(message, len(numbers)) for message in messages[start : len(messages) - end]
        ]

    # On numbers, because hashing and comparing messages again and again is slow. Without `autojunk`, which
    # takes what is frequent in 200 elements or more for noise.
    matcher = SequenceMatcher(a=tokens(old), b=tokens(new), autojunk=False)
    found: list[Change] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            found += _replaced(old, new, range(start + i1, start + i2), range(start + j1, start + j2))
    return tuple(found)


def _replaced(old: list[Message], new: list[Message], gone: range, come: range) -> Iterator[Change]:
    for there, here in zip(gone, come, strict=False):
        yield Replaced(position=here, old_position=there, before=old[there], after=new[here])
    yield from (Removed(there, old[there]) for there in gone[len(come) :])
    yield from (Added(here, new[here]) for here in come[len(gone) :])


def _common(one: Iterable[Message], other: Iterable[Message]) -> int:
    """Return how many messages two lists have in common at their beginning."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left is not right and left != right:
            break
        count += 1
    return count


# ---------------------------------------------------------------- what broke the prefix


class _Prompt(NamedTuple):
    """The prompt of a record, and what is known of it."""

    record: StepRecord
    known: TracedPrompt

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.known.stages

    @property
    def edits(self) -> tuple[HookEdit, ...]:
        if self.known.edited is None:
            self.known.edited = frozen_list(map(_edit, self.stages))
        return cast("tuple[HookEdit, ...]", self.known.edited)

    @property
    def sources(self) -> Vector[tuple[Message, ...]]:
        return self.known.sources

    @property
    def origins(self) -> Vector[tuple[Origin, ...]]:
        return self.known.origins


class _At(NamedTuple):
    """The sources and origins of a message at a position of a prompt; empty past its end."""

    sources: tuple[Message, ...]
    origins: tuple[Origin, ...]


def _at(prompt: _Prompt, position: int) -> _At:
    if position >= len(prompt.origins):
        return _At((), ())
    return _At(prompt.sources[position], prompt.origins[position])


class _Break(NamedTuple):
    """Two prompts that follow each other, what came where they differ first, and what is gone from there."""

    now: _Prompt
    then: _Prompt
    came: _At
    gone: _At


_Hook: TypeAlias = tuple[str, _Prompt]
"""A hook, and the step of the two that it ran at."""


class _Case(NamedTuple):
    """A case of two prompts that differ, with the function that finds its hook.

    `holds` is whether the case is about the place at all; without a hook the next case is asked, but for one
    that is `last`.
    """

    says: str
    hook: Callable[[_Break], _Hook | None]
    holds: Callable[[_Break], bool] = lambda _: True
    last: bool = False


def _break(now: _Prompt, then: _Prompt, position: int) -> PrefixBreak | None:
    if position == len(then.record.prompt):
        return None
    hook, prompt = _breaker(_Break(now, then, _at(now, position), _at(then, position))) or (None, now)
    return PrefixBreak(position=position, hook=hook, step_number=prompt.record.step_number)


def _breaker(place: _Break) -> _Hook | None:
    """The hook of the first case that decides; none where the settings are others, as after a fork."""
    for case in _CASES:
        if case.holds(place):
            found = case.hook(place)
            if found is not None or case.last:
                return found
    return None


def _injector(prompt: _Prompt, origins: Iterable[Origin]) -> _Hook | None:
    number = prompt.record.step_number
    hooks = (one.hook for one in origins if isinstance(one, Injected) and one.step_number == number)
    return next(((hook, prompt) for hook in hooks), None)


def _are_instructions(place: _Break) -> bool:
    return any(isinstance(one, Instruction) for one in (*place.came.origins, *place.gone.origins))


def _instructor(prompt: _Prompt) -> _Hook | None:
    hooks = (stage.hook for stage in reversed(prompt.stages) if stage.override.system is not None)
    return next(((hook, prompt) for hook in hooks), None)


def _lasts(messages: Iterable[Message], record: StepRecord) -> bool:
    known = set(map(id, record.step_input))
    return all(id(message) in known for message in messages)


def _remover(prompt: _Prompt, messages: tuple[Message, ...]) -> _Hook | None:
    for edit in prompt.edits:
        for change in edit.changes:
            lost = change.before if isinstance(change, Replaced) else change.message
            if not isinstance(change, Added) and lost in messages:
                return edit.hook, prompt
    return None


def _changer(prompt: _Prompt) -> _Hook | None:
    return next(((edit.hook, prompt) for edit in prompt.edits if edit.changes), None)


_CASES: Final = (
    _Case(
        "a hook of this step brought in what came",
        lambda place: _injector(place.now, place.came.origins),
    ),
    _Case(
        "a hook of the step before brought in what is gone, for that step only",
        lambda place: _injector(place.then, place.gone.origins),
        lambda place: not _lasts(place.gone.sources, place.now.record),
    ),
    _Case(
        "a hook of either step gave other instructions; without one, the settings have others",
        lambda place: _instructor(place.now) or _instructor(place.then),
        _are_instructions,
        last=True,
    ),
    _Case(
        "a hook of this step took away what is gone",
        lambda place: _remover(place.now, place.gone.sources),
    ),
    _Case(
        "a hook of the step before had taken away what came, for that step only",
        lambda place: _remover(place.then, place.came.sources),
    ),
    _Case("a hook of this step changed other messages", lambda place: _changer(place.now)),
    _Case("a hook of the step before changed other messages", lambda place: _changer(place.then)),
)
"""Which hook broke the prefix: the cases in the order in which they are asked."""
