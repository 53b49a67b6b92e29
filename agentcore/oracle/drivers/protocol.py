"""The driver protocol (spec/driver-protocol.md): what a checker asks of a driver, and how answers are read.

A driver that does not speak it is a filter, programs in and traces out; the answer to `start` tells the two
apart, because to a filter that line is no program (rule driver.filter). Each way of speaking is a
`Speech`. Neither says what is expected of a program (rule driver.expectation-kept).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import Any, Final, Protocol, TypeAlias

import attrs

from agentcore.kit.program import (
    Answer,
    BadProgram,
    Incompatible,
    Malformed,
    Outcome,
    Schema,
    Unsupported,
    excerpt,
    parse_json,
)
from agentcore.kit.safe_text import bounded, brief, cut
from agentcore.messages.values import canonical_json

__all__ = [
    "START",
    "VERSION",
    "Asked",
    "Implementation",
    "Plain",
    "Speech",
    "Spoken",
    "answers",
    "introduced",
]

Json: TypeAlias = dict[str, Any]

VERSION: Final = 1
"""The version of the protocol that is spoken here."""

START: Final = b'{"cmd":"start","version":%d}\n' % VERSION


@attrs.frozen(kw_only=True)
class Implementation:
    """A driver's answer to `start`: `unsupported` are features of programs that it never runs."""

    name: str
    version: str
    formats: tuple[str, ...]
    unsupported: tuple[str, ...] = ()

    def to_answer(self) -> Json:
        """Returns this as the JSON of the answer to `start`."""
        return {
            "version": VERSION,
            "implementation": {"name": self.name, "version": self.version},
            "formats": [*self.formats],
            "unsupported": [*self.unsupported],
        }


@attrs.frozen
class Asked:
    """A program that was submitted: `seq` is its number, `id` its own, `line` its text without a line end."""

    seq: int
    id: Any
    line: bytes


class Speech(Protocol):
    """The way in which a driver is spoken to: by the protocol, or as a filter."""

    farewell: bytes
    """What lets it end, besides the end of its input."""

    def request(self, asked: Asked) -> bytes:
        """The line that asks for the trace of a program."""
        ...

    def outcome(self, value: Json, asked: Asked, trace_fields: Collection[str]) -> Outcome | str:
        """Returns the outcome in an answer; a text if the answer itself is at fault."""
        ...

    def trace_text(self, line: bytes, asked: Asked) -> bytes | None:
        """The part of an answer's line that is its trace; None where that is not plain to see."""
        ...


class Plain:
    """A filter: programs in, traces out, which give the program's `id` back."""

    farewell = b""

    def request(self, asked: Asked) -> bytes:
        """The program itself."""
        return asked.line + b"\n"

    def outcome(self, value: Json, asked: Asked, trace_fields: Collection[str]) -> Outcome | str:
        """The trace is the answer itself."""
        if "id" not in value or not _same(value["id"], asked.id):
            return f"an answer for program {brief(value.get('id'))} where one for {brief(asked.id)} is due"
        if isinstance(value.get("unsupported"), str):
            return _unsupported(value["unsupported"])
        return _trace(value, trace_fields)

    def trace_text(self, line: bytes, asked: Asked) -> bytes | None:  # noqa: ARG002 - the line has its id
        """The whole line."""
        return line


class Spoken:
    """The protocol; what a driver says that it cannot run is believed (rule driver.unsupported)."""

    farewell = b'{"cmd":"stop"}\n'

    def request(self, asked: Asked) -> bytes:
        """The program as part of a request."""
        return b'{"cmd":"run","seq":%d,"program":%b}\n' % (asked.seq, asked.line)

    def outcome(self, value: Json, asked: Asked, trace_fields: Collection[str]) -> Outcome | str:
        """The trace is a part of the answer."""
        if "seq" not in value or not _same(value["seq"], asked.seq):
            return f"an answer with seq {brief(value.get('seq'))} where {asked.seq} is due"
        if isinstance(value.get("unsupported"), str):
            return _unsupported(value["unsupported"])
        if "error" in value:
            error = json.dumps(bounded(value["error"], length=_TEXT, items=20))
            return f"an error instead of a trace of {brief(asked.id)}: {cut(error, _TEXT)}"
        return _trace(value.get("trace"), trace_fields)

    def trace_text(self, line: bytes, asked: Asked) -> bytes | None:
        """What comes after the number and the trace's name; the order that most drivers write them in."""
        found = _BEFORE_TRACE.match(line)
        return line[found.end() :] if found and int(found[1]) == asked.seq else None


_TEXT: Final = 500
_BEFORE_TRACE: Final = re.compile(rb'\{\s*"seq"\s*:\s*(\d{1,18})\s*,\s*"trace"\s*:')


def _same(mine: Any, theirs: Any) -> bool:
    """True if the two are the same JSON: true is not 1, and 1.0 is."""
    return canonical_json(mine) == canonical_json(theirs)


def _unsupported(reason: str) -> Unsupported:
    return Unsupported(cut(reason, _TEXT))


def _trace(value: Any, trace_fields: Collection[str]) -> Answer | str:
    if not isinstance(value, dict) or not all(field in value for field in trace_fields):
        return "an object that is no trace"
    return Answer(value)


@cache
def _answers() -> Schema:
    return Schema("driver-answer")


def introduced(line: bytes, value: Json, said: str) -> Implementation | Malformed | Incompatible | None:
    """Returns a driver's answer to `start`; None if it is a filter's answer to a line that is no program.

    `said` is what it wrote to standard error.
    """
    version = value.get("version")
    number = version if isinstance(version, int | float) and not isinstance(version, bool) else None
    if "implementation" not in value and number is None:
        return None
    if number is not None and number != VERSION:
        reason = (
            f"the driver speaks version {brief(version)} of the protocol, and this checker speaks {VERSION}; "
            "use a driver or a checker of the other's version"
        )
        return Incompatible(reason, number, said)
    if problem := _answers().problem(value, "started"):
        path, what = (cut(text, _TEXT) for text in problem)
        return Malformed(f"an invalid answer to start: ${path} {what}", excerpt(line), said)
    return Implementation(
        name=value["implementation"]["name"],
        version=value["implementation"]["version"],
        formats=tuple(value["formats"]),
        unsupported=tuple(value.get("unsupported", ())),
    )


# The driver's side of the protocol (spec/driver-protocol.md): requests to answers.


def answers(
    lines: Iterable[bytes], implementation: Implementation, answer: Callable[[Any], Json]
) -> Iterator[Json]:
    """The answers to the lines, each as soon as the line is there, until one says to stop.

    `answer(program)` has the `trace` of a program, or says by `unsupported` or `error` why there is none. It
    does not raise.
    """
    for line in lines:
        if not line.strip():
            continue
        request = _request(line)
        if isinstance(request, str):
            yield {"seq": None, "error": {"name": "BadRequest", "message": request}}
        elif request["cmd"] == "start":
            yield implementation.to_answer()
        elif request["cmd"] == "run":
            yield {"seq": request["seq"], **answer(request["program"])}
        else:
            return


@cache
def _requests() -> Schema:
    return Schema("driver-request")


def _request(line: bytes) -> Json | str:
    try:
        value = parse_json(line)
    except BadProgram as error:
        return str(error)
    problem = _requests().problem(value)
    if problem is not None:
        path, reason = problem
        return f"${path} {reason}"
    return dict(value)
