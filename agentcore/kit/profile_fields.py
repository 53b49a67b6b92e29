"""What the fields of a profile decide, in words, and profiles in which one of them is decided otherwise."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

import attrs

__all__ = ["IDENTITY", "Field", "fields_of", "flipped", "told"]

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


# Profiles in which one thing is decided otherwise: what shows a decision tells such a profile apart.


def flipped(profile: Any, field: str, profiles: Iterable[Any]) -> Iterator[Any]:
    """The profile with each other value of a field: of a bool and an enum all, else those of `profiles`."""
    for other in _others(getattr(profile, field), [getattr(each, field) for each in profiles]):
        try:
            yield attrs.evolve(profile, **{field: other})
        except ValueError:  # no value for this field
            continue


def _others(value: Any, known: list[Any]) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, Enum):
        yield from (each for each in type(value) if each is not value)
    else:
        yield from _mixed(value, known) if attrs.has(type(value)) else ()
        yield from (each for index, each in enumerate(known) if each != value and each not in known[:index])


def _mixed(value: Any, known: list[Any]) -> Iterator[Any]:
    """The value with one of its own fields as another profile has it."""
    for other in known:
        for part in attrs.fields(type(value)) if type(other) is type(value) else ():
            if getattr(other, part.name) != getattr(value, part.name):
                yield attrs.evolve(value, **{part.name: getattr(other, part.name)})
