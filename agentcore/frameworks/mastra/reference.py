"""Programs of processors under a profile: what the reference says an implementation does."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import attrs

from agentcore.frameworks.mastra.emulation.arguments import Arguments, ListHandle
from agentcore.frameworks.mastra.emulation.errors import CallerError, Outcome
from agentcore.frameworks.mastra.emulation.forms import filled, is_empty
from agentcore.frameworks.mastra.emulation.loop import MastraLoop
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.settings import (
    Model,
    Processor,
    Router,
    Settings,
    Tool,
    clipped,
    date,
    is_date,
    parsed,
    time_of,
)
from agentcore.frameworks.mastra.ops import Ops
from agentcore.frameworks.mastra.profiles import PROFILES, MastraProfile
from agentcore.heap.heap import (
    UNDEFINED,
    DateCell,
    ErrorCell,
    Function,
    HeapTypeError,
    NotEmulatedError,
    Ref,
    SchemaCell,
    Slot,
    Store,
    Value,
    iso_text,
)
from agentcore.heap.js import fields, in_object_order, text
from agentcore.heap.views import Desk, View
from agentcore.kit.ops import RecordedRun, ThrownError, is_list

__all__ = ["PROFILE_NAMES", "recording", "trace", "trace_under"]

PROFILE_NAMES: Final = tuple(PROFILES)
"""The profiles that programs can be traced under."""

_DONE: Final = [[{"type": "text", "text": "ok"}]]
_OPTIONS: Final = ("providerOptions", "modelSettings", "toolChoice", "activeTools")
_CALLER: Final = ("messages", *_OPTIONS, "context", "callSystem", "requestContext")
# What a driver leaves out of the options that a model is called with.
_UNSHOWN: Final = ("abortSignal", "includeRawChunks")
_SOURCES: Final = {"memory": "remembered", None: "none"}
_DRAWN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def trace(program: Mapping[str, Any], profile: str) -> dict[str, Any]:
    """The trace of a program under a profile."""
    return trace_under(PROFILES[profile], program)


def trace_under(profile: MastraProfile, program: Mapping[str, Any]) -> dict[str, Any]:
    """The trace of a program under a profile of one's own."""
    return Recording(profile, program).trace()


def recording(program: Mapping[str, Any], profile: str) -> Recording:
    """A program about to run under a profile."""
    return Recording(PROFILES[profile], program)


