"""Processors on agents: every item of the specification's test plan, on both paths and both backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest

from agent.kit import USER, add, call, echo, run_by, scripted, text, went_wrong
from agent.plan import COVERED, PLAN, of_plan
from agentcore.agent.agent import Agent, AgentError, AgentResult
from agentcore.agent.models import ScriptedModel
from agentcore.agent.output import Output
from agentcore.agent.rules import AgentRule
from agentcore.errors import (
    ConflictingResultError,
    ForeignMessageListError,
    ImmutableWriteError,
    InvalidOverrideError,
    InvalidProcessorError,
    ProcessorFailedError,
    UnsupportedModelError,
)
from agentcore.machine.processors import StepArguments, Tripwire
from agentcore.messages.messages import Message, SystemMessage, UserMessage
from agentcore.messages.values import thaw
from agentcore.requirements.differences import Difference
from rulebook import states

pytestmark = pytest.mark.anyio
PATHS = ["generate", "stream"]
BOTH = pytest.mark.parametrize("path", PATHS)
PLACES = ["constructor", "call", "default prepare_step", "call prepare_step"]
EVERYWHERE = pytest.mark.parametrize("place", PLACES)
REMINDER = UserMessage("remember")
GUARD = "guard"


def thinking(steps: int = 2, **fields: Any) -> ScriptedModel:
    """A model that calls a tool in each step but the last."""
    calls = [[call("add", f"c{number}", a=number)] for number in range(steps - 1)]
    return scripted(*calls, text(), **fields)


async def run_in(
    place: str, path: str, processor: Callable[[StepArguments], Any], model: Any = None, **fields: Any
) -> AgentResult[Any]:
    """A run in which a processor is given in one of the places."""
    name = "prepare_step" if place.endswith("prepare_step") else "input_processors"
    given: dict[str, Any] = {name: processor if name == "prepare_step" else [processor]}
    model = thinking() if model is None else model
    if place.startswith("call"):
        return await run_by(path, Agent(model, tools=[add, echo], **fields), USER, **given)
    return await run_by(path, Agent(model, tools=[add, echo], **fields, **given), USER)


def once(step_number: int, **fields: Any) -> Callable[[StepArguments], Any]:
    """A processor that returns these fields at one step."""

    def processor(step: StepArguments) -> Mapping[str, Any] | None:
        return fields if step.step_number == step_number else None

    return processor


# ---------------------------------------------------------------- one processor, in every place


@EVERYWHERE
@BOTH
@of_plan("ProcessorRunner", "one modifies model")
@of_plan("default prepareStep", "modifies model")
async def test_a_processor_modifies_the_model_of_its_step(path: str, place: str) -> None:
    other = scripted([call("add", "d", a=1)], model_id="other")
    by_id = await run_in(place, path, once(0, model="other"), text_only(), models=[other])
    assert [record.model for record in by_id.steps] == ["other", "scripted"]
    fresh = scripted([call("add", "d", a=1)], model_id="fresh")
    itself = await run_in(place, path, once(0, model=fresh), text_only())
    assert [record.model for record in itself.steps] == ["fresh", "scripted"]
    assert len(fresh.calls) == 1


def text_only() -> ScriptedModel:
    return scripted(text())


@EVERYWHERE
@BOTH
@of_plan("ProcessorRunner", "one modifies toolChoice")
@of_plan("default prepareStep", "modifies toolChoice")
async def test_a_processor_modifies_the_tool_choice_of_its_step(path: str, place: str) -> None:
    model = thinking()
    await run_in(place, path, once(0, tool_choice={"type": "tool", "toolName": "add"}), model)
    assert [thaw(request.tool_choice) for request in model.calls] == [
        {"type": "tool", "toolName": "add"},
        {"type": "auto"},
    ]


@EVERYWHERE
@BOTH
@of_plan("ProcessorRunner", "one modifies activeTools")
@of_plan("default prepareStep", "modifies activeTools")
async def test_a_processor_modifies_the_active_tools_of_its_step(path: str, place: str) -> None:
    model = thinking()
    await run_in(place, path, once(0, active_tools=["add"]), model)
    offered = [[tool.name for tool in request.tools or ()] for request in model.calls]
    assert offered == [["add"], ["add", "echo"]]


@EVERYWHERE
@states(Difference.OVERRIDES_CHECKED)
@pytest.mark.parametrize(
    ("returned", "where"),
    [
        ({"active_tools": ["add", "no_such_tool"]}, "$.active_tools[1]"),
        ({"tool_choice": {"type": "tool", "toolName": "no_such_tool"}}, "$.tool_choice.toolName"),
    ],
)
async def test_the_name_of_a_tool_that_is_not_there_is_refused(
    place: str, returned: dict[str, Any], where: str
) -> None:
    with pytest.raises(
        AgentError, match="no tool is named 'no_such_tool'; the tools are add, echo"
    ) as raised:
        await run_in(place, "generate", once(0, **returned), thinking())
    assert raised.value.path == where
    with pytest.raises(InvalidOverrideError, match="no tool is named 'no_such_tool'; the tools are add"):
        Agent(thinking(), tools=[add], **returned)
    with pytest.raises(InvalidOverrideError, match="the tools are none"):
        await Agent(thinking()).generate("hi", **returned)


@EVERYWHERE
@BOTH
@of_plan("ProcessorRunner", "one modifies messages")
async def test_a_processor_modifies_the_messages_of_its_step(path: str, place: str) -> None:
    def remind(step: StepArguments) -> list[Message]:
        return [*step.messages, REMINDER]

    model = thinking()
    result = await run_in(place, path, remind, model)
    for request, record in zip(model.calls, result.steps, strict=True):
        assert request.prompt[-1].content[0].text == "remember"  # type: ignore[union-attr]
        assert REMINDER not in record.step_input
    assert REMINDER not in result.messages


@EVERYWHERE
@BOTH
@of_plan("ProcessorRunner", "one modifies systemMessages")
async def test_a_processor_modifies_the_system_messages_of_its_step(path: str, place: str) -> None:
    def state(step: StepArguments) -> Any:
        if step.step_number == 1:
            return None
        return {"system_messages": [*step.system_messages, {"role": "system", "content": "more"}]}

    model = thinking(3)
    await run_in(place, path, state, model, system="s")
    prompts = [[one.content for one in request.prompt if one.role == "system"] for request in model.calls]
    assert prompts == [["s", "more"], ["s"], ["s", "more"]]


@EVERYWHERE
@BOTH
async def test_a_processor_modifies_settings_and_the_format_of_the_answer(path: str, place: str) -> None:
    model = scripted(text('{"result": 7}'))
    output = Output.of(int)
    fields = {"model_settings": {"top_p": 1}, "structured_output": output.response_format}
    await run_in(place, path, once(0, **fields), model, settings={"temperature": 0, "top_p": 0.5})
    assert thaw(model.calls[0].settings) == {"temperature": 0, "top_p": 1}
    assert model.calls[0].response_format == output.response_format


# ---------------------------------------------------------------- what they are handed


@EVERYWHERE
@BOTH
@of_plan("PrepareStepProcessor", "right arguments")
@of_plan("constructor inputProcessors", "step context")
@of_plan("generate with inputProcessors", "right arguments")
@of_plan("stream with inputProcessors", "right arguments")
@of_plan("edge cases", "stepNumber increments", "steps has previous results")
async def test_a_processor_is_handed_the_step_as_it_is(path: str, place: str) -> None:
    handed: list[StepArguments] = []
    output = Output.of(int)
    fields: dict[str, Any] = {
        "system": "s",
        "tool_choice": "auto",
        "active_tools": ["add"],
        "provider_options": {"p": {"a": 1}},
        "experimental_context": {"user": 1},
        "settings": {"temperature": 0},
    }
    model = scripted([call("add", "c0", a=1)], [call("add", "c1", a=2)], text('{"result": 3}'))
    result = await run_in(place, path, handed.append, model, output=output, **fields)
    assert [step.step_number for step in handed] == [0, 1, 2]
    for number, step in enumerate(handed):
        assert list(step.steps) == list(result.steps)[:number]
        assert step.messages is step.lasting_messages
        assert list(step.messages) == [*step.initial_messages, *step.response_messages]
        assert list(step.initial_messages) == [USER]
        assert len(step.response_messages) == 2 * number
        assert (step.model, step.tools, step.active_tools) == ("scripted", ("add", "echo"), ("add",))
        assert list(step.system_messages) == [SystemMessage("s")]
        assert thaw(step.tool_choice) == {"type": "auto"}
        assert thaw(step.provider_options) == {"p": {"a": 1}}
        assert thaw(step.model_settings) == {"temperature": 0}
        assert step.structured_output == output.response_format
        assert thaw(step.experimental_context) == thaw(step.request_context) == {"user": 1}
        assert step.processor_id == ("append" if "prepare_step" not in place else "prepare_step")
    assert handed[2].steps[0].tool_calls[0].tool_call_id == "c0"
    assert handed[2].steps[1].text == ""


@BOTH
@of_plan("constructor inputProcessors", "every generate", "every stream")
@of_plan("default prepareStep", "every generate", "every stream")
async def test_processors_of_the_agent_run_at_every_step_of_every_call(path: str) -> None:
    seen: list[str] = []

    class Noting:
        id = "noting"

        def process_input_step(self, step: StepArguments) -> None:
            seen.append(f"{self.id} {step.step_number}")

    def prepare(step: StepArguments) -> None:
        seen.append(f"prepare_step {step.step_number}")

    for _ in range(2):
        agent = Agent(thinking(), tools=[add], input_processors=[Noting()], prepare_step=prepare)
        await run_by(path, agent, USER)
    assert seen == ["noting 0", "prepare_step 0", "noting 1", "prepare_step 1"] * 2


@BOTH
@of_plan("ProcessorRunner", "several chain")
@of_plan("constructor inputProcessors", "several chain")
@of_plan("PrepareStepProcessor", "return value passed")
async def test_each_processor_is_handed_what_the_one_before_left_and_prepare_step_is_last(path: str) -> None:
    handed: list[StepArguments] = []

    def first(step: StepArguments) -> Any:
        handed.append(step)
        return {
            "model": "other",
            "tool_choice": "none",
            "active_tools": ["echo"],
            "provider_options": {"p": {"b": 2}},
            "model_settings": {"top_p": 1},
            "experimental_context": {"by": "first"},
            "messages": [*step.messages, REMINDER],
            "system_messages": "first",
        }

    async def second(step: StepArguments) -> Any:
        handed.append(step)
        step.message_list.add(UserMessage("second"))
        return {"tool_choice": "auto"}

    def prepare(step: StepArguments) -> Any:
        handed.append(step)
        return {"tool_choice": "required", "system_messages": [*step.system_messages, "last"]}

    other = scripted([call("echo", "c", text="x")], model_id="other")
    agent = Agent(
        text_only(),
        tools=[add, echo],
        models=[other],
        provider_options={"p": {"a": 1}},
        settings={"temperature": 0},
        input_processors=[first, second],
        prepare_step=prepare,
        stop_when=lambda _: True,
    )
    await run_by(path, agent, USER)
    for step in handed[1:]:
        assert (step.model, step.active_tools) == ("other", ("echo",))
        assert thaw(step.provider_options) == {"p": {"a": 1, "b": 2}}
        assert thaw(step.model_settings) == {"temperature": 0, "top_p": 1}
        assert (thaw(step.experimental_context), step.request_context) == ({"by": "first"}, None)
        assert list(step.system_messages) == [SystemMessage("first")]
        assert list(step.lasting_messages) == [USER]
    assert [thaw(step.tool_choice) for step in handed] == [None, {"type": "none"}, {"type": "auto"}]
    assert list(handed[1].messages) == [USER, REMINDER]
    assert list(handed[2].messages) == [USER, REMINDER, UserMessage("second")]
    (request,) = other.calls
    assert thaw(request.tool_choice) == {"type": "required"}
    assert [one.content for one in list(request.prompt)[:2]] == ["first", "last"]
    assert thaw(request.settings) == {"temperature": 0, "top_p": 1}


@states(Difference.PROCESSED_FOR_THE_STEP)
@BOTH
@EVERYWHERE
@of_plan("ProcessorRunner", "list mutations tracked")
async def test_what_is_done_to_the_message_list_is_tracked_and_is_for_the_step(path: str, place: str) -> None:
    mutations: list[Any] = []

    async def edit(step: StepArguments) -> Any:
        listed = step.message_list
        await anyio.lowlevel.checkpoint()
        listed.replace("initial-0", UserMessage("edited"))
        listed.add(REMINDER)
        listed.add_system("more")
        mutations.append([(mutation.kind, mutation.ids) for mutation in listed.mutations])

    model = thinking()
    result = await run_in(place, path, edit, model)
    name = "prepare_step" if "prepare_step" in place else "edit"
    assert mutations == [
        [("replace", ("initial-0",)), ("add", (f"{name}-{number}-0",)), ("add_system", ())]
        for number in range(2)
    ]
    roles = [[one.role for one in request.prompt] for request in model.calls]
    assert roles == [["system", "user", "user"], ["system", "user", "assistant", "tool", "user"]]
    assert [record.step_input[0] for record in result.steps] == [USER, USER]


@of_plan("PrepareStepProcessor", "undefined return")
@of_plan("edge cases", "returns nothing", "partial result", "no processors")
@BOTH
async def test_nothing_and_partial_results_leave_the_rest_as_it_was(path: str) -> None:
    plain = await run_by(path, Agent(thinking(), tools=[add]), USER)
    nothing: list[dict[str, Any]] = [
        {"input_processors": []},
        {"input_processors": [lambda _: None, lambda _: {}], "prepare_step": lambda _: None},
        {"prepare_step": lambda step: step.message_list},
    ]
    for fields in nothing:
        result = await run_by(path, Agent(thinking(), tools=[add], **fields), USER)
        assert result.run == plain.run
    model = thinking()
    partial = await run_by(
        path, Agent(model, tools=[add], prepare_step=lambda _: {"tool_choice": "auto"}), USER
    )
    assert [record.model for record in partial.steps] == ["scripted"] * 2
    assert [list(record.prompt) for record in partial.steps] == [list(r.prompt) for r in plain.steps]


# ---------------------------------------------------------------- placement


@BOTH
@states(AgentRule.PROCESSOR_CALL_REPLACES)
@of_plan("generate with inputProcessors", "replace", "constructor's not called")
@of_plan("stream with inputProcessors", "replace", "constructor's not called")
async def test_processors_of_a_call_replace_those_of_the_agent(path: str) -> None:
    seen: list[str] = []

    def noting(name: str) -> Any:
        return lambda _: seen.append(name)

    agent = Agent(text_only(), input_processors=[noting("agent"), noting("agent too")])
    await run_by(path, agent, USER, input_processors=[noting("call")])
    await run_by(path, agent, USER, input_processors=[])
    assert seen == ["call"]
    await run_by(path, agent, USER, input_processors=[*agent.input_processors, noting("more")])
    assert seen == ["call", "agent", "agent too", "more"]
    prepared = Agent(
        text_only(), input_processors=[noting("no")], prepare_call=lambda _: {"input_processors": []}
    )
    await run_by(path, prepared, USER)
    assert seen[4:] == []


@BOTH
@of_plan("generate with prepareStep", "works", "overrides the default")
@of_plan("stream with prepareStep", "works", "overrides the default")
async def test_prepare_step_of_a_call_replaces_that_of_the_agent(path: str) -> None:
    seen: list[str] = []
    agent = Agent(text_only(), prepare_step=lambda _: seen.append("agent"))
    await run_by(path, agent, USER, prepare_step=lambda _: seen.append("call"))
    await run_by(path, agent, USER, prepare_step=None)
    await run_by(path, agent, USER)
    assert seen == ["call", "agent"]


def test_what_is_no_processor_is_refused_where_it_is_given() -> None:
    with pytest.raises(InvalidProcessorError):
        Agent(text_only(), input_processors=[7])  # type: ignore[list-item]


# ---------------------------------------------------------------- errors


@EVERYWHERE
@BOTH
@of_plan("ProcessorRunner", "rejects another list", "rejects messages with list", "rejects v1 models")
async def test_results_that_are_none_fail_the_run_and_name_processor_and_step(path: str, place: str) -> None:
    kept: list[Any] = []

    class Version1:
        model_id = "v1"

    wrong: dict[type[Exception], Callable[[StepArguments], Any]] = {
        ForeignMessageListError: lambda _: kept[0],
        ConflictingResultError: lambda step: {"messages": [], "message_list": step.message_list},
        UnsupportedModelError: lambda _: {"model": Version1()},
        InvalidOverrideError: lambda _: {"toolChoice": "none"},
    }
    for kind, result in wrong.items():

        def at_step_1(step: StepArguments, result: Any = result) -> Any:
            kept.append(step.message_list)
            return result(step) if step.step_number == 1 else None

        with pytest.raises(AgentError) as raised:
            await run_in(place, path, at_step_1)
        assert type(raised.value.__cause__) is kind
        cause: Any = raised.value.__cause__
        name = "prepare_step" if "prepare_step" in place else "at_step_1"
        assert (cause.processor_id, cause.step_number) == (name, 1)
        assert len(raised.value.run.steps) == 1


@BOTH
@pytest.mark.parametrize("is_async", [False, True])
@of_plan("ProcessorRunner", "error stops the chain")
async def test_an_error_stops_the_chain_and_drops_what_was_done_to_the_list(
    path: str, is_async: bool
) -> None:
    lists: list[Any] = []
    called: list[int] = []

    def fails(step: StepArguments) -> Any:
        lists.append(step.message_list)
        step.message_list.add(REMINDER)
        if step.step_number == 1 and len(lists) == 2:
            raise ValueError("broken")

    async def fails_later(step: StepArguments) -> Any:
        await anyio.lowlevel.checkpoint()
        return fails(step)

    model = thinking()
    processors: Any = [fails_later if is_async else fails, lambda step: called.append(step.step_number)]
    agent = Agent(model, tools=[add], input_processors=processors)
    with pytest.raises(AgentError, match=r"^step 1: processor 'fails.*': ValueError: broken$") as raised:
        await run_by(path, agent, USER)
    cause = raised.value.__cause__
    assert isinstance(cause, ProcessorFailedError)
    assert isinstance(cause.__cause__, ValueError)
    assert called == [0]
    assert len(model.calls) == len(raised.value.run.steps) == 1
    assert repr(lists[1]) == "<MessageList: closed>"
    result = await agent.resume(raised.value.run)
    assert called == [0, 1]
    assert [list(record.prompt)[-1].role for record in result.steps] == ["user", "user"]


@states(Difference.PROCESSORS_GET_VALUES)
@EVERYWHERE
async def test_a_write_into_what_is_handed_is_refused_with_what_to_return(place: str) -> None:
    def write(step: StepArguments) -> None:
        step.messages += [REMINDER]  # type: ignore[misc]

    def write_below(step: StepArguments) -> None:
        step.messages[-1].content = "other"  # type: ignore[misc]

    for processor, says in ((write, 'return it in {"messages": ...}: what '), (write_below, "attrs.evolve")):
        with pytest.raises(AgentError) as raised:
            await run_in(place, "generate", processor)
        error = went_wrong(raised.value)
        assert isinstance(error, ImmutableWriteError)
        assert says in str(error)


@states(Difference.PARTS_CLOSED)
@EVERYWHERE
async def test_a_part_of_a_type_that_no_message_has_is_refused_with_what_to_do(place: str) -> None:
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}
    with pytest.raises(AgentError) as raised:
        await run_in(place, "generate", lambda step: {"messages": [*step.messages, thought]})
    error = went_wrong(raised.value)
    assert isinstance(error, InvalidOverrideError)
    assert error.path == "$.messages[1].content[0].type"
    assert "what only a provider knows goes into providerOptions" in str(error)


# ---------------------------------------------------------------- tripwires


@EVERYWHERE
@BOTH
@of_plan("ProcessorRunner", "abort")
async def test_a_processor_can_abort_the_run(path: str, place: str) -> None:
    def guard(step: StepArguments) -> None:
        if step.step_number == 1:
            step.abort("not that", retry=True, metadata={"score": 1})

    model = thinking(3)
    finished: list[Any] = []
    result = await run_in(place, path, guard, model, on_finish=finished.append)
    name = "prepare_step" if "prepare_step" in place else GUARD
    assert result.tripwire == Tripwire(
        processor_id=name, step_number=1, reason="not that", retry=True, metadata={"score": 1}
    )
    assert result.finish_reason == "tripwire"
    assert (len(result.steps), len(model.calls), result.text) == (1, 1, "")
    assert [message.role for message in result.messages] == ["assistant", "tool"]
    assert [one.tripwire for one in finished] == [result.tripwire]
    assert result.usage == result.steps[0].usage


def test_every_item_of_the_plan_has_its_test() -> None:
    # "generic tools" is about types: tests/agent/typed/test_processor_types.py.
    items = {(section, item) for section, items in PLAN.items() for item in items}
    assert items - COVERED == {("PrepareStepProcessor", "generic tools")}
