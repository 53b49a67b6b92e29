"""Programs: runs of an agent loop as data, one JSON text per line (`schemas/program.schema.json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NoReturn

import jsonschema_rs

from agentcore.errors import AgentCoreError
from agentcore.schema import accepts, schema, scrubbed

__all__ = ["MAX_DEPTH", "BadProgram", "check_program", "parse_program", "program_to_line"]

# Implementations walk programs by recursion (structuredClone among them): a limit of the format, not of a
# parser.
MAX_DEPTH: Final = 128
_EXACT: Final = 2**53
_FIELDS: Final = (
    *("id", "path", "frozen", "messages", "system", "model", "options"),
    *("tools", "maxSteps", "script", "hooks"),
)
_PROTO: Final = (
    "the key __proto__ cannot be part of a program: JavaScript objects cannot hold it as data, "
    "so implementations would run different programs; use another key"
)


class BadProgram(AgentCoreError, ValueError):  # noqa: N818 - the name is the one in traces
    """A line that is no program: `reason` says what is wrong and what to do, `id` the program's, if any."""

    wire_name: ClassVar[str] = "BadProgram"

    def __init__(self, reason: str, path: str = "$", id: str | float | None = None) -> None:  # noqa: A002
        super().__init__(reason, path, id)
        self.reason = reason
        self.path = path
        self.id = id

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def parse_program(line: str | bytes) -> dict[str, Any]:
    """The program that the line holds, as plain dicts and lists.

    Numbers become what JavaScript makes of them: `1.0` is `1`, integers beyond 2**53 are rounded. Raises
    BadProgram for whatever else the line may be.
    """
    text = _decode(line)
    value = _read(text)
    if not isinstance(value, dict):
        raise BadProgram('a program is a JSON object such as {"id": "a", "path": "stream", ...}')
    # A key can only be spelt otherwise with an escape; most lines have neither.
    if "__proto__" in text or "\\u" in text:
        _refuse_proto(value)
    if text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(value):
        raise BadProgram(f"nested more than {MAX_DEPTH} levels deep; make it flatter", "$", _id_of(value))
    _check_schema(value)
    return value


def check_program(value: object) -> None:
    """Raises BadProgram unless the value, made of plain dicts and lists, is a program."""
    if not isinstance(value, dict):
        raise BadProgram("a program is a JSON object")
    if _too_deep(value):
        raise BadProgram(f"nested more than {MAX_DEPTH} levels deep; make it flatter", "$", _id_of(value))
    _refuse_proto(value)
    _check_schema(value)


def program_to_line(program: Mapping[str, Any]) -> str:
    """One line of ASCII without a line end: top-level fields in a fixed order, others as they are."""
    ordered = {field: program[field] for field in _FIELDS if field in program}
    return json.dumps(ordered, separators=(",", ":"), allow_nan=False)


def _decode(line: str | bytes) -> str:
    if isinstance(line, str):
        return line
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8 (byte {error.start}); write lone surrogates as \\ud800 escapes"
        raise BadProgram(reason) from None


def _read(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadProgram(f"is not JSON: {error.msg}, column {error.pos + 1}") from None
    except RecursionError:
        raise BadProgram(f"nested more than {MAX_DEPTH} levels deep; make it flatter") from None


def _constant(text: str) -> NoReturn:
    raise BadProgram(f"is not JSON: {text}; JSON has no such number, write null or a text")


def _float(text: str) -> int | float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        shown = text if len(text) < len("-1.2345678e+1000") else f"{text[:12]}..."
        raise BadProgram(f"the number {shown} is beyond what a 64-bit float holds; write it as a text")
    return int(number) if number.is_integer() and -_EXACT < number < _EXACT else number


def _int(text: str) -> int | float:
    return int(text) if len(text) < len(str(_EXACT)) else _float(text)


_DECODER: Final = json.JSONDecoder(parse_float=_float, parse_int=_int, parse_constant=_constant)


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for container in level for child in _children(container)]
        if not level:
            return False
    return True


def _children(container: Any) -> list[Any]:
    inside = container.values() if isinstance(container, dict) else container
    return [child for child in inside if isinstance(child, (dict, list))]


