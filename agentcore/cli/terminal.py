"""Where commands write to, and what becomes of them where that cannot be written."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from agentcore.kit.safe_text import one_line, visible

if TYPE_CHECKING:
    from agentcore.heap.player import Player

__all__ = [
    "Progressing",
    "console",
    "give_up_output",
    "html_option",
    "open_standard_streams",
    "printable",
    "progress",
    "require_program",
    "save_page",
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
        UsageError: if the first word of `driver` is no executable file, by name on the PATH or by path.
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


# Shows how far a command has come: a bar in a terminal, lines where standard error is a file or a pipe.


class Progressing(Protocol):
    """Where a command reports its progress."""

    def update(self, what: str, done: int, total: int | None) -> None:
        """Shows how many things of a kind are done, and how many there are if that is known."""

    def stop(self) -> None:
        """Takes away what would be drawn into what is printed next."""


@contextmanager
def progress(
    *, every: float, ends: bool = False, clock: Callable[[], float] = time.monotonic
) -> Iterator[Progressing]:
    """Shows progress on standard error for as long as the block runs.

    Args:
        every: The least number of seconds between two lines where there is no terminal.
        ends: Whether a line is written when all of a kind are done, however quick they were. Only for what is
            no terminal: a bar goes away at the end.
        clock: The time in seconds.

    Yields:
        The bar, or what writes lines.
    """
    target = console(stderr=True)
    if not target.is_terminal:
        yield _Lines(target, clock, every=every, ends=ends)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=target, transient=True) as bar:
        yield _Bar(bar)


class _Bar:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}

    def update(self, what: str, done: int, total: int | None) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=total)
        self._bar.update(self._tasks[what], completed=done)

    def stop(self) -> None:
        self._bar.stop()


class _Lines:
    def __init__(self, target: Console, clock: Callable[[], float], *, every: float, ends: bool) -> None:
        self._target = target
        self._clock = clock
        self._every = every
        self._ends = ends
        self._began = self._printed = clock()

    def update(self, what: str, done: int, total: int | None) -> None:
        now = self._clock()
        if now - self._printed < self._every and not (self._ends and done == total):
            return
        self._printed = now
        of = "" if total is None else f" of {total}"
        with suppress(OSError):
            say(self._target, f"{what}: {done}{of} after {now - self._began:.0f} s")

    def stop(self) -> None:
        """Lines are complete when they are written."""


# ---------------------------------------------------------------- pages


def html_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--html [FILE]`, whose file has a name of its own if none is given."""
    return click.option(
        "--html",
        is_flag=False,
        flag_value=Path(default),
        type=click.Path(path_type=Path, dir_okay=False, writable=True),
        help=f"Write the player, a page that steps through the run, to a file ({default}).",
    )


def save_page(player: Player, file: Path, *, stderr: bool = False) -> None:
    """Writes a player to a file, and says how it is opened, on standard output or standard error."""
    player.save(file)
    say(console(stderr=stderr), f"The player is in {file}; open it in a browser: {file.resolve().as_uri()}")
