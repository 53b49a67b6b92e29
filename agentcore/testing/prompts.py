"""What is wrong with the messages that a hook made of those it was given.

Only what the hook brought about counts: a fault that the given messages have already is nobody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, Literal, TypeAlias

import attrs

from agentcore.errors import InvalidJsonError
from agentcore.messages.schema import accepts, message_schema
from agentcore.messages.values import dump_json, freeze

__all__ = ["Flaw", "PromptFault", "first_flaw", "first_non_message", "in_brief", "prompt_faults"]

Json: TypeAlias = Mapping[str, Any]
Messages: TypeAlias = Sequence[Json]
MessagesHook: TypeAlias = Callable[[Messages], Messages | None]
"""A hook that returns messages, or None for no change."""
PromptFault: TypeAlias = Literal["request lost", "pair cut", "id doubled", "message emptied"]

_LONGEST: Final = 60
_LATER: Final[Messages] = (
    {"role": "assistant", "content": "Done."},
    {"role": "user", "content": "Thank you. What else?"},
)
# What a part belongs to: the type of an earlier part, and the field by which both are known.
_NEEDS: Final = {
    "tool-result": ("tool-call", "toolCallId"),
    "tool-approval-request": ("tool-call", "toolCallId"),
    "tool-approval-response": ("tool-approval-request", "approvalId"),
}
_ID: Final = {
    "tool-call": "toolCallId",
    "tool-result": "toolCallId",
    "tool-approval-request": "approvalId",
    "tool-approval-response": "approvalId",
}


@attrs.frozen
class Flaw:
    """What a provider would refuse: `path` is where, `leaves` says what is left in a few words.

    `key` tells flaws of the same messages apart, wherever they stand.
    """

    kind: PromptFault
    path: str
    leaves: str
    key: tuple[Any, ...] = ()


def first_non_message(messages: Sequence[Any]) -> int | None:
    """Returns the index of the first value that is not a message; None if all are."""
    if _are_messages([*messages]):
        return None
    return next(index for index, each in enumerate(messages) if not _are_messages([each]))


def _are_messages(values: list[Any]) -> bool:
    try:
        freeze(values)
    except InvalidJsonError:
        return False
    return accepts(message_schema(), values)


def prompt_faults(messages: Messages) -> Iterator[Flaw]:
    """Yields what a provider refuses in messages: parts without their counterpart, ids twice, no content."""
    yield from _Pairs().flaws(messages)
    for index, message in enumerate(messages):
        if not _has_content(message):
            leaves = f"message {index} ({message['role']}) without content"
            yield Flaw("message emptied", f"$[{index}].content", leaves)


def first_flaw(given: Messages, made: Messages, hook: MessagesHook) -> Flaw | None:
    """Returns the first flaw of the messages that a hook made of the given ones."""
    if not made:
        return Flaw("request lost", "$", "no message at all")
    known = {(flaw.kind, flaw.key) for flaw in prompt_faults(given)}
    new = (flaw for flaw in prompt_faults(made) if (flaw.kind, flaw.key) not in known)
    return next(new, None) or _lost_request(given, made, hook)


def _has_content(message: Json) -> bool:
    content = message["content"]
    if isinstance(content, str):
        return bool(content)
    return any(part.get("text") != "" for part in content)


# ---------------------------------------------------------------- calls, results, approvals


class _Pairs:
    """Goes over the parts of messages once, and knows those that came before."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()
        # The calls that wait for their results, with their places.
        self.waiting: dict[str, tuple[str, Json]] = {}

    def flaws(self, messages: Messages) -> Iterator[Flaw]:
        for index, message in enumerate(messages):
            if message["role"] != "tool":
                yield from self._unanswered()
            if not isinstance(message["content"], str):
                for at, part in enumerate(message["content"]):
                    yield from self._part(f"$[{index}].content[{at}]", part)
        yield from self._unanswered()

    def _part(self, path: str, part: Json) -> Iterator[Flaw]:
        kind = part["type"]
        if kind not in _ID:
            return
        own = part[_ID[kind]]
        if (kind, own) in self.seen:
            yield Flaw("id doubled", path, f"{named(part)} twice", (kind, own))
        self.seen.add((kind, own))
        if kind == "tool-call" and not part.get("providerExecuted"):
            self.waiting[own] = path, part
        needs, field = _NEEDS.get(kind, (None, ""))
        if needs is not None and (needs, part[field]) not in self.seen:
            whose = needs.removeprefix("tool-").replace("-", " ")
            yield Flaw("pair cut", path, f"{named(part)} without its {whose}", (kind, own))
        if kind == "tool-result":
            self.waiting.pop(own, None)

    def _unanswered(self) -> Iterator[Flaw]:
        for own, (path, part) in self.waiting.items():
            yield Flaw("pair cut", path, f"{named(part)} without its result after it", ("answer", own))
        self.waiting.clear()


