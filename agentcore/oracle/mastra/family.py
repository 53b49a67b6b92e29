"""The processors' format as a family: versions of `@mastra/core`."""

from __future__ import annotations

from typing import Any, Final

from agentcore.compat.mastra.profiles import PROFILES
from agentcore.oracle.families import Emulation, Family
from agentcore.oracle.mastra.causes import writes
from agentcore.oracle.mastra.comparison import COMPARISON
from agentcore.oracle.mastra.features import FEATURES, features
from agentcore.oracle.mastra.isolation import ISOLATION
from agentcore.oracle.mastra.program import check, to_line
from agentcore.oracle.mastra.programs import random_program
from agentcore.oracle.mastra.reference import PROFILE_NAMES, recording, trace, trace_under
from agentcore.oracle.mastra.shrinking import SHRINKING

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
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=recording,
    isolation=ISOLATION,
    refusal=_refusal,
    trace_fields=("events", "error"),
)
