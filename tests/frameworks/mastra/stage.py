"""A call of an agent under a profile, its model and tools scripted, its processors Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentcore.frameworks.mastra.emulation.arguments import Arguments
from agentcore.frameworks.mastra.emulation.loop import MastraLoop
from agentcore.frameworks.mastra.emulation.settings import Model, Processor, Settings, Tool
from agentcore.frameworks.mastra.profiles import PROFILES

Hook = Callable[[Arguments], Any]
CALL: Mapping[str, Any] = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"a": 1}}
SECOND: Mapping[str, Any] = {**CALL, "toolCallId": "c2"}
TWO_STEPS = ([CALL], [{"type": "text", "text": "done"}])
THREE_STEPS = ([CALL], [SECOND], [{"type": "text", "text": "done"}])


def text(told: str) -> dict[str, Any]:
    return {"type": "text", "text": told}


class Stage:
    """What a call was given and what came of it. `prompts` is what the model was asked with at each step."""

    def __init__(
        self, script: Sequence[Any] = ([text("ok")],), profile: str = "mastra@1.71.0", **settings: Any
    ) -> None:
        self.script = script
        self.asked: list[dict[str, Any]] = []
        self.looked: list[Any] = []
        given = {"messages": ["hi"], "tools": {"look": Tool(execute=self.look)}, **settings}
        self.loop = MastraLoop(PROFILES[profile], Settings(model=self.model("base"), **given))
        self.outcome = self.loop.run()

    def model(self, name: str, version: str = "v2") -> Model:
        return Model(name, lambda options: self.answer(name, options), version)

    def answer(self, name: str, options: Any) -> Any:
        self.asked.append({"model": name, **self.loop.store.plain(options.ref)})
        parts = self.script[len(self.asked) - 1] if len(self.asked) <= len(self.script) else []
        if isinstance(parts, Exception):
            raise parts
        return parts

    def look(self, given: Any) -> Any:
        self.looked.append(self.loop.store.plain(given.ref))
        return {"found": len(self.looked)}

    @property
    def prompts(self) -> list[list[str]]:
        return [[said(message) for message in asked["prompt"]] for asked in self.asked]

    @property
    def stored(self) -> list[tuple[str | None, str]]:
        """The conversation at the end, each message with its source."""
        store, target = self.loop.store, self.loop.list
        return [(target.source_of(one), said(store.plain(one))) for one in target.all()]


def said(message: Mapping[str, Any]) -> str:
    """A message in short: its role and texts, calls as `name?`, answers as `name!`."""
    content = message["content"]
    if isinstance(content, str):
        return f"{message['role']}: {content}"
    parts = content["parts"] if isinstance(content, dict) else content
    words = [word for part in parts if (word := _word(part))]
    return f"{message['role']}: {' '.join(words)}"


def _word(part: Mapping[str, Any]) -> str:
    match part["type"]:
        case "text" | "reasoning":
            return str(part.get("text", part.get("reasoning")))
        case "tool-call":
            return f"{part['toolName']}?"
        case "tool-result":
            return f"{part['toolName']}!"
        case "tool-invocation":
            call = part["toolInvocation"]
            return f"{call['toolName']}{'?' if call['state'] == 'call' else '!'}"
    return ""


def at_step(number: int, hook: Hook) -> Hook:
    """A hook that acts at one step only."""
    return lambda args: hook(args) if args["stepNumber"] == number else None


def processor(hook: Hook, own_id: str = "p1") -> Processor:
    return Processor(id=own_id, process_input_step=hook)


def on_input(hook: Hook, own_id: str = "p1") -> Processor:
    return Processor(id=own_id, process_input=hook)


def stored(own_id: str, told: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    return {"id": own_id, "role": role, "content": {"format": 2, "parts": [text(told)]}, **fields}
