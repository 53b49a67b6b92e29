"""The ops of the processors' format, on the live objects that a processor is given: views of a heap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Final, NoReturn, Protocol, TypeAlias

import attrs

from agentcore.frameworks.mastra.emulation.arguments import Arguments, ListHandle
from agentcore.frameworks.mastra.emulation.forms import filled, is_empty
from agentcore.heap.heap import UNDEFINED, HeapTypeError
from agentcore.heap.js import text
from agentcore.heap.views import ArrayView, ObjectView
from agentcore.kit.ops import NowhereError, Op, Path, Record, Slot, Spelling, Turn, below, is_list, slot

__all__ = ["Objects", "Ops"]

Json: TypeAlias = Any


class Objects(Protocol):
    """The values of a run that a program names because JSON cannot express them."""

    def new(self, value: Json) -> Any:
        """A live object for a value that may hold live objects."""
        ...

    def clone(self, live: Any) -> Any:
        """A deep copy."""
        ...

    def date(self, time: int | str) -> Any:
        """A date, of milliseconds since 1970 or of ISO text."""
        ...

    def time_of(self, value: Any) -> int | None:
        """The milliseconds since 1970 of a date or ISO text; None for what is neither."""
        ...

    def now(self) -> int:
        """The time."""
        ...

    def draw_id(self) -> str:
        """An id that nothing has."""
        ...

    def leave_out(self, what: str, instead: str) -> Exception:
        """The error that ends the run because it would show what no trace can have."""
        ...

    def trace_value(self, live: Any) -> Json:
        """Returns a value as it is now, as a trace shows it."""
        ...

    def model(self, spec: Json) -> Any:
        """A model that answers from the same script."""
        ...

    def tools(self, specs: Json) -> Any:
        """Tools as specified."""
        ...

    def external_list(self) -> ListHandle:
        """A message list of nobody's."""
        ...


class Ops:
    """Runs the ops of one program; holds what they stash, and what could not be carried out."""

    def __init__(self, objects: Objects, record: Record) -> None:
        self.objects = objects
        self.record = record

    def run(self, ops: Sequence[Op] | None, args: Arguments, where: str) -> Any:
        """Runs a processor's ops on its arguments; gives what it returns, UNDEFINED for nothing.

        Raises:
            Exception: what the program throws, a method of the list, or aborting.
        """
        turn = _Turn(self, args, where)
        try:
            turn.run(ops)
        except _Thrown as thrown:
            raise thrown.error from None
        return turn.result


class _Thrown(Exception):  # noqa: N818 - a way out, no error by itself
    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _listed(value: Any, what: str) -> Any:
    if not is_list(value):
        raise NowhereError(f"{what} is not an array")
    return value


# The methods of a list, and how many arguments each takes: more are not read.
_LIST_CALLS: Final[Mapping[str, tuple[Callable[..., None], int]]] = {
    "add": (ListHandle.add, 3),
    "addSystem": (ListHandle.add_system, 2),
    "replaceAllSystemMessages": (ListHandle.replace_all_system_messages, 1),
    "clearSystemMessages": (ListHandle.clear_system_messages, 1),
    "removeByIds": (ListHandle.remove_by_ids, 1),
    "clearAll": (ListHandle.clear_all, 0),
    "clearInput": (ListHandle.clear_input, 0),
    "clearResponse": (ListHandle.clear_response, 0),
}


def _read(value: Any, name: str) -> Any:
    """Returns `value[name]`, the name being that of a field.

    Raises:
        HeapTypeError: if the value is null, or an empty place.
    """
    if value is None or is_empty(value):
        raise HeapTypeError(f"Cannot read properties of null (reading '{name}')")
    return value.get(name, UNDEFINED) if isinstance(value, Mapping) else UNDEFINED


def _spread(value: Any) -> dict[str, Any]:
    """Returns `{...value}`."""
    if isinstance(value, Mapping):
        return dict(value)
    listed = value if isinstance(value, str) or is_list(value) else ()
    return {str(index): item for index, item in enumerate(listed) if not is_empty(item)}


