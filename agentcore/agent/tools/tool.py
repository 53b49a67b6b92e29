"""Tools: functions that a model can call, and what the loop and the model have to know of them."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Protocol,
    TypeAlias,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import attrs
from attrs import field
from pyrsistent import PVector
from typing_extensions import ParamSpec, TypeVar

from agentcore.agent.models.base import ToolDefinition
from agentcore.agent.tools.contract import (
    Contract,
    InvalidToolError,
    InvalidToolInputError,
    InvalidToolOutputError,
    MismatchError,
    arguments_of_schema,
    of_parameters,
    of_type,
)
from agentcore.errors import InvalidJsonError
from agentcore.machine.effects import ToolSpec, ToolSucceeded
from agentcore.machine.processors import State, new_state
from agentcore.messages.brief import Trail, json_path, keys_of
from agentcore.messages.content import ToolCall
from agentcore.messages.converters import context, input_schema, options
from agentcore.messages.interrupts import Interrupt, ask
from agentcore.messages.messages import OUTPUT_TYPES, Message, ToolMessage, ToolOutput, ToolResultPart
from agentcore.messages.values import (
    NO_ENTRIES,
    JsonObject,
    JsonValue,
    Vector,
    freeze,
    sealed,
    strict_key,
    thaw,
)
from agentcore.messages.wire import message_to_wire

if TYPE_CHECKING:
    import docstring_parser

__all__ = [
    "ApprovalRule",
    "Arguments",
    "Tool",
    "ToolContext",
    "output_json",
    "to_json",
    "tool",
    "tool_without_execute",
]

_P = ParamSpec("_P", default=...)
_R = TypeVar("_R", default=Any)

Arguments: TypeAlias = dict[str, Any]
"""Arguments of a tool's function by name, as its type hints make them of JSON."""


@sealed
@attrs.frozen(kw_only=True)
class ToolContext(Generic[State]):
    """What a tool can know of its call: it gets this in the parameter with this type, which no model sees.

    `messages` is the step input, without the edits of the step's hooks (claim X1). `invocation_state` is the
    dict that the call was given to share on purpose: the same object in every tool, handler and hook of the
    call (rule context.shared); by default an empty one. `answers` has the answers that the run was given so
    far, by the ids of the questions.
    """

    tool_call_id: str
    messages: Vector[Message]
    step_number: int
    experimental_context: JsonValue = field(default=None, converter=context, eq=strict_key)
    invocation_state: State = field(factory=new_state, eq=False, repr=False)
    answers: JsonObject = field(default=NO_ENTRIES, eq=strict_key, repr=False)

    def interrupt(self, name: str, *, reason: object = None) -> JsonValue:
        """Ask a person: return the answer if the run was given one, or end the run with the question.

        When it goes on, the tool is called again with the same input: what it does before it asks, it does
        once more. Calls of the same step that have finished are not run again.

        Args:
            name: the name of the question, which ends the id that `resume` takes an answer by; each question
                that is asked here needs one of its own.
            reason: JSON for whoever answers, such as a text.

        Returns:
            The answer, any JSON.
        """
        asked = Interrupt(
            name=name, reason=reason, step_number=self.step_number, tool_call_id=self.tool_call_id
        )
        return ask(asked, self.answers)


ApprovalRule: TypeAlias = Callable[[Arguments, ToolContext[Any]], bool | Awaitable[bool]]
"""A function that returns whether a call with these arguments needs approval."""


def _schema_reader(tool: Tool[..., Any]) -> Callable[[JsonValue], Arguments]:
    try:
        return arguments_of_schema(tool.input_schema)
    except TypeError as error:
        raise InvalidToolError(tool.name, str(error)) from None


