"""The adapter of the OpenAI Agents SDK for Python."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import agents as sdk
from agents.lifecycle import AgentHooksBase, RunHooksBase
from openai.types import responses as r

from agentcore.live import adapter as live
from agentcore.live import session as talk

__all__ = ["ADAPTER"]

_FAILED: Final = "An error occurred: "
_PASSED: Final = sdk.GuardrailFunctionOutput(None, tripwire_triggered=False)
_TYPES: Final[Any] = {"message": r.ResponseOutputMessage, "function_call": r.ResponseFunctionToolCall}


def _kept(given: live.Given) -> Sequence[Any]:
    kept = [*talk.attributes(given.get("context"), "turn_input"), given.get("agent"), given.get("tool")]
    return [*kept, given["data"].agent, given["data"].context] if "data" in given else kept


def _joined(given: live.Given) -> Any:
    return [*given["history"], *given["new"]]


@dataclass
class _Model(sdk.Model):
    answer: Any

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002
        items = self.answer({"system": system_instructions, "input": input})
        output = [_TYPES[each["type"]].model_validate(each) for each in items]
        return sdk.ModelResponse(output, sdk.Usage(), None)

    async def stream_response(self, *args: Any, **options: Any) -> Any:
        output = (await self.get_response(*args, **options)).output
        response = r.Response.model_construct(id="r", output=output, usage=None)
        yield r.ResponseCompletedEvent.model_construct(type="response.completed", response=response)


class _Adapter(live.AdapterBase):
    name = package = "openai-agents"
    paths = ("generate", "stream")
    drop = ("created_at",)
    awaits = True
    classes, steering = (RunHooksBase, AgentHooksBase), (sdk.InputGuardrailTripwireTriggered,)
    boundaries = live.boundaries(
        {
            "call_model_input_filter": live.Boundary(
                ("data",),
                passive=lambda given: given["data"].model_data,
                messages_in=lambda given: given["data"].model_data.input,
                messages_out=lambda data: data.input,
                again=lambda given, returned: {"data": replace(given["data"], model_data=returned)},
            ),
            "session_input_callback": live.Boundary(
                ("history", "new"), passive=_joined, messages_in=_joined, messages_out=lambda items: items
            ),
            "on_llm_start": live.Boundary(("context", "agent", "system_prompt", "input_items")),
            "on_llm_end": live.observer("context", "agent", "response"),
            "on_tool_end": live.observer("context", "agent", "tool", "result"),
            "input_guardrail": live.Boundary(
                ("context", "agent", "input"), methods=("guardrail_function",), passive=lambda _: _PASSED
            ),
        },
        kept=_kept,
    )

    def entries(self, messages: Any) -> Sequence[live.Entry]:
        items = messages["input"] if isinstance(messages, dict) else messages
        return super().entries(items if isinstance(items, list) else [{"role": "user", "content": items}])

    def user(self, parts: Sequence[talk.Part]) -> Any:
        text: Any = lambda part: {"type": "input_text", "text": part["text"]}  # noqa: E731
        image: Any = lambda part: {"type": "input_image", "detail": "auto", "image_url": talk.data_url(part)}  # noqa: E731
        return {"role": "user", "content": talk.plain(parts) or talk.mapped(parts, text=text, file=image)}

    def answer(self, parts: Sequence[talk.Part]) -> Any:
        of: Any = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
        text: Any = lambda part: {"type": "output_text", "text": part["text"], "annotations": []}  # noqa: E731
        named: Any = lambda part: {"type": "function_call", "name": part["tool"], "call_id": part["id"]}  # noqa: E731
        call: Any = lambda part: {**named(part), "arguments": talk.text_of(part["input"])}  # noqa: E731
        return talk.mapped(parts, text=lambda part: {**of, "content": [text(part)]}, call=call)

    def result(self, call: talk.Part) -> Any:
        output = talk.text_of(talk.returned(call, _FAILED))
        return {"type": "function_call_output", "call_id": call["id"], "output": output}

    def entry(self, message: Any) -> live.Entry:
        if message.get("type") == "function_call":
            return live.Entry("assistant", f"{message.get('arguments')}", calls=(message["call_id"],))
        if message.get("type") == "function_call_output":
            return live.Entry("tool", f"{message.get('output')}", results=(message["call_id"],))
        return live.Entry(message.get("role", "assistant"), f"{message.get('content')}")

    def begin(self, session: talk.Session, hook: live.Attached | None, at: str, path: str) -> Any:
        async def invoke(context: Any, _: str) -> Any:
            return talk.returned(session.call(context.tool_call_id), _FAILED)

        own: Any = {"params_json_schema": talk.SCHEMA, "on_invoke_tool": invoke, "strict_json_schema": False}
        own["needs_approval"] = lambda _, __, number: session.needs_approval(number)
        kit: Any = [sdk.FunctionTool(name, name, **own) for name in session.tools]
        model = _Model(lambda prompt: self.answer(session.answer(prompt)))
        agent: Any = sdk.Agent("checked", instructions=session.instructions, model=model, tools=kit)
        options = _attached(agent, hook, at)
        session.holder("store", memory := options["session"])

        async def turn(given: Any) -> talk.Reply:
            given = memory.passed(given) if memory is not None and isinstance(given, list) else given
            run: Any = sdk.Runner.run_streamed if path == "stream" else sdk.Runner.run
            result = await talk.ended(run(agent, given, **options))
            await talk.ended(path == "stream" and result.stream_events())

            def resume(decisions: Any) -> Any:
                state = result.to_state()
                for each in result.interruptions:
                    no = decisions[each.call_id]
                    state.approve(each) if no is None else state.reject(each, rejection_message=no)
                return turn(state)

            messages, asked = result.to_input_list(), [each.call_id for each in result.interruptions]
            # What a session holds the caller does not pass on.
            return talk.Reply([] if memory else messages, [messages, result.new_items], asked, resume)

        return turn


def _attached(agent: Any, hook: live.Attached | None, at: str) -> dict[str, Any]:
    config: Any = sdk.RunConfig(tracing_disabled=True, session_input_callback=operator.add)
    memory = talk.Memory() if at == "session_input_callback" else None
    options: dict[str, Any] = {"run_config": config, "max_turns": 60, "session": memory}
    if hook is not None and at in ("session_input_callback", "call_model_input_filter"):
        setattr(config, at, hook.call)
    elif hook is not None and at == "input_guardrail":
        agent.input_guardrails = [sdk.InputGuardrail(hook.call) if hook.owner is None else hook.owner]
    elif hook is not None and isinstance(hook.owner, AgentHooksBase):
        agent.hooks = hook.owner
    elif hook is not None:
        options["hooks"] = live.as_object(hook, sdk.RunHooks, at, live.as_async_method)
    return options


ADAPTER: Final = _Adapter()
