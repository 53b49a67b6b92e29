"""Making a program smaller while something stays true of it.

Greedy and deterministic: edits are tried from the largest to the smallest, each is kept if the program is
then simpler by `size`, still is a program, and the test still holds; and so again until no edit is kept or
the time is over. `size` is a total order with a least element, so this ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from agentcore.oracle.program import BadProgram, check_program, program_to_line

__all__ = ["shrink", "size"]

Json: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str | int, ...]
_REQUIRED: Final = frozenset({"id", "path", "messages", "script"})
# Names keep: two things that come to be called alike are another program, and seldom a simpler one to read.
_NAMES: Final = frozenset({"id", "toolCallId", "toolName", "approvalId"})
_HI: Final = ({"role": "user", "content": "#1"},)
_DONE: Final = ({"type": "text", "text": "x"},)


def size(program: Json) -> tuple[int, int, int, str]:
    """What a smaller program has less of: steps, then ops, then characters; then the alphabet decides."""
    line = program_to_line({**program, "id": ""})
    return len(program["script"]), _ops(program), len(line), line


def shrink(
    program: Json,
    holds: Callable[[Json], bool],
    *,
    seconds: float = 60.0,
    clock: Callable[[], float] = time.monotonic,
) -> Json:
    """A program, as small as was found in the time, of which `holds` is true as it is of the given one."""
    deadline = clock() + seconds
    tried = {program_to_line(program)}
    smallest = program

    def current() -> Json:
        return smallest

    before = None
    while before is not smallest:
        before = smallest
        for candidate in _passes(current):
            if clock() > deadline:
                return smallest
            if _worth_trying(candidate, smallest, tried) and holds(candidate):
                smallest = candidate
    return smallest


def _worth_trying(candidate: Json, smallest: Json, tried: set[str]) -> bool:
    line = program_to_line(candidate)
    if line in tried:
        return False
    tried.add(line)
    try:
        check_program(candidate)
    except BadProgram:
        return False
    return size(candidate) < size(smallest)


def _ops(program: Json) -> int:
    entries = (entry for hook in program.get("hooks", {}).values() for entry in hook)
    mutations = (tool.get("mutate") for tool in program.get("tools", {}).values())
    return sum(len(ops or ()) for ops in (*entries, *mutations))


# --- edits: a pass asks each time for the smallest program, which changes when an edit is kept --------------


def _passes(smallest: Callable[[], Json]) -> Iterator[Json]:
    for edits in (_big_edits, _steps, _hook_entries, _messages, _removals, _merges, _simpler_values):
        yield from edits(smallest)


def _big_edits(smallest: Callable[[], Json]) -> Iterator[Json]:
    for field in [*smallest()]:
        if field not in _REQUIRED:
            yield {key: value for key, value in smallest().items() if key != field}
    for name in [*smallest().get("hooks", {})]:
        if _reaches(smallest(), ("hooks", name)):
            yield _without(smallest(), ("hooks", name))
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
            if _reaches(smallest(), ("hooks", name, index)):
                yield _with(smallest(), ("hooks", name, index), None)
                yield _with(smallest(), ("hooks", name), entries[:index])
                yield from _moved_earlier(smallest(), name, index)


def _moved_earlier(program: Json, name: str, index: int) -> Iterator[Json]:
    entries = program["hooks"][name]
    if 0 < index < len(entries) and entries[index] and not entries[index - 1]:
        yield _with(program, ("hooks", name), [*entries[: index - 1], entries[index], *entries[index + 1 :]])


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


def _removals(smallest: Callable[[], Json]) -> Iterator[Json]:
    """Everything that stands in something, from the outside in; long lists by halves first."""
    for place in _places(smallest()):
        program = smallest()
        if place[:1] == ("id",) or not _reaches(program, place):
            continue
        value = _get(program, place)
        if isinstance(value, list):
            yield from _halves(smallest, place, len(value))
        if len(place) > 1:
            yield _without(smallest(), place)


def _halves(smallest: Callable[[], Json], place: Place, length: int) -> Iterator[Json]:
    width = length // 2
    while width > 1:
        for start in range(0, length, width):
            value = _get(smallest(), place)
            yield _with(smallest(), place, [*value[:start], *value[start + width :]])
        width //= 2


def _merges(smallest: Callable[[], Json]) -> Iterator[Json]:
    """A container becomes what stands in it: nested values come up, a list with one text becomes the text."""
    for place in _places(smallest()):
        program = smallest()
        if len(place) < 2 or not _reaches(program, place):  # noqa: PLR2004 - top-level fields stay
            continue
        match _get(program, place):
            case [{"type": "text", "text": str(text)}, *_]:
                yield _with(program, place, text)
            case dict(value):
                yield from (_with(program, place, child) for child in value.values())


def _simpler_values(smallest: Callable[[], Json]) -> Iterator[Json]:
    for place in _places(smallest()):
        if place[-1] in _NAMES or not _reaches(smallest(), place):
            continue
        for simpler in _simpler(_get(smallest(), place)):
            yield _with(smallest(), place, simpler)


def _simpler(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        return ("", "x", "#1") if value else ()
    if isinstance(value, dict):
        return ({}, 0)
    if isinstance(value, list):
        return ([], "x", 0)
    return () if value is None or value == 0 else (0, 1, -1)


# --- places -------------------------------------------------------------------------------------------------


def _places(value: Any) -> list[Place]:
    """All places in the value, the outermost first, lists from their end."""
    level: list[tuple[Place, Any]] = [((), value)]
    places: list[Place] = []
    while level:
        below = []
        for place, container in level:
            keys = [*container] if isinstance(container, dict) else [*reversed(range(len(container)))]
            below += [((*place, key), container[key]) for key in keys]
        places += [place for place, _ in below]
        level = [(place, child) for place, child in below if isinstance(child, (dict, list))]
    return places


def _reaches(value: Any, place: Place) -> bool:
    try:
        _get(value, place)
    except (LookupError, TypeError):
        return False
    return True


def _get(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def _with(value: Any, place: Place, new: Any) -> Any:
    """A copy with the new value at the place, which the value has."""
    if not place:
        return new
    key, rest = place[0], place[1:]
    changed = _with(value[key], rest, new)
    if isinstance(value, dict):
        return {**value, key: changed}
    return [changed if index == key else child for index, child in enumerate(value)]


def _without(value: Any, place: Place) -> Any:
    *above, key = place
    container = _get(value, tuple(above))
    if isinstance(container, dict):
        return _with(value, tuple(above), {name: child for name, child in container.items() if name != key})
    return _with(value, tuple(above), [child for index, child in enumerate(container) if index != key])
