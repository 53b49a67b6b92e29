"""What random programs of the middleware format contain, counted: a generator is worth what it reaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.program import ACTIONS, handlers_of, phase_of, stage_of
from agentcore.frameworks.strands.programs import Traits, random_program
from agentcore.kit.choices import RandomChoices

__all__ = ["FEATURES", "feature_names", "features", "statistics"]

Json: TypeAlias = dict[str, Any]

_KINDS: Final = ("text", "toolUse", "toolResult", "reasoning", "cachePoint", "guardContent", "json")
_STAGES: Final = ("model", "tool", "stream")
_PHASES: Final = ("input", "wrap", "output")
_HOOKS: Final = (
    *("beforeInvocation", "afterInvocation", "messageAdded", "beforeModel", "afterModel"),
    *("beforeTools", "afterTools", "beforeTool", "afterTool"),
)
_OPS: Final = (
    *ACTIONS,
    *("with", "next", "shortCircuit", "throw", "stop", "setModelState", "deleteModelState"),
    *("setInvocationState", "observe", "observeModelState", "observeAgent", "identity", "retry", "cancel"),
)
_FIELDS: Final = {
    "context": ("messages", "system", "toolSpecs", "toolChoice", "toolUse", "args", "invocationState"),
    "result": ("message", "stopReason", "toolResult", "lastMessage"),
    "agent": ("messages", "system", "toolSpecs"),
    "event": ("message", "toolUse", "toolResult", "invocationState"),
}
_ENTRY: Final = ("stopReason", "modelState", "modelStateDelete", "throw", "throwAfter", "mutate")
_TOOL: Final = (
    "outputs",
    "description",
    "inputSchema",
    "setInvocationState",
    "mutateInput",
    "throw",
    "takes",
)
_TOP: Final = ("inputs", "invocationState", "modelState", "executor", "structuredOutput", "metadata")
_FORMS: Final = {"form messages": "messagesForm", "form inputs": "inputForm"}
_TYPESCRIPT: Final = (
    *("form messages", "form inputs", "program options", "hook modelDelta", "hook contentBlock"),
    *("edit event block", "edit context options"),
)

_COMMON: Final = (
    *(f"program {field}" for field in _TOP),
    *(f"history {kind}" for kind in _KINDS if kind != "guardContent"),
    *("system text", "system list", "system guardContent", "system cachePoint", "system empty"),
    *("input text", "input messages", "input blocks", "input empty"),
    *(
        f"script {what}"
        for what in (*_ENTRY, "text", "reasoning", "absent tool", "repeated id", "blank text")
    ),
    *(f"script {count} tools" for count in (1, 2, 3)),
    *(f"tool {field}" for field in _TOOL),
    *("output text", "output content", "output json", "output error"),
    *(f"handler {stage}.{phase}" for stage in _STAGES for phase in _PHASES),
    *(f"hook {name}" for name in _HOOKS),
    *(f"op {op}" for op in _OPS),
    *(f"with {action}" for action in ACTIONS),
    *("next twice", "next original", "next catch", "next drop", "op when", "op when list"),
    *(f"edit {where} {field}" for where, fields in _FIELDS.items() for field in fields),
    *("edit whole field", "edit metadata", "edit input", "edit json", "edit astray"),
)

_ON_CONTEXT: Final = ("op setModelStateViaContext",)

FEATURES: Final[tuple[str, ...]] = (*_COMMON, *_TYPESCRIPT, *_ON_CONTEXT)
"""What programs may have for any of the profiles."""


def feature_names(traits: Traits) -> tuple[str, ...]:
    """The features that programs for a profile of these traits may have."""
    typescript = _TYPESCRIPT if traits.typescript else ()
    return (*_COMMON, *typescript, *(_ON_CONTEXT if traits.state_on_context else ()))


def statistics(
    count: int, traits: Traits, *, seed: int = 0, alive: Callable[[Json], bool] | None = None
) -> dict[str, int]:
    """In how many of the programs of so many seeds each feature occurs, those that never do included.

    `alive` says of a program whether it ran as it was meant to; the answers are counted as `alive`.
    """
    counts: Counter[str] = Counter(dict.fromkeys(feature_names(traits), 0))
    for number in range(seed, seed + count):
        program = random_program(RandomChoices(number), f"seed-{number}", traits)
        counts.update(features(program))
        if alive is not None:
            counts["alive"] += alive(program)
    return dict(counts)


def features(program: Json) -> set[str]:
    """The features that the program has."""
    return {
        *_of_program(program),
        *(feature for entry in program.get("script", ()) for feature in _of_entry(entry, program)),
        *(feature for tool in program.get("tools", {}).values() for feature in _of_tool(tool)),
        *_of_handlers(program),
    } & _KNOWN


_KNOWN: Final = frozenset(FEATURES)


# --- what the agent is made with and asked ------------------------------------------------------------------


def _of_program(program: Json) -> Iterator[str]:
    yield from (f"program {field}" for field in (*_TOP, "options") if field in program)
    yield from (what for what, form in _FORMS.items() if form in program)
    for message in program.get("messages", ()):
        if "metadata" in message:
            yield "program metadata"
        yield from (f"history {kind}" for kind in _kinds(message["content"]))
    yield from _of_system(program.get("system"))
    for given in program.get("inputs", [program.get("input", "go")]):
        yield f"input {_form(given)}"
    ids = [block["toolUse"]["toolUseId"] for block in _uses(program)]
    if any(first == second for first, second in pairwise(sorted(ids))):
        yield "script repeated id"


def _kinds(blocks: list[Json]) -> Iterator[str]:
    for block in blocks:
        yield from block
        yield from _kinds(block.get("toolResult", {}).get("content", []))


def _of_system(system: Any) -> Iterator[str]:
    if isinstance(system, str):
        yield "system text"
    elif system is not None:
        yield "system list" if system else "system empty"
        yield from (f"system {kind}" for kind in _kinds(system))


def _form(given: Any) -> str:
    if isinstance(given, str):
        return "text"
    return ("messages" if "role" in given[0] else "blocks") if given else "empty"


def _blocks(entry: Any) -> list[Json]:
    blocks: list[Json] = entry.get("blocks", []) if isinstance(entry, dict) else entry
    return blocks


def _uses(program: Json) -> Iterator[Json]:
    for entry in program.get("script", ()):
        yield from (block for block in _blocks(entry) if "toolUse" in block)


# --- the model and the tools --------------------------------------------------------------------------------


def _of_entry(entry: Any, program: Json) -> Iterator[str]:
    if isinstance(entry, dict):
        yield from (f"script {field}" for field in entry)
    uses = [block["toolUse"] for block in _blocks(entry) if "toolUse" in block]
    yield f"script {len(uses)} tools"
    yield from (f"script {kind}" for kind in _kinds(_blocks(entry)))
    if any(not block.get("text", "#").strip() for block in _blocks(entry)):
        yield "script blank text"
    if any(use["name"] == "absent" and "absent" not in program.get("tools", {}) for use in uses):
        yield "script absent tool"


def _of_tool(tool: Json) -> Iterator[str]:
    yield from (f"tool {field}" for field in tool)
    for output in tool.get("outputs", [tool.get("output")]):
        if isinstance(output, dict) and "content" in output:
            yield "output content"
            if output.get("status") == "error":
                yield "output error"
        else:
            yield "output text" if isinstance(output, str) else "output json"


# --- the handlers -------------------------------------------------------------------------------------------


def _of_handlers(program: Json) -> Iterator[str]:
    for handler in program.get("middleware", ()):
        yield f"handler {stage_of(handler)}.{phase_of(handler)}"
    for _, place, ops in handlers_of(program):
        if place not in _PHASES:
            yield f"hook {place}"
        if sum(op["op"] == "next" for op in ops) > 1:
            yield "next twice"
        for op in ops:
            yield from _of_op(place, op)


def _of_op(place: str, op: Json) -> Iterator[str]:
    yield f"op {op['op']}"
    if "when" in op:
        yield "op when list" if isinstance(op["when"], list) else "op when"
    for field, value in (("ctx", "original"), ("events", "drop")):
        if op.get(field) == value:
            yield f"next {value}"
    if op.get("catch"):
        yield "next catch"
    if op["op"] == "with":
        yield f"with {op['action']}"
    if op["op"] in ACTIONS or op["op"] == "with":
        yield from _of_edit(_target(place, op), op["path"], op["action"] if op["op"] == "with" else op["op"])


def _target(place: str, op: Json) -> str:
    if "on" in op:
        return str(op["on"])
    return {"input": "context", "wrap": "context", "output": "result"}.get(place, "event")


def _of_edit(target: str, path: list[Any], action: str) -> Iterator[str]:
    yield f"edit {target} {path[0]}"
    if len(path) == 1 and action == "set":
        yield "edit whole field"
    yield from (f"edit {name}" for name in ("metadata", "input", "json") if name in path[1:])
    if "nothing" in path or 99 in path:  # noqa: PLR2004 - where no program has anything
        yield "edit astray"
