"""The rules by which a profile makes prompts."""

from __future__ import annotations

from typing import Final

import attrs

from agentcore.frameworks.ai_sdk.emulation.prompts import PLAIN, PLAIN_WITH_TEXT, PromptRules
from agentcore.frameworks.ai_sdk.emulation.tagged import TAGGED
from agentcore.frameworks.ai_sdk.profile import AiSdkProfile, FileShape

_OF: Final = {FileShape.PLAIN: PLAIN, FileShape.PLAIN_WITH_TEXT: PLAIN_WITH_TEXT, FileShape.TAGGED: TAGGED}


def rules_of(profile: AiSdkProfile, provider: str = "") -> PromptRules:
    """Returns the rules of a profile for prompts to a model of the provider."""
    return attrs.evolve(
        _OF[profile.files],
        merged_options_kept=profile.merged_options_kept,
        lone_options_kept=profile.lone_options_kept,
        unsafe_keys_dropped=profile.unsafe_keys_dropped,
        approvals_excuse_results=profile.approvals_excuse_results,
        provider=provider,
    )
