"""The middleware format as a family: two versions of the SDK in TypeScript, and the one in Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.profiles import PROFILES
from agentcore.frameworks.strands.program import (
    ACTIONS,
    FEATURES,
    check,
    features,
    handlers_of,
    phase_of,
    stage_of,
    to_line,
    trace_problem,
)
from agentcore.frameworks.strands.programs import Traits, random_program
from agentcore.frameworks.strands.reference import recording, trace, trace_under
from agentcore.frameworks.strands.sweeps import scenes
from agentcore.kit.choices import Choices
from agentcore.kit.compare import Trace, ids_may_differ
from agentcore.kit.families import Comparison, Each, Emulation, Family, Shrinking, Write, slow_tools
from agentcore.kit.isolation import Act, Isolation, Seen, Sight, timed, timeless, varied
from agentcore.kit.program import Place, has, put, without
from agentcore.kit.shrink import Smallest, entries_out, windows_out

__all__ = ["COMPARISON", "FAMILY", "ISOLATION", "SHRINKING", "TRAITS", "writes"]

Json: TypeAlias = dict[str, Any]

# What two traces of the middleware format may differ in, and the order in which a run makes them.


def implementations_may_differ(trace: Trace) -> Trace:
    """`impl` and `version` name what ran the program."""
    return {key: value for key, value in trace.items() if key not in {"impl", "version"}}


def driver_error_texts_may_differ(trace: Trace) -> Trace:
    """The reason why there is no trace is one word before the first colon; the rest is every driver's own."""
    error = trace.get("driverError")
    return {**trace, "driverError": error.partition(":")[0]} if isinstance(error, str) else trace


_PERMITTED: Final[Mapping[str, Callable[[Trace], Trace]]] = MappingProxyType(
    {
        "id": ids_may_differ,
        "impl": implementations_may_differ,
        "driverError": driver_error_texts_may_differ,
    }
)

COMPARISON: Final = Comparison(
    permitted=_PERMITTED,
    order=(
        *("driverError", "log"),
        Each("calls", ("messages", "system", "toolSpecs", "toolChoice", "modelState")),
        Each("toolRuns", ("name", "toolUseId", "input", "invocationState")),
        *("observations", "identity", "pathErrors"),
        Each("results", ("error", "stopReason", "lastMessage", "structuredOutput", "invocationState")),
        *("agentMessages", "system", "toolSpecs", "modelState", "invocationState", "caller", "aliases"),
        "sdkInvocationKeys",
    ),
)


# Where the ops of a program of middleware stand, in the order in which they are registered.


def writes(program: Json) -> Iterator[Write]:
    """The tools that take time or write, what the model writes, then the ops of hooks and handlers."""
    yield from slow_tools(program)
    for name, tool in program.get("tools", {}).items():
        for number, op in enumerate(tool.get("mutateInput", ())):
            yield Write("a tool", op["op"], ("tools", name, "mutateInput", number))
    for index, entry in enumerate(program.get("script", ())):
        for number, op in enumerate(entry.get("mutate", ()) if isinstance(entry, dict) else ()):
            yield Write("the model", op["op"], ("script", index, "mutate", number))
    for index, hook in enumerate(program.get("hooks", ())):
        for number, op in enumerate(hook.get("ops", ())):
            yield Write(hook["on"], op["op"], ("hooks", index, "ops", number))
    for index, handler in enumerate(program.get("middleware", ())):
        for number, op in enumerate(handler.get("ops", ())):
            yield Write(f"the {stage_of(handler)} stage", op["op"], ("middleware", index, "ops", number))


# How programs of the middleware format are made smaller: fewer invocations and calls, then fewer ops.

_LISTS: Final = frozenset({"messages", "args"})


def _calls_and_ops(program: Json) -> tuple[int, int]:
    entries = [entry for entry in program.get("script", ()) if isinstance(entry, dict)]
    edits = [entry.get("mutate", ()) for entry in entries]
    edits += [tool.get("mutateInput", ()) for tool in program.get("tools", {}).values()]
    ops = sum(len(ops) for _, _, ops in handlers_of(program)) + sum(map(len, edits))
    return len(program.get("inputs", ())) + len(program.get("script", ())), ops


# --- edits --------------------------------------------------------------------------------------------------


def _handlers(smallest: Smallest) -> Iterator[Json]:
    """Whole handlers; then their ops by themselves, without what says when."""
    for field in ("middleware", "hooks"):
        yield from entries_out(smallest, field)
    yield from _without_when(smallest)


