"""Where the ops of a program stand, in the order in which a run comes to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from agentcore.kit.families import Write, slow_tools

__all__ = ["HOOKS", "VERBS", "writes"]

Json: TypeAlias = dict[str, Any]

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
