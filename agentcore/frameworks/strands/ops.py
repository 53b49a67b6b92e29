"""The ops of the middleware format on views of a heap: contexts, events and results; and who does them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

import attrs

from agentcore.frameworks.strands.emulation.settings import Hook, Middleware, Next, Phase, Stage
from agentcore.frameworks.strands.emulation.turns import Event, Item, Steps, relayed
from agentcore.frameworks.strands.program import phase_of, stage_of
from agentcore.frameworks.strands.shapes import (
    MISSING,
    Field,
    Place,
    Record,
    Shape,
    ShapedField,
    ShapedItems,
    field_at,
    place_at,
)
from agentcore.heap.js import PackageError, quoted
from agentcore.heap.views import ObjectView
from agentcore.kit.ops import NowhereError, Op, Path, Spelling, Turn
from agentcore.kit.ops import Record as OpRecord

if TYPE_CHECKING:
    from agentcore.frameworks.strands.reference import Recording

__all__ = [
    "ACTIONS",
    "Ops",
    "PathError",
    "Scene",
    "applies",
    "compact",
]

Json: TypeAlias = dict[str, Any]

ACTIONS: Final = frozenset({"set", "append", "insert", "delete"})


class PathError(PackageError):
    """An edit of the program found nothing at its path."""

    def __init__(self, op: str, path: str) -> None:
        super().__init__("PathError", f"cannot {op} at {path}")


class Scene(Protocol):
    """The parts of a run that ops need."""

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
        """Translates a program's path to the SDK's own names."""

    def trace_value(self, place: Place) -> Any:
        """Returns what stands at a place, as a trace shows it."""

    def shown_history(self) -> Any:
        """The agent's messages, as a trace shows them."""


class Ops:
    """Runs ops that are the same everywhere, and keeps what they observe and what went nowhere."""

    def __init__(self, scene: Scene, record: OpRecord) -> None:
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
        """Returns the slot that an op writes to; missing objects on the way to a new field are made."""
        root = self._root_of(op)
        return field_at(root, self.scene.path_in(root, path), making=fresh, copying=self.copying)

    def items(self, live: Any, what: str) -> ShapedItems:
        """The list at a place, to which only fits what fits its shape."""
        del what
        return ShapedItems(live)

    def observed_value(self, op: Op, path: Path) -> Any:
        """Returns what is at a path, None where nothing is."""
        try:
            place = self.at(op, path)
        except NowhereError:
            return None
        return None if place.live is MISSING else self.scene.trace_value(place)

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


# ---------------------------------------------------------------- handlers and hooks

_SHORT: Final = [{"text": "(short)"}]
# A handler of the drivers calls `next` in a function of its own, through which everything passes.
_EVENT_TURNS: Final = 2
_END_TURNS: Final = 1


@attrs.define
class _Handler:
    by: str
    stage: Stage
    ops: list[Op]
    entries: int = 0


@attrs.define
class _Entered:
    """One entry of a wrap handler: the context it was given and has now, and the outcome of `next`."""

    original: ObjectView
    context: ObjectView
    result: ObjectView | None = None
    error: Exception | None = None
    nexts: int = 0


