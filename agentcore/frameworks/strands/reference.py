"""Programs of the middleware format under a profile: what the reference says an implementation does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.emulation.agent import RefusedToolError, fields_of
from agentcore.frameworks.strands.emulation.loop import Outcome, StrandsLoop
from agentcore.frameworks.strands.emulation.settings import Model, Said, Settings, Tool
from agentcore.frameworks.strands.ops import Acting, Ops, compact
from agentcore.frameworks.strands.profiles import PROFILES, StrandsProfile
from agentcore.frameworks.strands.program import structured_output
from agentcore.frameworks.strands.shapes import (
    MISSING,
    Field,
    Place,
    Record,
    Shape,
    Shapes,
    held_in,
    is_sdk_key,
    objects_of,
    shared,
)
from agentcore.heap.heap import UNDEFINED, Value
from agentcore.heap.js import PackageError, in_object_order
from agentcore.heap.views import ObjectView, View
from agentcore.kit.ops import RecordedRun

__all__ = ["Recording", "recording", "trace", "trace_under"]

Json: TypeAlias = dict[str, Any]

_MODEL_CALLS: Final = 25
_LOG_ENTRIES: Final = 400
_STREAMED: Final = frozenset({"modelDelta", "contentBlock"})


class TooLongError(BaseException):
    """The run goes round and round; nothing more happens in it."""


class Recording(RecordedRun):
    """One program on the compat loop: its handlers, hooks, tools and model, and what they saw."""

    def __init__(self, profile: StrandsProfile, program: Mapping[str, Any]) -> None:
        super().__init__(program, at_end=[{"text": "(end)"}])
        self.profile = profile
        self.shapes = Shapes(state_filled=profile.state_filled, listed_args=profile.input_converted)
        self.context_shapes = self._context_shapes()
        self.result_shapes = self._result_shapes()
        self.ops = Ops(self, self.record)
        self.pending: ObjectView | None = None
        self.loop = StrandsLoop(profile, self._settings())
        self.desk = self.loop.desk
        self.agent = self.loop.agent
        self.before = self._caller()

    def _settings(self) -> Settings:
        program = self.program
        acting = Acting(self)
        tools: Mapping[str, Any] = program.get("tools", {})
        # Where the tools are the fields of an object of JavaScript, numbers come first.
        names = in_object_order(tools) if self.profile.has_classes else list(tools)
        return Settings(
            model=Model(answer=self._answer),
            inputs=program.get("inputs", [program.get("input", "go")]),
            messages=program.get("messages", []),
            system=program.get("system"),
            tools={name: self._tool(name, tools[name]) for name in names},
            middleware=tuple(acting.middleware()),
            hooks=tuple(acting.hooks()),
            invocation_state=program.get("invocationState"),
            options=program.get("options") if self.profile.options_given else None,
            model_state=program.get("modelState", {}),
            concurrent=program.get("executor") == "concurrent",
            structured_output=structured_output(self.profile) if program.get("structuredOutput") else None,
            messages_as_data=program.get("messagesForm") == "data",
            inputs_as_data=program.get("inputForm") == "data",
        )

    def _context_shapes(self) -> Mapping[str, Shape]:
        shapes = self.shapes
        state = {"invocationState": Field(shapes.state)}
        options = {"options": Field(shapes.options)} if self.profile.options_given else state
        fields = {
            "model": {
                "messages": Field(shapes.messages),
                "system": Field(shapes.system),
                "toolSpecs": Field(shapes.specs),
                "toolChoice": Field(shapes.dictionary),
                **state,
            },
            "tool": {"toolUse": Field(shapes.tool_use), **state},
            "stream": {"args": Field(shapes.args), **options},
        }
        return {stage: Record(known, empty=True) for stage, known in fields.items()}

    def _result_shapes(self) -> Mapping[str, Shape]:
        shapes = self.shapes
        reason = {"stopReason": Field(shapes.text)}
        return {
            "model": Record({"message": Field(shapes.message), **reason}),
            "tool": Record({"toolResult": Field(shapes.tool_result)}),
            "stream": Record({"lastMessage": Field(shapes.message), **reason}),
        }

    # --- the model and the tools ----------------------------------------------------------------------------

    def _answer(self, request: ObjectView) -> Said:
        name = f"model#{self.model_calls}"
        self.log(name)
        if self.model_calls == _MODEL_CALLS:
            raise TooLongError(f"more than {_MODEL_CALLS} model calls")
        self.record.add("calls", self._shown_call(request))
        entry = self.answer()
        said: Mapping[str, Any] = entry if isinstance(entry, dict) else {"blocks": entry}
        shapes = self.shapes
        given = {
            "messages": Field(shapes.messages, fixed=True),
            "system": Field(shapes.system, fixed=True),
            "toolSpecs": Field(shapes.specs, fixed=True),
            "toolChoice": Field(shapes.dictionary, fixed=True),
        }
        root = Place(shape=Record(given, empty=True), live=request)
        self.ops.edit_all(name, root, said.get("mutate", ()))
        for key, value in said.get("modelState", {}).items():
            request["modelState"][key] = value
        for key in said.get("modelStateDelete", ()):
            request["modelState"].pop(key, None)
        if "throw" in said:
            raise self.thrown(said["throw"])
        after = self.thrown(said["throwAfter"]) if "throwAfter" in said else None
        return Said(blocks=said.get("blocks", ()), stop_reason=said.get("stopReason"), error=after)

    def _shown_call(self, request: ObjectView) -> Json:
        choice = request["toolChoice"]
        return {
            "messages": _without_measures(_plain(request["messages"])),
            "system": _plain_system(_plain(request["system"])),
            "toolSpecs": _plain(request["toolSpecs"]),
            "toolChoice": _plain(choice) if choice or self.profile.has_classes else None,
            "modelState": _plain(request["modelState"]),
        }

    def _tool(self, name: str, spec: Mapping[str, Any]) -> Tool:
        runs = iter(range(_LOG_ENTRIES + 1))
        outputs = spec.get("outputs", [spec.get("output")])
        shape = Record({"input": Field(self.shapes.json, fixed=True)})

        def run(use: ObjectView, state: ObjectView) -> Any:
            self.log(f"tool:{name}")
            shown = {"toolUseId": use["toolUseId"], "input": _plain(use["input"])}
            self.record.add("toolRuns", {"name": name, **shown, "invocationState": self._shown_state(state)})
            output = outputs[min(next(runs), len(outputs) - 1)]
            state.update(spec.get("setInvocationState", {}))
            self.ops.edit_all(f"tool:{name}", Place(shape=shape, live=use), spec.get("mutateInput", ()))
            if "throw" in spec:
                raise self.thrown(spec["throw"])
            return output

        schema = spec.get("inputSchema", {"type": "object", "properties": {}})
        description = spec.get("description", f"tool {name}")
        return Tool(run=run, description=description, input_schema=schema, takes=spec.get("takes", 0))

    # --- what handlers need of the run ----------------------------------------------------------------------

    def log(self, entry: str) -> None:
        """Notes that something runs."""
        if len(self.record.of("log")) == _LOG_ENTRIES:
            raise TooLongError(f"more than {_LOG_ENTRIES} entries of the log")
        self.record.add("log", entry)

    def written(self, path: Sequence[Any]) -> str:
        """A path as the SDK's language writes it."""
        return compact(path, escapes=self.profile.has_classes)

    def thrown(self, message: str) -> Exception:
        """The error that a program throws."""
        return PackageError("Error" if self.profile.has_classes else "RuntimeError", message)

    def new(self, value: Any) -> Any:
        """A live object: a view of a new cell."""
        return self.desk.view(self.desk.slot(value), ("made",))

    def agent_root(self) -> Place:
        """The live agent."""
        shapes = self.shapes
        fields = {
            "messages": Field(shapes.messages, fixed=True),
            "system": Field(shapes.system, fixed=True),
            "toolSpecs": Field(shapes.specs, fixed=True),
        }
        specs = self.loop.store.array([tool.spec for tool in self.agent.tools.values()])
        live = self.loop.store.object(
            {"messages": self.agent.history, "system": self._own_system(), "toolSpecs": specs}
        )
        return Place(shape=Record(fields), live=self.desk.view(live, ("agent",)))

    def _own_system(self) -> Value:
        return None if self.agent.system is UNDEFINED else self.agent.system

    def model_state(self) -> Any:
        """The agent's model state, live."""
        return self.desk.view(self.agent.model_state, ("agent", "modelState"))

    def path_in(self, root: Place, path: Sequence[Any]) -> Sequence[Any]:
        """Translates a program's path to the SDK's names; the stream stage's state may be in its options."""
        inside = root.shape is self.context_shapes["stream"] and self.profile.options_given
        return ["options", *path] if inside and path[0] == "invocationState" else path

    def state_of_result(self, context: ObjectView) -> Json:
        """The field of a result that has the state of a context, where results have it."""
        if not self.profile.options_given:
            return {}
        return {"invocationState": context["options"].get("invocationState", {})}

    def native_keys(self, stage: str, context: ObjectView) -> list[str]:
        """The fields of a context by the names that they have in the SDK."""
        names = fields_of(self.profile, stage)
        return [names.get(key, key).rstrip("?") for key in context]

    # --- what a trace shows ---------------------------------------------------------------------------------

    def trace_value(self, place: Place) -> Any:
        """Returns what stands at a place, as a trace shows it."""
        plain, shapes = _plain(place.live), self.shapes
        if place.shape is shapes.state:
            return self._shown_state(place.live)
        if place.shape is shapes.message:
            return _without_measures([plain])[0]
        if place.shape in {shapes.messages, shapes.args}:
            return _without_measures(plain)
        if place.shape is shapes.message.fields["metadata"].shape:
            kept = _unmeasured(plain)
            return kept if kept or not self.profile.has_classes else None
        return plain

    def shown_history(self) -> Any:
        """The agent's messages, as a trace shows them."""
        return _without_measures(self.loop.store.plain(self.agent.history))

    def _shown_state(self, state: Any) -> Any:
        plain = _plain(state)
        if not self.profile.state_filled or not isinstance(plain, dict):
            return plain
        return {key: value for key, value in plain.items() if not is_sdk_key(key)}

    # --- who holds what -------------------------------------------------------------------------------------

    def identify(self, by: str, root: Place, stage: str, keys: Json) -> None:
        """Notes of each field of a context or result whose objects it holds."""
        known = objects_of([(place, []) for place in self._held()])
        shape: Any = root.shape
        places = {name: shape.step(root.live, name) for name in shape.fields}
        if stage == "stream" and self.profile.options_given:
            options = root.live["options"]
            live = options.get("invocationState", MISSING) if isinstance(options, ObjectView) else MISSING
            places["invocationState"] = Place(shape=self.shapes.dictionary, live=live)
        if stage == "model":
            live = root.live.get("modelState")
            places["modelState"] = Place(shape=self.shapes.json, live=live)
        fields = {name: held_in(name, place, known) for name, place in places.items()}
        self.record.add("identity", {"by": by, **keys, "fields": fields})

    def _held(self) -> list[Place]:
        """All objects of the agent and of the caller."""
        shapes, agent, caller = self.shapes, self.agent, self.agent.caller
        spec: Any = shapes.specs
        places: list[tuple[Shape, Value]] = [
            (shapes.messages, agent.history),
            (shapes.system, agent.system),
            *((spec.element([None], None), tool.spec) for tool in agent.tools.values()),
            (shapes.json, agent.model_state),
            (shapes.messages, caller.messages),
            (shapes.system, caller.system),
            *((shapes.input, given) for given in caller.inputs),
            (shapes.state, caller.options if self.profile.options_given else UNDEFINED),
            (shapes.state, caller.state),
        ]
        if self.profile.has_classes and self.pending is not None:
            places.append((shapes.message, self.pending.ref))
        return [self._place(shape, slot) for shape, slot in places]

    def _place(self, shape: Shape, slot: Value) -> Place:
        return Place(shape=shape, live=self.desk.view(slot, ("held",)))

    def _aliases(self, outcomes: Sequence[Outcome]) -> Json:
        shapes, agent, caller = self.shapes, self.agent, self.agent.caller
        history = self._place(shapes.messages, agent.history)
        known = objects_of([(history, [])])
        inputs = [(self._place(shapes.input, given), [index]) for index, given in enumerate(caller.inputs)]
        config = objects_of([(self._place(shapes.messages, caller.messages), [])])
        state = objects_of([(self._place(shapes.json, caller.state), [])])
        last, states = [], []
        for index, outcome in enumerate(outcomes):
            if outcome.result is not None:
                result = self.desk.view(outcome.result, ("result",))
                message = Place(shape=shapes.message, live=result["lastMessage"])
                last += shared(message, [index], known)
                if "invocationState" in result:
                    shown = Place(shape=shapes.dictionary, live=result["invocationState"])
                    states += shared(shown, [index], state)
        return {
            "historyAndConfig": shared(history, [], config),
            "historyAndInput": shared(history, [], objects_of(inputs)),
            "resultAndHistory": last,
            "resultStateAndCaller": states,
        }

    # --- the trace ------------------------------------------------------------------------------------------

    def trace(self) -> Json:
        """Runs the program and writes its trace; or what the profile's SDK lacks for it."""
        lacking = [hook["on"] for hook in self.program.get("hooks", ()) if hook["on"] in _STREAMED]
        if lacking and not self.profile.streams_told:
            return {"id": self.program.get("id"), "unsupported": f"there is no hook {lacking[0]} in Python"}
        head = {"id": self.program.get("id"), "impl": "agentcore", "version": self.profile.package}
        try:
            outcomes = self.loop.run()
        except TooLongError as error:
            return {**head, "driverError": f"TooLong: {error}"}
        return {
            **head,
            **self.record.entries_of("calls", "toolRuns", "log", "observations", "identity", "pathErrors"),
            "results": [self._shown_outcome(outcome) for outcome in outcomes],
            **self._afterwards(),
            "aliases": self._aliases(outcomes),
        }

    def _shown_outcome(self, outcome: Outcome) -> Json:
        error = outcome.error
        if error is not None:
            name = error.name if isinstance(error, PackageError) else type(error).__name__
            return {"error": {"type": name, "message": str(error)}}
        result = self.loop.store.plain(outcome.result if outcome.result is not None else UNDEFINED)
        shown = {
            "stopReason": result["stopReason"],
            "lastMessage": _without_measures([result["lastMessage"]])[0],
        }
        return shown | {key: result[key] for key in ("invocationState", "structuredOutput") if key in result}

    def _afterwards(self) -> Json:
        agent, plain = self.agent, self.loop.store.plain
        now = self._caller()
        config = {"messages": now["config.messages"], "system": now["config.system"]}
        options = {"options": now["options"]} if "options" in self.program and "options" in now else {}
        filled = self.profile.state_filled and agent.caller.state is not UNDEFINED
        keys = sorted(filter(is_sdk_key, self.desk.view(agent.caller.state))) if filled else []
        return {
            "agentMessages": self.shown_history(),
            "system": plain(self._own_system()),
            "toolSpecs": [plain(tool.spec) for tool in agent.tools.values()],
            "modelState": plain(agent.model_state),
            "invocationState": now["invocationState"],
            "caller": {
                "config": config,
                "inputs": now["inputs"],
                **options,
                "changed": [name for name in now if _ordered(now[name]) != _ordered(self.before[name])],
            },
            **({"sdkInvocationKeys": keys} if self.profile.state_filled else {}),
        }

    def _caller(self) -> Json:
        """The caller's own objects, as they are now."""
        caller, plain = self.agent.caller, self.loop.store.plain
        options = plain(caller.options) or {}
        others = {key: value for key, value in options.items() if key != "invocationState"}
        return {
            "config.messages": _without_measures(plain(caller.messages)),
            "config.system": plain(caller.system),
            "inputs": [_without_measures(plain(given)) for given in caller.inputs],
            **({"options": others} if self.profile.options_given else {}),
            "invocationState": self._shown_state(self.desk.view(caller.state)),
        }


