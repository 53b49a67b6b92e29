"""The ops of the program format, on live objects: views of a heap, or frozen values that refuse writes.

An op that leads nowhere is skipped and listed (rule oracle.op-skipped); one that the object refuses throws
(rule oracle.op-refused).

One interpreter serves every mode; what differs is in `Objects`: how a new object is made and how one is
cloned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from agentcore.errors import ImmutableWriteError
from agentcore.heap.heap import UNDEFINED, DataCloneError, Drawn, Measured
from agentcore.heap.js import number_text
from agentcore.kit.families import Refusal

Path: TypeAlias = Sequence[str | int]

_WITH_PATHS: Final = ("set", "append", "clear", "delete", "keep", "freeze")


class Objects(Protocol):
    """What an implementation does with the values that ops make."""

    def new(self, value: Any) -> Any:
        """A live object for a value that may hold live objects."""

    def clone(self, live: Any) -> Any:
        """A deep copy that shares nothing with a live object."""

    def model(self, model_id: str) -> Any:
        """A second model that answers from the same script."""

    def freeze(self, live: Any) -> None:
        """Freezes a live object deeply."""


class NowhereError(Exception):
    """A path leads to nothing, or to where the op cannot be done."""


def is_list(value: Any) -> bool:
    """Whether a live value is a list: a Python one, a frozen one or a view."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def index_in(items: Sequence[Any], key: Any) -> int | None:
    """Returns the index of the element that a key of a path names, None where there is no such element."""
    if type(key) is not int:
        return None
    index = key + len(items) if key < 0 else key
    return index if 0 <= index < len(items) else None


def slot(container: Any, key: str | int, *, fresh: bool = False) -> Any:
    """Returns the key as the container has it.

    Args:
        container: a live object or list.
        key: a key of a path.
        fresh: whether a field that the object lacks will do.

    Raises:
        NowhereError: if the container has no such field or element.
    """
    if isinstance(container, Mapping):
        if not isinstance(key, str) or not (fresh or _has_own(container, key)):
            raise NowhereError(f"no field {key!r}")
        return key
    if not is_list(container):
        raise NowhereError(f"{key!r} of something that is not an object")
    index = index_in(container, key)
    if index is None:
        raise NowhereError(f"no element {key!r}")
    return index


def below(value: Any, path: Iterable[str | int]) -> Any:
    """Returns what a path leads to from a live value.

    Raises:
        NowhereError: if the path leads to nothing.
    """
    for key in path:
        value = value[slot(value, key)]
    return value


def _has_own(container: Mapping[str, Any], key: str) -> bool:
    """Whether the object has the field itself; the name of an error is its class's."""
    owns = getattr(container, "owns", None)
    return container.get(key, UNDEFINED) is not UNDEFINED and (owns is None or owns(key))


class ThrownError(Exception):
    """What a program's hook or tool throws."""

    name = "Error"


class RefusedError(Exception):
    """An op that the object refuses.

    Languages word their refusals differently, and the text can reach a prompt as a tool's error: here it is
    one text.
    """

    name = "TypeError"

    def __init__(self) -> None:
        super().__init__("the object refuses the op")