# Pipe items after which the very objects are there.
_PICKED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "drop": lambda messages, count: messages[count:],
    "take": lambda messages, count: messages[:count],
    "last": lambda messages, count: messages[-count:] if count else [],
    "roles": lambda messages, roles: [one for one in filled(messages) if _read(one, "role") in roles],
    "notRoles": lambda messages, roles: [one for one in filled(messages) if _read(one, "role") not in roles],
    "ids": lambda messages, ids: [one for one in filled(messages) if _read(one, "id") in ids],
    # A spread has undefined for an empty place.
    "reverse": lambda messages, _: [None if is_empty(one) else one for one in reversed(messages)],
}


@attrs.frozen
class _Place(Slot):
    """JavaScript's `delete` leaves the place of an element empty."""

    def drop(self) -> None:
        if isinstance(self.container, ArrayView):
            self.container.vacate(self.key)
        else:
            super().drop()


_SPELLING: Final[Mapping[str, Spelling]] = MappingProxyType(
    {
        "set": Spelling("set", "at"),
        "append": Spelling("add text", "at"),
        "delete": Spelling("delete", "at"),
        "push": Spelling("push", "at"),
        "splice": Spelling("splice", "at"),
        "reverse": Spelling("reverse", "at"),
        "stash": Spelling("keep", "at", "name"),
        "observe": Spelling("observe", "at", "as"),
        "throw": Spelling("throw", value="message"),
    }
)


