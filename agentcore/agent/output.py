"""Structured output: what a model is asked to answer with, and the answer as an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar, cast, overload

import attrs
from attrs import field
from pydantic import create_model

from agentcore.agent.tools.contract import Contract, of_schema, of_type
from agentcore.agent.tools.errors import MismatchError, Problem
from agentcore.errors import InvalidJsonError
from agentcore.messages.values import JsonObject, JsonValue, freeze, parse_json, sealed, strict_key

__all__ = ["Output", "OutputError"]

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
