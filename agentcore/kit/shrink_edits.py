"""Edits from which families put together how their programs are made smaller.

Each asks for the smallest program anew before every candidate, as edits that are kept change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from agentcore.kit.places import Place, at, has, without

__all__ = ["Smallest", "entries_out", "script_cut", "windows_out"]

Json: TypeAlias = dict[str, Any]
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
