"""An implementation in a process of its own: programs to its standard input, traces from its standard output.

One `Driver` is one command; it is started when first needed and again after it died. It is spoken to in the
driver protocol (spec/driver-protocol.md), or in plain lines where it turns out to be a filter: that answers
`start` as a line that is no program, or ends. Whatever the process does is an `Outcome`, and each kind of
misbehaviour is a type of its own (rules oracle.line-for-line, oracle.only-wrong-counts).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeAlias

from agentcore.kit.outcomes import (
    Answer,
    Crashed,
    Failure,
    Hung,
    Incompatible,
    Malformed,
    Outcome,
    Unsupported,
    excerpt,
)
from agentcore.kit.program import BadNumber, BadProgram, parse_json, program_to_line
from agentcore.oracle.drivers.process import Process
from agentcore.oracle.drivers.protocol import START, Asked, Implementation, Plain, Speech, Spoken, introduced

__all__ = [
    "Answer",
    "Crashed",
    "Driver",
    "Failure",
    "Hung",
    "Implementation",
    "Incompatible",
    "Malformed",
    "Outcome",
    "Unsupported",
]

Json: TypeAlias = dict[str, Any]


class Driver:
    """Runs `argv`: `submit` programs, as many as wanted, and take their outcomes in order with `receive`.

    A process that fails is killed with all that it started, and the program it was at gets the failure as its
    outcome; those submitted after it go to a new process. `time_limit` is how many seconds `receive` waits.
    An object without all of `trace_fields` is no trace. Without `handshake` the process is a filter, and is
    not asked what it is. Use it in a `with` block, or `close` it.
    """

    def __init__(  # noqa: PLR0913 - each has a default that fits most uses
        self,
        argv: Sequence[str],
        *,
        time_limit: float = 20.0,
        max_line: int = 1 << 26,
        trace_fields: Collection[str] = ("error",),
        env: Mapping[str, str] | None = None,
        handshake: bool = True,
    ) -> None:
        self.argv = tuple(argv)
        self.starts = 0
        self._time_limit = time_limit
        self._max_line = max_line
        self._trace_fields = trace_fields
        self._env = env
        self._handshake = handshake
        self._submitted = 0
        self._pending: deque[Asked] = deque()
        self._process: Process | None = None
        # None as long as it is not known what the running process is.
        self._speech: Speech | None = None
        self._implementation: Implementation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pending(self) -> int:
        """How many programs wait for their outcome."""
        return len(self._pending)

    @property
    def implementation(self) -> Implementation | None:
        """What the process said that it is; None for a filter, and before the first `start` or `receive`."""
        return self._implementation

    def start(self) -> Failure | None:
        """Starts the process unless it runs, and waits until it has said what it is.

        Gives its failure if it does not within the time limit; it is killed then.
        """
        found = self._ready(time.monotonic() + self._time_limit)
        if isinstance(found, tuple):
            return None
        self._end(0)
        return found

    def submit(self, program: Mapping[str, Any]) -> None:
        """Hands the program over; does not wait."""
        line = program_to_line(program).encode()
        asked = Asked(self._submitted, program.get("id"), line)
        self._submitted += 1
        self._pending.append(asked)
        if self._process is None:
            # What cannot be started is told by `receive`, which tries again.
            with suppress(OSError):
                self._running()
        elif self._speech is not None:
            self._process.send(self._speech.request(asked))

    def receive(self) -> Outcome:
        """Waits for the outcome of the program submitted first. Raises LookupError if there is none."""
        if not self._pending:
            raise LookupError("no program was submitted")
        outcome = self._outcome(self._pending[0], time.monotonic() + self._time_limit)
        self._pending.popleft()
        if not isinstance(outcome, Answer | Unsupported):
            self._end(0)
        return outcome

    def run(self, program: Mapping[str, Any]) -> Outcome:
        """The outcome of one program. Raises ValueError while others are pending."""
        if self._pending:
            raise ValueError("other programs are pending; receive their outcomes first")
        self.submit(program)
        return self.receive()

    def close(self) -> None:
        """Lets the process end, and kills it if it does not within a second; forgets pending programs."""
        self._pending.clear()
        if self._process is not None and self._speech is not None:
            self._process.send(self._speech.farewell)
        self._end(1.0)

    def _outcome(self, asked: Asked, deadline: float) -> Outcome:
        ready = self._ready(deadline)
        if not isinstance(ready, tuple):
            return ready
        process, speech = ready
        read = self._read(process, deadline)
        if not isinstance(read, tuple):
            return read
        line, value = read
        found = speech.outcome(value, asked, self._trace_fields)
        return Malformed(found, excerpt(line), process.said()) if isinstance(found, str) else found

    def _ready(self, deadline: float) -> tuple[Process, Speech] | Failure:
        """The running process once it is known how to speak to it, with what is pending sent to it."""
        try:
            process = self._running()
        except OSError as error:
            return Crashed(f"could not start {self.argv[0]}: {error.strerror}", "")
        if self._speech is not None:
            return process, self._speech
        told = self._introduction(process, deadline)
        if isinstance(told, Crashed) and self._implementation is None:
            # There are filters that do not bear a line that is no program.
            self._handshake = False
            self._end(0)
            return self._ready(deadline)
        if isinstance(told, Failure):
            return told
        self._implementation = told
        return process, self._speak(process, Spoken() if told else Plain())

    def _running(self) -> Process:
        if self._process is None:
            self._process = Process(self.argv, self._env)
            self.starts += 1
            if self._handshake:
                self._process.send(START)
            else:
                self._speak(self._process, Plain())
        return self._process

    def _speak(self, process: Process, speech: Speech) -> Speech:
        self._speech = speech
        process.send(b"".join(map(speech.request, self._pending)))
        return speech

    def _introduction(self, process: Process, deadline: float) -> Implementation | Failure | None:
        read = self._read(process, deadline)
        return introduced(*read, process.said()) if isinstance(read, tuple) else read

    def _read(self, process: Process, deadline: float) -> tuple[bytes, Json] | Failure:
        line = process.line(deadline, self._max_line)
        if not isinstance(line, bytes):
            return line or Hung(self._time_limit, process.said())
        try:
            value = parse_json(line)
        except BadProgram as error:
            why = f": {error.reason}" if isinstance(error, BadNumber) else ""
            return Malformed(f"a line that is not JSON{why}", excerpt(line), process.said())
        if not isinstance(value, dict):
            return Malformed("a line that is not a JSON object", excerpt(line), process.said())
        return line, value

    def _end(self, grace: float) -> None:
        if self._process is not None:
            self._process.finish(grace)
            self._process = self._speech = None
