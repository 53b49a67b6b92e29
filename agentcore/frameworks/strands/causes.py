"""Where the ops of a program of middleware stand, in the order in which they are registered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from agentcore.frameworks.strands.program import stage_of
from agentcore.kit.families import Write, slow_tools

__all__ = ["writes"]

Json: TypeAlias = dict[str, Any]


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
