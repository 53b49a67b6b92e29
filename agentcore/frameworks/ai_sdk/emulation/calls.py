"""Tool calls in compat: from what the model sent to what is recorded."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import attrs

from agentcore.frameworks.ai_sdk.emulation.offered import require_schema
from agentcore.frameworks.ai_sdk.emulation.results import Conversion
from agentcore.frameworks.ai_sdk.emulation.settings import Hooks, Tool
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.heap import (
    UNDEFINED,
    Accepts,
    DepthError,
    Drawn,
    ErrorCell,
    Function,
    HeapTypeError,
    Inherited,
    Ref,
    SchemaCell,
    Slot,
    Value,
)
from agentcore.heap.js import fields, get, in_object_order, is_nullish, is_object, picked, stringified, text
from agentcore.heap.views import Desk

INHERITED: Final = frozenset(
    {
        *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"),
        *("toString", "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__"),
        *("__lookupSetter__", "__proto__"),
    }
)
"""The names under which every object inherits something."""

_ANSWERS: Final = {"approved": True, "denied": False}
_FORBIDDEN: Final = "Object contains forbidden prototype property"
_SENT: Final = ("toolCallId", "toolName", "providerExecuted", "providerMetadata")
_CALLED: Final = ("toolCallId", "toolName", "input")


class Wait(Enum):
    """What a call that runs waits for."""

    START = "that it begins"
    HOOK = "a hook that was notified of it"
    NO_HOOK = "a hook that there is none of"
    TOOL = "the tool, for its moments"
    RETURN = "what its tool returned"
    THROW = "what its tool threw at once"
    REJECTION = "what its tool's promise threw"
    RESULT = "that it ends with a result"
    ERROR = "that it ends with an error"


class HookError(Exception):
    """A hook of the caller's threw; `original` is what it threw."""

    def __init__(self, original: Exception) -> None:
        super().__init__(str(original))
        self.original = original


def called(hook: Callable[..., Any], *arguments: Any) -> Any:
    """Calls the hook and returns its result.

    Raises:
        HookError: with what it threw.
    """
    try:
        return hook(*arguments)
    except Exception as error:
        raise HookError(error) from error


def notify(desk: Desk, name: str, hook: Callable[..., Any] | None, event: Callable[[], Ref]) -> None:
    """Calls an observer; what it throws is swallowed (claim X19). Nobody listening costs nothing."""
    if hook is not None:
        observe(desk, name, hook, event())


def observe(desk: Desk, name: str, hook: Callable[..., Any] | None, event: Ref) -> None:
    """Calls an observer with an event that exists already; rule ai-sdk.observers-swallowed."""
    if hook is None:
        return
    desk.hook = name
    try:
        desk.settled(hook(desk.hand(event, (name,))))
    except Exception:  # noqa: BLE001 - the package swallows whatever an observer throws
        return


def error_cell(desk: Desk, error: BaseException) -> Ref:
    """The error object that stands for a thrown Python error."""
    name = Inherited(getattr(error, "name", type(error).__name__))
    return desk.store.object({"name": name, "message": str(error)}, ErrorCell)


@attrs.frozen(kw_only=True)
class StepCalls:
    """The values that all calls of one step share: its array of messages, its tools, its contexts by name.

    `known` are the tools that the model was offered, `tools` those that may run; `choice` is the tool choice.
    """

    step_number: int
    model: Ref
    messages: Value
    contexts: Mapping[str, Value]
    known: Value
    tools: Value
    choice: Value = UNDEFINED


def is_safe(sent: Any) -> bool:
    """True if the package accepts the input (rule ai-sdk.inputs-safe)."""
    todo = [sent]
    for value in todo:
        if isinstance(value, Mapping):
            maker = value.get("constructor")
            if isinstance(maker, Mapping) and "prototype" in maker:
                return False
            todo.extend(value.values())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            todo.extend(value)
    return True


@attrs.frozen(kw_only=True)
class Asked:
    """A request for approval, its answer if the call's setting has one, and whether the call may not run."""

    request: Ref
    response: Ref | None = None
    blocks: bool


