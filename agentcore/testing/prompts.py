"""Faults of the messages that a hook made of those it got.

Only what the hook brought about counts: a fault that the given messages have already is nobody's.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, Literal, TypeAlias

import attrs

from agentcore.errors import AgentCoreError, InvalidJsonError
from agentcore.kit.compare import Difference
from agentcore.kit.program import accepts, message_schema
from agentcore.messages.values import JsonObject, dump_json, freeze, sealed, thaw

__all__ = [
    "Flaw",
    "HookFault",
    "HookFaultError",
    "Kind",
    "NothingPollutedError",
    "PromptFault",
    "TwoRuns",
    "brief",
    "difference_text",
    "first_flaw",
    "first_non_message",
    "in_brief",
    "prompt_faults",
]

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
    """A fault that a provider would refuse: `path` is its place, `leaves` says in a few words what is left.

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
    """Return whether the request is there, or a word or a picture of it that no other message has."""
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


# What may be wrong with a hook, and the errors that say so.

Kind: TypeAlias = (
    Literal["in place", "raised", "returned", "fails", "differs", "not idempotent"] | PromptFault
)

_MENDS: dict[str, str] = {
    "in place": "return new messages and leave the given ones as they are",
    "raised": "handle every message that a model can be asked with",
    "returned": "return a list of messages or None; with takes='options', an object of overrides or None",
    "request lost": "keep the message that the user is waiting to have answered",
    "pair cut": "keep or drop a call and its result together, with nothing between them",
    "id doubled": "put each message in once",
    "message emptied": "drop a message whose content goes away",
    "fails": "return messages that the profile takes, or name the profiles you use",
    "differs": "return what stays the same where a profile keeps it, or name the profiles you use",
    "not idempotent": "leave what is already done, or check with idempotent=False",
}


@sealed
@attrs.frozen(kw_only=True)
class HookFault:
    """One fault of a hook, with the smallest conversation that was found to show it.

    `sentence` says in plain words what is wrong, and `details` add to it, one line each. `path` is where: in
    what the hook was given (`in place`), in what it returned (`not idempotent`, `returned` and flaws of a
    prompt), or in what its run left (`differs`), where `$.prompts[1]` is what the model was asked with at
    step 1, `$.caller` what the caller's messages became, and `$.steps` are those of the result. `step` is the
    step of the hook's call; None for `differs` and `fails`.
    """

    kind: Kind
    sentence: str
    path: str
    step: int | None
    profile: str
    conversation: JsonObject = attrs.field(converter=freeze)
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = json.dumps(thaw(self.conversation), indent=2, ensure_ascii=False)
        lines = (f"  {line}" for detail in self.details for line in detail.splitlines())
        mend = _MENDS[self.kind]
        return "\n".join((self.sentence, *lines, mend, "", "the smallest conversation that shows it:", shown))


class HookFaultError(AgentCoreError, AssertionError):
    """A hook that was checked has a fault; `hook` is its name, `raised` what it raised, if it did."""

    wire_name = "HookFaultError"

    def __init__(self, hook: str, fault: HookFault, raised: Exception | None = None) -> None:
        super().__init__(hook, fault, raised)
        self.hook = hook
        self.fault = fault
        self.raised = raised
        self.path = fault.path

    def __str__(self) -> str:
        return str(self.fault)


class NothingPollutedError(AgentCoreError, AssertionError):
    """A hook was expected to write in place and did not, in any of the conversations that it was run over."""

    wire_name = "NothingPollutedError"

    def __init__(self, hook: str, examples: int, paths: tuple[Any, ...]) -> None:
        super().__init__(hook, examples, paths)
        self.hook = hook
        self.examples = examples
        self.paths = paths

    def __str__(self) -> str:
        where = f" at {', '.join(self.paths)}" if self.paths else ""
        return (
            f"{self.hook} was expected to write in place{where}, and did not in {self.examples}"
            " conversations; remove the expectation"
        )


# How two runs with a hook differ, in a sentence.

_LONGEST_WORD: Final = 200
_PROMPT: Final = re.compile(r"\$\.prompts\[(\d+)\]")
_TIMES: Final = {2: "twice", 3: "three times"}
# Fields that say what kind of value an object is.
_KINDS: Final = frozenset({"type", "role", "mediaType", "toolName"})


def difference_text(found: Difference) -> str:
    """Returns the first difference as a path and two values."""
    return f"{found.path} is {brief(found.actual)}, not {brief(found.expected)}"


def brief(value: Any) -> str:
    """Returns a value as one line that is not too long."""
    try:
        text = dump_json(value) if isinstance(value, dict | list) else repr(value)
    except InvalidJsonError:
        text = repr(value)
    return text if len(text) <= _LONGEST_WORD else f"{text[: _LONGEST_WORD - 3]}..."


@attrs.frozen(kw_only=True)
class TwoRuns:
    """A conversation run under a profile with a hook, and with the same hook given copies.

    `actual` and `expected` are what the two left: `prompts`, `caller`, `steps` and `error`.
    """

    hook: str
    profile: str
    conversation: Json
    expected: Json
    actual: Json

    def sentence(self, found: Difference) -> str:
        """Says what is different in the first of the two."""
        prompt = _PROMPT.match(found.path)
        if prompt is not None:
            step = int(prompt[1])
            says = self._of_prompts(step) or f"in the prompt of step {step} {difference_text(found)}"
        elif found.path.startswith("$.caller"):
            says = f"{self.hook} changes the caller's messages"
        elif found.path.startswith("$.steps"):
            says = f"{self.hook} changes the steps of the result"
        elif self.actual["error"] is None:
            says = f"the run does not fail, and it does if {self.hook} gets copies"
        else:
            says = f"the run fails with {self.actual['error']}"
        return f"under {self.profile} {says}"

    def _of_prompts(self, step: int) -> str | None:
        """Return what was added, dropped or moved in a step's prompt; None if a message was replaced."""
        prompts, others = self.actual["prompts"], self.expected["prompts"]
        if step >= min(len(prompts), len(others)):
            times = f"{len(others)} times if {self.hook} gets copies"
            return f"the model is asked {len(prompts)} times, and {times}"
        there, wanted = (Counter(map(dump_json, each[step])) for each in (prompts, others))
        more, fewer = there - wanted, wanted - there
        if more and not fewer:
            message = next(each for each in prompts[step] if dump_json(each) in more)
            return f"{self._whose(message)} {_how_often(there[dump_json(message)], step)}"
        if fewer and not more:
            message = next(each for each in others[step] if dump_json(each) in fewer)
            return f"the prompt of step {step} lacks {self._whose(message)}"
        return None if more else f"the messages in the prompt of step {step} are in another order"

    def _whose(self, message: Json) -> str:
        said = in_brief(message)
        if message["role"] == "tool":
            return said
        if not said.startswith(("'", '"')):
            said = f"with {said}"
        added = {*_texts(self.conversation)}.isdisjoint(_texts(message["content"]))
        return (
            f"the message {said} that {self.hook} adds" if added else f"the {message['role']} message {said}"
        )


def _how_often(count: int, step: int) -> str:
    if count == 1:
        return f"is still in the prompt of step {step}"
    return f"is in the prompt of step {step} {_TIMES.get(count, f'{count} times')}"


def _texts(value: Any) -> Iterator[str]:
    """The strings in a value that say something, and not what kind of value it is."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for key, each in value.items() if key not in _KINDS for text in _texts(each))
    elif isinstance(value, Sequence):
        yield from (text for each in value for text in _texts(each))
