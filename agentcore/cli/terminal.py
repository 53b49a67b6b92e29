"""Where commands write to, and what becomes of them where that cannot be written."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from agentcore.kit.safe_text import one_line, visible

__all__ = [
    "console",
    "give_up_output",
    "open_standard_streams",
    "printable",
    "require_program",
    "say",
    "tolerant",
    "warn",
    "written",
]

_PIPED_WIDTH: Final = 120
_PRINTED: Final = 2000
_STDIN, _STDOUT, _STDERR = range(3)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Lets the error through; rich would end the process with 1, which can be a verdict."""
        raise  # noqa: PLE0704 - rich calls this while it handles the error


def console(*, stderr: bool = False, widest: int | None = None) -> Console:
    """Makes a console. What is not a terminal gets no escape codes, and the same width everywhere.

    Args:
        stderr: Whether it writes to standard error.
        widest: The most columns that are used, however wide the terminal is; without it, all of them.
    """
    found = _Console(stderr=stderr, highlight=False)
    if not found.is_terminal:
        return _Console(stderr=stderr, highlight=False, width=widest or _PIPED_WIDTH, color_system=None)
    if widest is not None:
        found.width = min(found.width, widest)
    return found


def say(target: Console, text: str, style: str | None = None) -> None:
    """Writes a text as it is: no markup, no control characters, and lines end where the text says."""
    target.print(visible(text), style=style, markup=False, soft_wrap=True)


def printable(text: str) -> str:
    """What a program or a driver said, as one line that a terminal shows and does not obey; cut if long."""
    return one_line(text, _PRINTED)


def warn(text: str) -> None:
    """Writes a warning to standard error; nothing happens where that cannot be written either."""
    with suppress(OSError):
        say(console(stderr=True), printable(text), "red")


def require_program(driver: Sequence[str]) -> None:
    """Refuses the command line of a driver whose program there is not, before anything is run with it.

    Raises:
        UsageError: if no file that can be executed has the name of its first word.
    """
    if shutil.which(driver[0]) is None:
        raise click.UsageError(
            f"could not start {driver[0]}: there is no such program; after `--` comes a command line whose "
            "first word is on the PATH or is the path of an executable file: -- node driver.mjs"
        )


# --- what cannot be written ---------------------------------------------------------------------------------


def written(what: str, file: Path, write: Callable[[], object]) -> bool:
    """Writes a file; whatever goes wrong is a warning that names the file and the reason. Whether it did."""
    try:
        write()
    except Exception as error:  # noqa: BLE001 - whatever it is, what was found counts more
        reason = error.strerror if isinstance(error, OSError) and error.strerror else f"{error!r}"
        warn(f"warning: {what} was not written to {file}: {reason}")
        return False
    return True


@contextmanager
def tolerant() -> Iterator[None]:
    """Goes on without standard output if that cannot be written, after a warning."""
    try:
        yield
    except OSError as error:
        give_up_output(error)


def give_up_output(error: OSError) -> None:
    """Writes nothing more to standard output, and warns of it unless a reader simply stopped reading."""
    if error.errno != errno.EPIPE:
        warn(f"warning: standard output cannot be written: {error.strerror}")
    # What is buffered is written when Python ends, and would fail then once more.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDOUT)
    os.close(nowhere)


def open_standard_streams() -> None:
    """Gives a process that was started with closed standard streams some that are open.

    Otherwise the next file that is opened would take their place, and what is printed would go into it. What
    is read is empty then, and what is written to standard output fails, as on a full disk.
    """
    for stream, flags in ((_STDIN, os.O_RDONLY), (_STDOUT, os.O_RDONLY), (_STDERR, os.O_WRONLY)):
        try:
            os.fstat(stream)
        except OSError:
            opened = os.open(os.devnull, flags)
            os.dup2(opened, stream)
            os.set_inheritable(stream, True)  # noqa: FBT003 - positional in the standard library
    sys.stdin = sys.stdin or open(_STDIN, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(_STDOUT, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(_STDERR, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
