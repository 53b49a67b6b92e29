"""Settings of a Mastra agent and of one call, with the dates and ids that a run draws.

Mastra orders messages by dates of a millisecond. A real clock makes that order a matter of luck; here time
stands still but for what a model call takes, so the order is what the rules of the list make of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import attrs

from agentcore.heap.heap import DateCell, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import get
from agentcore.heap.loading import is_list, is_mapping_of, is_one
from agentcore.heap.views import Desk
from agentcore.messages.brief import brief
from agentcore.messages.values import json_path

Hook: TypeAlias = Callable[[Any], Any]
"""Called with the arguments of a processor (`Arguments`)."""


@attrs.frozen
class Model:
    """A scripted model: `answer` is given the call's options and returns parts, or raises.

    Parts are {type: text or reasoning, text} and {type: tool-call, toolCallId, toolName, input}. `version` is
    the version of the AI SDK's model interface.
    """

    __repr__ = brief

    id: str
    answer: Callable[[Any], Sequence[Mapping[str, Any]]]
    version: str = "v2"


@attrs.frozen
class Router:
    """A model that the package finds by its name, such as openai/gpt-4o-mini; here none has a key."""

    __repr__ = brief

    name: str


@attrs.frozen(kw_only=True)
class Tool:
    """A tool with a schema: `execute` is given its input; returning UNDEFINED leaves the call unanswered."""

    __repr__ = brief

    execute: Callable[[Any], Any]
    description: str = ""


@attrs.frozen(kw_only=True)
class Processor:
    """A processor: `process_input` is called once per call, `process_input_step` before each model call."""

    __repr__ = brief

    id: str
    process_input: Hook | None = None
    process_input_step: Hook | None = None


@attrs.frozen(kw_only=True)
class Settings:
    """An agent (`model` to `default_prepare_step`) and a call of it.

    `options` are the call's providerOptions, modelSettings, toolChoice and activeTools. `request_context` are
    the values that the call's request context begins with, None where the call is given none.
    `call_processors` is None where the call says nothing of processors.
    """

    __repr__ = brief

    model: Model = attrs.field(validator=is_one(Model, "a Model"))
    messages: Sequence[Any] = attrs.field(validator=is_list("a list of messages"))
    fallback_models: Sequence[Model] = ()
    instructions: Any = None
    tools: Mapping[str, Tool] | None = attrs.field(
        default=None, validator=is_mapping_of(Tool, "a Tool", optional=True)
    )
    processors: Sequence[Processor] = attrs.field(default=(), validator=is_list("a list of processors"))
    default_prepare_step: Hook | None = None
    max_retries: int | None = None

    options: Mapping[str, Any] = attrs.field(factory=dict, validator=is_mapping_of(object, "JSON"))
    request_context: Mapping[str, Any] | None = attrs.field(
        default=None, validator=is_mapping_of(object, "JSON", optional=True)
    )
    context: Sequence[Any] = attrs.field(default=(), validator=is_list("a list of messages"))
    system: Any = None
    call_processors: Sequence[Processor] | None = None
    prepare_step: Hook | None = None
    max_steps: int = 10
    streams: bool = False


@attrs.frozen
class Loaded:
    """The values of some settings on the heap.

    `caller` has the caller's messages, context and options, and the request context if the caller made it.
    """

    caller: Ref
    request_context: Ref
    instructions: Slot
    system: Slot


def load(settings: Settings, desk: Desk) -> Loaded:
    """Puts the values of settings on the heap.

    Raises:
        HostValueError: for a value that JavaScript has no counterpart of.
    """
    own = {**settings.options, "messages": settings.messages, "context": settings.context}
    with desk.acting("settings"):
        caller = {name: desk.slot(value, json_path("$", name)) for name, value in own.items()}
        shared = desk.slot({} if settings.request_context is None else settings.request_context)
        if settings.request_context is not None:
            caller["requestContext"] = shared
        instructions = desk.slot(settings.instructions, "$.instructions")
        system = desk.slot(settings.system, "$.system")
        return Loaded(desk.store.object(caller), shared, instructions, system)  # type: ignore[arg-type]  # a mapping is an object


_START: Final = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
THINKING: Final = 15
"""How many milliseconds a model call takes: more than a step makes messages."""

_MOMENT: Final = 2
_FARTHEST: Final = 8.64e15
_HOURS: Final = 24
_MINUTES: Final = 60
_MONTHS: Final = 12
_DAYS: Final = 31
_CYCLE: Final = 146_097 * 86_400_000


class Clock:
    """The time of a run, and the ids that it draws."""

    def __init__(self) -> None:
        self.now = _START
        self._drawn = 0

    def think(self) -> None:
        """Lets the time of a model call pass."""
        self.now += THINKING

    def pass_by(self, dates: Iterable[float]) -> None:
        """Lets a little time pass, and what was dated ahead: messages that came at once are a tick apart."""
        ahead = (time for time in dates if time < self.now + THINKING)
        self.now = int(max(self.now, *ahead, 0)) + _MOMENT

    def draw_id(self) -> str:
        """An id that no message has."""
        self._drawn += 1
        return f"00000000-0000-4000-8000-{self._drawn:012x}"


def date(store: Store, time: float) -> Ref:
    """Returns `new Date(time)`: a new date, of no time if the number is too far from 1970."""
    return store.object({"time": clipped(time)}, DateCell)


def clipped(time: float) -> float:
    """Returns `new Date(time).getTime()`: a whole number, or NaN if the number is too far from 1970."""
    return int(time) if abs(time) <= _FARTHEST else math.nan


def is_date(store: Store, value: Value) -> bool:
    """Whether a value is a date."""
    return type(value) is Ref and type(store.cells[value.address]) is DateCell


def invalid_date(store: Store) -> Ref:
    """A date that is no time, as `new Date(undefined)` is."""
    return store.object({"time": math.nan}, DateCell)


def time_of(store: Store, value: Value, receiver: str = "date") -> float:
    """Returns `value.getTime()`: a whole number, or NaN for a date that is no time.

    `receiver` is what the value is called in the package, whose engine names it in the error.

    Raises:
        HeapTypeError: if the value is no date.
    """
    if is_date(store, value):
        return get(store, value, "time")  # type: ignore[return-value]  # dates are made with a number
    get(store, value, "getTime")
    raise HeapTypeError(f"{receiver}.getTime is not a function")


_ISO: Final = re.compile(
    r"(?P<year>[0-9]{4}|[+-][0-9]{6})(-(?P<month>[0-9]{2})(-(?P<day>[0-9]{2}))?)?"
    r"(T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(:(?P<second>[0-9]{2})([.](?P<fraction>[0-9]{1,9}))?)?"
    r"(Z|(?P<sign>[+-])(?P<away>[0-9]{2}:[0-9]{2}))?)?"
)


def parsed(text: str) -> float | None:
    """Returns `Date.parse(text)`: milliseconds since 1970, NaN for what names no time.

    Returns None for a text with digits that is not the standard's: engines read those in ways of their own.
    A time without a zone is taken for one of UTC. Rule mastra.dates-read.
    """
    found = _ISO.fullmatch(text)
    if found is None:
        return None if re.search("[0-9]", text) else math.nan
    year, fraction = int(found["year"]), int((found["fraction"] or "").ljust(3, "0")[:3])
    month, day = int(found["month"] or 1), int(found["day"] or 1)
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    whole_day = hour == _HOURS and not (minute or second or fraction)
    if not (1 <= month <= _MONTHS and 1 <= day <= _DAYS and (hour < _HOURS or whole_day)):
        return None
    if not (minute < _MINUTES and second < _MINUTES):
        return None
    # Days beyond a month's last one run on into the next, and years come round every 400.
    cycles, short = divmod(year - 2000, 400)
    at = datetime(2000 + short, month, 1, tzinfo=UTC) + timedelta(
        days=day - 1, hours=hour, minutes=minute, seconds=second
    )
    away = sum(
        int(one) * size for one, size in zip((found["away"] or "0:0").split(":"), (60, 1), strict=True)
    )
    ahead = -away if found["sign"] == "-" else away
    time = round(at.timestamp()) * 1000 + fraction + cycles * _CYCLE - ahead * 60_000
    return time if abs(time) <= _FARTHEST else math.nan
