"""Converters of fields: what people give for a field, as a value; one for each kind of field.

Values convert where they come in: in the constructors of what people, drivers and models make. What the
machine makes itself has no converters, because its parts are values already.

Each is a named function, because mypy takes the constructor's types from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from agentcore.errors import InvalidJsonError
from agentcore.messages.values import JsonObject, JsonValue, freeze, frozen_list, frozen_list_or_none

__all__ = [
    "context",
    "error",
    "input_json",
    "input_schema",
    "json_object",
    "metadata",
    "metadata_json",
    "model_settings",
    "model_state",
    "names",
    "options",
    "output",
    "reason",
    "response_format",
    "texts",
]

_Object: TypeAlias = Mapping[str, object]


def json_object(value: object, path: str) -> JsonObject:
    """Freeze a JSON object. Raises InvalidJsonError, with the path, for anything else."""
    if not isinstance(value, Mapping):
        raise InvalidJsonError(path, f"expected an object, got {type(value).__name__}")
    return cast("JsonObject", freeze(value, path))


def _optional(value: object, path: str) -> JsonObject | None:
    return None if value is None else json_object(value, path)


# ---------------------------------------------------------------- objects


def options(value: _Object | None) -> JsonObject | None:
    """Freeze provider options."""
    return _optional(value, "$.provider_options")


def metadata(value: _Object | None) -> JsonObject | None:
    """Freeze a provider's metadata of an answer."""
    return _optional(value, "$.provider_metadata")


def model_state(value: _Object | None) -> JsonObject | None:
    """Freeze what a model is to be given with its next request."""
    return _optional(value, "$.model_state")


def response_format(value: _Object | None) -> JsonObject | None:
    """Freeze the format that an answer is asked for in."""
    return _optional(value, "$.response_format")


def model_settings(value: _Object | None) -> JsonObject:
    """Freeze a model's settings; None means `{}`."""
    return json_object({} if value is None else value, "$.settings")


def input_schema(value: _Object) -> JsonObject:
    """Freeze the JSON Schema of a tool's input."""
    return json_object(value, "$.input_schema")


# ---------------------------------------------------------------- any JSON


def context(value: object) -> JsonValue:
    """Freeze an `experimental_context`."""
    return freeze(value, "$.experimental_context")


def input_json(value: object) -> JsonValue:
    """Freeze the input of a call."""
    return freeze(value, "$.input")


def output(value: object) -> JsonValue:
    """Freeze what a tool returned."""
    return freeze(value, "$.output")


def error(value: object) -> JsonValue:
    """Freeze the error of a tool."""
    return freeze(value, "$.error")


def reason(value: object) -> JsonValue:
    """Freeze what a question is about."""
    return freeze(value, "$.reason")


def metadata_json(value: object) -> JsonValue:
    """Freeze what a processor says of the end of a run."""
    return freeze(value, "$.metadata")


# ---------------------------------------------------------------- lists


def names(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return names as a list that cannot change; None stands for no list."""
    return frozen_list_or_none(value)


def texts(value: Iterable[str]) -> tuple[str, ...]:
    """Return texts as a list that cannot change."""
    return frozen_list(value)
