"""Random programs of the middleware format: all stages, hooks, ops and blocks, most running to their end.

What a program looks like when minimal: an id, and a script of one call that answers with one text. Every
choice is arranged so that the simplest one leads there, which is what makes shrunk examples readable. The
schema does not drive it: an edit has to be aimed at what a handler will be given (`Plan`), of which the
schema knows nothing.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import attrs

from agentcore.frameworks.strands.handlers import Handlers, Plan
from agentcore.frameworks.strands.writes import STOP_REASONS, Edges, Maker
from agentcore.kit.choices import Choices, Weights, slow_down

__all__ = ["Traits", "random_program"]

Json: TypeAlias = dict[str, Any]
_TOOLS: Final = ("look", "save")
_STRUCTURED: Final = "strands_structured_output"
_INPUTS: Final = Weights({"text": 45, "messages": 30, "blocks": 22, "nothing": 3})
_OUTPUTS: Final = Weights({"text": 40, "object": 20, "blocks": 30, "other JSON": 10})


@attrs.frozen(kw_only=True)
class Traits:
    """What a profile has of the format that others lack.

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
        program.update(self.asked())
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
        if self.choices.chance(10):
            Edges(self.choices, self.make).put(program)

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
            messages += [self.user(), *self.answered()]
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

    def answered(self) -> list[Json]:
        """An assistant message of the history; where it uses tools, with the results and an answer."""
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

    def asked(self) -> Json:
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
                return [*messages, *self.answered(), self.user()] if choices.chance(20) else messages
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
            blocks.append(self.said())
        blocks += [self.tool_use() for _ in range(choices.sample((1, 1, 1, 2, 3)))]
        return self.entry(blocks)

    def answering(self) -> Any:
        choices, make = self.choices, self.make
        blocks = [make.reasoning()] if choices.chance(12) else []
        return self.entry([*blocks, *([] if choices.chance(2) else [self.said()])])

    def said(self) -> Json:
        """A text, seldom one that says nothing."""
        choices = self.choices
        return {"text": choices.sample(("", " "))} if choices.chance(2) else self.make.text()

    def entry(self, blocks: list[Json]) -> Any:
        """What the model does at a call: just blocks, or more."""
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
