"""What may be wrong with a hook, and the errors that say so."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.messages.values import JsonObject, freeze, sealed, thaw
from agentcore.testing.prompts import PromptFault

__all__ = ["HookFault", "HookFaultError", "Kind", "NothingPollutedError"]

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
            " conversations; take the expectation away"
        )
