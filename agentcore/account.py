"""What really happened in a step: an account of its prompt, read off the records of the steps.

Nothing of it is computed while a run goes on. Whether two messages are the same one goes by identity where it
is asked where a message comes from, and by value where it is asked what a hook changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple, TypeAlias

import attrs
from attrs import field

from agentcore.hooks import StepOverride, StepRecord
from agentcore.messages import Message, ToolMessage
from agentcore.prompt import prompt_form
from agentcore.values import NO_ITEMS, FrozenList, Vector, frozen_list, sealed

__all__ = [
    "Added",
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
]

FORK: Final = "fork"

# ---------------------------------------------------------------- what an account says


@sealed
@attrs.frozen
class Instruction:
    """One of the instructions of the call, or of the override in their place."""

    index: int


@sealed
@attrs.frozen
class Initial:
    """A message of the initial chain."""

    index: int


@sealed
@attrs.frozen
class Response:
    """A message of the response chain, by its index there.

    Of no step if it came before step 0 or between two steps: an answer to approvals or calls, or a result.
    """

    step_number: int | None
    index: int


@sealed
@attrs.frozen(kw_only=True)
class Injected:
    """A message that a hook brought in, at this step or by a lasting edit before; or `fork` did.

    `index` is where it stands in what the hook returned, or the fork was given.
    """

    hook: str
    step_number: int
    index: int


Origin: TypeAlias = Instruction | Initial | Response | Injected


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
    return FrozenList(map(frozen_list, value))


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
    now = _Prompt(record, previous)
    then = _Prompt(previous[-1], previous[:-1]) if previous else None
    return StepAccount(
        step_number=record.step_number,
        prompt=record.prompt,
        hooks=tuple(map(_edit, now.stages)),
        origins=tuple(now.origins),
        shared_prefix=0 if then is None else _common(then.record.prompt, record.prompt),
        broken_by=None if then is None else _break(now, then),
    )


# ---------------------------------------------------------------- what hooks did


@sealed
@attrs.frozen(kw_only=True)
class _Stage:
    """One hook of a step, between the messages it was shown and those it left; hooks follow each other."""

    hook: str
    shown: Vector[Message]
    left: Vector[Message]
    lasting: Vector[Message] | None
    override: StepOverride


def _stages(record: StepRecord) -> Iterator[_Stage]:
    shown = record.step_input
    for edit in record.edits:
        override, lasting = edit.override, edit.override.lasting_messages
        left = shown if lasting is None else lasting
        if override.messages is not None:
            left = override.messages
        yield _Stage(hook=edit.processor_id, shown=shown, left=left, lasting=lasting, override=override)
        shown = left


def _edit(stage: _Stage) -> HookEdit:
    return HookEdit(
        hook=stage.hook,
        fields=stage.override.fields,
        changes=changes(stage.shown, stage.left),
        lasting=() if stage.lasting is None else changes(stage.shown, stage.lasting),
    )


def changes(before: Sequence[Message], after: Sequence[Message]) -> tuple[Change, ...]:
    """What makes one list of messages the other, by value, in order of position."""
    old, new = list(before), list(after)
    start = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    numbers: dict[Message, int] = {}

    def tokens(messages: list[Message]) -> list[int]:
        return [
            numbers.setdefault(message, len(numbers)) for message in messages[start : len(messages) - end]
        ]

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
    """How many messages two lists have in common at their beginning."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left is not right and left != right:
            break
        count += 1
    return count


# ---------------------------------------------------------------- where messages come from


def _grouped(messages: Iterable[Message]) -> list[tuple[Message, ...]]:
    """The messages that each message of a prompt is made of, as `agentcore.prompt.fold` makes it."""
    groups: list[tuple[Message, ...]] = []
    tail: list[Message] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            tail += [message] if _shows_parts(message) else []
            continue
        groups += [tuple(tail)] if tail else []
        groups.append((message,))
        tail = []
    return groups + ([tuple(tail)] if tail else [])


def _shows_parts(message: ToolMessage) -> bool:
    # Of parts of tool messages none can fail to be shown, so there is a form.
    changed = prompt_form(message).changed
    return bool((message if changed is None else changed).content)


class _Prompt:
    """The prompt of a record, each message with the messages it was made of and where these come from."""

    def __init__(self, record: StepRecord, previous: Sequence[StepRecord]) -> None:
        self.record = record
        self.stages = tuple(_stages(record))
        left = self.stages[-1].left if self.stages else record.step_input
        groups = _grouped(left)
        places = _places(record, previous, left)
        count = len(record.prompt) - len(groups)
        self.sources: list[tuple[Message, ...]] = [()] * count + groups
        self.origins: list[tuple[Origin, ...]] = [(Instruction(index),) for index in range(count)]
        self.origins += [tuple(_next(places[id(message)]) for message in group) for group in groups]


