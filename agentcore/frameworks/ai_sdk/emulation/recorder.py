"""What a step records of the parts that its model sent, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from agentcore.frameworks.ai_sdk.emulation.calls import Calls, StepCalls
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.heap import UNDEFINED, Ref, Store, Value
from agentcore.heap.js import (
    PackageError,
    elements,
    fields,
    get,
    is_nullish,
)

__all__ = ["KINDS", "Recorded", "Recorder", "Sent"]

KINDS: Final = ("text", "reasoning", "source", "tool-call", "tool-result")
"""The types of the parts that a model may send."""


@attrs.define
class Recorded:
    """The record of a step: its content, its calls, and the results and errors that calls got here.

    `answers` are those to requests for approval. `counted` are the numbers of client calls and of results
    when the tools had run, if they are counted then. `broken` is how the model's answer broke the tool
    choice, if the run reports that and goes on; `start` is the chunk that reported the step's start.
    """

    content: list[Ref] = attrs.field(factory=list)
    calls: list[Ref] = attrs.field(factory=list)
    outputs: list[Ref] = attrs.field(factory=list)
    answers: list[Ref] = attrs.field(factory=list)
    counted: tuple[int, int] | None = None
    broken: PackageError | None = None
    start: Ref | None = None

    def denied(self, store: Store) -> int:
        """The number of calls that were denied."""
        return sum(get(store, answer, "approved") is False for answer in self.answers)


@attrs.frozen
class Sent:
    """The model's answer: its own array of parts, and the inputs of its calls as plain JSON, by address."""

    parts: Ref
    inputs: Mapping[int, Any]
    finish_reason: str


class Recorder:
    """What recording a step's content is made of."""

    def __init__(self, profile: AiSdkProfile, calls: Calls, step: StepCalls) -> None:
        self.profile = profile
        self.calls = calls
        self.store = calls.store
        self.step = step

    def parts(self, sent: Sent) -> list[Ref]:
        """The model's parts, as its array holds them now; what is no part is left out."""
        listed = elements(self.store, sent.parts)
        return [part for part in listed if self.kind(part) in KINDS]  # type: ignore[misc]

    def kind(self, part: Value) -> Value:
        """The part's type."""
        return get(self.store, part, "type")

    def parse(self, part: Ref, sent: Sent) -> Ref:
        """The call that is recorded for a part."""
        return self.calls.parse(part, sent.inputs.get(part.address), self.step.known)

    def chosen(self, calls: Iterable[Ref]) -> PackageError | None:
        """Returns what the tool choice in force forbids about these calls."""
        store, choice = self.store, self.step.choice
        if not self.profile.tool_choice_enforced or is_nullish(choice):
            return None
        kind, calls = get(store, choice, "type"), list(calls)
        if kind == "none":
            wrong = bool(calls)
        elif kind == "auto" or not self.profile.required_calls_enforced:
            return None
        else:
            wanted = get(store, choice, "toolName")
            wrong = not any(kind == "required" or get(store, call, "toolName") == wanted for call in calls)
        name = "AI_ToolChoiceViolationError"
        return PackageError(name, "The answer is not what the tool choice asks for.") if wrong else None

    def tool(self, call: Ref) -> Value:
        """The tool that a call may run."""
        return self.calls.tool(self.step.tools, get(self.store, call, "toolName"))

    def answered_here(self, call: Ref) -> bool:
        """Whether a call of an unknown tool gets its error here."""
        return self.profile.answers_invalid_provider_calls or not get(self.store, call, "providerExecuted")

    def plain_part(self, part: Ref) -> Ref:
        """A text, reasoning or source part as it is recorded."""
        if not self.profile.content_copied or self.kind(part) == "source":
            return part
        read = {key: get(self.store, part, key) for key in ("type", "text", "providerMetadata")}
        return self.store.object(read)

    def recorded_call(self, call: Ref) -> Ref:
        """A call as it is recorded."""
        if not self.profile.calls_copied:
            return call
        return self.store.derive(self.store.object(fields(self.store, call)), call)

    def provider_result(self, part: Ref, call: Value, dynamic: Value) -> Ref:
        """A result that the provider sent of a call it ran itself; undefined stands for an unknown call."""
        store = self.store
        call_input = UNDEFINED if call is UNDEFINED else get(store, call, "input")
        failed = bool(get(store, part, "isError"))
        metadata = get(store, part, "providerMetadata")
        return store.object(
            {
                "type": "tool-error" if failed else "tool-result",
                "toolCallId": get(store, part, "toolCallId"),
                "toolName": get(store, part, "toolName"),
                "input": call_input,
                "error" if failed else "output": get(store, part, "result"),
                "providerExecuted": True,
                "dynamic": dynamic,
                "providerMetadata": UNDEFINED if is_nullish(metadata) else metadata,
                "toolMetadata": self._tool_metadata(call),
            }
        )

    def _tool_metadata(self, call: Value) -> Value:
        named = self.profile.metadata_on_calls and call is not UNDEFINED
        metadata = get(self.store, call, "toolMetadata") if named else UNDEFINED
        return UNDEFINED if is_nullish(metadata) else metadata
