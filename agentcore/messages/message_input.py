"""Messages and instructions in the forms that people write them in, as values.

A message is a value of `agentcore.messages.messages` or `ModelMessage` JSON; instructions are texts as well,
and lists of any of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, cast, get_args

from agentcore.errors import InvalidPromptError, WireError
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.prompt import SystemPrompt
from agentcore.messages.values import Vector, json_path, vector
from agentcore.messages.wire import message_from_wire

__all__ = ["MESSAGES", "MessageForm", "SystemForm", "message_form", "message_forms", "system_prompt"]

MessageForm: TypeAlias = Message | Mapping[str, Any]
"""A message as a person may write it: a value, or its JSON."""

SystemForm: TypeAlias = str | SystemMessage | Mapping[str, Any]
"""One instruction as a person may write it."""

MESSAGES: Final = frozenset(get_args(Message))
_INSTRUCTIONS: Final = "instructions are a text, a system message or a list of them"


def message_form(value: object, path: str = "$") -> Message:
    """The message. Raises InvalidPromptError, with the path of the fault, if it is none in any form."""
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
