"""A JSON Schema for the model, and a reader that checks a value and makes an object of it.

Types go through pydantic, schemas through jsonschema-rs; here is only what makes one thing of the two.
pydantic is imported with the first type: an agent without one starts in half the time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, NoReturn, TypeVar, cast

import attrs
import jsonschema_rs

from agentcore.errors import AgentCoreError, InvalidJsonError
from agentcore.messages.values import (
    FrozenDict,
    JsonObject,
    JsonValue,
    dump_json,
    freeze,
    json_path,
    sealed,
    thaw,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic.json_schema import GenerateJsonSchema

__all__ = [
    "Contract",
    "InvalidToolError",
    "InvalidToolInputError",
    "InvalidToolOutputError",
    "MismatchError",
    "Problem",
    "excerpt",
    "of_parameters",
    "of_schema",
    "of_type",
]

_LISTED: Final = 5


class Problem(NamedTuple):
    """One thing that is wrong with a value: where, what, and the beginning of what is there instead."""

    path: str
    reason: str
    given: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason} (given: {self.given})"


class MismatchError(AgentCoreError, ValueError):
    """A value is not of the type or schema that was asked for; `path` is that of the first problem.

    The text lists the first few problems, one a line, and says how many more there are.
    """

    wire_name: ClassVar[str] = "MismatchError"
    path: str

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems
        self.path = problems[0].path

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:_LISTED]]
        if len(self.problems) > _LISTED:
            lines.append(f"and {len(self.problems) - _LISTED} more")
        return "\n".join(lines)


class InvalidToolInputError(MismatchError):
    """A model called a tool with input that is not what the tool takes.

    The text is for the model: every problem with its path, and that the call can be made again.
    """

    wire_name = "AI_InvalidToolInputError"

    def __init__(self, tool_name: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.args = (tool_name, problems)
        self.tool_name = tool_name

    def __str__(self) -> str:
        problems = super().__str__()
        return f"Invalid input for tool '{self.tool_name}':\n{problems}\nCall it again with valid input."


class InvalidToolOutputError(InvalidJsonError):
    """The value that a tool returned cannot be turned into JSON; `path` is its place in that value."""

    wire_name = "InvalidToolOutputError"

    def __init__(self, tool_name: str, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.args = (tool_name, path, reason)
        self.tool_name = tool_name

    def __str__(self) -> str:
        return f"tool '{self.tool_name}' returned no JSON at {self.path}: {self.reason}"


class InvalidToolError(AgentCoreError, TypeError):
    """A tool was defined in a way that cannot work; `reason` says what to change."""

    wire_name = "InvalidToolError"

    def __init__(self, tool_name: str, reason: str) -> None:
        super().__init__(tool_name, reason)
        self.tool_name = tool_name
        self.reason = reason

    def __str__(self) -> str:
        return f"tool '{self.tool_name}': {self.reason}"


_T = TypeVar("_T")
_ABSENT: Final = object()
_EXCERPT: Final = 80
_ERRORS: Final = 50
_DEFINITIONS: Final = "#/$defs/"
_MISSING: Final = "is missing; give it"
_UNKNOWN: Final = "is not known here; leave it out"
_UNREADABLE: Final = "has half a surrogate pair in it, or is nested too deeply"


@sealed
@attrs.frozen
class Contract(Generic[_T]):
    """A JSON Schema and the reader of values that it allows; the reader raises MismatchError for others."""

    schema: JsonObject
    read: Callable[[JsonValue], _T]


def excerpt(value: JsonValue) -> str:
    """The beginning of a value's JSON text, to be shown in an error."""
    text = dump_json(value)
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"


# ---------------------------------------------------------------- from types


@cache
def _untitled() -> type[GenerateJsonSchema]:
    """Schemas without the titles that pydantic makes of names: a model pays for them and learns nothing."""
    from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415

    class Untitled(GenerateJsonSchema):
        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
            return False

    return Untitled


def of_type(kind: Any) -> Contract[Any]:
    """The contract of a type: anything that pydantic knows.

    Raises:
        TypeError: if pydantic does not know it.
    """
    return _of_adapter(_adapter(kind))


def of_parameters(name: str, parameters: Iterable[inspect.Parameter]) -> Contract[dict[str, Any]]:
    """The contract of a function's parameters, as an object of arguments; what is read has the defaults.

    Annotations are types, not texts. Raises TypeError if pydantic does not know one of them.
    """
    given = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]

    def collect(**arguments: Any) -> dict[str, Any]:
        return arguments

    # pydantic makes the schema of a function's signature. A model made of the parameters would not do:
    # `json`, `copy` and names with a leading underscore are good names of parameters and no names of fields.
    collect.__name__ = collect.__qualname__ = name
    collect.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined] # functions have it
    collect.__annotations__ = {parameter.name: parameter.annotation for parameter in given}
    contract = _of_adapter(_adapter(collect))

    def read(value: JsonValue) -> dict[str, Any]:
        # pydantic would also take a list, as positional arguments.
        if not isinstance(value, Mapping):
            raise _no_object(value)
        return cast("dict[str, Any]", contract.read(value))

    return Contract(contract.schema, read)


