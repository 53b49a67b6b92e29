"""The ops of the AI SDK's format, on live objects: views of a heap, or frozen values that refuse writes.

One interpreter serves every mode; what differs is in `Objects`: how a new object is made and how one is
cloned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Protocol

from agentcore.errors import ImmutableWriteError
from agentcore.heap.heap import DataCloneError, Drawn, Measured
from agentcore.heap.js import number_text
from agentcore.kit import ops as kit
from agentcore.kit.families import Refusal
from agentcore.kit.ops import (
    NowhereError,
    Op,
    Path,
    Record,
    RecordedRun,
    Slot,
    Spelling,
    below,
    is_list,
    slot,
)

__all__ = ["Objects", "Ops", "RefusedError", "StepRecording", "Turn"]


class Objects(Protocol):
    """The operations on values that ops need from an implementation."""

    def new(self, value: Any) -> Any:
        """A live object for a value that may hold live objects."""

    def clone(self, live: Any) -> Any:
        """A deep copy that shares nothing with a live object."""

    def model(self, model_id: str) -> Any:
        """A second model that answers from the same script."""

    def freeze(self, live: Any) -> None:
        """Freezes a live object deeply."""


class RefusedError(Exception):
    """An op that the object refuses.

    Languages word their refusals differently, and the text can reach a prompt as a tool's error: here it is
    one text.
    """

    name = "TypeError"

    def __init__(self) -> None:
        super().__init__("the object refuses the op")


_SPELLING: Final[Mapping[str, Spelling]] = MappingProxyType(
    {
        "set": Spelling("set", "set", "to"),
        "clear": Spelling("clear", "clear"),
        "delete": Spelling("delete", "delete"),
        "keep": Spelling("keep", "keep", "as"),
        "throw": Spelling("throw", value="throw"),
    }
)
# An op is known by its first of these fields: what is returned can be kept as well.
_WORDS: Final = ("return", "set", "append", "clear", "delete", "keep", "freeze", "throw")


class Ops:
    """Runs the ops of one program's hooks; holds what they keep, and what went nowhere.

    `leave_out` makes the error that ends a run which would show what no trace can have.
    """

    def __init__(
        self,
        objects: Objects,
        record: Record | None = None,
        leave_out: Callable[[str], Exception] | None = None,
    ) -> None:
        self.objects = objects
        self.record = record or Record()
        self.leave_out = leave_out
        self.kept = self.record.kept
        self.errors = self.record.of("opErrors")

    def run(self, ops: Sequence[Op] | None, argument: Any, where: str) -> Any:
        """Runs a hook's ops on its argument; gives what the hook returns (None for nothing).

        Raises:
            ThrownError: where the program throws.
            RefusedError: where a live object refuses an op.
            ImmutableWriteError: where an op would write in place and the values are frozen.
        """
        turn = self.turn(argument, where)
        turn.run(ops)
        return turn.result

    def turn(self, argument: Any, where: str) -> Turn:
        """The ops of one call of a hook."""
        return Turn(self, argument, where)


class Turn(kit.Turn):
    """The ops of one call of a hook, which may return something."""

    spelling = _SPELLING
    refusals = (*kit.Turn.refusals, DataCloneError)

    def __init__(self, ops: Ops, argument: Any, where: str) -> None:
        super().__init__(ops.record, where)
        self.ops = ops
        self.objects = ops.objects
        self.argument = argument
        self.result: Any = None

    def word(self, op: Op) -> str:
        """An op is known by the field that has its path."""
        return next(word for word in _WORDS if word in op)

    def refused(self, number: int, op: Op, error: Exception) -> None:
        """Ends the turn: the hook throws."""
        path = op.get(self.word(op), ()) if self.word(op) not in ("return", "throw") else ()
        self.record.refusals.append(Refusal(where=self.by, op=number, path=tuple(path), reason=str(error)))
        raise error if isinstance(error, ImmutableWriteError) else RefusedError from error

    # ---------------------------------------------------------------- paths and values

    def at(self, op: Op, path: Path) -> Any:
        """Returns the value at a path, which begins at the argument or at a kept value."""
        del op
        first = str(path[0])
        if not first.startswith("$"):
            return below(self.argument, path)
        if first[1:] not in self.record.kept:
            raise NowhereError(f"nothing is kept as {first[1:]}")
        return below(self.record.kept[first[1:]], path[1:])

    def field(self, op: Op, path: Path, *, fresh: bool = False) -> Slot:
        """Returns the slot that an op writes to. A kept value as a whole has no slot."""
        if _is_reference(path):
            raise NowhereError(f"{path[0]} is a reference, not a field; only its elements and fields change")
        container = self.argument if len(path) == 1 else self.at(op, path[:-1])
        return Slot(container, slot(container, path[-1], fresh=fresh))

    def value(self, op: Op, spelling: Spelling) -> Any:
        """The value of an op, with live objects where it refers to them."""
        return self._value(op[spelling.value])

    def items(self, live: Any, what: str = "") -> Any:
        """A list to change; anything else refuses."""
        del what
        if not is_list(live):
            raise TypeError("the op changes an array, and this is not one")
        return live

    def _append(self, op: Op) -> None:
        """Pushes to an array, which may be a kept one, or adds to the text of a field."""
        path, json = op["append"], op["with"]
        kept: Any = self.at(op, path) if _is_reference(path) else None
        if is_list(kept):
            kept.append(self._value(json))
            return
        field = self.field(op, path)
        added = self._value(json)
        found = field.get()
        if isinstance(found, str):
            self._require_lasting(found, added)
            field.put(found + (added if isinstance(added, str) else _text(added)))
        else:
            self.items(found).append(added)

    def _require_lasting(self, *texts: Any) -> None:
        leave_out = self.ops.leave_out
        if leave_out is not None and any(isinstance(text, Drawn | Measured) for text in texts):
            raise leave_out("a text that holds what the package draws or measures")

    def _value(self, json: Any) -> Any:
        if isinstance(json, list):
            return [self._value(item) for item in json]
        if not isinstance(json, dict):
            return json
        if "$ref" in json:
            return self.at({}, json["$ref"])
        if "$clone" in json:
            return self.objects.clone(self.at({}, json["$clone"]))
        return {key: self._value(item) for key, item in json.items()}

    def _freeze(self, op: Op) -> None:
        self.objects.freeze(self.at(op, op["freeze"]))

    # ---------------------------------------------------------------- results

    def _return(self, op: Op) -> None:
        """Returns something from the hook, which ends the turn."""
        self.result = None if op["return"] is None else self._result(op)
        self.over = True

    def _result(self, op: Op) -> Any:
        result: dict[str, Any] = {}
        for field, json in op["return"].items():
            if field == "messages" and isinstance(json, list):
                result[field] = self.objects.new(self._staged(json))
            elif field == "model" and isinstance(json, str):
                result[field] = self.objects.model(json)
            else:
                result[field] = self._value(json)
        live = self.objects.new(result)
        if "keep" in op:
            self.record.kept[op["keep"]] = live["messages"] if result.get("messages") is not None else live
        return live

    def _staged(self, stages: Sequence[Any]) -> Any:
        messages = self.argument["messages"]
        for stage in stages:
            messages = self._stage(messages, stage)
        return messages

    def _stage(self, messages: Any, stage: Any) -> Any:
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
                return self._replaced(messages, given)
            case "append":
                return [*_spread(messages), *self._value(given)]
            case "prepend":
                return [*self._value(given), *_spread(messages)]
            case "slice":
                part = slice(given[0], given[1] if len(given) > 1 else None)
                return messages[part] if isinstance(messages, str) else list(_listed(messages)[part])
            case _:
                return self._value(given)

    def _replaced(self, messages: Any, given: Any) -> Any:
        index = slot(messages, given["at"])
        found = messages[index]
        # JavaScript evaluates the fields once, however often the message is in the list.
        replaced = {**_fields(found), **_fields(self._value(given["with"]))}
        return [replaced if i == index else message for i, message in enumerate(messages)]

    extras: ClassVar[Mapping[str, Callable[[Any, Op], None]]] = MappingProxyType(
        {"append": _append, "freeze": _freeze, "return": _return}
    )


def _listed(messages: Any) -> Any:
    if not is_list(messages):
        raise TypeError("messages is not a list")
    return messages


def _spread(messages: Any) -> list[Any]:
    """Spreads a value as `[...value]` does: a text into its characters."""
    return list(messages if isinstance(messages, str) else _listed(messages))


def _role(message: Any) -> Any:
    if message is None:
        raise TypeError("Cannot read properties of null (reading 'role')")
    return message.get("role") if isinstance(message, Mapping) else None


def _is_reference(path: Path) -> bool:
    """True if the path names a kept value as a whole: it is in no container, so there is no slot to write."""
    return len(path) == 1 and str(path[0]).startswith("$")


def _fields(value: Any) -> dict[str, Any]:
    """Spreads a value as `{...value}` does: an array and a text under their indexes."""
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


# --- the record ---------------------------------------------------------------------------------------------


class StepRecording(RecordedRun):
    """A program of the format about to run: its hooks' ops by step, and what each step showed."""

    def __init__(self, program: Mapping[str, Any]) -> None:
        super().__init__(program, at_end=[])
        self.hooks: Mapping[str, Any] = program.get("hooks") or {}
        self.steps = self.record.of("steps")

    def begin_step(self, shown: Mapping[str, Any]) -> None:
        """Writes down what `prepareStep` is shown; whatever follows is of this step."""
        self.steps.append({"step": len(self.steps), "prepareStep": shown, "tools": []})

    def add_call(self, shown: Mapping[str, Any]) -> None:
        """Writes down what a tool is shown, in this step or, of an approved call, before all steps."""
        calls = self.steps[-1]["tools"] if self.steps else self.record.of("approvals")
        calls.append(shown)

    def ops_of(self, hook: str) -> tuple[Sequence[Op], str]:
        """Returns the ops that a hook runs at this step, and how texts name the place."""
        by_step, index = self.hooks.get(hook) or (), len(self.steps) - 1
        ops = by_step[index] if 0 <= index < len(by_step) else None
        return ops or (), f"step {index}, {hook}"

    def written(self, package: str, *, final: Any, caller: Any, error: Any, hung: bool = False) -> Any:
        """Returns the trace: what is on record, and what the run came to."""
        return {
            "id": self.program.get("id"),
            "path": self.program["path"],
            "package": package,
            **self.record.entries_if_any("approvals"),
            **self.record.entries_of("steps"),
            "final": final,
            "caller": caller,
            "error": error,
            **({"hung": True} if hung else {}),
            **self.record.entries_if_any("opErrors"),
        }