class Recording(RecordedRun):
    """One program on the compat loop: its processors as callables, and what they are shown, written down."""

    def __init__(self, profile: MastraProfile, program: Mapping[str, Any]) -> None:
        super().__init__(program, at_end=[], script=_DONE)
        self.desk = Desk(Store())
        self.store = self.desk.store
        self.listed = False
        self.ops = Ops(self, self.record)
        self.caller = {
            name: self._caller_value(name) for name in _CALLER if name == "messages" or name in program
        }
        self.passed = {
            name: _printed(self.store, self.store.load(value)) for name, value in self.caller.items()
        }
        self.loop = MastraLoop(profile, self._settings(), self.desk)

    # ---------------------------------------------------------------- what the program is given

    def _caller_value(self, name: str) -> Any:
        """Returns one of the caller's own values as an object of the heap; a message's ISO text is a date."""
        value = self.program.get(name, ["hi"])
        if name in ("messages", "context"):
            value = [self._dated(message) for message in value]
        return self.new(value)

    def _dated(self, message: Any) -> Any:
        at = message.get("createdAt") if isinstance(message, dict) else None
        return {**message, "createdAt": self.date(at)} if isinstance(at, str) else message

    def _settings(self) -> Settings:
        program = self.program
        instructions = program.get("system")
        on_call = self._processors("call")
        tools = program.get("tools")
        return Settings(
            model=self._model("base"),
            messages=self.caller["messages"],
            fallback_models=[self._model(name) for name in program.get("fallbackModels", ())],
            instructions=None if instructions is None else [_as_system(one) for one in instructions],
            tools=None if tools is None else self.tools(tools),
            processors=self._processors("ctor"),
            default_prepare_step=self._prepare_step("defaultPrepareStep"),
            max_retries=program.get("maxRetries"),
            options={name: self.caller[name] for name in _OPTIONS if name in self.caller},
            request_context=self.caller.get("requestContext"),
            context=self.caller.get("context", ()),
            system=self.caller.get("callSystem"),
            call_processors=on_call if on_call or program.get("emptyCallProcessors") else None,
            prepare_step=self._prepare_step("prepareStep"),
            max_steps=program.get("maxSteps", 10),
            streams=program.get("path") == "stream",
        )

    def _model(self, name: str, version: str = "v2") -> Model:
        return Model(name, lambda options: self._answer(name, options), version)

    def _answer(self, name: str, options: Any) -> Any:
        own = ("prompt", "tools", "toolChoice", "providerOptions")
        shown = self.trace_value(options)
        self.record.add("events", f"model:{name}")
        names = _names(shown.get("tools"))
        record: dict[str, Any] = {
            "model": name,
            "method": "doStream" if self.loop.settings.streams else "doGenerate",
            **{key: shown[key] for key in own if key in shown and key != "tools"},
            "settings": {key: value for key, value in shown.items() if key not in (*own, *_UNSHOWN)},
        }
        record |= {} if names is None else {"tools": names}
        self.record.add("model", record)
        parts = self.answer()
        for part in parts:
            if part["type"] == "throw":
                raise ThrownError(part["message"])
        return parts

    # ---------------------------------------------------------------- what ops make

    def new(self, value: Any) -> Any:
        """A live object: a view of a cell."""
        return self.desk.view(self.desk.slot(value), ("returned",))

    def clone(self, live: Any) -> Any:
        """A structured clone."""
        return self.desk.view(self.store.clone(self.desk.slot(live)), ("returned",))

    def date(self, time: int | str) -> Any:
        """A date."""
        moment = parsed(time) if isinstance(time, str) else time
        return self.desk.view(date(self.store, math.nan if moment is None else moment))

    def time_of(self, value: Any) -> int | None:
        """The time of a date or ISO text; None for what is no time."""
        time: Any = parsed(value) if isinstance(value, str) else value
        if isinstance(value, View) and is_date(self.store, value.ref):
            time = time_of(self.store, value.ref)
        known = clipped(time) if isinstance(time, int | float) else math.nan
        return int(known) if math.isfinite(known) else None

    def now(self) -> int:
        """The time."""
        return self.loop.clock.now

    def draw_id(self) -> str:
        """An id that nothing has."""
        return self.loop.clock.draw_id()

    def leave_out(self, what: str, instead: str) -> Exception:
        """The error that ends the run because it would show what no trace can have."""
        return self.desk.leave_out(what, instead)

    def trace_value(self, live: Any) -> Any:
        """Returns a value as it is now, as a trace shows it."""
        try:
            return _printed(self.store, self.desk.slot(live), hide=True)
        except _SchemaShownError:
            instead = "observe a field of the tool"
            raise self.desk.leave_out("the schema of a tool that a processor returned", instead) from None

    def model(self, spec: Any) -> Any:
        """A model that answers from the same script."""
        if isinstance(spec, str):
            return self._model(spec)
        return Router(spec["router"]) if "router" in spec else self._model(spec["id"], spec["version"])

    def tools(self, specs: Mapping[str, Any]) -> dict[str, Tool]:
        """Tools as specified."""
        return {name: self._tool(name, spec) for name, spec in specs.items()}

    def _tool(self, name: str, spec: Mapping[str, Any]) -> Tool:
        def execute(given: Any) -> Any:
            self.record.add("events", f"tool:{name}")
            self.record.add("tools", {"name": name, "input": self.trace_value(given)})
            given.update(spec.get("mutateInput", {}))
            if "error" in spec:
                raise ThrownError(spec["error"])
            return spec.get("output", UNDEFINED)

        return Tool(execute=execute, description=spec.get("description", name))

    def external_list(self) -> ListHandle:
        """A message list of nobody's."""
        other = MessageList(self.store, self.loop.clock, self.loop.profile)
        other.add("external", "input")
        return ListHandle(self.desk, other)

    # ---------------------------------------------------------------- processors

    def _processors(self, place: str) -> list[Processor]:
        specs = self.program.get("processors", ())
        return [self._processor(spec) for spec in specs if spec.get("where", "call") == place]

    def _processor(self, spec: Mapping[str, Any]) -> Processor:
        own_id, on_input, steps = spec["id"], spec.get("input"), spec.get("steps")
        return Processor(
            id=own_id,
            process_input=None if on_input is None else self._turn(own_id, lambda _: on_input),
            process_input_step=None if steps is None else self._turn(own_id, _by_step(steps)),
        )

    def _prepare_step(self, name: str) -> Callable[[Arguments], Any] | None:
        return self._turn(name, _by_step(self.program[name])) if name in self.program else None

    def _turn(self, processor: str, ops_of: Callable[[str], Any]) -> Callable[[Arguments], Any]:
        def turn(args: Arguments) -> Any:
            number = args.get("stepNumber", "input")
            # What a processor of a workflow returned as the number may be anything.
            step = text(self.store, self.desk.slot(number))
            self.listed = True
            self.record.add("events", f"{processor}@{step}")
            shown = self.trace_value(number)
            record: dict[str, Any] = {"step": shown, "processor": processor, "got": self._got(args)}
            self.record.add("received", record)
            try:
                result = self.ops.run(ops_of(step), args, f"{processor}@{step}")
            except Exception as error:
                record["threw"] = str(error)
                raise
            record["returned"] = _kind(result, args.message_list)
            return result

        return turn

    def _got(self, args: Arguments) -> dict[str, Any]:
        target = args.message_list
        messages, systems, steps = args.get("messages"), args.get("systemMessages"), args.get("steps")
        model, tools = args.get("model"), args.get("tools")
        own = target.messages
        got: dict[str, Any] = {
            "messages": messages,
            "systemMessages": systems,
            "model": None if model is None else model.get("modelId", UNDEFINED),
            **{name: args.get(name) for name in ("toolChoice", "activeTools")},
            "tools": self._keys(tools),
            **{name: args.get(name) for name in ("providerOptions", "modelSettings", "stepNumber")},
            "steps": None if steps is None else len(_listed(steps, "steps")),
            "stepTexts": None if steps is None else [_text_of(step) for step in steps],
            "retryCount": args.get("retryCount"),
            "listMessages": [_id_of(message) for message in own],
            "listSystem": target.system_messages,
        }
        given = {
            name: self.trace_value(value)
            for name, value in got.items()
            if value is not UNDEFINED and (value is not None or name in args)
        }
        refs = {message.ref for message in own if isinstance(message, View)}
        return {
            **given,
            "live": {
                "messages": _same(messages, target.target.messages),
                "elements": all(_among(one, own, refs) for one in filled(messages or ())),
                "systemMessages": _same(systems, target.target.system_messages),
            },
        }

    def _keys(self, value: Any) -> Any:
        """Returns `value && Object.keys(value)`."""
        given = isinstance(value, View) or value
        return in_object_order(fields(self.store, self.desk.slot(value))) if given else value

    # ---------------------------------------------------------------- the trace

    def trace(self) -> dict[str, Any]:
        """Runs the program and writes its trace; or by name what the emulation lacks for it."""
        try:
            outcome = self.loop.run()
            self.desk.require_accepted()
        except NotEmulatedError as error:
            reason = f"{error.what} is not emulated; {error.instead}"
            return {"id": self.program.get("id"), "unsupported": reason}
        streams = self.loop.settings.streams
        made: dict[str, Any] = {
            "id": self.program["id"],
            "version": self.loop.profile.package.rpartition("@")[2],
            "path": "stream" if streams else "generate",
            **self.record.entries_of("events", "received", "model", "tools"),
            "final": None if outcome.error is not None else self._final(outcome),
            "error": None if outcome.error is None else _error(outcome.error),
            "logged": [],
        }
        if streams and outcome.chunks:
            made["chunks"] = outcome.chunks
        if self.listed:
            made["list"] = self._stored()
            made["listSystem"] = [_printed(self.store, one, hide=True) for one in self.loop.list.all_system()]
        made["callerChanged"] = self._changed()
        return _numbered(made | self.record.entries_if_any("observations", "opErrors"), self.program)

    def _final(self, outcome: Outcome) -> dict[str, Any]:
        final: dict[str, Any] = {
            "text": outcome.text,
            "finishReason": outcome.finish_reason,
            "steps": outcome.step_texts,
        }
        wire = outcome.tripwire
        if wire is not None:
            told = {
                "reason": wire.reason,
                "retry": wire.retry,
                "metadata": wire.metadata,
                "processorId": wire.processor_id,
            }
            final["tripwire"] = {name: value for name, value in told.items() if value is not UNDEFINED}
        if outcome.response_messages is not UNDEFINED:
            final["responseMessages"] = _printed(self.store, outcome.response_messages, hide=True)
        if self.loop.settings.streams:
            final["streamText"] = outcome.last_text
        return final

    def _stored(self) -> list[Any]:
        target = self.loop.list
        return [None if is_empty(message) else self._with_source(message) for message in target.all()]

    def _with_source(self, message: Slot) -> dict[str, Any]:
        source = self.loop.list.source_of(message)
        shown = _printed(self.store, message, hide=True)
        return {"source": _SOURCES.get(source, source), "message": shown}

    def _changed(self) -> dict[str, Any]:
        changed = {}
        for name, value in self.caller.items():
            slot = self.desk.slot(value)
            if json.dumps(_printed(self.store, slot)) != json.dumps(self.passed[name]):
                changed[name] = _printed(self.store, slot, hide=True)
        return changed


