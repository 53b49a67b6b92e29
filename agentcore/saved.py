"""Runs and outcomes as JSON.

A saved run is its settings, its messages and its outcomes, and is loaded by playing them again: nothing that
follows from these is taken from the file, so a loaded run cannot be in a state that no run comes to. Its
response chain and its need are written as well, for readers, and to tell a run that another version would
continue differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast, get_args

import attrs
from cattrs import BaseValidationError

from agentcore.codec import (
    Codec,
    Read,
    Write,
    is_array,
    kind_of,
    located,
    read_flag,
    read_items,
    read_json,
    read_object,
    read_text,
    reads_each,
    reads_one_of,
    reads_tagged,
    same,
)
from agentcore.content import ContentPart, ToolCall
from agentcore.effects import Forked, Logged, Processed, Settings, ToolFailed, ToolSpec, ToolSucceeded
from agentcore.errors import AgentCoreError, SavedError, SavedRunError, WireError
from agentcore.history import replayed
from agentcore.hooks import ProcessorEdit, StepOverride
from agentcore.identity import numbered
from agentcore.interrupts import Interrupt, Source
from agentcore.messages import Message, SystemMessage
from agentcore.processors import Tripwire
from agentcore.prompt import SystemPrompt
from agentcore.run import start
from agentcore.state import Run
from agentcore.usage import Usage
from agentcore.values import FrozenDict, JsonObject, JsonValue, Vector, json_path, strict_key, vector
from agentcore.wire import message_to_wire, messages_from_wire, read_output, write_output

__all__ = ["VERSION", "from_json", "outcome_from_json", "outcome_to_json", "to_json"]

VERSION: Final = 2

_T = TypeVar("_T")
_READERS: Final[dict[type, Read]] = {}


# ---------------------------------------------------------------- a whole run


def to_json(run: Run) -> JsonObject:
    """The run as JSON, for `from_json`; its size is that of its messages and outcomes, history or not.

    Errors are kept by the name of their type and their text, and the context is among the settings; answers
    to questions and models' states are among the outcomes.
    """
    book = _Book(run)
    outcomes = tuple(map(book.written, run.outcomes))
    return FrozenDict(
        {
            "version": VERSION,
            "settings": _write(run.started_with),
            "initial": _written(run.given),
            "others": tuple(map(message_to_wire, book.others)),
            "outcomes": outcomes,
            "response": _written(run.chains.response),
            "pending": type(run.pending).__name__,
        }
    )


def from_json(value: object) -> Run:
    """The run that was saved, with its history; it goes on as the one that was saved would (rule run.saved).

    Raises SavedRunError, with the path of the fault, for anything that `to_json` did not write; nothing that
    the run holds is in the error's text.
    """
    fields = _fields(value)
    run = _start(fields)
    book = _Book(run, _located("$.others", lambda: messages_from_wire(fields["others"])))
    for index, entry in enumerate(_array(fields, "outcomes")):
        run = _located(json_path("$.outcomes", index), partial(_taken, run, entry, book))
    _check(run, fields)
    return run


def _taken(run: Run, entry: object, book: _Book) -> Run:
    return replayed(run, book.read(entry, run))


def _fields(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SavedRunError("$", f"expected an object, got {kind_of(value)}")
    if value.get("version") != VERSION or isinstance(value.get("version"), bool):
        raise SavedRunError("$.version", f"expected {VERSION}; another version of the package wrote this")
    for name in value.keys() ^ _NAMES:
        known = name in _NAMES
        raise SavedRunError(json_path("$", str(name)), "this field is missing" if known else "unknown key")
    return value


_NAMES: Final = frozenset({"version", "settings", "initial", "others", "outcomes", "response", "pending"})


def _start(fields: Mapping[str, Any]) -> Run:
    settings: Settings = _located("$.settings", lambda: _read_settings(fields["settings"], None))
    messages = _located("$.initial", lambda: messages_from_wire(fields["initial"]))
    return _located("$.initial", lambda: start(settings, messages))


def _check(run: Run, fields: Mapping[str, Any]) -> None:
    if fields["pending"] != type(run.pending).__name__:
        raise SavedRunError("$.pending", f"by the outcomes, this is {type(run.pending).__name__}")
    response = _written(run.chains.response)
    saved = _located("$.response", lambda: read_json(fields["response"]))
    if strict_key(saved) != strict_key(response):
        raise SavedRunError("$.response", "these messages are not what the outcomes come to")


def _array(fields: Mapping[str, Any], name: str) -> Sequence[Any]:
    if not is_array(fields[name]):
        raise SavedRunError(f"$.{name}", f"expected an array, got {kind_of(fields[name])}")
    return cast("Sequence[Any]", fields[name])


def _located(path: str, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except (BaseValidationError, AgentCoreError, ValueError) as error:
        fault = located(error, path)
        raise SavedRunError(fault.path, fault.reason) from None


def _written(messages: Iterable[Message]) -> tuple[JsonObject, ...]:
    return tuple(map(message_to_wire, messages))


# ---------------------------------------------------------------- messages by reference


class _Book:
    """Where messages of overrides are found: in a chain, or among the others that hooks brought in.

    References keep a run's size in proportion and, which message is which: a loaded run shares what the
    saved one did.
    """

    def __init__(self, run: Run, others: Iterable[Message] = ()) -> None:
        self.others: list[Message] = list(others)
        self.chains: dict[str, Sequence[Message]] = {
            "initial": run.given,
            "response": run.chains.response,
            "others": self.others,
        }
        self.places: dict[int, tuple[str, int]] = {}
        for name in ("initial", "response"):
            for index, message in enumerate(self.chains[name]):
                self.places.setdefault(id(message), (name, index))

    def written(self, logged: Logged) -> JsonObject:
        held = _held(logged)
        if not held:
            return outcome_to_json(logged)
        bare = _holding(logged, [dict.fromkeys(_message_fields(one)) for one in held])
        return FrozenDict({**outcome_to_json(bare), "places": tuple(map(self._places_of, held))})

    def _places_of(self, held: _Holder) -> JsonObject:
        return FrozenDict(
            {
                _CAMEL[name]: tuple(self._segments(getattr(held, name)))
                for name in _message_fields(held)
                if getattr(held, name) is not None
            }
        )

    def _segments(self, messages: Iterable[Message]) -> Iterator[JsonValue]:
        """Runs of messages that follow each other where they are found: chain, first index, count."""
        rest = iter(messages)
        head = next(rest, None)
        if head is None:
            return
        (chain, first), count = self._place(head), 1
        for message in rest:
            if self._at(chain, first + count) is message:
                count += 1
            else:
                yield (chain, first, count)
                (chain, first), count = self._place(message), 1
        yield (chain, first, count)

    def _at(self, chain: str, index: int) -> Message | None:
        messages = self.chains[chain]
        return messages[index] if index < len(messages) else None

    def _place(self, message: Message) -> tuple[str, int]:
        place = self.places.get(id(message))
        if place is None:
            place = self.places[id(message)] = ("others", len(self.others))
            self.others.append(message)
        return place

    def read(self, entry: object, run: Run) -> Logged:
        """What was written, in the run as it was when this was given to it."""
        if not isinstance(entry, Mapping) or "places" not in entry:
            return _read_outcome(entry)
        logged = _read_outcome({name: field for name, field in entry.items() if name != "places"})
        held, places = _held(logged), _read_places(entry["places"])
        if len(held) != len(places):
            raise WireError("$.places", "this holds no such messages")
        chains = self.chains | {"response": run.chains.response}
        found = [_read_held(one, references, chains) for one, references in zip(held, places, strict=True)]
        return _holding(logged, found)


_CAMEL: Final = {"messages": "messages", "lasting_messages": "lastingMessages"}


_Holder: TypeAlias = StepOverride | Forked


def _held(logged: Logged) -> tuple[_Holder, ...]:
    """What holds messages in an outcome."""
    if isinstance(logged, Forked):
        return (logged,)
    return tuple(edit.override for edit in logged.edits) if isinstance(logged, Processed) else ()


def _holding(logged: Logged, messages: Iterable[Mapping[str, Vector[Message] | None]]) -> Logged:
    """The outcome with such messages in what holds them."""
    held = [_with(one, fields) for one, fields in zip(_held(logged), messages, strict=True)]
    if not isinstance(logged, Processed):
        return cast("Forked", held[0])
    edits = zip(logged.edits, held, strict=True)
    return Processed(attrs.evolve(edit, override=cast("StepOverride", one)) for edit, one in edits)


def _with(held: _Holder, fields: Any) -> _Holder:
    return attrs.evolve(held, **fields)


def _message_fields(held: _Holder) -> tuple[str, ...]:
    return ("messages",) if isinstance(held, Forked) else ("messages", "lasting_messages")


def _read_places(value: object) -> tuple[JsonObject, ...]:
    try:
        return cast("tuple[JsonObject, ...]", _read_objects(value, None))
    except WireError as error:
        raise located(error, "$.places") from None


def _read_held(
    held: _Holder, references: JsonObject, chains: Mapping[str, Sequence[Message]]
) -> Mapping[str, Vector[Message]]:
    names = {_CAMEL[name]: name for name in _message_fields(held)}
    if not references.keys() <= names.keys():
        raise WireError("$.places", "this holds no such messages")
    return {names[name]: vector(_found(segments, chains)) for name, segments in references.items()}


def _found(segments: object, chains: Mapping[str, Sequence[Message]]) -> Iterator[Message]:
    for segment in cast("Iterable[Any]", segments if is_array(segments) else (None,)):
        match segment:
            case (str(name), int(first), int(count)) if (
                0 <= first < first + count <= len(chains.get(name, ()))
            ):
                yield from list(chains[name])[first : first + count]
            case _:
                raise WireError("$.places", "use [chain, first index, count], within the chain")


# ---------------------------------------------------------------- one outcome


def outcome_to_json(outcome: Logged) -> JsonObject:
    """An outcome as JSON, by itself: the messages of an override are written in full.

    Raises SavedRunError for the result of a hook that no run has taken as a value yet.
    """
    return _write(outcome)


def outcome_from_json(value: object, path: str = "$") -> Logged:
    """The outcome that the JSON is. Raises SavedRunError, with the path of the fault."""
    return _located(path, lambda: _read_outcome(value))


def _read_outcome(value: object) -> Logged:
    return cast("Logged", _read_logged(value, None))


def _write(value: Any) -> JsonObject:
    return cast("JsonObject", _WRITERS[type(value)](value))


def _write_error(error: Exception) -> JsonValue:
    name = error.type_name if isinstance(error, SavedError) else type(error).__name__
    return FrozenDict({"type": name, "text": str(error)})


def _read_error(value: object, _: object) -> Exception:
    fields = read_object(value)
    if fields.keys() != {"type", "text"}:
        raise WireError("$", "an error has a type and a text")
    return SavedError(read_text(fields["type"]), read_text(fields["text"]))


def _write_result(value: object) -> JsonValue:
    if isinstance(value, bool):
        return value
    reason = (
        f"{type(value).__name__} has no JSON form here; a run's own outcomes have the result as it took it"
    )
    raise SavedRunError("$.value", reason)


def _read_count(value: object, _: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise WireError("$", f"expected a whole number, got {kind_of(value)}")
    return value


def _read_need(value: object, _: object) -> object:
    return value if value == "ask" else read_flag(value)


def _read_source(value: object, _: object) -> str:
    if value not in _SOURCES:
        raise WireError("$", f"expected one of {', '.join(_SOURCES)}, got {kind_of(value)}")
    return cast("str", value)


def _read_system(value: object, _: object) -> SystemPrompt:
    if isinstance(value, str):
        return value
    messages = messages_from_wire(value if is_array(value) else (value,))
    return cast("SystemPrompt", messages if is_array(value) else messages[0])


def _write_system(value: SystemPrompt) -> JsonValue:
    if isinstance(value, (str, SystemMessage)):
        return value if isinstance(value, str) else message_to_wire(value)
    return _written(value)


def _write_each(values: Iterable[Any]) -> JsonValue:
    return tuple(map(_write, values))


def _write_ids(values: Iterable[str]) -> JsonValue:
    """Ids as runs of consecutive numbers under one name: name, first number, count."""
    runs: list[tuple[str, int, int]] = []
    for each in values:
        name, _, number = each.rpartition("-")
        last, first, length = runs[-1] if runs else (None, 0, 0)
        if last == name and int(number) == first + length:
            runs[-1] = (name, first, length + 1)
        else:
            runs.append((name, int(number), 1))
    return tuple(runs)


def _read_ids(value: object, _: object) -> Vector[str]:
    return vector(each for run in _read_runs(value, None) for each in run)


def _read_run(value: object, _: object) -> Iterable[str]:
    match read_items(value):
        case (str(name), int(first), int(length)):
            return numbered(name, length, first)
        case _:
            raise WireError("$", "use [name, first number, count]")


def _reads(cls: type) -> Read:
    return lambda value, _: _READERS[cls](read_object(value), cls)


def _read_settings(value: object, _: object) -> Settings:
    # A run that was saved before there was this setting sent its prompts as they were, and goes on doing so:
    # judged afterwards, its outcomes might not follow from its messages.
    fields = {"validatePrompt": False, **read_object(value)}
    return cast("Settings", _READERS[Settings](fields, Settings))


def _texts(values: Iterable[str]) -> JsonValue:
    return tuple(values)


_read_part: Final = reads_tagged(get_args(ContentPart), "type", _READERS)
_read_ran: Final = reads_one_of({"succeeded": ToolSucceeded, "failed": ToolFailed}, "type", _READERS)
_read_texts: Final = reads_each(read_text)
_SOURCES: Final = get_args(Source)
_read_runs: Final = reads_each(_read_run)
_read_objects: Final = reads_each(read_object)

_FIELDS: Final[dict[str, tuple[Read, Write]]] = {
    "str": (read_text, same),
    "bool": (read_flag, same),
    "int": (_read_count, same),
    "object": (read_flag, _write_result),
    "bool | Literal['ask']": (_read_need, same),
    "JsonValue": (read_json, same),
    "JsonObject": (read_object, same),
    "tuple[str, ...]": (_read_texts, _texts),
    "frozenset[str]": (_read_texts, lambda values: tuple(sorted(values))),
    "Source": (_read_source, same),
    "SystemPrompt": (_read_system, _write_system),
    "Vector[str]": (_read_ids, _write_ids),
    "Vector[Message]": (lambda value, _: messages_from_wire(value), _written),
    "Vector[ToolSpec]": (reads_each(_reads(ToolSpec)), _write_each),
    "Vector[ContentPart]": (reads_each(_read_part), _write_each),
    "tuple[ToolSucceeded | ToolFailed, ...]": (reads_each(_read_ran), _write_each),
    "ToolCall": (reads_tagged((ToolCall,), "type", _READERS), _write),
    "ToolOutput": (read_output, write_output),
    "tuple[Interrupt, ...]": (reads_each(_reads(Interrupt)), _write_each),
    "Usage": (_reads(Usage), _write),
    "Settings": (_read_settings, _write),
    "StepOverride": (_reads(StepOverride), _write),
    "tuple[ProcessorEdit, ...]": (reads_each(_reads(ProcessorEdit)), _write_each),
    "Tripwire": (_reads(Tripwire), _write),
    "Exception": (_read_error, _write_error),
}


def _kebab(cls: type) -> str:
    return re.sub("(?<!^)([A-Z])", r"-\1", cls.__name__).lower()


_OUTCOMES: Final = {_kebab(cls): cls for cls in get_args(Logged)}
_TAGGED: Final[dict[Any, str]] = {
    **{cls: name for name, cls in _OUTCOMES.items()},
    **{cls: cls.type for cls in get_args(ContentPart)},
    ToolSucceeded: "succeeded",
    ToolFailed: "failed",
}
_UNTAGGED: Final = (Settings, ToolSpec, ProcessorEdit, StepOverride, Interrupt, Tripwire, Usage)
_CODEC: Final = Codec(_FIELDS)
_READERS.update((cls, _CODEC.reader(cls)) for cls in (*_TAGGED, *_UNTAGGED))
_WRITERS: Final = {cls: _CODEC.writer(cls, "type", name) for cls, name in _TAGGED.items()} | {
    cls: _CODEC.writer(cls) for cls in _UNTAGGED
}
_read_logged: Final = reads_one_of(_OUTCOMES, "type", _READERS)
