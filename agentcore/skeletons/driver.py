"""A driver for an agent loop, in version 1 of agentcore's protocol: change only the three FILL IN."""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

# FILL IN: what runs the programs, and the format of those that it takes (`agentcore frameworks`).
IMPLEMENTATION = {"name": "my-loop", "version": "0.0.0"}
FORMATS = ["ai-sdk"]

# FILL IN: features that your loop does not have, such as "op freeze"; programs with one can be left out.
UNSUPPORTED: list[str] = []

# Seconds that a tool sleeps after its ops, for each moment that it `takes`; then it returns or raises.
MOMENT = 0.01


class UnsupportedError(Exception):
    """The loop cannot run this program; the text says why."""


def run(program: dict[str, Any]) -> dict[str, Any]:
    """FILL IN: runs the program on your loop and gives its trace.

    Make of the program what your loop takes: messages; a model that answers with `script[0]`, then
    `script[1]`; tools, which sleep `tool.get("takes", 0) * MOMENT`; hooks that do `hooks.do(ops, argument)`.
    Copy (`shown`) what each gets before its ops. Raise UnsupportedError for what you cannot do.
    """
    Hooks(program["messages"]).do([], {})
    raise UnsupportedError("this driver is a skeleton; fill in `run`")


def shown(value: Any) -> Any:
    """A copy of what is there now, as a trace has it."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnsupportedError(f"a value that is no JSON: {error}") from None


class Hooks:
    """Does the ops of a program's hooks on live objects; `errors` are those that led nowhere."""

    def __init__(self, caller: list[Any]) -> None:
        self.kept: dict[str, Any] = {"$caller": caller}
        self.errors: list[str] = []

    def do(self, ops: list[Any] | None, argument: dict[str, Any]) -> None:
        """Does the ops of one hook, in order, on its argument; raises what they throw."""
        for op in ops or ():
            try:
                self._do(op, argument)
            except LookupError as error:
                self.errors.append(f"nothing is at {error}")

    def _do(self, op: dict[str, Any], argument: dict[str, Any]) -> None:
        match op:
            case {"set": path, "to": value}:
                place = self._at(path[:-1], argument)
                is_field = len(path) > 1 or not path[0].startswith("$")
                place[self._key(place, path[-1], new=is_field)] = self._value(value, argument)
            case {"append": path, "with": value}:
                self._append(path, self._value(value, argument), argument)
            case {"clear": path} if isinstance(place := self._at(path, argument), list):
                place.clear()
            case {"delete": path}:
                place = self._at(path[:-1], argument)
                del place[self._key(place, path[-1])]
            case {"keep": path, "as": name}:
                self.kept[f"${name}"] = self._at(path, argument)
            case {"throw": text}:
                raise RuntimeError(text)
            case _:
                raise UnsupportedError(f"the op {next(iter(op))}")

    def _append(self, path: list[Any], added: Any, argument: dict[str, Any]) -> None:
        is_kept = len(path) == 1 and isinstance(self.kept.get(str(path[0])), list)
        place = self.kept if is_kept else self._at(path[:-1], argument)
        key = self._key(place, path[-1])
        if isinstance(place[key], list):
            place[key].append(added)
        elif isinstance(place[key], str) and isinstance(added, str):
            place[key] += added
        else:
            raise UnsupportedError("append to what is no list and no text")

    def _at(self, path: list[Any], argument: dict[str, Any]) -> Any:
        place: Any = self.kept if path and str(path[0]).startswith("$") else argument
        for key in path:
            place = place[self._key(place, key)]
        return place

    def _key(self, place: Any, key: Any, *, new: bool = False) -> Any:
        fields = place if isinstance(place, dict) else ()
        keys: Any = range(-len(place), len(place)) if isinstance(place, list) else fields
        if key not in keys and not (new and isinstance(place, dict) and isinstance(key, str)):
            raise LookupError(key)
        return key

    def _value(self, value: Any, argument: dict[str, Any]) -> Any:
        match value:
            case {"$ref": path}:
                return self._at(path, argument)
            case {"$clone": path}:
                return copy.deepcopy(self._at(path, argument))
            case dict():
                return {key: self._value(item, argument) for key, item in value.items()}
        return [self._value(item, argument) for item in value] if isinstance(value, list) else value


def answer(program: Any) -> dict[str, Any]:
    """The trace of a program, or why there is none."""
    if not isinstance(program, dict):
        return {"error": {"name": "BadProgram", "message": "a program is an object"}}
    try:
        return {"trace": run(program)}
    except UnsupportedError as error:
        return {"unsupported": str(error)}


def main() -> None:
    """Answers requests, one JSON value per line, until the request `stop` comes or there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the loop prints is no answer
    started = {"version": 1, "implementation": IMPLEMENTATION, "formats": FORMATS, "unsupported": UNSUPPORTED}
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
        except ValueError:
            request = None
        match request:
            case {"cmd": "start"}:
                said = started
            case {"cmd": "run", "seq": seq, "program": program}:
                said = {"seq": seq, **answer(program)}
            case {"cmd": "stop"}:
                return
            case _:
                said = {"seq": None, "error": {"name": "BadRequest", "message": "start, run or stop"}}
        answers.write(json.dumps(said) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
