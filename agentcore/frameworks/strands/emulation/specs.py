"""Descriptions of tools as the Python SDK completes them on their way to a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_DEEPEST: Final = 64
_COMPOSED: Final = ("anyOf", "oneOf", "allOf", "not")


class TooDeepError(ValueError):
    """A schema is nested too deeply for the SDK, which then leaves the tool out."""


def completed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The description with all that a schema has to have.

    Raises:
        TooDeepError: if the schema is nested too deeply.
        AttributeError: as the SDK does, for a schema that is none.
    """
    schema = _schema(spec["inputSchema"], 0)
    for name, value in schema["properties"].items():
        if "$ref" not in value:
            value.setdefault("description", _described(name))
    return {**spec, "inputSchema": schema}


# What is no dictionary has no such methods, and the SDK lets that be seen.
def _schema(value: Any, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise TooDeepError
    made: dict[str, Any] = value.copy()
    for key, otherwise in (("type", "object"), ("properties", {}), ("required", [])):
        made.setdefault(key, otherwise)
    made["properties"] = {name: _property(name, inner, depth) for name, inner in made["properties"].items()}
    return made


def _property(name: str, value: Any, depth: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {"type": "string", "description": _described(name)}
    if value.get("type") == "object" and "properties" in value:
        return _schema(value, depth + 1)
    made = dict(value)
    if "$ref" in made:
        return made
    if not any(key in made for key in _COMPOSED):
        made.setdefault("type", "string")
    made.setdefault("description", _described(name))
    return made


def _described(name: str) -> str:
    return f"Property {name}"
