"""A driver as the module `lint` speaks to it: line by line, misbehaviour being a `BrokenError`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from agentcore.errors import AgentCoreError
from agentcore.kit.outcomes import Crashed, Malformed
from agentcore.kit.program import BadProgram, parse_json
from agentcore.kit.schemas import Schema
from agentcore.oracle.drivers.process import Process
from agentcore.oracle.drivers.protocol import START

__all__ = ["STOP", "BrokenError", "Session", "ran"]

Json: TypeAlias = dict[str, Any]
STOP: Final = b'{"cmd":"stop"}\n'
_MAX_LINE: Final = 1 << 26
_STDERR: Final = 500
_FLUSH_SECONDS: Final = 0.5


class BrokenError(AgentCoreError):
    """The driver did what it is not to do: `what`; `todo`, if the rule's own advice is not the best here.

    `gone` says that it cannot be asked any more, for it does not answer at all.
    """

    def __init__(self, what: str, todo: str | None = None, *, gone: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.gone = gone


def ran(seq: Any, program: Any) -> bytes:
    """The request for the trace of a program."""
    return json.dumps({"cmd": "run", "seq": seq, "program": program}).encode() + b"\n"


@cache
def _answers() -> Schema:
    return Schema("driver-answer")


class Session:
    """A driver's processes, one at a time.

    `sent` and `heard` are the last line in each direction, `introduction` is what it answered to `start`.
    """

    def __init__(self, argv: Sequence[str], time_limit: float) -> None:
        self.sent = b""
        self.heard = b""
        self.introduction: Json = {}
        self._argv = argv
        self._time_limit = time_limit
        self._process: Process | None = None

    def close(self) -> None:
        """Kills the process with all that it started."""
        if self._process is not None:
            self._process.finish(0)
            self._process = None

    def fresh(self) -> None:
        """Starts a new process, which is not spoken to yet. Raises OSError where that cannot be."""
        self.close()
        self.sent = self.heard = b""
        self._process = Process(self._argv, None)

    def started(self) -> Json:
        """Starts a new process; what it answers to `start`."""
        self.fresh()
        self.introduction = self.ask(START, "started")
        return self.introduction

    def say(self, lines: bytes) -> None:
        """Sends lines. A process is started if none runs."""
        if self._process is None:
            self.started()
        assert self._process is not None  # noqa: S101 - `started` has made one
        self.sent, self.heard = lines, b""
        self._process.send(lines)

    def hear(self, kind: str | None = None) -> Json:
        """The next answer; `kind` is the definition of the schema that it has to fit. Raises BrokenError."""
        value = self.hear_object()
        problem = _answers().problem(value, kind)
        if problem is not None:
            path, reason = problem
            raise BrokenError(f"an answer that is not what the schema allows: ${path} {reason}")
        return value

    def hear_object(self) -> Json:
        """The JSON object of the next line, whatever it holds. Raises BrokenError."""
        assert self._process is not None  # noqa: S101 - something was said
        line = self._process.line(time.monotonic() + self._time_limit, _MAX_LINE)
        if line is None:
            raise self._silence(self._process)
        if isinstance(line, Crashed | Malformed):
            raise self._failed(line)
        self.heard = line
        return _object(line)

    def ask(self, line: bytes, kind: str | None = None) -> Json:
        """The answer to a line."""
        self.say(line)
        return self.hear(kind)

    def end(self, *, by_stop: bool) -> tuple[int | None, bytes]:
        """Tells it to end, or ends its input: its exit code, None if it does not end, and what it wrote."""
        assert self._process is not None  # noqa: S101 - something was said
        deadline = time.monotonic() + self._time_limit
        if by_stop:
            self.say(STOP)
        else:
            self._process.close_input(deadline)
        ended = self._process.ended(deadline)
        self.close()
        return ended

    def _silence(self, process: Process) -> BrokenError:
        process.close_input(time.monotonic() + _FLUSH_SECONDS)
        late = process.line(time.monotonic() + _FLUSH_SECONDS, _MAX_LINE)
        said = _said(process.said())
        self.close()
        if isinstance(late, bytes):
            what = "the answer came only when the input ended"
            return BrokenError(what, "flush standard output after each answer", gone=True)
        return BrokenError(
            f"no answer within {self._time_limit:g} s{said}",
            "answer each line before you read the next; see where it waits",
            gone=True,
        )

    def _failed(self, failure: Crashed | Malformed) -> BrokenError:
        self.close()
        todo = "write one JSON value a line" if isinstance(failure, Malformed) else None
        return BrokenError(f"{failure.reason}{_said(failure.stderr)}", todo)


def _said(stderr: str) -> str:
    return f"; the end of its standard error: {stderr[-_STDERR:].strip()}" if stderr.strip() else ""


def _object(line: bytes) -> Json:
    try:
        value = parse_json(line)
    except BadProgram:
        value = None
    if not isinstance(value, dict):
        todo = (
            "print nothing to standard output but answers, each on one line; use standard error for the rest"
        )
        raise BrokenError("a line that is not a JSON object", todo)
    return value