class _Turn(Turn):
    """The ops of one call of a processor."""

    spelling = _SPELLING

    def __init__(self, ops: Ops, args: Arguments, where: str) -> None:
        super().__init__(ops.record, where)
        self.objects = ops.objects
        self.args = args
        self.result: Any = UNDEFINED
        self.latest = 0

    def refused(self, number: int, op: Op, error: Exception) -> None:
        """The turn goes on."""
        del op, error
        self.list_error(number, "the object refuses the op")

    # ---------------------------------------------------------------- methods of the list

    def _list(self, op: Op) -> None:
        values = self._list_values(op)
        try:
            method, count = _LIST_CALLS[op["call"]]
            method(self.args.message_list, *values[:count])
        except Exception as error:
            raise _Thrown(error) from error

    def _list_values(self, op: Op) -> list[Any]:
        messages = self.args.message_list.messages
        if op.get("ids") == "all":
            ids = [one.get("id", UNDEFINED) if isinstance(one, Mapping) else UNDEFINED for one in messages]
            return [self._with_places(ids)]
        if "ids" in op:
            return [op["ids"]]
        if "index" in op:
            return [self._with_places([_read(messages[slot(messages, op["index"])], "id")])]
        given = [self.objects.new(value) for value in op.get("args", ())]
        return [self._messages(op["messages"]), *given] if "messages" in op else given

    # ---------------------------------------------------------------- results

    def _return(self, op: Op) -> None:
        made = {
            name: self._field(name, value) for name, value in op.items() if name not in ("op", "undefined")
        }
        base = self.result.spread() if isinstance(self.result, ListHandle) else self.result
        self.result = {
            **(base if isinstance(base, Mapping) else {}),
            **made,
            **dict.fromkeys(op.get("undefined", ()), UNDEFINED),
        }

    def _field(self, name: str, value: Any) -> Any:
        makers: Mapping[str, Callable[[Any], Any]] = {
            "model": self.objects.model,
            "messages": self._messages,
            "systemMessages": self._systems,
            "messageList": self._message_list,
            "tools": self.objects.tools,
        }
        return makers.get(name, self.objects.new)(value)

    def _return_messages(self, op: Op) -> None:
        self.result = self._messages(op["messages"])

    def _return_list(self, op: Op) -> None:
        self.result = self._message_list(op["which"])

    def _return_value(self, op: Op) -> None:
        self.result = self.objects.new(op["value"]) if "value" in op else UNDEFINED

    def _return_args(self, op: Op) -> None:
        self.result = {name: self.args.get(name, UNDEFINED) for name in op["fields"]}

    def _abort(self, op: Op) -> NoReturn:
        try:
            self.args.abort(op.get("reason"), op.get("options"))
        except Exception as wire:
            raise _Thrown(wire) from wire

    def _message_list(self, which: str) -> ListHandle:
        return self.args.message_list if which == "same" else self.objects.external_list()

    # ---------------------------------------------------------------- paths and values

    def _root(self, op: Op) -> Any:
        on = op.get("on", "messages")
        if on == "list":
            return self.args.message_list.messages
        if on.startswith("stash:"):
            return self._stashed(on.removeprefix("stash:"))
        if on.startswith("view:"):
            return self._view(on.removeprefix("view:"))
        if on == "requestContext":
            return self.args.request_context.view
        if on not in self.args:
            raise NowhereError(f"there is no argument {on}")
        return self.args[on]

    def _stashed(self, name: str) -> Any:
        if name not in self.record.kept:
            raise NowhereError(f"nothing is stashed as {name}")
        return self.record.kept[name]

    def _view(self, name: str) -> Any:
        try:
            return attrgetter(name)(self.args.message_list.get)()
        except Exception as error:
            raise _Thrown(error) from error

    def at(self, op: Op, path: Path) -> Any:
        """Returns the value at a path from the argument that the op is on."""
        return below(self._root(op), path)

    def field(self, op: Op, path: Path, *, fresh: bool = False) -> Slot:
        """Returns the slot that an op writes to."""
        container = self.at(op, path[:-1])
        return _Place(container, slot(container, path[-1], fresh=fresh))

    def value(self, op: Op, spelling: Spelling) -> Any:
        """The value of an op: a message that it describes, or JSON."""
        return self._message(op["message"]) if "message" in op else self.objects.new(op[spelling.value])

    def item(self, item: Any) -> Any:
        """An item of a splice, as the value of an op."""
        if "message" in item:
            return self._message(item["message"])
        value = item.get("value")
        return self.objects.new(item if value is None else value)

    def observed_value(self, op: Op, path: Path) -> Any:
        """Returns what is there now; a time that stands alone is no time that a trace could leave out."""
        found = self.at(op, path)
        if [*path[-1:]] == ["createdAt"] and isinstance(found, int | float) and not isinstance(found, bool):
            raise self.objects.leave_out("a time as a number", "observe the part that has it")
        return self.objects.trace_value(found)

    # ---------------------------------------------------------------- messages

    def _messages(self, expression: Any) -> Any:
        if isinstance(expression, list):
            return [self._message(spec) for spec in expression]
        found = self._source(expression["from"], "messages")
        for stage in expression.get("pipe", ()):
            ((name, value),) = stage.items()
            found = self._stage(found, name, value)
        return self._with_places(found) if isinstance(found, list) else found

    def _with_places(self, values: list[Any]) -> Any:
        """Returns the values, as an array of the heap if some are undefined: loading makes those null."""
        if not any(map(is_empty, values)):
            return values
        made = self.objects.new([None if is_empty(one) else one for one in values])
        for index, one in enumerate(values):
            if is_empty(one):
                made.vacate(index)
        return made

    def _source(self, source: str, argument: str) -> Any:
        if source == "current":
            return _listed(self.args.get(argument), "the current value")
        if source == "list":
            return self.args.message_list.messages
        if source == "empty":
            return []
        if source.startswith("view:"):
            return self._view(source.removeprefix("view:"))
        return _listed(self._stashed(source.removeprefix("stash:")), source)

    def _stage(self, messages: Any, name: str, value: Any) -> Any:
        if name in ("concat", "prepend"):
            added = [self._message(spec) for spec in value]
            # A spread has undefined for an empty place.
            spread = [None if is_empty(one) else one for one in messages]
            return [*spread, *added] if name == "concat" else [*added, *spread]
        if name == "clone":
            copied = self.objects.clone(messages)
            self._note_copies(messages, copied)
            return copied
        if name in _PICKED:
            return _PICKED[name](messages, value)
        return [
            message if is_empty(message) else self._copied(message, index, name, value)
            for index, message in enumerate(messages)
        ]

    def _copied(self, message: Any, index: int, name: str, value: Any) -> Any:
        match name:
            case "mapText":
                return self._with_text(message, value)
            case "reid":
                return self._with(message, id=f"{value}{index}")
            case "role":
                return self._with(message, role=value)
            case "createdAt":
                start = self.objects.time_of(value) or 0
                return self._with(message, createdAt=self.objects.date(start + index))
        return self._with(message)

    def _with(self, message: Any, **changed: Any) -> Any:
        copied = self.objects.new({**_spread(message), **changed})
        self._note_copies([message], [copied])
        return copied

    def _note_copies(self, messages: Any, copied: Any) -> None:
        """Notes that these are copies: of a message that the list made, one has the same fields."""
        made = self.args.message_list.target.made
        for one, other in zip(messages, copied, strict=True):
            if isinstance(one, ObjectView) and one.ref.address in made:
                made.add(other.ref.address)

    def _with_text(self, message: Any, change: Mapping[str, Any]) -> Any:
        content = _read(message, "content")
        if "roles" in change and _read(message, "role") not in change["roles"]:
            return message
        desk = self.args.desk

        def changed(value: Any) -> str:
            return f"{change.get('prefix', '')}{text(desk.store, desk.slot(value))}{change.get('suffix', '')}"

        def changed_part(part: Any) -> Any:
            if is_empty(part) or _read(part, "type") != "text":
                return part
            return {**part, "text": changed(_read(part, "text"))}

        if isinstance(content, str):
            return self._with(message, content=changed(content))
        if not isinstance(content, Mapping) or not is_list(content.get("parts")):
            return self._with(message)
        made: dict[str, Any] = dict(content)
        made["parts"] = self._with_places([changed_part(part) for part in made["parts"]])
        if isinstance(made.get("content"), str):
            made["content"] = changed(made["content"])
        return self._with(message, content=made)

    def _message(self, spec: Mapping[str, Any]) -> Any:
        if spec.get("core"):
            return self.objects.new({"role": spec["role"], "content": spec.get("text", spec.get("content"))})
        made: dict[str, Any] = {}
        own_id = spec.get("id", UNDEFINED)
        if own_id is not None:
            made["id"] = self.objects.draw_id() if own_id is UNDEFINED else own_id
        made["role"] = spec["role"]
        when = spec.get("createdAt", "after")
        if when != "omit":
            made["createdAt"] = self._date(when)
        made["content"] = spec["content"] if "content" in spec else _content(spec)
        return self.objects.new(made)

    def _date(self, when: str) -> Any:
        """Dates are counted from the stored conversation, so that the order is the program's."""
        objects = self.objects
        stored = (one for one in self.args.message_list.messages if isinstance(one, Mapping))
        known = (objects.time_of(message.get("createdAt")) for message in stored)
        times = [time for time in known if time is not None]
        now = objects.now()
        if when == "before":
            return objects.date(min(now, *times, now) - 1)
        if when == "same":
            return objects.date(max(times, default=now))
        if when != "after":
            return objects.date(when)
        self.latest = max(now, self.latest + 1, *(time + 1 for time in times))
        return objects.date(self.latest)

    # ---------------------------------------------------------------- system messages

    def _systems(self, expression: Any) -> Any:
        if isinstance(expression, list):
            return [self._system(value) for value in expression]
        found = self._source(expression["from"], "systemMessages")
        for stage in expression.get("pipe", ()):
            ((name, value),) = stage.items()
            added = [self._system(one) for one in value] if name in ("concat", "prepend") else []
            if name in ("drop", "take", "spread"):
                found = self._stage(found, name, value)
            else:
                found = [*found, *added] if name == "concat" else [*added, *found]
        return found

    def _system(self, value: Any) -> Any:
        return self.objects.new({"role": "system", "content": value} if isinstance(value, str) else value)

    extras: ClassVar[Mapping[str, Callable[[Any, Op], None]]] = MappingProxyType(
        {
            "list": _list,
            "return": _return,
            "returnMessages": _return_messages,
            "returnList": _return_list,
            "returnValue": _return_value,
            "returnArgs": _return_args,
            "abort": _abort,
        }
    )


def _content(spec: Mapping[str, Any]) -> dict[str, Any]:
    text, mirror = spec["text"], spec.get("mirror")
    beside = text if mirror is True else mirror
    content = {"format": 2, "parts": [{"type": "text", "text": text}]}
    return {**content, "content": beside} if isinstance(beside, str) else content
