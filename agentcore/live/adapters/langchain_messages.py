"""Messages, model and tools of LangChain, made of the neutral conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool

from agentcore.live.adapter import Entry
from agentcore.live.conversations import fresh

__all__ = ["ScriptedModel", "ScriptedTool", "answer_of", "entry_of", "messages_of"]


class ScriptedModel(BaseChatModel):
    """Answers from a script."""

    # Any: a field with a type of containers would be copied when the model is made.
    answer: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


class ScriptedTool(BaseTool):
    """Returns what the conversation says; like a tool with `handle_tool_error`, it reports its errors."""

    calls: Any = None
    args_schema: Any = {"type": "object", "properties": {}}  # noqa: RUF012 - a field of pydantic

    def invoke(self, input: Any, config: Any = None, **_: Any) -> ToolMessage:  # noqa: A002 - its name there
        return _result(self.calls[input["id"]])

    async def ainvoke(self, input: Any, config: Any = None, **_: Any) -> ToolMessage:  # noqa: A002 - as above
        return _result(self.calls[input["id"]])

    def _run(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def _result(call: Mapping[str, Any]) -> ToolMessage:
    refused = call.get("error", call.get("denied"))
    output = fresh(call.get("output"))
    content: Any = output if isinstance(output, str) else json.dumps(output)
    if isinstance(output, list):
        content = [
            {"type": "text", "text": each if isinstance(each, str) else json.dumps(each)} for each in output
        ]
    status = "success" if refused is None else "error"
    shown = content if refused is None else refused
    return ToolMessage(shown, tool_call_id=call["id"], name=call["tool"], status=status, artifact=output)


def _user(message: Mapping[str, Any]) -> HumanMessage:
    parts = message["parts"]
    if len(parts) == 1 and len(parts[0]["text"]) % 2:
        return HumanMessage(parts[0]["text"])
    return HumanMessage(
        [
            {"type": "text", "text": part["text"]}
            if part["type"] == "text"
            else {"type": "image", "base64": part["data"], "mime_type": part["mediaType"]}
            for part in parts
        ]
    )


def answer_of(answer: Mapping[str, Any]) -> AIMessage:
    """Returns the message of a scripted answer."""
    texts = [part["text"] for part in answer["parts"] if part["type"] == "text"]
    calls = [
        {"name": part["tool"], "args": fresh(part["input"]), "id": part["id"], "type": "tool_call"}
        for part in answer["parts"]
        if part["type"] == "call"
    ]
    return AIMessage(" ".join(texts), tool_calls=calls)


def messages_of(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Returns the caller's messages, those of tools included."""
    made: list[Any] = []
    for message in messages:
        if message["role"] == "user":
            made.append(_user(message))
        else:
            made.append(answer_of(message))
            made += [_result(part) for part in message["parts"] if part["type"] == "call"]
    return made


def entry_of(message: Any) -> Entry:
    """Returns what the rules about prompts need of a message."""
    role = {"human": "user", "ai": "assistant"}.get(message.type, message.type)
    calls = tuple(call["id"] for call in getattr(message, "tool_calls", ()))
    results = (message.tool_call_id,) if message.type == "tool" else ()
    return Entry(role, f"{message.content}", calls, results)
