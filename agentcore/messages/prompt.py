"""The form of a message in a prompt, and the matching of calls and results in a list of messages.

A prompt is what a model is sent, made of the same message classes. The work is done per message value, once
(`prompt_form`); a prompt is a fold of such forms (`agentcore.messages.chains.PromptState`).

A round is an assistant message with tool calls and the tool messages right after it. Providers take a call
and its result as one thing: each call has one result, in its own round, under an id that no other call of the
round has. `RoundsFold` reads messages one by one and notes as a `Fault` whatever breaks this; `Rounds` is
what is known between two messages, a value, so that a history that grows is read once.

An id may come again in a later round. Some models number the calls of each answer from 0 and take such
histories back; within a round, an id that two calls share says of neither which result is its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar, cast

import attrs
from attrs import field

from agentcore.errors import (
    InvalidDataContentError,
    InvalidPromptError,
    MissingToolResultsError,
    RefusedPromptError,
)
from agentcore.messages.converters import detect_image_media_type, read_data
from agentcore.messages.messages import (
    AssistantMessage,
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
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenDict,
    FrozenList,
    FrozenSet,
    JsonValue,
    Vector,
    frozen_list,
    grown,
    json_path,
    maker,
    sealed,
    vector,
)
from agentcore.requirements.rules import Rule

__all__ = [
    "AS_IT_IS",
    "EMPTY_ROUNDS",
    "Fault",
    "OpenCall",
    "Placed",
    "PromptForm",
    "Rounds",
    "RoundsFold",
    "SystemPrompt",
    "prompt_form",
    "system_messages",
]

SystemPrompt: TypeAlias = str | SystemMessage | Vector[SystemMessage]
"""The forms that instructions may be given in."""

_P = TypeVar("_P")
_Convert: TypeAlias = Callable[[Any], Any]

ANY_IMAGE = "image/*"

Placed: TypeAlias = tuple[str, int]
"""The id of a tool call, and the index in its message's content of the part that has it."""


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
    """The form of one message in a prompt, and its calls and results; both follow from the message alone."""

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


_new_form: Final = maker(PromptForm)

AS_IT_IS: Final = PromptForm()
"""The form of a message that stands in the prompt itself, and says nothing about calls."""

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
            return AS_IT_IS
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
    parts = _converted(content, _USER_PARTS)
    if parts is None:
        return _NOTHING if not content else AS_IT_IS
    return PromptForm(changed=UserMessage(parts, message.provider_options), is_empty=not parts)


def _assistant_form(message: AssistantMessage) -> PromptForm:
    content = message.content
    if isinstance(content, str):
        shown = AssistantMessage(_one_text(content), message.provider_options)
        return PromptForm(changed=shown, is_empty=not content)
    opens: list[Placed] = []
    provided: list[Placed] = []
    asks: list[tuple[str, str]] = []
    for index, part in enumerate(content):
        if isinstance(part, ToolCallPart):
            (provided if part.provider_executed else opens).append(_placed(part, index))
        elif isinstance(part, ToolApprovalRequestPart):
            asks.append(cast("tuple[str, str]", FrozenList((part.approval_id, part.tool_call_id))))
    parts = _converted(content, _ASSISTANT_PARTS)
    return _new_form(
        changed=None if parts is None else AssistantMessage(parts, message.provider_options),
        is_empty=not (content if parts is None else parts),
        opens=FrozenList(opens) if opens else NO_ITEMS,
        provided=FrozenList(provided) if provided else NO_ITEMS,
        asks=FrozenList(asks) if asks else NO_ITEMS,
    )


def _tool_form(message: ToolMessage) -> PromptForm:
    answers: list[Placed] = []
    responds: list[str] = []
    for index, part in enumerate(message.content):
        if isinstance(part, ToolResultPart):
            answers.append(_placed(part, index))
        else:
            responds.append(part.approval_id)
    parts = _converted(message.content, _TOOL_PARTS)
    return _new_form(
        changed=None if parts is None else ToolMessage(parts, message.provider_options),
        answers=FrozenList(answers) if answers else NO_ITEMS,
        responds=FrozenList(responds) if responds else NO_ITEMS,
    )


def _placed(part: ToolCallPart | ToolResultPart, index: int) -> Placed:
    return cast("Placed", FrozenList((part.tool_call_id, index)))


def _one_text(text: str) -> Vector[TextPart]:
    return vector((TextPart(text),))  # prompt.text-becomes-part


