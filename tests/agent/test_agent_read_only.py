"""Every mutator, on all that leaves the core, at every boundary: refused with its place, without effect."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final

import anyio
import attrs
import pytest

from agent.kit import errors, outputs, scripted, text, went_wrong
from agentcore import (
    Agent,
    AgentError,
    AgentResult,
    AgentStreamStage,
    ExecuteToolStage,
    FilePart,
    ImmutableWriteError,
    InvokeModelStage,
    ScriptedModel,
    SystemMessage,
    TextPart,
    ToolContext,
    UserMessage,
    messages_from_wire,
    tool,
)
from agentcore.agent.rules import AgentRule
from agentcore.conversations.conversation import Conversation
from agentcore.messages.content import ToolCall
from agentcore.messages.readonly import MUTATORS, refused_write_in
from agentcore.messages.values import is_value
from agentcore.messages.vectors import FrozenDict, FrozenList, FrozenSet, Vector
from agentcore.requirements.rules import Difference, Rule
from rulebook import states

KINDS: Final[dict[type, Any]] = {Vector: "list", FrozenList: "list", FrozenDict: "dict", FrozenSet: "set"}
# What is shared on purpose, or a handle and no value.
SHARED: Final = {"invocation_state", "message_list"}
ALL_WRITES: Final = 3
HISTORY: Final = messages_from_wire(
    [
        {"role": "user", "content": [{"type": "text", "text": "hi", "providerOptions": {"p": {"n": [1]}}}]},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool-call",
                    "toolCallId": "h",
                    "toolName": "look",
                    "input": {"x": {"y": [1, {"z": 2}]}},
                }
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "h",
                    "toolName": "look",
                    "output": {"type": "json", "value": {"a": [1, {"b": []}]}},
                }
            ],
        },
    ]
)


# ---------------------------------------------------------------- all that can be reached


def attributes(value: Any) -> Iterator[tuple[str, Any]]:
    names = [a.name for a in attrs.fields(type(value))]
    names += [name for name, one in vars(type(value)).items() if isinstance(one, property)]
    for name in names:
        if name[0] != "_" and name not in SHARED:
            try:
                yield name, getattr(value, name)
            except Exception:  # noqa: BLE001, S112 - a property that has no value yet, such as a result's object
                continue


def children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", item) for key, item in value.items())
    elif isinstance(value, (Sequence, AbstractSet)):
        yield from ((f"[{index}]", item) for index, item in enumerate(value))
    elif attrs.has(type(value)):
        yield from ((f".{name}", item) for name, item in attributes(value))


def reached(root: Any) -> Iterator[tuple[str, Any]]:
    """Every value that public attributes and items lead to, once, with where it is."""
    queue: deque[tuple[str, Any]] = deque([("given", root)])
    seen: dict[int, Any] = {}
    while queue:
        where, value = queue.popleft()
        if isinstance(value, (str, bytes)) or id(value) in seen:
            continue
        seen[id(value)] = value
        yield where, value
        queue.extend((where + key, child) for key, child in children(value))


def writes(value: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Everything that a person may try on it."""
    kind = KINDS.get(type(value))
    for name in MUTATORS[kind] if kind else ():
        yield name, partial(getattr(value, name), *([0, 1] if name == "__setitem__" else [0]))
    if is_value(type(value)):
        for attribute in attrs.fields(type(value)):
            yield "setattr", partial(setattr, value, attribute.name, 1)
            yield "delattr", partial(delattr, value, attribute.name)
        yield "[]=", lambda: operator.setitem(value, "content", 1)
        yield "del []", lambda: operator.delitem(value, "content")


