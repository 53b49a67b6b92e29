"""A subtle polluting hook and a clean one for each boundary of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import copy
import random
import uuid
from typing import Any

from agents import GuardrailFunctionOutput, RunHooks
from agents.run import ModelInputData


def _parts(item: Any) -> list[Any]:
    content = item.get("content") if item.get("type") != "function_call_output" else item.get("output")
    return [part for part in content if "text" in part] if isinstance(content, list) else []


def call_model_input_filter_pollutes(data: Any) -> Any:
    items = [dict(item) for item in data.model_data.input]  # new items, with the parts of the old ones
    for item in items:
        for part in _parts(item):
            part["text"] = part["text"][:4]
    return ModelInputData(input=items, instructions=data.model_data.instructions)


async def call_model_input_filter_clean(data: Any) -> Any:
    items = copy.deepcopy(data.model_data.input)
    for item in items:
        for part in _parts(item):
            part["text"] = part["text"][:4]
    return ModelInputData(input=items, instructions=data.model_data.instructions)


async def session_input_callback_pollutes(history: Any, new: Any) -> Any:
    """Adds a note of its own, and goes on to write it when the SDK has it already."""
    note: dict[str, Any] = {"role": "user", "content": [{"type": "input_text", "text": "note"}]}

    async def later() -> None:
        note["content"][0]["text"] = "edited"

    _TASKS.append(asyncio.ensure_future(later()))
    return [*history, *new[:-1], note, *new[-1:]]


_TASKS: list[Any] = []


def session_input_callback_edits_copies(history: Any, new: Any) -> Any:
    """Edits what the SDK copied for it; nobody else has these items."""
    for item in history:
        for part in _parts(item):
            part["text"] = part["text"][:4]
    return [*history, *new]


def session_input_callback_clean(history: Any, new: Any) -> Any:
    return [*history, *new]


async def on_llm_start_pollutes(context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
    for item in input_items:
        for part in _parts(item):
            part["text"] = "logged"


class OnLlmStartClean(RunHooks):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self.seen.append(copy.deepcopy(input_items))


async def on_llm_end_pollutes(context: Any, agent: Any, response: Any) -> None:
    for item in response.output:
        if item.type == "message":
            item.content[0].text = item.content[0].text.upper()


async def on_llm_end_clean(context: Any, agent: Any, response: Any) -> None:
    [item.model_copy(deep=True) for item in response.output]


async def on_tool_end_pollutes(context: Any, agent: Any, tool: Any, result: Any) -> None:
    if isinstance(result, list):
        result[0]["text"] = "logged"
    elif isinstance(result, dict):
        result["logged"] = True


async def on_tool_end_clean(context: Any, agent: Any, tool: Any, result: Any) -> None:
    str(result)


async def input_guardrail_pollutes(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    for item in input:
        for part in _parts(item):
            part["text"] = part["text"].replace("delete", "[removed]") + " "
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


async def input_guardrail_clean(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    return GuardrailFunctionOutput(output_info={"items": len(input)}, tripwire_triggered=False)


_calls = 0
_known: dict[int, tuple[Any, str]] = {}


def stateful(data: Any) -> Any:
    """Counts, caches by identity and draws ids; and returns new items only."""
    global _calls  # noqa: PLW0603 - the state is the point
    _calls += 1
    for item in data.model_data.input:
        if id(item) not in _known:
            _known[id(item)] = (item, f"{uuid.uuid4()} {random.random()}")
    told = {"role": "user", "content": f"{_calls} {[text for _, text in _known.values()]}"}
    return ModelInputData(input=[*data.model_data.input, told], instructions=data.model_data.instructions)


_before: list[Any] = []


def _is_answered(items: list[Any]) -> bool:
    return bool(items[-1].get("type") == "function_call_output")


def approval_pollutes(data: Any) -> Any:
    """Marks, once a person has answered, the parts that it saw before they were asked."""
    if _is_answered(data.model_data.input):
        for part in _before:
            part["text"] = "reviewed"
    _before[:] = [part for item in data.model_data.input for part in _parts(item)]
    return data.model_data


def approval_clean(data: Any) -> Any:
    """Marks them in copies."""
    items = copy.deepcopy(data.model_data.input)
    if _is_answered(items):
        for part in (part for item in items for part in _parts(item)):
            part["text"] = f"reviewed {len(_before)}"
    _before[:] = data.model_data.input
    return ModelInputData(input=items, instructions=data.model_data.instructions)


async def texts_pollute(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002 - as a guardrail is called
    """Looks at contents that are texts only."""
    for item in input:
        if isinstance(item.get("content"), str):
            item["content"] = item["content"].upper()
    return GuardrailFunctionOutput(None, tripwire_triggered=False)
