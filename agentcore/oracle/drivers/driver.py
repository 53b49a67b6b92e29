"""An implementation in a process of its own: programs to its standard input, traces from its standard output.

One `Driver` is one command; it is started when first needed and again after it died. It is spoken to in the
driver protocol (spec/driver-protocol.md), or in plain lines where it turns out to be a filter: that answers
`start` as a line that is no program, or ends. Whatever the process does is an `Outcome`, and each kind of
misbehaviour is a type of its own (rules oracle.line-for-line, oracle.only-wrong-counts).
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import attrs

from agentcore.kit.program import (
    Answer,
    BadNumber,
    BadProgram,
    Crashed,
    Failure,
    Hung,
    Incompatible,
    Malformed,
    Outcome,
    Unsupported,
    excerpt,
    parse_json,
    program_to_line,
)
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
    "Process",
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
        """The number of programs that wait for their outcome."""
        return len(self._pending)

    @property
    def implementation(self) -> Implementation | None:
        """The process's answer to `start`; None for a filter, and before the first `start` or `receive`."""
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
            # What cannot be started is reported by `receive`, which tries again.
            with suppress(OSError):
                self._running()
        elif self._speech is not None:
            self._process.send(self._speech.request(asked))

    def receive(self, agreed: Callable[[bytes, bytes], bool] | None = None) -> Outcome:
        """Waits for the outcome of the program submitted first. Raises LookupError if there is none.

        `agreed` says whether the line of a program and that of its trace are known to agree; such a trace is
        not read.
        """
        if not self._pending:
            raise LookupError("no program was submitted")
        outcome = self._outcome(self._pending[0], time.monotonic() + self._time_limit, agreed)
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

    def _outcome(
        self, asked: Asked, deadline: float, agreed: Callable[[bytes, bytes], bool] | None
    ) -> Outcome:
        ready = self._ready(deadline)
        if not isinstance(ready, tuple):
            return ready
        process, speech = ready
        line = self._line(process, deadline)
        if not isinstance(line, bytes):
            return line
        text = speech.trace_text(line, asked)
        texts = None if text is None else (asked.line, text)
        if texts and agreed is not None and agreed(*texts):
            return Answer({}, texts, agreed=True)
        value = _object(line, process)
        if not isinstance(value, dict):
            return value
        found = speech.outcome(value, asked, self._trace_fields)
        if isinstance(found, str):
            return Malformed(found, excerpt(line), process.stderr_text())
        return attrs.evolve(found, texts=texts) if isinstance(found, Answer) else found

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
        line = self._line(process, deadline)
        if not isinstance(line, bytes):
            return line
        value = _object(line, process)
        return introduced(line, value, process.stderr_text()) if isinstance(value, dict) else value

    def _line(self, process: Process, deadline: float) -> bytes | Failure:
        line = process.line(deadline, self._max_line)
        return line if isinstance(line, bytes) else line or Hung(self._time_limit, process.stderr_text())

    def _end(self, grace: float) -> None:
        if self._process is not None:
            self._process.finish(grace)
            self._process = self._speech = None


def _object(line: bytes, process: Process) -> Json | Malformed:
    """Returns the JSON object of a line."""
    try:
        value = parse_json(line)
    except BadProgram as error:
        why = f": {error.reason}" if isinstance(error, BadNumber) else ""
        return Malformed(f"a line that is not JSON{why}", excerpt(line), process.stderr_text())
    if isinstance(value, dict):
        return value
    return Malformed("a line that is not a JSON object", excerpt(line), process.stderr_text())


# A process with three pipes that is spoken to in lines, and ends with all that it started.
#
# Needs pipes that `selectors` can wait for (POSIX).

_CHUNK: Final = 1 << 16
# What a pipe holds at most, if nobody with more rights has changed it.
_PIPE: Final = 1 << 20
_STDERR_KEPT: Final = 1 << 14
_HEAD: Final = 1 << 9
_SUPERVISOR: Final = Path(__file__).with_name("supervisor.py")
# More than a supervisor takes on a busy machine, to begin and to end what it started.
_SUPERVISOR_SECONDS: Final = 30.0
# How long a process that has closed its output may take to end.
_END_SECONDS: Final = 0.5


