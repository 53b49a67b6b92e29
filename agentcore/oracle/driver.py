"""An implementation in a process of its own: programs to its standard input, traces from its standard output.

One `Driver` is one command; it is started when first needed and again after it died. Whatever the process
does is an `Outcome`, and each kind of misbehaviour is a type of its own (rules oracle.line-for-line,
oracle.only-wrong-counts). Needs pipes that `selectors` can
wait for (POSIX).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import attrs

from agentcore.oracle.program import program_to_line

__all__ = ["Answer", "Crashed", "Driver", "Hung", "Malformed", "Outcome", "Unsupported"]

_CHUNK: Final = 1 << 16
_STDERR_KEPT: Final = 1 << 14
_EXCERPT: Final = 200


@attrs.frozen
class Answer:
    """The trace of the program."""

    trace: dict[str, Any]


@attrs.frozen
class Unsupported:
    """The implementation says that it cannot run this program."""

    reason: str


@attrs.frozen
class Crashed:
    """The process ended, or could not be started, before it had answered."""

    reason: str
    stderr: str


@attrs.frozen
class Hung:
    """No answer within the time limit; the process was killed."""

    seconds: float
    stderr: str


@attrs.frozen
class Malformed:
    """Output that is not one trace per program in order; the process was killed."""

    reason: str
    output: str
    stderr: str


Outcome: TypeAlias = Answer | Unsupported | Crashed | Hung | Malformed


class Driver:
    """Runs `argv`: `submit` programs, as many as wanted, and take their outcomes in order with `receive`.

    A process that fails is killed with all that it started, and the program it was at gets the failure as its
    outcome; those submitted after it go to a new process. `time_limit` is how many seconds `receive` waits.
    An object without all of `trace_fields` is no trace. Use it in a `with` block, or `close` it.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        time_limit: float = 20.0,
        max_line: int = 1 << 26,
        trace_fields: Collection[str] = ("error",),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.argv = tuple(argv)
        self.starts = 0
        self._time_limit = time_limit
        self._max_line = max_line
        self._trace_fields = trace_fields
        self._env = env
        self._pending: deque[tuple[Any, bytes]] = deque()
        self._process: _Process | None = None

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

    def submit(self, program: Mapping[str, Any]) -> None:
        """Hands the program over; does not wait."""
        line = program_to_line(program).encode() + b"\n"
        self._pending.append((program.get("id"), line))
        if self._process is not None:
            self._process.send(line)
            return
        # What cannot be started is told by `receive`, which tries again.
        with suppress(OSError):
            self._running()

    def receive(self) -> Outcome:
        """Waits for the outcome of the program submitted first. Raises LookupError if there is none."""
        if not self._pending:
            raise LookupError("no program was submitted")
        asked = self._pending[0][0]
        outcome = self._outcome(asked)
        self._pending.popleft()
        if isinstance(outcome, (Crashed, Hung, Malformed)):
            self._kill()
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
        if self._process is not None:
            self._process.finish(1.0)
            self._process = None

    def _outcome(self, asked: Any) -> Outcome:
        try:
            process = self._running()
        except OSError as error:
            return Crashed(f"could not start {self.argv[0]}: {error.strerror}", "")
        line = process.line(time.monotonic() + self._time_limit, self._max_line)
        if isinstance(line, bytes):
            return _read(line, asked, self._trace_fields, process)
        return line or Hung(self._time_limit, process.said())

    def _running(self) -> _Process:
        if self._process is None:
            self._process = _Process(self.argv, self._env)
            self.starts += 1
            for _, line in self._pending:
                self._process.send(line)
        return self._process

    def _kill(self) -> None:
        if self._process is not None:
            self._process.finish(0)
            self._process = None


def _read(line: bytes, asked: Any, trace_fields: Collection[str], process: _Process) -> Outcome:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return Malformed("a line that is not JSON", _excerpt(line), process.said())
    if not isinstance(value, dict):
        return Malformed("a line that is not a JSON object", _excerpt(line), process.said())
    if "id" not in value or value["id"] != asked:
        reason = f"an answer for program {value.get('id')!r} where one for {asked!r} is due"
        return Malformed(reason, _excerpt(line), process.said())
    if isinstance(value.get("unsupported"), str):
        return Unsupported(value["unsupported"])
    if not all(field in value for field in trace_fields):
        return Malformed("an object that is no trace", _excerpt(line), process.said())
    return Answer(value)


