"""Making tools of functions with type hints, and of types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from typing import (
    Any,
    Final,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import docstring_parser

from agentcore.agent.tools.contract import Contract, InvalidToolError, of_parameters, of_type
from agentcore.agent.tools.tool import ApprovalRule, Arguments, Tool, ToolContext
from agentcore.messages.messages import ToolOutput
from agentcore.messages.values import JsonObject, JsonValue, freeze, thaw

__all__ = ["tool", "tool_without_execute"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class _Decorator(Protocol):
    def __call__(self, function: Callable[_P, _R], /) -> Tool[_P, _R]: ...


@overload
def tool(
    function: Callable[_P, _R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: bool | ApprovalRule = False,
    to_model_output: Callable[[Any], ToolOutput] | None = None,
    timeout: float | None = None,
    provider_options: Mapping[str, object] | None = None,
    dynamic: bool = False,
) -> Tool[_P, _R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: bool | ApprovalRule = False,
    to_model_output: Callable[[Any], ToolOutput] | None = None,
    timeout: float | None = None,
    provider_options: Mapping[str, object] | None = None,
    dynamic: bool = False,
) -> _Decorator: ...
def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Make a tool of a function: `@tool`, `@tool(timeout=5, ...)`, or `tool(instance.method, ...)`.

    Type hints make the schema of its input and check it; name and description are those of the function
    and its docstring (in any of the usual styles, with the parameters' descriptions) unless given. The
    function is sync, async, or an async generator; a parameter with the type ToolContext is told of the call.

    Raises:
        InvalidToolError: if the function cannot be a tool; the text says what to change.
    """
    if function is None:
        return lambda decorated: _of_function(decorated, **settings)
    return _of_function(function, **settings)


def _of_function(
    function: Callable[_P, _R], *, name: str | None = None, description: str | None = None, **settings: Any
) -> Tool[_P, _R]:
    name = name or str(getattr(function, "__name__", type(function).__name__))
    if not inspect.isroutine(function):
        raise InvalidToolError(name, f"make it of a function or a method, not of a {type(function).__name__}")
    if inspect.isgeneratorfunction(function):
        raise InvalidToolError(name, "use an async generator for preliminary results: async def with yield")
    parameters = _parameters(name, function)
    contexts = [each.name for each in parameters if _takes_context(each)]
    if len(contexts) > 1:
        raise InvalidToolError(name, f"one parameter takes the ToolContext, not {' and '.join(contexts)}")
    contract = _contract(name, [each for each in parameters if not _takes_context(each)])
    documented = docstring_parser.parse(inspect.getdoc(function) or "")
    return Tool(
        name,
        _described(contract.schema, documented),
        description=description or (documented.description or "").strip() or None,
        execute=function,
        context_parameter=contexts[0] if contexts else None,
        read=contract.read,
        **settings,
    )


def _parameters(name: str, function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters, with hints that are types."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        reason = f"a type hint cannot be resolved: {error}; define the type at the top of the module"
        raise InvalidToolError(name, reason) from None
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _BY_NAME:
            raise InvalidToolError(name, f"models give arguments by name, so {parameter} cannot be given one")
        if parameter.name not in hints:
            reason = (
                f"give the parameter {parameter.name} a type hint (a method is made a tool on the instance)"
            )
            raise InvalidToolError(name, reason)
        found.append(parameter.replace(annotation=hints[parameter.name]))
    return found


def _takes_context(parameter: inspect.Parameter) -> bool:
    # Also `ToolContext | None`, so that the function can be called without one, and `ToolContext[Shared]`.
    kinds = (parameter.annotation, *get_args(parameter.annotation))
    return ToolContext in {get_origin(kind) or kind for kind in kinds if isinstance(kind, Hashable)}


def _contract(name: str, parameters: list[inspect.Parameter]) -> Contract[Arguments]:
    try:
        return of_parameters(name, parameters)
    except TypeError as error:
        raise InvalidToolError(name, str(error)) from None


def _described(schema: JsonObject, documented: docstring_parser.Docstring) -> JsonObject:
    """The schema with the docstring's descriptions of parameters that have none of their own."""
    plain = thaw(schema)
    for parameter in documented.params:
        if parameter.description and parameter.arg_name in plain["properties"]:
            plain["properties"][parameter.arg_name].setdefault("description", parameter.description)
    return cast("JsonObject", freeze(plain))


def tool_without_execute(
    name: str,
    input_schema: type | Mapping[str, object],
    description: str | None = None,
    *,
    needs_approval: bool | ApprovalRule = False,
    provider_options: Mapping[str, object] | None = None,
) -> Tool:
    """A tool that somebody else runs: a call of it ends the run, which waits for the result (`Pending`).

    Its input is a type whose JSON is an object (a model, a dataclass, a TypedDict), or a JSON Schema.

    Raises:
        InvalidToolError: if the type or the schema is none that a tool can have.
    """
    if isinstance(input_schema, Mapping):
        return Tool(
            name,
            input_schema,
            description=description,
            needs_approval=needs_approval,
            provider_options=provider_options,
        )
    contract = _object_type(name, input_schema)
    return Tool(
        name,
        contract.schema,
        description=description,
        needs_approval=needs_approval,
        provider_options=provider_options,
        read=_plain_arguments(contract),
    )


def _object_type(name: str, kind: type) -> Contract[Any]:
    try:
        contract = of_type(kind)
    except TypeError as error:
        raise InvalidToolError(name, str(error)) from None
    if contract.schema.get("type") != "object":
        reason = "its input is an object; use a pydantic model, a dataclass or a TypedDict"
        raise InvalidToolError(name, reason)
    return contract


def _plain_arguments(contract: Contract[Any]) -> Callable[[JsonValue], Arguments]:
    def read(value: JsonValue) -> Arguments:
        contract.read(value)
        return cast("Arguments", thaw(value))

    return read
