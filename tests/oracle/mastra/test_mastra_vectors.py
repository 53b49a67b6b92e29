"""Programs of processors with the traces that the real package gave, replayed without it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest

from agentcore.oracle.mastra.features import features
from agentcore.oracle.vectors import Vector, load, replay
from agentcore.schema import schema

FOLDER: Final = Path(__file__).parents[3] / "spec" / "vectors"
PROFILES: Final = ("mastra@1.71.0", "mastra@1.0.4")
VECTORS: Final = tuple(vector for profile in PROFILES for vector in load(FOLDER / profile))
# What only a type checker, a second call, a memory, a span, or a class that is not exported shows.
_NOT_OF_PROGRAMS: Final = frozenset({24, 27, 33, 35, 36, 52, 53, 54, 58, 85, 92, 109, 112, 113})
_CLAIM: Final = re.compile(r"M([1-9]\d*)|aliasing/[a-zA-Z0-9]+([._-][a-zA-Z_-]+)?")


IDS: Final = [f"{vector.profile}-{vector.name}" for vector in VECTORS]


@pytest.mark.parametrize("vector", VECTORS, ids=IDS)
def test_the_reference_gives_the_trace_that_mastra_gave(vector: Vector) -> None:
    assert dict(replay(vector)) == {vector.profile: None}


@pytest.mark.parametrize("vector", VECTORS, ids=IDS)
def test_a_vector_of_mastra_has_a_title_and_cites_claims(vector: Vector) -> None:
    assert vector.file.parent.name == vector.profile
    assert vector.title
    assert vector.claims
    assert all(_CLAIM.fullmatch(claim) for claim in vector.claims), vector.claims


def test_the_traces_of_vectors_are_what_their_schema_says_and_of_the_package() -> None:
    validator = jsonschema_rs.validator_for(schema("mastra-trace"))
    for vector in VECTORS:
        trace = vector.traces[vector.profile]
        assert validator.is_valid(trace)
        assert f"mastra@{trace['version']}" == vector.profile
        assert "opErrors" not in trace


def test_no_two_vectors_of_mastra_are_the_same_program() -> None:
    programs = {(vector.profile, json.dumps(vector.program, sort_keys=True)) for vector in VECTORS}
    assert len(programs) == len(VECTORS) > 400


def test_every_claim_that_a_program_can_show_has_a_vector() -> None:
    cited = {int(found[1]) for claim in _cited() if (found := re.fullmatch(r"M(\d+)", claim))}
    assert {*range(1, 114)} - _NOT_OF_PROGRAMS <= cited


def _cited() -> set[str]:
    return {claim for vector in VECTORS for claim in vector.claims}


def test_vectors_of_mastra_have_every_op_and_every_target() -> None:
    found: set[Any] = {what for vector in VECTORS for what in features({"id": "a", **vector.program})}
    ops = {choice["$ref"].rpartition("/")[2] for choice in schema("mastra-program")["$defs"]["op"]["anyOf"]}
    assert {f"op {op}" for op in ops} <= found
