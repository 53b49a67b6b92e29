"""Faults at single boundaries of Strands: profiles with one field changed, and texts of the driver."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import attrs

from agentcore.frameworks.strands.profiles import (
    PROFILES,
    HandlerFailure,
    Kept,
    ModelCopies,
    ModelState,
    StrandsProfile,
)
from agentcore.heap.copying import CopyDepth
from faults.js_faults import JsFault

_T = TypeVar("_T", StrandsProfile, ModelCopies)

_BEFORE: Final = "strands-ts@1.5.0"
_NOW: Final = "strands-ts@1.19.0"
_PYTHON: Final = "strands-py@1.62.0"


@attrs.frozen
class StrandsFault:
    """A changed field of a profile; `copies.` leads to those of the model stage."""

    of: str
    field: str
    value: Any = attrs.field(kw_only=True)

    def profile(self) -> StrandsProfile:
        """The faulty profile."""
        right = PROFILES[self.of]
        name = self.field.removeprefix("copies.")
        if name == self.field:
            return _changed(right, name, self.value)
        return attrs.evolve(right, model_copies=_changed(right.model_copies, name, self.value))


def _changed(right: _T, name: str, value: Any) -> _T:
    assert getattr(right, name) != value, "this would be no fault"
    return attrs.evolve(right, **{name: value})


IN_PROFILE: Final[Mapping[str, StrandsFault]] = MappingProxyType(
    {
        "messages copied one level too shallow": StrandsFault(_NOW, "copies.messages", value=CopyDepth.PART),
        "messages in Python copied one level": StrandsFault(_PYTHON, "copies.messages", value=CopyDepth.LIST),
        "guarded content copied": StrandsFault(_NOW, "copies.system", value=CopyDepth.DEEP),
        "tools' descriptions live": StrandsFault(_NOW, "copies.tool_specs", value=CopyDepth.LIST),
        "tool input live": StrandsFault(_NOW, "tool_use_copied", value=CopyDepth.PART),
        "tool input copied in Python": StrandsFault(_PYTHON, "tool_use_copied", value=CopyDepth.DEEP),
        "model state copied before the chain": StrandsFault(
            _BEFORE, "model_state", value=ModelState.PER_CHAIN
        ),
        "attempts go on from each other": StrandsFault(_NOW, "model_state", value=ModelState.PER_CHAIN),
        "attempts start anew in Python": StrandsFault(_PYTHON, "model_state", value=ModelState.PER_ATTEMPT),
        "answers kept at once": StrandsFault(_NOW, "answer_kept", value=Kept.AT_ONCE),
        "a tool handler's error is a result": StrandsFault(
            _NOW, "handler_failure", value=HandlerFailure.RESULT
        ),
        "ids of results kept": StrandsFault(_BEFORE, "result_ids_kept", value=True),
        "the caller's array of arguments copied": StrandsFault(_BEFORE, "args_copied", value=CopyDepth.LIST),
    }
)

IN_DRIVER: Final[Mapping[str, JsFault]] = MappingProxyType(
    {
        "messages copied one level too shallow": JsFault(
            _NOW,
            "  sdk.configureLogging({",
            "  const { Message } = sdk;"
            " Message.prototype.clone = function () { return Message.fromMessageData(this.toJSON()); };"
            " sdk.configureLogging({",
        ),
        "model state written back on error": JsFault(
            _NOW,
            "if (said.throwAfter !== undefined) throw new Error(said.throwAfter);",
            "if (said.throwAfter !== undefined) {"
            " const written = Object.entries(modelState.getAll());"
            " for (const [key, value] of written) run.agent.modelState.set(key, value);"
            " throw new Error(said.throwAfter); }",
        ),
        "a tool gets the input that is in the history": JsFault(
            _NOW,
            "const { toolUseId } = toolUse;",
            "const { toolUseId } = toolUse;"
            " toolUse = run.pending.content.find((block) => block.toolUseId === toolUseId) ?? toolUse;",
        ),
        "the caller's system prompt copied": JsFault(
            _BEFORE, "{ systemPrompt: caller.system }", "{ systemPrompt: structuredClone(caller.system) }"
        ),
        "the invocation state copied for the model stage": JsFault(
            _BEFORE,
            "wrap(handler, context, next) {",
            "wrap(handler, context, next) {"
            " const { invocationState } = context;"
            " const copied = { ...context, invocationState: { ...invocationState } };"
            " if (handler.stage === 'model') context = copied;",
        ),
    }
)
