"""Structured output: what a model is asked to answer with, and the answer as an object, whole or so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar, cast, overload

import attrs
from attrs import field
from pydantic import create_model
from pydantic_core import from_json

from agentcore.agent.events import ChunkEvent, PartDone, PartialObject, TextDelta
from agentcore.agent.tools.contract import Contract, MismatchError, Problem, of_schema, of_type
from agentcore.errors import InvalidJsonError
from agentcore.messages.content import ContentPart, GeneratedText
from agentcore.messages.values import JsonObject, JsonValue, freeze, parse_json, sealed, strict_key

__all__ = ["Output", "OutputError", "PartialObjects"]

_T = TypeVar("_T")
_Kind = TypeVar("_Kind")
_SHOWN: Final = 100


class OutputError(MismatchError):
    """What a model answered is not the output that was asked for.

    `path` and `problems` say what is wrong, `excerpt` what the text has there.
    """

    wire_name = "AI_NoObjectGeneratedError"

    @property
    def excerpt(self) -> str:
        """What is at `path`, shortened."""
        return self.problems[0].given

    def __str__(self) -> str:
        return f"the answer is not the output that was asked for:\n{super().__str__()}"


def _schema(value: Mapping[str, object]) -> JsonObject:
    return cast("JsonObject", freeze(value, "$.schema"))


@sealed
@attrs.frozen
class Output(Generic[_T]):
    """What the answer of a run is to be: made by `Output.of(type)` or `Output.json_schema(schema)`."""

    schema: JsonObject = field(converter=_schema, eq=strict_key)
    # Made anew for every output, so equality is that of the schema.
    read: Callable[[JsonValue], _T] = field(eq=False, repr=False)
    name: str | None = field(default=None, kw_only=True)

    # A union or a Literal is no `type[...]` to a type checker, and its value Any.
    @overload
    @staticmethod
    def of(kind: type[_Kind], *, name: str | None = None) -> Output[_Kind]: ...
    @overload
    @staticmethod
    def of(kind: Any, *, name: str | None = None) -> Output[Any]: ...
    @staticmethod
    def of(kind: Any, *, name: str | None = None) -> Output[Any]:
        """An instance of a type: a pydantic model, a dataclass, a TypedDict, a list, a union, an enum, ...

        Models can only be asked for objects, so another type is asked for as `{"result": ...}`.

        Raises:
            TypeError: if pydantic does not know the type.
        """
        name = name or getattr(kind, "__name__", None)
        contract = of_type(kind)
        if contract.schema.get("type") == "object":
            return Output(contract.schema, contract.read, name=name)
        wrapped: Contract[Any] = of_type(create_model("Output", result=(kind, ...)))
        return Output(wrapped.schema, lambda value: wrapped.read(value).result, name=name)

    @staticmethod
    def json_schema(schema: Mapping[str, object], *, name: str | None = None) -> Output[JsonValue]:
        """Frozen JSON that a JSON Schema allows.

        Raises:
            TypeError: if it is no JSON Schema.
        """
        contract = of_schema(_schema(schema))
        return Output(contract.schema, contract.read, name=name)

    @staticmethod
    def of_format(response_format: Mapping[str, object]) -> Output[JsonValue]:
        """Frozen JSON that a response format of the type `json` asks for; any JSON if it has no schema.

        Raises:
            TypeError: if its schema is no JSON Schema.
        """
        schema = cast("Mapping[str, object]", response_format.get("schema", {}))
        return Output.json_schema(schema, name=cast("str | None", response_format.get("name")))

    @property
    def response_format(self) -> JsonObject:
        """What a model request has as its `response_format`."""
        named = {} if self.name is None else {"name": self.name}
        return cast("JsonObject", freeze({"type": "json", "schema": self.schema, **named}))

    def parse(self, text: str) -> _T:
        """The object that an answer's text is.

        Raises:
            OutputError: if the text is no JSON, or not the JSON that was asked for.
        """
        try:
            value = freeze(parse_json(text))
        except InvalidJsonError as error:
            raise OutputError((Problem(error.path, error.reason, _ends(text)),)) from None
        try:
            return self.read(value)
        except MismatchError as error:
            raise OutputError(error.problems) from error.__cause__


def _ends(text: str) -> str:
    # Both ends: an answer that was cut short and one that has more than JSON are told apart by them.
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} … {text[-_SHOWN:]}"


# The text is read again when it has grown by one part in so many: all readings of a text of n characters
# have at most about 20 n characters, where one reading a delta would have n squared.
_GROWTH: Final = 20


class PartialObjects:
    """The partial objects of one step (rule output.partial)."""

    def __init__(self, step_number: int) -> None:
        self._step_number = step_number
        # Of the parts that are done, then of the one that is going on.
        self._done: list[str] = []
        self._deltas: list[str] = []
        self._done_length = self._length = 0
        self._read_at = 0
        self._key: str | None = None

    def after(self, event: ChunkEvent) -> PartialObject | None:
        """Takes an event of the stream; returns the partial object if it is another one now."""
        if isinstance(event, TextDelta):
            self._deltas.append(event.text)
            self._length += len(event.text)
        elif isinstance(event, PartDone) and isinstance(event.part, GeneratedText):
            # The part says what its text is, whatever deltas there were.
            self._done.append(event.part.text)
            self._done_length += len(event.part.text)
            self._deltas.clear()
            self._length = self._done_length
        is_due = self._length > self._read_at + self._read_at // _GROWTH
        return self._changed("".join((*self._done, *self._deltas))) if is_due else None

    def ended(self, content: Iterable[ContentPart]) -> PartialObject | None:
        """Takes the whole answer; returns its object if no event has had that yet."""
        return self._changed("".join(part.text for part in content if isinstance(part, GeneratedText)))

    def _changed(self, text: str) -> PartialObject | None:
        self._read_at = len(text)
        try:
            value = freeze(_read(text))
        except (TypeError, ValueError):  # no JSON so far, or half a surrogate pair: the whole answer decides
            return None
        key = strict_key(value)
        if key == self._key:
            return None
        self._key = key
        return PartialObject(self._step_number, value)


def _read(text: str) -> Any:
    # Texts and names that are not complete are left out, and so is a number that cannot end there.
    return from_json(text, allow_inf_nan=False, allow_partial=True)
