"""The structured output of programs, `{name: text}`, and what the SDKs' validators say of anything else."""

from __future__ import annotations

import json
from typing import Any, Final

from agentcore.frameworks.strands.emulation.settings import InvalidOutputError, StructuredOutput
from agentcore.frameworks.strands.profiles import StrandsProfile

__all__ = ["structured_output"]

_NAME: Final = "strands_structured_output"
_SHOWN: Final = 50


def structured_output(profile: StrandsProfile) -> StructuredOutput:
    """The structured output as the SDK's own kind of schema describes and validates it."""
    if profile.has_classes:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        }
        return StructuredOutput(name=_NAME, input_schema=schema, validate=_zod)
    schema = {
        "type": "object",
        "properties": {"name": {"title": "Name", "type": "string"}},
        "required": ["name"],
        "title": _NAME,
    }
    described = f"{_NAME} structured output tool"
    return StructuredOutput(name=_NAME, description=described, input_schema=schema, validate=_pydantic)


# --- zod ----------------------------------------------------------------------------------------------------


def _zod(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidOutputError(_issue("object", [], _kind(value)))
    name = value.get("name")
    if not isinstance(name, str):
        raise InvalidOutputError(_issue("string", ["name"], _kind(name) if "name" in value else "undefined"))
    return {"name": name}


def _issue(expected: str, path: list[str], received: str) -> str:
    message = f"Invalid input: expected {expected}, received {received}"
    issue = {"expected": expected, "code": "invalid_type", "path": path, "message": message}
    return json.dumps([issue], indent=2)


def _kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


# --- pydantic -----------------------------------------------------------------------------------------------


def _pydantic(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        # The class of the driver, as the interpreter names it.
        wrong = f"run.{_NAME}() argument after ** must be a mapping, not {type(value).__name__}"
        raise InvalidOutputError(f"Unexpected error validating {_NAME}: {wrong}")
    if "name" not in value:
        raise _invalid("Field required", "missing", value)
    if not isinstance(value["name"], str):
        raise _invalid("Input should be a valid string", "string_type", value["name"])
    return {"name": value["name"]}


def _invalid(message: str, kind: str, value: Any) -> InvalidOutputError:
    told = f"Validation failed for {_NAME}. Please fix the following errors:\n- Field 'name': {message}"
    shown = repr(value)
    if len(shown) > _SHOWN:
        shown = f"{shown[: _SHOWN // 2]}...{shown[1 - _SHOWN // 2 :]}"
    details = (
        f"1 validation error for {_NAME}\nname\n  {message} "
        f"[type={kind}, input_value={shown}, input_type={type(value).__name__}]\n"
        f"    For further information visit https://errors.pydantic.dev/2.14/v/{kind}"
    )
    return InvalidOutputError(told, details)
