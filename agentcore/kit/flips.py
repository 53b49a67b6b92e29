"""Profiles in which one thing is decided otherwise: what shows a decision tells such a profile apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

import attrs

__all__ = ["flipped"]


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
