"""How a run of the loop ended."""

from __future__ import annotations

import attrs

from agentcore.heap.heap import UNDEFINED, Ref, Value
from agentcore.messages.brief import brief


@attrs.define
class Outcome:
    """How a run ended: `steps` is the result's list of steps, None if the caller gets no result.

    `hung` tells that the real result would never settle.
    """

    __repr__ = brief

    error: BaseException | None = None
    steps: Ref | None = None
    finish_reason: Value = UNDEFINED
    hung: bool = False
