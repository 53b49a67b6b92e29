"""The loop of the Python driver: the order of tools is that of their times, however busy the machine is."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from agentcore.frameworks.strands.family import FAMILY
from agentcore.frameworks.strands.package.strands_py.clock import VirtualTimeLoop
from agentcore.oracle.drivers.driver import Answer, Driver
from oracle.driver_commands import installed


async def ended_first() -> tuple[list[str], float]:
    """Two waits of one moment after another, with work between, and one that is longer than both."""
    ended = []

    async def twice() -> None:
        await asyncio.sleep(0.021)
        time.sleep(0.05)  # noqa: ASYNC251 - a machine with other work
        await asyncio.sleep(0.022)
        ended.append("twice")

    async def once() -> None:
        await asyncio.sleep(0.044)
        ended.append("once")

    await asyncio.gather(twice(), once())
    return ended, asyncio.get_running_loop().time()


def test_what_waits_less_ends_first_whatever_happens_meanwhile() -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        ended, at = runner.run(ended_first())
    assert ended == ["twice", "once"]
    assert abs(at - 0.044) < 1e-6
    with asyncio.Runner() as runner:
        assert runner.run(ended_first())[0] == ["once", "twice"]


def test_a_wait_of_hours_is_over_at_once() -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(asyncio.sleep(36_000))
        assert abs(runner.get_loop().time() - 36_000) < 1


@pytest.mark.live
def test_what_the_driver_does_takes_none_of_a_program_s_time() -> None:
    calls: list[Any] = [
        {"toolUse": {"name": "look", "toolUseId": name, "input": {}}} for name in ("u1", "u2")
    ]
    program = {
        "id": "a",
        "inputs": ["go"],
        "script": [calls, [{"text": "end"}]],
        "tools": {"look": {"output": "a"}},
        "executor": "concurrent",
        "timeoutMs": 1,  # real work takes longer
    }
    with Driver(installed("strands-py@1.62.0"), trace_fields=FAMILY.trace_fields) as driver:
        answer = driver.run(program)
    assert isinstance(answer, Answer)
    assert "driverError" not in answer.trace
    assert answer.trace["results"][0]["stopReason"] == "endTurn"