def _converted(content: Sequence[_P], kinds: Mapping[type, _Convert]) -> Vector[_P] | None:
    """The converted parts that are left, or None if they are what they were; kinds not named stay so."""
    changed: dict[int, _P | None] = {}
    for index, part in enumerate(content):
        convert = kinds.get(type(part))
        if convert is None:
            continue
        try:
            shown = convert(part)
        except InvalidDataContentError as error:
            raise InvalidDataContentError(f"$.content[{index}]", error.reason) from None
        if shown is not part:
            changed[index] = shown
    if not changed:
        return None
    shown_parts = (changed.get(index, part) for index, part in enumerate(content))
    return vector(part for part in shown_parts if part is not None)


def _user_text(part: TextPart) -> TextPart | None:
    return part if part.text else None  # prompt.user-empty-text-dropped


def _assistant_text(part: TextPart) -> TextPart | None:
    # prompt.assistant-empty-text-dropped
    return part if part.text or part.provider_options is not None else None


def _dropped(_: ToolApprovalRequestPart) -> None:
    return None  # prompt.approval-requests-dropped


def _response(part: ToolApprovalResponsePart) -> ToolApprovalResponsePart | None:
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


_USER_PARTS: Final[Mapping[type, _Convert]] = {
    TextPart: _user_text,
    ImagePart: _image_as_file,
    FilePart: _file,
}
_ASSISTANT_PARTS: Final[Mapping[type, _Convert]] = {
    TextPart: _assistant_text,
    ToolApprovalRequestPart: _dropped,
    FilePart: _file,
    ToolResultPart: _result,
}
_TOOL_PARTS: Final[Mapping[type, _Convert]] = {
    ToolResultPart: _result,
    ToolApprovalResponsePart: _response,
}


# ---------------------------------------------------------------- calls and results

_T = TypeVar("_T")
_NONE: Final[FrozenSet[str]] = FrozenSet()


def _frozen_set(items: frozenset[str]) -> FrozenSet[str]:
    return items if type(items) is FrozenSet else FrozenSet(items)


_REASONS: Final = {
    Rule.PROMPT_RESULT_HAS_CALL: (
        "the result of tool call {id!r} answers no call of the assistant message right before it; keep or "
        "drop a call and its result together"
    ),
    Rule.PROMPT_ONE_RESULT: "tool call {id!r} has a result already; keep one result for each call",
    Rule.PROMPT_CALL_IDS_DIFFER: (
        "another call of this answer has the id {id!r} too; give each call an id of its own, and its own "
        "result"
    ),
    Rule.PROMPT_RESULTS_FOLLOW: (
        "the result of tool call {id!r} does not come right after its call; put it before the message that "
        "stands between them"
    ),
    Rule.PROMPT_CONTENT_NOT_EMPTY: (
        "nothing of this message is left for the model; give it content, or leave it out"
    ),
    Rule.PROMPT_NOT_EMPTY: "the prompt has no message but instructions; keep at least the user's last one",
}


@sealed
@attrs.frozen(kw_only=True)
class Fault:
    """A fault for which providers refuse a list of messages: the rule that is broken, and where.

    `message` and `part` are indices into the messages and into the content of the message; without them the
    fault is of the whole list, or of the whole message. `calls` are the ids of the calls that it is about.
    """

    rule: Rule
    message: int | None = None
    part: int | None = None
    calls: tuple[str, ...] = field(default=NO_ITEMS, converter=frozen_list)
    # The approvals that those calls wait for, which nobody has answered.
    waiting: tuple[str, ...] = field(default=NO_ITEMS, converter=frozen_list)

    @property
    def place(self) -> tuple[int, int]:
        """The order of faults: the first is reported."""
        return (-1 if self.message is None else self.message, -1 if self.part is None else self.part)

    def path(self, messages: str = "$.messages") -> str:
        """The JSON path of the fault, where `messages` is that of the list."""
        if self.message is None:
            return messages
        content = json_path(messages, self.message, "content")
        return content if self.part is None else json_path(content, self.part)

    @property
    def reason(self) -> str:
        """The fault and its mend, in words."""
        return _REASONS[self.rule].format(id=self.calls[0] if self.calls else None)

    def error(self, messages: str = "$.messages") -> RefusedPromptError | MissingToolResultsError:
        """The fault as what is raised before a model is asked."""
        if self.rule is Rule.PROMPT_MISSING_RESULTS:
            return MissingToolResultsError(self.calls, self.path(messages), self.waiting)
        call = self.calls[0] if self.calls else None
        return RefusedPromptError(self.reason, self.path(messages), self.rule.value, call)


