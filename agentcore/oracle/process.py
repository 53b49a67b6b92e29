"""A process with three pipes that is spoken to in lines, and ends with all that it started.

Needs pipes that `selectors` can wait for (POSIX).
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from agentcore.oracle.outcomes import Crashed, Malformed, excerpt

__all__ = ["Process"]

_CHUNK: Final = 1 << 16
_STDERR_KEPT: Final = 1 << 14
_HEAD: Final = 1 << 9


class Process:
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
                return Malformed(reason, excerpt(bytes(self._unread[:_HEAD])), self.said())
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

    def close_input(self, deadline: float) -> None:
        """Lets the process see the end of its input, once it has read what was sent or the time is over."""
        while self._unsent and not self._ended and (left := deadline - time.monotonic()) > 0:
            self.pump(left)
        if self._in in self._selector.get_map():
            self._selector.unregister(self._in)
        self._streams[0].close()
        self._unsent.clear()

    def ended(self, deadline: float) -> tuple[int | None, bytes]:
        """Its exit code, None if it still runs when the time is over, and what it wrote that was not read."""
        while not self._ended and (left := deadline - time.monotonic()) > 0:
            self.pump(left)
            del self._unread[_CHUNK:]
        over = self._ended and self._let_end(deadline - time.monotonic())
        self._stop()
        return (self._popen.returncode if over else None), bytes(self._unread)

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

    def _end(self) -> Crashed:
        self._drain_stderr()
        self._stop()
        code = self._popen.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        rest = f" after an unfinished line: {excerpt(bytes(self._unread))}" if self._unread else ""
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

    def _let_end(self, seconds: float) -> bool:
        """Output closes a moment before the process ends, and its own exit code tells more than our kill."""
        deadline = time.monotonic() + seconds
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.waitid(os.P_PID, self._popen.pid, options) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

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
