"""A subtle polluting hook and a clean one for each boundary of the Agent Development Kit."""

from __future__ import annotations

import copy
import random
import time
import uuid
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.genai.types import Content, Part


def _shorten(response: Any) -> None:
    if isinstance(response.response.get("result"), str):
        response.response["result"] = response.response["result"][:9]


def before_model_callback_pollutes(callback_context: Any, llm_request: Any) -> None:
    """Makes new messages and new parts, whose payloads are those of the session."""
    made = [
        content.model_copy(update={"parts": [part.model_copy() for part in content.parts]})
        for content in llm_request.contents
    ]
    for part in (part for content in made for part in content.parts if part.function_response):
        _shorten(part.function_response)
    llm_request.contents = made


def before_model_callback_clean(callback_context: Any, llm_request: Any) -> None:
    """Does the same in deep copies."""
    made = copy.deepcopy(llm_request.contents)
    for part in (part for content in made for part in content.parts if part.function_response):
        _shorten(part.function_response)
    llm_request.contents = made


async def edits_the_request(callback_context: Any, llm_request: Any) -> None:
    """Edits in place what the documentation says may be: instruction, list and texts of the request."""
    system = llm_request.config.system_instruction
    llm_request.config.system_instruction = f"Be brief. {system}"
    for content in llm_request.contents:
        for part in content.parts:
            if part.text:
                part.text = part.text.replace("delete", "***")
    llm_request.contents.append(Content(role="user", parts=[Part(text="and be kind")]))


def writes_to_the_session(callback_context: Any, llm_request: Any) -> None:
    """Redacts what the context's session holds: the next request is made of it."""
    for event in callback_context.session.events:
        for part in event.content.parts if event.content else ():
            if part.text:
                part.text = part.text.replace("o", "0")


def after_model_callback_pollutes(callback_context: Any, llm_response: Any) -> None:
    for part in llm_response.content.parts:
        if part.text:
            part.text = part.text.upper()


async def after_model_callback_clean(callback_context: Any, llm_response: Any) -> Any:
    made = llm_response.model_copy(deep=True)
    for part in made.content.parts:
        if part.text:
            part.text = part.text.upper()
    return made


_ANSWER: dict[str, Any] = {"seen": []}


def before_tool_callback_pollutes(tool: Any, args: Any, tool_context: Any) -> Any:
    """Answers from one object of its own, which the session keeps, and goes on to fill it."""
    _ANSWER["seen"].append(args.get("query"))
    return _ANSWER


def before_tool_callback_clean(tool: Any, args: Any, tool_context: Any) -> None:
    """Changes the arguments in place, as is documented."""
    args["query"] = args["query"].strip().lower()
    args.setdefault("limit", 5)


def after_tool_callback_pollutes(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> None:
    if isinstance(tool_response, dict):
        tool_response["checked"] = True


def after_tool_callback_clean(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> Any:
    return {**tool_response, "checked": True} if isinstance(tool_response, dict) else None


def writes_the_arguments_after_the_tool(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> None:
    """The framework gives each tool a deep copy of the arguments, so nobody sees it."""
    args["query"] = "***"


_calls = 0
_known: dict[int, tuple[Any, str]] = {}


def stateful(callback_context: Any, llm_request: Any) -> None:
    """Counts, caches by identity, draws ids and asks the clock; and adds a message of its own."""
    global _calls  # noqa: PLW0603 - the state is the point
    _calls += 1
    for content in llm_request.contents:
        if id(content) not in _known:
            _known[id(content)] = (content, f"{uuid.uuid4()} {random.random()} {time.time()}")
    told = f"{_calls} {[text for _, text in _known.values()]}"
    llm_request.contents.append(Content(role="user", parts=[Part(text=told)]))


class Redacts(BasePlugin):
    """A plugin, which the runner takes, with the same fault as the callback."""

    def __init__(self) -> None:
        super().__init__(name="redacts")

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> None:
        after_tool_callback_pollutes(tool, tool_args, tool_context, result)
