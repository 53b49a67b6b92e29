"""JSON paths: where in a value something is, as errors and findings have it."""

from __future__ import annotations

import re
from json.encoder import encode_basestring_ascii as _quote
from typing import Any, Final, TypeAlias

__all__ = ["Trail", "json_path", "keys_of", "plain_path"]

Trail: TypeAlias = tuple[Any, str | int] | None
"""How a walk came to a place: the trail of what holds it, and its key there; None at the start.

A walk over what others gave keeps trails and makes a path only of the one that it reports: the text of a path
has all keys above, so that paths of all elements of a list under one long key take their product in memory.
"""

_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def json_path(path: str, *keys: str | int) -> str:
    """Extend a JSON path by keys: `json_path("$", "a", 0, "b c")` is `$.a[0]["b c"]`."""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        else:
            path += f".{key}" if _NAME.fullmatch(key) else f"[{_quote(key)}]"
    return path


def keys_of(trail: Trail) -> list[str | int]:
    """Return the keys that lead to a place, the outermost first."""
    keys: list[str | int] = []
    while trail is not None:
        trail, key = trail
        keys.append(key)
    return keys[::-1]


def plain_path(path: str, trail: Trail) -> str:
    """Return the path that a trail leads to, with keys as they are: `$.a[0].b c`."""
    return path + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys_of(trail))