def _next(places: list[Origin]) -> Origin:
    """The next place of a message that is there several times, the last one for good."""
    return places.pop(0) if len(places) > 1 else places[0]


def _places(
    record: StepRecord, previous: Sequence[StepRecord], left: Vector[Message]
) -> dict[int, list[Origin]]:
    """Where each of these messages comes from, by identity."""
    places: dict[int, list[Origin]] = {}
    _note(places, record.initial_messages, map(Initial, range(len(record.initial_messages))))
    _note(places, record.messages, _responses(record, previous))
    unknown = {id(message) for message in left} - places.keys()
    for hook, step_number, messages in _foreign(record, previous):
        if not unknown:
            break
        came = [(index, message) for index, message in enumerate(messages) if id(message) in unknown]
        _note(
            places,
            [message for _, message in came],
            [Injected(hook=hook, step_number=step_number, index=index) for index, _ in came],
        )
        unknown -= places.keys()
    return places


def _note(places: dict[int, list[Origin]], messages: Iterable[Message], origins: Iterable[Origin]) -> None:
    # There are more messages than origins where a record's own response follows.
    for message, origin in zip(messages, origins, strict=False):
        places.setdefault(id(message), []).append(origin)


def _responses(record: StepRecord, previous: Sequence[StepRecord]) -> Iterator[Response]:
    before = 0
    for step in previous:
        yield from (Response(None, index) for index in range(before, step.response_start))
        before = len(step.messages)
        yield from (Response(step.step_number, index) for index in range(step.response_start, before))
    yield from (Response(None, index) for index in range(before, record.response_start))


def _foreign(
    record: StepRecord, previous: Sequence[StepRecord]
) -> Iterator[tuple[str, int, Vector[Message]]]:
    """What came in from outside the chains: by whom, at which step, among which messages."""
    for step in previous:
        for stage in _stages(step):
            if stage.lasting is not None:
                yield stage.hook, step.step_number, stage.lasting
    # In a step input there is nothing else that is new, unless a fork was given it.
    for step in (*previous, record):
        yield FORK, step.step_number, step.step_input
    for stage in _stages(record):
        yield stage.hook, record.step_number, stage.left


# ---------------------------------------------------------------- what broke the prefix


def _break(now: _Prompt, then: _Prompt) -> PrefixBreak | None:
    position = _common(then.record.prompt, now.record.prompt)
    if position == len(then.record.prompt):
        return None
    hook, prompt = _breaker(now, then, position) or (None, now)
    return PrefixBreak(position=position, hook=hook, step_number=prompt.record.step_number)


def _breaker(now: _Prompt, then: _Prompt, position: int) -> tuple[str, _Prompt] | None:
    """The hook, and the step of the two at which it made the prompts differ there."""
    came, gone = _at(now, position), _at(then, position)
    by = _injector(now, came.origins) or _injector(then, gone.origins)
    if by is not None and by[1] is then and _lasts(gone.sources, now.record):
        by = None
    if by is None and any(isinstance(one, Instruction) for one in (*came.origins, *gone.origins)):
        return _instructor(now) or _instructor(then)
    return (
        by or _remover(now, gone.sources) or _remover(then, came.sources) or _changer(now) or _changer(then)
    )


class _At(NamedTuple):
    sources: tuple[Message, ...]
    origins: tuple[Origin, ...]


def _at(prompt: _Prompt, position: int) -> _At:
    if position >= len(prompt.origins):
        return _At((), ())
    return _At(prompt.sources[position], prompt.origins[position])


def _injector(prompt: _Prompt, origins: Iterable[Origin]) -> tuple[str, _Prompt] | None:
    number = prompt.record.step_number
    hooks = (one.hook for one in origins if isinstance(one, Injected) and one.step_number == number)
    return next(((hook, prompt) for hook in hooks), None)


def _instructor(prompt: _Prompt) -> tuple[str, _Prompt] | None:
    hooks = (stage.hook for stage in reversed(prompt.stages) if stage.override.system is not None)
    return next(((hook, prompt) for hook in hooks), None)


def _lasts(messages: Iterable[Message], record: StepRecord) -> bool:
    known = set(map(id, record.step_input))
    return all(id(message) in known for message in messages)


def _remover(prompt: _Prompt, messages: tuple[Message, ...]) -> tuple[str, _Prompt] | None:
    for stage in prompt.stages:
        for change in changes(stage.shown, stage.left):
            lost = change.before if isinstance(change, Replaced) else change.message
            if not isinstance(change, Added) and lost in messages:
                return stage.hook, prompt
    return None


def _changer(prompt: _Prompt) -> tuple[str, _Prompt] | None:
    return next(((stage.hook, prompt) for stage in prompt.stages if changes(stage.shown, stage.left)), None)
