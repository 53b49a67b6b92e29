"""Prompts that middleware has rewritten, judged as the run judged its own."""

from __future__ import annotations

from typing import cast

import attrs

from agentcore.agent.middleware import Handlers, InvokeModelContext
from agentcore.agent.models.base import holds_history
from agentcore.machine.effects import NeedModel
from agentcore.machine.prompting import step_holds_history
from agentcore.machine.state import Draft, Run
from agentcore.machine.step import prompt_state
from agentcore.messages.prompt import PromptState, fold
from agentcore.messages.rounds import Rounds
from agentcore.messages.values import following

__all__ = ["check_passed_on"]


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
