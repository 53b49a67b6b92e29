"""Requirements, vectors and examples belong together: none is without the other, and what is cited shows."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

from agentcore.oracle.examples import Example
from agentcore.oracle.families import family_of, profiles_under
from agentcore.oracle.vectors import Vector
from spec.citations import EXAMPLES, VECTORS, cited, named
from spec.flips import flipped
from spec.requirements import Field, ProfileFamily, families, rules, statements


@pytest.mark.parametrize("requirement", statements())
def test_a_requirement_is_cited_by_a_vector_or_an_example(requirement: str) -> None:
    assert cited().get(requirement)


def test_no_vector_or_example_cites_what_is_no_requirement() -> None:
    assert {name: places for name, places in cited().items() if name not in statements()} == {}


def test_each_vector_and_each_example_cites_a_requirement_and_none_twice() -> None:
    for vector in VECTORS:
        assert len({*vector.requirements}) == len(vector.requirements) > 0, vector.file
    for example in EXAMPLES:
        assert len({*example.cites}) == len(example.cites), str(example.place)
        assert example.cites, str(example.place)


def test_ops_lead_nowhere_only_where_that_is_shown() -> None:
    for vector in VECTORS:
        lost = any(trace.get("opErrors") for trace in vector.traces.values())
        assert lost == ("oracle.op-skipped" in vector.requirements), vector.file


def test_a_requirement_has_a_name_a_statement_and_no_namesake() -> None:
    fields = [field.requirement for family in families().values() for field in family.fields]
    assert not {*fields} & {*rules()}
    assert len(fields) == len({*fields})
    for name, statement in statements().items():
        assert statement.endswith("."), name


# ---------------------------------------------------------------- what a profile decides


def decided(names: tuple[str, ...]) -> list[tuple[ProfileFamily, Field]]:
    return [
        (family, field)
        for family in families().values()
        for field in family.fields
        if field.requirement in names
    ]


def tells(family: ProfileFamily, field: Field, profile: str, program: dict[str, Any]) -> bool:
    """Whether a program's trace is another when the profile decides otherwise."""
    package = family.name.replace("-", "_")
    trace_under = import_module(f"agentcore.oracle.{package}.reference").trace_under
    mine = family.profiles[profile]
    before = json.dumps(trace_under(mine, program))
    return any(
        json.dumps(trace_under(other, program)) != before for other in flipped(family, mine, field.name)
    )


CITING = [vector for vector in VECTORS if decided(vector.requirements)]


@pytest.mark.parametrize("vector", CITING, ids=lambda vector: f"{vector.profile}-{vector.name}")
def test_a_vector_that_cites_what_a_profile_decides_tells_it_apart(vector: Vector) -> None:
    for family, field in decided(vector.requirements):
        assert any(
            tells(family, field, profile, vector.on(run))
            for run, profile in profiles_under(vector.profile).items()
        ), field.requirement


SHOWING = [example for example in EXAMPLES if example.program is not None and decided(example.cites)]


@pytest.mark.parametrize("example", SHOWING, ids=named)
def test_an_example_that_cites_what_a_profile_decides_tells_it_apart(example: Example) -> None:
    for family, field in decided(example.cites):
        profiles = {each.profile for each in example.expectations if each.profile in family.profiles}
        assert any(tells(family, field, profile, example.on(profile)) for profile in profiles), (
            f"{example.place}: {field.requirement}"
        )


def test_every_profile_has_vectors() -> None:
    kept = {vector.profile for vector in VECTORS}
    for family in families().values():
        for profile in family.profiles:
            assert {profile, profile.rpartition("/")[0]} & kept
            assert family_of(profile).name == family.name
