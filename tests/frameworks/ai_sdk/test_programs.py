from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.program import FEATURES, features, statistics
from agentcore.frameworks.ai_sdk.programs import program_of_seed, random_program, random_programs
from agentcore.kit.choices import RandomChoices
from agentcore.oracle.campaign.strategies import programs


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


MINIMAL = {
    "path": "stream",
    "messages": [{"role": "user", "content": "#1"}],
    "script": [[{"type": "text", "text": "#2"}]],
}


def test_a_seed_always_gives_the_same_program() -> None:
    assert program_of_seed(7) == program_of_seed(7)
    assert [program["id"] for program in random_programs(range(3))] == ["seed-0", "seed-1", "seed-2"]
    assert program_of_seed(7) != program_of_seed(8) | {"id": "seed-7"}


def test_the_path_can_be_given() -> None:
    assert {program["path"] for program in random_programs(range(50), "generate")} == {"generate"}


def test_every_random_program_is_a_program() -> None:
    for program in random_programs(range(2_000)):
        assert FAMILY.parse(FAMILY.to_line(program)) == json.loads(json.dumps(program))


@pytest.mark.slow
def test_every_feature_occurs_in_two_thousand_programs() -> None:
    counted = statistics(2_000)
    assert {*FEATURES} == {*counted}
    assert [feature for feature, count in counted.items() if count == 0] == []


def test_features_can_be_told_of_any_program() -> None:
    odd: list[Any] = [None, 7, {"content": "x"}, {"role": 1, "content": [3, {"type": []}, {"output": 1}]}]
    program = {"id": "a", "path": "stream", "messages": odd, "script": [], "options": {"other": 1}}
    assert features(program) == {"path stream", "history invalid"}


def test_the_share_of_programs_that_run_to_their_end_can_be_counted() -> None:
    assert statistics(10, alive=lambda program: program["id"] != "seed-3")["alive"] == 9


def test_the_simplest_choices_make_the_minimal_program() -> None:
    assert random_program(Simplest(), id="a") == {"id": "a", **MINIMAL}


# Explaining traces every line of the generator, which takes longer than all the rest.
QUIET = settings(
    max_examples=500,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[*HealthCheck],
)


def test_hypothesis_shrinks_to_the_minimal_program() -> None:
    assert find(programs("immutable"), lambda _: True, settings=QUIET) == {"id": "example", **MINIMAL}


@pytest.mark.slow
def test_hypothesis_shrinks_a_second_step_to_one_call() -> None:
    found = find(programs("ai-sdk-6/generate"), lambda program: len(program["script"]) > 1, settings=QUIET)
    assert [[part["type"] for part in step] for step in found["script"]] == [["tool-call"], ["text"]]
    assert {*found} == {"id", "path", "messages", "script", "tools"}


@given(programs("immutable"))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_hypothesis_draws_is_a_program(program: dict[str, Any]) -> None:
    FAMILY.require(program)


def test_choices_of_a_seed_stay_within_their_bounds() -> None:
    choices = RandomChoices(1)
    assert {choices.integer(2, 4) for _ in range(100)} == {2, 3, 4}
    assert {choices.sample("ab") for _ in range(100)} == {"a", "b"}
    assert {choices.chance(50) for _ in range(100)} == {True, False}
    assert not choices.chance(0)
    assert choices.chance(100)
