"""Tool calls in compat: from what the model sent to what is recorded, as ai@6.0.134 does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from agentcore.compat.convert import Conversion
from agentcore.compat.heap import UNDEFINED, ErrorCell, Function, Ref, Slot, Value
from agentcore.compat.js import fields, get, in_object_order, is_nullish
from agentcore.compat.settings import Hooks, Tool
from agentcore.compat.views import Desk, View


class HookError(Exception):
    """A hook of the caller's threw; `original` is what it threw."""

    def __init__(self, original: Exception) -> None:
        super().__init__(str(original))
        self.original = original


def called(hook: Callable[..., Any], *arguments: Any) -> Any:
    """What a hook returns.

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
    """Calls an observer with an event that exists already."""
    if hook is None:
        return
    desk.hook = name
    try:
        hook(desk.view(event, (name,)))
    except Exception:  # noqa: BLE001 - the package swallows whatever an observer throws
        return


def error_cell(desk: Desk, error: BaseException) -> Ref:
    """The error object that stands for a thrown Python error."""
    name = getattr(error, "name", type(error).__name__)
    return desk.store.object({"name": name, "message": str(error)}, ErrorCell)


@attrs.frozen(kw_only=True)
class StepCalls:
    """What the calls of one step share: the step's own array of messages, and the context."""

    step_number: int
    model: Ref
    messages: Ref
    context: Value


