"""Makes a program smaller while a property of it stays true.

Greedy and deterministic: edits are tried from the largest to the smallest, each is kept if the program is
then simpler by `size`, still is a program, and the test still holds; and so again until no edit is kept or
the time is over (rule oracle.shrunk). `size` is a total order with a least element, so this ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from agentcore.kit.families import Family, Shrinking
from agentcore.kit.program import BadProgram, Place, at, has, places, put, without

__all__ = ["Smallest", "entries_out", "script_cut", "shrink", "size", "smaller", "windows_out"]

Json: TypeAlias = dict[str, Any]


def size(program: Json, family: Family) -> tuple[Any, ...]:
    """Measures a program for the shrinker: the family's measure first, then how much there is to read.

    That is its characters, where a value that nobody can tell from others (a number, an empty text or key)
    counts for more than a text of one letter; then the alphabet.
    """
    line = family.to_line({**program, "id": ""})
    return *family.shrinking.measure(program), len(line) + _unreadable(program), line


_SAYS_NOTHING: Final = 3


def _unreadable(value: Any) -> int:
    """Weighs values that a reader cannot tell from others, in addition to their characters."""
    weight = 0
    stack = [value]
    while stack:
        found = stack.pop()
        if isinstance(found, dict):
            weight += sum(_SAYS_NOTHING for key in found if key == "")
            # An index of a path stands in a list, and says where.
            weight += sum(_SAYS_NOTHING for child in found.values() if type(child) in (int, float))
            stack.extend(found.values())
        elif isinstance(found, list):
            stack.extend(found)
        elif found == "":
            weight += _SAYS_NOTHING
    return weight


def shrink(
    program: Json,
    holds: Callable[[Json], bool],
    family: Family,
    *,
    seconds: float = 60.0,
    clock: Callable[[], float] = time.monotonic,
) -> Json:
    """A program, as small as was found in the time, of which `holds` is true as it is of the given one."""
    smallest = program
    for smallest in smaller(program, holds, family, seconds=seconds, clock=clock):  # noqa: B007 - the last
        pass
    return smallest


def smaller(
    program: Json,
    holds: Callable[[Json], bool],
    family: Family,
    *,
    seconds: float = 60.0,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Json]:
    """Yields ever smaller programs of which `holds` is true, until none is found or the time is over."""
    deadline = clock() + seconds
    # By their lines: many edits lead to one program, and running one costs a driver's answer.
    tried = {family.to_line(program)}
    smallest = program

    def current() -> Json:
        return smallest

    before = None
    # Once more after any success: what could not go before may go now, as a tool that a removed step
    # called.
    while before is not smallest:
        before = smallest
        for candidate in _passes(current, family.shrinking):
            if clock() > deadline:
                return
            if _worth_trying(candidate, smallest, family, tried) and holds(candidate):
                smallest = candidate
                yield smallest


def _worth_trying(candidate: Json, smallest: Json, family: Family, tried: set[str]) -> bool:
    line = family.to_line(candidate)
    if line in tried:
        return False
    tried.add(line)
    try:
        family.require(candidate)
    except BadProgram:
        return False
    return family.shrinking.within(candidate) and size(candidate, family) < size(smallest, family)


# --- edits: a pass asks each time for the smallest program, which changes when an edit is kept --------------


def _passes(smallest: Callable[[], Json], known: Shrinking) -> Iterator[Json]:
    yield from _whole_fields(smallest, known)
    for edits in known.edits:
        yield from edits(smallest)
    yield from _removals(smallest)
    yield from _merges(smallest, known)
    yield from _simpler_values(smallest, known)


def _whole_fields(smallest: Callable[[], Json], known: Shrinking) -> Iterator[Json]:
    for field in [*smallest()]:
        if field not in known.required:
            yield {key: value for key, value in smallest().items() if key != field}


def _removals(smallest: Callable[[], Json]) -> Iterator[Json]:
    """Yields everything that can be removed, from the outside in; long lists by halves first."""
    for place in places(smallest()):
        program = smallest()
        if place[:1] == ("id",) or not has(program, place):
            continue
        value = at(program, place)
        if isinstance(value, list):
            yield from _halves(smallest, place, len(value))
        if len(place) > 1:
            yield without(smallest(), place)


def _halves(smallest: Callable[[], Json], place: Place, length: int) -> Iterator[Json]:
    # Halves down to pairs; single elements come as removals of their own.
    width = length // 2
    while width > 1:
        for start in range(0, length, width):
            value = at(smallest(), place)
            yield put(smallest(), place, [*value[:start], *value[start + width :]])
        width //= 2


def _merges(smallest: Callable[[], Json], known: Shrinking) -> Iterator[Json]:
    """A value becomes what the family says with less, or what stands in it."""
    for place in places(smallest()):
        program = smallest()
        if len(place) < 2 or not has(program, place):  # noqa: PLR2004 - top-level fields stay
            continue
        value = at(program, place)
        below = value.values() if isinstance(value, dict) else ()
        yield from (put(program, place, other) for other in (*known.merged(value), *below))


def _simpler_values(smallest: Callable[[], Json], known: Shrinking) -> Iterator[Json]:
    for place in places(smallest()):
        if place[-1] in known.names or not has(smallest(), place):
            continue
        is_key = isinstance(at(smallest(), place[:-1]), list)
        for simpler in _simpler(at(smallest(), place), _KEY if is_key else _TEXT):
            yield put(smallest(), place, simpler)


# What keys of paths, which stand in lists, and other texts become: `{"x": "y"}` can be read.
_KEY: Final = "x"
_TEXT: Final = "y"


def _simpler(value: Any, text: str) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (text, "#1")
    if isinstance(value, dict):
        return (text, {}, 0)
    if isinstance(value, list):
        return (text, [], 0)
    return (text, 0, 1, -1)


# Edits from which families put together how their programs are made smaller.
#
# Each asks for the smallest program anew before every candidate, as edits that are kept change it.

Smallest: TypeAlias = Callable[[], Json]


def entries_out(smallest: Smallest, *place: str | int) -> Iterator[Json]:
    """Programs that lack one entry of what is at a place; a list loses the last first."""
    found = at(smallest(), place) if has(smallest(), place) else ()
    keys: Place = tuple(found) if isinstance(found, dict) else tuple(reversed(range(len(found))))
    for key in keys:
        if has(smallest(), (*place, key)):
            yield without(smallest(), (*place, key))


def script_cut(
    smallest: Smallest, last: Any, *, least: int, without_step: Callable[[Json, int], Json]
) -> Iterator[Json]:
    """Programs whose script ends earlier, by itself and with `last`; then those that lack one step.

    Args:
        smallest: gives the smallest program so far.
        last: the entry of a script after which a run ends.
        least: how many entries a script of the format has at least.
        without_step: the program without the step of that index.
    """
    for count in range(least, len(smallest().get("script", ()))):
        script = smallest()["script"]
        yield {**smallest(), "script": script[:count]}
        yield {**smallest(), "script": [*script[: count - least], last]}
    for index in reversed(range(len(smallest().get("script", ())))):
        yield without_step(smallest(), index)


def windows_out(
    smallest: Smallest, field: str, *, roots: frozenset[str], within: frozenset[str]
) -> Iterator[Json]:
    """Programs without entries of a list, one and two at a time: a call and its result go together.

    Each comes as it is, and with paths that count the entries from the front counted without those.

    Args:
        smallest: gives the smallest program so far.
        field: the field of the program that is the list.
        roots: first keys of paths into it.
        within: the fields of the program that have such paths.
    """
    # Two first: a call without its result, or a result without its call, is often no valid program.
    for width in (2, 1):
        for index in reversed(range(len(smallest().get(field, ())))):
            program = smallest()
            if index + width <= len(program.get(field, ())):
                kept = [*program[field][:index], *program[field][index + width :]]
                yield {**program, field: kept}
                moved = {
                    name: _counted_again(value, roots, index, width) if name in within else value
                    for name, value in program.items()
                }
                yield {**moved, field: kept}


def _counted_again(value: Any, roots: frozenset[str], index: int, width: int) -> Any:
    """A value whose paths count as if `width` entries from `index` on had never been."""
    if isinstance(value, dict):
        return {key: _counted_again(child, roots, index, width) for key, child in value.items()}
    match value:
        case [str(root), int(number), *rest] if root in roots and number >= index + width:
            return [root, number - width, *rest]
        case [*_]:
            return [_counted_again(child, roots, index, width) for child in value]
    return value
