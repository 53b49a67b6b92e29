"""Runs programs (spec/program-format-middleware.md) on the real Agent of strands-agents, line by line."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import warnings
from importlib.metadata import version
from typing import Any

# Nothing is traced, logged or warned of: only answers are written.
os.environ["OTEL_SDK_DISABLED"] = "true"
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
answers = sys.stdout
sys.stdout = sys.stderr

from run import Run  # noqa: E402

VERSION = version("strands-agents")
TYPESCRIPT_ONLY = ("modelDelta", "contentBlock")


async def answer(line: bytes) -> dict[str, Any]:
    """The trace of the program in a line, or why there is none."""
    program: Any = None
    try:
        program = json.loads(line)
        require(program)
    except (TypeError, ValueError) as error:
        asked = program.get("id") if isinstance(program, dict) else None
        return {"id": asked, "impl": "strands-py", "version": VERSION, "driverError": f"BadProgram: {error}"}
    lacking = [hook["on"] for hook in program.get("hooks", []) if hook["on"] in TYPESCRIPT_ONLY]
    if lacking:
        return {"id": program.get("id"), "unsupported": f"there is no hook {lacking[0]} in Python"}
    return {"id": program.get("id"), "impl": "strands-py", "version": VERSION, **await traced(program)}


def require(program: Any) -> None:
    if not isinstance(program, dict):
        raise TypeError("a program is an object")
    for name in ("messages", "middleware", "hooks", "inputs", "script"):
        if not isinstance(program.get(name, []), list):
            raise TypeError(f"{name} is a list")


async def traced(program: dict[str, Any]) -> dict[str, Any]:
    milliseconds = program.get("timeoutMs", 10000)
    try:
        return await asyncio.wait_for(Run(program).trace(), milliseconds / 1000)
    except TimeoutError:
        return {"driverError": f"TimeLimit: no end within {milliseconds} ms"}
    except Exception as error:  # noqa: BLE001 - whatever it is, the next program can be run
        return {"driverError": f"{type(error).__name__}: {error}"}


async def main() -> None:
    """Answers line by line until there are no more."""
    for line in sys.stdin.buffer:
        if line.strip():
            answers.write(json.dumps(await answer(line)) + "\n")
            answers.flush()


asyncio.run(main())