class Calls:
    """The tools of a run, and what happens to calls of them."""

    def __init__(
        self, profile: AiSdkProfile, desk: Desk, tools: Mapping[str, Tool] | None, hooks: Hooks
    ) -> None:
        self.profile = profile
        self.desk = desk
        self.store = desk.store
        self.hooks = hooks
        self._drawn = 0
        self.approvals: Value = UNDEFINED
        # How many calls may run at once; None where that is not limited.
        self.concurrency: int | None = None
        self._takes = {name: tool.takes for name, tool in (tools or {}).items()}
        self._asynchronous = {name for name, tool in (tools or {}).items() if tool.asynchronous}
        self.tools: Value = UNDEFINED if tools is None else self._tools(tools)

    @property
    def conversion(self) -> Conversion:
        """How messages are made of content. Made on use: kept, it and the calls would hold each other."""
        profile = self.profile
        return Conversion(
            self.store,
            self._to_model_output,
            errors_named=profile.errors_named,
            outputs_through_json=profile.outputs_through_json,
            results_in_call_order=profile.results_in_call_order,
            annotated_empty_text_kept=profile.annotated_empty_text_kept,
            invalid_input_emptied=profile.invalid_input_emptied,
            has_answers=profile.content_has_answers,
        )

    def drawn(self) -> Drawn:
        """An id that the package draws; no trace has it."""
        self._drawn += 1
        return Drawn(f"drawn-{self._drawn}")

    def _tools(self, tools: Mapping[str, Tool]) -> Ref:
        return self.store.object({name: self._tool(name, tool) for name, tool in tools.items()})

    def _tool(self, name: str, tool: Tool) -> Ref:
        schema = self.store.object({"jsonSchema": self.store.load({"type": "object"})}, SchemaCell)
        own: dict[str, Value] = {"inputSchema": schema}
        if tool.execute is not None:
            own["execute"] = Function(name=f"{name}.execute", call=tool.execute)
        if tool.needs_approval is not None:
            needs = tool.needs_approval
            own["needsApproval"] = (
                needs if isinstance(needs, bool) else Function(name=f"{name}.needsApproval", call=needs)
            )
        if tool.to_model_output is not None:
            own["toModelOutput"] = Function(name=f"{name}.toModelOutput", call=tool.to_model_output)
        if tool.on_input_available is not None:
            own["onInputAvailable"] = Function(name=f"{name}.onInputAvailable", call=tool.on_input_available)
        return self.store.object(own)

    def tool(self, tools: Value, name: Value) -> Value:
        """The tool of a name in a set of tools, which is read live."""
        if is_nullish(tools) or not isinstance(name, str):
            return UNDEFINED
        found = get(self.store, tools, name)
        # What every object inherits is a function, and has no field of a tool.
        inherited = self.profile.inherited_names_found and name in INHERITED and found is UNDEFINED
        return Function(name=name) if inherited else found

    def _field(self, tool: Value, key: str) -> Value:
        return UNDEFINED if is_nullish(tool) else get(self.store, tool, key)

    def _to_model_output(self, name: Value, call_id: Value, input: Value, output: Value) -> Slot | None:  # noqa: A002
        function = self._field(self.tool(self.tools, name), "toModelOutput")
        if not isinstance(function, Function) or function.call is None:
            return None
        argument = self.store.object({"toolCallId": call_id, "input": input, "output": output})
        self.desk.hook = "toModelOutput"
        with self.desk.acting(f"toModelOutput of tool {text(self.store, name)}"):
            return self.desk.slot(called(function.call, self.desk.hand(argument, ("toModelOutput",))))

    # ---------------------------------------------------------------- parsing

    def parse(self, part: Ref, sent: Any, known: Value) -> Ref:
        """The call that is recorded for what the model sent; `sent` is the input as plain JSON, made anew.

        `known` are the tools that the model could call.

        An unknown tool, one whose schema is invalid, and an input that is refused give an invalid call that
        carries its error; a call of the provider's own dynamic tool needs no tool.
        """
        store = self.store
        own = {key: get(store, part, key) for key in _SENT}
        tool = self.tool(known, own["toolName"])
        of_provider = is_nullish(tool) and own["providerExecuted"] and get(store, part, "dynamic")
        error = None if of_provider else self._refusal(tool, known, own["toolName"])
        safe = is_safe(sent)
        if error is None and not safe:
            error = self._refused_input(own["toolName"], sent)
        call: dict[str, Value] = {"type": "tool-call", **own}
        call["input"] = store.load(sent) if safe else stringified(store, store.load(sent))
        if of_provider and error is None:
            return store.object({**call, "providerExecuted": True, "dynamic": True})
        call |= {"title": self._field(tool, "title"), "toolMetadata": self._metadata(tool)}
        if error is not None:
            return store.object({**call, "dynamic": True, "invalid": True, "error": error})
        return store.object({**call, "dynamic": self._field(tool, "type") == "dynamic" or UNDEFINED})

    def _metadata(self, tool: Value) -> Value:
        metadata = self._field(tool, "metadata") if self.profile.metadata_on_calls else UNDEFINED
        return UNDEFINED if is_nullish(metadata) else metadata

    def _refusal(self, tool: Value, known: Value, name: Value) -> Ref | None:
        """The error of a non-tool, or of a tool with an invalid schema."""
        if is_nullish(tool):
            return self._error(
                "AI_NoSuchToolError",
                self._no_such_tool(known, name),
                toolName=name,
                availableTools=UNDEFINED if is_nullish(known) else self._names(known),
            )
        try:
            require_schema(self.store, self._field(tool, "inputSchema"))
        except HeapTypeError as error:
            return error_cell(self.desk, error)
        return None

    def _refused_input(self, name: Value, sent: Any) -> Ref:
        given = text(self.store, stringified(self.store, self.store.load(sent)))
        why, failed = _FORBIDDEN, "JSON parsing failed"
        if self.profile.errors_named:
            why, failed = f"SyntaxError: {why}", f"AI_JSONParseError: {failed}"
        cause = f"{failed}: Text: {given}.\nError message: {why}"
        message = f"Invalid input for tool {text(self.store, name)}: {cause}"
        return self._error("AI_InvalidToolInputError", message, toolName=name, toolInput=given)

    def _error(self, name: str, message: str, **own: Value) -> Ref:
        return self.store.object({"name": name, "message": message, **own}, ErrorCell)

    def _names(self, known: Value) -> Ref:
        return self.store.array(in_object_order(fields(self.store, known)))

    def _no_such_tool(self, known: Value, name: Value) -> str:
        names = in_object_order(fields(self.store, known))
        tools = "No tools are available." if is_nullish(known) else f"Available tools: {', '.join(names)}."
        return f"Model tried to call unavailable tool '{name}'. {tools}"

    def invalid_result(self, call: Ref) -> Ref:
        """The tool error that an invalid call is answered with."""
        read = picked(self.store, call, _CALLED)
        message = self.conversion.error_text(get(self.store, call, "error"))
        named = {key: get(self.store, call, key) for key in self.profile.told_of_invalid_calls}
        return self.store.object({"type": "tool-error", **read, "error": message, "dynamic": True, **named})

    def hears_input(self, call: Ref, step: StepCalls) -> bool:
        """Whether the tool is notified that its input is complete."""
        return isinstance(self._input_hook(call, step), Function)

    def _input_hook(self, call: Ref, step: StepCalls) -> Value:
        return self._field(self.tool(step.tools, get(self.store, call, "toolName")), "onInputAvailable")

    def input_available(self, call: Ref, step: StepCalls) -> None:
        """Notifies the tool that its input is complete."""
        function = self._input_hook(call, step)
        if isinstance(function, Function) and function.call is not None:
            options = {"input": get(self.store, call, "input"), **self._options(call, step)}
            self.desk.hook = "onInputAvailable"
            shown = self.desk.hand(self.store.object(options), ("onInputAvailable",))
            self.desk.settled(called(function.call, shown))

    def ask_approval(self, call: Ref, step: StepCalls) -> Asked | None:
        """Returns what is asked about a call, and answered; None if it may run without."""
        kind, reason = self.approval(call, step)
        if kind == "user-approval":
            return Asked(request=self._request(call, reason=reason), blocks=True)
        if kind not in _ANSWERS:
            return None
        request = self._request(call, isAutomatic=True)
        response = self.store.object(
            {
                "type": "tool-approval-response",
                "approvalId": get(self.store, request, "approvalId"),
                "toolCall": call,
                "approved": _ANSWERS[kind],
                "reason": reason,
                "providerExecuted": get(self.store, call, "providerExecuted"),
            }
        )
        return Asked(request=request, response=response, blocks=not _ANSWERS[kind])

    def _request(self, call: Ref, **told: Value) -> Ref:
        own = {key: UNDEFINED if is_nullish(value) else value for key, value in told.items()}
        request: dict[str, Value] = {
            "type": "tool-approval-request",
            "approvalId": self.drawn(),
            "toolCall": call,
        }
        return self.store.object({**request, **own})

    def approval(self, call: Ref, step: StepCalls) -> tuple[str, Value]:
        """What the call's setting, or else the tool, says of an approval, and why.

        The setting has an answer by the name of the tool; a text stands for one without a reason.
        """
        status = self._status(call)
        if is_nullish(status):
            return ("user-approval" if self.needs_approval(call, step) else "not-applicable"), UNDEFINED
        if isinstance(status, str):
            return str(status), UNDEFINED
        return text(self.store, get(self.store, status, "type")), get(self.store, status, "reason")

    def _status(self, call: Ref) -> Value:
        setting = self.approvals if is_object(self.approvals) else UNDEFINED
        name = text(self.store, get(self.store, call, "toolName"))
        return fields(self.store, setting).get(name, UNDEFINED)

    def asks_function(self, call: Ref, step: StepCalls) -> bool:
        """Whether a function of the tool says if a call needs approval."""
        return is_nullish(self._status(call)) and isinstance(self._needs_approval(call, step), Function)

    def _needs_approval(self, call: Ref, step: StepCalls) -> Value:
        return self._field(self.tool(step.tools, get(self.store, call, "toolName")), "needsApproval")

    def denied(self, response: Ref) -> Ref:
        """The chunk that reports a call that was denied."""
        call = get(self.store, response, "toolCall")
        named = {key: get(self.store, call, key) for key in ("toolCallId", "toolName")}
        return self.store.object({"type": "tool-output-denied", **named})

    def error_part(self, error: BaseException) -> Ref:
        """The chunk that reports an error."""
        return self.store.object({"type": "error", "error": error_cell(self.desk, error)})

    def show_chunk(self, chunk: Ref) -> None:
        """Shows a chunk to whoever listens to the stream.

        Raises:
            HookError: if they threw, and that is not swallowed.
        """
        on_chunk = self.hooks.on_chunk
        if on_chunk is None:
            return
        event = self.store.object({"chunk": chunk})
        if self.profile.chunk_errors_swallowed:
            observe(self.desk, "onChunk", on_chunk, event)
        else:
            self.desk.hook = "onChunk"
            self.desk.settled(called(on_chunk, self.desk.hand(event, ("onChunk",))))

    def takes_input(self, tool: Value) -> bool:
        """Whether a tool can run, and has a schema for its input.

        Raises:
            HeapTypeError: for a schema that is not one.
        """
        schema = self._field(tool, "inputSchema")
        if is_nullish(schema) or not isinstance(self._field(tool, "execute"), Function):
            return False
        require_schema(self.store, schema)
        return True

    def unlike_input(self, call: Ref) -> Ref:
        """The error of an approved call whose input is not what its schema made of the model's."""
        name = get(self.store, call, "toolName")
        cause = "Approved tool input does not match the validated schema output."
        if self.profile.approvals_asked_again:
            cause = f"Error: {cause}"
        message = f"Invalid input for tool {text(self.store, name)}: {cause}"
        given = stringified(self.store, get(self.store, call, "input"))
        return self._error("AI_InvalidToolInputError", message, toolName=name, toolInput=given)

    def needs_approval(self, call: Ref, step: StepCalls) -> bool:
        """Whether the tool of a call asks for approval of it."""
        needs = self._needs_approval(call, step)
        if isinstance(needs, Function) and needs.call is not None:
            self.desk.hook = "needsApproval"
            options = self.desk.hand(self.store.object(self._options(call, step)), ("needsApproval",))
            given = self.desk.hand(get(self.store, call, "input"), ("needsApproval", "input"))
            name = text(self.store, get(self.store, call, "toolName"))
            with self.desk.acting(f"needsApproval of tool {name}"):
                needs = self.desk.settled(called(needs.call, given, options))
        return bool(needs)

    def _options(self, call: Ref, step: StepCalls) -> dict[str, Value]:
        return {
            "toolCallId": get(self.store, call, "toolCallId"),
            "messages": step.messages,
            self.profile.contexts.in_options: self._context(call, step),
        }

    def _context(self, call: Ref, step: StepCalls) -> Value:
        contexts = self.profile.contexts
        context = step.contexts.get(contexts.for_tools, UNDEFINED)
        return self.tool(context, get(self.store, call, "toolName")) if contexts.by_tool else context

    # ---------------------------------------------------------------- running

    def takes(self, call: Ref) -> int:
        """How many moments a call waits before it ends, its tool having been named when the run began."""
        return self._takes.get(self._name(call), 0)

    def as_ended(self, results: Iterable[Ref]) -> list[Ref]:
        """The results of calls that were started at once, in the order in which the calls end.

        A tool that throws at once is ready before one that returns at once.
        """
        started = [*results]
        if self.concurrency == 1:
            return started
        ends = dict(zip(started, self._ends(started), strict=True))

        def when(result: Ref) -> tuple[int, bool]:
            at_once = self.takes(result) == 0
            return ends[result], at_once and get(self.store, result, "type") != "tool-error"

        return sorted(started, key=when)

    def _ends(self, started: Iterable[Ref]) -> Iterator[int]:
        """When calls end, of which only so many run at once as the call's settings allow."""
        free: list[int] = []
        for result in started:
            full = self.concurrency is not None and len(free) >= self.concurrency
            begins = heapq.heappop(free) if full else 0
            heapq.heappush(free, begins + self.takes(result))
            yield begins + self.takes(result)

    def run(self, call: Ref, step: StepCalls) -> Ref | None:
        """Runs a call: its result or error as recorded; None for a tool without execute."""
        running = self.running(call, step)
        while True:
            try:
                next(running)
            except StopIteration as ended:
                return ended.value  # type: ignore[no-any-return]

    def running(self, call: Ref, step: StepCalls) -> Generator[Wait, None, Ref | None]:
        """Runs a call, and says what it waits for.

        Rules ai-sdk.input-live and ai-sdk.metadata-shared.
        """
        store = self.store
        tool = self.tool(step.tools, get(store, call, "toolName"))
        execute = self._field(tool, "execute")
        if is_nullish(execute) or (self.profile.runs_only_functions and not isinstance(execute, Function)):
            return None
        read: dict[str, Value] = picked(store, call, _CALLED)
        rest = self._rest(call, tool)
        yield Wait.START
        event = self._event(call, step)
        yield self._notify("onToolCallStart", self.hooks.on_tool_call_start, event)
        output: Value = UNDEFINED
        thrown: Ref | None = None
        try:
            output = self._execute(execute, get(store, call, "input"), step, call)
        except HookError as error:
            thrown = error_cell(self.desk, error.original)
        yield from self._waits(call, thrown is not None)
        ended: dict[str, Value]
        if thrown is not None:
            result = store.object({"type": "tool-error", **read, "error": thrown, **rest})
            ended = {**event, "success": False, "error": thrown, "toolOutput": result}
        else:
            result = store.object({"type": "tool-result", **read, "output": output, **rest})
            ended = {**event, "success": True, "output": output, "toolOutput": result}
        yield self._notify("onToolCallFinish", self.hooks.on_tool_call_finish, ended)
        yield Wait.RESULT if thrown is None else Wait.ERROR
        return result

    def _rest(self, call: Ref, tool: Value) -> dict[str, Value]:
        metadata = get(self.store, call, "providerMetadata")
        named = self.profile.metadata_on_calls
        return {
            "dynamic": self._field(tool, "type") == "dynamic",
            "toolMetadata": self._of_call(call, "toolMetadata") if named else UNDEFINED,
            "providerMetadata": UNDEFINED if is_nullish(metadata) else metadata,
        }

    def _notify(self, name: str, hook: Callable[..., Any] | None, values: Mapping[str, Value]) -> Wait:
        notify(self.desk, name, hook, lambda: self._tool_event(values))
        return Wait.NO_HOOK if hook is None else Wait.HOOK

    def _waits(self, call: Ref, failed: bool) -> Iterable[Wait]:
        if self.takes(call):
            yield Wait.TOOL
        if not failed:
            yield Wait.RETURN
        elif self._name(call) in self._asynchronous:
            yield Wait.REJECTION
        else:
            yield Wait.THROW

    def _name(self, call: Ref) -> str:
        return text(self.store, get(self.store, call, "toolName"))

    def _of_call(self, call: Ref, key: str) -> Value:
        value = get(self.store, call, key)
        return UNDEFINED if is_nullish(value) else value

    def _event(self, call: Ref, step: StepCalls) -> dict[str, Value]:
        return {
            "stepNumber": step.step_number,
            "model": step.model,
            "toolCall": call,
            "messages": step.messages,
            "toolContext": self._context(call, step),
            **step.contexts,
        }

    def _tool_event(self, values: Mapping[str, Value]) -> Ref:
        return self.store.object({name: values.get(name, UNDEFINED) for name in self.profile.tool_events})

    def _execute(self, execute: Value, input: Value, step: StepCalls, call: Ref) -> Value:  # noqa: A002
        if not isinstance(execute, Function) or execute.call is None:
            raise HookError(TypeError("tool2.execute.bind is not a function"))
        self.desk.hook = "execute"
        options = self.desk.hand(self.store.object(self._options(call, step)), ("execute",))
        with self.desk.acting(f"tool {text(self.store, get(self.store, call, 'toolName'))}"):
            returned = called(execute.call, self.desk.hand(input, ("execute", "input")), options)
            try:
                return self.desk.slot(returned, accepts=Accepts.BYTES)
            except DepthError as error:
                raise HookError(error) from error
