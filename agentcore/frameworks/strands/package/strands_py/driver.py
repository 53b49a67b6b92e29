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

from clock import VirtualTimeLoop  # noqa: E402
from run import Run  # noqa: E402

VERSION = version("strands-agents")
TYPESCRIPT_ONLY = ("modelDelta", "contentBlock")
INTRODUCTION = {
    "version": 1,
    "implementation": {"name": "strands-agents", "version": VERSION},
    "formats": ["strands"],
    "unsupported": [f"hook {name}" for name in TYPESCRIPT_ONLY],
}
NO_REQUEST = 'a request is {"cmd": "run", "seq": ..., "program": {...}} or {"cmd": "stop"}'


# ---------------------------------------------------------------- the driver protocol


async def main() -> None:
    """Answers line by line until there are no more, or the request `stop` comes.

    Until it is asked to start it is a filter.
    """
    started = False
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        value = parsed(line)
        command = value.get("cmd") if isinstance(value, dict) else None
        if command == "start":
            started = True
            write(INTRODUCTION)
        elif not started:
            write(await filtered(value))
        elif command == "stop":
            return
        elif command == "run" and "seq" in value:
            write({"seq": value["seq"], **await answer_program(value.get("program"))})
        else:
            write({"seq": None, "error": {"name": "BadRequest", "message": NO_REQUEST}})


def write(value: Any) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


async def filtered(program: Any) -> dict[str, Any]:
    """What a filter answers."""
    asked = program.get("id") if isinstance(program, dict) else None
    match await answer_program(program):
        case {"trace": trace}:
            return dict(trace)
        case {"error": {"name": name, "message": message}}:
            return {
                "id": asked,
                "impl": "strands-py",
                "version": VERSION,
                "driverError": f"{name}: {message}",
            }
        case other:
            return {"id": asked, **other}


# ---------------------------------------------------------------- programs


async def answer_program(program: Any) -> dict[str, Any]:
    """Returns the trace of a program, or why there is none."""
    try:
        require(program)
    except TypeError as error:
        return {"error": {"name": "BadProgram", "message": str(error)}}
    lacking = [hook["on"] for hook in program.get("hooks", []) if hook["on"] in TYPESCRIPT_ONLY]
    if lacking:
        return {"unsupported": f"there is no hook {lacking[0]} in Python"}
    head = {"id": program.get("id"), "impl": "strands-py", "version": VERSION}
    return {"trace": {**head, **await traced(program)}}


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


def start() -> None:
    """Answers in virtual time, with as many frames on the stack as `asyncio.run` has.

    Runs without end stop where the stack is full, and their logs show how deep that was.
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())


start()
