"""Hooks of many kinds for the OpenAI Agents SDK; a comment before each says where it runs and what is expected."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import logging
import random
import time
import uuid
from typing import Any

from agents import AgentHooks, GuardrailFunctionOutput, RunHooks, input_guardrail
from agents.run import ModelInputData

_log = logging.getLogger(__name__)


# call_model_input_filter: write data.model_data.input[*].output[*].text
def masks_outputs(data: Any) -> Any:
    for item in data.model_data.input:
        if item.get("type") == "function_call_output" and isinstance(item["output"], list):
            item["output"][0]["text"] = "***"
    return data.model_data


# call_model_input_filter: harmless-write data.model_data.input
async def deletes_old_items(data: Any) -> Any:
    if len(data.model_data.input) > 5:
        del data.model_data.input[1:2]
    return data.model_data


# call_model_input_filter: harmless-write data.model_data.input[*].content
def replaces_user_content(data: Any) -> Any:
    for item in data.model_data.input:
        if item.get("role") == "user":
            item["content"] = "redacted request"
    return ModelInputData(input=data.model_data.input, instructions=data.model_data.instructions)


# call_model_input_filter: clean
def trims_to_new_list(data: Any) -> Any:
    return dataclasses.replace(data.model_data, input=[*data.model_data.input])


# call_model_input_filter: clean
async def adds_instructions(data: Any) -> Any:
    return ModelInputData(
        input=data.model_data.input, instructions=f"{data.model_data.instructions} Be brief."
    )


# call_model_input_filter: clean
class _Filter:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Any) -> Any:
        self.calls += 1
        _log.info("%s %s", self.calls, uuid.uuid4())
        return data.model_data


# call_model_input_filter: clean
def memoises(data: Any) -> Any:
    made = []
    for item in data.model_data.input:
        key = json.dumps(item, default=str)
        made.append(_memo.setdefault(key, copy.deepcopy(item)))
    return ModelInputData(input=made, instructions=data.model_data.instructions)


_memo: dict[str, Any] = {}


# call_model_input_filter: write
def edits_what_it_kept(data: Any) -> Any:
    for part in _kept:
        part["text"] = "kept"
    for item in data.model_data.input:
        if item.get("type") == "function_call_output" and isinstance(item["output"], list):
            _kept.append(item["output"][0])
    return data.model_data


_kept: list[Any] = []


# session_input_callback: harmless-write
def edits_history(history: Any, new: Any) -> Any:
    for item in history:
        if item.get("role") == "user":
            item["content"] = "older"
    return history + new


# session_input_callback: harmless-write
async def extends_history(history: Any, new: Any) -> Any:
    history.extend(new)
    return history


# session_input_callback: clean
def keeps_last_ten(history: Any, new: Any) -> Any:
    return history[:] + new


# session_input_callback: clean
async def logs_session(history: Any, new: Any) -> Any:
    _log.info("%s", len(history))
    return [*history, *new]


# session_input_callback: clean
def copies_deeply(history: Any, new: Any) -> Any:
    return [*copy.deepcopy(history), *new]


# on_llm_start: write input_items[*].output
class RedactsForLog(RunHooks):
    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        for item in input_items:
            if item.get("type") == "function_call_output":
                item["output"] = "(logged)"


# on_llm_start: write input_items
async def pops_for_log(context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
    if len(input_items) > 1:
        input_items.pop(0)


# on_llm_start: write input_items[*].content
class AgentRedacts(AgentHooks):
    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        for item in input_items:
            if item.get("role") == "user" and isinstance(item["content"], list):
                item["content"].reverse()
                item["content"].append({"type": "input_text", "text": "end"})


# on_llm_start: clean
async def dumps_for_log(context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
    _log.info("%s %s", json.dumps(input_items, default=str), time.time())
    _seen[id(input_items)] = random.random()


_seen: dict[int, float] = {}


# on_llm_start: clean
class CountsCalls(RunHooks):
    count = 0

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self.count += 1


# on_llm_end: raises
async def rewrites_arguments(context: Any, agent: Any, response: Any) -> None:
    for item in response.output:
        if item.type == "function_call":
            item.arguments = "{}"


# on_llm_end: harmless-write response.output[*]
async def drops_texts(context: Any, agent: Any, response: Any) -> None:
    if len(response.output) > 1:
        response.output[:] = [item for item in response.output if item.type == "function_call"]


# on_llm_end: write response.output[*].content[*].text
class KeepsResponses(RunHooks):
    def __init__(self) -> None:
        self.responses: list[Any] = []

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        for each in self.responses:
            for item in each.output:
                if item.type == "message":
                    item.content[0].text = "old"
        self.responses.append(response)


# on_llm_end: clean
async def usage_total(context: Any, agent: Any, response: Any) -> None:
    global _total
    _total += response.usage.total_tokens


_total = 0


# on_llm_end: write
async def late_task(context: Any, agent: Any, response: Any) -> None:
    async def later() -> None:
        for item in response.output:
            if item.type == "message":
                item.content[0].text = "late"

    _tasks.append(asyncio.create_task(later()))


_tasks: list[Any] = []


# on_tool_end: write result
async def truncates_result(context: Any, agent: Any, tool: Any, result: Any) -> None:
    if isinstance(result, list):
        del result[1:]
        result.append({"type": "text", "text": "..."})


# on_tool_end: clean
class LogsResults(RunHooks):
    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        _log.info("%s %s", tool.name, str(result)[:20])


# on_tool_end: write
class KeepsResults(AgentHooks):
    def __init__(self) -> None:
        self.kept: list[Any] = []

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        for each in self.kept:
            each[0]["text"] = "old"
        if isinstance(result, list):
            self.kept.append(result)


# input_guardrail: write input[*].content
@input_guardrail
async def guard_rewrites(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    for item in input:
        if item.get("role") == "user":
            item["content"] = "safe"
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


# input_guardrail: harmless-write input[*]
def guard_appends(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    input.append({"role": "user", "content": "be safe"})
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


# input_guardrail: clean
@input_guardrail
def guard_reads(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    return GuardrailFunctionOutput(output_info=str(input)[:9], tripwire_triggered=False)


# input_guardrail: clean
async def guard_trips(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered="delete" in str(input))
