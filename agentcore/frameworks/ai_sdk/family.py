"""The AI SDK's format as a family: its versions on both paths, and the immutable core."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

from agentcore.frameworks.ai_sdk.profiles import PROFILES
from agentcore.frameworks.ai_sdk.program import FEATURES, check, features, path_of, to_line, trace_problem
from agentcore.frameworks.ai_sdk.programs import random_program
from agentcore.frameworks.ai_sdk.reference import PROFILE_NAMES, recording, trace, trace_under
from agentcore.frameworks.ai_sdk.sweeps import HOOKS, scenes
from agentcore.kit.choices import Choices
from agentcore.kit.compare import Trace, ids_may_differ
from agentcore.kit.families import (
    Comparison,
    Each,
    Emulation,
    Family,
    Shrinking,
    Write,
    profiles_under,
    slow_tools,
)
from agentcore.kit.isolation import REFUSED_TEXT, Act, Isolation, Seen, Sight, timed, timeless, varied
from agentcore.kit.program import Place, has, put
from agentcore.kit.shrink import Smallest, entries_out, script_cut, windows_out

__all__ = ["COMPARISON", "FAMILY", "HOOKS", "ISOLATION", "SHRINKING", "VERBS", "writes"]

Json: TypeAlias = dict[str, Any]

# What two traces of the AI SDK's format may differ in, and the order in which a run makes them.


def packages_may_differ(trace: Trace) -> Trace:
    """`package` names what ran the program."""
    return {key: value for key, value in trace.items() if key != "package"}


def error_messages_may_differ(trace: Trace) -> Trace:
    """Error texts are every implementation's own."""
    return _with_error(trace, lambda error: {key: value for key, value in error.items() if key != "message"})


def foreign_error_names_may_differ(trace: Trace) -> Trace:
    """Names that begin with `AI_` are the package's; others are a language's and may differ."""
    return _with_error(
        trace, lambda error: error if _is_ai_name(error.get("name")) else {**error, "name": "Error"}
    )


def op_error_texts_may_differ(trace: Trace) -> Trace:
    """Of ops that led nowhere only the number counts, none being the same as no list."""
    failed = trace.get("opErrors", [])
    return {**trace, "opErrors": [None] * len(failed)} if isinstance(failed, list) else trace


