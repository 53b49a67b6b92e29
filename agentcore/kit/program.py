"""Programs: runs of an agent loop as data, one JSON text per line; their schemas, and places in them.

A line that is not a program raises BadProgram, which is the answer to it (rule oracle.bad-program).

And what becomes of a program that a driver was given: each kind of misbehaviour is a type of its own. Rule
oracle.only-wrong-counts: of all these only an answer whose trace is wrong says something about the
implementation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

import attrs
import jsonschema_rs

from agentcore.errors import AgentCoreError
from agentcore.messages.brief import Trail, brief, plain_path

__all__ = [
    "MAX_DEPTH",
    "Answer",
    "BadNumber",
    "BadProgram",
    "Crashed",
    "Explanation",
    "Failure",
    "Hung",
    "Incompatible",
    "Malformed",
    "Outcome",
    "Place",
    "ProgramSchema",
    "Schema",
    "Unsupported",
    "at",
    "check_program",
    "excerpt",
    "has",
    "id_of",
    "parse_json",
    "parse_program",
    "places",
    "program_to_line",
    "put",
    "without",
]

# ---------------------------------------------------------------- schemas, and values held against them


@cache
def schema(name: str, package: str = "agentcore.schemas") -> dict[str, Any]:
    """The schema `name.schema.json` of a Python package (`agentcore/schemas`); not to be changed."""
    text = files(package).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def accepts(validator: jsonschema_rs.Validator, value: Any) -> bool:
    """True if the schema allows this plain JSON, whatever its texts hold."""
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
def message_schema() -> jsonschema_rs.Validator:
    """Returns the validator of a list of messages as JSON."""
    return jsonschema_rs.validator_for(schema("model-message"))


Check: TypeAlias = Callable[[dict[str, Any]], None]

# Implementations walk programs by recursion (structuredClone among them): a limit of the format, not of a
# parser.
MAX_DEPTH: Final = 128
_EXACT: Final = 2**53
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


class BadNumber(BadProgram):
    """A number in a line that JSON does not have, or that no 64-bit float holds."""


def parse_program(line: str | bytes, check: Check) -> dict[str, Any]:
    """The program that the line holds, as plain dicts and lists; `check` is that of the format.

    Numbers become what JavaScript makes of them: `1.0` is `1`, integers beyond 2**53 are rounded. Raises
    BadProgram for whatever else the line may be.
    """
    text = _decode(line)
    value = _read(text)
    if not isinstance(value, dict):
        raise BadProgram('a program is a JSON object such as {"id": "a", "messages": [], ...}')
    # A key can only be spelt otherwise with an escape; most lines have neither.
    if "__proto__" in text or "\\u" in text:
        _refuse_proto(value)
    if text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(value):
        raise BadProgram(f"nested more than {MAX_DEPTH} levels deep; make it flatter", "$", id_of(value))
    check(value)
    return value


def parse_json(line: str | bytes) -> Any:
    """The JSON of a line, numbers as `parse_program` has them. Raises BadProgram if it is not JSON."""
    return _read(_decode(line))


def check_program(value: object, check: Check) -> None:
    """Raises BadProgram unless the value, made of plain dicts and lists, is a program of the format."""
    if not isinstance(value, dict):
        raise BadProgram("a program is a JSON object")
    if _too_deep(value):
        raise BadProgram(f"nested more than {MAX_DEPTH} levels deep; make it flatter", "$", id_of(value))
    _refuse_proto(value)
    check(value)


def by_value(program: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy in which no two places are one object: a program is JSON, which knows no identity.

    A program that was made in memory may have one dict at two places, and a loop that is given live objects
    would write to both.
    """
    copy: dict[str, Any] = {}
    todo: list[tuple[Any, Any]] = [(program, copy)]
    for old, new in todo:  # grows on the way; nothing recurses, since what is too deep is refused elsewhere
        for key, value in old.items() if isinstance(old, Mapping) else enumerate(old):
            made: Any = value
            if isinstance(value, dict | list):
                made = {} if isinstance(value, dict) else [None] * len(value)
                todo.append((value, made))
            new[key] = made
    return copy


def program_to_line(program: Mapping[str, Any], fields: Sequence[str] | None = None) -> str:
    """One line of ASCII without a line end; `fields` are those of the top level, in their order."""
    ordered = {field: program[field] for field in fields or program if field in program}
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
    raise BadNumber(f"is not JSON: {text}; JSON has no such number, write null or a text")


def _float(text: str) -> int | float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        shown = text if len(text) < len("-1.2345678e+1000") else f"{text[:12]}..."
        raise BadNumber(f"the number {shown} is beyond what a 64-bit float holds; write it as a text")
    # Beyond 2**53 a float stays a float, as JavaScript writes it: an int of the same digits would be exact
    # here and rounded there.
    return int(number) if number.is_integer() and -_EXACT < number < _EXACT else number


