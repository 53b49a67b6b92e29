"""The ops of the middleware format, on live contexts, events and results: views of a heap."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from agentcore.frameworks.strands.shapes import MISSING, Place, ShapedField, ShapedItems, field_at, place_at
from agentcore.heap.js import PackageError, quoted
from agentcore.kit.ops import NowhereError, Op, Path, Record, Spelling, Turn

__all__ = ["ACTIONS", "Ops", "PathError", "Scene", "applies", "compact"]

Json: TypeAlias = dict[str, Any]

ACTIONS: Final = frozenset({"set", "append", "insert", "delete"})


class PathError(PackageError):
    """An edit of the program found nothing at its path."""

    def __init__(self, op: str, path: str) -> None:
        super().__init__("PathError", f"cannot {op} at {path}")


class Scene(Protocol):
    """What ops need of the run that they are part of."""

    def written(self, path: Sequence[Any]) -> str:
        """A path as the implementation writes it into texts."""
        ...

    def thrown(self, message: str) -> Exception:
        """The error that a program throws."""

    def agent_root(self) -> Place:
        """The live agent."""

    def model_state(self) -> Any:
        """The agent's model state, live."""

    def path_in(self, root: Place, path: Sequence[Any]) -> Sequence[Any]:
        """Where the SDK has what a path names."""

    def shown(self, place: Place) -> Any:
        """What stands at a place, as a trace shows it."""

    def shown_history(self) -> Any:
        """The agent's messages, as a trace shows them."""


class Ops:
    """Runs ops that are the same everywhere, and keeps what they observe and what went nowhere."""

    def __init__(self, scene: Scene, record: Record) -> None:
        self.scene = scene
        self.record = record

    def at(self, by: str, op: str, path: Sequence[Any], make: Callable[[], None]) -> None:
        """Does what may find nothing at its path.

        Raises:
            PathError: if it does; that is kept.
        """
        try:
            make()
        except NowhereError:
            self.record.add("pathErrors", {"by": by, "op": op, "path": list(path)})
            raise PathError(op, self.scene.written(path)) from None

    def nowhere(self, by: str, op: str, path: Sequence[Any]) -> None:
        """Raises PathError: there is nothing at the path."""

        def nothing() -> None:
            raise NowhereError

        self.at(by, op, path, nothing)

    def edit_all(self, by: str, root: Place, edits: Sequence[Op]) -> None:
        """Makes edits in place."""
        for op in edits:
            self.edit(by, op, op["op"], root)

    def edit(self, by: str, op: Op, action: str, root: Place, *, copying: bool = False) -> None:
        """Makes one edit, in place or on copies of what is on the way."""
        turn = _Turn(self, by, root, copying=copying)
        self.at(by, op["op"], op["path"], lambda: turn.do({**op, "op": action}))

    def common(self, by: str, op: Op, root: Place) -> None:
        """An op that may stand anywhere."""
        kind, turn = op["op"], _Turn(self, by, root)
        if kind in ACTIONS:
            self.at(by, kind, op["path"], lambda: turn.do(op))
        elif kind == "setInvocationState":
            write = {"op": "set", "path": ["invocationState", op["key"]], "value": op["value"]}
            self.at(by, kind, ["invocationState"], lambda: turn.do(write))
        else:
            turn.do(op)


class _Turn(Turn):
    """The ops of a handler or hook on what it is given: places of shapes that paths lead to."""

    spelling: ClassVar[Mapping[str, Spelling]] = MappingProxyType(
        {
            "set": Spelling("set"),
            "append": Spelling("push"),
            "insert": Spelling("insert"),
            "delete": Spelling("delete"),
            "observe": Spelling("observe", value="as"),
            "throw": Spelling("throw", value="message"),
        }
    )

    def __init__(self, ops: Ops, by: str, root: Place, *, copying: bool = False) -> None:
        super().__init__(ops.record, by)
        self.scene = ops.scene
        self.root = root
        self.copying = copying

    def refused(self, number: int, op: Op, error: Exception) -> None:
        """Whatever an object throws ends the handler."""
        del number, op
        raise error

    def at(self, op: Op, path: Path, *, making: bool = False) -> Place:
        """The place that a path leads to, from what the handler is given or from the agent."""
        root = self._root_of(op)
        return place_at(root, self.scene.path_in(root, path), making=making, copying=self.copying)

    def _root_of(self, op: Op) -> Place:
        return self.scene.agent_root() if op.get("on") == "agent" else self.root

    def field(self, op: Op, path: Path, *, fresh: bool = False) -> ShapedField:
        """Where an op writes; a new field may be made with objects on the way."""
        root = self._root_of(op)
        return field_at(root, self.scene.path_in(root, path), making=fresh, copying=self.copying)

    def items(self, live: Any, what: str) -> ShapedItems:
        """The list at a place, to which only fits what fits its shape."""
        del what
        return ShapedItems(live)

    def shown(self, op: Op, path: Path) -> Any:
        """What is at a path, None where nothing is."""
        try:
            place = self.at(op, path)
        except NowhereError:
            return None
        return None if place.live is MISSING else self.scene.shown(place)

    def written(self, path: Path) -> str:
        """A path as the SDK's language writes it."""
        return self.scene.written(path)

    def thrown(self, message: str) -> Exception:
        """The error that a program throws."""
        return self.scene.thrown(message)

    def _set_model_state(self, op: Op) -> None:
        self.scene.model_state()[op["key"]] = op["value"]

    def _delete_model_state(self, op: Op) -> None:
        self.scene.model_state().pop(op["key"], None)

    def _observe_model_state(self, op: Op) -> None:
        self.observe(op.get("as", "modelState"), self.scene.model_state().thaw())

    def _observe_agent(self, op: Op) -> None:
        self.observe(op.get("as", "agent"), self.scene.shown_history())

    extras: ClassVar[Mapping[str, Callable[[Any, Op], None]]] = MappingProxyType(
        {
            "setModelState": _set_model_state,
            "deleteModelState": _delete_model_state,
            "observeModelState": _observe_model_state,
            "observeAgent": _observe_agent,
        }
    )


def applies(ops: Sequence[Op], entry: int) -> Iterator[Op]:
    """The ops that run at an entry of their handler."""
    for op in ops:
        when = op.get("when")
        if when is None or entry in (when if isinstance(when, list) else [when]):
            yield op


def compact(value: Any, *, escapes: bool = True) -> str:
    """Returns JSON as both languages write it without spaces; `escapes`: lone surrogates are escaped."""
    if not escapes:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(compact(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{chr(44).join(f'{quoted(key)}:{compact(item)}' for key, item in value.items())}}}"
    return json.dumps(value)
