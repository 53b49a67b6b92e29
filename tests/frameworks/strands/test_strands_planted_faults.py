"""Faults planted at single boundaries of Strands: the check comes upon each, and makes it small.

The faults are in profiles, which run here, or in the text of the driver, which runs the real package.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from agentcore.frameworks.strands.family import FAMILY
from agentcore.oracle.campaign.check import Agreement, Disagreement, check
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Driver
from faults.js_faults import copied_driver
from faults.strands_driver import FaultyDriver
from faults.strands_faults import IN_DRIVER, IN_PROFILE

pytestmark = pytest.mark.slow

Json = dict[str, Any]


@attrs.frozen
class Found:
    """A seed at which the check comes upon a fault, the smallest program that shows it, and where first.

    Seeds with small programs are chosen, so that the tests are quick.
    """

    seed: int
    observation: str
    smallest: Json


def _use(name: str, use_id: str, value: Any) -> Json:
    return {"toolUse": {"name": name, "toolUseId": use_id, "input": value}}


_IDENTITY: Final[Json] = {"middleware": [{"stage": "model", "ops": [{"op": "identity"}]}]}
_TWICE: Final[Json] = {
    "script": [{"modelState": {"m": "y"}}],
    "middleware": [{"stage": "model", "ops": [{"op": "next"}, {"op": "next"}]}],
}

_INPUT: Final[Json] = {
    "script": [[_use("look", "u1", {})]],
    "tools": {"look": {"mutateInput": [{"op": "set", "path": ["input", "x"], "value": "y"}]}},
}

_FOUND_IN_PROFILE: Final = {
    "messages copied one level too shallow": Found(
        374, "$.identity", {"script": [[_use("save", "u1", {})]], **_IDENTITY}
    ),
    "messages in Python copied one level": Found(1942, "$.identity", _IDENTITY),
    "guarded content copied": Found(
        374,
        "$.identity",
        {"system": [{"guardContent": {"text": {"text": "y", "qualifiers": []}}}], **_IDENTITY},
    ),
    "tools' descriptions live": Found(374, "$.identity", {"tools": {"save": {}}, **_IDENTITY}),
    "tool input live": Found(493, "$.calls[1].messages", _INPUT),
    "tool input copied in Python": Found(
        1084,
        "$.calls[1].messages",
        {
            "script": [[_use("look", "u2", {})]],
            "tools": {"look": {"mutateInput": [{"op": "set", "path": ["input", "a"], "value": "y"}]}},
        },
    ),
    "model state copied before the chain": Found(
        1666,
        "$.calls[0].modelState",
        {"middleware": [{"stage": "model", "ops": [{"op": "setModelState", "key": "m", "value": "y"}]}]},
    ),
    "the caller's array of arguments copied": Found(
        346,
        "$.caller",
        {
            "input": [],
            "middleware": [
                {
                    "stage": "stream",
                    "ops": [{"op": "insert", "path": ["args"], "index": 0, "value": {"text": "y"}}],
                }
            ],
        },
    ),
    "attempts go on from each other": Found(678, "$.calls[1].modelState", _TWICE),
    "attempts start anew in Python": Found(107, "$.calls[1].modelState", _TWICE),
    "answers kept at once": Found(
        1387,
        "$.observations",
        {
            "script": [[_use("save", "u1", {})]],
            "hooks": [{"on": "afterTool", "ops": [{"op": "observeAgent"}]}],
        },
    ),
    "a tool handler's error is a result": Found(
        1275,
        "$.log",
        {
            "script": [[_use("look", "u1", {})]],
            "middleware": [{"stage": "tool", "ops": [{"op": "delete", "path": ["x"]}]}],
        },
    ),
    "ids of results kept": Found(
        1049,
        "$.calls[1].messages",
        {
            "script": [[_use("look", "u1", "y")]],
            "middleware": [
                {"stage": "tool", "ops": [{"op": "set", "path": ["toolUse", "toolUseId"], "value": "y"}]}
            ],
        },
    ),
}


_FOUND_IN_DRIVER: Final = {
    "messages copied one level too shallow": Found(
        374, "$.identity", {"script": [[_use("save", "u1", {})]], **_IDENTITY}
    ),
    "model state written back on error": Found(
        191, "$.modelState", {"script": [{"modelState": {"r": "y"}, "throwAfter": "y"}]}
    ),
    "a tool gets the input that is in the history": Found(493, "$.calls[1].messages", _INPUT),
    "the caller's system prompt copied": Found(
        161,
        "$.caller",
        {
            "system": [{"guardContent": {"text": {"text": "y", "qualifiers": ["x"]}}}],
            "middleware": [
                {
                    "stage": "model",
                    "ops": [
                        {
                            "op": "set",
                            "path": ["system", 0, "guardContent", "text", "qualifiers", 0],
                            "value": "y",
                        }
                    ],
                }
            ],
        },
    ),
    "the invocation state copied for the model stage": Found(
        29,
        "$.results[0].invocationState",
        {"middleware": [{"stage": "model", "ops": [{"op": "setInvocationState", "key": "h", "value": "y"}]}]},
    ),
}


def _assert_found(found: Found, of: str, make_driver: Callable[[], Driver]) -> None:
    programs = FAMILY.programs(range(found.seed, found.seed + 1), of)
    result = check(lambda program: FAMILY.trace(program, of), make_driver, programs, family=FAMILY, window=1)
    assert isinstance(result, Disagreement)
    assert {key: value for key, value in result.program.items() if key != "id"} == found.smallest
    assert result.difference.observation == found.observation


# --- in the profile -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", _FOUND_IN_PROFILE)
def test_a_fault_in_a_profile_is_found_and_made_small(fault: str) -> None:
    _assert_found(_FOUND_IN_PROFILE[fault], IN_PROFILE[fault].of, partial(FaultyDriver, fault))


# --- in the driver of the real package ----------------------------------------------------------------------


def _installed(name: str) -> tuple[str, ...]:
    """The command of a target."""
    try:
        return targets.command(name)
    except targets.TargetError as error:
        # On a developer's machine without Node the rest of the tests are worth running; CI has it.
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.mark.live
@pytest.mark.sample(2)
@pytest.mark.parametrize("fault", _FOUND_IN_DRIVER)
def test_a_fault_in_the_driver_is_found_and_made_small(fault: str, tmp_path: Path) -> None:
    planted = IN_DRIVER[fault]
    node, driver = _installed(planted.path)
    command = [node, str(copied_driver(Path(driver), tmp_path, planted))]
    make_driver = partial(Driver, command, trace_fields=FAMILY.trace_fields)
    _assert_found(_FOUND_IN_DRIVER[fault], planted.path, make_driver)


@pytest.mark.live
@pytest.mark.sample(1)
@pytest.mark.parametrize("profile", FAMILY.profiles)
def test_the_real_package_agrees_where_nothing_is_planted(profile: str) -> None:
    command = _installed(profile)
    result = check(
        lambda program: FAMILY.trace(program, profile),
        partial(Driver, command, trace_fields=FAMILY.trace_fields),
        FAMILY.programs(range(40), profile),
        family=FAMILY,
    )
    assert isinstance(result, Agreement)


def test_every_planted_fault_is_tested() -> None:
    assert {*_FOUND_IN_PROFILE} == {*IN_PROFILE}
    assert {*_FOUND_IN_DRIVER} == {*IN_DRIVER}
