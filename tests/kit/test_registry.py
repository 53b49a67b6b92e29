"""Frameworks are found by entry points, each for itself: one that is broken stops no other."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs
import pytest

from agentcore.errors import AgentCoreError
from agentcore.kit.families import FAMILIES, UnknownProfileError, family_of, profile_names
from agentcore.kit.framework import (
    FRAMEWORKS,
    GROUP,
    PACKAGES,
    BrokenFrameworkError,
    Framework,
    Package,
    UnknownFrameworkError,
    entries,
)
from cli.commands import run
from kit.installed import installed, put_metadata
from oracle import toy_family
from oracle.driver_commands import TESTS

OWN: Final = ("ai-sdk", "mastra", "store-boundary", "strands")
MODULE: Final = "toys_of_others"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of somebody else, to put values into."""
    made = ModuleType(MODULE)
    monkeypatch.setitem(sys.modules, MODULE, made)
    return made


def toy(**changes: Any) -> Framework:
    return attrs.evolve(toy_family.FRAMEWORK, **changes)


def test_those_of_this_distribution_are_entry_points_as_any_other() -> None:
    points = {point.name: point.value for point in entry_points(group=GROUP)}
    assert tuple(sorted(points)) == OWN == tuple(FRAMEWORKS)
    assert all(entry.provider.startswith("agentcore-reference ") for entry in entries())
    assert not [entry for entry in entries() if entry.error]


def test_one_of_another_distribution_is_found_beside_them() -> None:
    with installed(toy_family.ENTRY):
        assert tuple(FRAMEWORKS) == (*OWN, "toy")
        assert FRAMEWORKS["toy"] is toy_family.FRAMEWORK
        assert FAMILIES["toy"] is toy_family.FAMILY
        assert profile_names()[-3:] == toy_family.PROFILES
    assert "toy" not in FRAMEWORKS


def test_an_unknown_one_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(
        UnknownFrameworkError,
        match=r"^no framework is named 'toy'; there are ai-sdk, mastra, store-boundary, strands$",
    ) as caught:
        FRAMEWORKS["toy"]
    assert isinstance(caught.value, AgentCoreError)
    assert caught.value.framework == "toy"
    assert FRAMEWORKS.get("toy") is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            "no.such.module:F",
            "no.such.module:F cannot be imported: ModuleNotFoundError: No module named 'no'",
        ),
        (f"{MODULE}:MISSING", "cannot be imported: AttributeError: "),
        (f"{MODULE}:A_TEXT", "is of type str; make it an agentcore.kit.framework.Framework"),
        (f"{MODULE}:OTHER", "the value is named 'other'; give the entry point the same name"),
        (f"{MODULE}:NO_DEFAULT", "the default 'toy-9' is none of its profiles"),
        (f"{MODULE}:NO_PROFILE", "the package 'toy@1' has the unknown profile 'toy-9'"),
    ],
)
def test_a_broken_one_has_an_error_and_stops_no_other(value: str, reason: str, module: ModuleType) -> None:
    package = Package(profile="toy-9", package="toy==1", source="oracle", folder="toy")
    module.__dict__.update(
        A_TEXT="toy",
        OTHER=toy(name="other"),
        NO_DEFAULT=toy(default="toy-9"),
        NO_PROFILE=toy(packages={"toy@1": package}),
    )
    with installed({"toy": value}):
        assert tuple(FRAMEWORKS) == OWN
        assert family_of("mastra@1.0.4").name == "mastra"
        with pytest.raises(BrokenFrameworkError) as caught:
            FRAMEWORKS["toy"]
        assert str(caught.value).startswith("the framework 'toy' of toys 1.0 cannot be used: ")
        assert reason in str(caught.value)
        assert (caught.value.framework, caught.value.provider) == ("toy", "toys 1.0")
        # Whoever asks for one of its profiles is told, too.
        with pytest.raises(UnknownProfileError, match=r"'toy' of toys 1\.0 cannot be used"):
            family_of("toy-1")


def test_a_format_that_cannot_be_imported_breaks_its_framework_only(module: ModuleType) -> None:
    module.__dict__["TOY"] = toy(family="no.such.module:FAMILY")
    with installed({"toy": f"{MODULE}:TOY"}):
        with pytest.raises(BrokenFrameworkError, match=r"'no\.such\.module:FAMILY' cannot be imported"):
            family_of("toy-1")
        assert family_of("immutable").name == "ai-sdk"


@pytest.mark.parametrize(
    ("changes", "clash"),
    [
        ({}, "the name 'toy' is also that of more 1.0; uninstall one"),
        ({"name": "other"}, "the profile 'toy-1' is also that of more 1.0; uninstall one"),
    ],
)
def test_of_two_that_claim_one_name_neither_is_used(
    changes: dict[str, Any], clash: str, module: ModuleType
) -> None:
    other = module.__dict__["OTHER"] = toy(**changes)
    with installed(toy_family.ENTRY), installed({other.name: f"{MODULE}:OTHER"}, name="more"):
        assert tuple(FRAMEWORKS) == OWN
        errors = {entry.provider: str(entry.error) for entry in entries() if entry.error}
        assert clash in errors["toys 1.0"]
        assert "is also that of toys 1.0" in errors["more 1.0"]


def test_packages_of_all_are_found_by_the_names_that_commands_take() -> None:
    assert list(PACKAGES) == [name for one in FRAMEWORKS.values() for name in one.packages]
    assert PACKAGES["mastra@1.0.4"] is FRAMEWORKS["mastra"].packages["mastra@1.0.4"]


# ---------------------------------------------------------------- the command


def test_the_command_lists_names_profiles_packages_and_who_provides_them() -> None:
    lines = run("frameworks").stdout.splitlines()
    assert lines[3].startswith("mastra (Mastra), from agentcore-reference ")
    assert lines[4] == "  profiles: mastra@1.71.0, mastra@1.0.4"
    assert lines[5] == ("  packages: mastra@1.71.0 (@mastra/core@1.71.0), mastra@1.0.4 (@mastra/core@1.0.4)")


def test_the_command_lists_a_broken_one_with_its_error_and_ends_with_2() -> None:
    with installed({**toy_family.ENTRY, "broken": "no.such.module:F"}):
        result = run("frameworks")
        assert result.exit_code == 2
        lines = result.stdout.splitlines()
        assert "broken, from toys 1.0: broken" in lines
        assert "toy (Toy), from toys 1.0" in lines
        assert "  packages: none" in lines
        found = {each["name"]: each for each in json.loads(run("frameworks", "--json").stdout)}
    assert found["toy"]["profiles"] == [*toy_family.PROFILES]
    assert "cannot be used" in found["broken"]["error"]
    assert found["ai-sdk"]["packages"]["ai-sdk@6.0.134"] == "ai@6.0.134"


def test_a_process_finds_what_is_installed_on_its_path(tmp_path: Path) -> None:
    put_metadata(tmp_path, toy_family.ENTRY, "toys")
    argv = [sys.executable, "-m", "agentcore", "trace", "--profile", "toy-1"]
    program = b'{"id": "a", "numbers": [1, 2]}\n'
    env = {"PYTHONPATH": f"{tmp_path}:{TESTS}"}
    ran = subprocess.run(argv, input=program, env=env, capture_output=True, check=True)
    assert json.loads(ran.stdout)["end"] == 3
