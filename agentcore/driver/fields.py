"""Fields of an agent: what is given for them, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import attrs

from agentcore.middleware import Middleware
from agentcore.models.base import LanguageModel
from agentcore.stop import StopCondition
from agentcore.tools import InvalidToolError, Tool
from agentcore.values import (
    NO_ITEMS,
    FrozenList,
    JsonObject,
    JsonValue,
    freeze,
    frozen_list,
    frozen_list_or_none,
)

__all__ = [
    "at_least",
    "conditions_of",
    "context_of",
    "middleware_of",
    "models_of",
    "names_of",
    "options_of",
    "settings_of",
    "tools_of",
]


def tools_of(value: Iterable[object]) -> tuple[Tool[..., Any], ...]:
    """Returns the tools as a tuple.

    Of objects, because that is what a type checker takes a list of different tools for: mypy finds no other
    type that two tools with other parameters have in common.

    Raises:
        InvalidToolError: for something that is no tool, and for two tools of one name.
    """
    tools = frozen_list(value)
    names: set[str] = set()
    for each in tools:
        if not isinstance(each, Tool):
            name = str(getattr(each, "__name__", each))
            raise InvalidToolError(name, "it is no tool; decorate the function with @tool")
        if each.name in names:
            raise InvalidToolError(each.name, "two tools have that name; models tell them apart by it")
        names.add(each.name)
    return tools


def models_of(value: Iterable[LanguageModel]) -> tuple[LanguageModel, ...]:
    """Models as a tuple."""
    return frozen_list(value)


def middleware_of(value: Iterable[Middleware]) -> tuple[Middleware, ...]:
    """The handlers. Raises TypeError for one that no stage has registered."""
    handlers = frozen_list(value)
    for one in cast("tuple[object, ...]", handlers):
        if not isinstance(one, Middleware):
            name = getattr(one, "__name__", type(one).__name__)
            raise TypeError(f"{name} is no middleware; register it, as in InvokeModelStage.wrap({name})")
    return handlers


def conditions_of(value: StopCondition | Iterable[StopCondition] | None) -> tuple[StopCondition, ...]:
    """Stop conditions, of one, several or none."""
    if value is None:
        return NO_ITEMS
    return FrozenList((value,)) if callable(value) else frozen_list(value)


def names_of(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """Names as a list."""
    return frozen_list_or_none(value)


def options_of(value: Mapping[str, object] | None) -> JsonObject | None:
    """Provider options, frozen."""
    return cast("JsonObject | None", freeze(value, "$.provider_options"))


def settings_of(value: Mapping[str, object] | None) -> JsonObject:
    """Settings of a model, frozen; none is none of them."""
    return cast("JsonObject", freeze({} if value is None else value, "$.settings"))


def context_of(value: object) -> JsonValue:
    """The experimental_context, frozen."""
    return freeze(value, "$.experimental_context")


def at_least(limit: int) -> Callable[[Any, attrs.Attribute[Any], float], None]:
    """A validator of numbers. Raises ValueError for one below the limit."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: float) -> None:
        if value < limit:
            raise ValueError(f"{attribute.name} is {limit} or more, not {value}")

    return check
