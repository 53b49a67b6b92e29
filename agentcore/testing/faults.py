"""What may be wrong with a hook, and the errors that say so."""

from __future__ import annotations

import json
from typing import Any, Literal

import attrs

from agentcore.errors import AgentCoreError
from agentcore.values import JsonObject, freeze, sealed, thaw

__all__ = ["HookFault", "HookFaultError", "NothingPollutedError"]

Kind = Literal["in place", "differs", "not idempotent", "raised", "returned"]

_SAYS: dict[str, str] = {
    "in place": "writes in place",
    "differs": "has another effect under a profile than if it were given values",
    "not idempotent": "makes something else when it is applied to what it made",
    "raised": "raised",
    "returned": "returned something that is no result of a hook",
}
_DO: dict[str, str] = {
    "in place": "return new messages and leave the given ones as they are",
    "differs": "return what stays the same where a profile keeps it, or name the profiles you use",
    "not idempotent": "leave what is already done, or check with idempotent=False",
    "raised": "handle every message that a model can be asked with",
    "returned": "return a list of messages or None; of takes='options', an object of overrides or None",
}


@sealed
@attrs.frozen(kw_only=True)
class HookFault:
    """One fault of a hook, with the smallest conversation that was found to show it.

    `path` is where: in what the hook was given (`in place`), in what it made (`not idempotent`), or in what
    its run left (`differs`), where `$.prompts[1]` is what the model was asked with at step 1, `$.caller` what
    the caller's messages became, and `$.steps` are those of the result. `details` say the rest, one a line.
    `step` is the step of the hook's call; None for `differs`.
    """

    kind: Kind
    path: str
    step: int | None
    profile: str
    conversation: JsonObject = attrs.field(converter=freeze)
    details: tuple[str, ...]

    def __str__(self) -> str:
        where = f"under {self.profile}" if self.step is None else f"at step {self.step}"
        shown = json.dumps(thaw(self.conversation), indent=2, ensure_ascii=False)
        lines = (f"  {line}" for detail in self.details for line in detail.splitlines())
        return "\n".join(
            (
                f"{_SAYS[self.kind]}, {where}:",
                *lines,
                _DO[self.kind],
                "",
                "the smallest conversation that shows it:",
                shown,
            )
        )


class HookFaultError(AgentCoreError, AssertionError):
    """A hook that was checked has a fault; `hook` is its name."""

    wire_name = "HookFaultError"

    def __init__(self, hook: str, fault: HookFault) -> None:
        super().__init__(hook, fault)
        self.hook = hook
        self.fault = fault
        self.path = fault.path

    def __str__(self) -> str:
        return f"{self.hook} {self.fault}"


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
