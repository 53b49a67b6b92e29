"""The chains of a run: what it was given, what it has produced, and what its hooks are shown of both.

Everything here is a persistent value. A chain that has grown shares its structure with the one it grew from,
so keeping every step's chains costs memory for what is new only.

Messages come in as values or as `ModelMessage` JSON; instructions are texts as well, and lists of any of
these. Messages have no field for an id, so that two runs with the same messages have the same values. Ids are
kept beside them: the places in the chains (`initial-0`, `response-3`), or who brought a message in, and when
(`reminder-2-0`: the first that the processor `reminder` brought in at step 2). An edit keeps the ids of the
messages that it keeps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final, TypeAlias, cast, get_args

import attrs
from attrs import field

from agentcore.errors import InvalidDataContentError, InvalidPromptError, WireError
from agentcore.messages.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
)
from agentcore.messages.prompt import (
    AS_IT_IS,
    EMPTY_ROUNDS,
    Fault,
    PromptForm,
    Rounds,
    RoundsFold,
    SystemPrompt,
    prompt_form,
    system_messages,
)
from agentcore.messages.values import (
    Vector,
    following,
    grown,
    json_path,
    maker,
    replace_item,
    sealed,
    vector,
)
from agentcore.messages.wire import message_from_wire
from agentcore.requirements.rules import Rule

__all__ = [
    "MESSAGES",
    "Chains",
    "Identified",
    "MessageForm",
    "PromptState",
    "SystemForm",
    "checked_messages",
    "fold",
    "fresh_ids",
    "kept_ids",
    "message_form",
    "message_forms",
    "numbered",
    "sharing",
    "system_prompt",
    "to_prompt",
]

# ---------------------------------------------------------------- forms of messages

MessageForm: TypeAlias = Message | Mapping[str, Any]
"""A message as a person may write it: a value, or its JSON."""

SystemForm: TypeAlias = str | SystemMessage | Mapping[str, Any]
"""One instruction as a person may write it."""

MESSAGES: Final = frozenset(get_args(Message))
_INSTRUCTIONS: Final = "instructions are a text, a system message or a list of them"


def message_form(value: object, path: str = "$") -> Message:
    """The message. Raises InvalidPromptError, with the path of the fault, if it has no form of a message."""
    if type(value) in MESSAGES:
        return cast("Message", value)
    if not isinstance(value, Mapping):
        raise InvalidPromptError(f"expected a message or its JSON, got {type(value).__name__}", path)
    try:
        return message_from_wire(value, path)
    except WireError as error:
        raise InvalidPromptError(error.reason, error.path) from None


def message_forms(value: object, path: str = "$.messages") -> Vector[Message]:
    """The messages as a vector. Raises as `message_form` does, and for what is no list."""
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InvalidPromptError(f"use a list of messages, not {type(value).__name__}", path)
    given: Vector[Any] = vector(value)
    if MESSAGES.issuperset(map(type, given)):
        return given
    return vector(message_form(one, json_path(path, index)) for index, one in enumerate(given))


def system_prompt(
    value: SystemForm | Iterable[SystemForm] | None, path: str = "$.system"
) -> SystemPrompt | None:
    """Instructions in one of their forms, JSON as the message that it is, a list of any as a vector.

    Raises InvalidPromptError for anything else.
    """
    if value is None or isinstance(value, (str, SystemMessage)):
        return value
    if isinstance(value, Mapping):
        return _system_message(value, path)
    if not isinstance(value, Iterable):
        raise InvalidPromptError(_INSTRUCTIONS, path)
    return vector(_system_message(one, json_path(path, index)) for index, one in enumerate(value))


def _system_message(value: object, path: str) -> SystemMessage:
    message = SystemMessage(value) if isinstance(value, str) else message_form(value, path)
    if not isinstance(message, SystemMessage):
        raise InvalidPromptError(f"{_INSTRUCTIONS}; this is a message of the {message.role}", path)
    return message


# ---------------------------------------------------------------- ids

Identified: TypeAlias = tuple[Vector[Message], Vector[str]]
"""Messages with their ids."""


def sharing(messages: Vector[Message], shown: Vector[Message]) -> Vector[Message]:
    """Return the messages; if they begin with those of `shown`, as a vector that shares their structure."""
    if messages is shown:
        return messages
    new = following(messages, shown)
    return messages if new is None else grown(shown, new)


def numbered(name: str, length: int, first: int = 0) -> Vector[str]:
    """Return that many ids of a name, in order."""
    return vector(f"{name}-{number}" for number in range(first, first + length))


def fresh_ids(name: str, taken: Container[str]) -> Iterator[str]:
    """Ids of a name, but for those that are taken."""
    return (each for number in count() if (each := f"{name}-{number}") not in taken)


def kept_ids(messages: Vector[Message], known: Sequence[Identified], name: str) -> Vector[str]:
    """The ids of messages of which some are known: those keep their ids, others are numbered by the name.

    Messages are told apart by value, so that a run goes on alike wherever its messages came from; one that is
    there several times is known as often as it was there before. No id that is known is given to another
    message.
    """
    begun, others = _beginning(messages, known)
    free: dict[Message, deque[str]] = {}
    listed = set(begun)
    for shown, ids in others:
        for message, each in zip(shown, ids, strict=True):
            if each not in listed:
                free.setdefault(message, deque()).append(each)
        listed.update(ids)
    kept = [_next(free.get(message)) for message in messages[len(begun) :]]
    new = fresh_ids(name, listed)
    return grown(begun, (next(new) if each is None else each for each in kept))


def _beginning(
    messages: Vector[Message], known: Sequence[Identified]
) -> tuple[Vector[str], Sequence[Identified]]:
    """The ids of the first known messages if all these begin with them, else none; and what else is known."""
    (shown, ids), *others = known
    if following(messages, shown) is None:
        return vector(), known
    return ids, [one for one in others if one[1] is not ids]


def _next(ids: deque[str] | None) -> str | None:
    return ids.popleft() if ids else None


# ---------------------------------------------------------------- prompts


@sealed
@attrs.frozen(kw_only=True)
class PromptState:
    """Messages folded so far: what a prompt of them is, but for calls that a later message may still answer.

    Failures are kept as data and raised by `prompt`: a state is made of whatever is there, and a hook may
    still put other messages in its place.
    """

    closed: Vector[Message] = field(factory=vector)
    # The last message if it is a tool message: the next tool message is merged into it.
    tail: ToolMessage | None = None
    rounds: Rounds = EMPTY_ROUNDS
    # Whether the prompt has a message besides system messages and tool messages that are dropped.
    is_spoken: bool = False
    system_count: int = 0
    count: int = 0
    # The first message that has no form, with its index.
    broken: tuple[int, Message] | None = None

    @classmethod
    def start(cls, system: SystemPrompt | Iterable[SystemMessage] | None = None) -> PromptState:
        """The state before any message (rule prompt.system-first)."""
        first = system_messages(system)
        return cls(closed=cast("Vector[Message]", first), system_count=len(first))

    @property
    def system(self) -> Vector[SystemMessage]:
        """The instructions that the prompt begins with."""
        return cast("Vector[SystemMessage]", self.closed[: self.system_count])

    def with_system(self, system: SystemPrompt | Iterable[SystemMessage] | None) -> PromptState:
        """Return the state under other instructions; the history is not read again if they are as many."""
        first = system_messages(system)
        if len(first) != self.system_count:
            closed = vector((*first, *self.closed[self.system_count :]))
            return attrs.evolve(self, closed=closed, system_count=len(first))
        closed = self.closed
        for index, message in enumerate(first):
            closed = replace_item(closed, index, message)
        return attrs.evolve(self, closed=closed)

    def fault(self, *, holds_history: bool = False) -> Fault | None:
        """The first reason why providers refuse the prompt, if there is one.

        A model that holds the history on its side takes results of calls that are there, and a prompt without
        messages: then only what is in the prompt is judged.
        """
        fault = self.rounds.fault(holds_history=holds_history)
        if fault is None and not holds_history and not self._is_spoken:  # prompt.not-empty
            return Fault(rule=Rule.PROMPT_NOT_EMPTY)
        return fault

    @property
    def _is_spoken(self) -> bool:
        return self.is_spoken or (self.tail is not None and bool(self.tail.content))

    def prompt(self) -> Vector[Message]:
        """The prompt of the messages folded so far. Raises as `to_prompt` does."""
        if self.broken is not None:
            _raise_broken(*self.broken)
        missing = self.rounds.missing()
        if missing is not None:  # prompt.missing-results
            raise missing.error()
        if self.tail is None or not self.tail.content:  # prompt.empty-tool-message-dropped
            return self.closed
        return grown(self.closed, (self.tail,))


def _raise_broken(index: int, message: Message) -> None:
    try:
        prompt_form(message)
    except InvalidDataContentError as error:
        raise InvalidDataContentError(f"$.messages[{index}]{error.path[1:]}", error.reason) from None


def fold(state: PromptState, messages: Iterable[Message]) -> PromptState:
    """The state with more messages; costs what these cost, whatever went before."""
    new: list[Message] = []
    read: list[tuple[type[Message], PromptForm]] = []
    tail = [] if state.tail is None else [state.tail]
    is_spoken, broken = state.is_spoken, state.broken
    for message in messages:
        try:
            form = prompt_form(message)
        except InvalidDataContentError:
            form = AS_IT_IS
            broken = broken or (state.count + len(read), message)
        read.append((type(message), form))
        shown = message if form.changed is None else form.changed
        if isinstance(shown, ToolMessage):
            tail.append(shown)
        else:
            closing = _closing(tail)
            new += (*closing, shown)
            tail = []
            is_spoken = is_spoken or bool(closing) or not isinstance(shown, SystemMessage)
    return _new_state(
        closed=grown(state.closed, new),
        tail=_merged(tail),
        rounds=_rounds_after(state, read),
        is_spoken=is_spoken,
        system_count=state.system_count,
        count=state.count + len(read),
        broken=broken,
    )


_new_state: Final = maker(PromptState)
_A_ROUND: Final = 2


def _rounds_after(state: PromptState, read: Sequence[tuple[type[Message], PromptForm]]) -> Rounds:
    """The rounds after more messages, of which these are the kinds and the forms."""
    before = state.rounds
    if not before.open_calls and not before.provided and _is_whole(read):
        return before
    rounds = RoundsFold(before, state.tail)
    for index, (kind, form) in enumerate(read, state.count):
        if form.is_empty:
            rounds.empty(index)
        if kind is ToolMessage:
            rounds.tool(index, form.answers, form.responds)
        elif kind is AssistantMessage:
            rounds.assistant(index, form.opens, form.provided, form.asks)
        else:
            rounds.other()
    return rounds.rounds()


def _is_whole(read: Sequence[tuple[type[Message], PromptForm]]) -> bool:
    """Whether these are an answer and the one result of each of its calls, which leave nothing to note.

    As most steps are; `RoundsFold` would find out the same in four times the time.
    """
    if not read or len(read) > _A_ROUND:
        return False
    kind, answer = read[0]
    if kind is not AssistantMessage or answer.is_empty or answer.provided or answer.asks:
        return False
    if len(read) == 1:
        return not answer.opens
    kind, results = read[1]
    calls = [call_id for call_id, _ in answer.opens]
    return (
        kind is ToolMessage
        and not results.responds
        and calls == [call_id for call_id, _ in results.answers]
        and len({*calls}) == len(calls)
    )


def _closing(tail: list[ToolMessage]) -> tuple[ToolMessage, ...]:
    merged = _merged(tail)
    return () if merged is None or not merged.content else (merged,)


def _merged(tail: list[ToolMessage]) -> ToolMessage | None:
    # prompt.tool-messages-merged
    if len(tail) > 1:
        return ToolMessage(
            vector(part for message in tail for part in message.content), tail[0].provider_options
        )
    return tail[0] if tail else None


def to_prompt(system: SystemPrompt | None, messages: Iterable[Message]) -> Vector[Message]:
    """The prompt that a model is sent for these instructions and messages.

    Raises:
        InvalidDataContentError: for an image or file whose data is neither bytes, base64 text nor a URL.
        MissingToolResultsError: for client tool calls without a result (claims C29, X16).
    """
    return fold(PromptState.start(system), messages).prompt()


# ---------------------------------------------------------------- chains

_RESPONSES: Final = frozenset({AssistantMessage, ToolMessage})


def checked_messages(
    messages: Iterable[Message], path: str = "$.messages", known: Vector[Message] | None = None
) -> Vector[Message]:
    """The messages as a vector; those that it shares with `known` need no check.

    Raises InvalidPromptError with the path of the first non-message.
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
    """The initial chain, the response chain, the step input, and the override of the current step.

    `start` makes the first; the other methods return changed ones. The step input is both chains or, after a
    lasting edit, `lasting` and the responses from the index `since` on; the two chains stay complete.
    `override` are the messages of this step's prompt, and `override_system` its instructions; None stands for
    the step input and for the run's own instructions.

    `first_ids` are the ids of the messages before the responses; None numbers them by their places.
    `step_input` and `folded` (the state of the prompt) follow from the rest. They are kept because making
    them again costs as much as the history is long.
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
    # Made at their first use and kept; from then on a step costs only the ids that it adds.
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
        """Return the chains of a run.

        Rules step.initial-given and step.initial-fixed.

        Args:
            messages: the messages that the run begins with, at least one.
            system: the instructions.
            ids: the ids of the messages; by default they are numbered by their places (rule
                message.ids-kept).

        Returns:
            The chains, with an empty response chain.

        Raises:
            InvalidPromptError: for no messages, or a value that is not a message.
        """
        initial = checked_messages(messages)
        if not initial:
            raise InvalidPromptError("a run is given one or more messages", "$.messages")
        folded = fold(PromptState.start(system), initial)
        return cls(initial=initial, response=vector(), first_ids=ids, step_input=initial, folded=folded)

    def with_override(self, messages: Iterable[Message] | None, system: SystemPrompt | None = None) -> Chains:
        """Return the chains with an override, which this step's prompt is made of.

        Args:
            messages: the messages of the prompt; None for the step input.
            system: the instructions of the prompt; None for the run's own.

        Returns:
            The chains; `self` if the override is the same.

        Raises:
            InvalidPromptError: for a value that is not a message.
        """
        if messages is None is self.override and system is None is self.override_system:
            return self
        checked = None if messages is None else checked_messages(messages, known=self.step_input)
        return attrs.evolve(self, override=checked, override_system=system)

    def with_lasting(
        self, messages: Iterable[Message], ids: Vector[str] | None = None, by: str = "lasting"
    ) -> Chains:
        """Return the chains whose step input is these `messages` and the responses to come, from now on.

        Difference.LASTING_MESSAGES. If the messages begin with the whole step input, only the new
        ones are processed. Without `ids`, those that were there keep theirs, and `by` numbers the others.
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
        """Return the prompt state of other `messages`; only what follows the step input is folded anew.

        `system` replaces the run's, if there is one.
        """
        new = following(messages, self.step_input)
        if new is None:
            return fold(PromptState.start(self.folded.system if system is None else system), messages)
        folded = self.folded if system is None else self.folded.with_system(system)
        return fold(folded, new)

    def with_system(self, system: SystemPrompt | None) -> Chains:
        """Return the same chains under other instructions, `system`."""
        return attrs.evolve(self, folded=self.folded.with_system(system))

    def appended(self, messages: Iterable[Message]) -> Chains:
        """Return the chains as the next step finds them: with more responses, and without an override.

        Rules step.response-grows, step.input, step.override-dropped.

        Args:
            messages: the messages that the step produced.

        Returns:
            The chains of the next step.

        Raises:
            InvalidPromptError: for anything that is neither an assistant nor a tool message.
        """
        new = list(messages)
        for index, message in enumerate(new):
            if type(message) not in _RESPONSES:
                reason = (
                    "only assistant and tool messages can follow here; give others to the run at its start"
                )
                raise InvalidPromptError(reason, f"$[{index}]")
        after = _new_chains(
            initial=self.initial,
            response=grown(self.response, new),
            lasting=self.lasting,
            since=self.since,
            first_ids=self.first_ids,
            step_input=grown(self.step_input, new),
            folded=fold(self.folded, new),
        )
        if self._ids is not None:
            ids = grown(self._ids, numbered("response", len(new), len(self.response)))
            object.__setattr__(after, "_ids", ids)
        return after


_new_chains: Final = maker(Chains)
