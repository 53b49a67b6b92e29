from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from agentcore.frameworks.strands.family import FAMILY, TRAITS
from agentcore.kit.compare import differences
from agentcore.oracle.spec.vectors import Vector
from spec.recorded import of

VECTORS: Final = {profile: of(profile) for profile in TRAITS}
CASES: Final = [vector for vectors in VECTORS.values() for vector in vectors]


def recorded(vector: Vector) -> dict[str, Any]:
    [trace] = vector.traces.values()
    found: dict[str, Any] = trace
    return found


# Of the claims these cannot be seen in a run of a program: they are about types, tests, texts, cost, values
# that JSON does not have, or commits that were never published.
BEYOND_PROGRAMS: Final = {
    *("S19", "S20", "S29", "S30", "S32", "S34", "S37", "S39", "S40", "S41", "S42", "S43", "S47", "S48"),
    *("S49", "S50", "S52", "S56", "S57", "S58", "S60", "S61", "S62", "S80", "S81"),
}


def test_every_claim_that_a_program_can_show_has_a_vector() -> None:
    claims = {f"S{number}" for number in range(1, 87)}
    assert claims - {claim for vector in CASES for claim in vector.claims} == BEYOND_PROGRAMS


def test_every_profile_gives_another_trace_than_the_others_for_some_program() -> None:
    for profile, vectors in VECTORS.items():
        for other in TRAITS.keys() - {profile}:
            traces = {vector.name: recorded(vector) for vector in VECTORS[other]}
            assert any(
                differences(recorded(vector), traces[vector.name], FAMILY.comparison)
                for vector in vectors
                if vector.name in traces
            )


# --- the contract: whose objects a context has --------------------------------------------------------------


# An invocation state and options that the SDK made itself are nobody else's: `deep`. What is a text, a value,
# in TypeScript is a list in Python. Contexts in which a handler put a copy of its own are left out.
CONTRACT: Final = {
    ("model", "messages"): ({"share"}, {"deep"}, {"deep"}),
    ("model", "system"): ({"share", "value"}, {"deep", "shallow", "value"}, {"deep"}),
    ("model", "toolSpecs"): ({"shallow"}, {"deep"}, {"deep"}),
    ("model", "toolChoice"): ({"unknown"}, {"unknown"}, {"unknown"}),
    ("model", "modelState"): ({"share"}, set(), set()),
    ("model", "invocationState"): ({"share", "deep"}, {"share", "deep"}, {"share", "deep"}),
    ("tool", "toolUse"): ({"shallow"}, {"deep"}, {"shallow"}),
    ("tool", "invocationState"): ({"share", "deep"}, {"share", "deep"}, {"share", "deep"}),
    ("stream", "args"): ({"share", "value"}, {"share", "value"}, {"share", "shallow", "deep"}),
    ("stream", "options"): ({"share", "shallow", "deep"}, {"share", "shallow", "deep"}, set()),
    ("stream", "invocationState"): ({"share", "deep"}, {"share", "deep"}, {"share", "deep"}),
}
COPIED_BY_HANDLERS: Final = {"model-functional-deep", "tool-input-functional"}


@pytest.mark.parametrize(("stage", "field"), CONTRACT)
@pytest.mark.parametrize("column", range(3))
def test_a_field_of_a_context_is_shared_or_copied_as_the_contract_has_it(
    stage: str, field: str, column: int
) -> None:
    profile = [*TRAITS][column]
    seen = {
        mode
        for vector in VECTORS[profile]
        if vector.name not in COPIED_BY_HANDLERS
        for mode in _modes_of(vector, stage, field)
    }
    assert seen - {"absent"} == CONTRACT[stage, field][column]


def _modes_of(vector: Vector, stage: str, field: str) -> Iterator[str]:
    for seen in recorded(vector).get("identity", []):
        if f":{stage}." in seen["by"] and "keys" in seen:
            yield seen["fields"].get(field, {"mode": "absent"})["mode"]


def test_guarded_content_of_the_prompt_is_the_agents_own_where_the_rest_is_copied() -> None:
    [vector] = [
        vector for vector in VECTORS["strands-ts@1.19.0"] if vector.name == "model-system-guardcontent"
    ]
    trace = recorded(vector)
    assert trace["identity"][0]["fields"]["system"] == {
        "mode": "shallow",
        "paths": [["system", 0, "guardContent", "text"]],
    }
    assert trace["system"][0]["guardContent"]["text"] == {"text": "EDIT", "qualifiers": ["query", "LEAK"]}
