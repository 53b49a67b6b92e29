"""The adapter of Google's Agent Development Kit: callbacks of an agent, and plugins."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from google.adk import agents, models, runners, sessions, tools
from google.adk.agents import run_config as runs
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.genai.types import Content, GenerateContentResponseUsageMetadata, ModelContent

from agentcore.live import adapter as live
from agentcore.live import session as talk

__all__ = ["ADAPTER"]

_OF: Final[Any] = {"user_id": "user", "session_id": "session"}
_CONFIRM: Final = "adk_request_confirmation"
_FAILED: Final = "error: "
_MODEL: Final = ("callback_context", "llm_request")
_TOOL: Final = ("tool", "args", "tool_context")
_USED: Final = GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)


def _context(given: live.Given) -> Any:
    return given.get("callback_context") or given["tool_context"]


def _kept(given: live.Given) -> Sequence[Any]:
    return [_context(given), given.get("tool"), getattr(given.get("llm_request"), "tools_dict", None)]


def _messages(given: live.Given) -> Any:
    return given["llm_request"].contents


def _outlets(given: live.Given) -> Sequence[Any]:
    if "llm_request" not in given:
        return [given.get("args", given.get("tool_args"))]
    # A request is documented to be changed: messages and parts are its own, and what a part holds is not.
    contents, lists = _messages(given), [each.parts for each in _messages(given) if each.parts]
    own = [given["llm_request"], given["llm_request"].config, contents, *contents, *lists]
    return [*own, *(part for each in lists for part in each)]


class _Model(models.BaseLlm):
    answer: Any = None  # Any: a field with a type of containers would be copied when the model is made

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        # The instruction comes last, so that messages have the places that they have in the request.
        content = self.answer([*llm_request.contents, llm_request.config.system_instruction])
        for text in [part.text for part in content.parts if stream and part.text]:
            yield models.LlmResponse(content=ModelContent(text), partial=True)
        yield models.LlmResponse(content=content, usage_metadata=_USED)


class _Adapter(live.AdapterBase):
    name = package = "google-adk"
    paths = ("generate", "stream")
    drop = ("id", "invocation_id", "timestamp", "last_update_time")
    awaits = True
    classes = (BasePlugin,)
    boundaries = live.boundaries(
        {
            "before_model_callback": live.Boundary(_MODEL, messages_in=_messages, outlets=_outlets),
            "after_model_callback": live.observer("callback_context", "llm_response"),
            "before_tool_callback": live.observer(*_TOOL, outlets=_outlets),
            "after_tool_callback": live.observer(*_TOOL, "tool_response"),
        },
        kept=_kept,
        reaches=lambda given: {"session.events": _context(given).session.events},
    )

    def entry(self, message: Any) -> list[live.Entry]:
        return [_entry(message.role, part) for part in getattr(message, "parts", None) or ()]

    def user(self, parts: Sequence[talk.Part]) -> Content:
        blob: Any = lambda part: {"data": base64.b64decode(part["data"]), "mime_type": part["mediaType"]}  # noqa: E731
        made = talk.mapped(parts, text=_text, file=lambda part: {"inline_data": blob(part)})
        return Content(role="user", parts=made)

    def answer(self, parts: Sequence[talk.Part]) -> Content:
        call: Any = lambda part: {"id": part["id"], "name": part["tool"], "args": talk.fresh(part["input"])}  # noqa: E731
        made: Any = {"text": _text, "call": lambda part: {"function_call": call(part)}}
        made["reasoning"] = lambda part: {**_text(part), "thought": True}
        return Content(role="model", parts=talk.mapped(parts, **made))

    def result(self, call: talk.Part) -> Content:
        output = talk.returned(call, _FAILED)
        response = output if isinstance(output, dict) else {"result": output}
        made: Any = {"function_response": {"id": call["id"], "name": call["tool"], "response": response}}
        return Content(role="user", parts=[made])

    def begin(self, session: talk.Session, hook: live.Attached | None, at: str, path: str) -> Any:
        async def execute(tool_context: Any) -> Any:
            return talk.returned(session.call(tool_context.function_call_id), _FAILED)

        service = sessions.InMemorySessionService()
        session.holder("store", service.sessions)
        asks: Any = lambda tool_context: session.needs_approval(tool_context.function_call_id)  # noqa: E731
        kit = [tools.FunctionTool(execute, require_confirmation=asks) for _ in session.tools]
        for tool, name in zip(kit, session.tools, strict=True):
            tool.name = name
        model = _Model(model="scripted", answer=lambda prompt: self.answer(session.answer(prompt)))
        plugins: Any = [hook.owner] if hook is not None and isinstance(hook.owner, BasePlugin) else []
        options: Any = {} if hook is None or plugins else {at: hook.call}
        options |= {"model": model, "tools": kit, "instruction": session.instructions or ""}
        agent = agents.LlmAgent(name="checked", **options)
        runner = runners.Runner(app_name="app", agent=agent, session_service=service, plugins=plugins)
        mode = runs.StreamingMode.SSE if path == "stream" else runs.StreamingMode.NONE

        async def turn(given: Any) -> talk.Reply:
            if not service.sessions:
                await service.create_session(app_name="app", **_OF)
            for content in given[:-1]:
                is_said = content.role == "user" and not content.parts[0].function_response
                event = Event(author="user" if is_said else agent.name, content=content)
                await service.append_event(service.sessions["app"]["user"]["session"], event)
            options = {**_OF, "new_message": given[-1], "run_config": runs.RunConfig(streaming_mode=mode)}
            events = [each async for each in runner.run_async(**options)]
            calls = [call for event in events for call in event.get_function_calls() if call.name == _CONFIRM]
            asked: Any = {call.args["originalFunctionCall"]["id"]: call.id for call in calls}

            def resume(decisions: Any) -> Any:
                said = talk.decided(decisions, {"confirmed": True}, lambda _: {"confirmed": False})
                made = [{"id": asked[of], "name": _CONFIRM, "response": each} for of, each in said.items()]
                return turn([Content(role="user", parts=[{"function_response": each} for each in made])])

            # What a session holds the caller does not pass on.
            return talk.Reply([], events, [*asked], resume)

        return turn


def _text(part: talk.Part) -> Any:
    return {"text": part["text"]}


def _entry(role: str, part: Any) -> live.Entry:
    if called := part.function_call:
        return live.Entry("assistant", f"{called.args}", calls=(called.id,))
    if answered := part.function_response:
        return live.Entry("tool", f"{answered.response}", results=(answered.id,))
    return live.Entry("user" if role == "user" else "assistant", part.text or "")


ADAPTER: Final = _Adapter()
