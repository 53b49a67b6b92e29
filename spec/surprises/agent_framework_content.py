"""A message, its list of contents and a text, edited by chat middleware of Microsoft's Agent Framework."""

import asyncio
from importlib.metadata import version
from typing import Any

import agent_framework as sdk
from agent_framework import Content, Message

asked: list[str] = []


class Client(sdk.FunctionInvocationLayer, sdk.ChatMiddlewareLayer, sdk.BaseChatClient):
    """Calls a tool, then answers."""

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        asked.append(str([(each.text, [one.text for one in each.contents]) for each in messages]))
        call = Content.from_function_call("c1", "look", arguments={})
        content = call if len(asked) == 1 else Content.from_text("ok")

        async def updates() -> Any:
            yield sdk.ChatResponseUpdate(role="assistant", contents=[content], message_id="m")

        made = self._build_response_stream(updates())
        return made if stream else made.get_final_response()


@sdk.tool(approval_mode="never_require")
def look() -> str:
    """Look."""
    return "sunny"


@sdk.chat_middleware
async def edit(context: Any, call_next: Any) -> None:
    """Edits the first prompt in three ways: the list, the contents of a message, and a text."""
    if not asked:
        context.messages.append(Message("user", ["LIST"]))
        context.messages[0].contents.append(Content.from_text("CONTENTS"))
        context.messages[0].contents[0].text += " TEXT"
    await call_next()


async def main() -> None:
    """Runs one turn."""
    mine = [Message("user", ["hi"])]
    agent = sdk.Agent(Client(), tools=[look], middleware=[edit])
    await agent.run(mine)
    caller = str([one.text for one in mine[0].contents])
    print("agent-framework-core", version("agent-framework-core"))
    for word in ("LIST", "CONTENTS", "TEXT"):
        print(f"{word}: prompts {[word in each for each in asked]}, caller {word in caller or len(mine) > 1}")


asyncio.run(main())