@sealed
@attrs.frozen(kw_only=True)
class OpenCall:
    """A client's tool call that has no result so far, and what came after it instead.

    `is_cut` is whether another message than a tool's has followed, `is_left` whether a user's or a system
    message has.
    """

    call_id: str
    message: int
    part: int
    is_cut: bool = False
    is_left: bool = False


@sealed
@attrs.frozen(kw_only=True)
class Rounds:
    """The state of the calls and results in the messages so far.

    Whether a call may be without a result depends on approvals that later messages may bring, so what is open
    is kept as data, and judged by `fault`.
    """

    open_calls: tuple[OpenCall, ...] = field(default=NO_ITEMS, converter=frozen_list)
    # The ids of the calls that the provider executes, in the round that is going on.
    provided: frozenset[str] = field(default=_NONE, converter=_frozen_set)
    # The open calls at each user or system message that were not among those of an earlier one.
    left_open: Vector[tuple[OpenCall, ...]] = field(factory=vector)
    # The places of the calls among those whose results came after all, and their ids.
    came_late: Vector[tuple[tuple[int, int], str]] = field(factory=vector)
    asked: Vector[tuple[str, str]] = field(factory=vector)
    responded: Vector[str] = field(factory=vector)
    # Of each rule the first, but all of those that an approval may excuse.
    faults: Vector[Fault] = field(factory=vector)

    def missing(self) -> Fault | None:
        """The first calls without results (rule prompt.missing-results, Difference.ANSWERS_BRING_RESULTS)."""
        if not self.open_calls and not self.left_open:
            return None
        # Of a call that waited for an answer the result may come late, but it has to come.
        approved = self.approved()
        late = {place for place, call_id in self.came_late if call_id in approved}
        for calls in (*self.left_open, self.open_calls):
            missing = [call for call in calls if (call.message, call.part) not in late]
            if missing:
                first = missing[0]
                return Fault(
                    rule=Rule.PROMPT_MISSING_RESULTS,
                    message=first.message,
                    part=first.part,
                    calls=tuple(call.call_id for call in missing),
                    waiting=self._unanswered({call.call_id for call in missing}),
                )
        return None

    def _unanswered(self, call_ids: Container[str]) -> tuple[str, ...]:
        responded = {*self.responded}
        return tuple(name for name, call in self.asked if call in call_ids and name not in responded)

    def fault(self, *, holds_history: bool = False) -> Fault | None:
        """The first fault. A model that holds the history on its side may hold the calls of these results."""
        if not self.faults:
            return self.missing()
        approved = self.approved()
        found = [self.missing(), *(each for each in self.faults if _counts(each, approved, holds_history))]
        return min((each for each in found if each is not None), key=lambda each: each.place, default=None)

    def approved(self) -> set[str]:
        """The ids of the calls whose requests for approval have an answer."""
        # Whether the answer was yes does not matter here: who refuses a call also gives it its result.
        asked = dict(self.asked)
        return {asked[approval] for approval in self.responded if approval in asked}


def _counts(fault: Fault, approved: set[str], holds_history: bool) -> bool:
    if fault.rule is Rule.PROMPT_RESULT_HAS_CALL:
        return not holds_history
    # A call that waits for an answer has its result when the answer has come, whatever was said meanwhile.
    return fault.rule is not Rule.PROMPT_RESULTS_FOLLOW or approved.isdisjoint(fault.calls)


_new_call: Final = maker(OpenCall)
_new_rounds: Final = maker(Rounds)

EMPTY_ROUNDS: Final = Rounds()


def _late(call: OpenCall) -> tuple[tuple[int, int], str]:
    place = cast("tuple[int, int]", FrozenList((call.message, call.part)))
    return cast("tuple[tuple[int, int], str]", FrozenList((place, call.call_id)))


def _more(kept: Vector[_T], new: list[_T]) -> Vector[_T]:
    return grown(kept, new) if new else kept


