"""A PostgreSQL server of its own on loopback, from Debian's binaries, for tests and benchmarks."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

BINARIES: Final = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
_SECONDS: Final = 300


def missing() -> str | None:
    """Why there can be no server here; None if there can."""
    if not BINARIES:
        return "no PostgreSQL in /usr/lib/postgresql: apt-get install postgresql"
    if os.geteuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody"
    return None


def _user() -> str | None:
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


class Server:
    """A server with an empty database; `stop` ends it and removes its files.

    Unless it is `durable`, it does not wait for the disk, which only a crash of the whole machine would show.
    """

    def __init__(self, *, durable: bool = False) -> None:
        self._fsync = "on" if durable else "off"
        self._folder = Path(tempfile.mkdtemp(prefix="agentcore-postgres-"))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam(_user() or "")
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            # Without the groups of root.
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._data = self._folder / "data"
        self._run(
            "initdb", "-D", self._data, "-U", "agentcore", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"
        )
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """The URL of its database `postgres`."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """The URL of a database."""
        return f"postgresql://agentcore@127.0.0.1:{self.port}/{database}"

    def _run(self, name: str, *args: object) -> None:
        argv = [str(BINARIES[-1] / name), *map(str, args)]
        subprocess.run(argv, check=True, capture_output=True, cwd=self._folder, timeout=_SECONDS, **self._as)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = (
            "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200",
            "-c", f"fsync={self._fsync}",
        )  # fmt: skip
        # It ends with the process that started it, however that ends. Linux counts the thread: use one
        # that lasts.
        with_parent = ("setpriv", "--pdeathsig", "INT") if shutil.which("setpriv") else ()
        binary = str(BINARIES[-1] / "postgres")
        argv = [*with_parent, binary, "-D", str(self._data), "-p", str(self.port), *options]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(argv, cwd=self._folder, stdout=log, stderr=log, **self._as)
        until = time.monotonic() + _SECONDS
        while True:
            with suppress(subprocess.CalledProcessError):
                self._run("pg_isready", "-h", "127.0.0.1", "-p", self.port, "-U", "agentcore")
                return
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self._folder / "log").read_text("utf-8", "replace")[-4000:])
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill every process of it, as a loss of power would."""
        process = self._started()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()
        process.kill()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        process.wait(_SECONDS)
        # What a process of the server holds in shared memory is free once it has ended.
        until = time.monotonic() + _SECONDS
        while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < until:
            time.sleep(0.01)

    def stop(self) -> None:
        """End it, and remove its files."""
        process = self._started()
        if process.poll() is None:
            # At once: a fast shutdown (SIGINT) first writes what is thrown away below, which took 44 s.
            process.send_signal(signal.SIGQUIT)
            process.wait(_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the server was not started")
        return self._process


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
