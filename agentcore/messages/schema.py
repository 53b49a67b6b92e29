"""The JSON Schemas that this package comes with, and how values are held against them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any, Final

import jsonschema_rs


@cache
def schema(name: str, package: str = "agentcore.schemas") -> dict[str, Any]:
    """The schema `name.schema.json` of a Python package (`agentcore/schemas`); not to be changed."""
    text = files(package).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def accepts(validator: jsonschema_rs.Validator, value: Any) -> bool:
    """Whether plain JSON is what the schema allows, whatever its texts hold."""
    # The validator cannot take a lone surrogate as a key; no rule of the schemas depends on one.
    try:
        return bool(validator.is_valid(value))
    except UnicodeError:
        return bool(validator.is_valid(scrubbed(value)))


def scrubbed(value: Any) -> Any:
    """The value with lone surrogates replaced, as the validator can take it."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {scrubbed(key): scrubbed(child) for key, child in value.items()}
    return [scrubbed(child) for child in value] if isinstance(value, list) else value


@cache
def message_schema(*, newer: bool = False) -> jsonschema_rs.Validator:
    """Returns the validator of a list of messages as JSON; `newer` is that of ai@6.0.326."""
    if not newer:
        return jsonschema_rs.validator_for(schema("model-message"))
    found = deepcopy(schema("model-message"))
    for part in _parts_of(found):
        fields = part["properties"]
        fields |= {name: {"type": "string"} for name in _NEWER.get(fields["type"].get("const"), ())}
    return jsonschema_rs.validator_for(found)


_NEWER: Final = {"file-url": ("mediaType",), "tool-approval-request": ("signature",)}
"""Texts that newer messages may have, by the types of their parts."""


def _parts_of(node: Any) -> Iterator[dict[str, Any]]:
    """The schemas of objects with a type, anywhere in a schema."""
    if isinstance(node, dict):
        if "type" in (fields := node.get("properties", {})) and isinstance(fields["type"], dict):
            yield node
        node = [*node.values()]
    for child in node if isinstance(node, list) else ():
        yield from _parts_of(child)
