"""Places in plain JSON: paths of keys and indexes, and values with something else at one of them."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["Place", "at", "has", "places", "put", "without"]

Place: TypeAlias = tuple[str | int, ...]


def places(value: Any) -> list[Place]:
    """All places in an object or a list, the outermost first, lists from their end."""
    level: list[tuple[Place, Any]] = [((), value)]
    found: list[Place] = []
    while level:
        below = []
        for place, container in level:
            keys = [*container] if isinstance(container, dict) else [*reversed(range(len(container)))]
            below += [((*place, key), container[key]) for key in keys]
        found += [place for place, _ in below]
        level = [(place, child) for place, child in below if isinstance(child, (dict, list))]
    return found


def has(value: Any, place: Place) -> bool:
    """Whether the value has such a place."""
    try:
        at(value, place)
    except (LookupError, TypeError):
        return False
    return True


def at(value: Any, place: Place) -> Any:
    """What is at the place. Raises LookupError or TypeError where there is none."""
    for key in place:
        value = value[key]
    return value


def put(value: Any, place: Place, new: Any) -> Any:
    """A copy with the new value at the place, which the value has."""
    if not place:
        return new
    key, rest = place[0], place[1:]
    changed = put(value[key], rest, new)
    if isinstance(value, dict):
        return {**value, key: changed}
    return [changed if index == key else child for index, child in enumerate(value)]


def without(value: Any, place: Place) -> Any:
    """A copy without the place, which the value has."""
    *above, key = place
    container = at(value, tuple(above))
    if isinstance(container, dict):
        return put(value, tuple(above), {name: child for name, child in container.items() if name != key})
    return put(value, tuple(above), [child for index, child in enumerate(container) if index != key])
