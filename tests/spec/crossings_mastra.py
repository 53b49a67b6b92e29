"""How much is new when values cross the boundaries of Mastra's loop: measured by running its profiles.

Runs of two steps in which nothing is written. Whoever is handed something notes the addresses of what it is,
level by level, and two notes of the same thing tell how deep the copy between them is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from agentcore.frameworks.mastra.emulation.arguments import Arguments
from agentcore.frameworks.mastra.emulation.loop import MastraLoop
from agentcore.frameworks.mastra.emulation.settings import Model, Processor, Settings, Tool
from agentcore.frameworks.mastra.profiles import PROFILES
from agentcore.heap.views import ArrayView, ObjectView
from spec.tables import Table

Levels: TypeAlias = tuple[tuple[int, ...], ...]
"""Addresses by level: of messages the array, the messages, their contents and their parts."""

ABSENT: Final = "absent"
_MESSAGE_DEPTHS: Final = ("share", "list", "message", "content")
# Of a value with objects inside: the very object, or another with the same ones inside.
_VALUE_DEPTHS: Final = ("share", "shallow")
_OPTIONS: Final = {"x": {"k": 1}}

# By the form of the caller's message.
_FORMS: Final[Mapping[str, Any]] = {
    "`{role, content}`": {"role": "user", "content": [{"type": "text", "text": "a"}]},
    "UI": {"id": "u", "role": "user", "parts": [{"type": "text", "text": "a"}]},
    "stored": {
        "id": "u",
        "role": "user",
        "createdAt": "2000-01-01T00:00:00Z",
        "content": {"format": 2, "parts": [{"type": "text", "text": "a"}]},
    },
}
# Name of the row -> what is noted, who notes it first, who notes it then.
_MESSAGES: Final = {
    "the list → `messages` of a processor": ("messages", "list 0", "p1 0"),
    "`messages` of a processor → of the next one": ("messages", "p1 0", "p2 0"),
    "`messages` of a processor → of `prepareStep`": ("messages", "p1 0", "prepareStep 0"),
    "`messages` → `messages` of the next step": ("messages", "p1 0", "p1 1"),
    "`messages` → prompt": ("messages", "p1 0", "model 0"),
}
_RETURNED: Final = {
    "returned messages → `messages` of the next processor": ("messages", "returned", "p2 0"),
    "returned messages → `messages` of `prepareStep`": ("messages", "returned", "prepareStep 0"),
    "returned messages → `messages` of the next step": ("messages", "returned", "p1 1"),
}
_VALUES: Final = {
    "the list's system messages → `systemMessages`": ("systemMessages", "list 0", "p1 0"),
    "`systemMessages` → `systemMessages` of the next processor": ("systemMessages", "p1 0", "p2 0"),
    "`systemMessages` → `systemMessages` of the next step": ("systemMessages", "p1 0", "p1 1"),
    **{
        f"caller's `{name}` → processors": (name, "caller", "p1 0")
        for name in ("providerOptions", "modelSettings", "toolChoice", "activeTools")
    },
    "`modelSettings` → `modelSettings` of the next step": ("modelSettings", "p1 0", "p1 1"),
    "caller's `requestContext` → processors": ("requestContext", "caller", "p1 0"),
    "`requestContext` → `requestContext` of the next processor": ("requestContext", "p1 0", "p2 0"),
    "`requestContext` → `requestContext` of the next step": ("requestContext", "p1 0", "p1 1"),
    "`tracingContext` → `tracingContext` of the next processor": ("tracingContext", "p1 0", "p2 0"),
    "`all.db()` of `messageList.get` → `messages`": ("messages", "all.db 1", "p1 1"),
    "`messages` → `input.db()`": ("messages", "list 1", "input.db 1"),
    "a call's input in `messages` → `aiV5.model()`": ("input", "p1 1", "aiV5.model 1"),
    "a call's input in `messages` → `aiV5.ui()`": ("input", "p1 1", "aiV5.ui 1"),
    "a tool's result in `messages` → `aiV5.model()`": ("output", "p1 1", "aiV5.model 1"),
    "a tool's result in `messages` → `aiV5.ui()`": ("output", "p1 1", "aiV5.ui 1"),
    "`providerOptions` → model": ("providerOptions", "p1 0", "model 0"),
    "`toolChoice` → model": ("toolChoice", "p1 0", "model 0"),
    "`tools` → `tools` of the next processor": ("tools", "p1 0", "p2 0"),
    "`tools` → `tools` of the next step": ("tools", "p1 0", "p1 1"),
    "`steps` → `steps` of the next processor": ("steps", "p1 0", "p2 0"),
    "`steps` → `steps` of the next step": ("steps", "p1 0", "p1 1"),
    "a call's input in `messages` → tool": ("input", "p1 1", "tool"),
    "a call's input in `messages` → prompt": ("input", "p1 1", "model 1"),
    "a tool's result in `messages` → prompt": ("output", "p1 1", "model 1"),
}


def crossings(profile: str) -> Mapping[str, str]:
    """The depth of the copy at each boundary, for processors of the call and of the agent."""
    found: dict[str, str] = {}
    for form, message in _FORMS.items():
        found[f"caller's {form} message → the list"] = _Run(profile, message=message).of_messages(
            "messages", "caller", "list 0"
        )
    plain, returning = _pair(profile, returns=False), _pair(profile, returns=True)
    found |= {name: _both(_Run.of_messages, plain, where) for name, where in _MESSAGES.items()}
    found |= {name: _both(_Run.of_messages, returning, where) for name, where in _RETURNED.items()}
    found |= {name: _both(_Run.of_value, plain, where) for name, where in _VALUES.items()}
    return found


def _pair(profile: str, *, returns: bool) -> tuple[_Run, _Run]:
    return _Run(profile, returns=returns), _Run(profile, returns=returns, of_agent=True)


def _both(measure: Any, runs: tuple[_Run, _Run], where: tuple[str, str, str]) -> str:
    """What holds for processors of the call; and for those of the agent, if that is something else."""
    of_call, of_agent = (measure(run, *where) for run in runs)
    return of_call if of_call == of_agent else f"{of_call} ({of_agent} for the agent's)"


class _Run:
    """A run under a profile, and what everyone in it was handed."""

    def __init__(
        self, profile: str, *, message: Any = _FORMS["stored"], returns: bool = False, of_agent: bool = False
    ) -> None:
        self.notes: dict[tuple[str, str], Levels] = {}
        self.returns = returns
        self.step = -1
        processors = [Processor(id=name, process_input_step=self._processor) for name in ("p1", "p2")]
        self.loop = MastraLoop(
            PROFILES[profile],
            Settings(
                model=Model("m", self._answer),
                messages=[message],
                instructions="be brief",
                tools={"look": Tool(execute=self._tool)},
                processors=processors if of_agent else [],
                call_processors=None if of_agent else processors,
                prepare_step=lambda args: self._noted("prepareStep", args),
                options={
                    "providerOptions": _OPTIONS,
                    "modelSettings": {"stopSequences": ["s"]},
                    "toolChoice": {"type": "tool", "toolName": "look"},
                    "activeTools": ["look"],
                },
                request_context={"k": {"n": 1}},
            ),
        )
        caller = self.loop.desk.view(self.loop.caller)
        for name, value in caller.items():
            self._note(name, "caller", value)
        outcome = self.loop.run()
        assert outcome.error is None, outcome.error

    # --- measuring ---

    def of_messages(self, what: str, source: str, target: str) -> str:
        """How much is new between two notes of messages."""
        return self._depth(_MESSAGE_DEPTHS, what, source, target)

    def of_value(self, what: str, source: str, target: str) -> str:
        """How much is new between two notes of a value."""
        return self._depth(_VALUE_DEPTHS, what, source, target)

    def _depth(self, depths: tuple[str, ...], what: str, source: str, target: str) -> str:
        before, after = self.notes.get((what, source)), self.notes.get((what, target))
        if before is None or after is None:
            return ABSENT
        for depth, mine, theirs in zip(depths, before, after, strict=False):
            if mine and theirs and mine[: len(theirs)] == theirs[: len(mine)]:
                return depth
        return "deep"

    # --- noting ---

    def _processor(self, args: Arguments) -> Any:
        if args.processor_id == "p1":
            self.step = args["stepNumber"]
            self._note("messages", f"list {self.step}", args.message_list.messages)
            self._note("systemMessages", f"list {self.step}", self._listed(args))
            self._views(args)
        self._noted(args.processor_id, args)
        if args.processor_id == "p1" and self.step == 0 and self.returns:
            returned = self.loop.desk.view(self.loop.store.load([{**_FORMS["stored"], "id": "new"}]))
            self._note("messages", "returned", returned)
            return {"messages": returned}
        return None

    def _views(self, args: Arguments) -> None:
        views = args.message_list.get
        self._note("messages", f"all.db {self.step}", views.all.db())
        self._note("messages", f"input.db {self.step}", views.input.db())
        for name in ("model", "ui"):
            self._payloads(f"aiV5.{name} {self.step}", getattr(views.all.aiV5, name)())

    def _listed(self, args: Arguments) -> ArrayView:
        view: ArrayView = self.loop.desk.view(self.loop.list.system_messages, (args.processor_id,))
        return view

    def _noted(self, who: str, args: Arguments) -> None:
        for name in args:
            value = args[name].view if name == "requestContext" else args[name]
            self._note(name, f"{who} {self.step}", value)
        self._payloads(f"{who} {self.step}", args["messages"])

    def _answer(self, options: Any) -> list[Any]:
        who = f"model {self.step}"
        prompt = [message for message in options["prompt"] if message["role"] != "system"]
        self.notes["messages", who] = ((), *_below(prompt))
        for name in ("providerOptions", "toolChoice"):
            if name in options:
                self._note(name, who, options[name])
        self._payloads(who, prompt)
        call = {"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {"in": {"n": 1}}}
        return [call] if self.step < 1 else [{"type": "text", "text": "done"}]

    def _tool(self, given: Any) -> Any:
        self._note("input", "tool", given)
        return {"out": {"n": 2}}

    def _payloads(self, who: str, messages: Iterable[Any]) -> None:
        for part in (part for message in messages for part in _parts(message)):
            held = part["toolInvocation"] if part["type"] == "tool-invocation" else part
            output = held.get("output")
            found = {
                "input": held.get("args", held.get("input")),
                "output": held.get(
                    "result", output.get("value", output) if isinstance(output, ObjectView) else None
                ),
            }
            for name, value in found.items():
                if isinstance(value, ObjectView):
                    self._note(name, who, value)

    def _note(self, what: str, who: str, value: Any) -> None:
        if not isinstance(value, ObjectView | ArrayView):
            return
        inside = _below(value) if what == "messages" else (_inside(value),)
        self.notes[what, who] = ((value.ref.address,), *inside)


def _below(messages: Iterable[Any]) -> Levels:
    """The addresses of messages, of their contents and of their parts."""
    listed = [message for message in messages if isinstance(message, ObjectView)]
    contents = [message["content"] for message in listed if "content" in message]
    parts = [part for message in listed for part in _parts(message)]
    return _addresses(listed), _addresses(contents), _addresses(parts)


def _parts(message: Any) -> list[Any]:
    content = message.get("content", message.get("parts", ()))
    parts = content.get("parts", ()) if isinstance(content, ObjectView) else content
    return [part for part in parts if isinstance(part, ObjectView)]


def _inside(value: Any) -> tuple[int, ...]:
    return _addresses(value.values() if isinstance(value, ObjectView) else value)


def _addresses(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(value.ref.address for value in values if isinstance(value, ObjectView | ArrayView))


_TEXT: Final = """\
How much is new ([depths](../../compat.md#copy-depth); `shallow` is a new object with the same ones inside),
measured by running each profile while nothing is written; absent where nothing comes through. Processors are
those of a call; the row says where it is otherwise for those of the agent.
"""

TABLES: Final = (Table("What crosses a boundary", "boundary", _TEXT, crossings),)
