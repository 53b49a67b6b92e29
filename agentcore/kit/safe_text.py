"""Text from outside, made safe to look at: nothing in it controls what shows it, and it has an end.

Rule oracle.said-is-data.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Final

__all__ = ["bounded", "brief", "cut", "one_line", "visible"]

# What a terminal obeys, what turns the direction of a line round, and what XML 1.0 cannot hold.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """The text with each character that would not be seen, tabs and line ends apart, as its escape."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str, length: int) -> str:
    """The text on one line, its tabs and line ends escaped as well, and cut if it is longer."""
    return cut(visible(text).replace("\n", "\\n").replace("\t", "\\t"), length)


def cut(text: str, length: int) -> str:
    """The text, if it is not longer; else its beginning and how long it is."""
    return text if len(text) <= length else f"{text[:length]}... ({len(text)} characters)"


def bounded(value: Any, *, length: int = 10_000, items: int = 1_000, levels: int = 100) -> Any:
    """Plain JSON with no longer text, no more in a list or an object, and no deeper; notes name cuts."""
    if isinstance(value, str):
        return cut(value, length)
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return "..."

    def child(inside: Any) -> Any:
        return bounded(inside, length=length, items=items, levels=levels - 1)

    if isinstance(value, dict):
        kept = {cut(key, length): child(inside) for key, inside in islice(value.items(), items)}
        return kept if len(value) <= items else {**kept, "...": f"{len(value)} keys"}
    children = [child(inside) for inside in value[:items]]
    return children if len(value) <= items else [*children, f"... ({len(value)} items)"]


def brief(value: Any, length: int = 200) -> str:
    """A value as Python writes it, cut; whatever its size, no more is made of it than is shown."""
    return cut(repr(bounded(value, length=length, items=20, levels=5)), length)
