from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, find, settings

from agentcore.cli import check as check_command
from agentcore.cli import trace as trace_command
from agentcore.errors import AgentCoreError
from agentcore.frameworks.ai_sdk.family import FAMILY as AI_SDK
from agentcore.kit.families import (
    DEFAULT_PROFILE,
    FAMILIES,
    PROFILE_NAMES,
    UnknownProfileError,
    family_of,
    profile_names,
    profiles_under,
)
from agentcore.kit.framework import FRAMEWORKS
from agentcore.kit.program import BadProgram
from agentcore.oracle.campaign.check import Agreement, Disagreement, DriverFailure, check
from agentcore.oracle.campaign.strategies import programs
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Driver, Malformed
from agentcore.oracle.spec.vectors import Vector, VectorError, load, record, replay, write
from cli.commands import run
from kit.installed import installed
from oracle import toy_family
from oracle.driver_commands import TESTS
from oracle.toy_family import FAMILY

Json = dict[str, Any]


@pytest.fixture
def toy() -> Iterator[None]:
    with installed(toy_family.ENTRY):
        yield


def toy_driver(*arguments: str, **settings: Any) -> Driver:
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    return Driver(toy_family.driver(*arguments), env=env, trace_fields=FAMILY.trace_fields, **settings)


# ---------------------------------------------------------------- which there are


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_listed_with_the_name_and_the_profiles_that_it_has(name: str) -> None:
    family = FAMILIES[name]
    assert family.name == name
    assert tuple(FRAMEWORKS[name].profiles) == family.profiles
    assert all(family_of(profile) is family for profile in family.profiles)


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_what_random_programs_contain_has_a_name_in_the_family(profile: str) -> None:
    family = family_of(profile)
    reached = {name for program in family.programs(range(40), profile) for name in family.features(program)}
    assert len(reached) > 10
    assert reached <= {*family.feature_names}
    assert len({*family.feature_names}) == len(family.feature_names)


def test_no_two_families_have_a_profile_of_the_same_name() -> None:
    assert len({*PROFILE_NAMES}) == len(PROFILE_NAMES)
    assert len(FAMILIES) == len({*FAMILIES})


def test_a_family_that_is_not_listed_is_none() -> None:
    assert "toy" not in FAMILIES
    with pytest.raises(KeyError):
        FAMILIES["toy"]


@pytest.mark.parametrize("name", ["toy-1", "ai-sdk", "ai-sdk-6/", "ai-sdk-6/sideways", ""])
def test_an_unknown_profile_is_an_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownProfileError, match="there are immutable, ai-sdk-6/stream, ") as caught:
        family_of(name)
    assert isinstance(caught.value, AgentCoreError)
    assert caught.value.profile == name


@pytest.mark.usefixtures("toy")
def test_a_family_that_is_listed_is_found_by_each_of_its_profiles() -> None:
    assert FAMILIES["toy"] is FAMILY
    for profile in (*toy_family.PROFILES, "toy-2"):
        assert family_of(profile) is FAMILY
    assert family_of(DEFAULT_PROFILE) is AI_SDK


@pytest.mark.usefixtures("toy")
def test_profiles_with_paths_are_found_by_path_and_others_by_their_name() -> None:
    assert profiles_under("toy-2") == {"up": "toy-2/up", "down": "toy-2/down"}
    assert profiles_under("toy-1") == {"toy-1": "toy-1"}
    assert profiles_under("toy-2/up") == {"toy-2/up": "toy-2/up"}


