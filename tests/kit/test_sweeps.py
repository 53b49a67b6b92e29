"""Sweeps: what their programs read and write, and that a fault is found by them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.kit.choices import ChoicePoints
from agentcore.kit.compare import differences
from agentcore.kit.families import family_of
from agentcore.kit.framework import FRAMEWORKS, load_family
from agentcore.kit.program import schema
from agentcore.kit.sweeps import SWEEPS, NoSweepError, sweep_programs
from faults.profile_driver import faulty_trace

Json = dict[str, Any]

SWEPT: Final = (
    "ai-sdk-6/generate",
    "ai-sdk-7/stream",
    "mastra@1.71.0",
    "strands-ts@1.19.0",
    "strands-py@1.62.0",
)


@pytest.mark.parametrize("profile", SWEPT)
def test_each_field_of_a_scene_is_read_by_a_program_of_its_own(profile: str) -> None:
    family = family_of(profile)
    assert family.scenes is not None
    scenes = [*family.scenes(profile)]
    programs = sweep_programs("fields", profile)
    assert len(programs) == sum(len(moment.fields) for scene in scenes for moment in scene.moments)
    assert [program["id"] for program in programs[:2]] == ["fields-0", "fields-1"]
    for program in programs[::20]:
        family.require(program)


@pytest.mark.parametrize("profile", SWEPT)
def test_every_moment_of_a_scene_comes(profile: str) -> None:
    """A moment that no run comes to would be swept in vain."""
    family = family_of(profile)
    assert family.scenes is not None
    for scene in family.scenes(profile):
        names = {moment.name for moment in scene.moments}
        assert len(names) == len(scene.moments)
    first = next(iter(family.scenes(profile)))
    shown = first.readings(family.trace(_all_read(profile), profile))
    assert {name.partition(": ")[0] for name in shown} == {moment.name for moment in first.moments}


def _all_read(profile: str) -> Json:
    """A program of the alias sweep, which reads all moments."""
    return sweep_programs("aliases", profile)[0]


@pytest.mark.parametrize("profile", SWEPT)
def test_each_program_of_the_alias_sweep_is_a_program_with_a_write_of_its_own(profile: str) -> None:
    family = family_of(profile)
    programs = sweep_programs("aliases", profile)
    lines = {family.to_line({**program, "id": ""}) for program in programs}
    assert len(lines) > 0.9 * len(programs) > 300
    for program in programs[:: len(programs) // 20]:
        family.require(program)


@pytest.mark.parametrize("fault", ["caller's messages copied", "hooks get deep copies"])
def test_the_alias_sweep_finds_a_fault_of_one_boundary(fault: str) -> None:
    family = family_of("ai-sdk-6/stream")
    found = (
        program["id"]
        for program in sweep_programs("aliases", "ai-sdk-6/stream")
        if differences(
            family.trace(program, "ai-sdk-6/stream"), faulty_trace(program, fault), family.comparison
        )
    )
    assert next(found, None) is not None


def test_a_format_without_scenes_has_no_sweep() -> None:
    with pytest.raises(NoSweepError, match="no sweep for the profile 'store/live'"):
        sweep_programs("fields", "store/live")
    assert {*SWEEPS} == {"fields", "aliases"}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_choice_of_a_schema_is_drawn_or_listed_with_its_reason(name: str) -> None:
    points = ChoicePoints.every(schema("program", f"agentcore.frameworks.{name.replace('-', '_')}"))
    family = load_family(name)
    missing = {*points.names}
    for profile in family.profiles:
        for program in family.programs(range(2_500), profile):
            missing -= points.of(program)
            if missing == {*family.never_drawn}:
                break
    assert missing == {*family.never_drawn}
    assert all(reason.endswith(".") for reason in family.never_drawn.values())
