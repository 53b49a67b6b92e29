"""Runs a command and ends everything that it started: `python -I -S supervisor.py DESCRIPTOR COMMAND...`.

`agentcore.oracle.drivers.driver` starts one for each driver, as a process of its own, so that the driver
ends however the checker does: a signal that kills the checker closes the socket DESCRIPTOR between the two,
and that is what this waits for. On Linux it is a subreaper: processes whose parent has ended become its
children, so it finds those that left the driver's process group or its session. Elsewhere it ends the group.

It writes lines to the socket: `started PID` or `failed ERRNO` at once, `ended STATUS` when the command ends,
negative for a signal. It imports little, because it is started so often.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
SECONDS = 5.0


def main(descriptor: int, argv: list[str]) -> None:
    """Runs the command until it is to end."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    wakeups = _wakeups()
    _adopt_orphans()
    try:
        pid = _start(argv)
    except OSError as error:
        control.sendall(b"failed %d\n" % (error.errno or 0))
        return
    try:
        _let_go_of_streams()
        control.sendall(b"started %d\n" % pid)
        _watch(pid, control, wakeups)
    except OSError:
        # The checker has ended already.
        return
    finally:
        _end_all(pid)


def _wakeups() -> int:
    """Returns a descriptor that becomes readable when a child ends."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # They are for the checker, whose end is seen on the socket.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    return readable


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - there is no other way before Python 3.14, and only here

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _start(argv: list[str]) -> int:
    """Starts the command in a session of its own; returns its process id. Raises OSError if it cannot."""
    failed, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(tell)
        reason = os.read(failed, 16)
        os.close(failed)
        if reason:
            os.waitpid(pid, 0)
            raise OSError(int(reason), "")
        return pid
    try:
        signal.set_wakeup_fd(-1)
        for number in range(1, signal.NSIG):
            # SIGKILL and SIGSTOP have no handlers, and there are numbers without a signal.
            if number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.execvp(argv[0], argv)  # noqa: S606 - running the user's command is what this is for
    except OSError as error:
        os.write(tell, b"%d" % (error.errno or 0))
    finally:
        os._exit(127)


def _let_go_of_streams() -> None:
    """Closes the driver's streams here: they end when nobody who runs the driver holds them any more."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _watch(pid: int, control: socket.socket, wakeups: int) -> None:
    """Reports the end of the command, and returns when the checker closes the socket."""
    reported = False
    while True:
        if not reported and (status := _status(pid)) is not None:
            control.sendall(b"ended %d\n" % status)
            reported = True
        _reap_others(pid)
        ready, _, _ = select.select([control.fileno(), wakeups], [], [])
        if control.fileno() in ready:
            return
        os.read(wakeups, 4096)


def _status(pid: int) -> int | None:
    """The exit status of the command, which stays unreaped: until then its number names no other process."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _reap_others(pid: int) -> None:
    for child in _children():
        if child != pid:
            os.waitpid(child, os.WNOHANG)


def _children() -> list[int]:
    me = os.getpid()
    try:
        with open(f"/proc/{me}/task/{me}/children", "rb") as file:  # noqa: PTH123 - pathlib takes long to import
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _end_all(pid: int) -> None:
    """Kills the group of the command, then whatever it left behind, until nothing is left."""
    _kill(-pid)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for child in _children():
            _kill(child)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        # It has ended; or all of the group have, and await their parent, to which some systems refuse this.
        return


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
