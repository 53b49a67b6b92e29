"""The tool stage: the hooks around one tool, the chain of handlers, and the tool.

Rules strands.hooks-input-live, strands.tool-settled and strands.tool-errors-told.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, cast

import attrs

from agentcore.frameworks.strands.emulation.agent import (
    Agent,
    Registered,
    as_text,
    context,
    context_field,
    failed,
    field,
    own,
)
from agentcore.frameworks.strands.emulation.settings import (
    InvalidOutputError,
    Middleware,
    StructuredOutput,
    Tool,
)
from agentcore.frameworks.strands.emulation.turns import Jobs, Steps, Wait, relayed
from agentcore.frameworks.strands.profiles import HandlerFailure, HookToolUse
from agentcore.heap.copying import CopyDepth, deep_copy, through_json
from agentcore.heap.heap import (
    UNDEFINED,
    Accepts,
    Function,
    HeapTypeError,
    HostValueError,
    Ref,
    Slot,
    Store,
    Value,
)
from agentcore.heap.js import stringified
from agentcore.heap.loading import require_json
from agentcore.heap.views import ArrayView, Desk, ObjectView


@attrs.define
class _Call:
    """One tool use on its way: as the hooks have it, with the tool that is to run."""

    tool_use_id: Value
    use: Value
    tool: Registered | None
    state: Value


class Tools:
    """Runs tools. `outputs` are the structured outputs that were given, by the ids of their tool uses."""

    def __init__(self, agent: Agent, chains: Chains, *, concurrent: bool) -> None:
        self.agent = agent
        self.profile = agent.profile
        self.store = agent.store
        self.chains = chains
        self.pace = agent.profile.pace
        self.concurrent = concurrent
        self.outputs: dict[str, Any] = {}

    def run(self, use: Ref, state: Value) -> Steps[Ref]:
        """The result of a tool use, after as many attempts as hooks ask for."""
        agent, profile = self.agent, self.profile
        call = _Call(
            tool_use_id=field(self.store, use, "toolUseId"),
            use=agent.copies.value(use, profile.tool_use_to_hooks),
            tool=agent.tools.get(as_text(self.store, use, "name")),
            state=state,
        )
        self._fill(state)
        while True:
            before = agent.event("beforeTool", toolUse=call.use, invocationState=state)
            yield from agent.jobs.pause()
            yield from agent.announce(before)
            denied = agent.denial(before, profile.wording.tool_denied)
            if denied is None or profile.hook_tool_use is not HookToolUse.TAKEN:
                self._replaced(call, field(self.store, before.of, "toolUse"))
            attempt = self._attempted(call) if denied is None else self._denied(call, denied)
            result, again = yield from attempt
            if not again:
                yield from agent.jobs.pause()
                return self._with_id(result, call.tool_use_id)

    def _replaced(self, call: _Call, use: Value) -> None:
        """Takes from the event what a hook may have put there."""
        rule = self.profile.hook_tool_use
        if rule is HookToolUse.TAKEN:
            call.use = use
        elif rule is HookToolUse.KEEPS_ID:
            fields: dict[str, Value] = {**own(self.store, use), "toolUseId": call.tool_use_id}
            call.use = self.store.derive(self.store.object(fields), use)
        name = as_text(self.store, call.use, "name")
        call.tool = self.agent.tools.get(name)

    def _denied(self, call: _Call, text: str) -> Steps[tuple[Ref, bool]]:
        if self.pace is None:
            yield self.agent.event("toolCancelled")
        result, asked = yield from self._after(call, self._failed(call, text))
        return result, asked and self.profile.cancelled_tool_retried

    def _attempted(self, call: _Call) -> Steps[tuple[Ref, bool]]:
        agent, pace = self.agent, self.pace
        if self.profile.handler_failure is HandlerFailure.RAISED:
            result = yield from self._staged(call)
            result = self._with_id(result, field(self.store, call.use, "toolUseId"))
            told = yield from self._after(call, result)
            yield from agent.jobs.pause(pace.attempt if pace is not None else 0)
            return told
        try:
            result = yield from self._staged(call)
            return (yield from self._after(call, result))
        except Exception as error:  # noqa: BLE001 - the rule says so
            text = self.profile.wording.tool_error.format(error)
            return (yield from self._after(call, self._failed(call, text)))

    def _staged(self, call: _Call) -> Steps[Ref]:
        """The result of the stage, with the turns that it takes to come back from there."""
        agent, pace = self.agent, self.pace
        entered = context(
            self.store,
            self.profile,
            "tool",
            {
                "toolUse": agent.copies.value(call.use, self.profile.tool_use_copied),
                "invocationState": call.state,
            },
        )
        tool = call.tool
        try:
            staged = yield from self.chains.run("tool", entered, lambda ctx: self._tool(tool, ctx))
        except Exception:
            yield from agent.jobs.pause(pace.stage_failed if pace is not None else 0)
            raise
        yield from agent.jobs.pause(pace.after_stage if pace is not None else 0)
        return cast("Ref", field(self.store, staged, "toolResult"))

    def _after(self, call: _Call, result: Ref) -> Steps[tuple[Ref, bool]]:
        """Notifies the hooks of a result: theirs, and whether they want another attempt."""
        agent = self.agent
        after = agent.event("afterTool", toolUse=call.use, toolResult=result, invocationState=call.state)
        yield from agent.jobs.pause()
        yield from agent.announce(after)
        kept = cast("Ref", field(self.store, after.of, "toolResult"))
        return kept, agent.hook_setting(after, "retry") is not UNDEFINED

    def _failed(self, call: _Call, text: str) -> Ref:
        return failed(self.store, field(self.store, call.use, "toolUseId"), text)

    def _with_id(self, result: Ref, tool_use_id: Value) -> Ref:
        """The result under the id of the tool use, if the SDK sees to that."""
        fields: dict[str, Value] = dict(own(self.store, result))
        if not self.profile.result_ids_kept or fields.get("toolUseId") == tool_use_id:
            return result
        return self.store.derive(self.store.object({**fields, "toolUseId": tool_use_id}), result)

    def _fill(self, state: Value) -> None:
        """Puts into the invocation state what the SDK keeps there once a tool runs."""
        if not self.profile.state_filled or not isinstance(state, Ref):
            return
        agent, store = self.agent, self.store
        specs = store.array([store.object({"toolSpec": spec}) for spec in agent.specs()])
        config = store.object({"tools": specs, "toolChoice": store.load({"auto": {}})})
        kept: Mapping[str, Slot] = {
            "agent": agent.function,
            "model": agent.model_function,
            "messages": agent.history,
            "system_prompt": agent.system_text(),
            "tool_config": config,
        }
        for key, value in kept.items():
            store.put(state, key, value)

    # ---------------------------------------------------------------- the tool itself

    def _tool(self, tool: Registered | None, ctx: Ref) -> Steps[Ref]:
        jobs, pace = self.agent.jobs, self.pace
        use: Any = context_field(self.store, ctx, "toolUse")
        state = context_field(self.store, ctx, "invocationState")
        tool_use_id = field(self.store, use, "toolUseId")
        if tool is None:
            name = as_text(self.store, use, "name")
            result = failed(self.store, tool_use_id, self.profile.wording.unknown_tool.format(name))
            yield from jobs.pause(pace.unknown if pace is not None else 0)
            return self.store.object({"toolResult": result})
        self.agent.desk.hook = f"tool:{tool.name}"
        try:
            output = self._ran(tool, self._copy_use(use), state)
        except Exception as error:  # noqa: BLE001 - what a tool raises is its result
            text = self.profile.wording.tool_error.format(error)
            result = failed(self.store, tool_use_id, text)
            yield from self._waited(tool)
            yield from jobs.pause(pace.failed if pace is not None else 0)
        else:
            result = self.store.object({"toolUseId": tool_use_id, **output})
            yield from self._waited(tool)
            yield from jobs.pause(pace.returned if pace is not None else 0)
        return self.store.object({"toolResult": result})

    def _waited(self, tool: Registered) -> Steps[None]:
        """Waits as long as the tool does; where tools run one after the other nobody can tell."""
        if self.concurrent and isinstance(tool.tool, Tool) and tool.tool.takes:
            yield Wait(tool.tool.takes)

    def _copy_use(self, use: Ref) -> Ref:
        """Returns the tool use as the tool has it, which in TypeScript is an object of its own."""
        depth = CopyDepth.PART if self.profile.has_classes else CopyDepth.SHARE
        return cast("Ref", self.agent.copies.value(use, depth))

    def _ran(self, tool: Registered, use: Ref, state: Slot) -> Mapping[str, Value]:
        if isinstance(tool.tool, StructuredOutput):
            return self._validated(tool.tool, use)
        hand = self.agent.desk.hand
        with self.agent.desk.acting(f"tool {tool.name}"):
            output = tool.tool.run(hand(use, ("tool", "toolUse")), hand(state, ("tool", "invocationState")))
            return self._output(output)

    def _output(self, output: Any) -> Mapping[str, Value]:
        """Converts a tool's result to new objects, so that what the tool keeps is not in the history."""
        if isinstance(output, str):
            return {"status": "success", "content": self.store.load([{"text": output}])}
        if isinstance(output, Mapping) and isinstance(output.get("content"), list | ArrayView):
            content = self._copied(output["content"], "$.content")
            return {"status": self._copied(output.get("status", "success"), "$.status"), "content": content}
        value = self._copied(output)
        return {"status": "success", "content": self.store.array([self.store.object({"json": value})])}

    def _copied(self, output: Any, path: str = "$") -> Value:
        """A copy of what a tool returned: in TypeScript what JSON makes of it, in Python of JSON only."""
        desk, store = self.agent.desk, self.store
        if self.profile.has_classes:
            return written(store, desk.slot(output, path, Accepts.BYTES))
        slot = desk.slot(output, path, Accepts.JSON)
        try:
            stringified(store, slot)
        except HeapTypeError as error:
            raise desk.refuse(HostValueError("", path, f"{error}; give JSON")) from None
        return deep_copy(store, slot)

    def _validated(self, wanted: StructuredOutput, use: Ref) -> Mapping[str, Value]:
        load, success = self.store.load, self.profile.wording.structured_success
        try:
            value = wanted.validate(copy.deepcopy(self.store.plain(field(self.store, use, "input"))))
            with self.agent.desk.acting(f"structured output {wanted.name}"):
                require_json(self.agent.desk, value)
        except InvalidOutputError as invalid:
            return {"status": "error", "content": load([{"text": str(invalid)}])}
        self.outputs[as_text(self.store, use, "toolUseId")] = value
        said = {"json": value} if success is None else {"text": success.format(wanted.name)}
        return {"status": "success", "content": load([said])}


