"""The AI SDK's format as a family: its versions on both paths, and the immutable core."""

from __future__ import annotations

from typing import Any, Final

from agentcore.frameworks.ai_sdk.causes import writes
from agentcore.frameworks.ai_sdk.comparison import COMPARISON
from agentcore.frameworks.ai_sdk.features import FEATURES, features
from agentcore.frameworks.ai_sdk.isolation import ISOLATION
from agentcore.frameworks.ai_sdk.profiles import PROFILES
from agentcore.frameworks.ai_sdk.program import check, path_of, to_line, trace_problem
from agentcore.frameworks.ai_sdk.programs import random_program
from agentcore.frameworks.ai_sdk.reference import PROFILE_NAMES, recording, trace, trace_under
from agentcore.frameworks.ai_sdk.shrinking import SHRINKING
from agentcore.kit.choices import Choices
from agentcore.kit.families import Emulation, Family, profiles_under

__all__ = ["FAMILY"]


def _program(choices: Choices, program_id: str, profile: str) -> dict[str, Any]:
    data = next((PROFILES[name] for name in profiles_under(profile).values() if name in PROFILES), None)
    shown = () if data is None else data.shown_to_prepare_step
    return random_program(choices, id=program_id, path=path_of(profile), shown=shown)


FAMILY: Final = Family(
    name="ai-sdk",
    profiles=PROFILE_NAMES,
    check=check,
    to_line=to_line,
    trace=trace,
    program=_program,
    comparison=COMPARISON,
    shrinking=SHRINKING,
    feature_names=FEATURES,
    features=features,
    smallest=lambda text: {
        "id": "lint",
        "path": "generate",
        "messages": [{"role": "user", "content": text}],
        "script": [[{"type": "text", "text": "ok"}]],
    },
    trace_problem=trace_problem,
    tells_refusals=True,
    pictured=("caller", "initial", "response", "prompt"),
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=recording,
    isolation=ISOLATION,
)
