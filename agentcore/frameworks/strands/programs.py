"""Random programs of the middleware format: all stages, hooks, ops and blocks, most running to their end.

What a program looks like when minimal: an id, and a script of one call that answers with one text. Every
choice is arranged so that the simplest one leads there, which is what makes shrunk examples readable. The
schema does not drive it: an edit has to be aimed at what a handler will be given (`Plan`), of which the
schema knows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Self, TypeAlias

import attrs

from agentcore.frameworks.strands.writes import STOP_REASONS, Edges, Maker
from agentcore.kit.choices import Choices, Weights, slow_down

__all__ = ["Handlers", "Plan", "Traits", "random_program"]

Json: TypeAlias = dict[str, Any]

_STAGES: Final = ("model", "model", "model", "tool", "tool", "stream")
_PHASES: Final = ("wrap", "wrap", "wrap", "input", "input", "output")
_EVERY_HOOK: Final = (
    *("beforeTool", "beforeModel", "afterModel", "afterTool", "messageAdded", "beforeInvocation"),
    *("afterInvocation", "beforeTools", "afterTools"),
)
_STREAMED: Final = ("modelDelta", "contentBlock")
_REPLACED: Final = {"beforeTool": ("toolUse",), "afterTool": ("toolResult",)}
_STATE_KEYS: Final = ("h", "a", "t")
_CONTEXT_OPS: Final = Weights({"edit": 62, "identity": 8, "invocation state": 8, "model state": 4, "any": 18})
_RESULT_OPS: Final = Weights({"edit": 70, "identity": 8, "any": 22})
_BEFORE_OPS: Final = Weights({"cancel": 8, "invocation state": 17, "edit": 47, "any": 28})
_AFTER_OPS: Final = Weights({"retry": 15, "invocation state": 10, "edit": 47, "any": 28})
_OTHER_HOOK_OPS: Final = Weights({"invocation state": 25, "edit": 47, "any": 28})
_HOOK_OPS: Final = {
    **dict.fromkeys(("beforeInvocation", "beforeModel", "beforeTools", "beforeTool"), _BEFORE_OPS),
    **dict.fromkeys(("afterModel", "afterTool"), _AFTER_OPS),
}
_COMMON_OPS: Final = Weights(
    {
        "model state": 28,
        "observe model state": 12,
        "observe agent": 10,
        "observe": 20,
        "edit agent": 22,
        "throw": 3,
        "observe agent by name": 5,
    }
)
_FORCED: Final = {"tool": {"name": "strands_structured_output"}}


@attrs.frozen(kw_only=True)
class Plan:
    """An estimate of what a run passes to its handlers: an example for every expected entry."""

    typescript: bool
    models: list[Json]
    said: list[Json]
    tools: list[Json]
    results: list[Json]
    streams: list[Json]
    agent: Json

    @classmethod
    def of(cls, program: Json, *, typescript: bool) -> Self:
        """The plan of a program that has no handlers yet."""
        inputs = program.get("inputs", [program.get("input", "go")])
        state = {"invocationState": program.get("invocationState", {})}
        agent: Json = {
            "messages": program.get("messages", []),
            **(
                {"system": _blocks(program["system"], typescript=typescript)} if program.get("system") else {}
            ),
            **({"toolSpecs": _specs(program)} if "tools" in program else {}),
        }
        said: list[Json] = [
            {"message": _assistant(entry), "stopReason": "endTurn"} for entry in program["script"]
        ]
        uses = [
            block["toolUse"] for entry in said for block in entry["message"]["content"] if "toolUse" in block
        ]
        own = [use for use in uses if use["name"] in program.get("tools", {})]
        messages = [*agent["messages"], *_messages(inputs[0])]
        forced = {"toolChoice": _FORCED} if program.get("structuredOutput") else {}
        return cls(
            typescript=typescript,
            models=[{**agent, **({"messages": messages} if messages else {}), **forced, **state}],
            said=said,
            tools=[{"toolUse": use, **state} for use in own],
            results=[{"toolResult": _result(program, use)} for use in own],
            streams=[_stream(program, given, state, typescript=typescript) for given in inputs],
            agent={name: value for name, value in agent.items() if value and isinstance(value, list)},
        )


def _blocks(system: Any, *, typescript: bool) -> Any:
    return [{"text": system}] if isinstance(system, str) and not typescript else system


def _specs(program: Json) -> list[Json]:
    return [
        {"name": name, "description": "", "inputSchema": {"type": "object", "properties": {}}}
        for name in program["tools"]
    ]


def _assistant(entry: Any) -> Json:
    return {"role": "assistant", "content": entry.get("blocks", []) if isinstance(entry, dict) else entry}


def _messages(given: Any) -> list[Json]:
    if isinstance(given, str):
        return [{"role": "user", "content": [{"text": given}]}]
    return given if not given or "role" in given[0] else [{"role": "user", "content": given}]


def _result(program: Json, use: Json) -> Json:
    output = program["tools"][use["name"]].get("output")
    content = output["content"] if isinstance(output, dict) and "content" in output else [{"text": ""}]
    return {"toolUseId": use["toolUseId"], "status": "success", "content": content}


def _stream(program: Json, given: Any, state: Json, *, typescript: bool) -> Json:
    if not typescript:
        return {"args": _messages(given), **state}
    options = {"options": program["options"]} if "options" in program else {}
    return {"args": given, **options, **state}


class Handlers:
    """Makes the middleware and the hooks of a program."""

    def __init__(self, make: Maker, plan: Plan, *, state_on_context: bool) -> None:
        self.make = make
        self.choices = make.choices
        self.plan = plan
        self.state_on_context = state_on_context

    def registered(self) -> Json:
        """The fields `middleware` and `hooks`, where there are any."""
        choices = self.choices
        middleware = [self._handler() for _ in range(choices.sample((0, 1, 1, 1, 2, 2, 3, 4)))]
        hooks = [self._hook() for _ in range(choices.sample((0, 0, 0, 1, 1, 2, 3)))]
        return {name: made for name, made in (("middleware", middleware), ("hooks", hooks)) if made}

    # --- middleware -----------------------------------------------------------------------------------------

    def _handler(self) -> Json:
        choices = self.choices
        stage, phase = choices.sample(_STAGES), choices.sample(_PHASES)
        named = {"stage": stage, **({} if phase == "wrap" else {"phase": phase})}
        if phase == "output":
            return {**named, "ops": [self._result_op(stage) for _ in range(self._count())]}
        if phase == "input":
            return {**named, "ops": [self._context_op(stage) for _ in range(self._count())]}
        return {**named, "ops": [*self._wrapped(stage)]}

    def _count(self) -> int:
        return self.choices.sample((1, 1, 2, 2, 3))

    def _wrapped(self, stage: str) -> Iterator[Json]:
        """The ops of a wrap handler: some before `next` and after it, seldom a result of its own."""
        choices = self.choices
        yield from (self._context_op(stage) for _ in range(choices.sample((0, 1, 1, 2))))
        if choices.chance(10):
            yield self._timed(self._short_circuit(stage), 60)
        if choices.chance(40):
            return
        yield self._next()
        if choices.chance(15):
            yield self._context_op(stage)
            yield self._timed(self._next(), 60)
        if choices.chance(3):
            yield {"op": "stop", **self._at_entry()}
        yield from (self._result_op(stage, on=True) for _ in range(choices.sample((0, 0, 1, 1, 2))))

    def _next(self) -> Json:
        choices = self.choices
        op: Json = {"op": "next"}
        if choices.chance(15):
            op["ctx"] = "original"
        if choices.chance(12):
            op["catch"] = True
        if choices.chance(10):
            op["events"] = "drop"
        return op

    def _short_circuit(self, stage: str) -> Json:
        choices, make = self.choices, self.make
        if stage == "tool":
            status = {"status": "error"} if choices.chance(25) else {}
            return {"op": "shortCircuit", **status, "content": make.result_blocks()}
        return {"op": "shortCircuit", "blocks": [make.text()]}

    def _context_op(self, stage: str) -> Json:
        kind = _CONTEXT_OPS.draw(self.choices)
        if kind == "edit":
            return self._context_edit(stage)
        if kind == "identity":
            return self._timed({"op": "identity"}, 20)
        if kind == "invocation state":
            return self._timed(self._set_state(), 25)
        if kind == "model state" and self.state_on_context and stage == "model":
            return {"op": "setModelStateViaContext", "key": "m", "value": self.make.mark()}
        return self._common(self._examples(stage)[1])

    def _context_edit(self, stage: str) -> Json:
        entry, example = self._examples(stage)
        edit = self.make.edit(example)
        op = _with(edit) if self.choices.chance(35) else _in_place(edit)
        return op if entry is None else {**op, "when": entry}

    def _examples(self, stage: str) -> tuple[int | None, Json]:
        """An entry that is foreseen, where it matters which, and what is expected to be given there."""
        choices, plan = self.choices, self.plan
        if stage == "model":
            return (choices.integer(0, 2) if choices.chance(35) else None), plan.models[0]
        known = plan.tools if stage == "tool" else plan.streams
        if not known:
            return None, {"invocationState": {}}
        index = choices.integer(0, len(known) - 1)
        return (index if len(known) > 1 else None), known[index]

    def _result_op(self, stage: str, *, on: bool = False) -> Json:
        choices = self.choices
        where = {"on": "result"} if on else {}
        kind = _RESULT_OPS.draw(choices)
        if kind == "edit":
            known = {"model": self.plan.said, "tool": self.plan.results, "stream": self._last()}[stage]
            if known:
                index = choices.integer(0, len(known) - 1)
                edit = self.make.edit(known[index])
                op = _with(edit) if choices.chance(35) else _in_place(edit)
                return {**op, **where, **({"when": index} if len(known) > 1 else {})}
        if kind in {"edit", "identity"}:
            return {"op": "identity", **where}
        return self._common({})

    def _last(self) -> list[Json]:
        said = self.plan.said[-1]
        return [{"lastMessage": said["message"], "stopReason": said["stopReason"]}] * len(self.plan.streams)

    # --- hooks ----------------------------------------------------------------------------------------------

    def _hook(self) -> Json:
        choices = self.choices
        names = (*_EVERY_HOOK, *_STREAMED) if self.plan.typescript else _EVERY_HOOK
        on = choices.sample(names)
        return {"on": on, "ops": [self._hook_op(on) for _ in range(self._count())]}

    def _hook_op(self, on: str) -> Json:
        choices = self.choices
        kind = _HOOK_OPS.get(on, _OTHER_HOOK_OPS).draw(choices)
        if kind == "retry":
            return {"op": "retry", "when": choices.integer(0, 1)}
        if kind == "cancel":
            said = {"message": self.make.mark()} if choices.chance(60) else {}
            return {"op": "cancel", **said, **self._at_entry()}
        if kind == "invocation state" and (on != "messageAdded" or self.plan.typescript):
            return self._timed(self._set_state(), 40)
        entry, example = self._event(on)
        if kind != "any" and example:
            op = _in_place(self.make.edit(example, whole=_REPLACED.get(on, ())))
            return op if entry is None else {**op, "when": entry}
        return self._common(example)

    def _event(self, on: str) -> tuple[int | None, Json]:
        """Estimates what a hook's event holds, and at which entry."""
        choices, plan = self.choices, self.plan
        state: Json = {"invocationState": plan.streams[0]["invocationState"]}
        if on in {"beforeTool", "afterTool"} and plan.tools:
            index = choices.integer(0, len(plan.tools) - 1)
            known = plan.tools[index] if on == "beforeTool" else {**plan.results[index], **state}
            return (index if len(plan.tools) > 1 else None), known
        if on in {"afterModel", "beforeTools"}:
            index = choices.integer(0, len(plan.said) - 1)
            return (index if on == "afterModel" else None), {"message": plan.said[index]["message"], **state}
        if on == "messageAdded":
            return 0, {"message": _messages("go")[0], **(state if plan.typescript else {})}
        if on == "contentBlock":
            spoken = [block for said in plan.said for block in said["message"]["content"]]
            return 0, ({"block": spoken[0], **state} if spoken else state)
        return None, state

    # --- ops that are alike everywhere ----------------------------------------------------------------------

    def _common(self, example: Json) -> Json:
        make = self.make
        kind = _COMMON_OPS.draw(self.choices)
        if kind == "observe" and not example:
            kind = "edit agent"
        if kind == "edit agent" and not self.plan.agent:
            kind = "throw"
        match kind:
            case "model state":
                return self._timed(self._model_state_op(), 40)
            case "observe model state":
                return self._timed({"op": "observeModelState"}, 20)
            case "observe agent":
                return self._timed({"op": "observeAgent"}, 20)
            case "observe":
                return {"op": "observe", "path": make.edit(example)["path"]}
            case "edit agent":
                return {**self._timed(_in_place(make.edit(self.plan.agent, whole=())), 40), "on": "agent"}
            case "throw":
                return {"op": "throw", "message": make.mark(), **self._at_entry()}
        return {"op": "observeAgent", "as": make.mark()}

    def _model_state_op(self) -> Json:
        choices = self.choices
        key = choices.sample(("m", "r", "w"))
        if choices.chance(20):
            return {"op": "deleteModelState", "key": key}
        return {
            "op": "setModelState",
            "key": key,
            "value": choices.sample((self.make.mark(), self.make.payload())),
        }

    def _set_state(self) -> Json:
        return {
            "op": "setInvocationState",
            "key": self.choices.sample(_STATE_KEYS),
            "value": self.make.leaf(),
        }

    def _timed(self, op: Json, percent: float) -> Json:
        """The op, in so many of a hundred cases at some entries only."""
        return {**op, **self._at_entry()} if self.choices.chance(percent) else op

    def _at_entry(self) -> Json:
        choices = self.choices
        return {"when": choices.sample((0, 0, 1, 1, 2, [0, 1], [1, 2]))}


