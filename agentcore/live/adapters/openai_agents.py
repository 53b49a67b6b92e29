"""The adapter of the OpenAI Agents SDK for Python."""

from __future__ import annotations

import asyncio
import inspect
import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agents import (
    Agent,
    FunctionTool,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    Model,
    ModelResponse,
    RunConfig,
    RunHooks,
    Runner,
    Usage,
)
from agents.lifecycle import AgentHooksBase, RunHooksBase
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agentcore.live.adapter import Attached, Boundary, Entry, Given, Recorder
from agentcore.live.conversations import Conversation, fresh, tools

__all__ = ["ADAPTER"]


class _Model(Model):
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


def _items(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
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


def _entry(item: Any) -> Entry:
    kind = item.get("type")
    if kind == "function_call":
        return Entry("assistant", f"{item.get('arguments')}", calls=(item["call_id"],))
    if kind == "function_call_output":
        return Entry("tool", f"{item.get('output')}", results=(item["call_id"],))
    return Entry(item.get("role", "assistant"), f"{item.get('content')}")


class _Memory:
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


def _kept(given: Given) -> Sequence[Any]:
    context = given.get("context")
    kept = (
        [value for name, value in vars(context).items() if name != "turn_input"]
        if context is not None
        else []
    )
    data = given.get("data")
    kept += [data.agent, data.context] if data is not None else []
    return [*kept, given.get("agent"), given.get("tool")]


def _joined(given: Given) -> Any:
    return [*given["history"], *given["new"]]


def _observer(name: str, *parameters: str, **more: Any) -> Boundary:
    return Boundary(parameters=("context", "agent", *parameters), methods=(name,), kept=_kept, **more)


class _Adapter:
    name = "openai-agents"
    package = "openai-agents"
    paths = ("generate", "stream")
    drop = ("created_at",)
    boundaries: Mapping[str, Boundary] = {
        "call_model_input_filter": Boundary(
            parameters=("data",),
            kept=_kept,
            passive=lambda given: given["data"].model_data,
            messages_in=lambda given: given["data"].model_data.input,
            messages_out=lambda data: data.input,
            again=lambda given, returned: {"data": replace(given["data"], model_data=returned)},
        ),
        "session_input_callback": Boundary(
            parameters=("history", "new"),
            passive=_joined,
            messages_in=_joined,
            messages_out=lambda items: items,
        ),
        "on_llm_start": _observer("on_llm_start", "system_prompt", "input_items"),
        "on_llm_end": _observer("on_llm_end", "response", after=True, whole=False),
        "on_tool_end": _observer("on_tool_end", "tool", "result", after=True, whole=False),
        "input_guardrail": Boundary(
            parameters=("context", "agent", "input"), methods=("guardrail_function",), kept=_kept
        ),
    }

    def entries(self, messages: Any) -> Sequence[Entry]:
        items = messages["input"] if isinstance(messages, dict) else messages
        return [*map(_entry, items if isinstance(items, list) else [{"role": "user", "content": items}])]

    def bases(self) -> Sequence[type]:
        return (RunHooksBase, AgentHooksBase)

    def control(self) -> Sequence[type[BaseException]]:
        return (InputGuardrailTripwireTriggered,)

    def run(
        self, conversation: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        asyncio.run(self._run(conversation, hook, at, path, recorder))

    async def _run(
        self, of: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        model = _Model(recorder)
        config = RunConfig(tracing_disabled=True)
        agent: Agent[Any] = Agent(
            name="checked", instructions=of.get("instructions"), model=model, tools=_tools(of)
        )
        options: dict[str, Any] = {"run_config": config, "max_turns": 60}
        session = _Memory() if at == "session_input_callback" else None
        if session is not None:
            options["session"] = session
            recorder.holder("store", session.items)
            config.session_input_callback = (
                hook.call if hook is not None else lambda history, new: [*history, *new]
            )
        elif hook is not None:
            _attach(agent, config, options, hook, at)
        items: list[Any] = []
        passed: list[Any] = []
        recorder.holder("caller", passed)
        for number, turn in enumerate(of["turns"]):
            recorder.begin_turn(number)
            model.script = turn["answers"]
            if session is None:
                items = [*items, *_items(turn["messages"])]
            else:
                await session.add_items(_items(turn["messages"][:-1]))
                items = _items(turn["messages"][-1:])
            passed.append(items)
            if path == "stream":
                result: Any = Runner.run_streamed(agent, items, **options)
                async for _ in result.stream_events():
                    pass
            else:
                result = await Runner.run(agent, items, **options)
            items = result.to_input_list()
            recorder.result([items, result.new_items])


def _attach(agent: Any, config: Any, options: dict[str, Any], hook: Attached, at: str) -> None:
    if at == "call_model_input_filter":
        config.call_model_input_filter = hook.call
    elif at == "input_guardrail":
        agent.input_guardrails = [hook.owner if hook.owner is not None else InputGuardrail(hook.call)]
    elif isinstance(hook.owner, AgentHooksBase):
        agent.hooks = hook.owner
    elif hook.owner is not None:
        options["hooks"] = hook.owner
    else:

        async def observe(_: Any, *args: Any, **named: Any) -> None:
            returned = hook.call(*args, **named)
            if inspect.isawaitable(returned):
                await returned

        options["hooks"] = types.new_class(
            "Checked", (RunHooks,), {}, lambda body: body.update({at: observe})
        )()


def _tools(of: Conversation) -> list[Any]:
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


ADAPTER: Final = _Adapter()
