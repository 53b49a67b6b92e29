"""Messages become a prompt: what a model is sent, made of the same message classes.

The work is done per message value, once (`prompt_form`), and a prompt is a fold of such forms
(`PromptState`), so a state that is kept takes in only what is new. `to_prompt` is that fold from the start.

The same fold notes what providers refuse (`PromptState.fault`): the calls and results that
`agentcore.messages.rounds` pairs, messages of which nothing is left, and a prompt that has no message but
instructions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar, cast

import attrs
from attrs import field

from agentcore.errors import InvalidDataContentError, InvalidPromptError
from agentcore.messages.media import detect_image_media_type, read_data
from agentcore.messages.messages import (
    AssistantMessage,
    AssistantPart,
    ContentOutput,
    FilePart,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolPart,
    ToolResultPart,
    UserMessage,
    UserPart,
)
from agentcore.messages.rounds import EMPTY_ROUNDS, Fault, Placed, Rounds, RoundsFold
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenDict,
    FrozenList,
    JsonValue,
    Vector,
    frozen_list,
    grown,
    replace_item,
    sealed,
    vector,
)
from agentcore.requirements.rules import Rule

__all__ = ["PromptForm", "PromptState", "SystemPrompt", "fold", "prompt_form", "system_messages", "to_prompt"]

SystemPrompt: TypeAlias = str | SystemMessage | Vector[SystemMessage]
"""The forms that instructions may be given in."""

_P = TypeVar("_P")

ANY_IMAGE = "image/*"


def to_prompt(system: SystemPrompt | None, messages: Iterable[Message]) -> Vector[Message]:
    """The prompt that a model is sent for these instructions and messages.

    Raises:
        InvalidDataContentError: for an image or file whose data is neither bytes, base64 text nor a URL.
        MissingToolResultsError: for client tool calls without a result (claims C29, X16).
    """
    return fold(PromptState.start(system), messages).prompt()


def system_messages(system: SystemPrompt | Iterable[SystemMessage] | None) -> Vector[SystemMessage]:
    """The instructions as messages; a text, the empty one too, is one message (claim C50).

    Raises InvalidPromptError if they are neither text nor system messages.
    """
    if system is None:
        return vector()
    if isinstance(system, str):
        return vector((SystemMessage(system),))
    messages = vector((system,) if isinstance(system, SystemMessage) else system)
    if not all(isinstance(message, SystemMessage) for message in messages):
        raise InvalidPromptError("instructions are a text, a system message or a list of them", "$.system")
    return messages


# ---------------------------------------------------------------- one message


@sealed
@attrs.frozen(kw_only=True)
class PromptForm:
    """What one message is in a prompt, and what it says about calls; it follows from the message alone."""

    # None stands for the message itself: a form that held its own message would be a reference cycle.
    changed: Message | None = None
    # Calls for us, calls that the provider executes, and results, each with its place in the content.
    opens: tuple[Placed, ...] = field(default=NO_ITEMS, converter=frozen_list)
    provided: tuple[Placed, ...] = field(default=NO_ITEMS, converter=frozen_list)
    answers: tuple[Placed, ...] = field(default=NO_ITEMS, converter=frozen_list)
    asks: tuple[tuple[str, str], ...] = field(default=NO_ITEMS, converter=frozen_list)
    responds: tuple[str, ...] = field(default=NO_ITEMS, converter=frozen_list)
    # Whether nothing is left that says anything; a tool message without parts is dropped instead.
    is_empty: bool = False


_AS_IT_IS = PromptForm()
_NOTHING = PromptForm(is_empty=True)


def prompt_form(message: Message) -> PromptForm:
    """The form of a message in a prompt; made once per message value and kept on it.

    Raises InvalidDataContentError with the path of the part inside the message.
    """
    kept = message._prompt  # noqa: SLF001 - the slot is there for this module
    if kept is not None:
        return cast("PromptForm", kept)
    form = _form(message)
    object.__setattr__(message, "_prompt", form)
    return form


def _form(message: Message) -> PromptForm:
    match message:
        case SystemMessage():
            return _AS_IT_IS
        case UserMessage():
            return _user_form(message)
        case AssistantMessage():
            return _assistant_form(message)
        case _:
            return _tool_form(message)


def _user_form(message: UserMessage) -> PromptForm:
    content = message.content
    if isinstance(content, str):
        shown = UserMessage(_one_text(content), message.provider_options)
        return PromptForm(changed=shown, is_empty=not content)
    parts = _converted(content, _user_part)
    if parts is None:
        return _NOTHING if not content else _AS_IT_IS
    return PromptForm(changed=UserMessage(parts, message.provider_options), is_empty=not parts)


def _assistant_form(message: AssistantMessage) -> PromptForm:
    content = message.content
    if isinstance(content, str):
        shown = AssistantMessage(_one_text(content), message.provider_options)
        return PromptForm(changed=shown, is_empty=not content)
    parts = _converted(content, _assistant_part)
    calls = [(part, index) for index, part in enumerate(content) if isinstance(part, ToolCallPart)]
    return PromptForm(
        changed=None if parts is None else AssistantMessage(parts, message.provider_options),
        is_empty=not (content if parts is None else parts),
        opens=[_placed(call, index) for call, index in calls if not call.provider_executed],
        provided=[_placed(call, index) for call, index in calls if call.provider_executed],
        asks=[
            FrozenList((part.approval_id, part.tool_call_id))
            for part in content
            if isinstance(part, ToolApprovalRequestPart)
        ],
    )


def _tool_form(message: ToolMessage) -> PromptForm:
    parts = _converted(message.content, _tool_part)
    return PromptForm(
        changed=None if parts is None else ToolMessage(parts, message.provider_options),
        answers=[
            _placed(part, index)
            for index, part in enumerate(message.content)
            if isinstance(part, ToolResultPart)
        ],
        responds=[part.approval_id for part in message.content if isinstance(part, ToolApprovalResponsePart)],
    )


def _placed(part: ToolCallPart | ToolResultPart, index: int) -> Placed:
    return cast("Placed", FrozenList((part.tool_call_id, index)))


def _one_text(text: str) -> Vector[TextPart]:
    return vector((TextPart(text),))  # prompt.text-becomes-part


def _converted(content: Sequence[_P], convert: Callable[[_P], _P | None]) -> Vector[_P] | None:
    """The converted parts that are left, or None if they are what they were."""
    parts: list[_P] = []
    for index, part in enumerate(content):
        try:
            shown = convert(part)
        except InvalidDataContentError as error:
            raise InvalidDataContentError(f"$.content[{index}]", error.reason) from None
        if shown is not None:
            parts.append(shown)
    same = len(parts) == len(content) and all(map(operator.is_, parts, content))
    return None if same else vector(parts)


def _user_part(part: UserPart) -> UserPart | None:
    match part:
        case TextPart():
            return part if part.text else None  # prompt.user-empty-text-dropped
        case ImagePart():
            return _image_as_file(part)
        case _:
            return _file(part)


def _assistant_part(part: AssistantPart) -> AssistantPart | None:
    match part:
        case TextPart("", None):  # prompt.assistant-empty-text-dropped
            return None
        case ToolApprovalRequestPart():  # prompt.approval-requests-dropped
            return None
        case FilePart():
            return _file(part)
        case ToolResultPart():
            return _result(part)
        case _:
            return part


def _tool_part(part: ToolPart) -> ToolPart | None:
    if isinstance(part, ToolResultPart):
        return _result(part)
    if not part.provider_executed:  # prompt.approval-responses
        return None
    return attrs.evolve(part, provider_executed=None)


def _image_as_file(part: ImagePart) -> FilePart:
    data, media_type, url = read_data(part.image)
    found = detect_image_media_type(data) if url is None else None
    declared = part.media_type if media_type is None else media_type
    if found is None:
        found = ANY_IMAGE if declared is None else declared
    return FilePart(data, found, provider_options=part.provider_options)  # prompt.image-becomes-file


def _file(part: FilePart) -> FilePart:
    data, media_type, _ = read_data(part.data)
    if media_type is None:
        return part
    return attrs.evolve(part, data=data, media_type=media_type)  # prompt.data-url-split


def _result(part: ToolResultPart) -> ToolResultPart:
    output = part.output
    if not isinstance(output, ContentOutput):
        return part
    items = FrozenList(_item(item) for item in output.value)
    if output.provider_options is None and all(map(operator.is_, items, output.value)):
        return part
    return attrs.evolve(part, output=ContentOutput(items))  # prompt.media-output


def _item(item: JsonValue) -> JsonValue:
    if not isinstance(item, FrozenDict) or item.get("type") != "media":
        return item
    is_image = str(item.get("mediaType")).startswith("image/")
    fields = {key: item[key] for key in ("data", "mediaType") if key in item}
    return FrozenDict({"type": "image-data" if is_image else "file-data", **fields})


# ---------------------------------------------------------------- a list of messages


@sealed
@attrs.frozen(kw_only=True)
class PromptState:
    """Messages folded so far: what a prompt of them is, but for calls that a later message may still answer.

    Failures are kept as data and raised by `prompt`: a state is made of whatever is there, and a hook may
    still put other messages in its place.
    """

    closed: Vector[Message] = field(factory=vector)
    # The tool message at the end, which the next tool message is merged into.
    tail: ToolMessage | None = None
    rounds: Rounds = EMPTY_ROUNDS
    # Whether one of the messages is neither a system message nor a tool message that is dropped.
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
        """The same messages under other instructions; if as many as before, whatever the history's length."""
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
    tail = [] if state.tail is None else [state.tail]
    rounds = RoundsFold(state.rounds, _answered(state.tail))
    count, is_spoken, broken = state.count, state.is_spoken, state.broken
    for message in messages:
        try:
            form = prompt_form(message)
        except InvalidDataContentError:
            form = _AS_IT_IS
            broken = broken or (count, message)
        shown = message if form.changed is None else form.changed
        if form.is_empty:
            rounds.empty(count)
        if isinstance(shown, ToolMessage):
            tail.append(shown)
            rounds.tool(count, form.answers, form.responds)
        else:
            closing = _closing(tail)
            new += (*closing, shown)
            tail = []
            is_spoken = is_spoken or bool(closing) or not isinstance(shown, SystemMessage)
            if isinstance(shown, AssistantMessage):
                rounds.assistant(count, form.opens, form.provided, form.asks)
            else:
                rounds.other()
        count += 1
    return PromptState(
        closed=grown(state.closed, new),
        tail=_merged(tail),
        rounds=rounds.rounds(),
        is_spoken=is_spoken,
        system_count=state.system_count,
        count=count,
        broken=broken,
    )


def _answered(tail: ToolMessage | None) -> Iterable[str]:
    if tail is None:
        return ()
    return [part.tool_call_id for part in tail.content if isinstance(part, ToolResultPart)]


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