def _plain(value: Any) -> Any:
    return value.store.plain(value.ref) if isinstance(value, View) else None if value is UNDEFINED else value


def _without_measures(value: Any) -> Any:
    """Messages, or whatever an input may be, without the SDK's measures."""
    if not isinstance(value, list):
        return value
    return [_unmeasured_message(item) for item in value]


def _unmeasured_message(value: Any) -> Any:
    if not isinstance(value, dict) or "metadata" not in value:
        return value
    kept = _unmeasured(value["metadata"])
    return {
        key: kept if key == "metadata" else item for key, item in value.items() if key != "metadata" or kept
    }


def _unmeasured(metadata: Json) -> Json:
    return {key: value for key, value in metadata.items() if key not in {"usage", "metrics"}}


def _plain_system(system: Any) -> Any:
    """The same text is shown alike, whether it is a text or a list of one text block."""
    if isinstance(system, list) and len(system) == 1 and "text" in system[0]:
        return system[0]["text"]
    return system


def _ordered(value: Any) -> str:
    return compact(value)


def trace(program: Mapping[str, Any], profile: str) -> Json:
    """The trace of a program under a profile; or what the profile's SDK lacks for it."""
    return trace_under(PROFILES[profile], program)


def trace_under(profile: StrandsProfile, program: Mapping[str, Any]) -> Json:
    """The trace of a program under a profile of one's own; or what its SDK lacks for it."""
    try:
        made = Recording(profile, program).trace()
    except RefusedToolError as error:
        head = {"id": program.get("id"), "impl": "agentcore", "version": profile.package}
        return {**head, "driverError": f"{error.name}: {error}"}
    return made if profile.has_classes else _in_python(made)


_EXACT: Final = 2**53


def _in_python(value: Any) -> Any:
    """The trace with numbers as Python has them: beyond what a float counts exactly they are floats."""
    if type(value) is dict:
        return {key: _in_python(item) for key, item in value.items()}
    if type(value) is list:
        return [_in_python(item) for item in value]
    return float(value) if type(value) is int and abs(value) >= _EXACT else value


def recording(program: Mapping[str, Any], profile: str) -> Recording:
    """A program about to run under a profile."""
    return Recording(PROFILES[profile], program)
