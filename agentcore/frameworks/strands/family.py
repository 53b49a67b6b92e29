"""The middleware format as a family: two versions of the SDK in TypeScript, and the one in Python."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from agentcore.frameworks.strands.causes import writes
from agentcore.frameworks.strands.comparison import COMPARISON
from agentcore.frameworks.strands.features import FEATURES, features
from agentcore.frameworks.strands.isolation import ISOLATION
from agentcore.frameworks.strands.profiles import PROFILES
from agentcore.frameworks.strands.program import check, to_line, trace_problem
from agentcore.frameworks.strands.programs import Traits, random_program
from agentcore.frameworks.strands.reference import recording, trace, trace_under
from agentcore.frameworks.strands.shrinking import SHRINKING
from agentcore.kit.choices import Choices
from agentcore.kit.families import Emulation, Family

__all__ = ["FAMILY", "TRAITS"]

TRAITS: Final = MappingProxyType(
    {
        "strands-ts@1.5.0": Traits(typescript=True, state_on_context=True),
        "strands-ts@1.19.0": Traits(typescript=True),
        "strands-py@1.62.0": Traits(typescript=False),
    }
)
"""The profiles, and what of the format each of them has."""


def _program(choices: Choices, program_id: str, profile: str) -> dict[str, Any]:
    return random_program(choices, program_id, TRAITS[profile])


def _refusal(program_id: Any, name: str, message: str) -> dict[str, Any]:
    return {"id": program_id, "impl": "agentcore", "driverError": f"{name}: {message}"}


FAMILY: Final = Family(
    name="strands",
    profiles=tuple(TRAITS),
    check=check,
    to_line=to_line,
    trace=trace,
    program=_program,
    comparison=COMPARISON,
    shrinking=SHRINKING,
    feature_names=FEATURES,
    features=features,
    smallest=lambda text: {"id": "lint", "input": text},
    trace_problem=trace_problem,
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=recording,
    isolation=ISOLATION,
    refusal=_refusal,
    trace_fields=("impl",),
)
