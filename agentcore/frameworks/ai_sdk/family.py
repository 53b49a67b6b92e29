"""The AI SDK's format as a family: its versions on both paths, and the immutable core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from agentcore.frameworks.ai_sdk.features import FEATURES, features
from agentcore.frameworks.ai_sdk.isolation import ISOLATION
from agentcore.frameworks.ai_sdk.profiles import PROFILES
from agentcore.frameworks.ai_sdk.program import check, path_of, to_line, trace_problem
from agentcore.frameworks.ai_sdk.programs import random_program
from agentcore.frameworks.ai_sdk.reference import PROFILE_NAMES, recording, trace, trace_under
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
from agentcore.kit.places import has, put
from agentcore.kit.shrink import Smallest, entries_out, script_cut, windows_out

__all__ = ["COMPARISON", "FAMILY", "HOOKS", "SHRINKING", "VERBS", "writes"]

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

HOOKS: Final = ("prepareStep", "onStepStart", "model", "execute", "onStepFinish", "stopWhen", "onFinish")
"""In the order in which a step comes to them."""

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
)
