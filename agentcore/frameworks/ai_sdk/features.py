"""What random programs contain, counted: a generator is worth what it reaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from agentcore.frameworks.ai_sdk.programs import program_of_seed

__all__ = ["FEATURES", "features", "statistics"]

Json = dict[str, Any]
_ROLES: Final = ("system", "user", "assistant", "tool")
_HOOKS: Final = ("prepareStep", "onStepStart", "model", "execute", "onStepFinish", "stopWhen", "onFinish")
_VERBS: Final = ("set", "append", "clear", "delete", "keep", "return", "throw", "freeze")
_STAGES: Final = (
    *("copy", "clone", "keepRoles", "dropRoles", "replace", "append", "prepend", "slice", "literal"),
    *("two stages", "kept", "null", "empty"),
)
_OVERRIDES: Final = (
    *("model", "system", "messages", "activeTools", "toolChoice", "providerOptions"),
    "experimental_context",
)
_OUTPUTS: Final = ("text", "json", "content", "error-text", "error-json", "execution-denied", "with media")
_HISTORY: Final = (
    *("text", "reasoning", "image", "file", "tool-call", "tool-result"),
    *("tool-approval-request", "tool-approval-response", "approved", "denied", "reason", "provider options"),
    *("system", "user string", "assistant string", "invalid", "nothing"),
)
_SCRIPT: Final = (
    *(
        "text",
        "reasoning",
        "tool-call",
        "source",
        "tool-result",
        "providerMetadata",
        "empty text",
        "empty answer",
    ),
    *("1 calls", "2 calls", "3 calls", "1 steps", "2 steps", "3 steps", "4 steps", "5 steps", "6 steps"),
    *("absent tool", "repeated id", "provider-executed"),
)
_TOOL: Final = ("fresh", "shared", "input", "mutate", "error", "needsApproval", "noExecute", "takes")
_WRITES: Final = (
    *(
        "message list",
        "message content",
        "content list",
        "part text",
        "providerOptions",
        "nested providerOptions",
    ),
    *("input", "nested input", "array in input", "output", "output value", "nested output value", "steps"),
    *(
        "experimental_context",
        "$caller",
        "$kept",
        "array $caller",
        "array $kept",
        "value $ref",
        "value $clone",
        "nowhere",
    ),
)
_CALL: Final = (
    *("system text", "system message", "system list", "model", "maxSteps", "frozen", "experimental_context"),
    *("providerOptions", "activeTools", "toolChoice"),
)

FEATURES: Final[tuple[str, ...]] = (
    *(f"path {path}" for path in ("stream", "generate")),
    *(f"hook {name}" for name in _HOOKS),
    *(f"op {verb}" for verb in _VERBS),
    *(f"stage {stage}" for stage in _STAGES),
    *(f"override {field}" for field in _OVERRIDES),
    "override with null",
    *(f"history {what}" for what in _HISTORY),
    *(f"output {kind}" for kind in _OUTPUTS),
    *(f"script {what}" for what in _SCRIPT),
    *(f"tool {what}" for what in _TOOL),
    *(f"write {what}" for what in _WRITES),
    *(f"call {what}" for what in _CALL),
)
_KNOWN: Final = frozenset(FEATURES)


def statistics(
    count: int,
    seed: int = 0,
    *,
    path: str | None = None,
    alive: Callable[[Json], bool] | None = None,
) -> dict[str, int]:
    """In how many of the programs of so many seeds each feature occurs, those that never do included.

    `alive` says of a program whether it ran as it was meant to; the answers are counted as `alive`.
    """
    counts: Counter[str] = Counter(dict.fromkeys(FEATURES, 0))
    for number in range(seed, seed + count):
        program = program_of_seed(number, path)
        counts.update(features(program))
        if alive is not None:
            counts["alive"] += alive(program)
    return dict(counts)


def features(program: Json) -> set[str]:
    """The features that the program has."""
    found = {
        f"path {program['path']}",
        *(f"history {what}" for what in _of_history(program["messages"])),
        *(f"output {what}" for what in _of_outputs(program["messages"])),
        *(f"script {what}" for what in _of_script(program)),
        *(f"tool {what}" for tool in program.get("tools", {}).values() for what in _of_tool(tool)),
        *(f"call {what}" for what in _of_call(program)),
        *_of_hooks(program),
    }
    return found & _KNOWN


def _parts(messages: list[Any]) -> Iterator[Json]:
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            yield from (part for part in content if isinstance(part, dict))


def _of_history(messages: list[Any]) -> Iterator[str]:
    if not messages:
        yield "nothing"
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in _ROLES or "content" not in message:
            yield "invalid"
            continue
        if role == "system":
            yield "system"
        if isinstance(message["content"], str):
            yield f"{role} string"
    for part in _parts(messages):
        yield str(part.get("type"))
        if "providerOptions" in part:
            yield "provider options"
        if "approved" in part:
            yield "approved" if part["approved"] else "denied"
        if "reason" in part:
            yield "reason"


def _of_outputs(messages: list[Any]) -> Iterator[str]:
    for part in _parts(messages):
        match part.get("output"):
            case {"type": str(kind), **rest}:
                yield kind
                if kind == "content" and "media" in str(rest):
                    yield "with media"


def _of_script(program: Json) -> Iterator[str]:
    script = program["script"]
    yield f"{len(script)} steps"
    ids: list[str] = []
    for step in script:
        if not step:
            yield "empty answer"
        calls = [part for part in step if part["type"] == "tool-call" and not part.get("providerExecuted")]
        ids += [part["toolCallId"] for part in calls]
        yield f"{len(calls)} calls"
        for part in step:
            yield from _of_part(part, program.get("tools", {}))
    if len(set(ids)) < len(ids):
        yield "repeated id"


def _of_part(part: Json, tools: Json) -> Iterator[str]:
    yield part["type"]
    if "providerMetadata" in part:
        yield "providerMetadata"
    if part.get("text") == "":
        yield "empty text"
    if part.get("providerExecuted"):
        yield "provider-executed"
    elif part["type"] == "tool-call" and part["toolName"] not in tools:
        yield "absent tool"


def _of_tool(tool: Json) -> Iterator[str]:
    yield tool.get("returns", "fresh")
    yield from (what for what in _TOOL if what in tool)


def _of_call(program: Json) -> Iterator[str]:
    if "system" in program:
        kinds: dict[type, str] = {str: "text", dict: "message", list: "list"}
        yield f"system {kinds[type(program['system'])]}"
    yield from (field for field in ("model", "maxSteps", "frozen") if field in program)
    yield from program.get("options", {})


def _of_hooks(program: Json) -> Iterator[str]:
    for name, entries in program.get("hooks", {}).items():
        yield f"hook {name}"
        for op in (op for ops in entries for op in ops or ()):
            verb = next(verb for verb in ("return", *_VERBS) if verb in op)
            yield f"op {verb}"
            if verb == "return":
                yield from _of_return(op)
            elif verb in ("set", "append", "clear", "delete"):
                yield from (f"write {what}" for what in _of_write(op[verb], op.get("to", op.get("with"))))


def _of_return(op: Json) -> Iterator[str]:
    result = op["return"]
    if not result:
        yield "stage null" if result is None else "stage empty"
        return
    for field, value in result.items():
        yield "override with null" if value is None else f"override {field}"
    stages = result.get("messages") or []
    yield from (f"stage {stage if isinstance(stage, str) else next(iter(stage))}" for stage in stages)
    if len(stages) > 1:
        yield "stage two stages"
    if "keep" in op:
        yield "stage kept"


def _of_write(path: list[Any], value: Any) -> Iterator[str]:
    names = [key if isinstance(key, str) else "*" for key in path]
    for what in _of_root(names[0]):
        yield what
        if len(names) == 1 and what.startswith("$"):
            yield f"array {what}"
    yield from _of_list(names)
    for field, what in (
        ("providerOptions", "providerOptions"),
        ("input", "input"),
        ("value", "output value"),
    ):
        if field in names:
            yield what if names[-1] == field else f"nested {what}"
    if names[-1] == "output":
        yield "output"
    if {"nothing", "where", "$nobody"} & {*names}:
        yield "nowhere"
    if isinstance(value, dict):
        yield from (f"value {key}" for key in value if key.startswith("$"))


def _of_list(names: list[str]) -> Iterator[str]:
    last, above = names[-1], "*" if len(names) == 1 else names[-2]
    if last in ("messages", "prompt") or (last == "*" and above in ("messages", "prompt")):
        yield "message list"
    if last == "content":
        yield "message content"
    if last == "*" and above == "content":
        yield "content list"
    if last == "text" and "content" in names:
        yield "part text"
    if last == "*" and "input" in names:
        yield "array in input"


def _of_root(root: str) -> Iterator[str]:
    if root in ("steps", "experimental_context", "$caller"):
        yield root
    elif root.startswith("$k"):
        yield "$kept"
