"""Random runs, for tests of what is kept of a run: every need is answered by what a play says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import attrs
from hypothesis import strategies as st

from agentcore.agent.call.errors import outcome_of_error
from agentcore.machine.effects import (
    Answered,
    ApprovalsNeeded,
    Asked,
    Cancelled,
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    ModelFailed,
    NeedApprovals,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedProcessInput,
    NeedStop,
    NeedTools,
    Outcome,
    Processed,
    Rejected,
    Settings,
    ToolFailed,
    ToolOutcomes,
    ToolsFailed,
    ToolSpec,
    ToolSucceeded,
    Tripped,
)
from agentcore.machine.pending import Pending, pending_of
from agentcore.machine.prepare import StepPreparation
from agentcore.machine.processors import TripwireError
from agentcore.machine.run import give, start
from agentcore.machine.state import Failed, Interrupted, Run
from agentcore.messages.content import (
    ContentPart,
    GeneratedFile,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolApprovalRequest,
    ToolError,
    ToolResult,
    Usage,
)
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.messages import (
    AssistantMessage,
    ImagePart,
    JsonOutput,
    Message,
    SystemMessage,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    UserMessage,
)
from agentcore.messages.values import Vector
from scripted import USER, call

REMINDER: Final = UserMessage([TextPart("remember")])
SUMMARY: Final = UserMessage([TextPart("what was before")])

HISTORIES: Final[dict[str, list[Message]]] = {
    "one": [USER],
    "texts": [SystemMessage("s"), UserMessage("u"), AssistantMessage("a"), UserMessage([ImagePart(b"\1")])],
    "approved": [
        USER,
        AssistantMessage([ToolCallPart("c0", "t", input={}), ToolApprovalRequestPart("a0", "c0")]),
        ToolMessage([ToolApprovalResponsePart("a0", approved=True)]),
    ],
    "denied": [
        USER,
        AssistantMessage([ToolCallPart("c0", "t", input={}), ToolApprovalRequestPart("a0", "c0")]),
        ToolMessage([ToolApprovalResponsePart("a0", approved=False, reason="no")]),
    ],
    "unknown approval": [USER, ToolMessage([ToolApprovalResponsePart("lost", approved=True)])],
}

SETTINGS: Final[dict[str, Settings]] = {
    # Sends prompts that providers refuse as well, so that runs go on after any edit.
    "plain": Settings(
        model="m", tools=[ToolSpec("t"), ToolSpec("asks", needs_approval="ask")], validate_prompt=False
    ),
    "full": Settings(
        model="m",
        system=[SystemMessage("a"), SystemMessage("b", {"p": {}})],
        tools=[
            ToolSpec("t", dynamic=True),
            ToolSpec("yes", needs_approval=True),
            ToolSpec("m", has_execute=False),
        ],
        tool_choice={"type": "tool", "toolName": "t"},
        active_tools=["t", "yes"],
        provider_options={"p": {"a": 1.5}},
        experimental_context={"k": [1, None]},
        max_steps=3,
    ),
    "toolless": Settings(model="m", system=SystemMessage("s")),
    "processed": Settings(model="m", system="s", tools=[ToolSpec("t")], process_input=True),
}


def hooked(name: str, shown: StepPreparation) -> object:
    """What a prepare_step of that name returns."""
    messages = list(shown.messages)
    results: dict[str, object] = {
        "nothing": None,
        "remind": {"messages": [*messages, REMINDER]},
        "first": {"messages": [REMINDER, *messages]},
        "forget": {"messages": [SUMMARY]},
        "stay": {"lasting_messages": [*messages, REMINDER]},
        "compact": {"lasting_messages": [SUMMARY]},
        "both": {"lasting_messages": [SUMMARY], "messages": [*messages, REMINDER, REMINDER]},
        "empty": {"lasting_messages": []},
        "system": {"system": "other"},
        "systems": {"system": [SystemMessage("x"), SystemMessage("y")], "messages": [*messages, REMINDER]},
        "options": {
            "model": "n",
            "tool_choice": "none",
            "active_tools": [],
            "provider_options": {"p": {"b": []}},
        },
        "format": {
            "response_format": {"type": "json", "schema": {"type": "object"}},
            "tool_choice": "required",
        },
        "context": {"experimental_context": {"k": 2}},
        "wrong": {"temperature": object()},
    }
    return results[name]


# Processors by name, for steps that have several.


def listing(arguments: Any) -> None:
    """Changes its list in all ways."""
    listed = arguments.message_list
    listed.add([{"role": "user", "content": "noted"}, SystemMessage("noted")])
    listed.replace(listed.ids[0], REMINDER)
    listed.remove_by_ids(listed.ids[1:2])


def keeping(arguments: Any) -> object:
    """Keeps what it did to its list for good."""
    arguments.message_list.add(REMINDER)
    return {"lasting_messages": arguments.message_list, "messages": [SUMMARY]}


TURNS: Final[dict[str, Callable[[Any], object]]] = {
    "listing": listing,
    "keeping": keeping,
    "trimming": lambda arguments: arguments.messages[-1:] or None,
    "stating": lambda arguments: [*arguments.messages, SystemMessage("stated")],
    "setting": lambda _: {"model_settings": {"temperature": 0}, "provider_options": {"p": {"b": 1}}},
}


def processed(so_far: Any, names: Iterable[str]) -> Outcome:
    """What comes of processors of these names, of which "trip" is one as well."""
    for name in names:
        arguments = so_far.arguments(name)
        if name == "trip":
            return Tripped(outcome_of_error(arguments, TripwireError("enough", metadata={"of": name})))  # type: ignore[arg-type]
        so_far = so_far.after(so_far.edit(arguments, TURNS[name](arguments)))
    return Processed(so_far.edits)


HOOKS: Final = st.sampled_from(
    [
        "nothing",
        "remind",
        "first",
        "forget",
        "stay",
        "compact",
        "both",
        "empty",
        "system",
        "systems",
        "options",
        "format",
        "context",
        "listing keeping",
        "keeping listing stating",
        "setting trimming setting",
        "stating trip",
    ]
)
# Of input: processors that change messages and system messages.
INPUTS: Final = st.sampled_from(["", "listing", "stating listing", "trimming", "trip"])

parts: Final[st.SearchStrategy[ContentPart]] = st.one_of(
    st.builds(call, st.sampled_from(["c", "d"]), st.sampled_from(["t", "x", "asks", "yes", "m"])),
    st.builds(GeneratedText, st.sampled_from(["", "a", "\ud800"]), st.sampled_from([None, {"p": {"s": 1}}])),
    st.just(GeneratedReasoning("r", {"p": {}})),
    st.just(GeneratedFile("AQ==", "image/png")),
    st.just(Source({"sourceType": "url", "id": "1"})),
    st.just(call("s", "search", provider_executed=True, dynamic=True, title="S")),
)
SEARCH: Final = call("s", "search", provider_executed=True, dynamic=True)
# Answers whose parts belong together, and one whose do not.
WHOLE: Final[list[list[ContentPart]]] = [
    [SEARCH, ToolResult(tool_call_id="s", tool_name="search", output={"a": [1]})],
    [SEARCH, ToolError(tool_call_id="s", tool_name="search", error={"a": 1}), call("c")],
    [SEARCH, ToolApprovalRequest("p", SEARCH)],
    [ToolResult(tool_call_id="lost", tool_name="search", output=1)],
    [call("c", "t", invalid=True, error="no JSON")],
]
contents: Final = st.one_of(
    st.lists(parts, max_size=3), st.sampled_from(WHOLE[:3]), st.just([call("c")]), st.sampled_from(WHOLE)
)


@attrs.frozen(kw_only=True)
class Play:
    """What a run is made of, and at which of its needs something ends it."""

    settings: Settings = SETTINGS["plain"]
    messages: list[Message] = attrs.field(factory=lambda: [USER])
    script: list[list[ContentPart]] = attrs.field(factory=list)
    hooks: list[str] = attrs.field(factory=list)
    input: str = ""
    ends: int | None = None
    cancelled: bool = False
    # The needs at which somebody asks first, and whether tools finish one by one.
    asks: frozenset[int] = frozenset()
    partly: bool = False
    # Whether approvals and calls are answered at the end.
    replies: bool = False
    # How many steps other runs had before, whose answers and hooks come first.
    earlier: int = 0
    # How often its result is rejected.
    rejects: int = 0
    # After how many steps a stop condition says that it is enough.
    enough: int = 4

    def outcome(self, run: Run, count: int) -> Outcome:  # noqa: C901 - a table of needs
        """The answer to what the run needs, which is its `count`-th need."""
        wanted, number = run.pending, run.step_number + self.earlier
        if isinstance(wanted, (Interrupted, Done)):
            return Answered({one.id: answer_to(one) for one in pending_of(run)})
        if count == self.ends:
            return Cancelled() if self.cancelled else _failure(wanted)
        if count in self.asks:
            return Asked([question(name, run.step_number) for name in ("one", "two")])
        match wanted:
            case NeedPrepareStep():
                name = self.hooks[number] if number < len(self.hooks) else "nothing"
                if not {*TURNS, "trip"}.isdisjoint(name.split()):
                    return processed(wanted.step, name.split())
                return HookResult(hooked(name, wanted.step))
            case NeedProcessInput():
                return processed(wanted.call, self.input.split())
            case NeedModel():
                return self._answer(number)
            case NeedTools():
                done = wanted.calls[:1] if self.partly else wanted.calls
                return ToolOutcomes([_ran(one) for one in reversed(done)])
            case NeedApprovals():
                return ApprovalsNeeded(one.tool_call_id for one in wanted.calls if one.tool_call_id == "d")
            case NeedStop():
                return HookResult([] if number < self.enough else "enough")
            case NeedFinish() if self._rejects(run, wanted):
                return Rejected("again")
            case _:
                return HookResult(object())

    def _rejects(self, run: Run, wanted: NeedFinish) -> bool:
        if run.reply is not None or wanted.result.tripwire is not None:
            return False
        return sum(isinstance(one, Rejected) for one in run.outcomes) < self.rejects

    def _answer(self, number: int) -> ModelAnswer:
        if number >= len(self.script):
            return ModelAnswer([GeneratedText("end")])
        return ModelAnswer(
            self.script[number],
            "tool-calls" if number else None,
            usage=Usage(10, number, cached_input_tokens=1, reasoning_tokens=number),
            model_id="m-1",
            response_id=f"r{number}",
            provider_metadata={"p": {"n": number}},
            warnings=["w"] * min(number, 3),
            requested_model="other" if number == 2 else None,
            model_state={"seen": number} if number else None,
        )


def answer_to(one: Pending) -> object:
    if one.kind == "approval":
        return {"approved": False, "reason": "no"} if one.tool_call_id == "d" else True
    return {"to": one.name or one.tool_name}


def question(name: str = "sure", step_number: int | None = None) -> Interrupt:
    return Interrupt(name=name, reason={"about": name}, source="invoke-model", step_number=step_number)


def _ran(one: Any) -> ToolSucceeded | ToolFailed:
    if one.tool_call_id == "d":
        return ToolFailed("d", "broke")
    return ToolSucceeded(one.tool_call_id, [1, {"a": None}], model_output=JsonOutput({"shown": True}))


def _failure(wanted: object) -> Outcome:
    error = RuntimeError("broke \ud800")
    if isinstance(wanted, NeedModel):
        return ModelFailed(error)
    return ToolsFailed(error) if isinstance(wanted, NeedTools) else HookFailed(error)


plays: Final = st.builds(
    Play,
    settings=st.sampled_from(list(SETTINGS.values())),
    messages=st.sampled_from([*HISTORIES.values()]),
    script=st.lists(contents, max_size=4),
    input=INPUTS,
    hooks=st.lists(HOOKS, max_size=4) | st.lists(HOOKS | st.just("wrong"), max_size=4),
    ends=st.none() | st.integers(0, 25),
    cancelled=st.booleans(),
    asks=st.just(frozenset[int]()) | st.frozensets(st.integers(0, 12), max_size=3),
    partly=st.booleans(),
    replies=st.booleans(),
    rejects=st.sampled_from([0, 0, 1, 3]),
)


def on(run: Run, play: Play, count: int = 0) -> Iterator[Run]:
    """The run and all that it comes to, as the play goes."""
    yield run
    while not isinstance(run.pending, (Done, Failed)) or (play.replies and pending_of(run)):
        run = give(run, play.outcome(run, count))
        count += 1
        yield run


def played(play: Play) -> list[Run]:
    """All the runs from the start of a play to its end."""
    return list(on(start(play.settings, play.messages), play))


def differences(one: Any, other: Any) -> Iterator[str]:
    """Paths at which two runs differ, also in what their equality leaves out; errors count by text."""
    done: set[tuple[int, int]] = set()
    pending: list[tuple[str, Any, Any]] = [("$", one, other)]
    while pending:
        path, left, right = pending.pop()
        if left is right or (id(left), id(right)) in done:
            continue
        done.add((id(left), id(right)))
        if isinstance(left, Exception):
            if str(left) != str(right):
                yield path
        elif type(left) is not type(right):
            yield path
        elif attrs.has(type(left)):
            # By alias: of what is kept in a private field, the property that gives it.
            names = [a.alias for a in attrs.fields(type(left)) if a.init]
            pending += [(f"{path}.{name}", getattr(left, name), getattr(right, name)) for name in names]
        elif isinstance(left, (tuple, Vector)) and len(left) == len(right):
            pending += [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(left, right, strict=True))]
        elif left != right:
            yield path