def test_names_are_known_without_importing_what_they_name() -> None:
    code = (
        "import sys; from agentcore.kit.families import PROFILE_NAMES, family_of; "
        "names = [name for name in sys.modules if name.startswith('agentcore.frameworks.ai_sdk')]; "
        "assert names == ['agentcore.frameworks.ai_sdk'], names; "
        "family_of('immutable'); assert 'agentcore.frameworks.ai_sdk.family' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=TESTS.parent)


@pytest.mark.parametrize("target", targets.TARGETS)
def test_a_target_has_a_profile_that_its_vectors_can_name(target: str) -> None:
    assert profiles_under(targets.TARGETS[target].profile)


# ---------------------------------------------------------------- what the mechanisms make of one


def test_a_line_is_read_alike_for_every_family_and_then_checked_by_its_own() -> None:
    program = {"id": "a", "numbers": [1, 2.0], "note": "x"}
    assert FAMILY.parse(json.dumps(program)) == {**program, "numbers": [1, 2]}
    with pytest.raises(BadProgram, match="unknown field script") as caught:
        FAMILY.parse('{"id": "a", "script": []}')
    assert caught.value.id == "a"
    with pytest.raises(BadProgram, match="__proto__"):
        FAMILY.parse('{"id": "a", "numbers": [], "note": {"__proto__": 1}}')
    with pytest.raises(BadProgram, match="whole numbers"):
        FAMILY.require({"id": "a", "numbers": [0.5]})


def test_random_programs_are_named_after_their_seeds_and_are_of_their_profile() -> None:
    made = [*FAMILY.programs(range(5, 8), "toy-2/down")]
    assert [program["id"] for program in made] == ["seed-5", "seed-6", "seed-7"]
    assert {program["path"] for program in made} == {"down"}
    assert made == [*FAMILY.programs(range(5, 8), "toy-2/down")]


def checked(reference: str, *arguments: str) -> Any:
    return check(
        partial(toy_family.trace, profile=reference),
        lambda: toy_driver(*arguments),
        FAMILY.programs(range(300), reference),
        family=FAMILY,
    )


@pytest.mark.parametrize("profile", toy_family.PROFILES)
def test_a_driver_of_a_family_agrees_with_its_profile(profile: str) -> None:
    assert isinstance(checked(profile, profile), Agreement)


def test_a_fault_is_told_in_the_order_of_the_family_and_shrunk_as_it_says() -> None:
    found = checked("toy-1", "toy-1", "forgets")
    assert isinstance(found, Disagreement)
    assert {**found.program, "id": ""} == {"id": "", "numbers": [0, 3]}
    assert found.difference.path == "$.sums[1].sum"
    assert (found.difference.expected, found.difference.actual) == (3, 0)


def test_an_object_without_the_fields_of_a_trace_is_none() -> None:
    answer = "{'id': json.loads(line).get('id'), 'sums': []}"
    code = f"import json, sys\nfor line in sys.stdin: print(json.dumps({answer}))"
    result = check(
        partial(toy_family.trace, profile="toy-1"),
        lambda: Driver((sys.executable, "-uc", code), trace_fields=FAMILY.trace_fields),
        FAMILY.programs(range(1), "toy-1"),
        family=FAMILY,
    )
    assert isinstance(result, DriverFailure)
    assert isinstance(result.outcome, Malformed)
    assert result.outcome.reason == "an object that is no trace"


@pytest.mark.usefixtures("toy")
def test_hypothesis_draws_the_programs_of_every_family() -> None:
    quiet = settings(database=None, suppress_health_check=[*HealthCheck])
    found = find(programs("toy-2/down"), lambda program: sum(program["numbers"]) > 9, settings=quiet)
    assert found == {"id": "example", "path": "down", "numbers": [1, 9], "note": "none"}
    assert find(programs("toy-1"), lambda _: True, settings=quiet)["numbers"] == [0]


def test_programs_of_an_unknown_profile_cannot_be_drawn() -> None:
    with pytest.raises(UnknownProfileError):
        programs("toy-3")


# ---------------------------------------------------------------- vectors


def vector(folder: Path, profile: str, **fields: Any) -> Vector:
    given = {"title": "t", "claims": ("C1",), "program": {"numbers": [1, 2]}, "traces": {}, **fields}
    return Vector(file=folder / "a.json", profile=profile, **given)


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(("profile", "runs"), [("toy-1", ("toy-1",)), ("toy-2", ("up", "down"))])
def test_a_vector_has_a_trace_for_each_path_or_one_under_its_profile(
    profile: str, runs: tuple[str, ...], tmp_path: Path
) -> None:
    new = vector(tmp_path, profile)
    env = {"PYTHONPATH": str(TESTS)}
    command = ("env", *(f"{key}={value}" for key, value in env.items()), *toy_family.driver("toy-1"))
    [recorded] = record([new], command, FAMILY)
    assert [run for run, _ in recorded.differences] == [*runs]
    assert tuple(recorded.vector.traces) == runs
    write(recorded.vector)
    [read] = load(tmp_path)
    assert read == recorded.vector
    # The driver adds up on every path, which `toy-2` does not.
    wrong = [run for run, difference in replay(read) if difference is not None]
    assert wrong == [run for run in runs if run == "down"]


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"profile": "toy-3"}, "no profile is named 'toy-3'"),
        ({"profile": "toy-1", "traces": {"up": {}}}, "of toy-1 there are no traces named up"),
        ({"profile": "toy-1", "program": {"script": []}}, "unknown field script"),
    ],
)
def test_a_vector_that_its_family_cannot_run_is_none(fields: Json, reason: str, tmp_path: Path) -> None:
    version = {"claims": [], "traces": fields.get("traces", {})}
    program = fields.get("program", {"numbers": []})
    given = {"title": "t", "program": program, "versions": {fields["profile"]: version}}
    (tmp_path / "a.json").write_text(json.dumps(given), "utf-8")
    with pytest.raises(VectorError, match=reason):
        [*load(tmp_path)]


# ---------------------------------------------------------------- the command


@pytest.fixture
def toy_command(toy: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - is listed first
    for command in (trace_command.trace, check_command.check):
        [option] = (option for option in command.params if option.name == "profile")
        monkeypatch.setattr(option, "type", click.Choice(profile_names()))


@pytest.mark.usefixtures("toy_command")
def test_trace_picks_the_family_by_the_profile_and_refuses_as_it_does() -> None:
    given = b'{"id": "a", "numbers": [1]}\n{"id": "b", "script": []}\n'
    first, second = map(json.loads, run("trace", "--profile", "toy-1", given=given).stdout.splitlines())
    assert first == {"id": "a", "by": "toy-1", "end": 1, "sums": [{"read": 1, "sum": 1}]}
    assert second == {"id": "b", "driverError": "BadProgram: $: has the unknown field script"}


@pytest.mark.usefixtures("toy_command")
@pytest.mark.parametrize(("profile", "code"), [("toy-2/up", 0), ("toy-2/down", 1)])
def test_check_picks_the_family_by_the_profile(
    profile: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    saved = tmp_path / "found.json"
    adds = toy_family.driver("toy-1")
    result = run(
        "check", "--no-database", "--profile", profile, "-n", "40", "--save", str(saved), "--", *adds
    )
    assert result.exit_code == code
    assert saved.exists() is bool(code)
    if code:
        assert FAMILY.parse(saved.read_text("utf-8"))["numbers"] == [1]
        assert "first difference: $.sums[0].sum" in result.stdout
