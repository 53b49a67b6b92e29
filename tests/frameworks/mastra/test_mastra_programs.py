from __future__ import annotations

import json
from typing import Any

import pytest

from agentcore.frameworks.mastra.program import FEATURES, check, features, statistics, to_line
from agentcore.frameworks.mastra.programs import random_program
from agentcore.kit.choices import RandomChoices
from agentcore.kit.program import parse_program, schema

PROFILES = ("mastra@1.71.0", "mastra@1.0.4")


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


def of_seed(seed: int, profile: str = PROFILES[0]) -> dict[str, Any]:
    return random_program(RandomChoices(seed), f"seed-{seed}", profile)


def test_a_seed_always_gives_the_same_program_of_processors() -> None:
    assert of_seed(7) == of_seed(7)
    assert of_seed(7) != of_seed(8) | {"id": "seed-7"}


@pytest.mark.parametrize("profile", PROFILES)
def test_every_random_program_of_processors_is_a_program(profile: str) -> None:
    for seed in range(1_000):
        program = of_seed(seed, profile)
        assert parse_program(to_line(program), check) == json.loads(json.dumps(program))


def test_every_feature_of_processors_occurs_in_a_thousand_programs() -> None:
    counted = statistics(1_000, PROFILES[0])
    assert {*FEATURES} == {*counted}
    assert [feature for feature, count in counted.items() if count == 0] == []


def test_features_name_every_op_and_every_field_of_a_call() -> None:
    defs = schema("program", "agentcore.frameworks.mastra")["$defs"]
    ops = {choice["$ref"].rpartition("/")[2] for choice in defs["op"]["anyOf"]}
    assert {f"op {op}" for op in ops} <= {*FEATURES}
    stages = defs["messagePipe"]["properties"]["pipe"]["items"]["properties"]
    assert {f"pipe {stage}" for stage in stages} - {*FEATURES} == {"pipe ids"}
    assert {f"list {call}" for call in defs["list"]["properties"]["call"]["enum"]} <= {*FEATURES}
    own = {"id", "path", "processors", "prepareStep", "defaultPrepareStep", "timeoutMs"}
    fields = {
        f"call {field}" for field in {*schema("program", "agentcore.frameworks.mastra")["properties"]} - own
    }
    assert fields <= {*FEATURES}


def test_features_can_be_told_of_the_smallest_program() -> None:
    assert features({"id": "a"}) == {"path generate"}


def test_the_share_of_programs_that_are_alive_can_be_counted() -> None:
    assert statistics(10, PROFILES[0], alive=lambda program: program["id"] != "seed-3")["alive"] == 9


def test_the_simplest_choices_make_the_smallest_program() -> None:
    assert random_program(Simplest(), "a", PROFILES[0]) == {"id": "a"}


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.startswith("#") else []
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for child in inside for text in texts(child)]


def test_a_text_stands_in_one_place_of_a_program_and_beside_its_parts() -> None:
    for seed in range(300):
        found = texts({key: value for key, value in of_seed(seed).items() if key != "messages"})
        assert len(found) == len({*found})
