"""Profiles in which one thing is decided otherwise: what shows a requirement tells such a profile apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from typing import Any

import attrs

from agentcore.compat.heap import NotEmulatedError
from spec.requirements import Field, ProfileFamily, families


def decided(names: tuple[str, ...]) -> list[tuple[ProfileFamily, Field]]:
    """The decisions of profiles among some requirements."""
    return [
        (family, field)
        for family in families().values()
        for field in family.fields
        if field.requirement in names
    ]


def tells(family: ProfileFamily, field: Field, profile: str, program: dict[str, Any]) -> bool:
    """Whether a program's trace is another when the profile decides otherwise."""
    package = family.name.replace("-", "_")
    trace_under = import_module(f"agentcore.oracle.{package}.reference").trace_under
    mine = family.profiles[profile]

    def told(under: Any) -> str:
        try:
            return json.dumps(trace_under(under, program))
        except NotEmulatedError as error:
            return str(error)

    before = told(mine)
    return any(told(other) != before for other in flipped(family, mine, field.name))


def flipped(family: ProfileFamily, profile: Any, field: str) -> Iterator[Any]:
    """The profile with each other value that the field can have."""
    value = getattr(profile, field)
    for other in _others(family, value, field):
        try:
            yield attrs.evolve(profile, **{field: other})
        except ValueError:  # no value for this field
            continue


def _others(family: ProfileFamily, value: Any, field: str) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, Enum):
        yield from (each for each in type(value) if each is not value)
    else:
        known = [getattr(each, field) for each in family.profiles.values()]
        yield from _mixed(value, known) if attrs.has(type(value)) else ()
        yield from (each for index, each in enumerate(known) if each != value and each not in known[:index])


def _mixed(value: Any, known: list[Any]) -> Iterator[Any]:
    """The value with one of its own fields as another profile has it."""
    for other in known:
        for part in attrs.fields(type(value)) if type(other) is type(value) else ():
            if getattr(other, part.name) != getattr(value, part.name):
                yield attrs.evolve(value, **{part.name: getattr(other, part.name)})
