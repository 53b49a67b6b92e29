"""A truthful toy implementation: a loop far too simple to be one, but a function from programs to traces.

Its one planted fault, when asked for, is that it forgets a text that `prepareStep` sets from step 1 on.
"""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

Json = dict[str, Any]


def trace(program: Json, *, fault: str | None = None) -> Json:
    messages = copy.deepcopy(program["messages"])
    steps: list[Json] = []
    failed: list[str] = []
    for index, parts in enumerate(program["script"]):
        shown = {"stepNumber": index, "steps": index, "messages": copy.deepcopy(messages)}
        for op in _ops(program, index):
            if "set" in op and not (fault == "forgets" and index > 0):
                _set(messages, op["set"], op["to"], failed)
        texts = [part["text"] for part in parts if part.get("text")]
        messages.append({"role": "assistant", "content": " ".join(texts)})
        steps.append({"step": index, "prepareStep": shown, "prompt": copy.deepcopy(messages), "tools": []})
    return {
        "id": program["id"],
        "path": program["path"],
        "package": "toy",
        "steps": steps,
        "final": None,
        "caller": messages,
        "error": None,
        **({"opErrors": failed} if failed else {}),
    }


def _ops(program: Json, index: int) -> list[Json]:
    entries = program.get("hooks", {}).get("prepareStep", [])
    return (entries[index] or []) if index < len(entries) else []


def _set(messages: list[Any], path: list[Any], to: Any, failed: list[str]) -> None:
    match path:
        case ["messages", int(at), str(field)] if -len(messages) <= at < len(messages):
            if isinstance(messages[at], dict):
                messages[at][field] = to
        case _:
            failed.append("nowhere")


def answer(line: str, *, fault: str | None = None) -> Json:
    """The trace of a line, or that it is no program."""
    program = json.loads(line)
    if "script" not in program:
        return {"id": None, "error": {"name": "BadProgram", "message": "no script"}}
    return trace(program, fault=fault)


def serve(fault: str | None = None) -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(line, fault=fault)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(*sys.argv[1:])
