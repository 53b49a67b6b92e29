"""What a run needs before its first step, and before each: made of its settings and its chains."""

from __future__ import annotations

from agentcore.machine.effects import NeedPrepareStep, NeedProcessInput, Settings
from agentcore.machine.hooks import Frozen, StepRecord
from agentcore.machine.prepare import CallPreparation, StepPreparation
from agentcore.messages.chains import Chains
from agentcore.messages.values import Vector

__all__ = ["need_prepare_step", "need_process_input"]


def need_process_input(settings: Settings, chains: Chains) -> NeedProcessInput:
    """The need of a run that is about to begin with these."""
    call = CallPreparation(
        chains=chains,
        system=settings.system,
        request_context=Frozen(settings.experimental_context),
    )
    return NeedProcessInput(call)


def need_prepare_step(settings: Settings, chains: Chains, steps: Vector[StepRecord]) -> NeedPrepareStep:
    """The need of a run that is about to prepare its next step."""
    step = StepPreparation(
        model=settings.model,
        steps=steps,
        step_number=len(steps),
        chains=chains,
        system=settings.system,
        tools=tuple(tool.name for tool in settings.tools or ()),
        tool_choice=settings.tool_choice,
        active_tools=settings.active_tools,
        provider_options=settings.provider_options,
        # Of the call, not of the step before (Difference.CONTEXT_LASTS_ITS_STEP).
        experimental_context=Frozen(settings.experimental_context),
    )
    return NeedPrepareStep(step)
