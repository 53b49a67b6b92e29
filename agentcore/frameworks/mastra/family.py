"""The processors' format as a family: versions of `@mastra/core`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

from agentcore.frameworks.mastra.profiles import PROFILES
from agentcore.frameworks.mastra.program import (
    FEATURES,
    check,
    every_op,
    features,
    is_well_formed,
    to_line,
    trace_problem,
)
from agentcore.frameworks.mastra.programs import random_program
from agentcore.frameworks.mastra.reference import PROFILE_NAMES, recording, trace, trace_under
from agentcore.frameworks.mastra.sweeps import scenes
from agentcore.kit.compare import Trace, ids_may_differ
from agentcore.kit.families import Comparison, Each, Emulation, Family, Shrinking, Write, slow_tools
from agentcore.kit.isolation import Act, Isolation, Seen, Sight, timed, timeless, varied
from agentcore.kit.program import Place, at, has, put, without
from agentcore.kit.shrink import Smallest, script_cut

__all__ = ["COMPARISON", "FAMILY", "ISOLATION", "SHRINKING", "writes"]

Json: TypeAlias = dict[str, Any]

# What two traces of the processors' format may differ in, and the order in which they are compared.

_MARK: Final = re.compile(r"#\d+")


def versions_may_differ(trace: Trace) -> Trace:
    """`version` names what ran the program."""
    return {key: value for key, value in trace.items() if key != "version"}


def error_texts_may_differ(trace: Trace) -> Trace:
    """An error is wrapped once or more on its way out, each time in other words, which are the package's own.

    The texts of a program stay: what a processor threw is still to be found in what its caller gets.
    """
    return _with_error(
        trace, lambda error: {**error, "message": sorted({*_MARK.findall(str(error.get("message")))})}
    )


def error_classes_may_differ(trace: Trace) -> Trace:
    """The same failure is a MastraError or a copy that lost its class, by how many executors it came through.

    With the class goes the name of the field that says its kind: `id` on the one, `code` on the other.
    """
    return _with_error(trace, _one_kind)


def error_causes_may_differ(trace: Trace) -> Trace:
    """A cause is kept by some of the wrappings and lost by others."""
    return _with_error(trace, lambda error: {key: value for key, value in error.items() if key != "cause"})


def logs_may_differ(trace: Trace) -> Trace:
    """What is logged is written for people: the same failure once, twice, or as another one's text."""
    return {key: value for key, value in trace.items() if key != "logged"}


def op_error_texts_may_differ(trace: Trace) -> Trace:
    """Of ops that could not be carried out only the number counts, none being the same as no list."""
    failed = trace.get("opErrors", [])
    return {**trace, "opErrors": [None] * len(failed)} if isinstance(failed, list) else trace