class Acting:
    """Runs the ops of handlers and hooks for a recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.ops = recording.ops

    # --- hooks ----------------------------------------------------------------------------------------------

    def hooks(self) -> Iterator[Hook]:
        """The program's hooks, and before them those that record which message's tools run."""
        yield Hook("beforeModel", self._no_message)
        yield Hook("beforeTools", self._message)
        for hook in self.recording.program.get("hooks", ()):
            yield self._hook(hook["on"], hook.get("ops", []))

    def _no_message(self, _: ObjectView) -> None:
        self.recording.pending = None

    def _message(self, event: ObjectView) -> None:
        self.recording.pending = event["message"]

    def _hook(self, on: str, ops: list[Op]) -> Hook:
        by = f"hook:{on}"
        handler = _Handler(by=by, stage="model", ops=ops)

        def call(event: ObjectView) -> None:
            self.recording.log(by)
            for op in self._entered(handler):
                if op["op"] in {"retry", "cancel"}:
                    event[op["op"]] = op.get("message", True)
                else:
                    self.ops.common(by, op, self._event_root(on, event))

        return Hook(on, call)

    def _entered(self, handler: _Handler) -> Iterator[Op]:
        entry = handler.entries
        handler.entries += 1
        return applies(handler.ops, entry)

    def _event_root(self, on: str, event: ObjectView) -> Place:
        shapes = self.recording.shapes
        known: Mapping[str, Shape] = {
            "message": shapes.message,
            "stopReason": shapes.text,
            "block": shapes.block,
            "toolUse": shapes.tool_use,
            "toolResult": shapes.tool_result,
            "invocationState": shapes.state,
        }
        replaced = {"beforeTool": "toolUse", "afterTool": "toolResult"}.get(on)
        fields = {name: Field(known[name], fixed=name != replaced) for name in event if name in known}
        return Place(shape=Record(fields, empty=True), live=event)

    # --- middleware -----------------------------------------------------------------------------------------

    def middleware(self) -> Iterator[Middleware]:
        """The program's handlers."""
        for index, described in enumerate(self.recording.program.get("middleware", ())):
            stage: Any = stage_of(described)
            phase: Any = phase_of(described)
            handler = _Handler(by=f"mw{index}:{stage}.{phase}", stage=stage, ops=described.get("ops", []))
            yield self._registered(handler, phase)

    def _registered(self, handler: _Handler, phase: Phase) -> Middleware:
        def changed(value: ObjectView) -> ObjectView:
            for op in self._logged(handler):
                value = act(handler, op, value)
            self.recording.log(f"{handler.by}:exit")
            return value

        def wrapped(context: ObjectView, next_: Next) -> Steps[ObjectView]:
            return self._wrapped(handler, context, next_)

        act = self._on_result if phase == "output" else self._on_context
        call: Any = wrapped if phase == "wrap" else changed
        return Middleware(stage=handler.stage, phase=phase, call=call, name=handler.by)

    def _logged(self, handler: _Handler) -> Iterator[Op]:
        self.recording.log(f"{handler.by}:enter")
        return self._entered(handler)

    def _on_context(self, handler: _Handler, op: Op, context: ObjectView) -> ObjectView:
        """The context to go on with: the one given, or the copy that a `with` makes."""
        recording, by, kind = self.recording, handler.by, op["op"]
        if kind == "with":
            return self._copied(by, op, context, self._context_root(handler.stage, context))
        root = self._context_root(handler.stage, context)
        if kind == "identity":
            keys = recording.native_keys(handler.stage, context)
            recording.identify(by, root, handler.stage, {"keys": keys})
        elif kind != "setModelStateViaContext":
            self.ops.common(by, op, root)
        elif "modelState" in context:
            context["modelState"][op["key"]] = op["value"]
        else:
            self.ops.nowhere(by, kind, ["modelState"])
        return context

    def _on_result(self, handler: _Handler, op: Op, result: ObjectView) -> ObjectView:
        root = self._result_root(handler.stage, result)
        if op["op"] == "with":
            return self._copied(handler.by, op, result, root)
        if op["op"] == "identity":
            self.recording.identify(handler.by, root, "", {})
        else:
            self.ops.common(handler.by, op, root)
        return result

    def _copied(self, by: str, op: Op, live: ObjectView, root: Place) -> ObjectView:
        copy: ObjectView = self.recording.new(live.copy())
        self.ops.edit(by, op, op["action"], attrs.evolve(root, live=copy), copying=True)
        return copy

    def _context_root(self, stage: str, context: ObjectView) -> Place:
        return Place(shape=self.recording.context_shapes[stage], live=context)

    def _result_root(self, stage: str, result: ObjectView) -> Place:
        return Place(shape=self.recording.result_shapes[stage], live=result)

    # --- wrap handlers --------------------------------------------------------------------------------------

    def _wrapped(self, handler: _Handler, context: ObjectView, next_: Next) -> Steps[ObjectView]:
        entered = _Entered(original=context, context=context)
        for op in self._logged(handler):
            if op["op"] == "stop":
                break
            if op["op"] == "next":
                yield from self._next(handler, op, entered, next_)
            else:
                self._wrap_op(handler, op, entered)
        if entered.nexts == 0 and entered.result is None:
            yield from self._next(handler, {}, entered, next_)
        if entered.result is None:
            raise entered.error or RuntimeError("a handler that neither failed nor has a result")
        self.recording.log(f"{handler.by}:exit")
        return entered.result

    def _wrap_op(self, handler: _Handler, op: Op, entered: _Entered) -> None:
        if op["op"] == "shortCircuit":
            entered.result = self._short_circuit(handler.stage, op, entered.context)
        elif op.get("on") != "result":
            entered.context = self._on_context(handler, op, entered.context)
        elif entered.result is None:
            self.ops.nowhere(handler.by, op["op"], op.get("path", []))
        else:
            entered.result = self._on_result(handler, op, entered.result)

    def _next(self, handler: _Handler, op: Op, entered: _Entered, next_: Next) -> Steps[None]:
        recording = self.recording
        jobs = recording.loop.jobs
        recording.log(f"{handler.by}:next#{entered.nexts}")
        entered.nexts += 1
        dropped = op.get("events") == "drop"

        def let(item: Item) -> Steps[bool]:
            if not isinstance(item, Event):
                return True
            yield from jobs.pause(0 if dropped else _EVENT_TURNS)
            return not dropped

        context = entered.original if op.get("ctx") == "original" else entered.context
        try:
            entered.result = yield from relayed(next_(context), let=let)
        except Exception as error:
            if not op.get("catch"):
                yield from jobs.pause(_END_TURNS)
                raise
            recording.log(f"{handler.by}:caught")
            entered.result, entered.error = None, error
        yield from jobs.pause(_END_TURNS)

    def _short_circuit(self, stage: str, op: Op, context: ObjectView) -> ObjectView:
        recording = self.recording
        blocks = op.get("blocks", _SHORT)
        made: Json
        if stage == "tool":
            made = {
                "toolResult": {
                    "toolUseId": context["toolUse"]["toolUseId"],
                    "status": op.get("status", "success"),
                    "content": op.get("content", _SHORT),
                }
            }
        elif stage == "model":
            used = any("toolUse" in block for block in blocks)
            reason = op.get("stopReason", "toolUse" if used else "endTurn")
            made = {"message": {"role": "assistant", "content": blocks}, "stopReason": reason}
        else:
            made = {
                "stopReason": op.get("stopReason", "endTurn"),
                "lastMessage": {"role": "assistant", "content": blocks},
                **recording.state_of_result(context),
            }
        view: ObjectView = recording.new(made)
        return view
