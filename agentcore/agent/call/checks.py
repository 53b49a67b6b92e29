"""Checks what people give: the fields of an agent, and what handlers of middleware pass on and return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, cast, get_args

import attrs

from agentcore.agent.call.config import StopCondition, UsageLimits
from agentcore.agent.call.errors import InvalidAgentError
from agentcore.agent.middleware import (
    AgentStreamContext,
    ExecuteToolContext,
    Handlers,
    InvokeModelContext,
    Middleware,
    ModelDelta,
)
from agentcore.agent.models.base import (
    InvalidResponseError,
    LanguageModel,
    ModelRequest,
    ModelResponse,
    check_event,
    check_response,
    holds_history,
)
from agentcore.agent.output import AgentResult, Output
from agentcore.agent.tools import InvalidToolError, Tool
from agentcore.errors import InvalidMessageError
from agentcore.machine.effects import Done, NeedModel, Settings, ToolSucceeded
from agentcore.machine.state import Draft, Interrupted, Run
from agentcore.machine.step import prompt_state, step_holds_history
from agentcore.messages.chains import PromptState, fold
from agentcore.messages.content import ToolCall, check_part, check_type
from agentcore.messages.converters import json_object
from agentcore.messages.messages import OUTPUT_TYPES
from agentcore.messages.prompt import Rounds
from agentcore.messages.values import NO_ITEMS, FrozenList, JsonObject, following, frozen_list

__all__ = [
    "at_least",
    "check_given",
    "check_model",
    "check_passed",
    "check_passed_on",
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

_PASSED: Final[Mapping[type, Mapping[str, type]]] = {
    InvokeModelContext: {"request": ModelRequest},
    ExecuteToolContext: {"tool": Tool, "call": ToolCall},
    AgentStreamContext: {"settings": Settings},
}
_OUTPUTS: Final = (type(None), *OUTPUT_TYPES)
_ENDED: Final = (Done, Interrupted)
_DELTAS: Final = get_args(ModelDelta)


def check_passed(handler: Middleware, context: object) -> None:
    """Checks a context that a handler passes on.

    Raises:
        MiddlewareError: With the path of a field that has a wrong type.
    """
    try:
        for name, kind in _PASSED[type(context)].items():
            check_type(getattr(context, name), (kind,), f"$.{name}")
        if isinstance(context, InvokeModelContext):
            check_model(context.model, "$.model")
        elif isinstance(context, ExecuteToolContext):
            check_part(context.call, "$.call")
    except InvalidMessageError as error:
        raise handler.error(f"{error}; make the context with attrs.evolve", error.path) from None


def check_model(model: object, path: str) -> None:
    """Checks that an object can be a model. Raises InvalidMessageError if it cannot."""
    if not isinstance(getattr(model, "model_id", None), str) or not callable(
        getattr(model, "generate", None)
    ):
        reason = f"expected a model, with `model_id` and `generate`, got {type(model).__name__}"
        raise InvalidMessageError(path, reason)


def check_given(handler: Middleware, given: object) -> None:
    """Checks a result that a handler returns, or an event that it yields, which has the type of one.

    Raises:
        MiddlewareError: With the path of what is wrong inside.
    """
    try:
        _check_inside(given)
    except (InvalidMessageError, InvalidResponseError) as error:
        raise handler.error(f"{error.path}: {error.reason}", error.path) from None


def _check_inside(given: object) -> None:
    if isinstance(given, ModelResponse):
        check_response(given)
    elif isinstance(given, _DELTAS):
        check_event(given)
    elif isinstance(given, ToolSucceeded):
        check_type(given.model_output, _OUTPUTS, "$.model_output")
    elif isinstance(given, AgentResult):
        check_type(given.run, (Run,), "$.run")
        if not isinstance(given.run.pending, _ENDED):
            kind = type(given.run.pending).__name__
            raise InvalidMessageError(
                "$.run", f"expected a run that has ended well or asks, got one at {kind}"
            )


# ---------------------------------------------------------------- prompts that middleware has rewritten


def check_passed_on(run: Run, context: InvokeModelContext, handlers: Handlers) -> None:
    """Check the request that the handlers of a model's stage passed on; `run` needs that model.

    Does nothing where they changed neither prompt nor model. To read messages that were added at the end
    costs what they cost; other changes cost the whole prompt, as making it did.

    Raises RefusedPromptError or MissingToolResultsError, with the place in the request's prompt.
    """
    need, draft = cast("NeedModel", run.pending), cast("Draft", run.current)
    holds = holds_history(context.model)
    is_known = holds or not step_holds_history(run.settings, draft.edits)
    prompt = context.request.prompt
    if prompt is need.prompt and is_known:
        return
    state = prompt_state(run.chains)
    added = following(prompt, need.prompt) if is_known else None
    if added is None:
        # Approvals are no part of prompts, and are those of the run.
        known = Rounds(asked=state.rounds.asked, responded=state.rounds.responded)
        judged, shift = fold(PromptState(rounds=known), prompt), 0
    else:
        judged, shift = fold(state, added), len(need.prompt) - state.count
    fault = judged.fault(holds_history=holds)
    if fault is None:
        return
    if fault.message is not None:
        fault = attrs.evolve(fault, message=fault.message + shift)
    names = ", ".join(each.name for each in (*handlers.inputs, *handlers.wraps))
    raise fault.error("$.prompt").by(f"middleware {names}", run.step_number, is_of_the_step=True)


_T = TypeVar("_T")


# ---------------------------------------------------------------- the fields of an agent


def tools_of(value: Iterable[object]) -> tuple[Tool[..., Any], ...]:
    """Returns the tools as a tuple.

    `value` is an Iterable[object] because mypy infers list[object] for tools whose parameters differ.

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
            raise InvalidToolError(
                each.name, "two tools have this name; give each its own, by which models call it"
            )
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


def are_limits(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """A validator of limits. Raises InvalidAgentError unless the value is UsageLimits or None."""
    if value is not None and not isinstance(value, UsageLimits):
        raise _wrong(f"$.{attribute.name}", "UsageLimits, such as UsageLimits(requests=10)", value)


def is_output(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """A validator of outputs. Raises InvalidAgentError for anything else, such as a type."""
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
    """Return stop conditions as a tuple, given one, several or None; raise InvalidAgentError for others."""
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
