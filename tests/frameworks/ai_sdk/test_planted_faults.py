"""Faults planted at single boundaries: the check finds each within 2,000 programs and makes it small.

The profile's faults are a process of this Python; those in the driver's text run on the real package.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.programs import random_programs
from agentcore.frameworks.ai_sdk.reference import trace
from agentcore.kit.compare import differences
from agentcore.kit.shrink import size
from agentcore.oracle.campaign.check import Agreement, Disagreement, check
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Driver
from faults.js_faults import JS_FAULTS, JsFault, copied_driver
from faults.profile_driver import faulty_trace
from faults.profile_faults import PROFILE_FAULTS
from oracle.driver_commands import TESTS
from spec.recorded import of

pytestmark = pytest.mark.slow

Json = dict[str, Any]
_PROGRAMS: Final = 2_000
_HI: Final = [{"role": "user", "content": "y"}]

# For each fault a seed where the check comes upon it, so it does within 2,000 programs from seed 0, and the
# observation in which the smallest program shows it first. Programs that are small to begin with are chosen,
# so that the tests are quick.
_IN_PROFILE: Final = {
    "report of the chain": (0, "$.steps[0].onStepFinish"),
    "report of the content": (0, "$.steps[1].onStepFinish"),
    "response made too early": (5, "$.steps[1].prepareStep"),
    "response made too late": (0, "$.steps[0].onStepFinish"),
    "context for one step": (241, "$.opErrors"),
    "caller's array copied": (5, "$.steps[1].prepareStep"),
    "caller's messages copied": (46, "$.caller"),
    "hooks get deep copies": (46, "$.caller"),
    "results in call order": (0, "$.steps[0].onStepFinish"),
    "empty results dropped": (16, "$.steps[0].prepareStep"),
    "empty results kept": (16, "$.steps[0].prepareStep"),
    "finished steps lost": (17, "$.final"),
}
_IN_DRIVER: Final = {
    "prepareStep gets clones": (46, "$.steps[0].model"),
    "prepareStep gets messages copied one level": (1, "$.caller"),
    "an override persists": (6, "$.steps[1].prompt"),
    "a tool gets its input cloned": (15, "$.steps[0].onStepFinish"),
    "a tool gets its messages cloned": (78, "$.steps[1].prepareStep"),
    "a tool's output is cloned": (122, "$.steps[1].onStepFinish"),
    "onStepFinish gets its content cloned": (114, "$.final"),
    "onStepFinish gets its report cloned": (114, "$.final"),
    "the prompt is cloned": (119, "$.steps[1].onStepFinish"),
    "the caller's messages are cloned": (46, "$.caller"),
}


def _call(tool: str, call_id: str, value: Any) -> Json:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": tool, "input": value}


# The exact smallest programs, `id` and `path` apart.
_SMALLEST: Final[dict[str, Json]] = {
    "report of the chain": {"messages": _HI, "script": [[{"type": "text", "text": "y"}]]},
    "response made too early": {
        "messages": _HI,
        "script": [[_call("save", "c1", {})]],
        "hooks": {"onStepFinish": [[{"set": ["content"], "to": "y"}]]},
    },
    "caller's array copied": {
        "messages": _HI,
        "script": [[_call("look", "c4", {})]],
        "hooks": {"prepareStep": [[{"set": ["$caller", 0], "to": "y"}]]},
    },
    "hooks get deep copies": {
        "messages": _HI,
        "script": [],
        "hooks": {"prepareStep": [[{"set": ["messages", 0, "x"], "to": "y"}]]},
    },
    "results in call order": {
        "messages": _HI,
        "script": [[_call("look", "c6", []), {"type": "text", "text": "y"}]],
    },
    "prepareStep gets messages copied one level": {
        "messages": _HI,
        "script": [],
        "hooks": {"prepareStep": [[{"append": ["messages", 0, "content"], "with": "y"}]]},
    },
    "an override persists": {
        "messages": _HI,
        "script": [[_call("save", "c0", {})]],
        "hooks": {"prepareStep": [[{"return": {"messages": []}}]]},
    },
    "a tool gets its input cloned": {
        "messages": _HI,
        "tools": {"look": {"output": {}, "mutate": [{"set": ["input", "a"], "to": "y"}]}},
        "script": [[_call("look", "c2", {})]],
    },
    "a tool's output is cloned": {
        "messages": _HI,
        "tools": {"save": {"output": {}, "returns": "shared"}},
        "script": [[_call("save", "c0", {})], [_call("save", "c1", "y")]],
        "hooks": {
            "onStepStart": [
                None,
                [{"set": ["messages", -1, "content", 0, "output", "value", "a"], "to": "y"}],
            ]
        },
    },
    "onStepFinish gets its report cloned": {
        "messages": _HI,
        "script": [],
        "hooks": {"onStepFinish": [[{"append": ["response", "messages"], "with": {}}]]},
    },
    "the prompt is cloned": {
        "messages": _HI,
        "script": [[_call("look", "c0", {})]],
        "hooks": {"model": [None, [{"set": ["prompt", 2, "content", 0, "output", "x"], "to": "y"}]]},
    },
    "the caller's messages are cloned": {
        "messages": _HI,
        "script": [],
        "hooks": {"prepareStep": [[{"set": ["messages", 0, "x"], "to": "y"}]]},
    },
}


def _assert_found(fault: str, expected: tuple[int, str], path: str, make_driver: partial[Driver]) -> None:
    first, observation = expected
    programs = random_programs(range(first, _PROGRAMS), path)
    result = check(trace, make_driver, programs, family=FAMILY, window=1)
    assert isinstance(result, Disagreement)
    steps, ops, *_ = size(result.program, FAMILY)
    assert steps <= 2
    assert ops <= 3
    assert result.difference.observation == observation
    smallest = {key: value for key, value in result.program.items() if key not in ("id", "path")}
    assert smallest == _SMALLEST.get(fault, smallest)


# --- in the profile -----------------------------------------------------------------------------------------


def _profile_driver(*fault: str) -> partial[Driver]:
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    return partial(Driver, [sys.executable, "-m", "faults.profile_driver", *fault], env=env)


@pytest.mark.sample(4)
@pytest.mark.parametrize("fault", _IN_PROFILE)
def test_a_fault_in_a_profile_is_found_and_made_small(fault: str) -> None:
    _assert_found(fault, _IN_PROFILE[fault], PROFILE_FAULTS[fault].path, _profile_driver(fault))


def test_the_driver_of_the_profiles_agrees_where_none_is_planted() -> None:
    assert isinstance(check(trace, _profile_driver(), random_programs(range(30)), family=FAMILY), Agreement)


@pytest.mark.parametrize("fault", [name for name in PROFILE_FAULTS if name not in _IN_PROFILE])
def test_a_fault_that_random_programs_hardly_meet_shows_in_a_recorded_vector(fault: str) -> None:
    path = PROFILE_FAULTS[fault].path
    vectors = of("ai-sdk-6")
    recorded = ((vector.traces[path], vector.on(path)) for vector in vectors if path in vector.traces)
    assert any(
        differences(expected, faulty_trace(program, fault), FAMILY.comparison)
        for expected, program in recorded
    )


# --- in the driver of the real package ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed() -> tuple[str, Path]:
    """Node and the driver beside the installed package."""
    try:
        node, driver = targets.command("ai-sdk@6.0.134")
    except targets.TargetError as error:
        # On a developer's machine without Node the rest of the tests are worth running; CI has it.
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    return node, Path(driver)


def _changed(installed: tuple[str, Path], folder: Path, fault: JsFault | None) -> partial[Driver]:
    node, driver = installed
    return partial(Driver, [node, str(copied_driver(driver, folder, fault))])


@pytest.mark.live
@pytest.mark.sample(3)
@pytest.mark.parametrize("fault", _IN_DRIVER)
def test_a_fault_in_the_driver_is_found_and_made_small(
    fault: str, installed: tuple[str, Path], tmp_path: Path
) -> None:
    planted = JS_FAULTS[fault]
    _assert_found(fault, _IN_DRIVER[fault], planted.path, _changed(installed, tmp_path, planted))


@pytest.mark.live
def test_the_copied_driver_agrees_where_nothing_is_planted(
    installed: tuple[str, Path], tmp_path: Path
) -> None:
    make_driver = _changed(installed, tmp_path, None)
    assert isinstance(check(trace, make_driver, random_programs(range(30)), family=FAMILY), Agreement)


def test_every_planted_fault_is_tested() -> None:
    assert {*_IN_DRIVER} == {*JS_FAULTS}
    assert {*_IN_PROFILE} < {*PROFILE_FAULTS}
    assert {*_SMALLEST} < {*_IN_DRIVER, *_IN_PROFILE}