def _with_error(trace: Trace, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Trace:
    error = trace.get("error")
    return {**trace, "error": change(error)} if isinstance(error, dict) else trace


def _is_ai_name(name: object) -> bool:
    return isinstance(name, str) and name.startswith("AI_")


_PERMITTED: Final[Mapping[str, Callable[[Trace], Trace]]] = MappingProxyType(
    {
        "id": ids_may_differ,
        "package": packages_may_differ,
        "error.message": error_messages_may_differ,
        "error.name": foreign_error_names_may_differ,
        "opErrors": op_error_texts_may_differ,
    }
)

COMPARISON: Final = Comparison(
    permitted=_PERMITTED,
    order=(
        "approvals",
        Each("steps", ("step", "prepareStep", "model", "prompt", "tools", "onStepFinish")),
        *("error", "hung", "opErrors", "final", "caller"),
    ),
)


# Where the ops of a program stand, in the order in which a run comes to them.

VERBS: Final = ("return", "set", "append", "clear", "delete", "keep", "freeze", "throw")


def writes(program: Json) -> Iterator[Write]:
    """The tools that take time, what tools do in every call, then the ops of the hooks, step by step."""
    yield from slow_tools(program)
    for name, tool in program.get("tools", {}).items():
        for number, op in enumerate(tool.get("mutate", ())):
            yield Write("a tool", _verb(op), ("tools", name, "mutate", number))
    hooks = program.get("hooks", {})
    for step in range(max(map(len, hooks.values()), default=0)):
        for name in (name for name in HOOKS if step < len(hooks.get(name, ()))):
            for number, op in enumerate(hooks[name][step] or ()):
                yield Write(name, _verb(op), ("hooks", name, step, number))


def _verb(op: Json) -> str:
    return next(verb for verb in VERBS if verb in op)


# How programs of the AI SDK's format are made smaller: fewer steps, then fewer ops.

_HI: Final = ({"role": "user", "content": "#1"},)
# Roots of paths that count messages.
_HISTORIES: Final = frozenset({"messages", "prompt", "$caller"})
_DONE: Final = ({"type": "text", "text": "y"},)


def _steps_and_ops(program: Json) -> tuple[int, int]:
    entries = (entry for hook in program.get("hooks", {}).values() for entry in hook)
    mutations = (tool.get("mutate") for tool in program.get("tools", {}).values())
    return len(program["script"]), sum(len(ops or ()) for ops in (*entries, *mutations))


def _said_with_less(value: Any) -> tuple[Any, ...]:
    """The text of a list of parts; a tool that only returns."""
    match value:
        case [{"type": "text", "text": str(text)}, *_]:
            return (text,)
        case {"returns": _}:
            return ({"output": 0},)
    return ()


# --- edits --------------------------------------------------------------------------------------------------


def _hooks_and_history(smallest: Smallest) -> Iterator[Json]:
    yield from entries_out(smallest, "hooks")
    yield {**smallest(), "messages": [*_HI]}


def _steps(smallest: Smallest) -> Iterator[Json]:
    yield from script_cut(smallest, [*_DONE], least=1, without_step=_without_step)


def _without_step(program: Json, index: int) -> Json:
    """The hooks of later steps move up with their steps."""
    hooks = program.get("hooks", {})
    moved = {name: [*entries[:index], *entries[index + 1 :]] for name, entries in hooks.items()}
    shorter = {**program, "script": [*program["script"][:index], *program["script"][index + 1 :]]}
    return {**shorter, "hooks": moved} if hooks else shorter


def _hook_entries(smallest: Smallest) -> Iterator[Json]:
    for name, entries in smallest().get("hooks", {}).items():
        for index in reversed(range(len(entries))):
            if has(smallest(), ("hooks", name, index)):
                yield put(smallest(), ("hooks", name, index), None)
                yield put(smallest(), ("hooks", name), entries[:index])
                yield from _moved_earlier(smallest(), name, index)


def _moved_earlier(program: Json, name: str, index: int) -> Iterator[Json]:
    entries = program["hooks"][name]
    if 0 < index < len(entries) and entries[index] and not entries[index - 1]:
        yield put(program, ("hooks", name), [*entries[: index - 1], entries[index], *entries[index + 1 :]])


def _messages(smallest: Smallest) -> Iterator[Json]:
    yield from windows_out(smallest, "messages", roots=_HISTORIES, within=frozenset({"hooks"}))


SHRINKING: Final = Shrinking(
    required=frozenset({"id", "path", "messages", "script"}),
    names=frozenset({"id", "toolCallId", "toolName", "approvalId"}),
    measure=_steps_and_ops,
    edits=(_hooks_and_history, _steps, _hook_entries, _messages),
    merged=_said_with_less,
)


# --- isolation ----------------------------------------------------------------------------------------------
#
# Programs of the AI SDK's format by value: which ops write in place, and what is passed on purpose.
#
# Rules isolated.returned and isolated.not-copied. A hook either writes or returns what depends on its
# argument: where a program has a hook do both, what it returns is cut down to what does not depend on it.

Op: TypeAlias = dict[str, Any]
Path: TypeAlias = Sequence[str | int]

_WRITES: Final = ("set", "append", "clear", "delete", "freeze")
_AFTER: Final = frozenset({"tool", "execute", "onStepFinish", "stopWhen", "onFinish"})
# What is the user's own, or stands for what cannot be copied (rule isolated.not-copied).
_OWN: Final = frozenset({"experimental_context", "runtimeContext", "toolsContext", "context", "$caller"})
_MODEL: Final = "model"
_TOOLS: Final = ("tool", "execute")
_MARK: Final = "#"
_STAND_IN: Final = {"role": "user", "content": _MARK}


@attrs.frozen
class _Kept:
    """A kept reference: the hook that got the object, its path there, and whether it was returned."""

    hook: str
    path: tuple[str | int, ...]
    returned: bool = False


# ---------------------------------------------------------------- walking


@attrs.frozen
class _Turn:
    """The ops that run in one call of a hook or tool."""

    place: Place
    hook: str
    step: int | None
    ops: Sequence[Op]


def _turns(program: Json) -> Iterator[_Turn]:
    for name, tool in program.get("tools", {}).items():
        if tool.get("mutate"):
            yield _Turn(("tools", name, "mutate"), "tool", None, tool["mutate"])
    for name, entries in program.get("hooks", {}).items():
        for step, ops in enumerate(entries):
            if ops:
                yield _Turn(("hooks", name, step), name, step, ops)


def _find_kept(program: Json) -> dict[str, _Kept]:
    found: dict[str, _Kept] = {}
    for turn in _turns(program):
        for op in turn.ops:
            if "return" in op:
                if "keep" in op:
                    found[op["keep"]] = _Kept(turn.hook, ("returned",), returned=True)
            elif "keep" in op:
                found[op["as"]] = _through(op["keep"], turn.hook, found)
    return found


def _through(path: Path, hook: str, kept: dict[str, _Kept]) -> _Kept:
    """Where the object at a path comes from."""
    first = str(path[0])
    if first == "$caller" or not first.startswith("$") or first[1:] not in kept:
        return _Kept(hook, tuple(path))
    source = kept[first[1:]]
    return attrs.evolve(source, path=(*source.path, *path[1:]))


def _write_verb(op: Op) -> str | None:
    return None if "return" in op else next((verb for verb in _WRITES if verb in op), None)


def _is_own(source: _Kept, hook: str, *, again: bool) -> bool:
    """Whether a write there is passed on purpose (rules isolated.returned, isolated.not-copied).

    `again` says whether a tool gives one object several times, or its input.
    """
    root = str(source.path[0])
    if root in _OWN or (root == _MODEL and source.hook == "prepareStep" and not source.returned):
        return True
    if source.hook in _TOOLS and root == "output":
        return again or hook in _TOOLS
    return source.hook in _TOOLS and root == "input" and again


def _gives_again(program: Json) -> bool:
    return any(tool.get("returns", "fresh") != "fresh" for tool in program.get("tools", {}).values())


# ---------------------------------------------------------------- acts


def _acts(program: Json) -> list[Act]:
    kept, again = _find_kept(program), _gives_again(program)
    return [act for turn in _turns(program) for act in _acts_of(turn, kept, again=again)]


def _acts_of(turn: _Turn, kept: dict[str, _Kept], *, again: bool) -> Iterator[Act]:
    for number, op in enumerate(turn.ops):
        verb = _write_verb(op)
        if verb is None:
            continue
        source = _through(op[verb], turn.hook, kept)
        if not _is_own(source, turn.hook, again=again):
            yield Act(
                at=(*turn.place, number),
                hook=turn.hook,
                op=verb,
                path=_named(source, turn.hook, op[verb]),
                step=turn.step,
                after=turn.hook in _AFTER,
            )


def _named(source: _Kept, hook: str, path: Path) -> str:
    keys = "".join("[*]" if isinstance(key, int) else f".{key}" for key in source.path).removeprefix(".")
    is_kept = str(path[0]).startswith("$")
    return f"{keys} (kept in {source.hook})" if is_kept and source.hook != hook else keys


def _by_value(program: Json, live: Collection[Place]) -> Json:
    """The program without the acts that are not in `live`, and with tools that take no time."""
    gone = {act.at for act in _acts(program)} - {*live}
    return timeless(_changed(program, lambda place, op: None if place in gone else op))


def _varied(program: Json) -> Json:
    calls = [[part["toolName"] for part in step if part["type"] == "tool-call"] for step in program["script"]]
    return varied(program, calls, FEATURES)


def _timed(program: Json) -> Json | None:
    return timed(program, _by_value(program, ()))


def _changed(program: Json, change: Callable[[Place, Op], Op | None]) -> Json:
    """The program with other ops, or without some."""
    for turn in _turns(program):
        ops = [change((*turn.place, number), op) for number, op in enumerate(turn.ops)]
        program = put(program, turn.place, [op for op in ops if op is not None])
    return program


def _refused(program: Json, act: Act) -> Json:
    thrown: Json = put(program, act.at, {"throw": REFUSED_TEXT})
    return thrown


# ---------------------------------------------------------------- preparing


def _prepared(program: Json) -> Json:
    program = {key: value for key, value in program.items() if key != "frozen"}
    kept, acts = _find_kept(program), [act.at for act in _acts(program)]

    def change(place: Place, op: Op) -> Op | None:
        if "return" in op:
            wrote = any(act[:-1] == place[:-1] and int(act[-1]) < int(place[-1]) for act in acts)
            return {**op, "return": _returned(op["return"], kept, wrote=wrote)}
        verb = _write_verb(op)
        if verb is None:
            return op
        if place in acts:
            # Written to a copy, so that a write below it is a write to nobody else's object.
            return _with_values(op, lambda path: {"$clone": path})
        source = _through(op[verb], "", kept)
        elsewhere = source.hook in _TOOLS and not _is_in_tool(place)
        if source.path[0] == "$caller" or elsewhere:
            # The caller's own array, and what may be a tool's next output of another hook.
            return None
        return _with_values(op, lambda _: _MARK)

    return _changed(program, change)


def _is_in_tool(place: Place) -> bool:
    return place[0] == "tools" or place[1] == "execute"


def _with_values(op: Op, change: Callable[[Path], Any]) -> Op:
    return {key: _references(value, change) if key in ("to", "with") else value for key, value in op.items()}


def _references(value: Any, change: Callable[[Path], Any]) -> Any:
    """The value with live objects, and copies of live objects, changed."""
    match value:
        case {"$ref": path} | {"$clone": path}:
            return change(path)
        case dict():
            return {key: _references(child, change) for key, child in value.items()}
        case list():
            return [_references(child, change) for child in value]
    return value


def _returned(result: Any, kept: dict[str, _Kept], *, wrote: bool) -> Any:
    """Returns the hook's result without the parts that a write may have changed."""
    if not isinstance(result, dict):
        return result

    def is_dependent(path: Path) -> bool:
        first = str(path[0])
        return wrote or (first.startswith("$") and first[1:] in kept)

    made = {}
    for name, value in result.items():
        if name != "messages" or not isinstance(value, list):
            made[name] = _without(value, is_dependent, _MARK)
        elif not wrote or _is_literal(value):
            made[name] = [_stage(stage, is_dependent) for stage in value]
    return made


def _is_literal(stages: Sequence[Any]) -> bool:
    return bool(stages) and isinstance(stages[0], dict) and "literal" in stages[0]


def _stage(stage: Any, is_dependent: Callable[[Path], bool]) -> Any:
    if not isinstance(stage, dict):
        return stage
    [(name, given)] = stage.items()
    if isinstance(given, list):
        return {name: [_without(item, is_dependent, _STAND_IN) for item in given]}
    return {name: _without(given, is_dependent, _MARK)}


def _without(value: Any, is_dependent: Callable[[Path], bool], instead: Any) -> Any:
    """The value with something else in the place of live objects that a write may have changed."""
    match value:
        case {"$ref": path} | {"$clone": path}:
            return instead if is_dependent(path) else value
        case dict():
            return {key: _without(child, is_dependent, _MARK) for key, child in value.items()}
        case list():
            return [_without(child, is_dependent, _MARK) for child in value]
    return value


# ---------------------------------------------------------------- what a trace shows

_STEP: Final = re.compile(r"^\$\.steps\[(\d+)\]\.(\w+)")
_HOLDERS: Final = {"caller": "caller", "final": "result", "error": "result", "hung": "result"}


def _sight(path: str, act: Act | None) -> Sight:
    found = _STEP.match(path)
    if found is None:
        if path.startswith("$.final.steps"):
            return Sight("steps", None, path)
        field = path.removeprefix("$.").partition(".")[0].partition("[")[0]
        return Sight(_HOLDERS.get(field, "observers"), None, path)
    step, field = int(found[1]), found[2]
    if field != "prompt":
        return Sight("observers", step, path)
    return Sight(_prompt(step, act), step, path)


def _prompt(step: int, act: Act | None) -> str:
    if act is None or act.step is None:
        return "later-prompts"
    if not act.after and step == act.step:
        return "this-prompt"
    return "next-prompt" if act.after and step == act.step + 1 else "later-prompts"


def _prompts(trace: Json) -> list[Any]:
    steps = trace.get("steps")
    return [step["prompt"] for step in steps if "prompt" in step] if isinstance(steps, list) else []


def _own(program: Json, trace: Json) -> Iterator[tuple[str, str, Seen]]:
    """Finds what the loop itself changed: the caller's messages, and reports that it had already given."""
    caller = trace.get("caller")
    if isinstance(caller, list) and caller != program["messages"]:
        seen = Seen(path="$.caller", expected=program["messages"], actual=caller)
        yield "isolated.caller-kept", "the caller's messages", seen
    if any(_write_verb(op) for turn in _turns(_by_value(program, ())) for op in turn.ops):
        return
    for number, (given, kept) in enumerate(_reports(trace)):
        for name in ("messages", "content"):
            if name in given and name in kept and given[name] != kept[name]:
                path = f"$.final.steps[{number}].{name}"
                yield (
                    "isolated.reports-kept",
                    f"a report's {name}",
                    Seen(path=path, expected=given[name], actual=kept[name]),
                )


def _reports(trace: Json) -> Iterator[tuple[Json, Json]]:
    """Yields, for each step, its report as it was given and the same report after the run."""
    steps, final = trace.get("steps"), trace.get("final")
    after = final.get("steps") if isinstance(final, dict) else None
    if not isinstance(steps, list) or not isinstance(after, list) or len(steps) != len(after):
        return
    for step, kept in zip(steps, after, strict=True):
        given = step.get("onStepFinish") if isinstance(step, dict) else None
        if isinstance(given, dict) and isinstance(kept, dict):
            yield given, kept


# ---------------------------------------------------------------- what is returned for a step


def _accumulating(program: Json, trace: Json) -> tuple[Json, frozenset[str]] | None:
    """The program in which only the last step's hook returns messages; what the others added."""
    last = len(_prompts(trace)) - 1
    entries = program.get("hooks", {}).get("prepareStep", [])
    early = [(step, number) for step, number in _returning(entries) if step < last]
    texts = frozenset(
        text
        for step, number in early
        for stage in entries[step][number]["return"]["messages"]
        for text in _added(stage)
    )
    if not texts:
        return None
    gone = {("hooks", "prepareStep", *place) for place in early}
    return _changed(program, lambda place, op: None if place in gone else op), texts


def _returning(entries: Sequence[Any]) -> Iterator[tuple[int, int]]:
    for step, ops in enumerate(entries):
        for number, op in enumerate(ops or ()):
            if isinstance(op.get("return"), dict) and isinstance(op["return"].get("messages"), list):
                yield step, number


def _added(stage: Any) -> Iterator[str]:
    if isinstance(stage, dict):
        [(name, given)] = stage.items()
        if name in ("append", "prepend", "literal"):
            yield from _texts(given)
        elif name == "replace":
            yield from _texts(given["with"].get("content"))


def _texts(value: Any) -> Iterator[str]:
    """The texts of messages: contents, and texts of parts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for child in value:
            yield from _texts(child)
    elif isinstance(value, dict):
        yield from _texts(value.get("content", value.get("text")))


ISOLATION: Final = Isolation(
    prepared=_prepared,
    acts=_acts,
    by_value=_by_value,
    varied=_varied,
    timed=_timed,
    refused=_refused,
    sight=_sight,
    own=_own,
    prompts=_prompts,
    accumulating=_accumulating,
    ignored=frozenset({"opErrors"}),
)


# --- the family ---------------------------------------------------------------------------------------------


def _program(choices: Choices, program_id: str, profile: str) -> dict[str, Any]:
    data = next((PROFILES[name] for name in profiles_under(profile).values() if name in PROFILES), None)
    shown = () if data is None else data.shown_to_prepare_step
    return random_program(choices, id=program_id, path=path_of(profile), shown=shown)


FAMILY: Final = Family(
    name="ai-sdk",
    profiles=PROFILE_NAMES,
    check=check,
    to_line=to_line,
    trace=trace,
    program=_program,
    comparison=COMPARISON,
    shrinking=SHRINKING,
    feature_names=FEATURES,
    features=features,
    smallest=lambda text: {
        "id": "lint",
        "path": "generate",
        "messages": [{"role": "user", "content": text}],
        "script": [[{"type": "text", "text": "ok"}]],
    },
    trace_problem=trace_problem,
    tells_refusals=True,
    pictured=("caller", "initial", "response", "prompt"),
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=recording,
    isolation=ISOLATION,
    scenes=scenes,
)
