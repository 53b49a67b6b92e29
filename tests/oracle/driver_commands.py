"""Drivers that the tests run: the truthful toy, and the liars."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Driver

TESTS = Path(__file__).parent.parent


def _driver(*command: str, **settings: Any) -> Driver:
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    return Driver([sys.executable, "-m", *command], env=env, **settings)


def toy_driver(fault: str | None = None) -> Driver:
    return _driver("liars.toy", *([fault] if fault else []), time_limit=20.0)


def liar(*command: str, time_limit: float = 20.0, **settings: Any) -> Driver:
    return _driver("liars.liar", *command, time_limit=time_limit, **settings)


SKELETONS: Final = {"python": (sys.executable, "driver.py"), "javascript": ("node", "driver.mjs")}


def skeleton(language: str) -> tuple[str, str]:
    """The command line of a skeleton; a test that needs Node is skipped where there is none."""
    program, name = SKELETONS[language]
    # CI has Node; on a developer's machine without it the rest of the tests are worth running.
    if shutil.which(program) is None and os.environ.get("CI") != "true":
        pytest.skip(f"there is no {program}")
    return program, str(files("agentcore.skeletons") / name)


def installed(target: str) -> tuple[str, ...]:
    """The command line of a target's driver; where it cannot be installed, a test is skipped, not in CI."""
    try:
        return targets.command(target)
    except targets.TargetError as error:
        # On a developer's machine without Node the rest of the tests are worth running; CI has it.
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"{target} is not installed: {error}")


def small(id: str | float = "a", text: str = "hi") -> dict[str, Any]:  # noqa: A002
    messages = [{"role": "user", "content": text}]
    return {"id": id, "path": "stream", "messages": messages, "script": [[{"type": "text", "text": "x"}]]}
