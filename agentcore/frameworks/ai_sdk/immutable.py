"""Programs on the immutable core: the run machine, driven by a program, and what its boundaries showed.

Hooks are shown frozen JSON in the names of the program format. What they return is decoded into the core's
own values; a message that a hook passed on unchanged is the very value that it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar, Final, TypeVar, cast

import jsonschema_rs

from agentcore.errors import (
    AgentCoreError,
    ImmutableWriteError,
    InvalidJsonError,
    InvalidMessageRoleError,
    InvalidOverrideError,
    InvalidPromptError,
    WireError,
)
from agentcore.frameworks.ai_sdk.frozen import Frames, FrozenOps, Shown
from agentcore.frameworks.ai_sdk.ops import RefusedError, StepRecording
from agentcore.kit.ops import ThrownError
from agentcore.kit.program import accepts, schema
from agentcore.machine.effects import (
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    ModelFailed,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedStepFinish,
    NeedStepStart,
    NeedStop,
    NeedTools,
    Outcome,
    Settings,
    ToolFailed,
    ToolOutcomes,
    ToolsFailed,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.hooks import StepOverride, StepRecord, check_tool_names, handing
from agentcore.machine.run import Failed, Run, give, need, start
from agentcore.messages.content import (
    ContentPart,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolApprovalRequest,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.prompt import SystemPrompt
from agentcore.messages.readonly import HookKind
from agentcore.messages.values import JsonValue, Vector, freeze, json_path, thaw
from agentcore.messages.wire import is_array, message_from_wire, messages_from_wire

__all__ = ["Recording", "trace"]

_T = TypeVar("_T")
_DISTRIBUTION: Final = "agentcore-reference"
_HOOK_ERRORS: Final = (ThrownError, RefusedError, AgentCoreError)
# What `prepareStep` may return, and the core's names of it.
_FIELDS: Final = {
    "model": "model",
    "system": "system",
    "messages": "messages",
    "activeTools": "active_tools",
    "toolChoice": "tool_choice",
    "providerOptions": "provider_options",
    "experimental_context": "experimental_context",
}
_OPTIONS: Final = tuple(_FIELDS)[3:]
_KINDS: Final[Mapping[str, HookKind]] = {"prepareStep": "processor", "model": "model", "execute": "tool"}
_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})


def trace(program: Mapping[str, Any]) -> dict[str, Any]:
    """The trace of a program, parsed by `parse_program`, on the immutable core; both paths run the same."""
    return Recording(program).trace()


@cache
def _package() -> str:
    return f"agentcore@{version(_DISTRIBUTION)}"


@cache
def _schema() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(schema("model-message"))


class Recording(StepRecording):
    """A program's run: its hooks, model and tools, and what they are shown, written down."""

    loop = None

    def __init__(self, program: Mapping[str, Any]) -> None:
        super().__init__(program)
        self.tools: Mapping[str, Any] | None = program.get("tools")
        self.options: Mapping[str, Any] = program.get("options") or {}
        self.frames = Frames(self.tools, has_context="experimental_context" in self.options)
        self.shown = Shown()
        self.ops = FrozenOps(self.record)
        # One object for all calls of a tool that returns it, as a tool of a program of its own would have it.
        self.outputs = {name: thaw(freeze(spec.get("output"))) for name, spec in (self.tools or {}).items()}
        self.caller: list[JsonValue] | None = None
        # What the program gave for each of them, by identity.
        self.given: dict[int, Any] = {}

    # ---------------------------------------------------------------- the call

    def _start(self) -> Run:
        try:
            settings = self._settings()
            messages = _caller_messages(self.program["messages"])
        except WireError as error:  # Difference.UNKNOWN_FIELDS_REFUSED
            raise InvalidPromptError(error.reason, error.path) from None
        self._keep_caller(messages)
        return start(settings, messages)

    def _keep_caller(self, messages: Iterable[Message]) -> None:
        """Keep the caller's list, which is the caller's own, of messages that cannot change."""
        self.caller = [*self.frames.messages(messages)]
        self.given = dict(zip(map(id, self.caller), self.program["messages"], strict=True))
        self.record.kept["caller"] = self.caller

    def _settings(self) -> Settings:
        options = {name: self.options[name] for name in _OPTIONS if name in self.options}
        checked = StepOverride.from_result(self._override(options))
        system = self.program.get("system")
        check_tool_names(self.tools or (), checked.active_tools, checked.tool_choice)
        return Settings(
            model=self.program.get("model", "model"),
            system=None if system is None else _system(system, "$.system"),
            tools=None if self.tools is None else [_tool_spec(*item) for item in self.tools.items()],
            active_tools=checked.active_tools,
            tool_choice=checked.tool_choice,
            provider_options=checked.provider_options,
            experimental_context=checked.experimental_context,
            max_steps=self.program.get("maxSteps", 20),
        )

    # ---------------------------------------------------------------- hooks

    def _hook(self, name: str, frame: Callable[[_T], Any], argument: _T) -> Any:
        ops, where = self.ops_of(name)
        return self._run(ops, frame(argument), where, name) if ops else None

    def _run(self, ops: Sequence[Mapping[str, Any]], frame: Any, where: str, name: str) -> Any:
        with handing(name, _KINDS.get(name, "observer"), len(self.steps) - 1, frame):
            return self.ops.run(ops, frame, where)

    def _run_hook(self, name: str, frame: Callable[[_T], Any], argument: _T) -> Outcome:
        try:
            self._hook(name, frame, argument)
        except _HOOK_ERRORS as error:
            return HookFailed(error)
        return HookResult()

    def _prepare_step(self, wanted: NeedPrepareStep) -> Outcome:
        step = wanted.step
        shown = {
            "stepNumber": step.step_number,
            "steps": len(step.steps),
            "messages": self.shown.messages(step.messages),
        }
        self.begin_step(shown)
        try:
            result = self._hook("prepareStep", self.frames.prepare_step, step)
            return HookResult(None if result is None else self._override(result))
        except _HOOK_ERRORS as error:
            return HookFailed(error)

    def _step_start(self, wanted: NeedStepStart) -> Outcome:
        return self._run_hook("onStepStart", self.frames.step_start, wanted.event)

    def _step_finish(self, wanted: NeedStepFinish) -> Outcome:
        record = wanted.record
        self.shown.drawn.update(
            part.approval_id for part in record.content if isinstance(part, ToolApprovalRequest)
        )
        messages, content = self.shown.messages(record.messages), self.shown.content(record.content)
        self.steps[-1]["onStepFinish"] = {"messages": messages, "content": content}
        return self._run_hook("onStepFinish", self.frames.step, record)

    def _stop(self, wanted: NeedStop) -> Outcome:
        return self._run_hook("stopWhen", self.frames.stop_when, wanted.steps)

    def _finish(self, wanted: NeedFinish) -> Outcome:
        return self._run_hook("onFinish", self.frames.finish, wanted.result)

    # ---------------------------------------------------------------- what `prepareStep` returned

    def _override(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The result in the core's names, its messages decoded; most wrong fields are left to the core."""
        unknown = next((name for name in result if name not in _FIELDS), None)
        if unknown is not None:
            reason = f"no field of a result; the fields are {', '.join(_FIELDS)}"
            raise InvalidOverrideError(json_path("$", unknown), reason)
        override = {_FIELDS[name]: value for name, value in result.items() if value is not None}
        if "model" in override:
            override["model"] = _model_id(override["model"])
        if "system" in override:
            override["system"] = _system(override["system"], "$.system")
        if is_array(override.get("messages")):
            override["messages"] = self._decoded(override["messages"])
        return override

    def _decoded(self, values: Sequence[JsonValue]) -> list[Message]:
        """The messages; those that a hook was shown are the very values that they were shown for."""
        return [
            self.frames.message_of(value) or _message(value, json_path("$.messages", index))
            for index, value in enumerate(values)
        ]

    # ---------------------------------------------------------------- model and tools

    def _model(self, wanted: NeedModel) -> Outcome:
        self.steps[-1] |= {"model": wanted.model, "prompt": self.shown.messages(wanted.prompt)}
        try:
            self._hook("model", self.frames.model, wanted)
        except _HOOK_ERRORS as error:
            return ModelFailed(error)
        return ModelAnswer(map(_generated, self.answer()))

    def _run_tools(self, wanted: NeedTools) -> Outcome:
        try:
            return ToolOutcomes([self._run_tool(call, wanted) for call in wanted.calls])
        except ImmutableWriteError as error:
            return ToolsFailed(error)

    def _run_tool(self, call: ToolCall, wanted: NeedTools) -> ToolSucceeded | ToolFailed:
        self.add_call(
            {
                "toolName": call.tool_name,
                "toolCallId": call.tool_call_id,
                "input": self.shown.json(call.input),
                "messages": self.shown.messages(wanted.messages),
            }
        )
        try:
            return ToolSucceeded(call.tool_call_id, self._output(call, wanted))
        except (ThrownError, RefusedError, InvalidJsonError) as error:
            return ToolFailed(call.tool_call_id, str(error))

    def _output(self, call: ToolCall, wanted: NeedTools) -> object:
        name = call.tool_name
        spec = cast("Mapping[str, Any]", self.tools)[name]
        # As with an agent's tool, its arguments are its private copy (rule tool.arguments-its-own).
        own: dict[str, Any] = {"input": thaw(call.input)}
        match spec.get("returns", "fresh"):
            case "input":
                own["output"] = own["input"]
            case "shared" if "output" in spec:
                own["output"] = self.outputs[name]
            case "fresh" if "output" in spec:
                own["output"] = thaw(self.outputs[name])
        frame = self.frames.execute(own, wanted.messages, wanted.experimental_context)
        if spec.get("mutate"):
            self._run(spec["mutate"], frame, f"tool {name}, mutate", "execute")
        self._hook("execute", lambda _: frame, wanted)
        if "error" in spec:
            raise ThrownError(spec["error"])
        return frame.get("output")  # Difference.NOTHING_IS_NULL

    # Functions and not methods of this recording, which would be in a cycle then, and outlive its run.
    _answers: ClassVar[Mapping[type, Callable[[Recording, Any], Outcome]]] = {
        NeedPrepareStep: _prepare_step,
        NeedStepStart: _step_start,
        NeedModel: _model,
        NeedTools: _run_tools,
        NeedStepFinish: _step_finish,
        NeedStop: _stop,
        NeedFinish: _finish,
    }

    # ---------------------------------------------------------------- the trace

    def trace(self) -> dict[str, Any]:
        """Runs the program and writes its trace."""
        try:
            run = self._start()
        except AgentCoreError as error:
            return self._written(error, None)
        while not isinstance(wanted := need(run), (Done, Failed)):
            run = give(run, self._answers[type(wanted)](self, wanted))
        self.run = run
        if isinstance(wanted, Done):
            return self._written(None, self._final(wanted.result.steps, wanted.result.finish_reason))
        return self._written(wanted.error, self._final(wanted.run.steps, "other"))

    def _final(self, records: Vector[StepRecord], finish_reason: str) -> dict[str, Any] | None:
        if not records:
            return None
        messages = [self.shown.messages(record.messages) for record in records]
        contents = [self.shown.content(record.content) for record in records]
        return {
            "messages": messages[-1],
            "steps": [
                {"content": content, "messages": shown}
                for content, shown in zip(contents, messages, strict=True)
            ],
            "text": records[-1].text,
            "finishReason": finish_reason,
        }

    def _callers_messages(self) -> Sequence[Any]:
        if self.caller is None:
            return cast("Sequence[Any]", self.program["messages"])
        return [self.given.get(id(message), message) for message in self.caller]

    def _written(self, error: Exception | None, final: dict[str, Any] | None) -> dict[str, Any]:
        trace: dict[str, Any] = self.written(
            _package(),
            final=final,
            caller=thaw(self._callers_messages()),
            error=None if error is None else _described(error),
        )
        return trace


def _described(error: Exception) -> dict[str, str]:
    name = error.wire_name if isinstance(error, AgentCoreError) else cast("Any", error).name
    return {"name": name, "message": str(error)}


# ---------------------------------------------------------------- from the program to the core


def _caller_messages(messages: Sequence[Any]) -> Vector[Message]:
    """The caller's messages. Raises InvalidPromptError, or WireError with the place of the fault."""
    decoded = messages_from_wire(messages, "$.messages")
    if not accepts(_schema(), messages):
        reason = "ai@6.0.134 takes other content items, provider options or image data only"
        raise InvalidPromptError(reason, "$.messages")
    return decoded


def _message(value: JsonValue, path: str) -> Message:
    role = value.get("role") if isinstance(value, Mapping) else ""
    if role == "" or role in _ROLES:
        return message_from_wire(value, path)
    raise InvalidMessageRoleError(role, path)


def _system(value: Any, path: str) -> SystemPrompt:
    """Instructions; that its messages are system messages is for the core to check."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return cast("SystemMessage", message_from_wire(value, path))
    return cast("Vector[SystemMessage]", messages_from_wire(value, path))


def _model_id(value: Any) -> str:
    name = value.get("modelId") if isinstance(value, Mapping) else None
    if not isinstance(name, str):
        raise InvalidOverrideError("$.model", "return a model, by its name or as hooks are shown one")
    return name


def _tool_spec(name: str, spec: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(
        name, not spec.get("noExecute", False), needs_approval=bool(spec.get("needsApproval", False))
    )


def _generated(part: Mapping[str, Any]) -> ContentPart:
    """A part of the script as the model's."""
    kind, metadata = part["type"], part.get("providerMetadata")
    if kind == "text":
        return GeneratedText(part["text"], metadata)
    if kind == "reasoning":
        return GeneratedReasoning(part["text"], metadata)
    if kind == "source":
        return Source({key: value for key, value in part.items() if key != "type"})
    named = {"tool_call_id": part["toolCallId"], "tool_name": part["toolName"], "provider_metadata": metadata}
    if kind == "tool-call":
        provided, dynamic = part.get("providerExecuted"), part.get("dynamic")
        return ToolCall(**named, input=part["input"], provider_executed=provided, dynamic=dynamic)
    if part.get("isError"):
        return ToolError(**named, error=part["result"], provider_executed=True)
    return ToolResult(**named, output=part["result"], provider_executed=True)