@sealed
@attrs.frozen
class Tool(Generic[_P, _R]):
    """A tool, and still the function that it was made of: calling the tool calls the function.

    `@tool` makes it of a function, and `tool_without_execute` without one. Make it directly of a name, a JSON
    Schema and a function that takes the schema's properties by name, for tools that come from elsewhere.

    `needs_approval` says whether calls wait for approval, or is a function of the arguments and the context
    that says so. `to_model_output` turns what the tool returned into the output for the model. `timeout` is
    in seconds, for one call. `read` makes the function's arguments of JSON input, where the schema does not
    check everything; with another schema, give `attrs.evolve` another `read` as well. `context_parameter` is
    the name of the parameter for the ToolContext.

    Raises:
        InvalidToolError: if it cannot work; the text says what to change.
        InvalidJsonError: if the schema or the options are not JSON.
    """

    name: str = field()
    input_schema: JsonObject = field(converter=input_schema, eq=strict_key)
    description: str | None = field(default=None, kw_only=True)
    execute: Callable[_P, _R] | None = field(default=None, kw_only=True)
    needs_approval: bool | ApprovalRule = field(default=False, kw_only=True)
    to_model_output: Callable[[Any], ToolOutput] | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)
    provider_options: JsonObject | None = field(default=None, converter=options, kw_only=True, eq=strict_key)
    dynamic: bool = field(default=False, kw_only=True)
    context_parameter: str | None = field(default=None, kw_only=True)
    # Made anew for every tool, so equality is that of what it is made from.
    read: Callable[[JsonValue], Arguments] = field(
        default=attrs.Factory(_schema_reader, takes_self=True), kw_only=True, eq=False, repr=False
    )
    is_generator: bool = field(init=False, eq=False, repr=False)
    """Whether it gives preliminary results: an async generator, whose last value is the result."""
    is_async: bool = field(init=False, eq=False, repr=False)
    """Whether its function runs in the event loop; one that is not runs in a thread of its own."""

    @is_generator.default
    def _gives_values(self) -> bool:
        return inspect.isasyncgenfunction(self.execute)

    @is_async.default
    def _awaits(self) -> bool:
        return inspect.iscoroutinefunction(self.execute) or self.is_generator

    @name.validator
    def _is_name(self, _: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, str) or not value:
            raise InvalidToolError(str(value), "its name must be a text that is not empty")

    @timeout.validator
    def _is_time(self, _: attrs.Attribute[Any], value: float | None) -> None:
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise InvalidToolError(
                self.name, f"timeout is seconds above 0, or None for no limit, not {value}"
            )

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the function as it is, without checks. Raises InvalidToolError if there is none."""
        return self._function(*args, **kwargs)

    @property
    def _function(self) -> Callable[_P, _R]:
        if self.execute is None:
            raise InvalidToolError(self.name, "it has no function; its calls are for the caller of the run")
        return self.execute

    # ------------------------------------------------------------ what others know of it

    @property
    def definition(self) -> ToolDefinition:
        """The tool as a model gets it: name, description and schema."""
        return ToolDefinition(
            self.name,
            description=self.description,
            input_schema=self.input_schema,
            provider_options=self.provider_options,
        )

    @property
    def spec(self) -> ToolSpec:
        """The tool as the loop knows it, without its function."""
        return ToolSpec(
            self.name,
            self.execute is not None,
            needs_approval="ask" if callable(self.needs_approval) else self.needs_approval,
            dynamic=self.dynamic,
        )

    # ------------------------------------------------------------ a call

    def validated(self, value: JsonValue) -> Arguments:
        """Return the arguments that input makes, as new objects (rule tool.arguments-its-own).

        Args:
            value: the input of a call, JSON.

        Returns:
            The arguments by name, with the types of the function's hints.

        Raises:
            InvalidToolInputError: if the input is not what the tool takes.
        """
        try:
            return self.read(freeze(value))
        except MismatchError as error:
            raise InvalidToolInputError(self.name, error.problems) from error.__cause__

    def checked(self, call: ToolCall) -> ToolCall:
        """Return the `call` as it is, or marked invalid, with the error that the model is to see.

        A provider has checked its own calls, and what is marked already stays as it is.
        """
        return self.read_call(call)[0]

    def read_call(self, call: ToolCall) -> tuple[ToolCall, Arguments | None]:
        """Return the `call` as `checked` does, and the arguments that its input makes, or None if unread."""
        if call.provider_executed or call.invalid:
            return call, None
        try:
            return call, self.validated(call.input)
        except InvalidToolInputError as error:
            return attrs.evolve(call, invalid=True, dynamic=True, error=str(error)), None

    def approval(self, arguments: Arguments, tool_context: ToolContext[Any]) -> bool | Awaitable[bool]:
        """Return whether a call needs approval: `needs_approval`, or what it returns if it is a function.

        Args:
            arguments: the arguments of the call, by name.
            tool_context: the context of the call.

        Returns:
            Whether somebody has to approve the call; awaitable if the function is async.
        """
        if callable(self.needs_approval):
            return self.needs_approval(arguments, tool_context)
        return self.needs_approval

    def call(self, arguments: Arguments, tool_context: ToolContext[Any]) -> Any:
        """Call the function.

        Args:
            arguments: the arguments by name, as `validated` returns them.
            tool_context: the context, for the parameter that takes it, if there is one.

        Returns:
            What the function returns, a coroutine, or an async generator (see `is_async`).

        Raises:
            InvalidToolError: if there is no function.
            Exception: whatever the function raises.
        """
        function = cast("Callable[..., Any]", self._function)
        if self.context_parameter is None:
            return function(**arguments)
        return function(**arguments, **{self.context_parameter: tool_context})

    # ------------------------------------------------------------ outcomes

    def output(self, value: object) -> JsonValue:
        """Return as frozen JSON what the tool returned, or a preliminary result (see `results.to_json`).

        Args:
            value: JSON, or what pydantic turns into JSON.

        Returns:
            The JSON.

        Raises:
            InvalidToolOutputError: if it cannot be turned into JSON, with the path.
        """
        try:
            return to_json(value)
        except InvalidJsonError as error:
            raise InvalidToolOutputError(self.name, error.path, error.reason) from None

    def succeeded(self, tool_call_id: str, value: object) -> ToolSucceeded:
        """Return the outcome of a call that returned a value.

        With `to_model_output`, a value that is not JSON is recorded as the model gets it.

        Args:
            tool_call_id: the id of the call.
            value: what the tool returned.

        Returns:
            The outcome.

        Raises:
            InvalidToolOutputError: if the value is not JSON, or `to_model_output` returned no ToolOutput.
        """
        if self.to_model_output is None:
            return ToolSucceeded(tool_call_id, self.output(value))
        shown = self.to_model_output(value)
        if type(shown) not in OUTPUT_TYPES:
            reason = f"to_model_output returns a ToolOutput such as TextOutput, not {type(shown).__name__}"
            raise InvalidToolOutputError(self.name, "$", reason)
        try:
            recorded = to_json(value)
        except InvalidJsonError:
            # What has no JSON cannot be kept in the run. The model's form can, and is what later steps see
            # anyway.
            recorded = output_json(shown)
        return ToolSucceeded(tool_call_id, recorded, model_output=shown)


_BYTES: Final = (bytes, bytearray, memoryview)


def to_json(value: object) -> JsonValue:
    """The value as frozen JSON: JSON as it is, and what pydantic can turn into JSON.

    That is pydantic models, dataclasses, dates, enums, sets, UUIDs and the like. Models say themselves how
    their bytes are written; other bytes are refused, because no text is right for all of them.

    Raises:
        InvalidJsonError: with the path of what cannot be turned into JSON.
    """
    try:
        return freeze(value)
    except InvalidJsonError:
        pass
    for trail, leaf in _leaves(value):
        if isinstance(leaf, _BYTES):
            reason = "bytes are no JSON; return text (such as base64), or give the tool a to_model_output"
            raise InvalidJsonError(json_path("$", *keys_of(trail)), reason)
    try:
        plain = _jsonable(value)
    except (TypeError, ValueError) as error:
        raise _located(value, error) from None
    return freeze(plain)


def _jsonable(value: object) -> Any:
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - with the first value that is no JSON

    return to_jsonable_python(value, fallback=_plain)


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PVector):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON; return a pydantic model, a dataclass or plain JSON")


def _located(value: object, error: Exception) -> InvalidJsonError:
    for trail, leaf in _leaves(value):
        try:
            _jsonable(leaf)
        except (TypeError, ValueError) as reason:
            return InvalidJsonError(json_path("$", *keys_of(trail)), str(reason))
    return InvalidJsonError("$", str(error))


def _leaves(value: object) -> Iterator[tuple[Trail, object]]:
    """Yield what is in containers and dataclasses, at any depth, in order; each container once."""
    seen: set[int] = set()
    pending: list[tuple[Trail, object]] = [(None, value)]
    while pending:
        trail, node = pending.pop()
        children = _children(trail, node)
        if children is None:
            yield trail, node
        elif id(node) not in seen:
            seen.add(id(node))
            pending += reversed(children)


def _children(trail: Trail, node: object) -> list[tuple[Trail, object]] | None:
    if isinstance(node, Mapping):
        return [((trail, str(key)), child) for key, child in node.items()]
    if isinstance(node, (list, tuple, AbstractSet, PVector)):
        return [((trail, index), child) for index, child in enumerate(node)]
    # A pydantic dataclass writes its own fields, as a model does.
    if dataclasses.is_dataclass(node) and not hasattr(node, "__pydantic_serializer__"):
        names = [one.name for one in dataclasses.fields(node)]
        return [((trail, name), getattr(node, name)) for name in names]
    return None


def output_json(output: ToolOutput) -> JsonValue:
    """An output that a model is shown, as JSON: `{"type": ..., "value": ...}`."""
    wire: Any = message_to_wire(ToolMessage([ToolResultPart("", "", output=output)]))
    return freeze(wire["content"][0]["output"])


# ---------------------------------------------------------------- tools of functions and of types

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
    and its docstring (in any of the usual styles, with the parameters' descriptions) unless given.

    Args:
        function: sync, async, or an async generator; a parameter with the type ToolContext gets the call's
            context. None for a decorator with settings.
        settings: fields of the `Tool` in place of what the function says, such as `name` or `timeout`.

    Returns:
        The tool, or the decorator that makes it.

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
    import docstring_parser  # noqa: PLC0415 - with the first tool

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
        InvalidToolError: if no tool can have the type or the schema.
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
        reason = (
            "the input of a tool is an object; describe it by a pydantic model, a dataclass or a TypedDict"
        )
        raise InvalidToolError(name, reason)
    return contract


def _plain_arguments(contract: Contract[Any]) -> Callable[[JsonValue], Arguments]:
    def read(value: JsonValue) -> Arguments:
        contract.read(value)
        return cast("Arguments", thaw(value))

    return read
