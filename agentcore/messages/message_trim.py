"""Conversations made shorter without cutting a tool call from its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import ceil
from typing import Final, TypeAlias

from agentcore.messages.chains import MessageForm, message_forms
from agentcore.messages.messages import (
    FilePart,
    ImagePart,
    Message,
    SystemMessage,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import Vector, following, vector
from agentcore.messages.wire import messages_to_json

__all__ = ["TokenCounter", "estimate_tokens", "trim"]

# Estimates of the tokens of messages, made once for each message.
#
# A hook that decides by tokens whether to compact is asked at every step about a history that has hardly
# changed. So a count is remembered by message value, and of a vector that grew from the one counted before
# only what is new is looked at: the structure is shared, and told apart as a whole.

_CHARACTERS: Final = 4
_PER_MESSAGE: Final = 4
_PER_FILE: Final = 1_000
_REMEMBERED: Final = 100_000


def estimate_tokens(message: Message) -> int:
    """Return about how many tokens a message takes, without a tokenizer.

    A quarter of the characters of its JSON, four for the message itself, and a thousand for each image or
    file, whose price depends on the provider. For exact numbers give TokenCounter the provider's tokenizer.

    Args:
        message: a message of any role.

    Returns:
        The number of tokens, at least four.
    """
    parts = () if isinstance(message.content, str) else message.content
    files = [part for part in parts if isinstance(part, FilePart | ImagePart)]
    if files:
        text = "".join(getattr(part, "text", "") for part in parts)
        return _PER_MESSAGE + ceil(len(text) / _CHARACTERS) + _PER_FILE * len(files)
    return _PER_MESSAGE + ceil(len(messages_to_json([message])) / _CHARACTERS)


class TokenCounter:
    """Counts the tokens of messages, each message value once.

    Args:
        count: how many tokens one message takes; asked once for each of the last 100,000 message values.

    A counter is a memory, and no value: make one beside the hook that uses it.
    """

    def __init__(self, count: Callable[[Message], int] = estimate_tokens) -> None:
        self._count = lru_cache(maxsize=_REMEMBERED)(count)
        self._last: tuple[Vector[Message], int] | None = None

    def of(self, message: Message) -> int:
        """Return the number of tokens of `message`, counted once."""
        return self._count(message)

    def __call__(self, messages: Iterable[Message]) -> int:
        """Returns the tokens of messages together; counts what is new of a vector that grew from the last."""
        if not isinstance(messages, Vector):
            return sum(map(self.of, messages))
        total = self._grown(messages)
        if total is None:
            total = sum(map(self.of, messages))
        self._last = (messages, total)
        return total

    def _grown(self, messages: Vector[Message]) -> int | None:
        if self._last is None:
            return None
        counted, total = self._last
        new = following(messages, counted)
        return None if new is None else total + sum(map(self.of, new))


_Span: TypeAlias = tuple[int, int]
"""The first and the last index of messages that stay together."""

_Count: TypeAlias = Callable[[Message], int]


def trim(
    messages: Iterable[MessageForm],
    *,
    keep_last: int | None = None,
    keep_system: bool = True,
    max_tokens: int | None = None,
    count: _Count = estimate_tokens,
) -> Vector[Message]:
    """Leave out the oldest messages; what belongs together stays together.

    A call, its result, the request for its approval and the answer to that are kept or left out as one, with
    everything that stands between them. The latest user message is kept, however old it is; where there is
    none, the last message is. A list of messages that providers take stays one.

    Args:
        messages: The conversation, as messages or their JSON. It is not changed.
        keep_last: Keeps this many messages at the end, and more where a pair would be cut. System messages
            that are kept in any case do not count. None keeps all.
        keep_system: Keeps every system message. If False, they are left out by age, as others are.
        max_tokens: Leaves out more messages, the oldest first, until those that are left have no more tokens
            than this together; the system messages and the latest user message are kept all the same.
        count: Returns the tokens of one message. The estimate that it is by default knows no model: leave
            room for its error, or give the count of the provider's tokenizer. `TokenCounter(...).of` asks
            once for each message value.

    Returns:
        The messages that are kept, in their order; each is the one that was given.

    Raises:
        ValueError: if a limit is negative.
        InvalidPromptError: for something that is no message, with its path.
    """
    for name, limit in (("keep_last", keep_last), ("max_tokens", max_tokens)):
        if limit is not None and limit < 0:
            raise ValueError(f"{name} is 0 or more, not {limit}")
    given = message_forms(messages, "$.messages")
    always = [
        index for index, message in enumerate(given) if keep_system and isinstance(message, SystemMessage)
    ]
    units = _units(given, {*always})
    latest = _latest(given, units)
    kept = {*always, *units[latest]} if units else {*always}
    tokens = _no_tokens if max_tokens is None else count
    left = (max_tokens or 0) - _sum(given, kept, tokens)
    wanted = len(given) if keep_last is None else keep_last
    size = 0
    for place in reversed(range(len(units))):
        left -= 0 if place == latest else _sum(given, units[place], tokens)
        if size >= wanted or left < 0:
            break
        size += len(units[place])
        kept.update(units[place])
    return vector(given[index] for index in sorted(kept))


def _no_tokens(_: Message) -> int:
    return 0


def _sum(messages: Vector[Message], indices: Iterable[int], count: _Count) -> int:
    return sum(count(messages[index]) for index in indices)


# ---------------------------------------------------------------- what stays together


def _units(messages: Vector[Message], always: set[int]) -> list[list[int]]:
    """The indices of the messages in units that are kept or left out as wholes, without those always kept."""
    units: list[list[int]] = []
    end = -1
    for first, last in sorted(_spans(messages)):
        if first <= end:
            units[-1].extend(range(end + 1, last + 1))
        else:
            units += [[index] for index in range(end + 1, first)]
            units.append([*range(first, last + 1)])
        end = max(end, last)
    units += [[index] for index in range(end + 1, len(messages))]
    left = ([index for index in unit if index not in always] for unit in units)
    return [unit for unit in left if unit]


def _latest(messages: Vector[Message], units: list[list[int]]) -> int:
    """The place of the unit with the latest user message, else of the last that a prompt has a message of."""
    for is_wanted in (_is_of_the_user, _is_said):
        for place in reversed(range(len(units))):
            if any(is_wanted(messages[index]) for index in units[place]):
                return place
    return len(units) - 1


def _is_of_the_user(message: Message) -> bool:
    return isinstance(message, UserMessage)


def _is_said(message: Message) -> bool:
    """Whether the message is neither an instruction nor one of a tool that prompts leave out."""
    if isinstance(message, ToolMessage):
        return any(isinstance(part, ToolResultPart) or part.provider_executed for part in message.content)
    return not isinstance(message, SystemMessage)


def _spans(messages: Vector[Message]) -> Iterator[_Span]:
    """From each call to its result, and over all that is about one approval."""
    parts = [
        (index, part)
        for index, message in enumerate(messages)
        for part in (() if isinstance(message.content, str) else message.content)
    ]
    approvals = {part.tool_call_id for _, part in parts if isinstance(part, ToolApprovalRequestPart)}
    calls: dict[str, int] = {}
    together: dict[tuple[str, str], list[int]] = {}
    for index, part in parts:
        match part:
            case ToolCallPart():
                calls[part.tool_call_id] = index
            case ToolResultPart() if part.tool_call_id in calls:
                yield calls[part.tool_call_id], index
            case ToolApprovalRequestPart() | ToolApprovalResponsePart():
                together.setdefault(("approval", part.approval_id), []).append(index)
        call = getattr(part, "tool_call_id", None)
        if call in approvals:
            together.setdefault(("call", call), []).append(index)
    for indices in together.values():
        yield indices[0], indices[-1]
