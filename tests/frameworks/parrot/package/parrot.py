"""The package itself, in three versions, on plain lists; and its driver's loop."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

Hook = Callable[[list[str]], "list[str] | None"]


class Agent:
    """Says after the user: the last text of what it is prompted with."""

    def __init__(self, version: int, hooks: list[Hook]) -> None:
        self.copies = version > 1
        self.keeps = version != 2
        self.hooks = hooks
        self.prompts: list[list[str]] = []

    def call(self, messages: list[str]) -> list[str]:
        """Does a step for each hook; the conversation that is left."""
        history = list(messages) if self.copies else messages
        for hook in self.hooks:
            handed = list(history) if self.copies else history
            returned = hook(handed)
            prompt = handed if returned is None else returned
            if returned is not None and self.keeps:
                history = returned
            self.prompts.append(list(prompt))
            history.extend(prompt[-1:])
        return history


def _hook(ops: list[dict[str, Any]]) -> Hook:
    def hook(messages: list[str]) -> list[str] | None:
        for op in ops:
            if "append" in op:
                messages.append(op["append"])
            elif "set" in op and op["set"] < len(messages):
                messages[op["set"]] = op["to"]
            elif "clear" in op:
                messages.clear()
            elif "return" in op:
                return list(op["return"])
        return None

    return hook


def _trace(version: int, program: dict[str, Any]) -> dict[str, Any]:
    caller = program["messages"]
    agent = Agent(version, [_hook(ops) for ops in program["hooks"]])
    history = agent.call(caller)
    return {"id": program["id"], "prompts": agent.prompts, "caller": caller, "history": history}


def _answer(version: int, line: bytes) -> dict[str, Any] | None:
    try:
        request = json.loads(line)
    except ValueError:
        request = None
    match request:
        case {"cmd": "start"}:
            named = {"name": "parrot", "version": str(version)}
            return {"version": 1, "implementation": named, "formats": ["parrot"], "unsupported": []}
        case {"cmd": "stop"}:
            return None
        case {"cmd": "run", "seq": seq, "program": program}:
            try:
                return {"seq": seq, "trace": _trace(version, program)}
            except (KeyError, TypeError, AttributeError) as error:
                return {"seq": seq, "error": {"name": "BadProgram", "message": repr(error)}}
    return {"seq": None, "error": {"name": "BadRequest", "message": "start, run or stop"}}


def serve(version: int) -> None:
    """Answers requests of the driver protocol until it is told to stop."""
    for line in sys.stdin.buffer:
        if line.strip():
            answer = _answer(version, line)
            if answer is None:
                return
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