def written(store: Store, value: Value) -> Slot:
    """Converts a tool's value as `JSON.stringify` and `JSON.parse` do in TypeScript.

    Raises:
        HeapTypeError: for a value that JSON has no text for, which the SDK takes for the tool's error.
    """
    failed = "Error: Unable to serialize tool result:"
    if isinstance(value, Function):
        raise HeapTypeError(f'{failed} "undefined" is not valid JSON')
    try:
        return through_json(store, value)
    except HeapTypeError as error:
        raise HeapTypeError(f"{failed} {error}") from None


# The chain of handlers around a stage: input handlers, wrap handlers, the stage, and out again.
#
# Rules strands.phase-order, strands.one-context, strands.copies-passed-on, strands.next-again,
# strands.short-circuit and strands.results-live.

Link: TypeAlias = Callable[[Ref], Steps[Ref]]
"""From a context to a result."""

# From the outside to the inside. Input handlers run first; an output handler outside the wrap handlers runs
# after them, and the last registered one is the innermost and runs first.
_LAYERS: Final = ("input", "output", "wrap")


class Chains:
    """Composes the handlers of the stages."""

    def __init__(self, middleware: Iterable[Middleware], desk: Desk, jobs: Jobs) -> None:
        self.desk = desk
        self.jobs = jobs
        self.layers: dict[str, list[Callable[[Link], Link]]] = {"model": [], "tool": [], "stream": []}
        numbered = list(enumerate(middleware))
        made = {"input": self._input, "output": self._output, "wrap": self._wrap}
        for phase in _LAYERS:
            for number, handler in numbered:
                if handler.phase == phase:
                    name = handler.name or f"mw{number}:{handler.stage}.{phase}"
                    self.layers[handler.stage].append(partial(made[phase], handler.call, name))

    def run(self, stage: str, context: Ref, terminal: Link) -> Steps[Ref]:
        """Runs a stage in its handlers."""
        link = terminal
        for layer in reversed(self.layers[stage]):
            link = layer(link)
        return link(context)

    # ---------------------------------------------------------------- phases

    def _input(self, call: Callable[..., Any], name: str, inner: Link) -> Link:
        def link(context: Ref) -> Steps[Ref]:
            given = yield from self._awaited(call, name, context)
            result = yield from self.jobs.passing(inner(given))
            yield from self.jobs.pause()
            return result

        return link

    def _output(self, call: Callable[..., Any], name: str, inner: Link) -> Link:
        def link(context: Ref) -> Steps[Ref]:
            result = yield from self.jobs.passing(inner(context))
            changed = yield from self._awaited(call, name, result)
            yield from self.jobs.pause()
            return changed

        return link

    def _awaited(self, call: Callable[..., Any], name: str, given: Ref) -> Steps[Ref]:
        """Awaits the result of a handler that takes and returns one value."""
        self.desk.hook = name
        try:
            returned = call(self.desk.hand(given, (name,)))
        finally:
            yield from self.jobs.pause()
        return given if returned is None else self.desk.slot(returned)  # type: ignore[return-value]

    def _generator(self, returned: Any) -> Any:
        """Returns the generator that a wrap handler returned; raises if it is something else."""
        if not isinstance(returned, Generator):
            self.desk.settled(returned)
            reason = f"a {type(returned).__name__}; a wrap handler is a generator: yield from next(context)"
            raise self.desk.refuse(HostValueError("", "$", reason))
        return returned

    # What a handler writes is entered under its name. Its code runs whenever it is resumed from outside, and
    # whenever something comes to it from what it wraps.
    def _wrap(self, call: Callable[..., Any], name: str, inner: Link) -> Link:
        def following(context: Any) -> Steps[ObjectView]:
            given: Any = self.desk.slot(context)
            came = partial(setattr, self.desk, "hook", name)
            result = yield from relayed(self.jobs.passing(inner(given)), came=came)
            view: ObjectView = self.desk.hand(result, (name, "result"))
            return view

        def link(context: Ref) -> Steps[Ref]:
            resumed = partial(setattr, self.desk, "hook", name)
            with self.desk.acting(f"hook {name}"):
                handler = self._generator(call(self.desk.hand(context, (name,)), following))
            result = yield from relayed(handler, resumed=resumed)
            yield from self.jobs.pause()
            return self.desk.slot(result)  # type: ignore[return-value]

        return link
