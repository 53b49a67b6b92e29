"""Subtle hooks for the OpenAI Agents SDK: shared parts, helpers, closures, late writes; each with its verdict."""

from __future__ import annotations

import asyncio
import copy
import datetime as dt
import random
import secrets
import time
import uuid
from typing import Any

from agents import AgentHooks, GuardrailFunctionOutput, InputGuardrail, RunHooks
from agents.run import ModelInputData


def _walk(value: Any) -> Any:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _walk(each)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each)


# call_model_input_filter: write data.model_data.input[*].output
def shallow_items(data: Any) -> Any:
    items = [dict(i) for i in data.model_data.input]
    for i in items:
        if isinstance(i.get("output"), list):
            i["output"].append({"type": "text", "text": "(end)"})
    return ModelInputData(input=items, instructions=data.model_data.instructions)


# call_model_input_filter: clean
def reminder(data: Any) -> Any:
    return ModelInputData(
        input=[*data.model_data.input, {"role": "user", "content": "be brief"}],
        instructions=data.model_data.instructions,
    )


# call_model_input_filter: harmless-write data.model_data.input
def reminder_in_place(data: Any) -> Any:
    data.model_data.input.append({"role": "user", "content": "be brief"})
    return data.model_data


# call_model_input_filter: clean
def deep(data: Any) -> Any:
    made = copy.deepcopy(data.model_data)
    for each in _walk(made.input):
        if "text" in each:
            each["text"] = "x"
    return made


# call_model_input_filter: cuts-pair
def no_outputs(data: Any) -> Any:
    return ModelInputData(
        input=[i for i in data.model_data.input if i.get("type") != "function_call_output"], instructions=None
    )


# call_model_input_filter: loses-request
def only_last(data: Any) -> Any:
    items = data.model_data.input
    keep = [i for i in items if i.get("role") != "user"]
    return ModelInputData(input=keep or [{"role": "user", "content": "?"}], instructions=None)


# call_model_input_filter: raises
def forgets_return(data: Any) -> Any:
    data.model_data.input.append({"role": "user", "content": "x"})


# call_model_input_filter: undetermined
def secret(data: Any) -> Any:
    return ModelInputData(
        input=[*data.model_data.input, {"role": "user", "content": secrets.token_hex(3)}], instructions=None
    )


# call_model_input_filter: clean
def seeded_things(data: Any) -> Any:
    said = f"{random.random()} {uuid.uuid4()} {time.time()} {dt.datetime.now(dt.UTC)} {len(_ids)}"
    _ids[id(data.model_data.input)] = said
    return ModelInputData(
        input=[*data.model_data.input, {"role": "user", "content": said}], instructions=None
    )


_ids: dict[int, str] = {}


class Trimmer:
    def __call__(self, data: Any) -> Any:
        for i in data.model_data.input[:-1]:
            if i.get("type") == "function_call_output" and isinstance(i["output"], list):
                i["output"][:] = i["output"][:1]
        return data.model_data


# call_model_input_filter: write output
trims = Trimmer()


# on_llm_end: write response.output[*].content[*].text
async def censors(context: Any, agent: Any, response: Any) -> Any:
    for item in response.output:
        for part in getattr(item, "content", None) or []:
            part.text = part.text.replace("o", "*").replace("e", "*")


# on_llm_end: clean
async def dumps(context: Any, agent: Any, response: Any) -> Any:
    _log.append([each.model_dump() for each in response.output])


_log: list[Any] = []


# on_llm_end: clean
class CopiesAndCuts(RunHooks):
    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> Any:
        mine = copy.deepcopy(response.output)
        for item in mine:
            if item.type == "message":
                item.content[0].text = "x"
        self.last = mine


# on_llm_end: write response.output[*].content
class ShallowCut(AgentHooks):
    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> Any:
        for item in [each.model_copy() for each in response.output]:
            if item.type == "message":
                item.content[0].text = item.content[0].text[:1]


# on_tool_end: write result[*].text
async def edits_result_parts(context: Any, agent: Any, tool: Any, result: Any) -> Any:
    if isinstance(result, list):
        for part in result:
            part["text"] = "masked"


# on_tool_end: clean
async def edits_result_copy(context: Any, agent: Any, tool: Any, result: Any) -> Any:
    mine = copy.deepcopy(result)
    if isinstance(mine, list):
        mine.clear()


# on_tool_end: write result
async def edits_dict_result(context: Any, agent: Any, tool: Any, result: Any) -> Any:
    if isinstance(result, dict):
        result["checked"] = True


# input_guardrail: write input[*].content[*].text
async def guard_parts(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    for each in _walk(input):
        if each.get("type") == "input_text":
            each["text"] = each["text"].lower() + "?"
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


# input_guardrail: clean
def guard_deep(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    mine = copy.deepcopy(input)
    for each in _walk(mine):
        each["x"] = 1
    return GuardrailFunctionOutput(output_info=mine, tripwire_triggered=False)


async def _g(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    input[-1]["content"] = "sanitised"
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


# input_guardrail: write input[*].content
guard_object = InputGuardrail(guardrail_function=_g, name="g")


# input_guardrail: write
async def guard_keeps(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    for each in _kept:
        each["content"] = "old"
    _kept.extend(i for i in input if i.get("role") == "user")
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


_kept: list[Any] = []


# session_input_callback: harmless-write
def edits_new(history: Any, new: Any) -> Any:
    new[-1]["content"] = "short"
    return [*history, *new]


_before: list[Any] = []


_template: dict[str, Any] = {"role": "developer", "content": ""}


# session_input_callback: clean
def summary(history: Any, new: Any) -> Any:
    return (
        [{"role": "developer", "content": f"{len(history)}"}, *new] if len(history) > 4 else [*history, *new]
    )


# on_llm_start: write input_items[*].content
async def nested_start(context: Any, agent: Any, system_prompt: Any, input_items: Any) -> Any:
    for each in _walk(input_items):
        if each.get("type") == "input_text":
            each["text"] = "hidden"


# on_llm_start: write input_items
class Appends(RunHooks):
    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> Any:
        input_items.append({"role": "user", "content": "be brief"})


# on_llm_start: write input_items
class AppendsAgent(AgentHooks):
    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> Any:
        input_items[:] = input_items[-3:]


# on_llm_start: write
async def late(context: Any, agent: Any, system_prompt: Any, input_items: Any) -> Any:
    async def later() -> Any:
        await asyncio.sleep(0.01)
        for each in _walk(input_items):
            if "output" in each and isinstance(each["output"], list):
                each["output"].clear()

    _tasks.append(asyncio.create_task(later()))


_tasks: list[Any] = []


# on_llm_end: write
async def late_long(context: Any, agent: Any, response: Any) -> Any:
    async def later() -> Any:
        await asyncio.sleep(2)
        for item in response.output:
            if item.type == "message":
                item.content[0].text = "late"

    _tasks.append(asyncio.create_task(later()))


# on_llm_start: clean
async def starts_clean_task(context: Any, agent: Any, system_prompt: Any, input_items: Any) -> Any:
    async def later() -> Any:
        await asyncio.sleep(0.01)
        _log.append(len(input_items))

    _tasks.append(asyncio.create_task(later()))


# on_tool_end: write
async def keeps_result_edit(context: Any, agent: Any, tool: Any, result: Any) -> Any:
    for each in _log2:
        each.reverse()
    if isinstance(result, list) and len(result) > 1:
        _log2.append(result)


_log2: list[Any] = []
