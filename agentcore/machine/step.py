"""One step as a function of values: the chains before, what the step brought, the chains after.

`step` is what a run goes through (`agentcore.machine.run`): it prepares the chains with what the hooks
returned, the prompt is made of them and the model is called, and finishes them with what came of that.
Nothing else changes the chains of a run between its steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentcore.machine.hooks import ProcessorEdit, StepRecord, StepResults, merged
from agentcore.messages.chains import Chains
from agentcore.messages.content import ContentPart, to_response_messages
from agentcore.messages.messages import Message
from agentcore.messages.prompt import PromptState
from agentcore.messages.values import Vector

__all__ = ["StepRecord", "StepResults", "finish", "prepare", "prompt_of", "prompt_state", "step"]


def step(chains: Chains, results: StepResults) -> Chains:
    """Returns the chains after a step (rule step.folded).

    Folded over the results of a run's records (`StepRecord.results`), from the chains that the run began with
    (`run.history[0].chains`), it gives the chains of the run, ids included.

    Args:
        chains: the chains before the step.
        results: what its hooks returned and what it produced; and what was answered before it.

    Raises:
        InvalidPromptError: for something that is no message.
    """
    return finish(prepare(_replied(chains, results), results.edits), results.content)


def prepare(chains: Chains, edits: Sequence[ProcessorEdit]) -> Chains:
    """Returns the chains that a step's prompt is made of: lasting edits are in, and the override is there.

    Difference.LASTING_MESSAGES; of several lasting edits the last one holds. Without edits, the chains
    themselves.
    """
    override = merged(edits)
    return _with_lasting(chains, edits).with_override(override.messages, override.system)


def finish(chains: Chains, content: Iterable[ContentPart]) -> Chains:
    """Returns the chains after a step whose chains were prepared: its messages are in, its override is gone.

    Rules step.response-grows, step.override-dropped and those named content.* and output.*.
    """
    return chains.appended(to_response_messages(content))


def prompt_of(chains: Chains, results: StepResults | None = None) -> Vector[Message]:
    """Returns the prompt of a step: of its override if there is one, else of the step input.

    Costs what is new, whatever the history's length, if the override begins with the step input.

    Args:
        chains: the chains that were prepared; or those before the step, if there are results.
        results: what the step's hooks returned; its content does not matter here.

    Raises:
        MissingToolResultsError: and others, as `agentcore.messages.prompt.to_prompt` does.
    """
    if results is not None:
        chains = prepare(_replied(chains, results), results.edits)
    return prompt_state(chains).prompt()


def prompt_state(chains: Chains) -> PromptState:
    """Returns what the prompt of a step is made of, folded: its override, or else the step input.

    Costs what is new, as `prompt_of` does. `chains` are those that were prepared.
    """
    if chains.override is not None:
        return chains.folded_of(chains.override, chains.override_system)
    system = chains.override_system
    return chains.folded if system is None else chains.folded.with_system(system)


def _replied(chains: Chains, results: StepResults) -> Chains:
    return chains.appended(results.replies) if results.replies else chains


def _with_lasting(chains: Chains, edits: Sequence[ProcessorEdit]) -> Chains:
    for edit in reversed(edits):
        messages = edit.override.lasting_messages
        if messages is not None:
            return chains.with_lasting(messages, edit.lasting_ids, by=edit.processor_id)
    return chains
