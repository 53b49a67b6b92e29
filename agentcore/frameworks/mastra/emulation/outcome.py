"""How a call of an agent ended."""

from __future__ import annotations

from typing import Any

import attrs

from agentcore.frameworks.mastra.emulation.errors import CallerError
from agentcore.heap.heap import UNDEFINED, Value
from agentcore.messages.brief import brief


@attrs.frozen(kw_only=True)
class Tripwire:
    """What the caller is told of an aborted run."""

    __repr__ = brief

    reason: str
    retry: Any
    metadata: Any
    processor_id: str


@attrs.define(kw_only=True)
class Outcome:
    """What the caller of an agent gets: `error`, or the other fields.

    `response_messages` is undefined for an aborted run. `last_text` is what a stream's `text` gives. `chunks`
    are the kinds of the stream's chunks, repeats joined.
    """

    __repr__ = brief

    error: CallerError | None = None
    step_texts: list[Value] = attrs.Factory(list)
    last_text: str = ""
    finish_reason: str | None = None
    tripwire: Tripwire | None = None
    response_messages: Value = UNDEFINED
    chunks: list[str] = attrs.Factory(list)

    @property
    def text(self) -> str:
        """The text of all steps."""
        return "".join(told for told in self.step_texts if isinstance(told, str))