def _in_place(edit: Json) -> Json:
    return {"op": edit["action"], **{key: value for key, value in edit.items() if key != "action"}}


def _with(edit: Json) -> Json:
    return {"op": "with", **edit}


_TOOLS: Final = ("look", "save")
_STRUCTURED: Final = "strands_structured_output"
_INPUTS: Final = Weights({"text": 45, "messages": 30, "blocks": 22, "nothing": 3})
_OUTPUTS: Final = Weights({"text": 40, "object": 20, "blocks": 30, "other JSON": 10})


@attrs.frozen(kw_only=True)
class Traits:
    """The parts of the format that a profile has and others lack.

    `typescript`: message objects and plain data, options, hooks during streaming. `state_on_context`: the
    model state is a field of the model stage's context.
    """

    typescript: bool
    state_on_context: bool = False


def random_program(choices: Choices, program_id: str, traits: Traits) -> Json:
    """A program with nothing in it that the profile of these traits lacks."""
    return _Generator(choices, traits).program(program_id)


class _Generator:
    def __init__(self, choices: Choices, traits: Traits) -> None:
        self.choices = choices
        self.traits = traits
        self.make = Maker(choices)
        self.uses = 0

    def program(self, program_id: str) -> Json:
        choices, make = self.choices, self.make
        program: Json = {"id": program_id}
        if choices.chance(55):
            program["system"] = self.system()
        if choices.chance(60):
            program["messages"] = self.history()
        program.update(self.turn_input())
        if self.traits.typescript:
            program.update({form: "data" for form in ("messagesForm", "inputForm") if choices.chance(25)})
        structured = choices.chance(9)
        program["script"] = self.script(len(program.get("inputs", [None])), structured=structured)
        if self.uses or choices.chance(10):
            program["tools"] = {name: self.tool() for name in _TOOLS}
        if choices.chance(50):
            program["invocationState"] = make.payload()
        if self.traits.typescript and choices.chance(20):
            program["options"] = {"note": make.payload()}
        if choices.chance(30):
            program["modelState"] = {
                "m": make.mark(),
                **({"n": make.payload()} if choices.chance(40) else {}),
            }
        if choices.chance(20):
            program["executor"] = "concurrent"
        if structured:
            program["structuredOutput"] = True
        plan = Plan.of(program, typescript=self.traits.typescript)
        handlers = Handlers(make, plan, state_on_context=self.traits.state_on_context)
        program.update(handlers.registered())
        self.slow_down(program)
        return program

    def slow_down(self, program: Json) -> None:
        """Has tools take moments, which shows where they run at once; and puts odd values in."""
        if "tools" in program and self.choices.chance(50 if "executor" in program else 5):
            slow_down(program["tools"], self.choices)
        edges = Edges(self.choices, self.make)
        if self.choices.chance(10):
            edges.put(program)
        if self.choices.chance(6):
            edges.finish(program, typescript=self.traits.typescript)

    # --- what the agent is made with and asked --------------------------------------------------------------

    def system(self) -> Any:
        choices, make = self.choices, self.make
        if choices.chance(40):
            return make.mark()
        return [make.system_block() for _ in range(choices.sample((1, 2, 2, 3, 0)))]

    def history(self) -> list[Json]:
        choices = self.choices
        messages: list[Json] = []
        for _ in range(choices.sample((1, 1, 1, 2, 2, 3))):
            messages += [self.user(), *self.answer_messages()]
        if choices.chance(6):
            return [*messages, self.user()]
        if choices.chance(4):
            return [*messages, {"role": "assistant", "content": [self.tool_use()]}]
        return messages

    def user(self) -> Json:
        choices, make = self.choices, self.make
        content = [make.text()]
        if choices.chance(20):
            content.append({"cachePoint": {"type": "default"}})
        if choices.chance(8):
            content.append(make.guarded())
        return {"role": "user", "content": content, **make.metadata(12)}

    def answer_messages(self) -> list[Json]:
        """Returns an assistant message of the history; if it uses tools, with the results and an answer."""
        choices, make = self.choices, self.make
        content = [make.reasoning()] if choices.chance(20) else []
        if not choices.chance(40):
            return [{"role": "assistant", "content": [*content, make.text()], **make.metadata(15)}]
        uses = [self.tool_use() for _ in range(choices.sample((1, 1, 2)))]
        results = [{"toolResult": make.tool_result(use["toolUse"]["toolUseId"])} for use in uses]
        return [
            {"role": "assistant", "content": [*content, *uses], **make.metadata(15)},
            {"role": "user", "content": results},
            {"role": "assistant", "content": [make.text()]},
        ]

    def tool_use(self, name: str | None = None) -> Json:
        choices = self.choices
        if self.uses == 0 or not choices.chance(1):
            self.uses += 1
        named = name or ("absent" if choices.chance(2) else choices.sample(_TOOLS))
        return {"toolUse": {"name": named, "toolUseId": f"u{self.uses}", "input": self.make.payload()}}

    def turn_input(self) -> Json:
        choices = self.choices
        if choices.chance(25):
            return {"inputs": [self.input() for _ in range(choices.sample((2, 2, 3)))]}
        return {"input": self.input()} if choices.chance(50) else {}

    def input(self) -> Any:
        choices, make = self.choices, self.make
        match _INPUTS.draw(choices):
            case "text":
                return make.mark()
            case "messages":
                messages = [self.user()]
                return [*messages, *self.answer_messages(), self.user()] if choices.chance(20) else messages
            case "blocks":
                return [make.text(), *([make.guarded()] if choices.chance(30) else [])]
        return []

    # --- the model and the tools ----------------------------------------------------------------------------

    def script(self, invocations: int, *, structured: bool) -> list[Any]:
        choices = self.choices
        script: list[Any] = []
        for _ in range(invocations):
            script += [self.calling() for _ in range(choices.sample((0, 1, 1, 2, 2, 3)))]
            if structured:
                script += [] if choices.chance(50) else [self.answering()]
                script.append([self.structured()])
            else:
                script.append(self.answering())
        return script

    def structured(self) -> Json:
        use = self.tool_use(_STRUCTURED)
        use["toolUse"]["input"] = {"name": self.make.mark()}
        return use

    def calling(self) -> Any:
        choices, make = self.choices, self.make
        blocks = [make.reasoning()] if choices.chance(12) else []
        if choices.chance(25):
            blocks.append(self.text_block())
        blocks += [self.tool_use() for _ in range(choices.sample((1, 1, 1, 2, 3)))]
        return self.entry(blocks)

    def answering(self) -> Any:
        choices, make = self.choices, self.make
        blocks = [make.reasoning()] if choices.chance(12) else []
        return self.entry([*blocks, *([] if choices.chance(2) else [self.text_block()])])

    def text_block(self) -> Json:
        """Returns a text, seldom one that says nothing."""
        choices = self.choices
        return {"text": choices.sample(("", " "))} if choices.chance(2) else self.make.text()

    def entry(self, blocks: list[Json]) -> Any:
        """Draws the model's script for a call: blocks, and at times an error, a state or a stop reason."""
        choices, make = self.choices, self.make
        more: Json = {}
        if choices.chance(3):
            more["stopReason"] = "maxTokens" if choices.chance(15) else choices.sample(STOP_REASONS)
        if choices.chance(22):
            more["modelState"] = {choices.sample(("m", "r")): choices.sample((make.mark(), make.payload()))}
        if choices.chance(6):
            more["modelStateDelete"] = [choices.sample(("m", "r"))]
        if choices.chance(6):
            more["mutate"] = [self.provider_edit()]
        if choices.chance(3):
            more[choices.sample(("throw", "throwAfter"))] = make.mark()
        return {"blocks": blocks, **more} if more else blocks

    def provider_edit(self) -> Json:
        choices, make = self.choices, self.make
        return choices.sample(
            (
                {"op": "append", "path": ["messages"], "value": make.message()},
                {"op": "append", "path": ["messages", 0, "content"], "value": make.text()},
                {"op": "set", "path": ["messages", -1, "content", 0], "value": make.text()},
                {"op": "append", "path": ["toolSpecs"], "value": make.spec()},
            )
        )

    def tool(self) -> Json:
        choices, make = self.choices, self.make
        tool: Json = {"output": self.output()}
        if choices.chance(20):
            tool["outputs"] = [self.output(), self.output()]
        if choices.chance(25):
            tool["description"] = make.mark()
        if choices.chance(25):
            properties = {"a": {"type": "string", "description": make.mark()}}
            tool["inputSchema"] = {"type": "object", "properties": properties}
        if choices.chance(25):
            tool["setInvocationState"] = {choices.sample(("t", "a")): make.leaf()}
        if choices.chance(15):
            path = choices.sample((["input", "a"], ["input", "new"], ["input", "made", "inside"]))
            tool["mutateInput"] = [{"op": "set", "path": path, "value": make.leaf()}]
        if choices.chance(4):
            tool["throw"] = make.mark()
        return tool

    def output(self) -> Any:
        choices, make = self.choices, self.make
        match _OUTPUTS.draw(choices):
            case "text":
                return make.mark()
            case "object":
                return make.payload()
            case "blocks":
                status = {"status": "error"} if choices.chance(25) else {}
                return {**status, "content": make.result_blocks()}
        return choices.sample((None, 7, [make.mark()], True))
