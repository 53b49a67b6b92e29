"""A text and a payload edited by `before_model_callback` of ADK: one is a copy, the other the session's own."""

import asyncio
from importlib.metadata import version
from typing import Any

from google.adk import agents, models, runners, sessions
from google.genai.types import Content, Part

asked: list[str] = []


class Scripted(models.BaseLlm):
    """Calls a tool twice, then answers."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        asked.append(str(llm_request.contents))
        text = len(asked) == 3
        part = (
            Part(text="ok")
            if text
            else Part.from_function_call(name="look", args={"of": f"call {len(asked)}"})
        )
        yield models.LlmResponse(content=Content(role="model", parts=[part]))


def look(of: str) -> dict[str, str]:
    """Look."""
    return {"seen": f"sunny at {of}"}


def edit(callback_context: Any, llm_request: Any) -> None:
    """Edits the request of the second call only."""
    if len(asked) != 1:
        return
    for content in llm_request.contents:
        for part in content.parts:
            if part.text:
                part.text += " TEXT"
            if part.function_call:
                part.function_call.args["of"] += " ARGS"
            if part.function_response:
                part.function_response.response["seen"] += " RESPONSE"


async def main() -> None:
    """Runs one turn."""
    agent = agents.LlmAgent(
        name="a", model=Scripted(model="scripted"), tools=[look], before_model_callback=edit
    )
    service = sessions.InMemorySessionService()
    await service.create_session(app_name="app", user_id="u", session_id="s")
    runner = runners.Runner(app_name="app", agent=agent, session_service=service)
    message = Content(role="user", parts=[Part(text="hi")])
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
        pass
    session = await service.get_session(app_name="app", user_id="u", session_id="s")
    print("google-adk", version("google-adk"))
    for word in ("TEXT", "ARGS", "RESPONSE"):
        prompts = [word in each for each in asked]
        print(f"{word}: prompts {prompts}, session {word in str(session.events)}")


asyncio.run(main())
