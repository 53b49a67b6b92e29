from __future__ import annotations

import copy
from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.family import COMPARISON
from agentcore.kit.compare import Difference, differences

TRACE: dict[str, Any] = {
    "id": "a",
    "path": "stream",
    "package": "one",
    "steps": [
        {
            "step": 0,
            "prepareStep": {"stepNumber": 0, "steps": 0, "messages": [{"role": "user", "content": "hi"}]},
            "model": "m",
            "prompt": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
            "tools": [],
            "onStepFinish": {"messages": [], "content": []},
        },
    ],
    "final": {"messages": [], "text": "x"},
    "caller": [{"role": "user", "content": "hi"}],
    "error": {"name": "AI_MissingToolResultsError", "message": "one"},
    "opErrors": ["one"],
}


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    trace = copy.deepcopy(TRACE)
    place: Any = trace
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return trace


def found(expected: dict[str, Any], actual: dict[str, Any]) -> Difference:
    difference = differences(expected, actual, COMPARISON)
    assert difference is not None
    return difference


PERMITTED_CHANGES: dict[str, dict[str, Any]] = {
    "id": changed("id", to="b"),
    "package": changed("package", to="two"),
    "error.message": changed("error", "message", to="two"),
    "opErrors": changed("opErrors", to=["two"]),
}


@pytest.mark.parametrize("rule", PERMITTED_CHANGES)
def test_a_permitted_difference_is_none_until_it_is_switched_off(rule: str) -> None:
    assert differences(TRACE, PERMITTED_CHANGES[rule], COMPARISON) is None
    assert differences(TRACE, PERMITTED_CHANGES[rule], COMPARISON, strict_about=[rule]) is not None


def test_error_names_of_a_language_may_differ_until_that_is_switched_off() -> None:
    mine, theirs = (changed("error", to={"name": name, "message": ""}) for name in ("TypeError", "KeyError"))
    assert differences(mine, theirs, COMPARISON) is None
    difference = differences(mine, theirs, COMPARISON, strict_about=["error.name"])
    assert difference is not None
    assert difference.path == "$.error.name"


@pytest.mark.parametrize("name", ["AI_InvalidPromptError", "TypeError"])
def test_error_names_of_the_package_must_be_equal(name: str) -> None:
    assert found(TRACE, changed("error", "name", to=name)).path == "$.error.name"


def test_an_error_is_not_no_error() -> None:
    assert found(TRACE, changed("error", to=None)).path == "$.error"


def test_the_number_of_op_errors_counts_and_none_is_no_list() -> None:
    assert found(TRACE, changed("opErrors", to=["one", "two"])).path == "$.opErrors[1]"
    without = {key: value for key, value in TRACE.items() if key != "opErrors"}
    assert differences(without, changed("opErrors", to=[]), COMPARISON) is None
    assert found(TRACE, without).path == "$.opErrors[0]"
    assert found(TRACE, changed("opErrors", to=7)).path == "$.opErrors"


def test_every_permission_has_a_test_and_unknown_names_are_refused() -> None:
    assert {*COMPARISON.permitted} == {*PERMITTED_CHANGES, "error.name"}
    with pytest.raises(KeyError):
        differences(TRACE, TRACE, COMPARISON, strict_about=["errors"])


def test_the_first_difference_is_the_first_in_the_run() -> None:
    actual = changed("steps", 0, "prompt", 0, "content", 0, "text", to="bye")
    actual["caller"] = []
    actual["final"] = None
    difference = found(TRACE, actual)
    assert difference.path == "$.steps[0].prompt[0].content[0].text"
    assert (difference.expected, difference.actual) == ("hi", "bye")
    assert difference.observation == "$.steps[0].prompt"
    assert difference.expected_observation == TRACE["steps"][0]["prompt"]


@pytest.mark.parametrize("early", ["prepareStep", "model", "prompt", "tools"])
def test_what_a_step_saw_first_is_told_first(early: str) -> None:
    actual = changed("steps", 0, early, to="other")
    actual["steps"][0]["onStepFinish"] = "other"
    assert found(TRACE, actual).path == f"$.steps[0].{early}"


def test_approvals_come_before_the_steps_and_the_error_before_the_result() -> None:
    assert found(TRACE, changed("steps", to=[]) | {"approvals": []}).observation == "$.approvals"
    assert found(TRACE, changed("final", to=None) | {"error": None}).observation == "$.error"
    assert found(TRACE, changed("final", to=None) | {"hung": True}).observation == "$.hung"
