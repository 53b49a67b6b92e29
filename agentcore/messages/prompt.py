"""The form of a message in a prompt.

A prompt is what a model is sent, made of the same message classes. The work is done per message value, once
(`prompt_form`); a prompt is a fold of such forms (`agentcore.messages.chains.PromptState`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar, cast

import attrs
from attrs import field

from agentcore.errors import (
    InvalidDataContentError,
    InvalidPromptError,
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
    JsonValue,
    Vector,
    frozen_list,
    maker,
    sealed,
    vector,
)

__all__ = [
    "AS_IT_IS",
    "Placed",
    "PromptForm",
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
