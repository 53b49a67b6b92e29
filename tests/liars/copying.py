"""A loop that keeps its promise, hooks get copies, in all that a program does; or breaks it in one way.

`python -m liars.copying [FAULT]` is a driver. It is faithful to nobody: what it writes down has the fields of
the AI SDK's format, and its messages are its own.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from typing import Any, Final

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.ops import Ops, RefusedError
from agentcore.kit.ops import ThrownError
from agentcore.oracle.drivers.protocol import Implementation, answers

Json = dict[str, Any]

FAULTS: Final = {
    "caller": "the caller's list is the one that grows",
    "report": "a report has the messages of the chain, and is one list",
    "order": "results stand in the order in which tools finish",
    "shown": "a step hook is given the messages of the chain, in a list of its own",
    "returned": "what a step hook returned is the conversation from then on",
    "tools": "a tool is given the input of the call in the chain",
}


class _Objects:
    """Plain lists and dictionaries are what ops work on."""

    def new(self, value: Any) -> Any:
        return value

    def clone(self, live: Any) -> Any:
        return copy.deepcopy(live)

    def model(self, model_id: str) -> Any:
        return model_id

    def freeze(self, live: Any) -> None:
        """Python's lists and dictionaries cannot be frozen."""


class Loop:
    def __init__(self, program: Json, fault: str | None) -> None:
        self.program = copy.deepcopy(program)
        self.fault = fault
        self.caller = self.program["messages"]
        self.chain = self.caller if fault == "caller" else copy.deepcopy(self.caller)
        self.report: list[Json] = []
        self.steps: list[Json] = []
        self.records: list[Json] = []
        self.context = self.program.get("options", {}).get("experimental_context")
        self.ops = Ops(_Objects())
        self.ops.kept["caller"] = self.caller
        tools = self.program.get("tools", {})
        self.shared = {name: copy.deepcopy(tool.get("output")) for name, tool in tools.items()}

    def run(self) -> Json:
        error = None
        try:
            for number in range(self.program.get("maxSteps", 20)):
                if not self._step(number):
                    break
            self._hook("onFinish", {"steps": self._copied(self.records)})
        except (ThrownError, RefusedError) as failed:
            error = {"name": "Error", "message": str(failed)}
        final = None if error else {"messages": self._copied(self.report), "steps": self.records, "text": ""}
        return {
            "id": self.program["id"],
            "path": self.program["path"],
            "package": "copying",
            "steps": self.steps,
            "final": final,
            "caller": self.caller,
            "error": error,
            "opErrors": self.ops.errors,
        }

    def _copied(self, value: Any, *, live: bool = False) -> Any:
        return value if live else copy.deepcopy(value)

    def _hook(self, name: str, argument: Json) -> Any:
        entries = self.program.get("hooks", {}).get(name, [])
        index = len(self.steps) - 1
        return self.ops.run(entries[index], argument, name) if 0 <= index < len(entries) else None

    def _step(self, number: int) -> bool:
        shown = list(self.chain) if self.fault == "shown" else copy.deepcopy(self.chain)
        seen = {"stepNumber": number, "steps": number, "messages": copy.deepcopy(shown)}
        self.steps.append({"step": number, "prepareStep": seen, "tools": []})
        around = {
            "messages": shown,
            "steps": self._copied(self.records),
            "experimental_context": self.context,
        }
        returned = self._hook("prepareStep", around | {"stepNumber": number, "model": {}})
        prompt = copy.deepcopy(self.chain)
        if isinstance(returned, dict) and isinstance(returned.get("messages"), list):
            prompt = copy.deepcopy(returned["messages"])
            if self.fault == "returned":
                self.chain = copy.deepcopy(prompt)
        self._hook("onStepStart", around | {"messages": copy.deepcopy(self.chain)})
        self.steps[-1]["prompt"] = copy.deepcopy(prompt)
        self._hook("model", {"prompt": prompt, "providerOptions": {}, "toolChoice": {"type": "auto"}})
        script = self.program["script"]
        content = copy.deepcopy(script[number]) if number < len(script) else []
        calls = [part for part in content if part["type"] == "tool-call" and self._can_run(part)]
        results = [self._call(call) for call in calls]
        if self.fault == "order":
            results.sort(key=lambda result: self._tool(result).get("takes", 0))
        made = [{"role": "assistant", "content": content}]
        made += [{"role": "tool", "content": results}] if results else []
        self.chain += made
        self.report += made if self.fault == "report" else copy.deepcopy(made)
        self._finish(content + results)
        return bool(calls)

    def _finish(self, content: list[Json]) -> None:
        is_live = self.fault == "report"
        record = {"content": copy.deepcopy(content), "messages": self._copied(self.report, live=is_live)}
        self.records.append(record)
        self.steps[-1]["onStepFinish"] = copy.deepcopy(record)
        report = {"messages": self._copied(self.report, live=is_live)}
        self._hook("onStepFinish", {"content": copy.deepcopy(content), "response": report})
        self._hook("stopWhen", {"steps": copy.deepcopy(self.records)})

    def _tool(self, part: Json) -> Json:
        found: Json = self.program.get("tools", {}).get(part["toolName"], {})
        return found

    def _can_run(self, part: Json) -> bool:
        return (
            bool(self._tool(part))
            and not self._tool(part).get("noExecute")
            and not part.get("providerExecuted")
        )

    def _call(self, call: Json) -> Json:
        tool = self._tool(call)
        given = call["input"] if self.fault == "tools" else copy.deepcopy(call["input"])
        named = {"toolName": call["toolName"], "toolCallId": call["toolCallId"]}
        self.steps[-1]["tools"].append(copy.deepcopy({**named, "input": given, "messages": self.chain}))
        outputs = {
            "shared": self.shared[call["toolName"]],
            "input": given,
            "fresh": copy.deepcopy(tool.get("output")),
        }
        argument = {
            "input": given,
            "messages": copy.deepcopy(self.chain),
            "output": outputs[tool.get("returns", "fresh")],
            "experimental_context": self.context,
        }
        try:
            self.ops.run(tool.get("mutate"), argument, "tool")
            self._hook("execute", argument)
            if "error" in tool:
                self.ops.run([{"throw": tool["error"]}], argument, "tool")
        except (ThrownError, RefusedError) as failed:
            return {**named, "type": "tool-error", "error": {"name": "Error", "message": str(failed)}}
        return {**named, "type": "tool-result", "output": copy.deepcopy(argument.get("output"))}


def trace(program: Json, fault: str | None = None) -> Json:
    found: Json = json.loads(json.dumps(Loop(program, fault).run()))
    return found


def loop(fault: str | None = None) -> Callable[[Json], Json]:
    return lambda program: trace(program, fault)


def serve(fault: str | None = None) -> None:
    own = Implementation(name="copying", version="1", formats=("ai-sdk",))

    def answer(program: Json) -> Json:
        try:
            return {"trace": trace(FAMILY.parse(FAMILY.to_line(program)), fault)}
        except (TypeError, ValueError, RecursionError) as error:
            return {"unsupported": f"what is no JSON: {error}"}

    for said in answers(sys.stdin.buffer, own, answer):
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(*sys.argv[1:])