def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415

    try:
        return TypeAdapter(kind)
    except PydanticUserError as error:
        raise TypeError(error.message) from None


def _of_adapter(adapter: TypeAdapter[Any]) -> Contract[Any]:
    from pydantic import PydanticUserError, ValidationError  # noqa: PLC0415

    def read(value: JsonValue) -> Any:
        # As JSON, because what is strict and what is a date or an enum differ between JSON and Python.
        try:
            return adapter.validate_json(dump_json(value))
        except ValidationError as error:
            raise MismatchError(tuple(_problems(error, value))) from None
        except Exception as error:
            # A validator of the user's went wrong; the model may still be able to give something else.
            reason = f"checking it failed: {type(error).__name__}: {error}"
            raise MismatchError((Problem("$", reason, excerpt(value)),)) from error

    try:
        schema = adapter.json_schema(schema_generator=_untitled())
    except PydanticUserError as error:
        raise TypeError(error.message) from None
    return Contract(_with_root(cast("JsonObject", freeze(schema))), read)


def _with_root(schema: JsonObject) -> JsonObject:
    # A recursive type is a bare reference, while providers want to see an object at the root.
    reference = schema.get("$ref")
    if reference is None:
        return schema
    definitions = cast("JsonObject", schema["$defs"])
    root = cast("JsonObject", definitions[cast("str", reference).removeprefix(_DEFINITIONS)])
    return FrozenDict({**root, "$defs": definitions})


def _problems(error: ValidationError, value: JsonValue) -> Iterator[Problem]:
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        keys, place = _place(value, detail["loc"])
        path, given = json_path("$", *keys), excerpt(place)
        match detail["type"]:
            case "missing" | "missing_keyword_only_argument":
                yield Problem(json_path(path, detail["loc"][-1]), _MISSING, given)
            case "extra_forbidden" | "unexpected_keyword_argument":
                yield Problem(path, _UNKNOWN, given)
            case "json_invalid":
                yield Problem(path, _UNREADABLE, given)
            case _:
                yield Problem(path, detail["msg"], given)


def _place(value: JsonValue, location: Sequence[str | int]) -> tuple[list[str | int], JsonValue]:
    """The keys of a location that the value has, and what is there.

    pydantic puts the names of a union's members among the keys, and the value is what tells them apart.
    """
    keys = []
    for key in location:
        child = _child(value, key)
        if child is not _ABSENT:
            keys.append(key)
            value = cast("JsonValue", child)
    return keys, value


def _child(value: JsonValue, key: str | int) -> object:
    if isinstance(value, FrozenDict):
        return value.get(cast("str", key), _ABSENT)
    if isinstance(value, tuple) and isinstance(key, int) and key < len(value):
        return value[key]
    return _ABSENT


# ---------------------------------------------------------------- from schemas


def of_schema(schema: JsonObject) -> Contract[JsonValue]:
    """The contract of a JSON Schema; what is read is the value itself. References to elsewhere are refused.

    Raises:
        TypeError: if it is no JSON Schema.
    """
    try:
        validator = jsonschema_rs.validator_for(thaw(schema), mask="the value", retriever=_refuse)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise TypeError(f"no valid JSON Schema: {getattr(error, 'message', error)}") from None

    def read(value: JsonValue) -> JsonValue:
        try:
            problems = tuple(_mismatches(validator, value))
        except UnicodeEncodeError:
            problems = (Problem("$", _UNREADABLE, excerpt(value)),)
        if problems:
            raise MismatchError(problems)
        return value

    return Contract(schema, read)


def arguments_of_schema(schema: JsonObject) -> Callable[[JsonValue], dict[str, Any]]:
    """A reader of arguments for a schema: a plain dict of what the schema allows."""
    contract = of_schema(schema)

    def read(value: JsonValue) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _no_object(value)
        return cast("dict[str, Any]", thaw(contract.read(value)))

    return read


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is elsewhere; put the definition into the schema")


def _mismatches(validator: jsonschema_rs.Validator, value: JsonValue) -> Iterator[Problem]:
    for error in islice(validator.iter_errors(thaw(value)), _ERRORS):
        _, place = _place(value, error.instance_path)
        path, given = json_path("$", *error.instance_path), excerpt(place)
        match error.kind.as_dict():
            case {"property": str(name)}:
                yield Problem(json_path(path, name), _MISSING, given)
            case {"unexpected": [*names]}:
                for name in map(str, names):
                    yield Problem(json_path(path, name), _UNKNOWN, excerpt(cast("Any", place)[name]))
            case _:
                yield Problem(path, error.message, given)


def _no_object(value: JsonValue) -> MismatchError:
    return MismatchError((Problem("$", "give an object of arguments by name", excerpt(value)),))