def _with_error(trace: Trace, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Trace:
    error = trace.get("error")
    return {**trace, "error": change(error)} if isinstance(error, dict) else trace


def _one_kind(error: dict[str, Any]) -> dict[str, Any]:
    kind = error.get("id", error.get("code"))
    rest = {key: value for key, value in error.items() if key not in ("name", "class", "id", "code")}
    return rest if kind is None else {**rest, "kind": kind}


_PERMITTED: Final[Mapping[str, Callable[[Trace], Trace]]] = MappingProxyType(
    {
        "id": ids_may_differ,
        "version": versions_may_differ,
        "error.message": error_texts_may_differ,
        "error.class": error_classes_may_differ,
        "error.cause": error_causes_may_differ,
        "logged": logs_may_differ,
        "opErrors": op_error_texts_may_differ,
    }
)

COMPARISON: Final = Comparison(
    permitted=_PERMITTED,
    order=(
        Each("received", ("processor", "step", "got", "returned", "threw")),
        Each("model", ("model", "method", "prompt", "tools", "toolChoice", "providerOptions", "settings")),
        Each("tools", ("name", "input")),
        *("events", "opErrors", "final", "error", "chunks", "list", "listSystem", "callerChanged"),
    ),
)


# Where the ops of a program of processors stand, in the order in which a run comes to them.


def writes(program: Json) -> Iterator[Write]:
    """The tools that take time or write, then processInput, then the ops of the steps.

    Processors and prepareStep are one place of a step: the package makes a processor of prepareStep.
    """
    yield from slow_tools(program)
    for name, tool in program.get("tools", {}).items():
        if "mutateInput" in tool:
            yield Write("a tool", "mutateInput", ("tools", name, "mutateInput"))
    processors = program.get("processors", [])
    for index, processor in enumerate(processors):
        yield from _ops("processInput", processor.get("input", []), ("processors", index, "input"))
    for index, processor in enumerate(processors):
        yield from _steps(processor.get("steps", {}), ("processors", index, "steps"))
    for name in ("defaultPrepareStep", "prepareStep"):
        yield from _steps(program.get(name, {}), (name,))


def _steps(steps: dict[str, list[Json]], place: Place) -> Iterator[Write]:
    for step, ops in steps.items():
        yield from _ops("a step", ops, (*place, step))


def _ops(hook: str, ops: list[Json], place: Place) -> Iterator[Write]:
    for number, op in enumerate(ops):
        yield Write(hook, op["op"], (*place, number))


# How programs of the processors' format are made smaller: fewer steps, then fewer ops.

_DONE: Final = ({"type": "text", "text": "y"},)
_PREPARING: Final = ("prepareStep", "defaultPrepareStep")
_EVERY: Final = "*"


def _steps_and_ops(program: Json) -> tuple[int, int]:
    return len(program.get("script", [])), sum(1 for _ in every_op(program))


def _op_places(program: Json) -> list[Place]:
    """The places of all ops by step."""
    processors = range(len(program.get("processors", [])))
    found: list[Place] = [("processors", index, "steps") for index in processors]
    return [place for place in (*found, *((name,) for name in _PREPARING)) if has(program, place)]


# --- edits --------------------------------------------------------------------------------------------------


def _script(smallest: Smallest) -> Iterator[Json]:
    """A shorter script, with the ops of later steps or without."""
    yield from script_cut(smallest, [*_DONE], least=0, without_step=_without_step)


def _without_step(program: Json, index: int) -> Json:
    """The ops of later steps move up with their steps."""
    shorter = {**program, "script": [*program["script"][:index], *program["script"][index + 1 :]]}
    for place in _op_places(shorter):
        steps = at(shorter, place)
        moved = {_earlier(step) if _is_after(step, index) else step: ops for step, ops in steps.items()}
        shorter = put(shorter, place, moved)
    return shorter


def _is_after(step: str, index: int) -> bool:
    return step != _EVERY and int(step) > index


def _earlier(step: str) -> str:
    return str(int(step) - 1)


def _ops_by_step(smallest: Smallest) -> Iterator[Json]:
    """Ops for one step rather than for all, and for an earlier one."""
    for place in _op_places(smallest()):
        for step in [*at(smallest(), place)]:
            steps = at(smallest(), place) if has(smallest(), place) else {}
            if step in steps:
                yield without(smallest(), (*place, step))
                yield from _moved(smallest(), place, step)


def _moved(program: Json, place: Place, step: str) -> Iterator[Json]:
    steps = at(program, place)
    if step not in steps or step == "0":
        return
    rest = {name: ops for name, ops in steps.items() if name != step}
    targets = ("0", "1") if step == _EVERY else ("0", _earlier(step))
    yield from (
        put(program, place, {target: steps[step], **rest}) for target in targets if target not in rest
    )


def _one_place(smallest: Smallest) -> Iterator[Json]:
    """A processor's ops as prepareStep's, which needs no name."""
    for index in range(len(smallest().get("processors", []))):
        program = smallest()
        if "prepareStep" not in program and has(program, ("processors", index, "steps")):
            steps = at(program, ("processors", index, "steps"))
            yield {**without(program, ("processors", index)), "prepareStep": steps}


SHRINKING: Final = Shrinking(
    required=frozenset({"id"}),
    names=frozenset({"id", "toolCallId", "toolName", "op"}),
    measure=_steps_and_ops,
    edits=(_script, _ops_by_step, _one_place),
    within=is_well_formed,
)


def _refusal(program_id: Any, name: str, message: str) -> dict[str, Any]:
    return {"id": program_id, "driverError": f"{name}: {message}"}


# --- isolation ----------------------------------------------------------------------------------------------
#
# Programs of processors by value: which ops write in place, and what is passed on purpose.
#
# Rules isolated.returned and isolated.not-copied. What a processor returns lasts in this format, so nothing
# accumulates; methods of the message list, and writes to the array that it keeps, are the framework's own way
# to change the conversation.

Op: TypeAlias = dict[str, Any]

_WRITES: Final = ("set", "append", "delete", "push", "splice", "reverse")
# What stands for what cannot be copied, or is the framework's own to be changed.
_OWN: Final = frozenset({"list", "tools", "model", "messageList"})


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
    """Returns the origin of each stashed reference: an argument's name, or `list`."""
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


# --- the family ---------------------------------------------------------------------------------------------


FAMILY: Final = Family(
    name="mastra",
    profiles=PROFILE_NAMES,
    check=check,
    to_line=to_line,
    trace=trace,
    program=random_program,
    comparison=COMPARISON,
    shrinking=SHRINKING,
    feature_names=FEATURES,
    features=features,
    never_drawn={
        "program timeoutMs": "It ends a run by the clock, and says nothing about the run.",
        "model router": "It names a provider of the package, which would be asked over the network.",
    },
    smallest=lambda text: {"id": "lint", "messages": [text]},
    trace_problem=trace_problem,
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=recording,
    isolation=ISOLATION,
    scenes=scenes,
    refusal=_refusal,
    trace_fields=("events", "error"),
)
