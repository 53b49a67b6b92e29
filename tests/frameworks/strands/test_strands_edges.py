"""Odd values in random programs: each kind is reached, and each program has a trace or a refusal."""

from __future__ import annotations

import json

import pytest

from agentcore.frameworks.strands.family import FAMILY
from agentcore.kit.choices import RandomChoices

SEEDS = range(500)


def test_random_programs_reach_each_of_the_edges() -> None:
    told = [json.dumps(FAMILY.program(RandomChoices(seed), "s", "strands-ts@1.19.0")) for seed in range(2000)]
    for sign in ('"12"', '"bare"', '"a-b"', '"huge"', "\\ud800", '"so"'):
        assert any(sign in text for text in told), sign


@pytest.mark.slow
@pytest.mark.parametrize("profile", FAMILY.profiles)
def test_a_random_program_is_one_of_the_format_and_has_a_trace(profile: str) -> None:
    for seed in SEEDS:
        program = FAMILY.program(RandomChoices(seed), f"s{seed}", profile)
        FAMILY.check(json.loads(json.dumps(program)))
        assert {"log", "driverError"} & FAMILY.trace(program, profile).keys()


@pytest.mark.parametrize("names", [["a-b", "a_b"], ["x", "a_b_c", "a-b-c"]])
@pytest.mark.parametrize("profile", FAMILY.profiles)
def test_tools_whose_names_differ_by_hyphens_alone_are_refused(profile: str, names: list[str]) -> None:
    answer = FAMILY.trace({"id": "x", "tools": {name: {} for name in names}}, profile)
    error = "ValueError" if profile.startswith("strands-py") else "ToolValidationError"
    assert answer["driverError"].startswith(f"{error}: Tool name '{names[-1]}' already exists as")
