"""Programs of processors by value: which ops write in place, and what is passed on purpose.

Rules isolated.returned and isolated.not-copied. What a processor returns lasts in this format, so nothing
accumulates; methods of the message list, and writes to the array that it keeps, are the framework's own way
to change the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.frameworks.mastra.features import FEATURES
from agentcore.kit.isolation.judge import timed, timeless, varied
from agentcore.kit.isolation.shape import Act, Isolation, Seen, Sight
from agentcore.kit.places import Place, put, without

__all__ = ["ISOLATION"]

Json: TypeAlias = dict[str, Any]
Op: TypeAlias = dict[str, Any]

_WRITES: Final = ("set", "append", "delete", "push", "splice", "reverse")
_PREPARING: Final = ("prepareStep", "defaultPrepareStep")
# What stands for what cannot be copied, or is the framework's own to be changed.
_OWN: Final = frozenset({"list", "tools", "model", "messageList"})
_EVERY: Final = "*"


@attrs.frozen
class _Turn:
    """The ops of one turn of a processor."""

    place: Place
    hook: str
    step: int | None
    ops: Sequence[Op]


def _turns(program: Json) -> Iterator[_Turn]:
    for index, processor in enumerate(program.get("processors", [])):
        if processor.get("input"):
            yield _Turn(("processors", index, "input"), "processInput", None, processor["input"])
        for step, ops in processor.get("steps", {}).items():
            yield _Turn(("processors", index, "steps", step), "processInputStep", _number(step), ops)
    for name in _PREPARING:
        for step, ops in program.get(name, {}).items():
            yield _Turn((name, step), name, _number(step), ops)


def _number(step: str) -> int | None:
    return None if step == _EVERY else int(step)


def _origins(program: Json) -> dict[str, str]:
    """What each stashed reference is one of: an argument's name, or `list`."""
    found: dict[str, str] = {}
    for turn in _turns(program):
        for op in turn.ops:
            if op["op"] == "stash":
                found[op["name"]] = _origin(op, found)
    return found


def _origin(op: Op, origins: dict[str, str]) -> str:
    on: str = op.get("on", "messages")
    kind, _, name = on.partition(":")
    return origins.get(name, kind) if kind == "stash" else on


def _acts(program: Json) -> list[Act]:
    origins = _origins(program)
    found = [act for turn in _turns(program) for act in _acts_of(turn, origins)]
    for name, tool in program.get("tools", {}).items():
        for field in tool.get("mutateInput", {}):
            at = ("tools", name, "mutateInput", field)
            found.append(Act(at=at, hook="tool", op="set", path=f"input.{field}", after=True))
    return found


def _acts_of(turn: _Turn, origins: dict[str, str]) -> Iterator[Act]:
    for number, op in enumerate(turn.ops):
        if op["op"] in _WRITES and _origin(op, origins) not in _OWN:
            keys = "".join("[*]" if isinstance(key, int) else f".{key}" for key in op.get("at", []))
            kept = " (stashed)" if op.get("on", "").startswith("stash:") else ""
            yield Act(
                at=(*turn.place, number),
                hook=turn.hook,
                op=op["op"],
                path=f"{_origin(op, origins)}{keys}{kept}",
                step=turn.step,
            )


def _by_value(program: Json, live: Collection[Place]) -> Json:
    gone = {act.at for act in _acts(program)} - {*live}
    for place in [place for place in gone if place[0] == "tools"]:
        program = without(program, place)
    return timeless(_changed(program, lambda place, op: None if place in gone else op))


def _varied(program: Json) -> Json:
    script = program.get("script", [])
    calls = [[part["toolName"] for part in step if part["type"] == "tool-call"] for step in script]
    return varied(program, calls, FEATURES)


def _timed(program: Json) -> Json | None:
    return timed(program, _by_value(program, ()))


def _changed(program: Json, change: Callable[[Place, Op], Op | None]) -> Json:
    for turn in _turns(program):
        ops = [change((*turn.place, number), op) for number, op in enumerate(turn.ops)]
        program = put(program, turn.place, [op for op in ops if op is not None])
    return program


# ---------------------------------------------------------------- preparing


def _prepared(program: Json) -> Json:
    """The program without what is returned, or passed to a method, and depends on a write."""
    acts = {act.at for act in _acts(program)}
    # The object of a program's message is one, so what is written to it is in a list that it was put into.
    wrote_stash = any(
        _at(program, act).get("on", "").startswith("stash:") for act in acts if act[0] != "tools"
    )

    def change(place: Place, op: Op) -> Op | None:
        if place in acts or op["op"] in (*_WRITES, "stash", "abort", "throw", "returnValue"):
            return op
        wrote = any(
            act[:-1] == place[:-1] and int(act[-1]) < int(place[-1]) for act in acts if act[0] != "tools"
        )
        return None if _depends(op, wrote=wrote, stashed=wrote_stash or bool(acts)) else op

    return _changed(program, change)


def _at(program: Json, place: Place) -> Any:
    found: Any = program
    for key in place:
        found = found[key]
    return found


def _depends(op: Op, *, wrote: bool, stashed: bool) -> bool:
    if op["op"] == "returnArgs":
        return wrote
    for field in ("messages", "systemMessages"):
        expression = op.get(field)
        if isinstance(expression, dict):
            source = str(expression["from"])
            if (wrote and source == "current") or (stashed and source.startswith("stash:")):
                return True
    return False


# ---------------------------------------------------------------- what a trace shows

_ENTRY: Final = re.compile(r"^\$\.(\w+)\[(\d+)\]")
_HOLDERS: Final = {
    "final": "result",
    "error": "result",
    "list": "store",
    "listSystem": "store",
    "callerChanged": "caller",
}


def _sight(path: str, act: Act | None) -> Sight:
    found = _ENTRY.match(path)
    field = path.removeprefix("$.").partition(".")[0].partition("[")[0]
    number = None if found is None else int(found[2])
    if field != "model":
        return Sight(_HOLDERS.get(field, "observers"), None, path)
    if act is None or act.step is None or number is None:
        return Sight("later-prompts", number, path)
    return Sight("this-prompt" if number <= act.step else "later-prompts", number, path)


def _own(program: Json, trace: Json) -> Iterator[tuple[str, str, Seen]]:
    """The caller's objects that the loop changed; none if an op of the program may have."""
    changed = trace.get("callerChanged")
    if changed and not any(op["op"] in (*_WRITES, "list") for turn in _turns(program) for op in turn.ops):
        given = {name: program.get(name) for name in changed}
        seen = Seen(path="$.callerChanged", expected=given, actual=changed)
        yield "isolated.caller-kept", "the caller's messages", seen


def _prompts(trace: Json) -> list[Any]:
    return [call.get("prompt") for call in trace.get("model", [])]


ISOLATION: Final = Isolation(
    prepared=_prepared,
    acts=_acts,
    by_value=_by_value,
    varied=_varied,
    timed=_timed,
    sight=_sight,
    own=_own,
    prompts=_prompts,
    ignored=frozenset({"opErrors", "logged"}),
)
