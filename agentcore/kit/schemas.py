"""A format's schema, and what to say of a program that is not what it allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import jsonschema_rs

from agentcore.kit.program import BadProgram, id_of
from agentcore.messages.schema import accepts, schema, scrubbed

__all__ = ["Explanation", "ProgramSchema", "Schema"]

Explanation: TypeAlias = tuple[str, str]
"""Where something is wrong, below the value that was looked at (`.set[0]`), and what."""

_NO_REASONS: Final[Mapping[str, str]] = MappingProxyType({})


def _any_of(schema_path: Sequence[str], _: Any) -> Explanation:
    return "", f"is none of what may stand here ({'/'.join(schema_path)})"


def _followed(value: Any, keys: Sequence[Any]) -> tuple[str, Any]:
    """A place as a text, and what stands there."""
    path = ""
    for key in keys:
        # The validator takes a name such as "0" for an index.
        path += f"[{key}]" if isinstance(value, list) else f".{key}"
        value = value[key] if isinstance(value, list) else value[str(key)]
    return path, value


class Schema:
    """The schema `name.schema.json` of a Python package, by default of `agentcore/schemas`.

    `choice(schema path, value)` explains a value that is none of several things; it may do so by `explain`,
    once it knows which of them was meant. `reasons` are told for keywords of the schema whose errors say too
    little by themselves.
    """

    def __init__(
        self,
        name: str,
        package: str = "agentcore.schemas",
        *,
        choice: Callable[[Sequence[str], Any], Explanation] = _any_of,
        reasons: Mapping[str, str] = _NO_REASONS,
    ) -> None:
        self.name = name
        self._schema = schema(name, package)
        self._choice = choice
        self._reasons = reasons
        self._whole = self._compiled()

    def problem(self, value: Any, definition: str | None = None) -> Explanation | None:
        """What is wrong with a value; None if the schema, or the one of its `$defs`, allows it."""
        validator = self._whole if definition is None else self._compiled(definition)
        return None if accepts(validator, value) else self._explained(validator, scrubbed(value))

    def explain(self, definition: str, value: Any) -> Explanation:
        """What is wrong with a value that one of the schema's `$defs` does not allow."""
        return self._explained(self._compiled(definition), value)

    def _compiled(self, definition: str | None = None) -> jsonschema_rs.Validator:
        whole = self._schema
        if definition is not None:
            whole = {"$defs": whole["$defs"], "$ref": f"#/$defs/{definition}"}
        return jsonschema_rs.validator_for(whole, mask="it")

    def _explained(self, validator: jsonschema_rs.Validator, value: Any) -> Explanation:
        error = next(iter(validator.iter_errors(value)))
        path, place = _followed(value, error.instance_path)
        if not isinstance(error.kind, jsonschema_rs.ValidationErrorKind.AnyOf):
            return path, self._reason(error)
        below, reason = self._choice([str(key) for key in error.schema_path], place)
        return path + below, reason

    def _reason(self, error: jsonschema_rs.ValidationError) -> str:
        match error.kind.as_dict():
            case {"unexpected": [*names]}:
                fields = self._node(error.schema_path)["properties"]
                return f"has the unknown field {names[0]}; the fields are {', '.join(fields)}"
            case {"property": str(field)}:
                return f"has no field {field}; add it"
            case {"types": [*types]}:
                return f"is of the wrong type; make it {' or '.join(map(str, types))}"
            case {"options": [*options]}:
                return f"must be one of {', '.join(map(str, options))}"
        for keyword, reason in self._reasons.items():
            if keyword in error.schema_path:
                return reason
        return f"{error.message} ({self.name}.schema.json, {'/'.join(map(str, error.schema_path))})"

    def _node(self, schema_path: list[str | int]) -> dict[str, Any]:
        """The schema object that has the keyword in which the path ends."""
        node: Any = self._schema
        for key in schema_path[:-1]:
            node = node[key]
        found: dict[str, Any] = node
        return found


class ProgramSchema(Schema):
    """The schema of a format's programs."""

    def check(self, program: dict[str, Any]) -> None:
        """Raises BadProgram unless the program is what the schema allows."""
        if problem := self.problem(program):
            path, reason = problem
            raise BadProgram(reason, "$" + path, id_of(program))
