"""What a vector holds is well-formed and still true, a test each; those of a folder show what they cite."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import attrs
import jsonschema_rs
import pytest

from agentcore.frameworks.ai_sdk.profiles import PROFILES
from agentcore.frameworks.ai_sdk.reference import trace
from agentcore.kit.compare import differences, render
from agentcore.kit.families import profiles_under
from agentcore.kit.framework import FRAMEWORKS
from agentcore.kit.program import schema
from agentcore.oracle.spec.vectors import Vector, replay
from spec.citations import VECTORS, shown_by
from spec.flips import decided, tells
from spec.requirements import families, statements

# ---------------------------------------------------------------- what a family says of its vectors


@attrs.frozen
class Kind:
    """What claims of a family are called, in which folder its framework lies, and whose traces they are.

    A vector cites a claim where a package was run for it.
    """

    claim: str
    folder: str
    is_of_package: Callable[[Vector, str, Mapping[str, Any]], bool]


def _of_ai_sdk(vector: Vector, run: str, recorded: Mapping[str, Any]) -> bool:
    return bool(recorded["package"] == PROFILES[f"{vector.profile}/{run}"].package)


def _of_profile(vector: Vector, run: str, recorded: Mapping[str, Any]) -> bool:
    return bool(recorded["profile"] == profiles_under(vector.profile)[run])


def _of_version(vector: Vector, _: str, recorded: Mapping[str, Any]) -> bool:
    return vector.profile.endswith(f"@{recorded['version']}")


KINDS: Final = {
    "ai-sdk": Kind(r"[CX][1-9]\d*", "ai_sdk", _of_ai_sdk),
    "mastra": Kind(r"M[1-9]\d*|aliasing/[a-zA-Z0-9]+([._-][a-zA-Z_-]+)?", "mastra", _of_version),
    "store-boundary": Kind(r"K[1-9]\d*", "store_boundary", _of_profile),
    "strands": Kind(r"S[1-9]\d*", "strands", _of_version),
}
FIRST_OF_THE_AI_SDK: Final = "ai-sdk-6"


@cache
def _validator(folder: str) -> Any:
    return jsonschema_rs.validator_for(schema("trace", f"agentcore.frameworks.{folder}"))


# ---------------------------------------------------------------- what may be wrong with one


def faults(vector: Vector) -> Iterator[str]:
    """What is wrong with a vector, in sentences."""
    yield from _faults_in(vector)
    yield from _faults_of_what_it_shows(vector)


def _faults_in(vector: Vector) -> Iterator[str]:
    yield from _faults_of_head(vector)
    yield from _faults_of_traces(vector)
    for run, difference in replay(vector):
        if difference is not None:
            yield f"{run}: the reference gives another trace than was recorded\n{render(difference)}"


def _faults_of_what_it_shows(vector: Vector) -> Iterator[str]:
    yield from _faults_of_decisions(vector)
    if _is_of_later_version(vector) and not _differs_from_first(vector):
        yield f"{FIRST_OF_THE_AI_SDK} gives the same traces"


def _faults_of_head(vector: Vector) -> Iterator[str]:
    kind = KINDS[vector.family.name]
    family, topic = vector.file.parts[-3:-1]
    if family != vector.family.name:
        yield f"it is of {vector.profile} and stands in the folder {family}"
    if not {topic, f"{family}.{topic}"} & shown_by(vector.file):
        yield f"it stands in the folder {topic}, which is no rule that a version of it shows"
    if not vector.title:
        yield "it has no title"
    if not vector.claims and FRAMEWORKS[family].packages:
        yield "it cites no claim"
    yield from (f"{claim} is no claim" for claim in vector.claims if not re.fullmatch(kind.claim, claim))
    if not vector.requirements:
        yield "it cites no requirement"
    known = statements()
    yield from (f"{name} is no requirement" for name in vector.requirements if name not in known)
    if len({*vector.requirements}) != len(vector.requirements):
        yield "it cites a requirement twice"


def _faults_of_traces(vector: Vector) -> Iterator[str]:
    kind = KINDS[vector.family.name]
    if {*vector.traces} != {*vector.runs}:
        yield f"it has traces of {', '.join(vector.traces)}, not of {', '.join(vector.runs)}"
    for run, recorded in vector.traces.items():
        for error in _validator(kind.folder).iter_errors(recorded):
            # Its message begins with the whole trace.
            yield f"{run}: the trace is not one of the format: ...{error.message[-200:]}"
        if not kind.is_of_package(vector, run, recorded):
            yield f"{run}: the trace is of another package or version"
        if vector.runs == (vector.profile,) and recorded["id"] != vector.name:
            yield f"{run}: the trace is of the program {recorded['id']}"
    lost = any(recorded.get("opErrors") for recorded in vector.traces.values())
    if lost != ("oracle.op-skipped" in vector.requirements):
        yield "ops lead nowhere where it is not said that this is shown, or the other way round"


def _faults_of_decisions(vector: Vector) -> Iterator[str]:
    """A vector that cites what a profile decides has another trace when the profile decides otherwise."""
    for family, field in decided(vector.requirements):
        profiles = profiles_under(vector.profile)
        if not any(tells(family, field, profile, vector.on(run)) for run, profile in profiles.items()):
            yield f"no trace is another if {field.requirement} is decided otherwise"


def _is_of_later_version(vector: Vector) -> bool:
    return vector.family.name == "ai-sdk" and vector.profile != FIRST_OF_THE_AI_SDK


def _differs_from_first(vector: Vector) -> bool:
    """Whether the first version gives another trace: a vector of a later one shows what is new."""
    for run, recorded in vector.traces.items():
        first = json.loads(json.dumps(trace(vector.on(run), f"{FIRST_OF_THE_AI_SDK}/{run}")))
        if differences(recorded, first, vector.family.comparison):
            return True
    return False


# ---------------------------------------------------------------- the tests


def _id_of(folder: Path) -> str:
    return "-".join(folder.parts[-2:])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector.profile}-{vector.name}")
def test_a_vector_is_whole_and_true(vector: Vector) -> None:
    assert [*_faults_in(vector)] == []


@pytest.mark.parametrize("folder", sorted({vector.file.parent for vector in VECTORS}), ids=_id_of)
def test_the_vectors_of_a_folder_show_what_they_cite(folder: Path) -> None:
    own = [vector for vector in VECTORS if vector.file.parent == folder]
    found = [f"{one.profile}-{one.name}: {fault}" for one in own for fault in _faults_of_what_it_shows(one)]
    assert found == []


def _one(family: str) -> Vector:
    return next(
        vector
        for vector in VECTORS
        if vector.family.name == family and vector.requirements and not decided(vector.requirements)
    )


def _with_trace(vector: Vector, **fields: Any) -> Vector:
    run, *_ = vector.traces
    return attrs.evolve(vector, traces={**vector.traces, run: {**vector.traces[run], **fields}})


BREAKS: Final[dict[str, tuple[Callable[[Vector], Vector], str]]] = {
    "folder": (
        lambda one: attrs.evolve(one, file=one.file.parents[2] / "x" / "y" / "z.json"),
        "in the folder x",
    ),
    "topic": (lambda one: attrs.evolve(one, file=one.file.parents[1] / "x" / "z.json"), "which is no rule"),
    "title": (lambda one: attrs.evolve(one, title=""), "it has no title"),
    "claims": (lambda one: attrs.evolve(one, claims=()), "it cites no claim"),
    "claim": (lambda one: attrs.evolve(one, claims=("Q0",)), "Q0 is no claim"),
    "requirements": (lambda one: attrs.evolve(one, requirements=()), "it cites no requirement"),
    "unknown": (lambda one: attrs.evolve(one, requirements=("a.b",)), "a.b is no requirement"),
    "twice": (
        lambda one: attrs.evolve(one, requirements=one.requirements * 2),
        "it cites a requirement twice",
    ),
    "runs": (lambda one: attrs.evolve(one, traces={}), "it has traces of "),
    "schema": (lambda one: _with_trace(one, error=7), "is not one of the format"),
    "reference": (lambda one: _with_trace(one, error={"name": "E", "message": "m"}), "gives another trace"),
    "ops": (
        lambda one: attrs.evolve(one, requirements=(*one.requirements, "oracle.op-skipped")),
        "ops lead nowhere",
    ),
}


@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("family", ["ai-sdk", "mastra"])
def test_what_is_wrong_with_a_vector_is_found(broken: str, family: str) -> None:
    change, text = BREAKS[broken]
    assert any(text in fault for fault in faults(change(_one(family))))


def test_a_trace_of_another_version_is_found() -> None:
    for family, field in (("ai-sdk", "package"), ("mastra", "version"), ("strands", "version")):
        assert any(
            "of another package" in fault for fault in faults(_with_trace(_one(family), **{field: "0"}))
        )


def test_a_decision_that_a_vector_does_not_show_is_found() -> None:
    vector, family = _one("strands"), families()["strands"]
    program = vector.on(vector.profile)
    field = next(each for each in family.fields if not tells(family, each, vector.profile, program))
    claiming = attrs.evolve(vector, requirements=(*vector.requirements, field.requirement))
    assert [*faults(claiming)] == [f"no trace is another if {field.requirement} is decided otherwise"]


def test_a_vector_of_a_later_version_that_shows_nothing_new_is_found() -> None:
    old = attrs.evolve(_one("ai-sdk"), profile="ai-sdk-7")
    assert "ai-sdk-6 gives the same traces" in [*faults(old)]


def test_vectors_are_many_and_no_two_of_a_profile_are_the_same_program() -> None:
    programs: dict[str, list[str]] = {}
    for vector in VECTORS:
        programs.setdefault(vector.profile, []).append(json.dumps(vector.program, sort_keys=True))
    assert sum(map(len, programs.values())) > 1_000
    assert all(len({*found}) == len(found) for found in programs.values())
    of_packages = {vector.profile for vector in VECTORS if FRAMEWORKS[vector.family.name].packages}
    assert all(len(programs[profile]) > 60 for profile in of_packages)