def _excerpt(line: bytes) -> str:
    text = line[:_EXCERPT].decode("utf-8", "replace")
    return text if len(line) <= _EXCERPT else f"{text}... ({len(line)} bytes)"


class _Process:
    """A running process with its three pipes, none of which is ever waited for alone."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None) -> None:
        pipe = subprocess.PIPE
        # A session of its own, so that all it starts can be killed with it.
        self._popen = subprocess.Popen(  # noqa: S603 - running the user's command is what this is for
            argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, start_new_session=True, bufsize=0
        )
        self._streams: tuple[Any, ...] = (self._popen.stdin, self._popen.stdout, self._popen.stderr)
        self._in, self._out, self._err = (_nonblocking(stream) for stream in self._streams)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._selector.register(self._err, selectors.EVENT_READ)
        self._unsent = bytearray()
        self._unread = bytearray()
        self._scanned = 0
        self._stderr = bytearray()
        self._ended = False

    def send(self, data: bytes) -> None:
        if not self._unsent:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        self._unsent += data
        self.pump(0)

    def line(self, deadline: float, max_line: int) -> bytes | Outcome | None:
        """The next line, without its end; a failure; or None when the time is over."""
        while True:
            end = self._unread.find(b"\n", self._scanned)
            if end >= 0:
                line = bytes(self._unread[:end])
                del self._unread[: end + 1]
                self._scanned = 0
                return line
            self._scanned = len(self._unread)
            if self._scanned > max_line:
                reason = f"a line of more than {max_line} bytes"
                return Malformed(reason, _excerpt(bytes(self._unread[: 2 * _EXCERPT])), self.said())
            if self._ended:
                return self._end()
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self.pump(left)

    def pump(self, seconds: float) -> None:
        """Waits at most so long for one of the pipes, then moves what it can."""
        for key, _ in self._selector.select(seconds):
            if key.fd == self._in:
                self._write()
            else:
                self._read(key.fd)

    def said(self) -> str:
        """The end of what the process wrote to standard error."""
        self.pump(0)
        return self._stderr.decode("utf-8", "replace")

    def finish(self, grace: float) -> None:
        """Closes its input, gives it the time to end, and kills whatever is left of its group."""
        if self._in in self._selector.get_map():
            self._selector.unregister(self._in)
        self._streams[0].close()
        deadline = time.monotonic() + grace
        while not self._ended and (left := deadline - time.monotonic()) > 0:
            self._unread.clear()
            self.pump(left)
        self._stop()
        self._selector.close()
        for stream in self._streams:
            stream.close()

    def _end(self) -> Outcome:
        self._drain_stderr()
        self._stop()
        code = self._popen.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        rest = f" after an unfinished line: {_excerpt(bytes(self._unread))}" if self._unread else ""
        return Crashed(f"the process {how}{rest}", self.said())

    def _drain_stderr(self) -> None:
        deadline = time.monotonic() + 0.5
        while self._err in self._selector.get_map() and (left := deadline - time.monotonic()) > 0:
            self.pump(left)

    def _stop(self) -> None:
        """Kills the group; only then waits for its leader, whose number names no other group until then."""
        if self._popen.returncode is not None:
            return
        if self._ended:
            self._let_end(0.5)
        # The group may be gone, or be the ended leader alone, to which some systems refuse a signal.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()

    def _let_end(self, seconds: float) -> None:
        """Output closes a moment before the process ends, and its own exit code tells more than our kill."""
        deadline = time.monotonic() + seconds
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.waitid(os.P_PID, self._popen.pid, options) is None and time.monotonic() < deadline:
            time.sleep(0.002)

    def _write(self) -> None:
        try:
            sent = os.write(self._in, self._unsent[:_CHUNK])
        except BrokenPipeError:
            # It reads no more. What it still writes, and its end, say why.
            sent = len(self._unsent)
        del self._unsent[:sent]
        if not self._unsent:
            self._selector.unregister(self._in)

    def _read(self, stream: int) -> None:
        data = os.read(stream, _CHUNK)
        if not data:
            self._selector.unregister(stream)
            self._ended = self._ended or stream == self._out
        elif stream == self._out:
            self._unread += data
        else:
            self._stderr += data
            del self._stderr[:-_STDERR_KEPT]


def _nonblocking(stream: Any) -> int:
    os.set_blocking(stream.fileno(), False)
    return int(stream.fileno())