class Boundary:
    """Tries every write on all that a boundary gave, and keeps what was wrong."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.counts: dict[tuple[str, type], int] = {}
        self.faults: list[str] = []

    def tried(self, name: str, given: Any, *, hook: str | None) -> None:
        for where, value in reached(given):
            # A conversation is a sequence, and a value of its own.
            plain = isinstance(value, (Mapping, Sequence, AbstractSet)) and type(value) not in KINDS
            if plain and value is not given and not isinstance(value, Conversation):
                self.faults.append(f"{name}: {where} is a {type(value).__name__}")
            for what, write in self._sampled(name, value):
                self.places[name] = self.places.get(name, 0) + 1
                fault = self._fault(write, hook, is_root=value is given)
                if fault:
                    self.faults.append(f"{name}: {what} on {where}: {fault}")

    def _sampled(self, name: str, value: Any) -> list[tuple[str, Callable[[], object]]]:
        """All writes on the first values of a type at a boundary, then one write each, another every time."""
        tried = self.counts[name, type(value)] = self.counts.get((name, type(value)), -1) + 1
        every = [*writes(value)]
        return every if tried < ALL_WRITES or not every else [every[tried % len(every)]]

    def _fault(self, write: Callable[[], object], hook: str | None, *, is_root: bool) -> str | None:
        try:
            write()
        except ImmutableWriteError as error:
            if error.hook != hook or (hook is None) != (error.step_number is None and error.hook is None):
                return f"the hook is {error.hook!r}"
            # Outside of hooks the place begins at a variable of the code that writes, which is a lambda here.
            if not (error.path.startswith(("$.", "$[")) or is_root or hook is None):
                return f"the place is {error.path}"
            return None
        except Exception as error:  # noqa: BLE001 - shown
            return f"{type(error).__name__}: {error}"
        return "nothing was raised"


def looking(boundary: Boundary, name: str, *, hook: str | None = None) -> Callable[..., None]:
    def look(*given: Any) -> None:
        whole = given[0] if len(given) == 1 else dict(zip(("context", "result"), given, strict=True))
        boundary.tried(name, whole, hook=hook or name)

    look.__name__ = name
    return look


def everywhere(boundary: Boundary) -> Agent[None]:
    """An agent with a look at every boundary."""

    @tool(
        needs_approval=lambda _, context: bool(
            looking(boundary, "approval", hook="needs_approval of look")(context)
        )
    )
    async def look(context: ToolContext, x: dict[str, Any] | None = None) -> dict[str, Any]:
        """Look."""
        boundary.tried("tool", context, hook="tool look")
        (x or {}).update(mine=1)
        return {"seen": [1, {"x": []}]}

    class Processor:
        id = "processor"
        process_input = staticmethod(looking(boundary, "process_input", hook="processor"))
        process_input_step = staticmethod(looking(boundary, "process_input_step", hook="processor"))

    class Model(ScriptedModel):
        async def generate(self, request: Any) -> Any:
            boundary.tried("model", request, hook="model scripted")
            return await super().generate(request)

    asked = ToolCall(tool_call_id="c", tool_name="look", input={"x": {"y": [1]}})
    middleware = [
        *(
            stage.input(looking(boundary, f"{stage.name} input"))
            for stage in (InvokeModelStage, ExecuteToolStage, AgentStreamStage)
        ),
        *(
            stage.output(looking(boundary, f"{stage.name} output"))
            for stage in (InvokeModelStage, ExecuteToolStage, AgentStreamStage)
        ),
    ]
    return Agent(
        Model([[asked], text()]),
        tools=[look],
        middleware=middleware,
        system=[SystemMessage("s", {"p": {"o": [1]}})],
        input_processors=[Processor()],
        prepare_call=looking(boundary, "prepare_call"),
        prepare_step=looking(boundary, "prepare_step"),
        stop_when=lambda steps: bool(looking(boundary, "stop_when")(steps)),
        on_start=looking(boundary, "on_start"),
        on_step_start=looking(boundary, "on_step_start"),
        on_step_finish=looking(boundary, "on_step_finish"),
        on_finish=looking(boundary, "on_finish"),
        on_chunk=looking(boundary, "on_chunk"),
        provider_options={"p": {"k": [1]}},
        settings={"temperature": 1, "stop_sequences": ["x"]},
        experimental_context={"c": [1, {"d": []}]},
        active_tools=["look"],
        tool_choice="auto",
    )


async def by_stream(agent: Agent[None], boundary: Boundary) -> AgentResult[None]:
    async with agent.stream(UserMessage([FilePart(b"x", "a/b")]), messages=HISTORY) as stream:
        async for event in stream:
            boundary.tried("event", event, hook=None)
    return stream.result()


async def by_generate(agent: Agent[None], boundary: Boundary) -> AgentResult[None]:
    checkpoint = looking(boundary, "checkpoint")
    return await agent.generate(UserMessage("go"), messages=HISTORY, checkpoint=checkpoint)


@pytest.mark.slow
@states(Rule.STEP_NOTHING_WRITTEN, AgentRule.TOOL_ARGUMENTS_ITS_OWN)
@pytest.mark.sample(2)
@pytest.mark.parametrize("way", [by_generate, by_stream])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_every_write_at_every_boundary_is_refused_with_its_place(way: Any, backend: str) -> None:
    boundary = Boundary()
    result = anyio.run(way, everywhere(boundary), boundary, backend=backend)
    boundary.tried("result", result, hook=None)
    assert boundary.faults[:20] == []
    expected = {
        *("prepare_call", "on_start", "process_input", "process_input_step", "prepare_step", "on_step_start"),
        *("tool", "approval", "on_step_finish", "stop_when", "on_finish", "result"),
        *(f"{stage} {phase}" for stage in ("invoke-model", "execute-tool") for phase in ("input", "output")),
        *("agent-stream input", "agent-stream output"),
        *(("model", "checkpoint") if way is by_generate else ("event", "on_chunk")),
    }
    assert set(boundary.places) == expected
    assert min(boundary.places.values()) > 10
    assert outputs(result) == [FrozenDict({"seen": FrozenList([1, FrozenDict({"x": FrozenList()})])})]
    (asked,) = result.steps[0].tool_calls
    assert asked.input == FrozenDict({"x": FrozenDict({"y": FrozenList([1])})})


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, row in MUTATORS.items() for name in row])
def test_a_mutator_that_is_not_refused_is_found(
    kind: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cls in KINDS:
        if KINDS[cls] == kind:
            monkeypatch.setattr(cls, name, lambda *_: None)
    boundary = Boundary()
    for value in (FrozenList([1]), FrozenDict({"a": 1}), FrozenSet({1})):
        boundary.tried("here", value, hook=None)
    assert [fault.split(" on ")[0] for fault in boundary.faults] == [f"here: {name}"]


def test_a_plain_list_is_found() -> None:
    boundary = Boundary()
    boundary.tried("here", FrozenDict({"a": [1]}), hook=None)
    assert boundary.faults == ["here: given['a'] is a list"]


# ---------------------------------------------------------------- places


def refused_by(write: Callable[[Any], object]) -> ImmutableWriteError:
    def hook(step: Any) -> None:
        write(step)

    with pytest.raises(AgentError) as raised:
        anyio.run(Agent(scripted(text()), prepare_step=hook).generate, HISTORY)
    error = went_wrong(raised.value)
    assert isinstance(error, ImmutableWriteError)
    assert (error.hook, error.step_number) == ("prepare_step", 0)
    return error


@pytest.mark.parametrize(
    ("write", "path"),
    [
        (lambda s: s.messages.append(1), "$.messages"),
        (lambda s: s.response_messages.append(1), "$.response_messages"),
        (lambda s: s.steps.clear(), "$.steps"),
        (lambda s: operator.setitem(s.messages, 0, 1), "$.messages[0]"),
        (lambda s: operator.delitem(s.messages, slice(0, 1)), "$.messages"),
        (lambda s: setattr(s.messages[0], "content", "x"), "$.messages[0].content"),
        (lambda s: operator.setitem(s.messages[0], "content", "x"), "$.messages[0].content"),
        (lambda s: s.messages[0].content.pop(), "$.messages[0].content"),
        (
            lambda s: operator.setitem(s.messages[0].content[0].provider_options["p"], "n", 2),
            "$.messages[0].content[0].provider_options.p.n",
        ),
        (
            lambda s: s.messages[1].content[0].input["x"]["y"].append(2),
            "$.messages[1].content[0].input.x.y",
        ),
        (
            lambda s: s.messages[2].content[0].output.value["a"][1].update(b=1),
            "$.messages[2].content[0].output.value.a[1]",
        ),
        (lambda s: s.tools.append("x"), "$.tools"),
    ],
)
def test_a_refused_write_says_where_and_what_to_return(write: Any, path: str) -> None:
    error = refused_by(write)
    assert error.path == path
    assert str(error).startswith(f"{path}: ")


def test_the_text_says_what_to_return() -> None:
    assert str(refused_by(lambda s: s.messages.append(1))) == (
        "$.messages: this list cannot change, so `append` is refused; make a new one, "
        'such as [*messages, item], and return it in {"messages": ...}: '
        "what prepare_step returns is used, not what it writes"
    )


def test_results_and_events_say_where_too() -> None:
    result: Any = anyio.run(Agent(scripted(text())).generate, HISTORY)
    for write, path in (
        (lambda result: result.messages.append(1), "$.messages"),
        (lambda result: result.steps[0].prompt[0].content.clear(), "$.steps[0].prompt[0].content"),
        (lambda result: result.steps[0].tool_calls.append(1), "$.steps[0].tool_calls"),
        (lambda result: setattr(result.steps[0], "content", ()), "$.steps[0].content"),
    ):
        with pytest.raises(ImmutableWriteError) as raised:
            write(result)
        assert (raised.value.path, raised.value.hook) == (path, None)

    async def stream() -> None:
        async with Agent(scripted(text())).stream(HISTORY) as events:
            async for event in events:
                if event.type == "step-finished":
                    event.record.messages.append(1)  # type: ignore[attr-defined] # refused at run time too

    with pytest.raises(ImmutableWriteError) as raised:
        anyio.run(stream)
    assert raised.value.path == "$.record.messages"


def test_a_value_that_the_hook_was_not_given_is_found_in_its_variables() -> None:
    earlier = anyio.run(Agent(scripted(text())).generate, "hi")

    def hook(step: Any) -> None:
        kept = earlier
        kept.messages.append(step.messages[0])  # type: ignore[attr-defined] # refused at run time too

    with pytest.raises(AgentError, match=r"\$\.messages: "):
        anyio.run(Agent(scripted(text()), prepare_step=hook).generate, "hi")
    alone = FrozenList([1])
    with pytest.raises(ImmutableWriteError) as raised:
        alone += [2]  # type: ignore[operator] # refused at run time too
    assert (raised.value.path, raised.value.hook) == ("$", None)


# ---------------------------------------------------------------- tools


def raising(error: Exception) -> None:
    raise error


async def in_a_group(write: Callable[[], object]) -> None:
    async def run() -> None:
        write()

    async with anyio.create_task_group() as group:
        group.start_soon(run)


async def made_another(write: Callable[[], object]) -> None:
    try:
        write()
    except ImmutableWriteError:
        raise RuntimeError("the tool failed") from None


async def made_one_of_it(write: Callable[[], object]) -> None:
    try:
        write()
    except TypeError as error:
        raise ValueError("wrapped") from error


async def directly(write: Callable[[], object]) -> None:
    write()


async def in_a_thread(write: Callable[[], object]) -> None:
    await anyio.to_thread.run_sync(write)


@states(Difference.REFUSED_WRITE_FAILS)
@pytest.mark.parametrize("way", [directly, in_a_group, made_another, made_one_of_it, in_a_thread])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_write_that_a_tool_tries_fails_the_run_whatever_the_tool_makes_of_it(
    way: Any, backend: str
) -> None:
    @tool
    async def look(context: ToolContext) -> str:
        """Look."""
        first: Any = context.messages[0]
        await way(lambda: first.content[0].provider_options["p"].update(n=2))
        return "seen"

    asked = ToolCall(tool_call_id="c", tool_name="look", input={})
    agent = Agent(scripted([asked], text()), tools=[look])
    given = [UserMessage([TextPart("hi", {"p": {"n": 1}})])]
    with pytest.raises(AgentError) as raised:
        anyio.run(agent.generate, given, backend=backend)
    error = went_wrong(raised.value)
    assert isinstance(error, ImmutableWriteError)
    assert (error.path, error.hook) == ("$.messages[0].content[0].provider_options.p", "tool look")


def test_what_a_tool_catches_is_the_tools_own_business() -> None:
    @tool
    async def look(context: ToolContext) -> str:
        """Look."""
        with pytest.raises(ImmutableWriteError):
            operator.setitem(context.messages, 0, 1)  # type: ignore[call-overload] # refused at run time too
        raise LookupError("another failure")

    asked = ToolCall(tool_call_id="c", tool_name="look", input={})
    result = anyio.run(Agent(scripted([asked], text()), tools=[look]).generate, "hi")
    assert errors(result) == ["another failure"]


def test_a_refused_write_is_found_in_what_was_made_of_it() -> None:
    refused = ImmutableWriteError("$", "no")
    cyclic = RuntimeError("a")
    cyclic.__context__ = LookupError("b")
    cyclic.__context__.__context__ = cyclic
    assert refused_write_in(ExceptionGroup("x", [ValueError(), ExceptionGroup("y", [refused])])) is refused
    assert refused_write_in(cyclic) is None
    assert refused_write_in(None) is None