class Process:
    """A running process with its three pipes, none of which is ever waited for alone.

    It runs under a supervisor, a process that reports its end, and ends with it everything that it started,
    also if this process is killed (see `agentcore.oracle.drivers.supervisor`). Raises OSError if the command
    cannot be started.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None) -> None:
        self._supervisor, self._control = _supervised(argv, env)
        popen = self._supervisor
        self._streams: tuple[Any, ...] = (popen.stdin, popen.stdout, popen.stderr)
        try:
            self._pid = self._started(argv[0])
        except BaseException:
            self._release()
            raise
        self._in, self._out, self._err = (_nonblocking(stream) for stream in self._streams)
        self._control.settimeout(0)
        self._selector = selectors.DefaultSelector()
        for stream in (self._out, self._err, self._control.fileno()):
            self._selector.register(stream, selectors.EVENT_READ)
        self._unsent = bytearray()
        self._unread = bytearray()
        self._scanned = 0
        self._stderr = bytearray()
        # The exit status, negative for a signal; None as long as the process runs.
        self._status: int | None = None
        self._silent = False

    def _started(self, name: str) -> int:
        """The number of the process. Raises OSError if it could not be started."""
        self._control.settimeout(_SUPERVISOR_SECONDS)
        word, _, number = _line_of(self._control).partition(" ")
        if word == "started":
            return int(number)
        code = int(number or 0)
        raise OSError(code, os.strerror(code) if code else "no process could be started for it", name)

    @property
    def _has_ended(self) -> bool:
        """True if nothing more can be read from the process."""
        return self._silent or self._status is not None

    def send(self, data: bytes) -> None:
        """Hands data over; does not wait."""
        if data and not self._unsent:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        self._unsent += data
        self.pump(0)

    def line(self, deadline: float, max_line: int) -> bytes | Crashed | Malformed | None:
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
                return Malformed(reason, excerpt(bytes(self._unread[:_HEAD])), self.stderr_text())
            if self._has_ended:
                return self._crash()
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self.pump(left)

    def pump(self, seconds: float) -> None:
        """Waits at most so long for one of the pipes, then moves what it can."""
        for key, _ in self._selector.select(seconds):
            if key.fd == self._in:
                self._write()
            elif key.fd == self._control.fileno():
                self._note_end()
            elif key.fd in self._selector.get_map():
                # Its end may have been read with the end of the process, a moment before.
                self._read(key.fd)

    def close_input(self, deadline: float) -> None:
        """Lets the process see the end of its input, once it has read what was sent or the time is over."""
        while self._unsent and not self._has_ended and (left := deadline - time.monotonic()) > 0:
            self.pump(left)
        if self._in in self._selector.get_map():
            self._selector.unregister(self._in)
        self._streams[0].close()
        self._unsent.clear()

    def wait_for_end(self, deadline: float) -> tuple[int | None, bytes]:
        """Waits until the process ends; returns its exit code, and what it wrote that was not read.

        The code is None if it still runs when the time is over, or something that holds its output.
        """
        while not (over := self._silent and self._status is not None):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self.pump(left)
            del self._unread[_CHUNK:]
        self._end_all()
        return (self._status if over else None), bytes(self._unread)

    def stderr_text(self) -> str:
        """Returns the end of what the process wrote to standard error."""
        self.pump(0)
        return self._stderr.decode("utf-8", "replace")

    def finish(self, grace: float) -> None:
        """Closes its input, gives it the time to end, and ends whatever is left of it."""
        if self._in in self._selector.get_map():
            self._selector.unregister(self._in)
        self._streams[0].close()
        deadline = time.monotonic() + grace
        while self._status is None and (left := deadline - time.monotonic()) > 0:
            self._unread.clear()
            self.pump(left)
        self._end_all()
        self._selector.close()
        self._release()

    def _crash(self) -> Crashed:
        """Returns how the process ended. One that only closed its output gets a moment to end."""
        deadline = time.monotonic() + _END_SECONDS
        while self._status is None and (left := deadline - time.monotonic()) > 0:
            self.pump(left)
        how = "closed its standard output and did not end"
        if self._status is not None:
            code = self._status
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        self._end_all()
        rest = f" after an unfinished line: {excerpt(bytes(self._unread))}" if self._unread else ""
        return Crashed(f"the process {how}{rest}", self.stderr_text())

    def _note_end(self) -> None:
        """Reads how the process ended, and what it had written by then, whoever else may hold its pipes."""
        word, _, number = _line_of(self._control).partition(" ")
        # A supervisor that is gone can tell nothing; it was killed, and the process by it.
        self._status = int(number) if word == "ended" else -signal.SIGKILL
        self._selector.unregister(self._control)
        for stream in (self._out, self._err):
            # No more than a pipe holds: what its children go on to write never ends, perhaps.
            for _ in range(_PIPE // _CHUNK):
                if stream not in self._selector.get_map() or not self._read(stream):
                    break

    def _end_all(self) -> None:
        """Ends the process with all that it started; does nothing more the second time."""
        if self._supervisor.returncode is not None:
            return
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        try:
            self._supervisor.wait(_SUPERVISOR_SECONDS)
        except subprocess.TimeoutExpired:
            # Only one that was stopped takes so long.
            for group in (self._pid, self._supervisor.pid):
                with suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
            self._supervisor.wait()

    def _release(self) -> None:
        self._control.close()
        self._supervisor.wait()
        for stream in self._streams:
            stream.close()

    def _write(self) -> None:
        try:
            sent = os.write(self._in, self._unsent[:_CHUNK])
        except BrokenPipeError:
            # It reads no more. What it still writes, and its end, say why.
            sent = len(self._unsent)
        del self._unsent[:sent]
        if not self._unsent:
            self._selector.unregister(self._in)

    def _read(self, stream: int) -> bool:
        """Takes what is there; whether there was anything."""
        try:
            data = os.read(stream, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(stream)
            self._silent = self._silent or stream == self._out
        elif stream == self._out:
            self._unread += data
        else:
            self._stderr += data
            del self._stderr[:-_STDERR_KEPT]
        return bool(data)


def _supervised(
    argv: Sequence[str], env: Mapping[str, str] | None
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Starts the supervisor of a command, and gives the socket to it. Raises OSError if it cannot."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            # A session of its own, so that what a terminal sends to this process does not end it.
            popen = subprocess.Popen(  # noqa: S603 - running the user's command is what this is for
                [sys.executable, "-I", "-S", str(_SUPERVISOR), str(theirs.fileno()), *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                start_new_session=True,
                bufsize=0,
                pass_fds=(theirs.fileno(),),
            )
        except BaseException:
            ours.close()
            raise
    return popen, ours


def _nonblocking(stream: Any) -> int:
    os.set_blocking(stream.fileno(), False)
    return int(stream.fileno())


def _line_of(control: socket.socket) -> str:
    """The next line that the supervisor wrote; empty if it has ended."""
    line = b""
    while not line.endswith(b"\n"):
        byte = control.recv(1)
        if not byte:
            return ""
        line += byte
    return line.decode("ascii")
