"""JSON paths: where in a value something is, as errors and findings have it."""

from __future__ import annotations

import re
from json.encoder import encode_basestring_ascii as _quote
from typing import Final

__all__ = ["json_path"]

_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def json_path(path: str, *keys: str | int) -> str:
    """Extend a JSON path by keys: `json_path("$", "a", 0, "b c")` is `$.a[0]["b c"]`."""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        else:
            path += f".{key}" if _NAME.fullmatch(key) else f"[{_quote(key)}]"
    return path
