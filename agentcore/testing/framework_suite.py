"""A compliance suite: what holds for every framework that the oracle knows, as tests of pytest.

The distribution that provides a framework (an entry point of the group `agentcore.frameworks`) runs it so:

    from agentcore.testing.framework_suite import FrameworkSuite

    class TestMine(FrameworkSuite):
        framework = "mine"

Tests that ask for a real package install it the first time, as `agentcore check --target` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import attrs
import pytest

from agentcore.kit.choices import RandomChoices
from agentcore.kit.families import Emulation, Family, profiles_under
from agentcore.kit.framework import (
    FRAMEWORKS,
    IDENTITY,
    Framework,
    fields_of,
    flipped,
    load_emulator,
    load_family,
)
from agentcore.kit.shrink import shrink, size
from agentcore.oracle.campaign.check import Agreement, check
from agentcore.oracle.drivers.driver import Driver
from agentcore.oracle.drivers.lint import Broken, lint
from agentcore.oracle.drivers.packages import command

__all__ = ["FrameworkSuite"]

Json: TypeAlias = dict[str, Any]


class FrameworkSuite:
    """The tests. A subclass names the `framework`, and may say how many programs are made of a seed.

    `exceptions` names tests that a subclass replaces, each with the reason; without one it fails.
    """

    framework: ClassVar[str]
    programs: ClassVar[int] = 40
    deciding_programs: ClassVar[int] = 300
    exceptions: ClassVar[Mapping[str, str]] = {}

    # ---------------------------------------------------------------- what a subclass may say otherwise

    def programs_for_field(self, field: str, profile: str) -> Iterable[Json]:  # noqa: ARG002 - for subclasses
        """Programs among which one shows what a field of a profile decides: random ones, unless replaced."""
        return self._family().programs(range(self.deciding_programs), profile)

    def driver_command(self, package: str) -> Sequence[str]:
        """The command line of the driver of a package, installed unless it is."""
        return command(package)

    # ---------------------------------------------------------------- what it is asked for

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Makes a test for each profile, field of a profile and package."""
        cases = {"profile": self._profiles, "field": self._fields, "package": self._packages}
        for name, values in cases.items():
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, values())

    def _value(self) -> Framework:
        return FRAMEWORKS[self.framework]

    def _family(self) -> Family:
        return load_family(self.framework)

    def _profiles(self) -> list[str]:
        return [*self._value().profiles]

    def _packages(self) -> list[Any]:
        return [*self._value().packages]

    def _emulation(self) -> Emulation | None:
        return self._family().emulation

    def _fields(self) -> list[str]:
        emulation = self._emulation()
        kinds = {type(profile) for profile in emulation.profiles.values()} if emulation else ()
        names = {field.name: None for kind in kinds for field in attrs.fields(kind)}
        return [name for name in names if name not in IDENTITY]

    # ---------------------------------------------------------------- names

    def test_a_replaced_test_has_a_reason(self) -> None:
        """Replacing a test without saying why would make the suite say more than it has seen."""
        own = {name for kind in type(self).__mro__[:-1] if kind is not FrameworkSuite for name in vars(kind)}
        replaced = {name for name in own if name.startswith("test_") and hasattr(FrameworkSuite, name)}
        assert replaced == {*self.exceptions}
        assert all(self.exceptions.values())

    def test_its_family_has_its_name_and_its_profiles(self) -> None:
        """Programs are found by the profile, and the driver protocol names the format."""
        family = self._family()
        assert family.name == self.framework
        assert family.profiles == tuple(self._value().profiles)
        emulation = self._emulation()
        assert emulation is None or {*emulation.profiles} <= {*family.profiles}

    def test_its_emulator_is_a_function(self) -> None:
        """`emulate.run` calls it."""
        assert self._value().emulator is None or callable(load_emulator(self.framework))

    # ---------------------------------------------------------------- programs

    def test_a_random_program_is_one_of_the_format(self, profile: str) -> None:
        """Its line reads back as it was."""
        family = self._family()
        for program in family.programs(range(self.programs), profile):
            family.require(program)
            assert family.parse(family.to_line(program)) == program

    def test_a_seed_always_gives_one_program(self, profile: str) -> None:
        """Findings name seeds."""
        family = self._family()
        first = [*family.programs(range(self.programs), profile)]
        assert first == [*family.programs(range(self.programs), profile)]
        assert [program["id"] for program in first] == [f"seed-{seed}" for seed in range(self.programs)]
        assert len({family.to_line({**program, "id": ""}) for program in first}) > 1

    def test_what_random_programs_contain_has_a_name(self, profile: str) -> None:
        """Campaigns select by it."""
        family = self._family()
        made = family.programs(range(self.programs), profile)
        found = {feature for program in made for feature in family.features(program)}
        assert found
        assert found <= {*family.feature_names}

    def test_a_user_says_any_text_in_the_smallest_program(self) -> None:
        """The lint of drivers says odd texts in it."""
        family = self._family()
        for text in ("hi", "", "\u2028", "\ud800", '"\\'):
            smallest = family.smallest(text)
            family.require(smallest)
            assert json.dumps(text)[1:-1] in json.dumps(smallest)

    # ---------------------------------------------------------------- traces

    def test_a_trace_follows_from_the_program_alone(self, profile: str) -> None:
        """A trace is the same each time and fits the schema.

        It does not depend on which values of the program are one object in memory.
        """
        family = self._family()
        for made in family.programs(range(self.programs), profile):
            line = family.to_line(made)
            program = _with_equal_values_once(made, {})
            trace = family.trace(program, profile)
            assert json.dumps(trace) == json.dumps(family.trace(json.loads(line), profile))
            if "unsupported" not in trace:
                assert family.trace_problem(json.loads(json.dumps(trace))) is None
                assert any(field in trace for field in family.trace_fields)

    def test_a_run_is_recorded_as_its_trace_says(self, profile: str) -> None:
        """Explanations are made of it."""
        family = self._family()
        for program in family.programs(range(self.programs // 4), profile) if family.recording else ():
            recorded = family.recording(program, profile)  # type: ignore[misc]  # it was asked
            assert json.dumps(recorded.trace()) == json.dumps(family.trace(program, profile))

    # ---------------------------------------------------------------- shrinking

    def test_a_program_made_smaller_is_still_one_and_runs(self, profile: str) -> None:
        """Every program that is tried fits the format, and nothing smaller than the last has the feature."""
        family = self._family()
        program = family.program(RandomChoices(self.programs), "kept", profile)
        feature = min(family.features(program))
        tried: list[Json] = []

        def holds(candidate: Json) -> bool:
            tried.append(candidate)
            family.trace(candidate, profile)
            return feature in family.features(candidate)

        found = shrink(program, holds, family)
        family.require(found)
        assert found["id"] == "kept"
        assert feature in family.features(found)
        assert size(found, family) < size(program, family)
        assert all(family.parse(family.to_line(each)) == each for each in tried)
        assert shrink(found, holds, family) == found

    # ---------------------------------------------------------------- profiles as data

    def test_a_field_of_a_profile_says_what_it_decides(self) -> None:
        """The pages of the specification are made of it."""
        emulation = self._emulation()
        kinds = {type(profile) for profile in emulation.profiles.values()} if emulation else ()
        assert [field.name for kind in kinds for field in fields_of(kind) if not field.statement] == []

    def test_a_field_of_a_profile_decides_something(self, field: str) -> None:
        """Some program has another trace if the field has another value."""
        emulation = self._emulation()
        assert emulation is not None
        assert any(self._decides(emulation, field, name) for name in emulation.profiles), (
            f"no program was found that shows what {field} decides: let programs_for_field give one"
        )

    def _decides(self, emulation: Emulation, field: str, name: str) -> bool:
        profile = emulation.profiles[name]
        others = [*flipped(profile, field, emulation.profiles.values())]
        for program in self.programs_for_field(field, name):
            trace = json.dumps(emulation.trace(profile, program))
            if any(json.dumps(emulation.trace(other, program)) != trace for other in others):
                return True
        return False

    # ---------------------------------------------------------------- drivers

    def test_a_driver_keeps_the_protocol(self, package: str) -> None:
        """Rule by rule, as `agentcore lint-driver` checks it."""
        verdicts = [*lint(self.driver_command(package))]
        assert verdicts
        assert [verdict for verdict in verdicts if isinstance(verdict, Broken)] == []

    def test_a_driver_does_what_its_profile_says(self, package: str) -> None:
        """Random programs on the package and on the emulation have equal traces."""
        family = self._family()
        for profile in profiles_under(self._value().packages[package].profile).values():
            result = check(
                _reference(family, profile),
                lambda: Driver(self.driver_command(package), trace_fields=family.trace_fields),
                family.programs(range(self.programs), profile),
                family=family,
            )
            assert isinstance(result, Agreement), result


def _with_equal_values_once(value: Any, known: dict[str, Any]) -> Any:
    """Returns the value with one object wherever it has equal ones."""
    if not isinstance(value, dict | list):
        return value
    items = value.items() if isinstance(value, dict) else enumerate(value)
    inside = [(key, _with_equal_values_once(item, known)) for key, item in items]
    made = dict(inside) if isinstance(value, dict) else [item for _, item in inside]
    return known.setdefault(json.dumps(made), made)


def _reference(family: Family, profile: str) -> Callable[[Json], Json]:
    return lambda program: family.trace(program, profile)
