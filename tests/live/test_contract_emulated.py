"""A second oracle for the emulations: the table of each profile is that of the package that it names."""

from __future__ import annotations

from typing import Final

import attrs
import pytest

from agentcore.kit.emulate import Emulated, Reply, Turn
from agentcore.live.contracts import publish
from agentcore.live.contracts.emulated import (
    Comparison,
    compared,
    emulations,
    measure_profile,
    not_emulated,
)
from agentcore.live.contracts.table import Row, answers_of
from agentcore.live.probe import _Probe
from live.contracts import PUBLISHED, validate

CONTRACTS: Final = publish.read(PUBLISHED)
EMULATED: Final = {each.framework: each for each in emulations()}
RELEASES: Final = [(name, release) for name, of in EMULATED.items() for release in of.releases]


def boundaries(framework: str, release: str) -> list[str]:
    """Returns the boundaries of the profile at which the package was measured."""
    published = CONTRACTS["frameworks"][framework]
    found = {row["boundary"] for row in publish.measurement_of(published, framework, release)["rows"]}
    return sorted(found - not_emulated(EMULATED[framework], published, release))


BOUNDARIES: Final = [(*each, at) for each in RELEASES for at in boundaries(*each)]


def comparison(of: Emulated, release: str, at: str | None = None, path: str | None = None) -> Comparison:
    published = CONTRACTS["frameworks"][of.framework]
    profile = measure_profile(of, release, at, path)
    validate(profile)
    return compared(of, release, publish.measurement_of(published, of.framework, release), profile)


@pytest.mark.parametrize(("framework", "release"), RELEASES)
def test_the_package_was_measured_in_that_release_or_before_and_after_it(
    framework: str, release: str
) -> None:
    listed = [each["version"] for each in CONTRACTS["frameworks"][framework]["releases"]]
    assert release in listed or (listed[0] < release < listed[-1])


@pytest.mark.slow
@pytest.mark.sample(5)
@pytest.mark.parametrize(("framework", "release", "at"), BOUNDARIES)
def test_a_boundary_of_a_profile_is_as_the_package_has_it(framework: str, release: str, at: str) -> None:
    found = comparison(EMULATED[framework], release, at)
    assert (found.differing, found.unmeasured) == ({}, {})
    assert found.equal > 0


_FEW: Final = 3


@pytest.mark.parametrize(
    ("framework", "release", "at", "path"),
    [
        ("mastra", "1.71.0", "processInput", "generate"),
        ("mastra", "1.0.4", "prepareStep", "stream"),
        ("mastra", "1.71.0", "processInputStep", "generate"),
        ("strands", "1.19.0", "BeforeModelCallEvent", "generate"),
        ("strands", "1.5.0", "InvokeModelStage.Input", "generate"),
        ("strands", "1.19.0", "AgentStreamStage", "generate"),
    ],
)
def test_the_first_places_at_a_boundary_are_as_the_package_has_them(
    framework: str, release: str, at: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = _Probe._places
    monkeypatch.setattr(_Probe, "_places", lambda *given: places(*given)[:_FEW])
    monkeypatch.setattr(_Probe, "_made_places", lambda *_: [])
    of = EMULATED[framework]
    profile = measure_profile(of, release, at, path)
    assert (len(profile["rows"]) > 0, profile["unmeasured"]) == (True, [])
    measured = {*answers_of(profile)}
    published = publish.measurement_of(CONTRACTS["frameworks"][framework], framework, release)
    rows = [each for each in published["rows"] if Row(*(each[name] for name in Row._fields)) in measured]
    found = compared(of, release, {**published, "rows": rows}, profile)
    assert (found.differing, found.equal) == ({}, len(rows))


# A minute and more each: the boundaries one by one are a sample of it, but for what is not needed.
@pytest.mark.slow
@pytest.mark.sample(0)
@pytest.mark.parametrize(("framework", "release"), RELEASES)
def test_the_table_of_a_profile_is_that_of_the_package(framework: str, release: str) -> None:
    found = comparison(EMULATED[framework], release)
    assert (found.differing, found.unmeasured) == ({}, {})
    assert found.unneeded == set()


def test_a_profile_of_another_version_differs() -> None:
    of = EMULATED["ai"]
    other = attrs.evolve(of, releases={"7.0.173": of.releases["6.0.326"]})
    found = comparison(other, "7.0.173", "onStepFinish", "generate")
    assert {row.root for row in found.differing} >= {"content", "response.messages"}


def test_what_an_emulation_does_not_hold_is_left_out_by_name_only() -> None:
    of = EMULATED["ai"]
    without = attrs.evolve(of, unheld={"steps": "for this test"})
    real = publish.measurement_of(CONTRACTS["frameworks"]["ai"], "ai", "7.0.173")
    records = {row for row, answer in answers_of(real).items() if answer == (("seen", ("steps",)),)}
    unseen = {**real, "rows": [each for each in real["rows"] if each["boundary"] == "onStepFinish"]}
    blind = {
        **unseen,
        "rows": [{**each, "answers": [_blind(one) for one in each["answers"]]} for each in unseen["rows"]],
    }
    assert records & answers_of(unseen).keys()
    assert compared(without, "7.0.173", unseen, blind).differing == {}
    assert compared(of, "7.0.173", unseen, blind).differing.keys() >= records & answers_of(unseen).keys()


def _blind(answer: dict[str, list[str]]) -> dict[str, list[str]]:
    return {**answer, "seen": [each for each in answer.get("seen", []) if each != "steps"]}


def test_a_boundary_that_cannot_be_measured_is_no_silent_gap() -> None:
    of = EMULATED["strands"]

    def fails(*_: object) -> Turn:
        def turn(_: list[object]) -> Reply:
            raise RuntimeError("no such thing")

        return turn

    found = comparison(attrs.evolve(of, begin=fails), "1.19.0", "AfterModelCallEvent")
    (why,) = found.unmeasured.values()
    assert why == "the run without a write ends with: RuntimeError: no such thing"


def test_a_row_that_cannot_be_expressed_has_its_reason() -> None:
    of = EMULATED["ai"]
    excused = attrs.evolve(
        of,
        unexpressed={"* onStepFinish content *": "for this test", "* onEnd *": "none", "6.* onEnd *": "none"},
    )
    real = publish.measurement_of(CONTRACTS["frameworks"]["ai"], "ai", "7.0.173")
    rows = [each for each in real["rows"] if each["boundary"] == "onStepFinish"]
    nobody = [{**each, "answers": [{"result": "seen", "seen": [], "places": []}]} for each in rows]
    found = compared(excused, "7.0.173", {**real, "rows": rows}, {**real, "rows": nobody})
    assert {*found.unexpressed.values()} == {"for this test"}
    assert {row.root for row in found.unexpressed} == {"content"}
    assert found.unneeded == {"* onEnd *"}
