"""What the fields of a profile decide, in words, and profiles in which one of them is decided otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

import attrs

__all__ = ["IDENTITY", "Field", "decision", "fields_of", "flipped", "told"]

IDENTITY: Final = ("name", "package")
"""The fields that name a profile and decide nothing."""
_KEY: Final = "agentcore.decision"
"""Where `decision` keeps what it was given, in the metadata of a field."""


@attrs.frozen(kw_only=True)
class Field:
    """A field of a profile class: its name, what it decides, and its heading on pages."""

    name: str
    statement: str
    group: str


@attrs.frozen
class _Decision:
    """What `decision` was given."""

    sentence: str
    heading: str | None


_UNDECIDED: Final = _Decision("", None)


def decision(sentence: str, *, heading: str | None = None) -> Mapping[str, Any]:
    """Says what a field of a profile decides: `attrs.field(metadata=decision("Whether ... ."))`.

    Args:
        sentence: What the field decides; it ends in a full stop, and is the statement of the requirement.
        heading: On pages, the heading of this field and of those after it, up to the next one with a heading.

    Returns:
        The metadata of an attrs field, which `fields_of` reads.

    Raises:
        ValueError: The sentence does not end in a full stop.
    """
    if not sentence.endswith("."):
        raise ValueError(f"what a field decides is a sentence and ends in a full stop: {sentence!r}")
    return {_KEY: _Decision(sentence, heading)}


def fields_of(kind: type) -> tuple[Field, ...]:
    """Returns the fields of a profile class but those that name it, in order.

    Args:
        kind: A class made by attrs. A field without a `decision` has an empty statement.

    Returns:
        The fields, inherited ones first.
    """
    return tuple(_fields(kind))


def _fields(kind: type) -> Iterator[Field]:
    heading = ""
    for attribute in attrs.fields(kind):
        decided = attribute.metadata.get(_KEY, _UNDECIDED)
        heading = heading if decided.heading is None else decided.heading
        if attribute.name not in IDENTITY:
            yield Field(name=attribute.name, statement=decided.sentence, group=heading)


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
