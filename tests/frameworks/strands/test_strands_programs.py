from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from agentcore.frameworks.strands.family import FAMILY, TRAITS
from agentcore.frameworks.strands.program import (
    check,
    feature_names,
    features,
    handlers_of,
    statistics,
    to_line,
)
from agentcore.frameworks.strands.programs import Traits, random_program
from agentcore.kit.choices import RandomChoices
from agentcore.kit.program import check_program, parse_program
from agentcore.oracle.campaign.strategies import HypothesisChoices

Json = dict[str, Any]

PYTHON: Final = Traits(typescript=False)
BEFORE: Final = Traits(typescript=True, state_on_context=True)
NOW: Final = Traits(typescript=True)
EVERY: Final = pytest.mark.parametrize("traits", [PYTHON, BEFORE, NOW], ids=["python", "before", "now"])


def of_seed(seed: int, traits: Traits = NOW) -> Json:
    return random_program(RandomChoices(seed), f"seed-{seed}", traits)


class Simplest:
    """Always the simplest choice."""

    def integer(self, low: int, high: int) -> int:
        assert low <= high
        return low

    def sample(self, items: Any) -> Any:
        return items[0]

    def chance(self, percent: float) -> bool:
        assert 0 <= percent <= 100
        return False


def test_the_simplest_program_is_one_answer() -> None:
    assert random_program(Simplest(), "a", NOW) == {"id": "a", "script": [[{"text": "#1"}]]}


def test_a_seed_always_gives_the_same_program() -> None:
    assert of_seed(7) == of_seed(7)
    assert of_seed(7) != of_seed(8) | {"id": "seed-7"}


@pytest.mark.slow
@EVERY
def test_every_random_program_is_a_program(traits: Traits) -> None:
    for seed in range(500):
        program = of_seed(seed, traits)
        check_program(program, check)
        assert parse_program(to_line(program), check) == program


@pytest.mark.slow
@EVERY
def test_every_feature_of_a_profile_occurs_in_two_thousand_programs(traits: Traits) -> None:
    counted = statistics(2_000, traits)
    assert {*counted} == {*feature_names(traits)}
    assert [feature for feature, count in counted.items() if count == 0] == []


@pytest.mark.slow
def test_what_a_profile_lacks_does_not_occur_in_its_programs() -> None:
    lacking = {*feature_names(BEFORE)} - {*feature_names(PYTHON)}
    assert len(lacking) > 5
    for seed in range(1_000):
        assert not features(of_seed(seed, PYTHON)) & lacking
        assert "op setModelStateViaContext" not in features(of_seed(seed, NOW))


def test_those_that_ran_as_they_were_meant_to_are_counted_if_somebody_knows() -> None:
    assert statistics(10, NOW, alive=lambda program: program["id"] < "seed-4")["alive"] == 4
    assert "alive" not in statistics(10, NOW)


@pytest.mark.slow
@pytest.mark.parametrize("profile", FAMILY.profiles)
def test_most_programs_run_to_their_end_as_they_were_meant_to(profile: str) -> None:
    def alive(program: Json) -> bool:
        trace = FAMILY.trace(program, profile)
        return "driverError" not in trace and not any("error" in result for result in trace["results"])

    assert statistics(100, TRAITS[profile], alive=alive)["alive"] > 65


def marks_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.startswith("#") else []
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [mark for child in children for mark in marks_of(child)]


@EVERY
def test_no_text_is_written_twice(traits: Traits) -> None:
    for seed in range(300):
        program = of_seed(seed, traits)
        written = [mark for _, _, ops in handlers_of(program) for mark in marks_of(ops)]
        assert len(written) == len({*written})
        given = {key: value for key, value in program.items() if key not in {"middleware", "hooks"}}
        assert not {*marks_of(given)} & {*written}


@st.composite
def drawn(draw: DrawFn) -> Json:
    return random_program(HypothesisChoices(draw), "a", NOW)


# Explaining traces every line of the generator, which takes longer than all the rest.
QUIET: Final = settings(
    max_examples=500,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[*HealthCheck],
)


def test_hypothesis_shrinks_to_the_simplest_program() -> None:
    assert find(drawn(), lambda _: True, settings=QUIET) == {"id": "a", "script": [[{"text": "#1"}]]}