def _refuse_proto(program: dict[str, Any]) -> None:
    stack: list[tuple[str, Any]] = [("$", program)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            if "__proto__" in value:
                raise BadProgram(_PROTO, path, _id_of(program))
            stack.extend((f"{path}.{key}", child) for key, child in value.items())
        elif isinstance(value, list):
            stack.extend((f"{path}[{index}]", child) for index, child in enumerate(value))


def _id_of(program: Any) -> str | float | None:
    found = program.get("id")
    return found if isinstance(found, (str, int, float)) and not isinstance(found, bool) else None


# --- the schema, and what to say of its errors --------------------------------------------------------------

_SCHEMA: Final = schema("program")
_VERBS: Final = {verb: verb for verb in ("set", "append", "delete", "return", "keep", "freeze", "throw")}
_STAGES: Final = {
    "keepRoles": "keepRoles",
    "dropRoles": "dropRoles",
    "replace": "replaceStage",
    "append": "appendStage",
    "prepend": "prependStage",
    "slice": "sliceStage",
    "literal": "literalStage",
}
_PARTS: Final = {
    "text": "textPart",
    "reasoning": "textPart",
    "tool-call": "toolCallPart",
    "tool-result": "toolResultPart",
    "source": "sourcePart",
}


def _compile(definition: str | None = None) -> jsonschema_rs.Validator:
    whole = _SCHEMA if definition is None else {"$defs": _SCHEMA["$defs"], "$ref": f"#/$defs/{definition}"}
    return jsonschema_rs.validator_for(whole, mask="it")


_PROGRAM: Final = _compile()


def _check_schema(program: dict[str, Any]) -> None:
    if not accepts(_PROGRAM, program):
        path, reason = _explain(_PROGRAM, scrubbed(program))
        raise BadProgram(reason, "$" + path, _id_of(program))


def _explain(validator: jsonschema_rs.Validator, value: Any) -> tuple[str, str]:
    error = next(iter(validator.iter_errors(value)))
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in error.instance_path)
    if not isinstance(error.kind, jsonschema_rs.ValidationErrorKind.AnyOf):
        return path, _reason(error)
    place = value
    for key in error.instance_path:
        place = place[key]
    below, reason = _explain_choice([str(key) for key in error.schema_path], place)
    return path + below, reason


def _explain_choice(schema_path: list[str], value: Any) -> tuple[str, str]:
    """What is wrong with a value that is none of several things, told of the one it was meant to be."""
    kind = schema_path[-2]
    if kind == "stage":
        return _explain_named(value, _STAGES, "a stage is copy, clone, or an object with one of: ")
    if kind == "part":
        return _explain_typed(value)
    if kind == "op" or schema_path[-3:] == ["items", "items", "anyOf"]:
        if kind == "op" and isinstance(value, dict) and "return" in value:
            return "", "only prepareStep has return; drop it, or move the op there"
        return _explain_named(value, _VERBS, "an op is an object with one verb of: ")
    if kind == "tool":
        return (
            "",
            "a tool has an output, unless it has error, noExecute or needsApproval, or returns its input",
        )
    return (
        "",
        "a path is a list of field names, and indexes that are whole numbers; __proto__ is not one of them",
    )


def _explain_named(value: Any, known: dict[str, str], what: str) -> tuple[str, str]:
    name = next((name for name in known if isinstance(value, dict) and name in value), None)
    return ("", what + ", ".join(known)) if name is None else _explain(_compile(known[name]), value)


def _explain_typed(value: Any) -> tuple[str, str]:
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in _PARTS:
        return "", "a part of the script is an object whose type is one of: " + ", ".join(_PARTS)
    return _explain(_compile(_PARTS[kind]), value)


def _reason(error: jsonschema_rs.ValidationError) -> str:
    match error.kind.as_dict():
        case {"unexpected": [*names]}:
            node = _node(error.schema_path)
            return f"has the unknown field {names[0]}; the fields are {', '.join(node['properties'])}"
        case {"property": str(field)}:
            return f"has no field {field}; add it"
        case {"types": [*types]}:
            return f"is of the wrong type; make it {' or '.join(map(str, types))}"
        case {"options": [*options]}:
            return f"must be one of {', '.join(map(str, options))}"
    if "propertyNames" in error.schema_path:
        reserved = ", ".join(_SCHEMA["$defs"]["options"]["propertyNames"]["not"]["enum"])
        return f"no option may be any of {reserved}: those have their own places in a program, or none"
    if "dependentSchemas" in error.schema_path:
        return "an object with $ref or $clone has no other field; drop the others"
    return f"{error.message} (program.schema.json, {'/'.join(map(str, error.schema_path))})"


def _node(schema_path: list[str | int]) -> dict[str, Any]:
    """The schema object that has the keyword in which the path ends."""
    node: Any = _SCHEMA
    for key in schema_path[:-1]:
        node = node[key]
    found: dict[str, Any] = node
    return found