def _as_system(value: Any) -> Any:
    return {"role": "system", "content": value} if isinstance(value, str) else value


def _by_step(steps: Mapping[str, Any]) -> Callable[[str], Any]:
    def ops_of(step: str) -> Any:
        found = steps.get(step)
        return steps.get("*") if found is None else found

    return ops_of


def _listed(value: Any, name: str) -> Any:
    """Returns a value of which the driver reads every element.

    Raises:
        HeapTypeError: if it is no list.
    """
    if not is_list(value):
        raise HeapTypeError(f"{name}?.map is not a function")
    return value


def _names(tools: Any) -> list[Any] | None:
    """Returns the names of the tools that a model is called with."""
    return None if tools is None else [tool["name"] for tool in _listed(tools, "tools")]


def _id_of(message: Any) -> Any:
    return message.get("id") if isinstance(message, Mapping) else None


def _text_of(step: Any) -> Any:
    return step.get("text") if isinstance(step, Mapping) else None


def _among(one: Any, own: Any, refs: Collection[Ref]) -> bool:
    """True if the list holds this element: an object by identity, any other value by equality."""
    if isinstance(one, View):
        return one.ref in refs
    return any(type(one) is type(other) and one == other for other in own if not isinstance(other, View))


def _same(value: Any, ref: Ref) -> bool:
    return isinstance(value, View) and value.ref == ref


