"""Fields of an agent: what is given for them, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import attrs

from agentcore.agent.call.checks import check_model
from agentcore.agent.call.errors import InvalidAgentError
from agentcore.agent.middleware import Middleware
from agentcore.agent.models.base import LanguageModel
from agentcore.agent.output import Output
from agentcore.agent.stop import StopCondition
from agentcore.agent.tools import InvalidToolError, Tool
from agentcore.errors import InvalidMessageError
from agentcore.messages.converters import json_object
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenList,
    JsonObject,
    frozen_list,
)

__all__ = [
    "at_least",
    "conditions_of",
    "is_flag",
    "is_hook",
    "is_model",
    "is_output",
    "middleware_of",
    "models_of",
    "names_of",
    "options_of",
    "settings_of",
    "tools_of",
]

_T = TypeVar("_T")


def tools_of(value: Iterable[object]) -> tuple[Tool[..., Any], ...]:
    """Returns the tools as a tuple.

    Of objects, because that is what a type checker takes a list of different tools for: mypy finds no other
    type that two tools with other parameters have in common.

    Raises:
        InvalidToolError: for something that is no tool, and for two tools of one name.
    """
    tools = _tuple(value, "$.tools", "a list of tools")
    names: set[str] = set()
    for each in tools:
        if not isinstance(each, Tool):
            name = str(getattr(each, "__name__", each))
            raise InvalidToolError(name, "it is no tool; decorate the function with @tool")
        if each.name in names:
            raise InvalidToolError(each.name, "two tools have that name; models tell them apart by it")
        names.add(each.name)
    return cast("tuple[Tool[..., Any], ...]", tools)


def models_of(value: Iterable[LanguageModel]) -> tuple[LanguageModel, ...]:
    """Models as a tuple. Raises InvalidAgentError for something that is no model."""
    models = _tuple(value, "$.models", "a list of models")
    for index, one in enumerate(models):
        _check_model(one, f"$.models[{index}]")
    return models


def is_model(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """A validator of models. Raises InvalidAgentError for something that is no model."""
    _check_model(value, f"$.{attribute.name}")


def _check_model(value: object, path: str) -> None:
    try:
        check_model(value, path)
    except InvalidMessageError as error:
        raise InvalidAgentError(error.path, error.reason) from None


def is_hook(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """A validator of hooks. Raises InvalidAgentError for what cannot be called."""
    if value is not None and not callable(value):
        raise _wrong(f"$.{attribute.name}", "a function or None", value)


def is_flag(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """A validator of switches. Raises InvalidAgentError for what is neither True nor False."""
    if not isinstance(value, bool):
        raise _wrong(f"$.{attribute.name}", "True or False", value)


def is_output(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """A validator of outputs. Raises InvalidAgentError for what is none, such as a type."""
    if value is not None and not isinstance(value, Output):
        raise _wrong(f"$.{attribute.name}", "an Output, such as Output.of(type),", value)


def middleware_of(value: Iterable[Middleware]) -> tuple[Middleware, ...]:
    """The handlers. Raises InvalidAgentError for one that no stage has registered."""
    handlers = _tuple(value, "$.middleware", "a list of handlers")
    for index, one in enumerate(cast("tuple[object, ...]", handlers)):
        if not isinstance(one, Middleware):
            name = getattr(one, "__name__", type(one).__name__)
            reason = f"{name} is no middleware; register it, as in InvokeModelStage.wrap({name})"
            raise InvalidAgentError(f"$.middleware[{index}]", reason)
    return handlers


def conditions_of(value: StopCondition | Iterable[StopCondition] | None) -> tuple[StopCondition, ...]:
    """Stop conditions, of one, several or none. Raises InvalidAgentError for what cannot be called."""
    if value is None:
        return NO_ITEMS
    if callable(value):
        return FrozenList((value,))
    conditions = _tuple(value, "$.stop_when", "a function, a list of them or None")
    for index, one in enumerate(conditions):
        if not callable(one):
            raise _wrong(f"$.stop_when[{index}]", "a function", one)
    return conditions


def names_of(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """Names as a tuple. Raises InvalidAgentError for what is no list of texts."""
    if value is None:
        return None
    names = _tuple(value, "$.active_tools", "a list of names")
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise _wrong(f"$.active_tools[{index}]", "a name", name)
    return names


def options_of(value: Mapping[str, object] | None) -> JsonObject | None:
    """Provider options, frozen. Raises InvalidAgentError for what is no object."""
    return None if value is None else _object(value, "$.provider_options")


def settings_of(value: Mapping[str, object] | None) -> JsonObject:
    """Settings of a model, frozen; None means `{}`. Raises InvalidAgentError for what is no object."""
    return _object({} if value is None else value, "$.settings")


def _object(value: object, path: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise _wrong(path, "an object", value)
    return json_object(value, path)


def _tuple(value: Iterable[_T], path: str, expected: str) -> tuple[_T, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _wrong(path, expected, value)
    return frozen_list(value)


def _wrong(path: str, expected: str, value: object) -> InvalidAgentError:
    return InvalidAgentError(path, f"expected {expected}, got {type(value).__name__}")


def at_least(limit: int) -> Callable[[Any, attrs.Attribute[Any], float], None]:
    """A validator of numbers. Raises ValueError for one below the limit, InvalidAgentError for no number."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: float) -> None:
        if not isinstance(value, int | float):
            raise _wrong(f"$.{attribute.name}", "a number", value)
        if value < limit:
            raise ValueError(f"{attribute.name} is {limit} or more, not {value}")

    return check
