"""One run of a program on the SDK's Agent."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import fields as fields_of
from typing import Any

import places
from places import NowhereError, Place
from pydantic import create_model
from strands import Agent
from strands.agent.conversation_manager import NullConversationManager
from strands.middleware import (
    ExecuteToolResult,
    ExecuteToolStage,
    InvokeModelResult,
    InvokeModelStage,
)
from strands.middleware._agent_stream import AgentStreamResult, AgentStreamStage
from strands.tools.executors import ConcurrentToolExecutor, SequentialToolExecutor
from strands.types._events import EventLoopStopEvent
from strands.types.events import ModelStopReason, ToolResultEvent

from live import EVENTS, Held, aliases, constant, context_root, event_root, identity, live
from scripted import Json, ProgramTool, ScriptedModel, spoken, stop_reason_of

MODEL_CALLS = 25
MOMENT = 0.02  # seconds
LOG_ENTRIES = 400
STAGE_NAMES = {"InvokeModelStage": "model", "ExecuteToolStage": "tool", "AgentStreamStage": "stream"}
STAGES: dict[str, Any] = {"model": InvokeModelStage, "tool": ExecuteToolStage, "stream": AgentStreamStage}
RESULTS: dict[str, Any] = {"model": InvokeModelResult, "tool": ExecuteToolResult, "stream": AgentStreamResult}
EXECUTORS = {"sequential": SequentialToolExecutor, "concurrent": ConcurrentToolExecutor}
ACTIONS = ("set", "append", "insert", "delete")
CANCEL_FIELDS = {"beforeTool": "cancel_tool"}
SHORT = [{"text": "(short)"}]
NO_USAGE = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
# The SDK calls the tool like the model.
Answer = create_model("strands_structured_output", name=(str, ...))


class PathError(Exception):
    """An edit of the program found nothing at its path."""


class TooLong(Exception):  # noqa: N818 - its name stands in traces
    """The run goes round and round; it is ended by letting nothing more happen in it."""


class Handler:
    """A middleware handler of the program."""

    def __init__(self, index: int, stage: str, phase: str, ops: list[Json]) -> None:
        self.stage = STAGE_NAMES.get(stage, stage)
        self.by = f"mw{index}:{self.stage}.{phase}"
        self.ops = ops
        self.entries = 0


class Entered:
    """One entry of a wrap handler."""

    def __init__(self, context: Any) -> None:
        self.original = context
        self.context = context
        self.held: Held | None = None
        self.error: Exception | None = None
        self.nexts = 0


class Run:
    """Runs a program once; `trace` is what becomes of it."""

    def __init__(self, program: Json) -> None:
        self.program = program
        self.calls: list[Json] = []
        self.tool_runs: list[Json] = []
        self.waiting = 0
        self.entries: list[str] = []
        self.observations: list[Json] = []
        self.identities: list[Json] = []
        self.path_errors: list[Json] = []
        self.abandoned: TooLong | None = None
        self.messages = places.MESSAGES.make(program.get("messages", []))
        self.system = places.SYSTEM.make(program.get("system"))
        self.inputs = [
            places.INPUT.make(given) for given in program.get("inputs", [program.get("input", "go")])
        ]
        self.state = copy.deepcopy(program.get("invocationState"))
        self.before = self.shown_of_caller()
        self.agent = self.make_agent()

    def make_agent(self) -> Agent:
        program = self.program
        agent = Agent(
            model=ScriptedModel(self),
            messages=self.messages,
            system_prompt=self.system,
            tools=[ProgramTool(self, name, tool) for name, tool in program.get("tools", {}).items()],
            structured_output_model=Answer if program.get("structuredOutput") else None,
            callback_handler=None,
            conversation_manager=NullConversationManager(),
            tool_executor=EXECUTORS[program.get("executor", "sequential")](),
            retry_strategy=None,
        )
        agent._model_state = copy.deepcopy(program.get("modelState", {}))
        for hook in program.get("hooks", []):
            self.add_hook(agent, hook["on"], hook.get("ops", []))
        for index, handler in enumerate(program.get("middleware", [])):
            self.add_middleware(agent, index, handler)
        return agent

    # --- the scripted model ---------------------------------------------------------------------------------

    def answer(self, given: Json, model_state: Json) -> Iterator[Any]:
        """Records the call and gives what the model says."""
        number = len(self.calls)
        name = f"model#{number}"
        self.log(name)
        if number == MODEL_CALLS:
            self.too_long(f"more than {MODEL_CALLS} model calls")
        root = live(given)
        shown = {field: places.look(root, [field]) for field in given}
        self.calls.append(
            {**shown, "system": plain_system(shown["system"]), "modelState": copy.deepcopy(model_state)}
        )
        script = self.program.get("script", [])
        entry = script[number] if number < len(script) else [{"text": "(end)"}]
        said = entry if isinstance(entry, dict) else {"blocks": entry}
        self.edit_all(name, root, said.get("mutate", []))
        model_state.update(copy.deepcopy(said.get("modelState", {})))
        for key in said.get("modelStateDelete", []):
            model_state.pop(key, None)
        if "throw" in said:
            raise RuntimeError(said["throw"])
        blocks = said.get("blocks", [])
        yield from spoken(blocks, said.get("stopReason", stop_reason_of(blocks)))
        if "throwAfter" in said:
            raise RuntimeError(said["throwAfter"])

    # --- what all handlers do -------------------------------------------------------------------------------

    def log(self, entry: str) -> None:
        if self.abandoned:
            raise self.abandoned
        if len(self.entries) == LOG_ENTRIES:
            self.too_long(f"more than {LOG_ENTRIES} entries of the log")
        self.entries.append(entry)

    async def waited(self, moments: int) -> None:
        """Waits as long as a tool takes; of tools that take equally long the first to begin ends first."""
        self.waiting += 1
        try:
            await asyncio.sleep((moments + self.waiting / 20) * MOMENT)
        finally:
            self.waiting -= 1

    def too_long(self, reason: str) -> None:
        self.abandoned = TooLong(reason)
        raise self.abandoned

    def at(self, by: str, op: str, path: list[Any], make: Callable[[], None]) -> None:
        """Does what may find nothing at its path; then that is noted, and raised."""
        try:
            make()
        except NowhereError:
            self.path_errors.append({"by": by, "op": op, "path": path})
            raise PathError(f"cannot {op} at {compact(path)}") from None

    def edit_all(self, by: str, root: Place, edits: list[Json]) -> None:
        for op in edits:
            self.at(by, op["op"], op["path"], lambda op=op: places.edit(root, op["op"], op))

    def add_hook(self, agent: Agent, on: str, ops: list[Json]) -> None:
        entries = iter(range(LOG_ENTRIES + 1))

        def callback(event: Any) -> None:
            self.log(f"hook:{on}")
            entry = next(entries)
            for op in ops:
                if applies(op, entry):
                    self.hook_op(on, op, event)

        agent.add_hook(callback, EVENTS[on])

    def hook_op(self, on: str, op: Json, event: Any) -> None:
        if op["op"] == "retry":
            event.retry = True
        elif op["op"] == "cancel":
            setattr(event, CANCEL_FIELDS.get(on, "cancel"), op.get("message", True))
        else:
            self.common_op(f"hook:{on}", op, event_root(on, event))

    def common_op(self, by: str, op: Json, root: Place) -> None:
        """The ops that are the same everywhere."""
        kind, state = op["op"], self.agent._model_state
        if kind == "throw":
            raise RuntimeError(op.get("message", "thrown"))
        if kind == "setModelState":
            state[op["key"]] = copy.deepcopy(op["value"])
        elif kind == "deleteModelState":
            state.pop(op["key"], None)
        elif kind == "observeModelState":
            self.observe(by, op, "modelState", copy.deepcopy(state))
        elif kind == "observeAgent":
            self.observe(by, op, "agent", places.MESSAGES.show(self.agent.messages))
        elif kind == "observe":
            self.observe(by, op, compact(op["path"]), places.look(self.target(op, root), op["path"]))
        elif kind == "setInvocationState":
            edit = {"path": ["invocationState", op["key"]], "value": op["value"]}
            self.at(by, kind, ["invocationState"], lambda: places.edit(root, "set", edit))
        elif kind in ACTIONS:
            self.at(by, kind, op["path"], lambda: places.edit(self.target(op, root), kind, op))
        else:
            raise TypeError(f"{kind} is no op of {by}")

    def observe(self, by: str, op: Json, what: str, value: Any) -> None:
        self.observations.append({"by": by, "what": op.get("as", what), "value": value})

    def target(self, op: Json, root: Place) -> Place:
        return self.agent_root() if op.get("on") == "agent" else root

    def agent_root(self) -> Place:
        return live(
            {
                "messages": constant(places.MESSAGES, self.agent.messages),
                "system": constant(places.SYSTEM, self.agent._system_prompt_content),
                "toolSpecs": constant(places.SPECS, self.own_specs()),
            }
        )

    def own_specs(self) -> list[Any]:
        registry = self.agent.tool_registry
        return [tool.tool_spec for tool in {**registry.registry, **registry.dynamic_tools}.values()]

    # --- middleware -----------------------------------------------------------------------------------------

    def add_middleware(self, agent: Agent, index: int, described: Json) -> None:
        phase = described.get("phase", "wrap")
        handler = Handler(index, described["stage"], phase, described.get("ops", []))
        stage = STAGES[handler.stage]
        if phase == "input":
            agent.add_middleware(stage.Input, lambda context: self.on_input(handler, context))
        elif phase == "output":
            agent.add_middleware(stage.Output, lambda result: self.on_output(handler, result))
        else:
            agent.add_middleware(stage, lambda context, next_fn: self.on_wrap(handler, context, next_fn))

    def enter(self, handler: Handler) -> Iterator[Json]:
        """Logs the entry, and gives the ops that apply at it."""
        self.log(f"{handler.by}:enter")
        entry = handler.entries
        handler.entries += 1
        return (op for op in handler.ops if applies(op, entry))

    def on_input(self, handler: Handler, context: Any) -> Any:
        for op in self.enter(handler):
            context = self.context_op(handler, op, context)
        self.log(f"{handler.by}:exit")
        return context

    def on_output(self, handler: Handler, result: Any) -> Any:
        held = Held(handler.stage, result.result)
        for op in self.enter(handler):
            self.result_op(handler, op, held)
        self.log(f"{handler.by}:exit")
        return RESULTS[handler.stage](result=held.event)

    def context_op(self, handler: Handler, op: Json, context: Any) -> Any:
        """Gives the context to go on with: the one given, or the copy that a `with` makes."""
        root = context_root(handler.stage, context)
        if op["op"] == "with":
            copied = copy.copy(context)
            root = context_root(handler.stage, copied)
            self.at(handler.by, "with", op["path"], lambda: places.edit(root, op["action"], op, copying=True))
            return copied
        if op["op"] == "identity":
            names = [field.name for field in fields_of(context) if not field.name.startswith("_")]
            # The model state is on no context of this SDK.
            state = {"modelState": {"mode": "absent"}} if handler.stage == "model" else {}
            fields = {**identity(self, root), **state}
            self.identities.append({"by": handler.by, "keys": names, "fields": fields})
        elif op["op"] == "setModelStateViaContext":
            self.at(handler.by, op["op"], ["modelState"], nowhere)
        else:
            self.common_op(handler.by, op, root)
        return context

    def result_op(self, handler: Handler, op: Json, held: Held) -> None:
        if op["op"] == "with":
            self.at(
                handler.by,
                "with",
                op["path"],
                lambda: places.edit(held.root(), op["action"], op, copying=True),
            )
        elif op["op"] == "identity":
            self.identities.append({"by": handler.by, "fields": identity(self, held.root())})
        else:
            self.common_op(handler.by, op, held.root())

    async def on_wrap(self, handler: Handler, context: Any, next_fn: Any) -> AsyncIterator[Any]:
        ops = self.enter(handler)
        entered = Entered(context)
        for op in ops:
            if op["op"] == "stop":
                break
            if op["op"] == "next":
                async for event in self.call_next(handler, op, entered, next_fn):
                    yield event
            else:
                self.wrap_op(handler, op, entered)
        if entered.nexts == 0 and entered.held is None:
            async for event in self.call_next(handler, {}, entered, next_fn):
                yield event
        if entered.held is None and entered.error is not None:
            raise entered.error
        self.log(f"{handler.by}:exit")
        if entered.held is not None:
            yield entered.held.event

    def wrap_op(self, handler: Handler, op: Json, entered: Entered) -> None:
        if op["op"] == "shortCircuit":
            entered.held = Held(handler.stage, self.short_circuit(handler.stage, op, entered.context))
        elif op.get("on") != "result":
            entered.context = self.context_op(handler, op, entered.context)
        elif entered.held is None:
            self.at(handler.by, op["op"], op.get("path", []), nowhere)
        else:
            self.result_op(handler, op, entered.held)

    async def call_next(
        self, handler: Handler, op: Json, entered: Entered, next_fn: Any
    ) -> AsyncIterator[Any]:
        self.log(f"{handler.by}:next#{entered.nexts}")
        entered.nexts += 1
        context = entered.original if op.get("ctx") == "original" else entered.context
        try:
            async for event in next_fn(context):
                if isinstance(event, STAGES[handler.stage].result_event):
                    entered.held = Held(handler.stage, event)
                elif op.get("events") != "drop":
                    yield event
        except Exception as error:
            if not op.get("catch"):
                raise
            self.log(f"{handler.by}:caught")
            entered.held, entered.error = None, error

    def short_circuit(self, stage: str, op: Json, context: Any) -> Any:
        if stage == "tool":
            result = {"status": op.get("status", "success"), "content": op.get("content", SHORT)}
            return ToolResultEvent(
                {"toolUseId": context.tool_use["toolUseId"], **places.TOOL_RESULT.make(result)}
            )
        blocks = op.get("blocks", SHORT)
        message = places.MESSAGE.make({"role": "assistant", "content": blocks})
        if stage == "model":
            stop_reason = op.get("stopReason", stop_reason_of(blocks))
            return ModelStopReason(
                places.STOP_REASON.make(stop_reason), message, dict(NO_USAGE), {"latencyMs": 0}
            )
        stop_reason = places.STOP_REASON.make(op.get("stopReason", "endTurn"))
        return EventLoopStopEvent(stop_reason, message, self.agent.event_loop_metrics, {})

    # --- the run --------------------------------------------------------------------------------------------

    async def trace(self) -> Json:
        """Invokes the agent with every input."""
        outcomes = [await self.invoke(given) for given in self.inputs]
        if self.abandoned:
            return {"driverError": f"TooLong: {self.abandoned}"}
        return {
            "calls": self.calls,
            "toolRuns": self.tool_runs,
            "log": self.entries,
            "observations": self.observations,
            "identity": self.identities,
            "results": [shown_outcome(outcome) for outcome in outcomes],
            "pathErrors": self.path_errors,
            **self.afterwards(outcomes),
        }

    async def invoke(self, given: Any) -> Any:
        try:
            return await self.agent.invoke_async(given, invocation_state=self.state)
        except Exception as error:  # noqa: BLE001 - what the run ends with is what is asked for
            return error

    def shown_of_caller(self) -> Json:
        return {
            "config.messages": places.MESSAGES.show(self.messages),
            "config.system": places.SYSTEM.show(self.system),
            "inputs": [places.INPUT.show(given) for given in self.inputs],
            "invocationState": places.STATE.show(self.state),
        }

    def afterwards(self, outcomes: list[Any]) -> Json:
        agent, now = self.agent, self.shown_of_caller()
        return {
            "agentMessages": places.MESSAGES.show(agent.messages),
            "system": places.SYSTEM.show(agent._system_prompt_content),
            "toolSpecs": places.SPECS.show(self.own_specs()),
            "modelState": agent._model_state,
            "invocationState": now["invocationState"],
            "caller": {
                "config": {"messages": now["config.messages"], "system": now["config.system"]},
                "inputs": now["inputs"],
                "changed": [name for name in now if compact(now[name]) != compact(self.before[name])],
            },
            "aliases": aliases(self, outcomes),
            "sdkInvocationKeys": sorted(filter(places.is_sdk_key, self.state or {})),
        }


def shown_outcome(outcome: Any) -> Json:
    if isinstance(outcome, Exception):
        return {"error": {"type": type(outcome).__name__, "message": str(outcome)}}
    shown = {
        "stopReason": places.STOP_REASON.show(outcome.stop_reason),
        "lastMessage": places.MESSAGE.show(outcome.message),
    }
    if outcome.structured_output is not None:
        shown["structuredOutput"] = outcome.structured_output.model_dump()
    return shown


def plain_system(shown: Any) -> Any:
    if isinstance(shown, list) and len(shown) == 1 and "text" in shown[0]:
        return shown[0]["text"]
    return shown


def nowhere() -> None:
    raise NowhereError


def applies(op: Json, entry: int) -> bool:
    when = op.get("when")
    return when is None or entry in (when if isinstance(when, list) else [when])


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