def _kind(result: Any, own: ListHandle) -> Any:
    """Describes a processor's return value for the trace: its kind, and its fields if it is an object."""
    if isinstance(result, ListHandle):
        return "list" if result == own else "external list"
    if isinstance(result, Mapping):
        return in_object_order(result)
    if isinstance(result, list) or (isinstance(result, View) and not isinstance(result, Mapping)):
        return "array"
    names = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}
    return names.get(type(result), "undefined")


def _error(error: CallerError) -> dict[str, Any]:
    own = attrs.asdict(error, recurse=False, filter=lambda _, value: value is not None)
    shown = {"class" if name == "class_name" else name: value for name, value in own.items()}
    return shown if error.cause is None else {**shown, "cause": _error(error.cause)}


# ---------------------------------------------------------------- values as a trace shows them


class _SchemaShownError(Exception):
    """A value has the schema of a tool in it."""


def _printed(
    store: Store, slot: Value, above: tuple[int, ...] = (), key: str = "", *, hide: bool = False
) -> Any:
    """A value as plain JSON; `hide` names the clock's dates and functions."""
    if type(slot) is not Ref:
        return _scalar(slot, key, hide=hide)
    cell = store.cells[slot.address]
    if type(cell) is SchemaCell:
        raise _SchemaShownError
    if type(cell) is DateCell:
        return _shown_date(cell["time"]) if hide else iso_text(cell["time"])
    if slot.address in above:
        return {"cycle": len(above) - above.index(slot.address)}
    inside = (*above, slot.address)
    if isinstance(cell, tuple):
        return [_printed(store, item, inside, hide=hide) for item in cell]
    if isinstance(cell, ErrorCell):
        return _error_shown(store, cell, inside, hide=hide)
    return {name: _printed(store, item, inside, name, hide=hide) for name, item in cell.items()}


_OF_PACKAGE: Final = ("id", "domain", "category")


def _error_shown(store: Store, cell: ErrorCell, inside: tuple[int, ...], *, hide: bool) -> dict[str, Any]:
    """An error as a trace shows it: by the fields that errors have, whatever else was put into it."""
    # A clone has lost the class of the package, and with it the fields that its errors have.
    kind = "MastraError" if any(name in cell for name in _OF_PACKAGE) else "Error"
    named: dict[str, Value] = {
        name: cell.get(name, UNDEFINED) for name in ("name", "message", "cause", *_OF_PACKAGE)
    }
    named["code"] = cell.get("code", UNDEFINED)
    for name in ("id", "code"):
        if not isinstance(named[name], str):
            del named[name]
    cause = named.pop("cause")
    if (
        isinstance(cause, Ref)
        and isinstance(store.cells[cause.address], ErrorCell)
        and cause.address not in inside
    ):
        named["cause"] = cause
    shown = {
        name: _printed(store, item, inside, name, hide=hide)
        for name, item in named.items()
        if item is not UNDEFINED
    }
    return {**shown, "class": kind}


def _scalar(value: Any, key: str, *, hide: bool) -> Any:
    if isinstance(value, Function):
        return "<function>"
    if value is UNDEFINED:
        return None
    is_time = hide and key == "createdAt" and isinstance(value, int | float) and not isinstance(value, bool)
    return _shown_date(value) if is_time else value


def _shown_date(time: Any) -> str:
    """Dates of the year 2000 are the program's own; every other one is the clock's."""
    told = iso_text(time)
    return told if told is not None and told.startswith("2000-") else "<date>"


def _numbered(made: dict[str, Any], program: Mapping[str, Any]) -> dict[str, Any]:
    """Drawn ids as <id1>, <id2> and so on, in the order in which they stand in the trace."""
    own = set(_DRAWN.findall(json.dumps(program)))
    numbers: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        drawn = found[0]
        return drawn if drawn in own else numbers.setdefault(drawn, f"<id{len(numbers) + 1}>")

    return json.loads(_DRAWN.sub(named, json.dumps(made)))  # type: ignore[no-any-return]