class Ops:
    """Runs the ops of one program's hooks; holds what they keep, and what went nowhere.

    `leave_out` makes the error that ends a run which would show what no trace can have.
    """

    def __init__(self, objects: Objects, leave_out: Callable[[str], Exception] | None = None) -> None:
        self.objects = objects
        self.leave_out = leave_out
        self.kept: dict[str, Any] = {}
        self.errors: list[str] = []
        self.refusals: list[Refusal] = []

    def run(self, ops: Sequence[Mapping[str, Any]] | None, argument: Any, where: str) -> Any:
        """Runs a hook's ops on its argument; gives what the hook returns (None for nothing).

        Raises:
            ThrownError: where the program throws.
            RefusedError: where a live object refuses an op.
            ImmutableWriteError: where an op would write in place and the values are frozen.
        """
        for number, op in enumerate(ops or ()):
            try:
                if "return" in op:
                    return self._result(op, argument)
                self._apply(op, argument)
            except NowhereError as error:
                self.errors.append(f"{where}, op {number}: {error}")
            except ThrownError:
                raise
            except ImmutableWriteError as error:
                self._refused(where, number, op, error)
                raise
            except (TypeError, ValueError, LookupError, AttributeError, DataCloneError) as error:
                self._refused(where, number, op, error)
                raise RefusedError from error
        return None

    def _refused(self, where: str, number: int, op: Mapping[str, Any], error: Exception) -> None:
        path = next(
            (op[verb] for verb in ("set", "append", "clear", "delete", "keep", "freeze") if verb in op), ()
        )
        self.refusals.append(Refusal(where=where, op=number, path=tuple(path), reason=str(error)))

    def _apply(self, op: Mapping[str, Any], argument: Any) -> None:
        if "set" in op:
            container, key = self._target(op["set"], argument, fresh=True)
            value = self._value(op["to"], argument)
            container[key] = value
        elif "append" in op:
            self._append(op["append"], op["with"], argument)
        elif "clear" in op:
            _listed_in_place(self._at(op["clear"], argument)).clear()
        elif "delete" in op:
            container, key = self._target(op["delete"], argument)
            del container[key]
        elif "keep" in op:
            self.kept[op["as"]] = self._at(op["keep"], argument)
        elif "freeze" in op:
            self.objects.freeze(self._at(op["freeze"], argument))
        else:
            raise ThrownError(op["throw"])

    def _append(self, path: Path, json: Any, argument: Any) -> None:
        """Pushes to an array, which may be a kept one, or adds to the text of a field."""
        found: Any = self._at(path, argument) if _is_reference(path) else None
        if is_list(found):
            found.append(self._value(json, argument))
            return
        container, key = self._target(path, argument)
        added = self._value(json, argument)
        if isinstance(container[key], str):
            self._require_lasting(container[key], added)
            container[key] += added if isinstance(added, str) else _text(added)
        else:
            _listed_in_place(container[key]).append(added)

    def _require_lasting(self, *texts: Any) -> None:
        if self.leave_out is not None and any(isinstance(text, Drawn | Measured) for text in texts):
            raise self.leave_out("a text that holds what the package draws or measures")

    def _target(self, path: Path, argument: Any, *, fresh: bool = False) -> tuple[Any, Any]:
        if _is_reference(path):
            raise NowhereError(f"{path[0]} is a reference, not a field; only its elements and fields change")
        container = argument if len(path) == 1 else self._at(path[:-1], argument)
        return container, slot(container, path[-1], fresh=fresh)

    def _at(self, path: Path, argument: Any) -> Any:
        first = str(path[0])
        if not first.startswith("$"):
            value = argument[slot(argument, first)]
        elif first[1:] in self.kept:
            value = self.kept[first[1:]]
        else:
            raise NowhereError(f"nothing is kept as {first[1:]}")
        return below(value, path[1:])

    def _value(self, json: Any, argument: Any) -> Any:
        if isinstance(json, list):
            return [self._value(item, argument) for item in json]
        if not isinstance(json, dict):
            return json
        if "$ref" in json:
            return self._at(json["$ref"], argument)
        if "$clone" in json:
            return self.objects.clone(self._at(json["$clone"], argument))
        return {key: self._value(item, argument) for key, item in json.items()}

    # ---------------------------------------------------------------- results

    def _result(self, op: Mapping[str, Any], argument: Any) -> Any:
        if op["return"] is None:
            return None
        result: dict[str, Any] = {}
        for field, json in op["return"].items():
            if field == "messages" and isinstance(json, list):
                result[field] = self.objects.new(self._staged(json, argument))
            elif field == "model" and isinstance(json, str):
                result[field] = self.objects.model(json)
            else:
                result[field] = self._value(json, argument)
        live = self.objects.new(result)
        if "keep" in op:
            self.kept[op["keep"]] = live["messages"] if "messages" in result else live
        return live

    def _staged(self, stages: Sequence[Any], argument: Any) -> Any:
        messages = argument["messages"]
        for stage in stages:
            messages = self._stage(messages, stage, argument)
        return messages

    def _stage(self, messages: Any, stage: Any, argument: Any) -> Any:
        if stage == "copy":
            return _spread(messages)
        if stage == "clone":
            return self.objects.clone(self.objects.new(messages))
        verb, given = next(iter(stage.items()))
        match verb:
            case "keepRoles":
                return [message for message in _listed(messages) if _role(message) in given]
            case "dropRoles":
                return [message for message in _listed(messages) if _role(message) not in given]
            case "replace":
                return self._replaced(messages, given, argument)
            case "append":
                return [*_spread(messages), *self._value(given, argument)]
            case "prepend":
                return [*self._value(given, argument), *_spread(messages)]
            case "slice":
                part = slice(given[0], given[1] if len(given) > 1 else None)
                return messages[part] if isinstance(messages, str) else list(_listed(messages)[part])
            case _:
                return self._value(given, argument)

    def _replaced(self, messages: Any, given: Any, argument: Any) -> Any:
        index = slot(messages, given["at"])
        found = messages[index]
        # JavaScript evaluates the fields once, however often the message is in the list.
        replaced = {**_fields(found), **_fields(self._value(given["with"], argument))}
        return [replaced if i == index else message for i, message in enumerate(messages)]


def _listed(messages: Any) -> Any:
    if not is_list(messages):
        raise TypeError("messages is not a list")
    return messages


def _spread(messages: Any) -> list[Any]:
    """What `[...messages]` gives: a text spreads into its characters."""
    return list(messages if isinstance(messages, str) else _listed(messages))


def _role(message: Any) -> Any:
    if message is None:
        raise TypeError("Cannot read properties of null (reading 'role')")
    return message.get("role") if isinstance(message, Mapping) else None


def _is_reference(path: Path) -> bool:
    """Whether the path names a kept value as a whole, which stands in no container."""
    return len(path) == 1 and str(path[0]).startswith("$")


def _listed_in_place(value: Any) -> Any:
    if not is_list(value):
        raise TypeError("the op changes an array, and this is none")
    return value


def _fields(value: Any) -> dict[str, Any]:
    """What `{...value}` gives: an array and a text spread under their indexes."""
    spread = getattr(value, "spread", None)
    if spread is not None:
        return dict(spread())
    if isinstance(value, Mapping):
        return dict(value)
    return {str(index): item for index, item in enumerate(value)} if isinstance(value, Sequence) else {}


def _text(value: Any) -> str:
    as_text = getattr(value, "as_text", None)
    if as_text is not None:
        return str(as_text())
    if isinstance(value, Mapping):
        if "toString" in value:
            raise TypeError("Cannot convert object to primitive value")
        return "[object Object]"
    if is_list(value):
        return ",".join(
            "" if item is None else item if isinstance(item, str) else _text(item) for item in value
        )
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return number_text(value)
