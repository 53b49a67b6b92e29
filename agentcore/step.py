"""One step as a function of values: the chains before, what hooks and model gave, the chains after."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
from attrs import field

from agentcore.chains import Chains
from agentcore.content import ContentPart, to_response_messages
from agentcore.hooks import NO_OVERRIDE, StepOverride, StepRecord
from agentcore.messages import Message
from agentcore.prompt import SystemPrompt
from agentcore.values import Vector, sealed, vector

__all__ = ["StepRecord", "StepResults", "prompt_of", "step"]


def _parts(value: Iterable[ContentPart]) -> Vector[ContentPart]:
    return vector(value)


@sealed
@attrs.frozen
class StepResults:
    """What a step brought: the override that its hooks returned, and its content."""

    override: StepOverride = NO_OVERRIDE
    content: Vector[ContentPart] = field(factory=vector, converter=_parts)


def prompt_of(chains: Chains, system: SystemPrompt | None = None) -> Vector[Message]:
    """The prompt of a step: of its override if there is one, else of the step input.

    `system` replaces the run's. Without an override, or with one that begins with the step input, folding
    costs what is new, whatever the history's length. Raises as `to_prompt` does.
    """
    if chains.override is not None:
        return chains.folded_of(chains.override, system).prompt()
    folded = chains.folded if system is None else chains.folded.with_system(system)
    return folded.prompt()


def step(chains: Chains, results: StepResults) -> Chains:
    """The chains after a step: its content has become messages of the response chain, its override is gone.

    Rules step.response-grows, step.override-dropped and those named content.* and output.*.
    """
    return chains.appended(to_response_messages(results.content))
