"""Starts workers under the person's interpreter, and watches them: a hook may hang, exit or fork."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from filelock import FileLock, Timeout

__all__ = ["Ended", "Worker", "WorkerFailedError", "workspace"]

_SCRIPT: Final = Path(__file__).parent / "worker.py"
_LOCK: Final = ".lock"
_START_LIMIT: Final = 120.0
_QUIET: Final = {
    # No tracing of these frameworks may call home.
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "DO_NOT_TRACK": "1",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "PYDANTIC_AI_DISABLE_BANNER": "1",
    # Nothing is written beside the person's modules.
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONWARNINGS": "ignore",
    # The worker that looks closer at a finding may be another than the one that made it: sets must have one
    # order in both.
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
}


class WorkerFailedError(Exception):
    """The worker failed, and not by the hook; the text is what it wrote to its error output."""


@attrs.frozen
class Ended:
    """The way in which a worker ended before its job was finished."""

    cause: str
    said: str
    index: int | None


@contextlib.contextmanager
def workspace(cache: Path) -> Iterator[Path]:
    """Makes a folder in the cache for a hook's temporary files, and removes it at the end.

    Folders of checks that were killed are removed, too: nobody holds their locks.
    """
    parent = cache / "tmp"
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"*{_LOCK}"):
        with contextlib.suppress(Timeout), FileLock(left, timeout=0):
            _remove(left)
    # The lock comes first, so that there is no moment in which the folder looks left.
    lock = parent / f"{uuid.uuid4().hex}{_LOCK}"
    with FileLock(lock):
        folder = lock.with_suffix("")
        folder.mkdir()
        try:
            yield folder
        finally:
            _remove(lock)


def _remove(lock: Path) -> None:
    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
    lock.unlink(missing_ok=True)


class Worker:
    """One worker process, in a session of its own, so that whatever it starts ends with it."""

    def __init__(self, python: str, job: Mapping[str, Any], folder: Path, limit: float) -> None:
        """Starts a worker.

        Args:
            python: the person's interpreter.
            job: what it is to do.
            folder: the temporary folder of the run.
            limit: seconds without any event after which the hook is taken to hang.
        """
        read, write = os.pipe()
        self._limit = limit
        self._errors = (folder / f"errors-{job['shard']}").open("wb+")
        environment = {**os.environ, **_QUIET, "TMPDIR": str(folder)}
        self._process = subprocess.Popen(  # noqa: S603 - the person's own interpreter
            [python, str(_SCRIPT), str(write)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=(write,),
            cwd=job["project"],
            env=environment,
            # Of its own, so that one signal to the group ends whatever the hook started.
            start_new_session=True,
        )
        os.close(write)
        self._read = read
        self._buffer = b""
        self._index: int | None = None
        self._forked = False
        self._ready = False
        self.say(job)

    def say(self, what: Mapping[str, Any]) -> None:
        """Sends one line to the worker; a worker that is gone is found out about when it is read."""
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101 - for the type checker
        with contextlib.suppress(BrokenPipeError):
            pipe.write(json.dumps(what).encode() + b"\n")
            pipe.flush()

    def events(self, last: str) -> Iterator[dict[str, Any] | Ended]:
        """Yields the worker's events up to one of the name `last`, or how it ended instead.

        Raises:
            WorkerFailedError: if the worker failed before a hook was called.
        """
        # Until it is ready it imports a framework, which takes long from a cold disk and is not the
        # hook's time.
        deadline = time.monotonic() + (self._limit if self._ready else _START_LIMIT)
        while True:
            line = self._line(deadline)
            if line is None:
                yield self._end_worker(hung=True)
                return
            if not line:
                yield self._end_worker(hung=False)
                return
            event = _parsed(line)
            if event is None:
                continue
            deadline = time.monotonic() + self._limit
            # A child that the hook forked came back from the call, and writes to the same pipe.
            if event["pid"] != self._process.pid:
                self._forked = True
                continue
            self._ready = True
            if event["event"] == "begin":
                self._index = event["index"]
            yield event
            if event["event"] in (last, "not-judged"):
                return

    def _line(self, deadline: float) -> bytes | None:
        """Returns the next line; an empty one at the end, None if there is none in time."""
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                return None
            read = os.read(self._read, 1 << 16)
            if not read:
                return b""
            self._buffer += read
        line, self._buffer = self._buffer.split(b"\n", 1)
        # An empty line, which a hook may have written there, must not look like the end.
        return line or b" "

    def _end_worker(self, *, hung: bool) -> Ended:
        self.stop()
        if self._forked:
            return Ended("forks", "the hook forked, and its child came back from the call", self._index)
        if hung and self._ready:
            return Ended("hangs", f"no answer within {self._limit:g} seconds", self._index)
        code = self._process.returncode
        if hung or self._index is None:
            raise WorkerFailedError(self.errors() or f"the worker ended with {code} before it began")
        if "MemoryError" in self.errors():
            return Ended("out-of-memory", "the memory was used up", self._index)
        if code < 0 and not hung:
            return Ended("killed", f"the process was ended by {signal.Signals(-code).name}", self._index)
        if "Traceback" in self.errors() and code == 1:
            raise WorkerFailedError(self.errors())
        return Ended("exits", f"the process ended with {code}", self._index)

    @property
    def forked(self) -> Ended | None:
        """Says if a child of the hook came back from its call."""
        said = "the hook forked, and its child came back from the call"
        return Ended("forks", said, self._index) if self._forked else None

    def errors(self) -> str:
        """Returns the end of what the worker wrote to its error output."""
        self._errors.seek(0)
        return self._errors.read()[-4000:].decode(errors="replace").strip()

    def stop(self) -> None:
        """Ends the worker, and all that it started."""
        if self._process.poll() is None:
            # One that has just said its last word ends by itself, and its exit code says how; a kill would
            # hide that.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.2)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Ends the worker and closes its files."""
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101 - for the type checker
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
        self.stop()
        with contextlib.suppress(OSError):
            os.close(self._read)
        self._errors.close()


def _parsed(line: bytes) -> dict[str, Any] | None:
    """An event; a line that a hook wrote there itself is not one."""
    try:
        read = json.loads(line)
    except ValueError:
        return None
    return read if isinstance(read, dict) and isinstance(read.get("event"), str) and "pid" in read else None
