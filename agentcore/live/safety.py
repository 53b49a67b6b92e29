"""Limits of the process in which a hook runs: memory, files, programs and the network.

The audit hook is no sandbox: a hook that wants to get around it can. It keeps a check from doing by
accident, a thousand times, what the hook does once in production.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

__all__ = ["OutsideError", "confine", "limit_memory"]

_PROGRAMS: Final = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.startfile", "pty.spawn"}
)
_NETWORK: Final = frozenset({"socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"})
_WRITES: Final = frozenset(
    {
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.mkdir",
        "os.truncate",
        "os.link",
        "os.symlink",
        "shutil.rmtree",
    }
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# What stays on this machine is no network call.
_LOCAL: Final = ("127.0.0.1", "::1", "localhost")


class OutsideError(PermissionError):
    """A hook reached for something outside of the check."""


def confine(folder: Path) -> None:
    """Refuses writes outside of a folder, other programs and the network, from now on in this process."""
    allowed = (str(folder), os.devnull)

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & _WRITING:
                _require_inside(path, allowed, "writes")
        elif event in _WRITES:
            _require_inside(args[0], allowed, "changes")
        elif event in _PROGRAMS:
            raise OutsideError(f"a live check starts no other program ({event})")
        elif event in _NETWORK and not _is_local(args):
            raise OutsideError("a live check makes no network call; give the hook a stub, say by --factory")

    sys.addaudithook(audit)


def _require_inside(path: Any, allowed: tuple[str, ...], verb: str) -> None:
    if isinstance(path, str | bytes | os.PathLike):
        # The real path: a link inside of the folder may lead out of it.
        name = os.path.realpath(os.fsdecode(path))
        if not name.startswith(allowed):
            raise OutsideError(f"the hook {verb} {name}; a live check changes no file")


def _is_local(args: tuple[Any, ...]) -> bool:
    address = args[1] if len(args) > 1 and isinstance(args[1], tuple | str | bytes) else args[0]
    if isinstance(address, tuple):
        address = address[0] if address else ""
    return isinstance(address, bytes) or str(address).startswith(_LOCAL)


def limit_memory(size: int) -> None:
    """Limits the memory of this process, so that a hook that fills it gets a MemoryError."""
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard)
    )
    # No core file: nothing is written outside of the cache (rule live.nothing-written).
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
