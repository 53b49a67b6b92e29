"""What the fields of a profile decide, in words: the text under each field of a profile's class, as data."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

import attrs

__all__ = ["IDENTITY", "Field", "fields_of", "told"]

IDENTITY: Final = ("name", "package")
"""The fields that name a profile and decide nothing."""
_HEADING: Final = re.compile(r"    # (.+)\.$")


@attrs.frozen(kw_only=True)
class Field:
    """A field of a profile class: its name, what it decides, and the heading under which it stands there."""

    name: str
    statement: str
    group: str


def fields_of(kind: type) -> tuple[Field, ...]:
    """The fields of a profile class but those that name it, in order; needs the class's source."""
    return tuple(_fields(inspect.getsource(kind)))


def _fields(source: str) -> Iterator[Field]:
    lines = source.splitlines()
    body = ast.parse(source).body[0].body  # type: ignore[attr-defined]  # a class
    for node, follows in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        if node.target.id not in IDENTITY:
            above = lines[node.lineno - 1 :: -1]
            group = next((found[1] for line in above if (found := _HEADING.match(line))), "")
            yield Field(name=node.target.id, statement=_text(follows), group=group)


def _text(node: ast.stmt | None) -> str:
    """The text under a field, on one line."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).split())
    return ""


def told(value: Any) -> str:
    """A field's value in words, as markdown."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name.lower()
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {told(item)}" for key, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(f"`{item}`" for item in value)
    return str(value)
