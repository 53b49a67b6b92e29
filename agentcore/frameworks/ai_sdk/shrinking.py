"""How programs of the AI SDK's format are made smaller: fewer steps, then fewer ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from agentcore.kit.families import Shrinking
from agentcore.kit.places import has, put
from agentcore.kit.shrink import Smallest, entries_out, script_cut, windows_out

__all__ = ["SHRINKING"]

Json: TypeAlias = dict[str, Any]
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
