"""The processors' format as a family: versions of `@mastra/core`."""

from __future__ import annotations

from typing import Any, Final

from agentcore.frameworks.mastra.causes import writes
from agentcore.frameworks.mastra.comparison import COMPARISON
from agentcore.frameworks.mastra.features import FEATURES, features
from agentcore.frameworks.mastra.isolation import ISOLATION
from agentcore.frameworks.mastra.profiles import PROFILES
from agentcore.frameworks.mastra.program import check, to_line, trace_problem
from agentcore.frameworks.mastra.programs import random_program
from agentcore.frameworks.mastra.reference import PROFILE_NAMES, recording, trace, trace_under
from agentcore.frameworks.mastra.shrinking import SHRINKING
from agentcore.kit.families import Emulation, Family

__all__ = ["FAMILY"]


def _refusal(program_id: Any, name: str, message: str) -> dict[str, Any]:
    return {"id": program_id, "driverError": f"{name}: {message}"}


FAMILY: Final = Family(
    name="mastra",
    profiles=PROFILE_NAMES,
    check=check,
    to_line=to_line,
    trace=trace,
    program=random_program,
    comparison=COMPARISON,
    shrinking=SHRINKING,
    feature_names=FEATURES,
    features=features,
    smallest=lambda text: {"id": "lint", "messages": [text]},
    trace_problem=trace_problem,
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=recording,
    isolation=ISOLATION,
    refusal=_refusal,
    trace_fields=("events", "error"),
)
