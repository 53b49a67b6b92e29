"""One step of the loop on its way."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from agentcore.frameworks.ai_sdk.emulation.offered import Offer
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.heap import UNDEFINED, Ref, Value

__all__ = ["Step"]


@attrs.define
class Step:
    """One step on its way: what the hooks returned and what was derived from it."""

    number: int
    input: Ref
    model: Ref
    model_info: Ref
    system: Value
    messages: Value
    prompt: Ref
    offer: Offer
    provider_options: Value
    model_settings: Mapping[str, Value]
    response_model: Value = UNDEFINED

    def seen_by_tools(self, profile: AiSdkProfile) -> Value:
        """The messages that the step's tools are given."""
        return self.messages if profile.tools_see_override else self.input