class RoundsFold:
    """Reads messages one by one, in their order, after those of `rounds`; `rounds()` is the result.

    `tail` is the tool message that those end with, if they do.
    """

    def __init__(self, rounds: Rounds, tail: ToolMessage | None = None) -> None:
        self._before = rounds
        self._open = {call.call_id: call for call in rounds.open_calls}
        # Those that nothing but tool messages has followed, and those that no user or system message has.
        self._uncut = [call.call_id for call in rounds.open_calls if not call.is_cut]
        self._unleft = {call.call_id: None for call in rounds.open_calls if not call.is_left}
        parts = () if tail is None else tail.content
        self._answered = {part.tool_call_id for part in parts if isinstance(part, ToolResultPart)}
        self._provided = rounds.provided
        self._left: list[tuple[OpenCall, ...]] = []
        self._late: list[tuple[tuple[int, int], str]] = []
        self._asked: list[tuple[str, str]] = []
        self._responded: list[str] = []
        self._broken = {fault.rule for fault in rounds.faults} if rounds.faults else set()
        self._faults: list[Fault] = []

    def empty(self, index: int) -> None:
        """Note that nothing of this message is left (rule prompt.content-not-empty)."""
        self._fault(Fault(rule=Rule.PROMPT_CONTENT_NOT_EMPTY, message=index))

    def assistant(
        self, index: int, opens: Iterable[Placed], provided: Iterable[Placed], asks: Iterable[tuple[str, str]]
    ) -> None:
        """Read an assistant message: calls for us and for the provider, and requests for approval."""
        self._new_round()
        self._asked += asks
        if not opens and not provided:
            return
        here: set[str] = set()
        for call_id, part in opens:
            if call_id in here or call_id in self._unleft:  # prompt.call-ids-differ
                self._fault_of(Rule.PROMPT_CALL_IDS_DIFFER, call_id, index, part)
            else:
                self._open[call_id] = _new_call(call_id=call_id, message=index, part=part)
                self._uncut.append(call_id)
                self._unleft[call_id] = None
            here.add(call_id)
        for call_id, part in provided:
            if call_id in here:
                self._fault_of(Rule.PROMPT_CALL_IDS_DIFFER, call_id, index, part)
            here.add(call_id)
        self._provided = FrozenSet(call_id for call_id, _ in provided)

    def tool(self, index: int, answers: Iterable[Placed], responds: Iterable[str]) -> None:
        """Read a tool message: results, and answers to requests for approval."""
        self._responded += responds
        for call_id, part in answers:
            call = self._open.pop(call_id, None)
            self._unleft.pop(call_id, None)
            if call is None and call_id in self._answered:  # prompt.one-result
                self._fault_of(Rule.PROMPT_ONE_RESULT, call_id, index, part)
            elif call is None and call_id not in self._provided:  # prompt.result-has-call
                self._fault_of(Rule.PROMPT_RESULT_HAS_CALL, call_id, index, part)
            elif call is not None and call.is_cut:  # prompt.results-follow
                self._fault_of(Rule.PROMPT_RESULTS_FOLLOW, call_id, index, part)
            if call is not None and call.is_left:
                self._late.append(_late(call))
            self._answered.add(call_id)

    def other(self) -> None:
        """Read a user or system message, which no round goes on after."""
        self._new_round()
        if self._unleft:
            self._open |= {name: attrs.evolve(self._open[name], is_left=True) for name in self._unleft}
            self._left.append(FrozenList(self._open[name] for name in self._unleft))
            self._unleft.clear()

    def rounds(self) -> Rounds:
        """Return the state after these messages."""
        before = self._before
        noted = self._left or self._late or self._asked or self._responded or self._faults
        if not (noted or self._open or before.open_calls or self._provided or before.provided):
            return before  # as after most steps, each of which is kept
        return _new_rounds(
            open_calls=FrozenList(self._open.values()),
            provided=self._provided,
            left_open=_more(before.left_open, self._left),
            came_late=_more(before.came_late, self._late),
            asked=_more(before.asked, self._asked),
            responded=_more(before.responded, self._responded),
            faults=_more(before.faults, self._faults),
        )

    def _new_round(self) -> None:
        self._answered.clear()
        self._provided = _NONE
        for call_id in self._uncut:
            if call_id in self._open:
                self._open[call_id] = attrs.evolve(self._open[call_id], is_cut=True)
        self._uncut.clear()

    def _fault(self, fault: Fault) -> None:
        if fault.rule not in self._broken or fault.rule is Rule.PROMPT_RESULTS_FOLLOW:
            self._broken.add(fault.rule)
            self._faults.append(fault)

    def _fault_of(self, rule: Rule, call_id: str, index: int, part: int) -> None:
        self._fault(Fault(rule=rule, message=index, part=part, calls=(call_id,)))
