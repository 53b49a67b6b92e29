"""A framework of another distribution: the compliance suite on it, and the commands that find it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from agentcore.heap.pollution import Verdict
from agentcore.kit import emulate
from agentcore.kit.families import Emulation
from agentcore.kit.framework import decision
from agentcore.testing.framework_suite import FrameworkSuite
from cli.commands import run
from frameworks.parrot import family
from frameworks.parrot.emulator import Settings
from frameworks.parrot.framework import ENTRY
from frameworks.parrot.profiles import FIRST, ParrotProfile
from kit.installed import installed

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def parrot() -> Iterator[None]:
    with installed(ENTRY, "parrots"):
        yield


class TestParrot(FrameworkSuite):
    framework = "parrot"

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        # Another distribution is installed when its tests are collected.
        with installed(ENTRY, "parrots"):
            super().pytest_generate_tests(metafunc)

    def _packages(self) -> list[Any]:
        # Each gets an environment of its own, and the lint waits for what a driver must not say.
        return [pytest.param(name, marks=pytest.mark.slow) for name in super()._packages()]


# ---------------------------------------------------------------- found as any other


def test_the_command_lists_it_beside_those_of_this_distribution() -> None:
    found = {each["name"]: each for each in json.loads(run("frameworks", "--json").stdout)}
    assert found["parrot"]["provider"] == "parrots 1.0"
    assert found["parrot"]["packages"]["parrot@3"] == "parrot==3"
    assert len(found) > 1


def test_its_emulation_says_which_writes_last() -> None:
    settings = Settings(messages=["a"], hooks=[lambda messages: messages.append("b"), lambda _: None])
    first, second = (emulate.run(profile, settings) for profile in ("parrot@1", "parrot@2"))
    assert [finding.verdict for finding in first.pollution] == [Verdict.POLLUTING]
    assert [finding.verdict for finding in second.pollution] == [Verdict.EPHEMERAL]
    assert first.caller == ["a", "b", "b", "b"]
    assert second.caller == ["a"]
    assert second.prompts == [["a", "b"], ["a", "b"]]


# ---------------------------------------------------------------- what the suite finds


@attrs.frozen(kw_only=True)
class Idle(ParrotProfile):
    """A profile with a field that decides nothing."""

    louder: bool = attrs.field(metadata=decision("Whether it says it louder."))


class Suite(FrameworkSuite):
    framework: ClassVar[str] = "parrot"
    programs: ClassVar[int] = 10
    deciding_programs: ClassVar[int] = 20


def changed(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Suite:
    """The suite on a family with something wrong with it."""
    monkeypatch.setattr(family, "FAMILY", attrs.evolve(family.FAMILY, **changes))
    return Suite()


def test_a_field_that_decides_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = Idle(**attrs.asdict(FIRST), louder=False)
    emulation = Emulation(profiles={"parrot@1": idle}, trace=family.trace_under)
    suite = changed(monkeypatch, emulation=emulation)
    assert "louder" in suite._fields()
    suite.test_a_field_of_a_profile_decides_something("handed")
    with pytest.raises(AssertionError, match="no program was found that shows what louder decides"):
        suite.test_a_field_of_a_profile_decides_something("louder")


def test_a_program_that_is_not_of_the_format_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(choices: Any, program_id: str, profile: str) -> Json:
        return {**family.random_program(choices, program_id, profile), "more": 1}

    suite = changed(monkeypatch, program=program)
    with pytest.raises(ValueError, match="unknown field more"):
        suite.test_a_random_program_is_one_of_the_format("parrot@1")


def test_a_trace_that_is_another_each_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter(range(10_000))
    trace = family.FAMILY.trace
    suite = changed(monkeypatch, trace=lambda *given: {**trace(*given), "run": next(runs)})
    with pytest.raises(AssertionError):
        suite.test_a_trace_follows_from_the_program_alone("parrot@1")


def test_a_trace_that_writes_to_its_program_changes_only_a_copy() -> None:
    def trace(program: Json, _: str) -> Json:
        program["messages"].append("more")
        return {"messages": program["messages"]}

    message = {"role": "user", "content": "hi"}
    given = {"messages": [message, message]}
    writing = attrs.evolve(family.FAMILY, trace=trace)
    traced = writing.trace(given, "parrot@1")
    assert given == {"messages": [message, message]}
    assert traced["messages"] == [message, message, "more"]
    assert traced["messages"][0] is not traced["messages"][1]


def test_shrinking_that_loses_the_id_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    shrinking = attrs.evolve(family.FAMILY.shrinking, names=(), edits=(lambda _: iter([SMALL]),))
    suite = changed(monkeypatch, shrinking=shrinking, features=lambda _: {"one step"})
    with pytest.raises(AssertionError):
        suite.test_a_program_made_smaller_is_still_one_and_runs("parrot@1")


SMALL: Json = {"id": "", "messages": ["a"], "hooks": [[]]}


def test_a_replaced_test_without_a_reason_is_found() -> None:
    class Silent(Suite):
        def test_its_emulator_is_a_function(self) -> None:
            """Nothing."""

    with pytest.raises(AssertionError):
        Silent().test_a_replaced_test_has_a_reason()

    class Said(Silent):
        exceptions: ClassVar[dict[str, str]] = {"test_its_emulator_is_a_function": "has none yet"}

    Said().test_a_replaced_test_has_a_reason()


def test_a_framework_with_its_driver_is_small_and_stands_in_one_folder() -> None:
    files = [file for file in Path(__file__).parent.rglob("*") if file.suffix in {".py", ".json", ".txt"}]
    assert sum(len(file.read_text("utf-8").splitlines()) for file in files) <= 1_000
