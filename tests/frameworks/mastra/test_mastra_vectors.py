"""Programs of processors with the traces that the real package gave, replayed without it."""

from __future__ import annotations

import re
from typing import Any, Final

from agentcore.frameworks.mastra.program import features
from agentcore.kit.program import schema
from spec.recorded import of

PROFILES: Final = ("mastra@1.71.0", "mastra@1.0.4")
VECTORS: Final = tuple(vector for profile in PROFILES for vector in of(profile))
# What only a type checker, a second call, a memory, a span, or a class that is not exported shows.
_NOT_OF_PROGRAMS: Final = frozenset({24, 27, 33, 35, 36, 52, 53, 54, 58, 85, 92, 109, 113})


def test_every_claim_that_a_program_can_show_has_a_vector() -> None:
    cited = {int(found[1]) for claim in _cited() if (found := re.fullmatch(r"M(\d+)", claim))}
    assert {*range(1, 114)} - _NOT_OF_PROGRAMS <= cited


def _cited() -> set[str]:
    return {claim for vector in VECTORS for claim in vector.claims}


def test_vectors_of_mastra_have_every_op_and_every_target() -> None:
    found: set[Any] = {what for vector in VECTORS for what in features({"id": "a", **vector.program})}
    of_op = schema("program", "agentcore.frameworks.mastra")["$defs"]["op"]["anyOf"]
    ops = {choice["$ref"].rpartition("/")[2] for choice in of_op}
    assert {f"op {op}" for op in ops} <= found
