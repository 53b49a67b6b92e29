"""The ops of the middleware format, on live contexts, events and results: views of a heap."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from agentcore.frameworks.strands.shapes import MISSING, Place, edit, place_at
from agentcore.heap.js import PackageError, quoted
from agentcore.kit.ops import NowhereError

__all__ = ["ACTIONS", "Ops", "PathError", "Scene", "applies", "compact"]

Json: TypeAlias = dict[str, Any]
Op: TypeAlias = Mapping[str, Any]

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

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.observations: list[Json] = []
        self.path_errors: list[Json] = []

    def at(self, by: str, op: str, path: Sequence[Any], make: Callable[[], None]) -> None:
        """Does what may find nothing at its path.

        Raises:
            PathError: if it does; that is kept.
        """
        try:
            make()
        except NowhereError:
            self.path_errors.append({"by": by, "op": op, "path": list(path)})
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
        self.at(by, op["op"], op["path"], self._making(op, action, root, copying=copying))

    def _making(self, op: Op, action: str, root: Place, *, copying: bool = False) -> Callable[[], None]:
        aimed = {**op, "path": self.scene.path_in(root, op["path"])}
        return lambda: edit(root, action, aimed, copying=copying)

    def common(self, by: str, op: Op, root: Place) -> None:
        """An op that may stand anywhere."""
        kind, scene = op["op"], self.scene
        if kind == "throw":
            raise scene.thrown(op.get("message", "thrown"))
        if kind == "setModelState":
            scene.model_state()[op["key"]] = op["value"]
        elif kind == "deleteModelState":
            scene.model_state().pop(op["key"], None)
        elif kind == "observeModelState":
            self._observe(by, op, "modelState", scene.model_state().thaw())
        elif kind == "observeAgent":
            self._observe(by, op, "agent", scene.shown_history())
        elif kind == "observe":
            self._observe(by, op, scene.written(op["path"]), self._look(op, root))
        elif kind == "setInvocationState":
            write = {"path": ["invocationState", op["key"]], "value": op["value"]}
            self.at(by, kind, ["invocationState"], self._making(write, "set", root))
        else:
            self.edit(by, op, kind, self._target(op, root))

    def _target(self, op: Op, root: Place) -> Place:
        return self.scene.agent_root() if op.get("on") == "agent" else root

    def _look(self, op: Op, root: Place) -> Any:
        try:
            target = self._target(op, root)
            place = place_at(target, self.scene.path_in(target, op["path"]))
        except NowhereError:
            return None
        return None if place.live is MISSING else self.scene.shown(place)

    def _observe(self, by: str, op: Op, what: str, value: Any) -> None:
        self.observations.append({"by": by, "what": op.get("as", what), "value": value})


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
