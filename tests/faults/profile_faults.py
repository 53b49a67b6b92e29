"""Profiles of AI SDK 6, each changed in one field: what a loop would do that gets this one thing wrong."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from agentcore.frameworks.ai_sdk.profiles import (
    PROFILES,
    AiSdkProfile,
    Failure,
    Lifetime,
    Moment,
    Report,
)
from agentcore.heap.copying import CopyDepth


@attrs.frozen
class ProfileFault:
    """A changed field of the profile of one path."""

    path: str
    field: str
    value: Any = attrs.field(kw_only=True)

    def profile(self) -> AiSdkProfile:
        """The faulty profile."""
        right = PROFILES[f"ai-sdk-6/{self.path}"]
        assert getattr(right, self.field) != self.value, "this would be no fault"
        return attrs.evolve(right, **{self.field: self.value})


PROFILE_FAULTS: Final[Mapping[str, ProfileFault]] = MappingProxyType(
    {
        "report of the chain": ProfileFault("stream", "report", value=Report.CHAIN),
        "report of the content": ProfileFault("generate", "report", value=Report.CONTENT),
        "response made too early": ProfileFault("stream", "response_made", value=Moment.BEFORE_STEP_FINISH),
        "response made too late": ProfileFault("generate", "response_made", value=Moment.AFTER_STOP_WHEN),
        "context for one step": ProfileFault("stream", "context_lives", value=Lifetime.STEP),
        "caller's array copied": ProfileFault("generate", "caller_to_initial", value=CopyDepth.LIST),
        "caller's messages copied": ProfileFault("stream", "caller_to_initial", value=CopyDepth.DEEP),
        "hooks get deep copies": ProfileFault("stream", "chains_to_hooks", value=CopyDepth.DEEP),
        "results in call order": ProfileFault("stream", "pace", value=None),
        "empty results dropped": ProfileFault("generate", "keeps_empty_results", value=False),
        "empty results kept": ProfileFault("stream", "keeps_empty_results", value=True),
        "step recorded too early": ProfileFault("stream", "step_recorded", value=Moment.BEFORE_STEP_FINISH),
        "step recorded too late": ProfileFault("generate", "step_recorded", value=Moment.AFTER_STEP_FINISH),
        "denial without its approval": ProfileFault("generate", "denial_names_approval", value=False),
        "denial with its approval": ProfileFault("stream", "denial_names_approval", value=True),
        "provider's answers last": ProfileFault("stream", "provider_answers_first", value=False),
        "finished steps lost": ProfileFault("stream", "failure", value=Failure.REJECTED),
    }
)
