"""The chains of a run: what it was given, what it has produced, and what its hooks are shown of both.

Everything here is a persistent value. A chain that has grown shares its structure with the one it grew from,
so keeping every step's chains costs memory for what is new only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

import attrs
from attrs import field

from agentcore.errors import InvalidPromptError
from agentcore.messages.message_ids import kept_ids, numbered, sharing
from agentcore.messages.message_input import MESSAGES
from agentcore.messages.messages import AssistantMessage, Message, ToolMessage
from agentcore.messages.prompt import PromptState, SystemPrompt, fold
from agentcore.messages.values import Vector, following, grown, sealed, vector

__all__ = ["Chains", "checked_messages"]

_RESPONSES: Final = frozenset({AssistantMessage, ToolMessage})


def checked_messages(
    messages: Iterable[Message], path: str = "$.messages", known: Vector[Message] | None = None
) -> Vector[Message]:
    """The messages as a vector; those that it shares with `known` need no check.

    Raises InvalidPromptError with the path of the first that is none.
    """
    checked = vector(messages)
    new = checked if known is None else following(checked, known)
    if not MESSAGES.issuperset(map(type, checked if new is None else new)):
        index = next(index for index, message in enumerate(checked) if type(message) not in MESSAGES)
        kind = type(checked[index]).__name__
        raise InvalidPromptError(
            f"expected a message, got {kind}; JSON is read by message_from_wire", f"{path}[{index}]"
        )
    return checked


@sealed
@attrs.frozen(kw_only=True)
class Chains:
    """Initial chain, response chain, step input and the override of the step that is going on.

    The override are the messages that this step's prompt is made of, and the instructions that it begins
    with, `override_system`; None for either is what the run has.

    Made by `start`; the other methods give others. The step input is both chains, or, after a lasting edit,
    `lasting` and the responses from `since` on; the chains themselves stay what they are. `step_input` and
    `folded` follow from the rest and are kept because they cost the history's length to make again.
    `first_ids` are those of the messages before the responses; None: they are numbered by their places.
    """

    initial: Vector[Message]
    response: Vector[Message]
    override: Vector[Message] | None = None
    override_system: SystemPrompt | None = None
    lasting: Vector[Message] | None = None
    since: int = 0
    first_ids: Vector[str] | None = field(default=None, repr=False)
    step_input: Vector[Message] = field(eq=False, repr=False)
    folded: PromptState = field(eq=False, repr=False)
    # Kept from their first use on, for which they cost a step what it adds.
    _ids: Vector[str] | None = field(default=None, eq=False, repr=False)

    @step_input.validator
    def _is_both_chains(self, _: attrs.Attribute[Any], value: Vector[Message]) -> None:
        if len(value) != len(self._first) + len(self.response) - self.since:
            raise ValueError("the step input is the initial chain followed by the response chain")

    @first_ids.validator
    def _are_of_the_first(self, _: attrs.Attribute[Any], value: Vector[str] | None) -> None:
        if value is not None and len(value) != len(self._first):
            raise ValueError("each message of the step input has one id")

    @property
    def _first(self) -> Vector[Message]:
        return self.initial if self.lasting is None else self.lasting

    @property
    def ids(self) -> Vector[str]:
        """The ids of the step input's messages (rule message.ids-kept)."""
        if self._ids is None:
            first = self.first_ids
            if first is None:
                first = numbered("initial", len(self._first))
            object.__setattr__(self, "_ids", grown(first, self._numbered_from(self.since)))
        return cast("Vector[str]", self._ids)

    def _numbered_from(self, since: int) -> Vector[str]:
        return numbered("response", len(self.response) - since, since)

    @classmethod
    def start(
        cls,
        messages: Iterable[Message],
        system: SystemPrompt | None = None,
        ids: Vector[str] | None = None,
    ) -> Chains:
        """The chains of a run that is given these messages and instructions.

        Rules step.initial-given and step.initial-fixed.

        Without ids, messages are numbered by their places (rule message.ids-kept). Raises InvalidPromptError
        for no messages, or for something that is no message.
        """
        initial = checked_messages(messages)
        if not initial:
            raise InvalidPromptError("a run is given one or more messages", "$.messages")
        folded = fold(PromptState.start(system), initial)
        return cls(initial=initial, response=vector(), first_ids=ids, step_input=initial, folded=folded)

    def with_override(self, messages: Iterable[Message] | None, system: SystemPrompt | None = None) -> Chains:
        """Returns the chains with what this step's prompt is made of; None for what the run has itself.

        Raises InvalidPromptError for something that is no message.
        """
        if messages is None is self.override and system is None is self.override_system:
            return self
        checked = None if messages is None else checked_messages(messages, known=self.step_input)
        return attrs.evolve(self, override=checked, override_system=system)

    def with_lasting(
        self, messages: Iterable[Message], ids: Vector[str] | None = None, by: str = "lasting"
    ) -> Chains:
        """The same chains, the step input from now on being these messages and the responses to come.

        Difference.LASTING_MESSAGES. Messages that begin with the whole step input cost only what is new to
        be folded. Without ids, those that were there keep theirs, and `by` numbers the others.
        """
        lasting = sharing(checked_messages(messages, known=self.step_input), self.step_input)
        if ids is None:
            ids = kept_ids(lasting, [(self.step_input, self.ids)], by)
        return attrs.evolve(
            self,
            lasting=lasting,
            since=len(self.response),
            first_ids=ids,
            step_input=lasting,
            folded=self.folded_of(lasting),
            ids=ids,
        )

    def folded_of(self, messages: Vector[Message], system: SystemPrompt | None = None) -> PromptState:
        """The prompt state of other messages; if they begin with the step input, made of what is new only.

        `system` replaces the run's, if there is one.
        """
        new = following(messages, self.step_input)
        if new is None:
            return fold(PromptState.start(self.folded.system if system is None else system), messages)
        folded = self.folded if system is None else self.folded.with_system(system)
        return fold(folded, new)

    def with_system(self, system: SystemPrompt | None) -> Chains:
        """The same chains under other instructions."""
        return attrs.evolve(self, folded=self.folded.with_system(system))

    def appended(self, messages: Iterable[Message]) -> Chains:
        """The chains with more in the response chain and without an override, as the next step finds them.

        Rules step.response-grows, step.input, step.override-dropped. Raises InvalidPromptError for anything
        that is neither an assistant nor a tool message.
        """
        new = list(messages)
        for index, message in enumerate(new):
            if type(message) not in _RESPONSES:
                reason = (
                    "only assistant and tool messages can follow here; give others to the run at its start"
                )
                raise InvalidPromptError(reason, f"$[{index}]")
        after = Chains(
            initial=self.initial,
            response=grown(self.response, new),
            lasting=self.lasting,
            since=self.since,
            first_ids=self.first_ids,
            step_input=grown(self.step_input, new),
            folded=fold(self.folded, new),
        )
        if self._ids is not None:
            ids = grown(self._ids, after._numbered_from(len(self.response)))
            object.__setattr__(after, "_ids", ids)
        return after
