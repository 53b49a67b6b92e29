"""Programs under a profile: what the reference says an implementation does.

Rules oracle.by-value, oracle.cycles-named and oracle.hung-told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentcore.frameworks.ai_sdk import immutable
from agentcore.frameworks.ai_sdk.emulation.calls import HookError
from agentcore.frameworks.ai_sdk.emulation.loop import AiSdkLoop
from agentcore.frameworks.ai_sdk.emulation.record import Outcome
from agentcore.frameworks.ai_sdk.emulation.settings import Hooks, Model, Settings, Tool
from agentcore.frameworks.ai_sdk.ops import Ops, StepRecording
from agentcore.frameworks.ai_sdk.profiles import PROFILES, AiSdkProfile
from agentcore.heap.heap import UNDEFINED, HeapTypeError, NotEmulatedError, Slot, Value
from agentcore.heap.js import described, elements, get
from agentcore.heap.views import Desk, View
from agentcore.kit.ops import ThrownError

_PATHS: Final = {"stream": "ai-sdk-6/stream", "generate": "ai-sdk-6/generate"}

PROFILE_NAMES: Final = ("immutable", *PROFILES)
"""The profiles that programs can be traced under."""


class Recording(StepRecording):
    """One program on the compat loop: its hooks as callables, and what they are shown, written down."""

    def __init__(self, profile: AiSdkProfile, program: Mapping[str, Any]) -> None:
        super().__init__(program)
        self.profile = profile
        self.ops = Ops(self, self.record, self._leave_out)
        self.loop = AiSdkLoop(profile, self._settings())
        self.desk: Desk = self.loop.desk
        self.store = self.desk.store
        self.shared = {
            name: self.store.load(spec.get("output", UNDEFINED))
            for name, spec in (program.get("tools") or {}).items()
            if spec.get("returns") == "shared"
        }
        self.record.kept["caller"] = self.desk.view(self.loop.caller, ("caller",))

    def _settings(self) -> Settings:
        program = self.program
        tools = program.get("tools")
        return Settings(
            messages=program["messages"],
            model=self._model(program.get("model", "model")),
            tools=None if tools is None else {name: self._tool(name, spec) for name, spec in tools.items()},
            system=program.get("system"),
            options=program.get("options") or {},
            hooks=Hooks(
                prepare_step=self._prepare_step,
                on_step_start=self._observer("onStepStart"),
                on_step_finish=self._on_step_finish,
                stop_when=self._observer("stopWhen"),
                on_finish=self._observer("onFinish"),
            ),
            max_steps=program.get("maxSteps", 20),
            frozen=bool(program.get("frozen")),
        )

    # ---------------------------------------------------------------- what ops make

    def new(self, value: Any) -> Any:
        """A live object: a view of a cell."""
        return self.desk.view(self.desk.slot(value), ("returned",))

    def clone(self, live: Any) -> Any:
        """A structured clone."""
        return live.clone() if isinstance(live, View) else self.desk.view(self.store.clone(live))

    def model(self, model_id: str) -> Any:
        """A second model that answers from the same script."""
        return self.desk.view(self.loop.models.new(self._model(model_id)))

    def freeze(self, live: Any) -> None:
        """Freezes an object deeply."""
        if isinstance(live, View):
            self.store.seal(live.ref)

    def _leave_out(self, what: str) -> Exception:
        """The error that ends the run because it would show what no trace can have."""
        return self.desk.leave_out(what, "leave it as it is")

    # ---------------------------------------------------------------- hooks

    def _hook(self, name: str, argument: Any) -> Any:
        ops, where = self.ops_of(name)
        return self.ops.run(ops, argument, where) if ops else None

    def _observer(self, name: str) -> Any:
        if name not in self.hooks:
            return None

        def observe(argument: Any) -> None:
            self._hook(name, argument)

        return observe

    def _prepare_step(self, argument: Any) -> Any:
        shown = {
            "stepNumber": argument["stepNumber"],
            "steps": len(argument["steps"]),
            "messages": self._plain(argument["messages"]),
        }
        self.begin_step(shown)
        return self._hook("prepareStep", argument)

    def _on_step_finish(self, result: Any) -> None:
        shown = {"messages": result["response"]["messages"], "content": result["content"]}
        self.steps[-1]["onStepFinish"] = self._plain_fields(shown)
        self._hook("onStepFinish", result)

    def _plain(self, value: Any) -> Any:
        return self.store.plain(value.ref if isinstance(value, View) else value)

    def _plain_fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Returns fields as a trace has them, without those that it leaves out."""
        slots = {key: value.ref if isinstance(value, View) else value for key, value in fields.items()}
        return {key: self.store.plain(slot) for key, slot in slots.items() if not self.store.is_hidden(slot)}

    def _model(self, model_id: str) -> Model:
        def answer(options: Any) -> Any:
            self.steps[-1]["model"] = model_id
            self.steps[-1]["prompt"] = self._plain(options["prompt"])
            self._hook("model", options)
            return self.answer()

        return Model(id=model_id, answer=answer)

    def _tool(self, name: str, spec: Mapping[str, Any]) -> Tool:
        def execute(given: Any, options: Any) -> Any:
            shown = {
                "toolName": name,
                "toolCallId": options.get("toolCallId", UNDEFINED),
                "input": given,
                "messages": options.get("messages", UNDEFINED),
            }
            self.add_call(self._plain_fields(shown))
            argument = self._tool_argument(name, spec, given, options)
            self.ops.run(spec.get("mutate"), argument, f"tool {name}, mutate")
            self._hook("execute", argument)
            if "error" in spec:
                raise ThrownError(spec["error"])
            return argument.get("output", UNDEFINED)

        return Tool(
            execute=None if spec.get("noExecute") else execute,
            needs_approval=spec.get("needsApproval"),
            takes=spec.get("takes", 0),
            asynchronous=True,
        )

    def _tool_argument(self, name: str, spec: Mapping[str, Any], given: Any, options: Any) -> Any:
        returns = spec.get("returns", "fresh")
        output: Value = self.desk.slot(given)
        if returns == "shared":
            output = self.shared[name]
        elif returns == "fresh":
            output = self.store.load(spec["output"]) if "output" in spec else UNDEFINED
        fields: dict[str, Value] = {"input": self.desk.slot(given), "output": output}
        for key in ("messages", "experimental_context", "context"):
            fields[key] = self.desk.slot(options[key]) if key in options else UNDEFINED
        return self.desk.view(self.store.object(fields), ("execute",))

    def close(self) -> None:
        """Lets go of the run: hooks and cells refer to each other, and are freed here and not by a search."""
        self.store.cells.clear()
        vars(self).clear()

    # ---------------------------------------------------------------- the trace

    def trace(self) -> dict[str, Any]:
        """Runs the program and writes its trace, or says what of it is not emulated."""
        try:
            trace = self._trace()
            self.desk.require_accepted()
        except NotEmulatedError as error:
            return self._unsupported(f"{error.what} is not emulated")
        if self.store.clock_shown:
            return self._unsupported("the trace would show a time that the package measures")
        return trace

    def _unsupported(self, reason: str) -> dict[str, Any]:
        return {"id": self.program.get("id"), "unsupported": reason}

    def _trace(self) -> dict[str, Any]:
        outcome = self.loop.run()
        error = outcome.error
        final = None
        if outcome.steps is not None and not outcome.hung:
            try:
                final = self._final(outcome)
            except HeapTypeError as unreadable:
                error = error or unreadable
        trace: dict[str, Any] = self.written(
            self.profile.package,
            final=final,
            caller=self.store.plain(self.loop.caller),
            error=None if error is None else described(error),
            hung=outcome.hung,
        )
        return trace

    def _final(self, outcome: Outcome) -> dict[str, Any]:
        store = self.store
        steps = elements(store, outcome.steps)
        last: Value = steps[-1] if steps else UNDEFINED
        shown = {
            "messages": self.loop.result_messages(),
            "steps": [self._final_step(step) for step in steps],
            "text": self._text(last),
            "finishReason": outcome.finish_reason,
        }
        return self._plain_fields(shown)

    def _final_step(self, step: Slot) -> dict[str, Any]:
        shown = {"content": get(self.store, step, "content"), "messages": self._messages_of(step)}
        return self._plain_fields(shown)

    def _messages_of(self, step: Value) -> Value:
        return get(self.store, get(self.store, step, "response"), "messages")

    def _text(self, last: Value) -> Value:
        try:
            return get(self.store, last, "text")
        except HeapTypeError:
            return UNDEFINED


def trace(program: Mapping[str, Any], profile: str | None = None) -> dict[str, Any]:
    """The trace of a program under a profile (without one: the AI SDK 6 path that the program names)."""
    if profile == "immutable":
        return immutable.trace(program)
    return trace_under(PROFILES[profile or _PATHS[program["path"]]], program)


def recording(program: Mapping[str, Any], profile: str) -> Recording | immutable.Recording:
    """A program about to run under a profile."""
    if profile == "immutable":
        return immutable.Recording(program)
    return Recording(PROFILES[profile], program)


def trace_under(profile: AiSdkProfile, program: Mapping[str, Any]) -> dict[str, Any]:
    """The trace of a program under a profile of one's own."""
    recording = Recording(profile, program)
    try:
        return recording.trace()
    finally:
        recording.close()


__all__ = ["HookError", "Recording", "recording", "trace", "trace_under"]
