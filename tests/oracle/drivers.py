"""Drivers that the tests run: the truthful toy, and the liars."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from agentcore.oracle.driver import Driver

TESTS = Path(__file__).parent.parent


def _driver(*command: str, **settings: Any) -> Driver:
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    return Driver([sys.executable, "-m", *command], env=env, **settings)


def toy_driver(fault: str | None = None) -> Driver:
    return _driver("liars.toy", *([fault] if fault else []), time_limit=20.0)


def liar(*command: str, time_limit: float = 20.0, **settings: Any) -> Driver:
    return _driver("liars.liar", *command, time_limit=time_limit, **settings)


def small(id: str | float = "a", text: str = "hi") -> dict[str, Any]:  # noqa: A002
    messages = [{"role": "user", "content": text}]
    return {"id": id, "path": "stream", "messages": messages, "script": [[{"type": "text", "text": "x"}]]}
