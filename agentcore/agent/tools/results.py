"""What a tool returned, as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from pydantic_core import to_jsonable_python
from pyrsistent import PVector

from agentcore.errors import InvalidJsonError
from agentcore.messages.messages import ToolMessage, ToolOutput, ToolResultPart
from agentcore.messages.paths import Trail, json_path, keys_of
from agentcore.messages.values import JsonValue, freeze
from agentcore.messages.wire import message_to_wire

__all__ = ["output_json", "to_json"]

_BYTES: Final = (bytes, bytearray, memoryview)


def to_json(value: object) -> JsonValue:
    """The value as frozen JSON: JSON as it is, and what pydantic can turn into JSON.

    That is pydantic models, dataclasses, dates, enums, sets, UUIDs and the like. Models say themselves how
    their bytes are written; other bytes are refused, because no text is right for all of them.

    Raises:
        InvalidJsonError: with the path of what cannot be turned into JSON.
    """
    try:
        return freeze(value)
    except InvalidJsonError:
        pass
    for trail, leaf in _leaves(value):
        if isinstance(leaf, _BYTES):
            reason = "bytes are no JSON; return text (such as base64), or give the tool a to_model_output"
            raise InvalidJsonError(json_path("$", *keys_of(trail)), reason)
    try:
        plain = _jsonable(value)
    except (TypeError, ValueError) as error:
        raise _located(value, error) from None
    return freeze(plain)


def _jsonable(value: object) -> Any:
    return to_jsonable_python(value, fallback=_plain)


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PVector):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON; return a pydantic model, a dataclass or plain JSON")


def _located(value: object, error: Exception) -> InvalidJsonError:
    for trail, leaf in _leaves(value):
        try:
            _jsonable(leaf)
        except (TypeError, ValueError) as reason:
            return InvalidJsonError(json_path("$", *keys_of(trail)), str(reason))
    return InvalidJsonError("$", str(error))


def _leaves(value: object) -> Iterator[tuple[Trail, object]]:
    """What is in containers and dataclasses, at any depth, in order; each container once."""
    seen: set[int] = set()
    pending: list[tuple[Trail, object]] = [(None, value)]
    while pending:
        trail, node = pending.pop()
        children = _children(trail, node)
        if children is None:
            yield trail, node
        elif id(node) not in seen:
            seen.add(id(node))
            pending += reversed(children)


def _children(trail: Trail, node: object) -> list[tuple[Trail, object]] | None:
    if isinstance(node, Mapping):
        return [((trail, str(key)), child) for key, child in node.items()]
    if isinstance(node, (list, tuple, AbstractSet, PVector)):
        return [((trail, index), child) for index, child in enumerate(node)]
    # A pydantic dataclass writes its own fields, as a model does.
    if dataclasses.is_dataclass(node) and not hasattr(node, "__pydantic_serializer__"):
        names = [one.name for one in dataclasses.fields(node)]
        return [((trail, name), getattr(node, name)) for name in names]
    return None


def output_json(output: ToolOutput) -> JsonValue:
    """An output that a model is shown, as JSON: `{"type": ..., "value": ...}`."""
    wire: Any = message_to_wire(ToolMessage([ToolResultPart("", "", output=output)]))
    return freeze(wire["content"][0]["output"])
