"""The adapter of the OpenAI Agents SDK for Python."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import agents as sdk
from agents.lifecycle import AgentHooksBase, RunHooksBase
from openai.types import responses as r

from agentcore.live import session as talk
from agentcore.live.adapter import AdapterBase, Attached, Boundary, Entry, Given, as_async_method

__all__ = ["ADAPTER"]

_SCHEMA: Final = {"type": "object", "properties": {}}


def _kept(given: Given) -> Sequence[Any]:
    kept = [*talk.attributes(given.get("context"), "turn_input"), given.get("agent"), given.get("tool")]
    return [*kept, given["data"].agent, given["data"].context] if "data" in given else kept


def _joined(given: Given) -> Any:
    return [*given["history"], *given["new"]]


def _observer(name: str, *parameters: str, **more: Any) -> Boundary:
    return Boundary(("context", "agent", *parameters), methods=(name,), kept=_kept, **more)


class _Model(sdk.Model):
    def __init__(self, session: talk.Session) -> None:
        self._session = session

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002
        parts = self._session.answer({"system": system_instructions, "input": input})
        return sdk.ModelResponse(_output(parts), sdk.Usage(), None)

    async def stream_response(self, *args: Any, **options: Any) -> Any:
        output = (await self.get_response(*args, **options)).output
        of: Any = {"id": "r", "created_at": 0, "model": "scripted", "object": "response", "tools": []}
        response = r.Response(**of, output=output, tool_choice="none", parallel_tool_calls=True)
        yield r.ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


class _Adapter(AdapterBase):
    name = package = "openai-agents"
    paths = ("generate", "stream")
    drop = ("created_at",)
    classes = (RunHooksBase, AgentHooksBase)
    steering = (sdk.InputGuardrailTripwireTriggered,)
    boundaries = {  # noqa: RUF012 - a constant
        "call_model_input_filter": Boundary(
            ("data",),
            kept=_kept,
            passive=lambda given: given["data"].model_data,
            messages_in=lambda given: given["data"].model_data.input,
            messages_out=lambda data: data.input,
            again=lambda given, returned: {"data": replace(given["data"], model_data=returned)},
        ),
        "session_input_callback": Boundary(
            ("history", "new"), passive=_joined, messages_in=_joined, messages_out=lambda items: items
        ),
        "on_llm_start": _observer("on_llm_start", "system_prompt", "input_items"),
        "on_llm_end": _observer("on_llm_end", "response", after=True, whole=False),
        "on_tool_end": _observer("on_tool_end", "tool", "result", after=True, whole=False),
        "input_guardrail": Boundary(
            ("context", "agent", "input"), methods=("guardrail_function",), kept=_kept
        ),
    }

    def entries(self, messages: Any) -> Sequence[Entry]:
        items = messages["input"] if isinstance(messages, dict) else messages
        return [*map(_entry, items if isinstance(items, list) else [{"role": "user", "content": items}])]

    def run(self, session: talk.Session, hook: Attached | None, at: str, path: str) -> None:
        async def invoke(context: Any, _: str) -> Any:
            return _returned(session.call(context.tool_call_id))

        options: Any = {"params_json_schema": _SCHEMA, "on_invoke_tool": invoke, "strict_json_schema": False}
        kit: Any = [sdk.FunctionTool(name, name, **options) for name in session.tools]
        options = {"instructions": session.instructions, "model": _Model(session), "tools": kit}
        agent: sdk.Agent[Any] = sdk.Agent("checked", **options)
        asyncio.run(_turns(agent, session, path, _attached(agent, hook, at)))


async def _turns(agent: Any, session: talk.Session, path: str, options: dict[str, Any]) -> None:
    answer: Any = lambda parts: [item.model_dump(exclude_none=True) for item in _output(parts)]  # noqa: E731
    items: list[Any] = []
    memory = options.get("session")
    session.holder("store", memory)
    for added in session.turns():
        new = talk.translated(added, _user, answer, _results)
        if memory is not None:
            await memory.add_items(new[:-1])
        items = session.passes([*items, *new] if memory is None else new[-1:])
        if path == "stream":
            result: Any = sdk.Runner.run_streamed(agent, items, **options)
            async for _ in result.stream_events():
                pass
        else:
            result = await sdk.Runner.run(agent, items, **options)
        items = result.to_input_list()
        session.result([items, result.new_items])


def _attached(agent: Any, hook: Attached | None, at: str) -> dict[str, Any]:
    config = sdk.RunConfig(tracing_disabled=True)
    options: dict[str, Any] = {"run_config": config, "max_turns": 60}
    call = hook and hook.call
    if at == "session_input_callback":
        config.session_input_callback = call or (lambda history, new: [*history, *new])
        options["session"] = talk.Memory()
    elif at == "call_model_input_filter":
        config.call_model_input_filter = call
    elif hook is not None and at == "input_guardrail":
        agent.input_guardrails = [sdk.InputGuardrail(hook.call) if hook.owner is None else hook.owner]
    elif hook is not None and isinstance(hook.owner, AgentHooksBase):
        agent.hooks = hook.owner
    elif hook is not None:
        body = {at: as_async_method(hook)}
        made = types.new_class("Checked", (sdk.RunHooks,), {}, lambda space: space.update(body))
        options["hooks"] = hook.owner if hook.owner is not None else made()
    return options


def _output(parts: Sequence[talk.Part]) -> list[Any]:
    made: list[Any] = []
    for part in parts:
        if part["type"] == "text":
            text = r.ResponseOutputText(type="output_text", text=part["text"], annotations=[])
            of: Any = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
            made.append(r.ResponseOutputMessage(**of, content=[text]))
        elif part["type"] == "call":
            of = {"type": "function_call", "name": part["tool"], "call_id": part["id"]}
            made.append(r.ResponseFunctionToolCall(**of, arguments=talk.text_of(part["input"])))
    return made


def _user(parts: Sequence[talk.Part]) -> Any:
    text: Any = lambda part: {"type": "input_text", "text": part["text"]}  # noqa: E731
    url: Any = lambda part: f"data:{part['mediaType']};base64,{part['data']}"  # noqa: E731
    image: Any = lambda part: {"type": "input_image", "detail": "auto", "image_url": url(part)}  # noqa: E731
    return {"role": "user", "content": [(text if part["type"] == "text" else image)(part) for part in parts]}


def _returned(call: talk.Part) -> Any:
    failed = talk.failure(call)
    return talk.output_of(call) if failed is None else f"An error occurred: {failed}"


def _results(calls: Sequence[talk.Part]) -> Any:
    outputs = [{"call_id": call["id"], "output": talk.text_of(_returned(call))} for call in calls]
    return [{"type": "function_call_output", **each} for each in outputs]


def _entry(item: Any) -> Entry:
    if item.get("type") == "function_call":
        return Entry("assistant", f"{item.get('arguments')}", calls=(item["call_id"],))
    if item.get("type") == "function_call_output":
        return Entry("tool", f"{item.get('output')}", results=(item["call_id"],))
    return Entry(item.get("role", "assistant"), f"{item.get('content')}")


ADAPTER: Final = _Adapter()
