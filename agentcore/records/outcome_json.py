"""One outcome of a run as JSON, and its parts: settings, edits, answers, questions.

What a saved run is made of, and what a durable engine keeps one by one (`outcome_to_json`). Reading is
strict, and bounded: a number in the JSON may say how many elements follow from it, and none is made before
there is known to be room for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast, get_args

from cattrs import BaseValidationError

from agentcore.errors import AgentCoreError, SavedError, SavedRunError, WireError
from agentcore.machine.effects import Forked, Logged, Settings, ToolFailed, ToolSpec, ToolSucceeded
from agentcore.machine.hooks import ProcessorEdit, StepOverride
from agentcore.machine.processors import Tripwire
from agentcore.messages.chains import Chains, numbered
from agentcore.messages.content import ContentPart, ToolCall, Usage
from agentcore.messages.interrupts import Interrupt, Source
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.prompt import SystemPrompt
from agentcore.messages.values import (
    FrozenDict,
    JsonObject,
    JsonValue,
    Vector,
    extend_vector,
    following,
    json_path,
    thaw,
    vector,
    with_fields,
)
from agentcore.messages.wire import (
    Codec,
    Read,
    Write,
    is_array,
    kind_of,
    located,
    message_to_wire,
    messages_from_wire,
    read_flag,
    read_json,
    read_object,
    read_output,
    read_text,
    reads_each,
    reads_one_of,
    reads_tagged,
    same,
    write_output,
)
from agentcore.records.history import Room, id_cost

__all__ = [
    "LARGEST_COUNT",
    "PlacedMessages",
    "is_count",
    "outcome_from_json",
    "outcome_to_json",
    "read_at",
    "read_outcome",
    "read_settings",
    "write_ids",
    "write_outcome",
    "write_settings",
]

_T = TypeVar("_T")
_READERS: Final[dict[type, Read]] = {}

LARGEST_COUNT: Final = 2**53 - 1
"""The largest number of steps or tokens that is written or read: JSON readers keep larger ones inexactly."""


def outcome_to_json(outcome: Logged) -> dict[str, Any]:
    """Return an outcome as plain JSON, by itself: the messages of an override are written in full.

    Raises:
        SavedRunError: for the result of a hook that no run has taken as a value yet, and for a number beyond
            2**53 - 1.
    """
    return cast("dict[str, Any]", thaw(write_outcome(outcome)))


def outcome_from_json(value: object, path: str = "$") -> Logged:
    """Return the outcome that the JSON is.

    Raises:
        SavedRunError: if it is not an outcome, with the path of the fault; `path` is that of `value` itself.
    """
    return read_at(path, lambda: read_outcome(value))


def read_at(path: str, read: Callable[[], _T]) -> _T:
    """Return what `read` returns. Raises SavedRunError, with the path of the fault below `path`."""
    try:
        return read()
    except (BaseValidationError, AgentCoreError, ValueError) as error:
        fault = located(error, path)
        raise SavedRunError(fault.path, fault.reason) from None


# ---------------------------------------------------------------- counts and ids


class PlacedMessages(NamedTuple):
    """Messages found by reference, in the place of their JSON, in the chains as they were then."""

    messages: Vector[Message]
    chains: Chains
    room: Room


def is_count(value: object) -> bool:
    """Whether the value is a whole number that can count something."""
    return type(value) is int and 0 <= value <= LARGEST_COUNT


def write_ids(ids: Vector[str], known: Vector[str] | None = None) -> JsonValue:
    """Ids as runs of consecutive numbers under one name: name, first number, count.

    Ids that begin with the known ones, those of the step input, begin with how many these are:
    `{"input": count}`.
    """
    new = None if known is None else following(ids, known)
    if known and new is not None:
        return (FrozenDict({"input": len(known)}), *_runs_of(new))
    return tuple(_runs_of(ids))


def _runs_of(ids: Iterable[str]) -> list[JsonValue]:
    runs: list[tuple[str, int, int]] = []
    for each in ids:
        name, _, number = each.rpartition("-")
        last, first, length = runs[-1] if runs else (None, 0, 0)
        if last == name and int(number) == first + length:
            runs[-1] = (name, first, length + 1)
        else:
            runs.append((name, int(number), 1))
    return [*runs]


def _read_ids(value: object, of: object) -> Vector[str]:
    """The ids of messages (PlacedMessages or JSON); none is made unless there are as many as messages."""
    if not is_array(value):
        raise WireError("$", f"expected an array, got {kind_of(value)}")
    begun, runs = _begun(cast("Sequence[object]", value), of)
    wanted = len(
        of.messages if isinstance(of, PlacedMessages) else cast("Sequence[Any]", of) if is_array(of) else ()
    )
    if len(begun) + sum(count for _, _, count in runs) != wanted:
        # Before one id is made: a count of a few digits in the file could ask for any number of them.
        raise WireError("$", f"expected as many ids as there are messages here, which is {wanted}")
    room = of.room if isinstance(of, PlacedMessages) else Room()
    room.take(sum(count * id_cost(name) for name, _, count in runs))
    return extend_vector(begun, [one for name, first, count in runs for one in numbered(name, count, first)])


def _begun(value: Sequence[object], of: object) -> tuple[Vector[str], list[tuple[str, int, int]]]:
    """The ids of the step input, if these ids begin with them, and the runs of the others."""
    first = value[0] if value else None
    if not isinstance(of, PlacedMessages) or not isinstance(first, Mapping):
        return vector(), [_read_run(run, f"$[{index}]") for index, run in enumerate(value)]
    ids, count = of.chains.ids, first.get("input")
    if first.keys() != {"input"} or not is_count(count) or cast("int", count) > len(ids):
        raise WireError("$[0]", 'use {"input": count}, for the first ids of the step input')
    return ids[:count], [_read_run(run, f"$[{index}]") for index, run in enumerate(value[1:], 1)]


def _read_run(run: object, path: str) -> tuple[str, int, int]:
    if not is_array(run):
        raise WireError(path, f"expected an array, got {kind_of(run)}")
    match run:
        case (str(name), first, count) if is_count(first) and is_count(count):
            return name, cast("int", first), cast("int", count)
        case _:
            raise WireError(path, "use [name, first number, count]")


def _with_ids(read: Read, ids: Mapping[str, Callable[[Mapping[str, Any]], object]]) -> Read:
    """A reader of objects that have ids of messages; the functions find the messages of each kind of ids."""

    def read_identified(value: object, cls: object) -> Any:
        fields = dict(_mapping(value))
        for name, messages in ids.items():
            if name in fields:
                fields[name] = _at(name, lambda: _read_ids(fields[name], messages(fields)))  # noqa: B023 - at once
        return read(fields, cls)

    return read_identified


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise WireError("$", f"expected an object, got {kind_of(value)}")
    return value


def _at(name: str, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except WireError as error:
        raise located(error, json_path("$", name)) from None


def _of_override(name: str) -> Callable[[Mapping[str, Any]], object]:
    def found(fields: Mapping[str, Any]) -> object:
        override = fields.get("override")
        return override.get(name) if isinstance(override, Mapping) else None

    return found


# ---------------------------------------------------------------- fields


def read_outcome(value: object) -> Logged:
    """The outcome, whose messages may be `PlacedMessages`. Raises what `read_at` makes a SavedRunError of."""
    return cast("Logged", _read_logged(value, None))


def write_outcome(outcome: Logged) -> JsonObject:
    """The outcome as frozen JSON. Raises as `outcome_to_json` does."""
    return _write(outcome)


def read_settings(value: object) -> Settings:
    """The settings. Raises what `read_at` makes a SavedRunError of."""
    return _read_settings(value, None)


def _read_settings(value: object, _: object) -> Settings:
    # A run that was saved before there was this setting sent its prompts as they were, and goes on doing so:
    # judged afterwards, its outcomes might not follow from its messages.
    fields = {"validatePrompt": False, **read_object(value)}
    return cast("Settings", _READERS[Settings](fields, Settings))


def write_settings(settings: Settings) -> JsonObject:
    """The settings as frozen JSON."""
    return _write(settings)


def _write(value: Any) -> JsonObject:
    return cast("JsonObject", _WRITERS[type(value)](value))


def _write_error(error: Exception) -> JsonValue:
    name = error.type_name if isinstance(error, SavedError) else type(error).__name__
    # A saved error that is saved again keeps the first type: `SavedError` would say nothing of what
    # happened.
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
    if abs(value) > LARGEST_COUNT:
        raise WireError("$", "expected a whole number of at most 2**53 - 1")
    return value


def _write_count(value: int) -> JsonValue:
    if abs(value) > LARGEST_COUNT:
        raise SavedRunError(
            "$", f"a count of {value} is beyond 2**53 - 1 and cannot be saved; use a lower one"
        )
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
    return _write_messages(value)


def _read_messages(value: object, _: object) -> Vector[Message]:
    return value.messages if isinstance(value, PlacedMessages) else messages_from_wire(value)


def _read_override(value: object, cls: object) -> StepOverride:
    fields = _mapping(value)
    # They are messages, so the override's own constructor does not look at each again.
    placed = {key: one.messages for key, one in fields.items() if isinstance(one, PlacedMessages)}
    rest = {key: one for key, one in fields.items() if key not in placed}
    override = cast("StepOverride", _READERS[StepOverride](rest, cls))
    return with_fields(override, **{_PLACED[key]: messages for key, messages in placed.items()})


_PLACED: Final = {"messages": "messages", "lastingMessages": "lasting_messages"}


def _write_messages(messages: Iterable[Message]) -> JsonValue:
    return tuple(map(message_to_wire, messages))


def _write_each(values: Iterable[Any]) -> JsonValue:
    return tuple(map(_write, values))


def _reads(cls: type) -> Read:
    return lambda value, _: _READERS[cls](read_object(value), cls)


def _texts(values: Iterable[str]) -> JsonValue:
    return tuple(values)


_read_part: Final = reads_tagged(get_args(ContentPart), "type", _READERS)
_read_ran: Final = reads_one_of({"succeeded": ToolSucceeded, "failed": ToolFailed}, "type", _READERS)
_read_texts: Final = reads_each(read_text)
_SOURCES: Final = get_args(Source)

_FIELDS: Final[dict[str, tuple[Read, Write]]] = {
    "str": (read_text, same),
    "bool": (read_flag, same),
    "int": (_read_count, _write_count),
    "object": (read_flag, _write_result),
    "bool | Literal['ask']": (_read_need, same),
    "JsonValue": (read_json, same),
    "JsonObject": (read_object, same),
    "tuple[str, ...]": (_read_texts, _texts),
    # Sorted, so that one run is one text: the order of a set differs from process to process.
    "frozenset[str]": (_read_texts, lambda values: tuple(sorted(values))),
    "Source": (_read_source, same),
    "SystemPrompt": (_read_system, _write_system),
    "Vector[str]": (lambda ids, _: ids, write_ids),  # read by `_with_ids`
    "Vector[Message]": (_read_messages, _write_messages),
    "Vector[ToolSpec]": (reads_each(_reads(ToolSpec)), _write_each),
    "Vector[ContentPart]": (reads_each(_read_part), _write_each),
    "tuple[ToolSucceeded | ToolFailed, ...]": (reads_each(_read_ran), _write_each),
    "ToolCall": (reads_tagged((ToolCall,), "type", _READERS), _write),
    "ToolOutput": (read_output, write_output),
    "tuple[Interrupt, ...]": (reads_each(_reads(Interrupt)), _write_each),
    "Usage": (_reads(Usage), _write),
    "Settings": (_read_settings, _write),
    "StepOverride": (_read_override, _write),
    "tuple[ProcessorEdit, ...]": (
        reads_each(lambda value, _: _READERS[ProcessorEdit](value, ProcessorEdit)),
        _write_each,
    ),
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
_READERS[ProcessorEdit] = _with_ids(
    _READERS[ProcessorEdit],
    {"ids": _of_override("messages"), "lastingIds": _of_override("lastingMessages")},
)
_READERS[Forked] = _with_ids(_READERS[Forked], {"ids": lambda fields: fields.get("messages")})
_WRITERS: Final = {cls: _CODEC.writer(cls, "type", name) for cls, name in _TAGGED.items()} | {
    cls: _CODEC.writer(cls) for cls in _UNTAGGED
}
_read_logged: Final = reads_one_of(_OUTCOMES, "type", _READERS)