class Calls:
    """The tools of a run, and what happens to calls of them."""

    def __init__(self, desk: Desk, tools: Mapping[str, Tool] | None, hooks: Hooks) -> None:
        self.desk = desk
        self.store = desk.store
        self.hooks = hooks
        self.by_function: dict[str, Tool] = {}
        self.tools: Value = UNDEFINED if tools is None else self._tools(tools)
        self.conversion = Conversion(store=self.store, to_model_output=self._to_model_output)

    def _tools(self, tools: Mapping[str, Tool]) -> Ref:
        return self.store.object({name: self._tool(name, tool) for name, tool in tools.items()})

    def _tool(self, name: str, tool: Tool) -> Ref:
        own: dict[str, Value] = {"inputSchema": self.store.load({"type": "object"})}
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

    def tool(self, name: Value) -> Value:
        """The tool of a name in the tools of the call, which are read live."""
        return (
            UNDEFINED
            if is_nullish(self.tools) or not isinstance(name, str)
            else get(self.store, self.tools, name)
        )

    def _field(self, tool: Value, key: str) -> Value:
        return UNDEFINED if is_nullish(tool) else get(self.store, tool, key)

    def _to_model_output(self, name: Value, call_id: Value, input: Value, output: Value) -> Slot | None:  # noqa: A002
        function = self._field(self.tool(name), "toModelOutput")
        if not isinstance(function, Function) or function.call is None:
            return None
        argument = self.store.object({"toolCallId": call_id, "input": input, "output": output})
        self.desk.hook = "toModelOutput"
        return self.desk.slot(called(function.call, self.desk.view(argument, ("toModelOutput",))))

    # ---------------------------------------------------------------- parsing

    def parse(self, part: Ref, sent: Any) -> Ref:
        """The call that is recorded for what the model sent; `sent` is the input as plain JSON, made anew.

        An unknown tool gives an invalid call that carries its error; a call of the provider's own dynamic
        tool is none.
        """
        store = self.store
        own = {
            key: get(store, part, key)
            for key in ("toolCallId", "toolName", "providerExecuted", "providerMetadata")
        }
        call: dict[str, Value] = {"type": "tool-call", **own, "input": store.load(sent)}
        if not is_nullish(self.tool(own["toolName"])):
            return store.object(call)
        if own["providerExecuted"] and get(store, part, "dynamic"):
            return store.object({**call, "providerExecuted": True, "dynamic": True})
        error = {"name": "AI_NoSuchToolError", "message": self._no_such_tool(own["toolName"])}
        return store.object(
            {**call, "dynamic": True, "invalid": True, "error": store.object(error, ErrorCell)}
        )

    def _no_such_tool(self, name: Value) -> str:
        known = in_object_order(fields(self.store, self.tools))
        tools = (
            "No tools are available." if is_nullish(self.tools) else f"Available tools: {', '.join(known)}."
        )
        return f"Model tried to call unavailable tool '{name}'. {tools}"

    def invalid_result(self, call: Ref) -> Ref:
        """The tool error that an invalid call is answered with."""
        read = {key: get(self.store, call, key) for key in ("toolCallId", "toolName", "input")}
        message = get(self.store, get(self.store, call, "error"), "message")
        return self.store.object({"type": "tool-error", **read, "error": message, "dynamic": True})

    def input_available(self, call: Ref, step: StepCalls) -> None:
        """Tells the tool that its input is complete."""
        function = self._field(self.tool(get(self.store, call, "toolName")), "onInputAvailable")
        if isinstance(function, Function) and function.call is not None:
            options = {"input": get(self.store, call, "input"), **self._options(call, step)}
            self.desk.hook = "onInputAvailable"
            called(function.call, self.desk.view(self.store.object(options), ("onInputAvailable",)))

    def approval_request(self, call: Ref, step: StepCalls) -> Ref | None:
        """The request for a human's approval, if the tool wants one; its drawn id is left out."""
        needs = self._field(self.tool(get(self.store, call, "toolName")), "needsApproval")
        if isinstance(needs, Function) and needs.call is not None:
            self.desk.hook = "needsApproval"
            options = self.desk.view(self.store.object(self._options(call, step)), ("needsApproval",))
            needs = called(
                needs.call,
                self.desk.view(get(self.store, call, "input"), ("needsApproval", "input")),
                options,
            )
        if not needs:
            return None
        return self.store.object({"type": "tool-approval-request", "toolCall": call})

    def _options(self, call: Ref, step: StepCalls) -> dict[str, Value]:
        return {
            "toolCallId": get(self.store, call, "toolCallId"),
            "messages": step.messages,
            "experimental_context": step.context,
        }

    # ---------------------------------------------------------------- running

    def run(self, call: Ref, step: StepCalls) -> Ref | None:
        """Runs a call: its result or error as recorded; None for a tool without execute."""
        store = self.store
        tool = self.tool(get(store, call, "toolName"))
        execute = self._field(tool, "execute")
        if is_nullish(execute):
            return None
        event: dict[str, Value] = {
            "stepNumber": step.step_number,
            "model": step.model,
            "toolCall": call,
            "messages": step.messages,
            "experimental_context": step.context,
        }
        read: dict[str, Value] = {key: get(store, call, key) for key in ("toolCallId", "toolName", "input")}
        metadata = get(store, call, "providerMetadata")
        rest: dict[str, Value] = {
            "dynamic": self._field(tool, "type") == "dynamic",
            "providerMetadata": UNDEFINED if is_nullish(metadata) else metadata,
        }
        notify(self.desk, "onToolCallStart", self.hooks.on_tool_call_start, lambda: store.object(event))
        try:
            output = self._execute(execute, read["input"], step, call)
        except HookError as error:
            thrown = error_cell(self.desk, error.original)
            failed = {**event, "success": False, "error": thrown}
            notify(
                self.desk, "onToolCallFinish", self.hooks.on_tool_call_finish, lambda: store.object(failed)
            )
            return store.object({"type": "tool-error", **read, "error": thrown, **rest})
        done = {**event, "success": True, "output": output}
        notify(self.desk, "onToolCallFinish", self.hooks.on_tool_call_finish, lambda: store.object(done))
        return store.object({"type": "tool-result", **read, "output": output, **rest})

    def _execute(self, execute: Value, input: Value, step: StepCalls, call: Ref) -> Value:  # noqa: A002
        if not isinstance(execute, Function) or execute.call is None:
            raise HookError(TypeError("tool2.execute.bind is not a function"))
        self.desk.hook = "execute"
        options = self.desk.view(self.store.object(self._options(call, step)), ("execute",))
        returned = called(execute.call, self.desk.view(input, ("execute", "input")), options)
        if returned is UNDEFINED or isinstance(returned, View):
            return UNDEFINED if returned is UNDEFINED else returned.ref
        try:
            return self.desk.slot(returned)
        except TypeError as error:
            raise HookError(error) from error