def _int(text: str) -> int | float:
    # By its length first: Python refuses to read integers of thousands of digits, and a number so long is a
    # float anyway.
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
    stack: list[tuple[Trail, Any]] = [(None, program)]
    while stack:
        trail, value = stack.pop()
        if isinstance(value, dict):
            if "__proto__" in value:
                raise BadProgram(_PROTO, plain_path("$", trail), id_of(program))
            stack.extend(((trail, key), child) for key, child in value.items())
        elif isinstance(value, list):
            stack.extend(((trail, index), child) for index, child in enumerate(value))


def id_of(program: Any) -> str | float | None:
    """The program's id, if it has one."""
    found = program.get("id")
    return found if isinstance(found, (str, int, float)) and not isinstance(found, bool) else None


# A format's schema, and what to say of a program that is not what it allows.

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
    once it knows which of them was meant. `reasons` are printed for keywords of the schema whose errors say
    too little by themselves.
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
        """Explains why the schema, or one of its `$defs`, refuses a value; None if it allows it."""
        validator = self._whole if definition is None else self._compiled(definition)
        return None if accepts(validator, value) else self._explained(validator, scrubbed(value))

    def explain(self, definition: str, value: Any) -> Explanation:
        """Explains why one of the schema's `$defs` refuses a value."""
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


# ---------------------------------------------------------------- places

Place: TypeAlias = tuple[str | int, ...]


def places(value: Any) -> list[Place]:
    """All places in an object or a list, the outermost first, lists from their end."""
    level: list[tuple[Place, Any]] = [((), value)]
    found: list[Place] = []
    while level:
        below = []
        for place, container in level:
            keys = [*container] if isinstance(container, dict) else [*reversed(range(len(container)))]
            below += [((*place, key), container[key]) for key in keys]
        found += [place for place, _ in below]
        level = [(place, child) for place, child in below if isinstance(child, (dict, list))]
    return found


def has(value: Any, place: Place) -> bool:
    """True if the value has this place."""
    try:
        at(value, place)
    except (LookupError, TypeError):
        return False
    return True


def at(value: Any, place: Place) -> Any:
    """Returns the value at the place. Raises LookupError or TypeError if there is none."""
    for key in place:
        value = value[key]
    return value


def put(value: Any, place: Place, new: Any) -> Any:
    """A copy with the new value at the place, which the value has."""
    if not place:
        return new
    key, rest = place[0], place[1:]
    changed = put(value[key], rest, new)
    if isinstance(value, dict):
        return {**value, key: changed}
    return [changed if index == key else child for index, child in enumerate(value)]


def without(value: Any, place: Place) -> Any:
    """A copy without the place, which the value has."""
    *above, key = place
    container = at(value, tuple(above))
    if isinstance(container, dict):
        return put(value, tuple(above), {name: child for name, child in container.items() if name != key})
    return put(value, tuple(above), [child for index, child in enumerate(container) if index != key])


_EXCERPT: Final = 200


@attrs.frozen
class Answer:
    """The trace of the program.

    `texts` are the lines of the program and of its trace, where a driver gave them. `agreed` says that this
    trace is known to be the expected one, from an earlier check; then it was not read, and `trace` is empty.
    """

    __repr__ = brief

    trace: dict[str, Any]
    texts: tuple[bytes, bytes] | None = attrs.field(default=None, eq=False)
    agreed: bool = attrs.field(default=False, eq=False)


@attrs.frozen
class Unsupported:
    """The implementation says that it cannot run this program."""

    __repr__ = brief

    reason: str


@attrs.frozen
class Crashed:
    """The process ended, or could not be started, before it had answered."""

    __repr__ = brief

    reason: str
    stderr: str


@attrs.frozen
class Hung:
    """No answer within the time limit; the process was killed."""

    __repr__ = brief

    seconds: float
    stderr: str


@attrs.frozen
class Malformed:
    """Output that is not one trace per program in order; the process was killed."""

    __repr__ = brief

    reason: str
    output: str
    stderr: str


@attrs.frozen
class Incompatible:
    """The driver speaks another version of the protocol, so nothing was asked of it; it was killed."""

    __repr__ = brief

    reason: str
    version: float
    stderr: str


Failure: TypeAlias = Crashed | Hung | Malformed | Incompatible
"""What a driver does that gives neither a trace nor the word that there is none."""

Outcome: TypeAlias = Answer | Unsupported | Failure


def excerpt(line: bytes) -> str:
    """The beginning of a line, as text, and how long the line is where that is not all of it."""
    text = line[:_EXCERPT].decode("utf-8", "replace")
    return text if len(line) <= _EXCERPT else f"{text}... ({len(line)} bytes)"
