"""How two runs with a hook differ, in a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.errors import InvalidJsonError
from agentcore.kit.compare import Difference
from agentcore.messages.values import dump_json
from agentcore.testing.prompts import in_brief

__all__ = ["TwoRuns", "brief", "difference_text"]

Json: TypeAlias = Mapping[str, Any]

_LONGEST: Final = 200
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
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


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
        """What is more, less or moved in a step's prompt; None if a message is another one."""
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
