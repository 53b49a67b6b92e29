"""Faults planted in Mastra's loop and in the driver of the package: each is found, and made small."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.frameworks.mastra.family import FAMILY
from agentcore.oracle.campaign.check import Agreement, Disagreement, check
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Driver
from faults.js_faults import copied_driver
from faults.mastra_faults import FAULTS, IN_DRIVER
from oracle.driver_commands import TESTS

pytestmark = pytest.mark.slow

Json = dict[str, Any]
PROFILE: Final = "mastra@1.71.0"
_PROGRAMS: Final = 2_000

# For each fault a seed near one that shows it, which is among the first 2,000; the observation in which the
# smallest program shows it first; and that program, its id apart.
_IN_LOOP: Final[dict[str, tuple[int, str, Json]]] = {
    "system messages not reset": (
        2,
        "$.received[1].got",
        {
            "script": [[{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {}}]],
            "prepareStep": {"*": [{"op": "list", "call": "addSystem", "args": ["x"]}]},
        },
    ),
    "prepare step run first": (
        3,
        "$.received[0].processor",
        {"processors": [{"id": "p1", "steps": {}}], "prepareStep": {}},
    ),
    "processors of the call appended": (
        34,
        "$.received[0]",
        {"processors": [{"id": "p1"}, {"id": "p2", "where": "ctor", "steps": {}}]},
    ),
    "array copied for processors": (0, "$.received[0].got", {"prepareStep": {}}),
    "list read again before each processor": (
        0,
        "$.received[1].got",
        {
            "processors": [
                {"id": "p1", "where": "ctor", "steps": {"0": [{"op": "list", "call": "clearAll"}]}},
                {"id": "p3", "where": "ctor", "steps": {}},
            ]
        },
    ),
    "options copied for the call": (
        6,
        "$.callerChanged",
        {
            "prepareStep": {"*": [{"op": "set", "on": "providerOptions", "at": ["x"], "value": {}}]},
            "providerOptions": {},
        },
    ),
}
_ON_PACKAGE: Final[dict[str, tuple[int, str, Json]]] = {
    "processors get clones of messages": (
        8,
        "$.model[0].prompt",
        {"prepareStep": {"0": [{"op": "set", "at": [0], "message": {"role": "user", "text": "y"}}]}},
    ),
    "processors get clones of system messages": (
        10,
        "$.model[0].prompt",
        {
            "prepareStep": {
                "0": [{"op": "push", "on": "systemMessages", "value": {"role": "system", "content": "y"}}]
            }
        },
    ),
}


def _trace(program: Json) -> Json:
    return FAMILY.trace(program, PROFILE)


def _assert_found(make_driver: Callable[[], Driver], first: int, observation: str, smallest: Json) -> None:
    programs = FAMILY.programs(range(first, _PROGRAMS), PROFILE)
    result = check(_trace, make_driver, programs, family=FAMILY, window=1)
    assert isinstance(result, Disagreement)
    assert result.difference.observation == observation
    assert {key: value for key, value in result.program.items() if key != "id"} == smallest


# --- in the loop --------------------------------------------------------------------------------------------


def _loop_driver(*fault: str) -> partial[Driver]:
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    argv = [sys.executable, "-m", "faults.mastra_driver", *fault]
    return partial(Driver, argv, env=env, trace_fields=FAMILY.trace_fields)


@pytest.mark.sample(2)
@pytest.mark.parametrize("fault", _IN_LOOP)
def test_a_fault_in_mastras_loop_is_found_and_made_small(fault: str) -> None:
    _assert_found(_loop_driver(fault), *_IN_LOOP[fault])


def test_the_driver_of_mastras_loop_agrees_where_none_is_planted() -> None:
    programs = FAMILY.programs(range(30), PROFILE)
    assert isinstance(check(_trace, _loop_driver(), programs, family=FAMILY), Agreement)


# --- in the driver of the real package ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed() -> tuple[str, Path]:
    """Node and the driver beside the installed package."""
    try:
        node, driver = targets.command(PROFILE)
    except targets.TargetError as error:
        # On a developer's machine without Node the rest of the tests are worth running; CI has it.
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    return node, Path(driver)


@pytest.mark.live
@pytest.mark.sample(1)
@pytest.mark.parametrize("fault", _ON_PACKAGE)
def test_a_fault_in_the_driver_of_mastra_is_found_and_made_small(
    fault: str, installed: tuple[str, Path], tmp_path: Path
) -> None:
    node, driver = installed
    argv = [node, str(copied_driver(driver, tmp_path, IN_DRIVER[fault]))]
    make_driver = partial(Driver, argv, trace_fields=FAMILY.trace_fields)
    _assert_found(make_driver, *_ON_PACKAGE[fault])


def test_every_fault_of_mastra_is_tested() -> None:
    assert {*_IN_LOOP} == {*FAULTS}
    assert {*_ON_PACKAGE} == {*IN_DRIVER}
