"""What becomes of a program that a driver was given: each kind of misbehaviour is a type of its own.

Rule oracle.only-wrong-counts: of all these only an answer whose trace is wrong says something about the
implementation.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import attrs

from agentcore.messages.brief import brief

__all__ = [
    "Answer",
    "Crashed",
    "Failure",
    "Hung",
    "Incompatible",
    "Malformed",
    "Outcome",
    "Unsupported",
    "excerpt",
]

_EXCERPT: Final = 200


@attrs.frozen
class Answer:
    """The trace of the program."""

    __repr__ = brief

    trace: dict[str, Any]


@attrs.frozen
class Unsupported:
    """The implementation says that it cannot run this program."""

    __repr__ = brief

    reason: str


@attrs.frozen
class Crashed:
    """The process ended, or could not be started, before it had answered."""

    __repr__ = brief

    reason: str
    stderr: str


@attrs.frozen
class Hung:
    """No answer within the time limit; the process was killed."""

    __repr__ = brief

    seconds: float
    stderr: str


@attrs.frozen
class Malformed:
    """Output that is not one trace per program in order; the process was killed."""

    __repr__ = brief

    reason: str
    output: str
    stderr: str


@attrs.frozen
class Incompatible:
    """The driver speaks another version of the protocol, so nothing was asked of it; it was killed."""

    __repr__ = brief

    reason: str
    version: float
    stderr: str


Failure: TypeAlias = Crashed | Hung | Malformed | Incompatible
"""What a driver does that gives neither a trace nor the word that there is none."""

Outcome: TypeAlias = Answer | Unsupported | Failure


def excerpt(line: bytes) -> str:
    """The beginning of a line, as text, and how long the line is where that is not all of it."""
    text = line[:_EXCERPT].decode("utf-8", "replace")
    return text if len(line) <= _EXCERPT else f"{text}... ({len(line)} bytes)"
