"""Programs of turns on the stores of agentcore: what they come to, in the words of a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from agentcore.agent.agent import Agent
from agentcore.agent.models import ScriptedModel
from agentcore.agent.tools import ToolContext, tool
from agentcore.conversations.conversation import Conversation, Turn, TurnMessage
from agentcore.conversations.stores import ConversationStore, HeadConflictError
from agentcore.frameworks.store_boundary.family import Recording, events_of
from agentcore.frameworks.store_boundary.profiles import AGENTCORE
from agentcore.messages.values import thaw
from agentcore.messages.wire import message_from_wire, message_to_wire

Json = dict[str, Any]
_BEFORE: Final = "before"


def normal(message: Mapping[str, Any]) -> Json:
    """A message whose content is a list, as an agent makes those of a model."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"role": message["role"], "content": parts}


def wire(messages: Sequence[Any]) -> list[Json]:
    return [normal(thaw(message_to_wire(message))) for message in messages]


@attrs.define
class _Going:
    number: int
    conversation: Conversation
    head: str | None
    said: list[Any]
    steps: int = 0
    saved: int = 0
    last: Turn | None = None
    made: Turn | None = None


class RealRun:
    """A program on a store: turns that are saved once, whole, are those of an agent; others made by hand."""

    def __init__(self, program: Json, store: ConversationStore, name: str) -> None:
        self.program = program
        self.store = store
        self.name = name
        self.events = events_of(program)
        self.loads: list[Json] = []
        self.prompts: dict[int, list[list[Json]]] = {}
        self.saves: list[Json] = []
        self._going: dict[int, _Going] = {}
        self._names: dict[str | None, str | None] = {None: None, _BEFORE: None}
        self._hooks = Recording(AGENTCORE, program)

    async def run(self) -> list[Json]:
        """Does all events; returns what is stored at the end."""
        before = self.program.get("stored", ())
        if before:
            await self.store.append(self.name, None, self._turn(_BEFORE, None, before))
        for does, turn in self.events:
            if does == "load":
                await self._load(turn)
            elif does == "step":
                going = self._going[turn]
                going.said += self.program["turns"][turn]["script"][going.steps]
                going.steps += 1
            else:
                await self._save(self._going[turn])
        return wire(await self.store.load(self.name))

    # ------------------------------------------------------------ events

    async def _load(self, number: int) -> _Going:
        conversation = await self.store.load(self.name)
        given = [*self.program["turns"][number]["input"]]
        going = _Going(number=number, conversation=conversation, head=conversation.head, said=given)
        self._going[number] = going
        self.loads.append({"head": self._names[conversation.head], "messages": wire(conversation)})
        steps, saves = (self.events.count((does, number)) for does in ("step", "save"))
        first = self.events.index(("save", number)) if saves else 0
        whole = steps > 0 and saves > 0 and ("step", number) not in self.events[first:]
        if whole and self._is_an_agents(number, steps):
            going.made = await self._made(going, steps)
        return going

    async def _save(self, going: _Going) -> None:
        new, head = going.said[going.saved :], (await self.store.load(self.name)).head
        if new:
            times = sum(entry["turn"] == going.number and "refused" not in entry for entry in self.saves)
            name = f"turn {going.number}" if not times else f"turn {going.number} ({times + 1})"
            made = going.made or self._turn(name, going.head, new)
            going.made = None
            self._names[made.id] = name
        elif going.last is None:
            made = None
        else:
            made = going.last  # again: it is stored once
        entry: Json = {"turn": going.number, "expected": self._names[going.head], "actual": self._names[head]}
        self.saves.append(entry)
        try:
            if made is not None:
                await self.store.append(self.name, going.head, made)
        except HeadConflictError as error:
            names = {"expected": self._names[error.expected], "actual": self._names[error.actual]}
            entry |= {**names, "refused": True}
        entry["stored"] = wire(await self.store.load(self.name))
        if "refused" not in entry:
            going.saved, going.last = len(going.said), made
            going.head = made.id if made is not None and new else going.head
        elif self.program["turns"][going.number].get("retry") and not going.saved:
            await self._again(going)

    async def _again(self, going: _Going) -> None:
        again = await self._load(going.number)
        again.steps, again.said = going.steps, going.said
        await self._save(again)

    # ------------------------------------------------------------ turns

    def _turn(self, name: str, parent: str | None, messages: Sequence[Json]) -> Turn:
        said = [
            TurnMessage(id=f"{name}-{number}", turn=name, message=message_from_wire(message))
            for number, message in enumerate(messages)
        ]
        return Turn(id=name, parent=parent, messages=said)

    def _is_an_agents(self, number: int, steps: int) -> bool:
        """Whether an agent can run a turn: calls at all steps but the last, no call there, users' input."""
        turn = self.program["turns"][number]
        roles = [[message["role"] for message in answer] for answer in turn["script"][:steps]]
        shape = [["assistant", "tool"]] * (steps - 1) + [["assistant"]]
        last = [part["type"] for message in turn["script"][steps - 1] for part in normal(message)["content"]]
        given = [message["role"] for message in turn["input"]]
        return roles == shape and {*last} == {"text"} and {*given} == {"user"}

    async def _made(self, going: _Going, steps: int) -> Turn | None:
        turn = self.program["turns"][going.number]
        script = [normal(answer[0])["content"] for answer in turn["script"][:steps]]
        results = [part for answer in turn["script"] for message in answer[1:] for part in message["content"]]
        outputs = {part["toolCallId"]: part["output"]["value"] for part in results}

        @tool
        async def look(at: str, context: ToolContext) -> Any:
            """Looks."""
            del at
            return outputs[context.tool_call_id]

        agent = Agent(ScriptedModel(script), tools=[look], prepare_step=self._prepare(going.number))
        given = [message_from_wire(message) for message in turn["input"]]
        result = await agent.generate(given, conversation=going.conversation)
        prompts = self.prompts.setdefault(going.number, [])
        prompts += [wire(step.prompt) for step in result.steps]
        return result.conversation.turn

    def _prepare(self, number: int) -> Any:
        """The hooks of a turn: their ops on a copy, which is returned for the step."""
        hooks = self._hooks.loop.settings.turns[number].hooks
        loop = self._hooks.loop

        def prepare(step: Any) -> Any:
            hook = hooks[step.step_number] if step.step_number < len(hooks) else None
            if hook is None:
                return None
            plain = [thaw(message_to_wire(message)) for message in step.messages]
            copy = loop.store.load(plain)
            returned = hook(loop.desk.view(copy))
            edited = loop.plain(copy if returned is None else loop.desk.slot(returned))
            return {"messages": [message_from_wire(message) for message in edited]}

        return prepare
