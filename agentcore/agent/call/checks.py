"""Checks what handlers of middleware pass on, yield and return, before the run takes anything of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast, get_args

import attrs

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
    ModelRequest,
    ModelResponse,
    check_event,
    check_response,
    holds_history,
)
from agentcore.agent.result import AgentResult
from agentcore.agent.tools import Tool
from agentcore.errors import InvalidMessageError
from agentcore.machine.effects import Done, NeedModel, Settings, ToolSucceeded
from agentcore.machine.state import Draft, Interrupted, Run
from agentcore.machine.step import prompt_state, step_holds_history
from agentcore.messages.content import ToolCall, check_part, check_type
from agentcore.messages.messages import OUTPUT_TYPES
from agentcore.messages.prompt import PromptState, fold
from agentcore.messages.rounds import Rounds
from agentcore.messages.values import following

__all__ = ["check_given", "check_model", "check_passed", "check_passed_on"]

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
