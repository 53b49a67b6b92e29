"""Requirements, vectors and examples belong together: none is without the other, and what is cited shows."""

from __future__ import annotations

import pytest

from agentcore.kit.families import family_of
from agentcore.oracle.spec.examples import Example
from spec.citations import EXAMPLES, VECTORS, cited, named
from spec.flips import decided, tells
from spec.requirements import families, rules, statements


@pytest.mark.parametrize("requirement", statements())
def test_a_requirement_is_cited_by_a_vector_or_an_example(requirement: str) -> None:
    assert cited().get(requirement)


def test_no_vector_or_example_cites_what_is_no_requirement() -> None:
    assert {name: places for name, places in cited().items() if name not in statements()} == {}


def test_each_example_cites_a_requirement_and_none_twice() -> None:
    for example in EXAMPLES:
        assert len({*example.cites}) == len(example.cites), str(example.place)
        assert example.cites, str(example.place)


def test_a_requirement_has_a_name_a_statement_and_no_namesake() -> None:
    fields = [field.requirement for family in families().values() for field in family.fields]
    assert not {*fields} & {*rules()}
    assert len(fields) == len({*fields})
    for name, statement in statements().items():
        assert statement.endswith("."), name


# ---------------------------------------------------------------- what a profile decides


SHOWING = [example for example in EXAMPLES if example.program is not None and decided(example.cites)]


def together(example: Example) -> bool:
    """Whether a migration guide says that an example shows its field only with another one."""
    above = example.place.file.read_text("utf-8").splitlines()[: example.place.lines[0]]
    heads = [line for line in above if line.startswith("**Example**")]
    return example.place.file.name.startswith("migrate-") and ", together with `" in heads[-1]


@pytest.mark.parametrize("example", SHOWING, ids=named)
def test_an_example_that_cites_what_a_profile_decides_tells_it_apart(example: Example) -> None:
    if together(example):
        return  # held with the other fields, by test_migration
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
