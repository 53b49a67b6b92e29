"""Programs of middleware by value: which ops write in place, and what is passed on purpose.

Rules isolated.returned and isolated.not-copied. A handler passes its context on, so by value it makes its
edits to a copy (`with`) and passes that on; the whole fields of contexts and events that a handler may set,
the invocation state, and what is reached through the agent are the user's own, or there to be changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.features import FEATURES
from agentcore.frameworks.strands.program import ACTIONS, phase_of, stage_of
from agentcore.kit.isolation.judge import timed, timeless, varied
from agentcore.kit.isolation.shape import Act, Isolation, Seen, Sight
from agentcore.kit.places import Place, put, without

__all__ = ["ISOLATION"]

Json: TypeAlias = dict[str, Any]
Op: TypeAlias = dict[str, Any]

_OWN: Final = frozenset({"invocationState", "options"})
_DROPPED: Final = frozenset({"identity", "observe"})
_BEFORE: Final = frozenset({"beforeInvocation", "beforeModel", "messageAdded"})


def _turns(program: Json) -> Iterator[tuple[Place, str, Sequence[Op]]]:
    """Where ops stand, who runs them, and the ops."""
    for index, handler in enumerate(program.get("middleware", ())):
        name = f"{stage_of(handler)}.{phase_of(handler)}"
        yield ("middleware", index, "ops"), name, handler.get("ops", ())
    for index, hook in enumerate(program.get("hooks", ())):
        yield ("hooks", index, "ops"), hook["on"], hook.get("ops", ())
    for index, entry in enumerate(program.get("script", ())):
        if isinstance(entry, dict):
            yield ("script", index, "mutate"), "model", entry.get("mutate", ())
    for name, tool in program.get("tools", {}).items():
        yield ("tools", name, "mutateInput"), "tool", tool.get("mutateInput", ())


def _is_act(place: Place, op: Op) -> bool:
    """Whether the op writes in place to what its handler was given."""
    if op["op"] not in ACTIONS or op.get("on") == "agent" or op["path"][0] in _OWN:
        return False
    # A whole field of a context or an event is there to be set.
    return place[0] not in ("middleware", "hooks") or op["op"] != "set" or len(op["path"]) > 1


def _acts(program: Json) -> list[Act]:
    return [
        Act(
            at=(*place, number),
            hook=hook,
            op=op["op"],
            path="".join("[*]" if isinstance(key, int) else f".{key}" for key in op["path"]).removeprefix(
                "."
            ),
            after=hook not in _BEFORE and not hook.startswith(("model.input", "model.wrap", "stream.input")),
        )
        for place, hook, ops in _turns(program)
        for number, op in enumerate(ops)
        if _is_act((*place, number), op)
    ]


def _by_value(program: Json, live: Collection[Place]) -> Json:
    """The program in which handlers edit copies, and hooks, model and tools do not write, but for `live`."""
    gone = {act.at for act in _acts(program)} - {*live}

    def change(place: Place, op: Op) -> Op | None:
        if place not in gone:
            return op
        return {**op, "op": "with", "action": op["op"]} if place[0] == "middleware" else None

    return timeless(_changed(program, change))


def _varied(program: Json) -> Json:
    entries = [
        entry.get("blocks", []) if isinstance(entry, dict) else entry for entry in program.get("script", ())
    ]
    calls = [[block["toolUse"]["name"] for block in blocks if "toolUse" in block] for blocks in entries]
    return varied(program, calls, FEATURES)


def _timed(program: Json) -> Json | None:
    return timed(program, _by_value(program, ()))


def _changed(program: Json, change: Callable[[Place, Op], Op | None]) -> Json:
    for place, _, ops in [*_turns(program)]:
        if ops:
            made = [change((*place, number), op) for number, op in enumerate(ops)]
            program = put(program, place, [op for op in made if op is not None])
    return program


def _prepared(program: Json) -> Json:
    """The program without records of objects; handlers that write pass on what they have by then."""
    wrote = {act.at[:-1] for act in _acts(program)}

    def change(place: Place, op: Op) -> Op | None:
        if op["op"] in _DROPPED and (op["op"] == "identity" or place[:-1] in wrote):
            return None
        if op["op"] == "next" and place[:-1] in wrote and "ctx" in op:
            found: Op = without(op, ("ctx",))
            return found
        return op

    return _changed(program, change)


# ---------------------------------------------------------------- what a trace shows

_CALL: Final = re.compile(r"^\$\.calls\[(\d+)\]")
_HOLDERS: Final = {
    "results": "result",
    "agentMessages": "store",
    "system": "store",
    "toolSpecs": "store",
    "modelState": "store",
    "invocationState": "caller",
    "caller": "caller",
}


def _sight(path: str, act: Act | None) -> Sight:
    found = _CALL.match(path)
    if found is None:
        field = path.removeprefix("$.").partition(".")[0].partition("[")[0]
        return Sight(_HOLDERS.get(field, "observers"), None, path)
    holder = "next-prompt" if act is not None and act.after and int(found[1]) == 1 else "later-prompts"
    return Sight(holder, int(found[1]), path)


def _own(program: Json, trace: Json) -> Iterator[tuple[str, str, Seen]]:
    """The caller's objects that the agent changed; none if an op of the program may have."""
    caller = trace.get("caller")
    writes = any(
        op["op"] in ACTIONS or op["op"] == "with"
        for _, _, ops in _turns(_by_value(program, ()))
        for op in ops
    )
    if not isinstance(caller, dict) or writes or not (changed := _changed_fields(caller)):
        return
    after = caller.get("config") if "messages" in changed else caller.get("inputs")
    before = program.get("messages", []) if "messages" in changed else program.get("inputs")
    place = f"the caller's {', '.join(changed)}"
    yield "isolated.caller-kept", place, Seen(path="$.caller", expected=before, actual=after)


def _changed_fields(caller: Json) -> list[str]:
    changed = caller.get("changed", [])
    return [
        str(name) for name in changed if "invocationState" not in str(name) and "options" not in str(name)
    ]


def _prompts(trace: Json) -> list[Any]:
    return [call.get("messages") for call in trace.get("calls", [])]


def _judged(trace: Json) -> bool:
    """Whether there is a run, in which every edit could be made: one that cannot is worded by its op."""
    return not trace.get("pathErrors") and "driverError" not in trace


ISOLATION: Final = Isolation(
    prepared=_prepared,
    acts=_acts,
    by_value=_by_value,
    varied=_varied,
    timed=_timed,
    sight=_sight,
    own=_own,
    prompts=_prompts,
    ignored=frozenset({"identity", "aliases", "pathErrors", "sdkInvocationKeys"}),
    judged=_judged,
)
