"""The middleware format as a family: two versions of the SDK in TypeScript, and the one in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.features import FEATURES, features
from agentcore.frameworks.strands.isolation import ISOLATION
from agentcore.frameworks.strands.profiles import PROFILES
from agentcore.frameworks.strands.program import check, handlers_of, stage_of, to_line, trace_problem
from agentcore.frameworks.strands.programs import Traits, random_program
from agentcore.frameworks.strands.reference import recording, trace, trace_under
from agentcore.kit.choices import Choices
from agentcore.kit.compare import Trace, ids_may_differ
from agentcore.kit.families import Comparison, Each, Emulation, Family, Shrinking, Write, slow_tools
from agentcore.kit.places import Place, has, put, without
from agentcore.kit.shrink import Smallest, entries_out, windows_out

__all__ = ["COMPARISON", "FAMILY", "SHRINKING", "TRAITS", "writes"]

Json: TypeAlias = dict[str, Any]

# What two traces of the middleware format may differ in, and the order in which a run makes them.


def implementations_may_differ(trace: Trace) -> Trace:
    """`impl` and `version` name what ran the program."""
    return {key: value for key, value in trace.items() if key not in {"impl", "version"}}


def driver_error_texts_may_differ(trace: Trace) -> Trace:
    """Why there is no trace is told by one word before the first colon; the rest is every driver's own."""
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
    smallest=lambda text: {"id": "lint", "input": text},
    trace_problem=trace_problem,
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=recording,
    isolation=ISOLATION,
    refusal=_refusal,
    trace_fields=("impl",),
)
