"""Text from outside, made safe to look at: nothing in it controls what shows it, and it has an end.

Rule oracle.said-is-data.
"""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["bounded", "cut", "visible"]

# What a terminal obeys, what turns the direction of a line round, and what XML 1.0 cannot hold.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """The text with each character that would not be seen, tabs and line ends apart, as its escape."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def cut(text: str, length: int) -> str:
    """The text, if it is not longer; else its beginning and how long it is."""
    return text if len(text) <= length else f"{text[:length]}... ({len(text)} characters)"


def bounded(value: Any, *, length: int = 10_000, items: int = 1_000) -> Any:
    """Plain JSON in which no text is longer, and no list or object has more in it; what is cut is told."""
    if isinstance(value, str):
        return cut(value, length)
    if isinstance(value, dict):
        kept = {
            cut(key, length): bounded(child, length=length, items=items)
            for key, child in [*value.items()][:items]
        }
        return kept if len(value) <= items else {**kept, "...": f"{len(value)} keys"}
    if isinstance(value, list):
        children = [bounded(child, length=length, items=items) for child in value[:items]]
        return children if len(value) <= items else [*children, f"... ({len(value)} items)"]
    return value
