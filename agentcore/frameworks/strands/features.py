"""What random programs of the middleware format contain, counted: a generator is worth what it reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.program import ACTIONS, handlers_of, phase_of, stage_of
from agentcore.frameworks.strands.programs import Traits, random_program
from agentcore.kit.choices import RandomChoices
from agentcore.kit.features import ChoicePoints, count_features
from agentcore.messages.schema import schema

__all__ = ["FEATURES", "feature_names", "features", "statistics"]

Json: TypeAlias = dict[str, Any]

_POINTS: Final = ChoicePoints(
    schema("program", "agentcore.frameworks.strands"),
    {
        "program": "program",
        "message": "program",
        "systemBlock": "system",
        "entry": "script",
        "spokenBlock": "script",
        "tool": "tool",
        "hook.on": "hook",
        "op": "op",
        "with.action": "with",
        "next": "next",
        "next.ctx": "next",
        "next.events": "next",
    },
    {
        # Counted in more detail below, or what almost every program has.
        **{f"program {field}": None for field in ("system", "messages", "input", "script", "tools")},
        **dict.fromkeys(("program middleware", "program hooks", "script blocks", "script toolUse")),
        **dict.fromkeys(("tool output", "next ctx", "next events", "next when")),
        "program messagesForm": "form messages",
        "program inputForm": "form inputs",
        # Never drawn.
        **dict.fromkeys(("program timeoutMs", "next current", "next pass")),
    },
)
_KINDS: Final = ("text", "toolUse", "toolResult", "reasoning", "cachePoint", "json")
_STAGES: Final = ("model", "tool", "stream")
_PHASES: Final = ("input", "wrap", "output")
_FIELDS: Final = {
    "context": ("messages", "system", "toolSpecs", "toolChoice", "toolUse", "args", "invocationState"),
    "result": ("message", "stopReason", "toolResult", "lastMessage"),
    "agent": ("messages", "system", "toolSpecs"),
    "event": ("message", "toolUse", "toolResult", "invocationState"),
}
_TYPESCRIPT: Final = (
    *("form messages", "form inputs", "program options", "hook modelDelta", "hook contentBlock"),
    *("edit event block", "edit context options"),
)

_ON_CONTEXT: Final = ("op setModelStateViaContext",)

_COMMON: Final = (
    *(name for name in _POINTS.names if name not in {*_TYPESCRIPT, *_ON_CONTEXT}),
    *(f"history {kind}" for kind in _KINDS),
    *("system list", "system empty", "input text", "input messages", "input blocks", "input empty"),
    *("script absent tool", "script repeated id", "script blank text"),
    *(f"script {count} tools" for count in (1, 2, 3)),
    *("output text", "output content", "output json", "output error"),
    *(f"handler {stage}.{phase}" for stage in _STAGES for phase in _PHASES),
    *("next twice", "op when", "op when list"),
    *(f"edit {where} {field}" for where, fields in _FIELDS.items() for field in fields),
    *("edit whole field", "edit metadata", "edit input", "edit json", "edit astray"),
)

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
    seeds = range(seed, seed + count)
    programs = (random_program(RandomChoices(number), f"seed-{number}", traits) for number in seeds)
    return count_features(programs, features, feature_names(traits), alive=alive)


def features(program: Json) -> set[str]:
    """The features that the program has."""
    return {
        *_POINTS.of(program),
        *_of_program(program),
        *(feature for entry in program.get("script", ()) for feature in _of_entry(entry, program)),
        *(feature for tool in program.get("tools", {}).values() for feature in _of_tool(tool)),
        *_of_handlers(program),
    } & _KNOWN


_KNOWN: Final = frozenset(FEATURES)


# --- what the agent is made with and asked ------------------------------------------------------------------


def _of_program(program: Json) -> Iterator[str]:
    for message in program.get("messages", ()):
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
    uses = [block["toolUse"] for block in _blocks(entry) if "toolUse" in block]
    yield f"script {len(uses)} tools"
    if any(not block.get("text", "#").strip() for block in _blocks(entry)):
        yield "script blank text"
    if any(use["name"] == "absent" and "absent" not in program.get("tools", {}) for use in uses):
        yield "script absent tool"


def _of_tool(tool: Json) -> Iterator[str]:
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
        if sum(op["op"] == "next" for op in ops) > 1:
            yield "next twice"
        for op in ops:
            yield from _of_op(place, op)


def _of_op(place: str, op: Json) -> Iterator[str]:
    if "when" in op:
        yield "op when list" if isinstance(op["when"], list) else "op when"
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