def _without_when(smallest: Smallest) -> Iterator[Json]:
    for field in ("middleware", "hooks"):
        for index, handler in enumerate(smallest().get(field, ())):
            for number in range(len(handler.get("ops", ()))):
                place = (field, index, "ops", number, "when")
                for edit in (without, _at_first):
                    if has(smallest(), place):
                        yield edit(smallest(), place)


def _at_first(program: Json, place: Place) -> Json:
    found: Json = put(program, place, 0)
    return found


def _one_input(smallest: Smallest) -> Iterator[Json]:
    for given in smallest().get("inputs", ()):
        program = {key: value for key, value in smallest().items() if key != "inputs"}
        yield program
        yield {**program, "input": given}


def _said_shorter(smallest: Smallest) -> Iterator[Json]:
    """A prompt and an input of one text as the text itself; a model's answer as its blocks."""
    for field in ("system", "input"):
        match smallest().get(field):
            case [{"text": str(text)}, *_]:
                yield {**smallest(), field: text}
    for index, entry in enumerate(smallest().get("script", ())):
        if isinstance(entry, dict) and has(smallest(), ("script", index)):
            yield put(smallest(), ("script", index), entry.get("blocks", []))


def _calls(smallest: Smallest) -> Iterator[Json]:
    """Calls of the model, with handlers that wait for a later entry waiting for one less."""
    for shorter in entries_out(smallest, "script"):
        yield shorter
        yield _earlier(shorter)


def _earlier(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sooner(child) if key == "when" else _earlier(child) for key, child in value.items()}
    return [_earlier(child) for child in value] if isinstance(value, list) else value


def _sooner(when: Any) -> Any:
    return max(when - 1, 0) if isinstance(when, int) else [max(entry - 1, 0) for entry in when]


def _history(smallest: Smallest) -> Iterator[Json]:
    yield from windows_out(smallest, "messages", roots=_LISTS, within=frozenset({"middleware", "hooks"}))


SHRINKING: Final = Shrinking(
    required=frozenset({"id"}),
    names=frozenset({"id", "toolUseId", "name", "role", "op", "on", "stage", "phase"}),
    measure=_calls_and_ops,
    edits=(_handlers, _one_input, _calls, _history, _said_shorter),
)


TRAITS: Final = MappingProxyType(
    {
        "strands-ts@1.5.0": Traits(typescript=True, state_on_context=True),
        "strands-ts@1.19.0": Traits(typescript=True),
        "strands-py@1.62.0": Traits(typescript=False),
    }
)
"""The profiles, and what of the format each of them has."""


# --- isolation ----------------------------------------------------------------------------------------------
#
# Programs of middleware by value: which ops write in place, and what is passed on purpose.
#
# Rules isolated.returned and isolated.not-copied. A handler passes its context on, so by value it makes its
# edits to a copy (`with`) and passes that on; the whole fields of contexts and events that a handler may set,
# the invocation state, and what is reached through the agent are the user's own, or there to be changed.

Op: TypeAlias = dict[str, Any]

_OWN: Final = frozenset({"invocationState", "options"})
_DROPPED: Final = frozenset({"identity", "observe"})
_BEFORE: Final = frozenset({"beforeInvocation", "beforeModel", "messageAdded"})


def _turns(program: Json) -> Iterator[tuple[Place, str, Sequence[Op]]]:
    """Yields each place that has ops, who runs them, and the ops."""
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
    """True if the op writes in place to what its handler got."""
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
    """True if the program ran and each of its edits could be made; the others are path errors."""
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


# --- the family ---------------------------------------------------------------------------------------------


def _program(choices: Choices, program_id: str, profile: str) -> dict[str, Any]:
    return random_program(choices, program_id, TRAITS[profile])


def _refusal(program_id: Any, name: str, message: str) -> dict[str, Any]:
    return {"id": program_id, "impl": "agentcore", "driverError": f"{name}: {message}"}


FAMILY: Final = Family(
    name="strands",
    profiles=tuple(TRAITS),
    check=check,
    to_line=to_line,
    trace=trace,
    program=_program,
    comparison=COMPARISON,
    shrinking=SHRINKING,
    feature_names=FEATURES,
    features=features,
    never_drawn={
        "program timeoutMs": "It ends a run by the clock, and says nothing about the run.",
    },
    smallest=lambda text: {"id": "lint", "input": text},
    trace_problem=trace_problem,
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=recording,
    isolation=ISOLATION,
    scenes=scenes,
    refusal=_refusal,
    trace_fields=("impl",),
)
