"""Contexts and results as text, for traces of which somebody wants the content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

import attrs

from agentcore.messages.messages import Message
from agentcore.messages.values import Vector, dump_json, thaw
from agentcore.messages.wire import message_to_wire

__all__ = ["written"]

_MESSAGES: Final = get_args(Message)
_PLAIN: Final = (str, int, float, bool, type(None))


def written(value: object) -> str:
    """A value as JSON text; what is no value, such as a model or a function, by the name of its type."""
    return dump_json(_plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, _MESSAGES):
        return thaw(message_to_wire(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | Vector):
        return [_plain(item) for item in value]
    if attrs.has(type(value)):
        shown = [a.name for a in attrs.fields(type(value)) if a.repr]
        return {name: _plain(getattr(value, name)) for name in shown}
    return type(value).__name__