def named(part: Json) -> str:
    """The part in a few words: `the result of call c0 (look)`."""
    match part["type"]:
        case "tool-call":
            return f"call {part['toolCallId']} ({part['toolName']})"
        case "tool-result":
            return f"the result of call {part['toolCallId']} ({part['toolName']})"
        case "tool-approval-request":
            return f"the request for approval {part['approvalId']}"
    return f"the answer to approval {part['approvalId']}"


# ---------------------------------------------------------------- what the user asked


def _lost_request(given: Messages, made: Messages, hook: MessagesHook) -> Flaw | None:
    """The last message of the user, if what was made has it neither as it was nor in other words."""
    asked = [index for index, message in enumerate(given) if message["role"] == "user"]
    if not asked or _is_kept(given, asked[-1], made):
        return None
    request = given[asked[-1]]
    if _is_replaced(given, asked[-1], made) and _rewrites(hook, request):
        return None
    return Flaw("request lost", "$", f"nothing of what the user asked ({in_brief(request)})")


def _is_kept(given: Messages, asked: int, made: Messages) -> bool:
    """Whether the request is there, or a word or a picture of it that no other message has."""
    request = given[asked]
    others = {word for index, each in enumerate(given) if index != asked for word in _words(each)}
    own = _words(request) - others
    media = [part for part in _parts(request) if part["type"] != "text"]
    return any(
        message == request or own & _words(message) or any(part in media for part in _parts(message))
        for message in made
    )


def _is_replaced(given: Messages, asked: int, made: Messages) -> bool:
    """Whether a message of the user's stands where the request stood, and no message beside it is gone."""
    matcher = SequenceMatcher(a=[*map(dump_json, given)], b=[*map(dump_json, made)], autojunk=False)
    for tag, start, end, made_start, made_end in matcher.get_opcodes():
        if tag == "replace" and start <= asked < end:
            roles = [message["role"] for message in made[made_start:made_end]]
            return len(roles) >= end - start and "user" in roles
    return False


def _rewrites(hook: MessagesHook, request: Json) -> bool:
    """Whether the hook puts other words into a message for what it says, and not for where it stands."""
    made = hook([request, *_LATER])
    return made is not None and request not in made


def _words(message: Json) -> set[str]:
    if message["role"] not in ("user", "system"):
        return set()
    texts = (part["text"] for part in _parts(message) if part["type"] == "text")
    return {word.casefold() for text in texts for word in text.split()}


def _parts(message: Json) -> Sequence[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def in_brief(message: Json) -> str:
    """A message in a few words: its text, or its first part of another kind."""
    parts = [part for part in _parts(message) if part.get("text") != ""]
    first = next((part for part in parts if part["type"] == "text"), None)
    if first is not None:
        text = first["text"]
        return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")
    if not parts:
        return "(empty)"
    return named(parts[0]) if parts[0]["type"] in _ID else f"a part of type {parts[0]['type']}"
