"""Items, model, session and tools of the OpenAI Agents SDK, made of the neutral conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents import (
    FunctionTool,
    Model,
    ModelResponse,
    Usage,
)
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agentcore.live.adapter import Entry, Recorder
from agentcore.live.conversations import Conversation, fresh, tools

__all__ = ["Memory", "ScriptedModel", "entry_of", "items_of", "tools_of"]


class ScriptedModel(Model):
    """Answers from a script."""

    def __init__(self, recorder: Recorder) -> None:
        self.script: Sequence[Mapping[str, Any]] = ()
        self._recorder = recorder

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
        step = self._recorder.prompt({"system": system_instructions, "input": input})
        done: Any = {"parts": [{"type": "text", "text": "done"}]}
        answer = self.script[step] if step < len(self.script) else done
        return ModelResponse(output=_output(answer), usage=Usage(), response_id=None)

    async def stream_response(self, *args: Any, **options: Any) -> Any:
        answered = await self.get_response(*args, **options)
        response = Response(
            id="r",
            created_at=0,
            model="scripted",
            object="response",
            output=answered.output,
            tool_choice="none",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


def _output(answer: Mapping[str, Any]) -> list[Any]:
    made: list[Any] = []
    for part in answer["parts"]:
        if part["type"] == "text":
            text = ResponseOutputText(type="output_text", text=part["text"], annotations=[])
            message = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
            made.append(message)
        elif part["type"] == "call":
            arguments = json.dumps(part["input"])
            call = ResponseFunctionToolCall(
                type="function_call", name=part["tool"], call_id=part["id"], arguments=arguments
            )
            made.append(call)
    return made


def items_of(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Returns the caller's items, the outputs of tools included."""
    made: list[Any] = []
    for message in messages:
        if message["role"] == "user":
            made.append({"role": "user", "content": [_part(part) for part in message["parts"]]})
            continue
        made += [item.model_dump(exclude_none=True) for item in _output(message)]
        for part in message["parts"]:
            if part["type"] == "call":
                output = _returned(part)
                text = output if isinstance(output, str) else json.dumps(output)
                made.append({"type": "function_call_output", "call_id": part["id"], "output": text})
    return made


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    return {
        "type": "input_image",
        "detail": "auto",
        "image_url": f"data:{part['mediaType']};base64,{part['data']}",
    }


def _returned(call: Mapping[str, Any]) -> Any:
    refused = call.get("error", call.get("denied"))
    if refused is not None:
        return f"An error occurred: {refused}"
    output = fresh(call["output"])
    if isinstance(output, list):
        # Parts, which the framework hands on as they are.
        return [
            {"type": "text", "text": each if isinstance(each, str) else json.dumps(each)} for each in output
        ]
    return output


def entry_of(item: Any) -> Entry:
    """Returns what the rules about prompts need of an item."""
    kind = item.get("type")
    if kind == "function_call":
        return Entry("assistant", f"{item.get('arguments')}", calls=(item["call_id"],))
    if kind == "function_call_output":
        return Entry("tool", f"{item.get('output')}", results=(item["call_id"],))
    return Entry(item.get("role", "assistant"), f"{item.get('content')}")


class Memory:
    """A session as people write it: a list of the items themselves."""

    session_id = "checked"
    session_settings = None

    def __init__(self) -> None:
        self.items: list[Any] = []

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return self.items[-limit:] if limit else [*self.items]

    async def add_items(self, items: list[Any]) -> None:
        self.items += items

    async def pop_item(self) -> Any:
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        self.items.clear()


def tools_of(of: Conversation) -> list[Any]:
    """Returns one tool of each name; a call finds its outcome by its id."""
    calls = tools(of)

    async def invoke(context: Any, _: str) -> Any:
        return _returned(calls[context.tool_call_id])

    schema = {"type": "object", "properties": {}}
    return [
        FunctionTool(
            name=name,
            description=name,
            params_json_schema=schema,
            on_invoke_tool=invoke,
            strict_json_schema=False,
        )
        for name in sorted({call["tool"] for call in calls.values()})
    ]
