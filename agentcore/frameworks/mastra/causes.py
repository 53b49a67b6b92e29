"""Where the ops of a program of processors stand, in the order in which a run comes to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from agentcore.kit.families import Write, slow_tools
from agentcore.kit.places import Place

__all__ = ["writes"]

Json: TypeAlias = dict[str, Any]


def writes(program: Json) -> Iterator[Write]:
    """The tools that take time or write, then processInput, then the ops of the steps.

    Processors and prepareStep are one place of a step: the package makes a processor of prepareStep.
    """
    yield from slow_tools(program)
    for name, tool in program.get("tools", {}).items():
        if "mutateInput" in tool:
            yield Write("a tool", "mutateInput", ("tools", name, "mutateInput"))
    processors = program.get("processors", [])
    for index, processor in enumerate(processors):
        yield from _ops("processInput", processor.get("input", []), ("processors", index, "input"))
    for index, processor in enumerate(processors):
        yield from _steps(processor.get("steps", {}), ("processors", index, "steps"))
    for name in ("defaultPrepareStep", "prepareStep"):
        yield from _steps(program.get(name, {}), (name,))


def _steps(steps: dict[str, list[Json]], place: Place) -> Iterator[Write]:
    for step, ops in steps.items():
        yield from _ops("a step", ops, (*place, step))


def _ops(hook: str, ops: list[Json], place: Place) -> Iterator[Write]:
    for number, op in enumerate(ops):
        yield Write(hook, op["op"], (*place, number))
