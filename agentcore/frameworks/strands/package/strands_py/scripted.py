"""The model and the tools of a program, as the SDK wants them."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import places
from strands.models.model import Model
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

from live import constant, live

if TYPE_CHECKING:
    from run import Run

Json = dict[str, Any]


class ScriptedModel(Model):
    """Says what the program says, and records what it is given."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.config = {"model_id": "scripted"}

    def update_config(self, **model_config: Any) -> None:
        del model_config

    def get_config(self) -> Any:
        return self.config

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        raise TypeError("the agent asks for structured output by a tool")

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        del args, kwargs
        return 0

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **kwargs: Any
    ) -> Any:
        del system_prompt
        given = {
            "messages": constant(places.MESSAGES, messages),
            "system": constant(places.SYSTEM, kwargs.get("system_prompt_content")),
            "toolSpecs": constant(places.SPECS, tool_specs or []),
            "toolChoice": constant(places.DICTIONARY, kwargs.get("tool_choice") or places.MISSING),
        }
        for event in self._run.answer(given, kwargs["model_state"]):
            yield event


def spoken(blocks: list[Json], stop_reason: str) -> Any:
    yield {"messageStart": {"role": "assistant"}}
    for block in blocks:
        yield from spoken_block(block)
    yield {"messageStop": {"stopReason": places.STOP_REASON.make(stop_reason)}}


def spoken_block(block: Json) -> Any:
    use, reasoning = block.get("toolUse"), block.get("reasoning")
    start = {"toolUse": {"name": use["name"], "toolUseId": use["toolUseId"]}} if use else {}
    yield {"contentBlockStart": {"start": start}}
    if "text" in block:
        yield {"contentBlockDelta": {"delta": {"text": block["text"]}}}
    if use:
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(use["input"])}}}}
    for part in ("text", "signature"):
        if reasoning and part in reasoning:
            yield {"contentBlockDelta": {"delta": {"reasoningContent": {part: reasoning[part]}}}}
    yield {"contentBlockStop": {}}


class ProgramTool(AgentTool):
    """A tool of the program."""

    def __init__(self, run: Run, name: str, tool: Json) -> None:
        super().__init__()
        self._run, self._name, self._tool = run, name, tool
        self._runs = 0
        schema = copy.deepcopy(tool.get("inputSchema", {"type": "object", "properties": {}}))
        description = tool.get("description", f"tool {name}")
        self._spec = {"name": name, "description": description, "inputSchema": {"json": schema}}

    @property
    def tool_name(self) -> str:
        return self._name

    @property
    def tool_spec(self) -> Any:
        return self._spec

    @property
    def tool_type(self) -> str:
        return "program"

    async def stream(self, tool_use: Any, invocation_state: Any, **kwargs: Any) -> Any:
        del kwargs
        run, tool = self._run, self._tool
        run.log(f"tool:{self._name}")
        run.tool_runs.append(
            {
                "name": self._name,
                "toolUseId": tool_use["toolUseId"],
                "input": places.JSON.show(tool_use["input"]),
                "invocationState": places.STATE.show(invocation_state),
            }
        )
        outputs = tool.get("outputs", [tool.get("output")])
        output = outputs[min(self._runs, len(outputs) - 1)]
        self._runs += 1
        invocation_state.update(copy.deepcopy(tool.get("setInvocationState", {})))
        root = live({"input": constant(places.JSON, tool_use["input"])})
        try:
            run.edit_all(f"tool:{self._name}", root, tool.get("mutateInput", []))
            if "throw" in tool:
                raise RuntimeError(tool["throw"])
        finally:
            if tool.get("takes"):
                await run.waited(tool["takes"])
        yield ToolResultEvent({"toolUseId": tool_use["toolUseId"], **copy.deepcopy(result_of(output))})


def result_of(output: Any) -> Json:
    if isinstance(output, str):
        return {"status": "success", "content": [{"text": output}]}
    if isinstance(output, dict) and isinstance(output.get("content"), list):
        return {"status": output.get("status", "success"), "content": output["content"]}
    return {"status": "success", "content": [{"json": output}]}


def stop_reason_of(blocks: list[Json]) -> str:
    return "toolUse" if any("toolUse" in block for block in blocks) else "endTurn"
