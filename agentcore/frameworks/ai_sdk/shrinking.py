"""How programs of the AI SDK's format are made smaller: fewer steps, then fewer ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from agentcore.kit.families import Shrinking
from agentcore.kit.places import has, put, without

__all__ = ["SHRINKING"]

Json: TypeAlias = dict[str, Any]
_HI: Final = ({"role": "user", "content": "#1"},)
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


def _hooks_and_history(smallest: Callable[[], Json]) -> Iterator[Json]:
    for name in [*smallest().get("hooks", {})]:
        if has(smallest(), ("hooks", name)):
            yield without(smallest(), ("hooks", name))
    yield {**smallest(), "messages": [*_HI]}


def _steps(smallest: Callable[[], Json]) -> Iterator[Json]:
    for count in range(1, len(smallest()["script"])):
        program = smallest()
        yield {**program, "script": program["script"][:count]}
        yield {**program, "script": [*program["script"][: count - 1], [*_DONE]]}
    for index in reversed(range(len(smallest()["script"]))):
        yield _without_step(smallest(), index)


def _without_step(program: Json, index: int) -> Json:
    """The hooks of later steps move up with their steps."""
    hooks = program.get("hooks", {})
    moved = {name: [*entries[:index], *entries[index + 1 :]] for name, entries in hooks.items()}
    shorter = {**program, "script": [*program["script"][:index], *program["script"][index + 1 :]]}
    return {**shorter, "hooks": moved} if hooks else shorter


def _hook_entries(smallest: Callable[[], Json]) -> Iterator[Json]:
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


def _messages(smallest: Callable[[], Json]) -> Iterator[Json]:
    """Messages from the front and back, one and two at a time, since a call and its result go together."""
    for width in (2, 1):
        for index in reversed(range(len(smallest()["messages"]))):
            program = smallest()
            if index + width <= len(program["messages"]):
                kept = [*program["messages"][:index], *program["messages"][index + width :]]
                yield {**program, "messages": kept}
                yield {**_shifted(program, index, width), "messages": kept}


def _shifted(program: Json, index: int, width: int) -> Json:
    """The paths of ops that count messages from the front, counting without those taken out."""

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: moved(child) for key, child in value.items()}
        if not isinstance(value, list):
            return value
        match value:
            case ["messages" | "prompt" | "$caller" as root, int(at), *rest] if at >= index + width:
                return [root, at - width, *rest]
        return [moved(child) for child in value]

    return {**program, "hooks": moved(program["hooks"])} if "hooks" in program else program


SHRINKING: Final = Shrinking(
    required=frozenset({"id", "path", "messages", "script"}),
    names=frozenset({"id", "toolCallId", "toolName", "approvalId"}),
    measure=_steps_and_ops,
    edits=(_hooks_and_history, _steps, _hook_entries, _messages),
    merged=_said_with_less,
)
