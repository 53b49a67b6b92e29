"""Who holds what: whose objects a context has, and who shares objects after a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from agentcore.frameworks.strands.shapes import MISSING, Container, Place
from agentcore.heap.views import View

__all__ = ["held_in", "objects_of", "shared"]

Path: TypeAlias = list[Any]


def _visit(place: Place, path: Path, visit: Callable[[int, Path], bool]) -> None:
    """Goes over the objects at a place and inside it, outermost first, as far as `visit` says."""
    live, shape = place.live, place.shape
    if isinstance(live, View) and isinstance(shape, Container) and visit(live.ref.address, path):
        for key, inner in shape.inside(live):
            _visit(inner, [*path, key], visit)


def objects_of(places: Iterable[tuple[Place, Path]]) -> Mapping[int, Path]:
    """The objects at these places and inside them, by address; of one that is there twice the first path."""
    found: dict[int, Path] = {}

    def visit(address: int, at: Path) -> bool:
        new = address not in found
        found.setdefault(address, at)
        return new

    for place, path in places:
        _visit(place, path, visit)
    return found


def shared(place: Place, path: Path, known: Mapping[int, Path]) -> list[list[Path]]:
    """The outermost objects of a place that `known` has: `[path here, what known has of it]`."""
    found: list[list[Path]] = []

    def visit(address: int, at: Path) -> bool:
        if address in known:
            found.append([at, known[address]])
        return address not in known

    _visit(place, path, visit)
    return found


def held_in(name: str, place: Place | None, known: Mapping[int, Path]) -> dict[str, Any]:
    """Whether a field holds one of the known objects (share), some inside (shallow), or none (deep)."""
    live = MISSING if place is None else place.live
    if place is None or live is MISSING or (live is None and name in {"system", "modelState"}):
        return {"mode": "absent"}
    if not isinstance(live, View):
        return {"mode": "value"}
    # Nothing outside the loop holds the tool choice that it forces.
    if name == "toolChoice":
        return {"mode": "unknown"}
    if live.ref.address in known:
        return {"mode": "share"}
    paths = [path for path, _ in shared(place, [name], known)]
    return {"mode": "shallow", "paths": paths} if paths else {"mode": "deep"}
