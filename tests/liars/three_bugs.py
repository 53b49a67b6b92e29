"""A driver from the skeleton for a loop with three bugs: `three_bugs.py [BUG ...]`, without words all three.

`grows`: the caller's list has the run's messages in the end. `aliases`: a step's report is the list in which
the loop keeps its messages. `races`: results of tools are in the order in which they ended.
"""

from __future__ import annotations

import asyncio
import copy
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from agentcore.skeletons import driver as skeleton
from agentcore.skeletons.driver import MOMENT, Hooks, UnsupportedError, shown

Json = dict[str, Any]
BUGS = frozenset(sys.argv[1:] or ("grows", "aliases", "races"))
LACKING = (
    *("hook onStepStart", "hook stopWhen", "hook onFinish", "op return", "op throw", "op freeze"),
    *("tool error", "tool needsApproval", "tool noExecute", "call system text", "call system message"),
    *("call system list", "call frozen", "call activeTools", "call toolChoice", "history system"),
    *("history image", "history file", "history reasoning", "script source", "script provider-executed"),
    *("script absent tool", "script repeated id", "history nothing", "history invalid"),
)


async def run_agent(messages: list[Json], most: int, hooks: Recording) -> None:
    """The loop: the model, the tools that it calls, and round again."""
    response: list[Json] = []
    for number in range(most):
        prompt = [*messages, *response]
        hooks.prepare({"messages": prompt, "stepNumber": number})
        content = hooks.model(prompt)
        calls = [part for part in content if part["type"] == "tool-call"]
        ended: list[Json] = []

        async def one(call: Json, prompt: list[Json] = prompt, ended: list[Json] = ended) -> Json:
            result: Json = await hooks.tool(call, prompt)
            ended.append(result)
            return result

        in_order = await asyncio.gather(*map(one, calls))
        results = ended if "races" in BUGS else in_order
        said = [message_part(part) for part in content if part.get("text") != ""]
        made = [
            {"role": "assistant", "content": said},
            {"role": "tool", "content": [message_part(each) for each in results]},
        ]
        response += [message for message in made if message["content"]]
        report = response if "aliases" in BUGS else copy.deepcopy(response)
        hooks.finish({"content": [*content, *results], "response": {"messages": report}})
        if not calls:
            break
    if "grows" in BUGS:
        messages.extend(response)


def message_part(part: Json) -> Json:
    """A part of an answer, or a result, as a message has it."""
    made: Json = {name: part[name] for name in ("type", "text", "toolCallId", "toolName") if name in part}
    if "providerMetadata" in part:
        made["providerOptions"] = part["providerMetadata"]
    if part["type"] == "tool-call":
        made["input"] = part["input"]
    if part["type"] == "tool-result":
        kind = "text" if isinstance(part["output"], str) else "json"
        made["output"] = {"type": kind, "value": part["output"]}
    return made


class Recording:
    """A program on the loop, with what the loop hands out."""

    def __init__(self, program: Json) -> None:
        self.program = program
        self.hooks = Hooks(program["messages"])
        self.steps: list[Json] = []
        self.final: list[Json] = []

    def trace(self) -> Json:
        """Runs the program."""
        program = self.program
        try:
            most = program.get("maxSteps", 20)
            asyncio.run(run_agent(program["messages"], most, self))
        except (LookupError, TypeError, AttributeError, RuntimeError) as error:
            raise UnsupportedError(f"what the loop fails at: {type(error).__name__}") from None
        last = self.final[-1]["content"]
        reports = [{"content": one["content"], "messages": one["response"]["messages"]} for one in self.final]
        final = {
            "messages": reports[-1]["messages"],
            "steps": reports,
            "text": "".join(part["text"] for part in last if part["type"] == "text"),
            "finishReason": "tool-calls" if any(part["type"] == "tool-call" for part in last) else "stop",
        }
        trace = {"id": program["id"], "path": program["path"], "package": "three-bugs", "steps": self.steps}
        caller = {"caller": program["messages"], "error": None, "opErrors": self.hooks.errors}
        found: Json = shown({**trace, "final": final, **caller})
        return found

    def do(self, ops: list[Json] | None, argument: Json) -> None:
        """Does ops whose fields the loop has."""
        for op in ops or ():
            path = next(op[verb] for verb in ("set", "append", "clear", "delete", "keep") if verb in op)
            require(path[0] in argument or path[0].startswith("$"), f"hooks without {path[0]}")
            self.hooks.do([op], argument)

    def hook(self, name: str, argument: Json) -> None:
        """The hook's ops at this step."""
        by_step = self.program.get("hooks", {}).get(name, [])
        for ops in by_step[len(self.steps) - 1 : len(self.steps)]:
            self.do(ops, argument)

    def prepare(self, argument: Json) -> None:
        """Begins a step."""
        seen = shown({**argument, "steps": len(self.steps)})
        self.steps.append({"step": len(self.steps), "prepareStep": seen, "tools": []})
        self.hook("prepareStep", argument)

    def model(self, messages: list[Json]) -> list[Json]:
        """Answers as scripted."""
        prompt = [prompt_message(message) for message in messages]
        roles = [message["role"] for message in prompt]
        require(("tool", "tool") not in pairwise(roles), "two tool messages in a row")
        self.steps[-1] |= {"model": self.program.get("model", "model"), "prompt": shown(prompt)}
        self.hook("model", {"prompt": prompt})
        script: list[list[Json]] = self.program["script"]
        return script[len(self.steps) - 1] if len(self.steps) <= len(script) else []

    async def tool(self, call: Json, messages: list[Json]) -> Json:
        """Runs a call."""
        tool = self.program["tools"][call["toolName"]]
        named = {name: call[name] for name in ("toolName", "toolCallId", "input")}
        self.steps[-1]["tools"].append(shown({**named, "messages": messages}))
        outputs: dict[str, Callable[[], Any]] = {
            "fresh": lambda: copy.deepcopy(tool["output"]),
            "shared": lambda: tool["output"],
            "input": lambda: call["input"],
        }
        output = outputs[tool.get("returns", "fresh")]()
        argument = {"input": call["input"], "output": output, "messages": messages}
        self.do(tool.get("mutate"), argument)
        self.hook("execute", argument)
        await asyncio.sleep(tool.get("takes", 0) * MOMENT)
        return {**call, "type": "tool-result", "output": argument["output"], "dynamic": False}

    def finish(self, argument: Json) -> None:
        """Ends a step."""
        self.final.append(argument)
        report = {"messages": argument["response"]["messages"], "content": argument["content"]}
        self.steps[-1]["onStepFinish"] = shown(report)
        self.hook("onStepFinish", argument)


def prompt_message(message: Json) -> Json:
    """What the model is given of a message: a new message and new parts."""
    parts = message["content"]
    if isinstance(parts, str):
        parts = [{"type": "text", "text": parts}]
    require(message["role"] in ("user", "assistant", "tool") and parts, "this role, or no content")
    for part in parts:
        require(part["type"] in ("text", "reasoning", "tool-call", "tool-result"), "this kind of part")
        require(
            part.get("text") != "" and part.get("output", {}).get("type") != "content", "empty texts, media"
        )
    return {**message, "content": [{**part} for part in parts]}


def require(holds: object, what: str) -> None:
    """Raises UnsupportedError unless it holds."""
    if not holds:
        raise UnsupportedError(f"the loop does not have {what}")


if __name__ == "__main__":
    skeleton.IMPLEMENTATION = {"name": "three-bugs", "version": "1.0.0"}
    skeleton.UNSUPPORTED = [*LACKING]
    skeleton.run = lambda program: Recording(program).trace()
    skeleton.main()
