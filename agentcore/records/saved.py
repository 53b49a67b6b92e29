"""Runs on disk, and as JSON.

`save` writes a run to a file and `load` reads it; a `RunLog` appends what is new of a run that goes on.
`to_json` and `from_json` are for everything else that keeps JSON, such as a database; `outcome_to_json` is
for engines that keep a run's outcomes one by one.

A saved run is its settings, its messages and its outcomes, and is loaded by playing them again: nothing that
follows from these is taken from the file, so a loaded run cannot be in a state that no run comes to. Its
response chain and its need are written as well, for readers, and to find out that another version would
continue the run differently.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

import attrs

from agentcore.errors import InvalidJsonError, SavedRunError, WireError
from agentcore.machine.effects import Forked, Logged, Processed
from agentcore.machine.hooks import ProcessorEdit, StepOverride
from agentcore.machine.run import start
from agentcore.machine.state import Run
from agentcore.messages.chains import Chains
from agentcore.messages.messages import Message
from agentcore.messages.values import (
    FrozenDict,
    JsonObject,
    JsonValue,
    Vector,
    extend_vector,
    following,
    json_path,
    parse_json,
    strict_key,
    thaw,
    vector,
)
from agentcore.messages.wire import (
    is_array,
    kind_of,
    located,
    message_to_wire,
    messages_from_wire,
    read_json,
    read_object,
    reads_each,
)
from agentcore.records.history import ROOM, Room, kept_objects, play_cost, replayed
from agentcore.records.outcome_json import (
    PlacedMessages,
    is_count,
    outcome_from_json,
    outcome_to_json,
    read_at,
    read_outcome,
    read_settings,
    write_ids,
    write_outcome,
    write_settings,
)

__all__ = [
    "VERSION",
    "RunLog",
    "from_json",
    "load",
    "outcome_from_json",
    "outcome_to_json",
    "save",
    "to_json",
]

VERSION: Final = 3
"""What `to_json` writes. `from_json` reads 2 as well, which had no references to the step input."""

_READ: Final = (2, VERSION)
_GROWN: Final = ("outcomes", "others", "response")
_NAMES: Final = frozenset({"version", "settings", "initial", *_GROWN, "pending"})

_T = TypeVar("_T")


def to_json(run: Run) -> dict[str, Any]:
    """Return the run as plain JSON, which `json.dumps` takes and `from_json` reads.

    Its size is that of the run's messages and outcomes, history or not. Errors are kept by the name of their
    type and their text, and the context is among the settings; answers to questions and models' states are
    among the outcomes.

    Raises:
        SavedRunError: for a number of steps or tokens beyond 2**53 - 1.
    """
    return _begun(run) | _news(_Book(run), run)


def _begun(run: Run) -> dict[str, Any]:
    """What was there when the run began, as JSON."""
    begun = {
        "version": VERSION,
        "settings": write_settings(run.started_with),
        "initial": _written(run.given),
    }
    return cast("dict[str, Any]", thaw(FrozenDict(begun)))


def _news(book: _Book, run: Run, since: Run | None = None) -> dict[str, Any]:
    """What the run has come to, or what is new of it since a moment of its own, as JSON.

    Costs what is new.
    """
    outcomes, response, others = 0, 0, 0
    if since is not None:
        book.grow(run)
        outcomes, response, others = len(since.outcomes), len(since.chains.response), len(book.others)
    logged = tuple(book.written(outcome, chains) for outcome, chains in _with_chains(run, outcomes))
    news = {
        "others": _written(book.others[others:]),
        "outcomes": logged,
        "response": _written(_from(run.chains.response, response)),
        "pending": type(run.pending).__name__,
    }
    return cast("dict[str, Any]", thaw(FrozenDict(news)))


def _from(items: Vector[_T], first: int) -> list[_T]:
    return [items[index] for index in range(first, len(items))]


@kept_objects()
def from_json(value: object, *, limit: int = ROOM) -> Run:
    """Return the run that was saved, with its history; it goes on as the one that was saved would.

    Rule run.saved.

    Args:
        value: what `to_json` returned, or its JSON text read again.
        limit: how many messages, ids and copies it may come to (`agentcore.records.history`). A run of
        thousands
            of steps whose hooks replaced most of the history at each of them may come to more.

    Raises:
        SavedRunError: for anything that `to_json` did not write, with the path of the fault. Nothing that the
            run holds is in the error's text.
    """
    fields = _fields(value)
    run = _start(fields)
    others = read_at("$.others", lambda: messages_from_wire(fields["others"]))
    book = _Book(run, others, Room(limit))
    for index, entry in enumerate(_array(fields, "outcomes")):
        run = read_at(json_path("$.outcomes", index), partial(_taken, run, entry, book))
    _check(run, fields)
    return run


def _taken(run: Run, entry: object, book: _Book) -> Run:
    outcome = book.read(entry, run.chains)
    # Counted before it is made: a reference of a few bytes may stand for any number of messages (rule
    # run.load-bounded).
    book.room.take(play_cost(run, outcome))
    return replayed(run, outcome)


def _fields(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SavedRunError("$", f"expected an object, got {kind_of(value)}")
    version = value.get("version")
    if version not in _READ or isinstance(version, bool):
        readable = " or ".join(map(str, _READ))
        raise SavedRunError("$.version", f"expected {readable}; another version of the package wrote this")
    for name in value.keys() ^ _NAMES:
        known = name in _NAMES
        raise SavedRunError(json_path("$", str(name)), "this field is missing" if known else "unknown key")
    return value


def _start(fields: Mapping[str, Any]) -> Run:
    settings = read_at("$.settings", lambda: read_settings(fields["settings"]))
    messages = read_at("$.initial", lambda: messages_from_wire(fields["initial"]))
    return read_at("$.initial", lambda: start(settings, messages))


def _check(run: Run, fields: Mapping[str, Any]) -> None:
    if fields["pending"] != type(run.pending).__name__:
        raise SavedRunError(
            "$.pending", f"the recorded outcomes lead to {type(run.pending).__name__}; the file was edited"
        )
    response = _written(run.chains.response)
    saved = read_at("$.response", lambda: read_json(fields["response"]))
    if strict_key(saved) != strict_key(response):
        reason = (
            "differ from those of the replayed outcomes; the file was edited, or another version wrote it"
        )
        raise SavedRunError("$.response", f"these messages {reason}")


def _array(fields: Mapping[str, Any], name: str) -> Sequence[Any]:
    if not is_array(fields.get(name)):
        raise SavedRunError(f"$.{name}", f"expected an array, got {kind_of(fields.get(name))}")
    return cast("Sequence[Any]", fields[name])


def _written(messages: Iterable[Message]) -> tuple[JsonObject, ...]:
    return tuple(map(message_to_wire, messages))


def _with_chains(run: Run, first: int = 0) -> Iterator[tuple[Logged, Chains | None]]:
    """The outcomes from that index on, each with the chains that it was given in; None before step 0."""
    chains: Chains | None = None
    past = len(run.history)
    while past and len(run.history[past - 1].outcomes) > first:
        past -= 1
    # From the state before on, since a fork between the two has other chains.
    begin = len(run.history[past - 1].outcomes) if past else 0
    states = iter(_from(run.history, max(past - 1, 0)))
    state = next(states, None)
    for index, outcome in enumerate(_from(run.outcomes, begin), begin):
        while state is not None and len(state.outcomes) <= index:
            chains, state = state.chains, next(states, None)
        if index >= first:
            yield outcome, chains
        if isinstance(outcome, Forked) and outcome.messages is not None and chains is not None:
            chains = chains.with_lasting(outcome.messages, outcome.ids)


# ---------------------------------------------------------------- messages by reference

_Holder: TypeAlias = StepOverride | Forked
_CAMEL: Final = {"messages": "messages", "lasting_messages": "lastingMessages"}
_OF_FORK: Final = ("messages",)
_OF_EDIT: Final = ("messages", "lasting_messages")


class _Book:
    """Where messages of overrides are found: in a chain, or among the others that hooks brought in.

    References keep a run's size in proportion and, which message is which: a loaded run shares what the
    saved one did. Messages that begin with the whole step input refer to that as one, so that a hook which
    appends to a long history costs what it appends.
    """

    def __init__(self, run: Run, others: Iterable[Message] = (), room: Room | None = None) -> None:
        self.others: list[Message] = list(others)
        self.room = Room() if room is None else room
        self._initial = list(run.given)
        self._response: Vector[Message] = vector()
        self._places: dict[int, tuple[str, int]] = {}
        for index, message in enumerate(self._initial):
            self._places.setdefault(id(message), ("initial", index))
        self.grow(run)

    def grow(self, run: Run) -> None:
        """Find what the response chain has got since; the run is a later moment of the same one."""
        known, self._response = len(self._response), run.chains.response
        for index, message in enumerate(_from(self._response, known), known):
            self._places.setdefault(id(message), ("response", index))

    # ------------------------------------------------------------ writing

    def written(self, logged: Logged, chains: Chains | None) -> JsonObject:
        """The outcome as JSON, its messages as references to these chains."""
        if isinstance(logged, Forked):
            entry = dict(write_outcome(attrs.evolve(logged, messages=None, ids=None)))
            ids = _written_ids({"ids": logged.ids}, chains)
            return FrozenDict({**entry, **ids, "places": (self._places_of(logged, _OF_FORK, chains),)})
        if not isinstance(logged, Processed):
            return write_outcome(logged)
        entry = dict(write_outcome(Processed(map(_bare, logged.edits))))
        written = zip(cast("tuple[JsonObject, ...]", entry["edits"]), logged.edits, strict=True)
        edits = tuple(
            FrozenDict({**fields, **_written_ids({"ids": edit.ids, "lastingIds": edit.lasting_ids}, chains)})
            for fields, edit in written
        )
        places = tuple(self._places_of(edit.override, _OF_EDIT, chains) for edit in logged.edits)
        return FrozenDict({**entry, "edits": edits, "places": places})

    def _places_of(self, held: _Holder, names: Iterable[str], chains: Chains | None) -> JsonObject:
        lists = ((name, getattr(held, name)) for name in names)
        return FrozenDict(
            {
                _CAMEL[name]: tuple(self._segments(messages, chains))
                for name, messages in lists
                if messages is not None
            }
        )

    def _segments(self, messages: Vector[Message], chains: Chains | None) -> Iterator[JsonValue]:
        """Runs of messages that follow each other where they are found: chain, first index, count."""
        new = None if chains is None else following(messages, chains.step_input)
        if chains is not None and new is not None:
            yield ("input", 0, len(chains.step_input))
        rest = iter(messages if new is None else new)
        head = next(rest, None)
        if head is None:
            return
        (chain, first), count = self._place(head), 1
        for message in rest:
            # By identity: equal messages may stand in several places, and a loaded run has to share what
            # this one shares.
            if self._at(chain, first + count) is message:
                count += 1
            else:
                yield (chain, first, count)
                (chain, first), count = self._place(message), 1
        yield (chain, first, count)

    def _at(self, chain: str, index: int) -> Message | None:
        messages = {"initial": self._initial, "response": self._response, "others": self.others}[chain]
        return messages[index] if index < len(messages) else None

    def _place(self, message: Message) -> tuple[str, int]:
        place = self._places.get(id(message))
        if place is None:
            place = self._places[id(message)] = ("others", len(self.others))
            self.others.append(message)
        return place

    # ------------------------------------------------------------ reading

    def read(self, entry: object, chains: Chains) -> Logged:
        """What was written, in the run whose chains were these when it was given this."""
        if not isinstance(entry, Mapping) or "places" not in entry:
            return read_outcome(entry)
        fields = {name: field for name, field in entry.items() if name != "places"}
        places = _read_places(entry["places"])
        if fields.get("type") == "forked" and len(places) == 1:
            return read_outcome({**fields, **self._placed(places[0], _OF_FORK, chains)})
        edits = fields.get("edits") if fields.get("type") == "processed" else None
        if not is_array(edits) or len(cast("Sequence[Any]", edits)) != len(places):
            raise _no_such()
        both = zip(cast("Sequence[Any]", edits), places, strict=True)
        return read_outcome({**fields, "edits": [self._with_placed(*each, chains) for each in both]})

    def _with_placed(self, edit: object, references: JsonObject, chains: Chains) -> object:
        placed = self._placed(references, _OF_EDIT, chains)
        override = edit.get("override") if isinstance(edit, Mapping) else None
        if not isinstance(override, Mapping):
            return edit  # which is refused with a path of its own
        return {**cast("Mapping[str, Any]", edit), "override": {**override, **placed}}

    def _placed(
        self, references: JsonObject, names: Iterable[str], chains: Chains
    ) -> dict[str, PlacedMessages]:
        if not references.keys() <= {_CAMEL[name] for name in names}:
            raise _no_such()
        return {
            name: PlacedMessages(self._found(segments, chains), chains, self.room)
            for name, segments in references.items()
        }

    def _found(self, segments: object, chains: Chains) -> Vector[Message]:
        known: dict[str, Sequence[Message]] = {
            "initial": self._initial,
            "response": chains.response,
            "others": self.others,
            "input": chains.step_input,
        }
        runs = [
            _segment(one, known) for one in cast("Iterable[Any]", segments if is_array(segments) else (None,))
        ]
        whole = bool(runs) and runs[0] == ("input", 0, len(chains.step_input))
        begun: Vector[Message] = chains.step_input if whole else vector()
        rest = runs[1:] if whole else runs
        self.room.take(sum(count for _, _, count in rest), "$.places")
        found = [known[name][index] for name, first, count in rest for index in range(first, first + count)]
        return extend_vector(begun, found) if begun else vector(found)


def _bare(edit: ProcessorEdit) -> ProcessorEdit:
    override = attrs.evolve(edit.override, messages=None, lasting_messages=None)
    return attrs.evolve(edit, override=override, ids=None, lasting_ids=None)


def _written_ids(ids: Mapping[str, Vector[str] | None], chains: Chains | None) -> dict[str, JsonValue]:
    return {
        name: write_ids(each, None if chains is None else chains.ids)
        for name, each in ids.items()
        if each is not None
    }


def _read_places(value: object) -> tuple[JsonObject, ...]:
    try:
        return cast("tuple[JsonObject, ...]", _read_objects(value, None))
    except WireError as error:
        raise located(error, "$.places") from None


_read_objects: Final = reads_each(read_object)


def _segment(segment: object, chains: Mapping[str, Sequence[Message]]) -> tuple[str, int, int]:
    match segment:
        case (str(name), first, count) if (
            is_count(first)
            and is_count(count)
            and 0 < cast("int", count) <= len(chains.get(name, ())) - cast("int", first)
        ):
            return name, cast("int", first), cast("int", count)
        case _:
            raise WireError("$.places", "use [chain, first index, count], within the chain")


def _no_such() -> WireError:
    return WireError("$.places", "there are no messages at these places")


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
    _replace(path, _text(lambda: to_json(run), path))


def _text(make: Callable[[], dict[str, Any]], path: str | os.PathLike[str]) -> str:
    try:
        return json.dumps(make(), allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise SavedRunError("$", _TOO_DEEP, os.fspath(path)) from None
    except SavedRunError as error:
        raise error.in_file(os.fspath(path)) from None


def _replace(path: str | os.PathLike[str], text: str) -> None:
    """Put a file with the text in the place of the one that is there, or leave that as it is."""
    target = Path(os.path.realpath(path))
    # In the same folder, because a rename is whole only within one file system; with a random name, because
    # two writers may save at once.
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
        # Once it has taken the target's place there is none left to remove.
        with suppress(OSError):
            new.unlink()
    _put_on_disk(target.parent)


class RunLog:
    """Keeps a run in a file that grows: each call appends what is new of it, in the time that this takes.

    Rule run.log-whole.

    For checkpoints of long runs, `checkpoint=RunLog(path)`: `save` writes the whole run each time. The first
    call puts a new file in the place of what is there, as `save` does, and so does a call with another run
    than before, such as a fork. `load` reads the file; what was being appended when a process died is left
    out, and all before it is there. One log has one writer.

    Args:
        path: of the file, JSON Lines: first what the run began with, then a line for each call.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._last: tuple[Run, _Book] | None = None

    def __call__(self, run: Run) -> None:
        """Keep the run as far as it has come.

        Raises:
            SavedRunError: as `save` does.
            OSError: if the file cannot be written; `filename` is the path. The next call writes a new file.
        """
        # Forgotten first: if writing fails, what the file holds is unknown, and the next call begins a new
        # one.
        last, self._last = self._last, None
        if last is None or not _is_later(run, last[0]):
            book = _Book(run)
            lines = [
                _text(partial(make), self._path) for make in (partial(_begun, run), partial(_news, book, run))
            ]
            _replace(self._path, "".join(f"{line}\n" for line in lines))
        else:
            before, book = last
            self._append(_text(partial(_news, book, run, before), self._path))
        self._last = run, book

    def _append(self, line: str) -> None:
        try:
            with Path(self._path).open("a", encoding="ascii") as file:
                file.write(f"{line}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _at(self._path, error) from error


def _is_later(run: Run, before: Run) -> bool:
    return (
        # By identity: an equal run of another call is another run, whose outcomes may part from these
        # later.
        run.given is before.given
        and run.started_with is before.started_with
        and following(run.outcomes, before.outcomes) is not None
    )


def load(path: str | os.PathLike[str], *, limit: int = ROOM) -> Run:
    """Return the run that `save` or a `RunLog` wrote to the file.

    Args:
        path: of the file.
        limit: as `from_json` has it.

    Raises:
        SavedRunError: if the file holds anything else; `file` is the file, `path` the place in its JSON.
        OSError: if the file cannot be read.
    """
    text = Path(path).read_bytes()
    try:
        return from_json(_whole(text), limit=limit)
    except SavedRunError as error:
        raise error.in_file(os.fspath(path)) from None


def _whole(text: bytes) -> object:
    """What is in the file of a run; of a log, its lines put together."""
    begun, _, rest = text.partition(b"\n")
    if not rest.strip():
        return _json_of(text)
    try:
        whole = dict(_object(begun))
    except SavedRunError:
        return _json_of(text)  # of several lines, or nothing that can be read
    # After the last newline stands what a process was writing when it died, or nothing.
    for number, line in enumerate(rest.split(b"\n")[:-1], 2):
        try:
            news = _object(line)
            for name in _GROWN:
                whole[name] = [*whole.get(name, ()), *_array(news, name)]
        except SavedRunError as error:
            raise SavedRunError(error.path, f"{error.reason} (line {number})") from None
        whole["pending"] = news.get("pending")
    return whole


def _object(line: bytes) -> Mapping[str, Any]:
    value = _json_of(line)
    if not isinstance(value, Mapping):
        raise SavedRunError("$", f"expected an object, got {kind_of(value)}")
    return value


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
