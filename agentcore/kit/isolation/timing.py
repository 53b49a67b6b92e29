"""Times that tools take, in any format whose tools have them: rule isolated.call-order."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final, TypeAlias

__all__ = ["FEATURE", "timed", "timeless", "varied"]

Json: TypeAlias = dict[str, Any]

FEATURE: Final = "tool takes"
"""The feature of programs whose tools take time, where the format has it."""

_TAKES: Final = "takes"
_LATE: Final = 2


def timeless(program: Json) -> Json:
    """The program with tools that take no time."""
    if not _slow(program):
        return program
    tools = {
        name: {key: value for key, value in tool.items() if key != _TAKES}
        for name, tool in program["tools"].items()
    }
    return {**program, "tools": tools}


def timed(program: Json, value: Json) -> Json | None:
    """The program by value with the times of its tools; None if they take none."""
    slow = _slow(program)
    if not slow:
        return None
    tools = {
        name: {**tool, _TAKES: slow[name]} if name in slow else tool for name, tool in value["tools"].items()
    }
    return {**value, "tools": tools}


def varied(program: Json, calls: Iterable[Collection[str]], features: Collection[str]) -> Json:
    """The program with a first tool that ends last, if tools of a step may take time and none does.

    `calls` are the tools that the model calls in each step, in order.
    """
    tools = program.get("tools", {})
    if FEATURE not in features or _slow(program):
        return program
    several = [[name for name in step if name in tools] for step in calls]
    first = next((step[0] for step in several if len({*step}) > 1), None)
    if first is None:
        return program
    return {**program, "tools": {**tools, first: {**tools[first], _TAKES: _LATE}}}


def _slow(program: Json) -> dict[str, int]:
    """The tools that take time, and how much."""
    return {name: tool[_TAKES] for name, tool in program.get("tools", {}).items() if tool.get(_TAKES)}
