"""Runs on disk, and as JSON.

`save` writes a run to a file and `load` reads it. `to_json` and `from_json` are for everything else that
keeps JSON, such as a database; `outcome_to_json` is for engines that keep a run's outcomes one by one.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path

from agentcore.errors import InvalidJsonError, SavedRunError
from agentcore.machine.state import Run
from agentcore.messages.values import parse_json
from agentcore.records.history import ROOM
from agentcore.records.outcome_json import outcome_from_json, outcome_to_json
from agentcore.records.run_json import VERSION, from_json, to_json

__all__ = ["VERSION", "from_json", "load", "outcome_from_json", "outcome_to_json", "save", "to_json"]


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write the run to a file, or leave the file as it is: nobody ever reads half of a run.

    Rule run.file-whole.

    The text is written to a new file in the same folder and put on the disk; only then does it take the
    place of the old one. Whoever may read the folder may read everything that was said in the run.

    Args:
        run: a run at any moment, such as a checkpoint is given: `checkpoint=partial(save, path=path)`.
        path: of the file. A link to a file is followed.

    Raises:
        SavedRunError: for a run that could not be loaded, since its JSON is nested too deeply for Python's
            reader, or counts beyond 2**53 - 1.
        OSError: if the file cannot be written; `filename` is the path.
    """
    target = Path(os.path.realpath(path))
    try:
        text = json.dumps(to_json(run), allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise SavedRunError("$", _TOO_DEEP, os.fspath(path)) from None
    except SavedRunError as error:
        raise error.in_file(os.fspath(path)) from None
    new = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with new.open("x", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(target)
    except OSError as error:
        raise _at(path, error) from error
    finally:
        with suppress(OSError):
            new.unlink()
    _put_on_disk(target.parent)


def load(path: str | os.PathLike[str], *, limit: int = ROOM) -> Run:
    """Return the run that `save` wrote to the file.

    Args:
        path: of the file.
        limit: as `from_json` has it.

    Raises:
        SavedRunError: if the file holds anything else; `file` is the file, `path` the place in its JSON.
        OSError: if the file cannot be read.
    """
    text = Path(path).read_bytes()
    try:
        return from_json(_json_of(text), limit=limit)
    except SavedRunError as error:
        raise error.in_file(os.fspath(path)) from None


_TOO_DEEP = "nested too deeply for Python's reader of JSON; make what the run holds flatter"


def _json_of(text: bytes) -> object:
    try:
        return parse_json(text.decode("utf-8"))
    except InvalidJsonError as error:
        raise SavedRunError(error.path, error.reason) from None
    except UnicodeDecodeError as error:
        raise SavedRunError("$", f"not JSON text: byte {error.start} is not UTF-8") from None


def _at(path: str | os.PathLike[str], error: OSError) -> OSError:
    """The same error, about the file that was to be saved instead of the new one beside it."""
    return OSError(error.errno, error.strerror, os.fspath(path))


def _put_on_disk(folder: Path) -> None:
    # The name of a file is in its folder. Not every system lets a folder be opened, and there the run is in
    # its file all the same.
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
