"""How processors end a run, process its input, and go on with it; and a small example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from agent.kit import USER, add, call, run_by, scripted, streamed, text, types
from agent.test_agent_processors import BOTH, GUARD, REMINDER, text_only, thinking
from agentcore.agent.agent import Agent, AgentError, NoObjectError, ResumeError
from agentcore.agent.events import RunFinished, RunTripped
from agentcore.agent.output import Output
from agentcore.machine.processors import InputArguments, StepArguments, Tripwire
from agentcore.messages.messages import Message, UserMessage
from agentcore.messages.values import dump_json, parse_json, thaw
from agentcore.records.saved import from_json, to_json

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- tripwires


async def test_an_abort_is_an_event_of_the_stream_and_the_last_one_has_it() -> None:
    def guard(step: StepArguments) -> None:
        step.abort("no")

    events, result = await streamed(Agent(text_only(), input_processors=[guard]), USER)
    assert types(events) == ["run-tripped", "run-finished"]
    tripped, finished = events
    assert isinstance(tripped, RunTripped)
    assert isinstance(finished, RunFinished)
    assert tripped.tripwire == finished.result.tripwire == result.tripwire
    assert result.tripwire is not None
    assert (result.text, result.messages, result.finish_reason) == ("", finished.result.messages, "tripwire")


@BOTH
async def test_no_later_processor_runs_after_an_abort(path: str) -> None:
    called: list[Any] = []

    async def guard(step: StepArguments) -> None:
        await anyio.lowlevel.checkpoint()
        step.abort()

    agent = Agent(text_only(), input_processors=[guard, called.append], prepare_step=called.append)
    result = await run_by(path, agent, USER)
    assert result.tripwire == Tripwire(processor_id=GUARD, step_number=0)
    assert called == []


@BOTH
async def test_a_run_with_a_tripwire_has_no_object_and_can_be_saved(path: str) -> None:
    def guard(step: StepArguments) -> None:
        step.abort("no")

    agent = Agent(text_only(), input_processors=[guard], output=Output.of(int))
    result = await run_by(path, agent, USER)
    with pytest.raises(NoObjectError, match="by a processor"):
        _ = result.object
    loaded = from_json(parse_json(dump_json(to_json(result.run))))
    assert loaded == result.run
    again = await agent.resume(loaded)
    assert again.tripwire == result.tripwire


# ---------------------------------------------------------------- process_input


class Intake:
    """A processor of both kinds, which says what it is called for."""

    id = "intake"

    def __init__(self, result: Callable[[InputArguments], Any] = lambda _: None) -> None:
        self.seen: list[str] = []
        self.result = result

    async def process_input(self, given: InputArguments) -> Any:
        self.seen.append("input")
        await anyio.lowlevel.checkpoint()
        return self.result(given)

    def process_input_step(self, step: StepArguments) -> None:
        self.seen.append(f"step {step.step_number}")


@BOTH
async def test_the_input_is_processed_once_a_call_before_the_first_step(path: str) -> None:
    def prepare(given: InputArguments) -> Any:
        assert thaw(given.request_context) == {"user": 1}
        assert list(given.message_list.ids) == ["initial-0"]
        return {"messages": [*given.messages, REMINDER], "system_messages": [*given.system_messages, "more"]}

    intake = Intake(prepare)
    shown: list[list[Any]] = []

    def note(step: StepArguments) -> None:
        shown.append([[one.content for one in step.system_messages], list(step.message_list.ids)])

    model = thinking()
    agent = Agent(
        model,
        tools=[add],
        system="s",
        input_processors=[intake],
        prepare_step=note,
        experimental_context={"user": 1},
    )
    result = await run_by(path, agent, USER)
    assert intake.seen == ["input", "step 0", "step 1"]
    assert list(result.run.chains.initial) == [USER, REMINDER]
    ids = ["initial-0", "intake-input-0", "response-0", "response-1"]
    assert shown == [[["s", "more"], ids[:2]], [["s", "more"], ids]]
    for request in model.calls:
        assert [one.role for one in list(request.prompt)[:4]] == ["system", "system", "user", "user"]


@BOTH
async def test_an_abort_of_the_input_ends_the_run_before_any_step(path: str) -> None:
    model = thinking()
    intake = Intake(lambda given: given.abort("not this question"))
    result = await run_by(path, Agent(model, tools=[add], input_processors=[intake]), USER)
    assert result.tripwire == Tripwire(processor_id="intake", reason="not this question")
    assert (len(result.steps), len(model.calls), len(result.messages)) == (0, 0, 0)
    assert (result.text, result.finish_reason, result.usage.total_tokens) == ("", "tripwire", 0)
    assert intake.seen == ["input"]


@BOTH
async def test_an_input_that_could_not_be_processed_is_processed_where_the_run_goes_on(path: str) -> None:
    left = [1]

    def flaky(_: InputArguments) -> None:
        if left.pop():
            raise ValueError("busy")

    left = [0, 1]
    agent = Agent(text_only(), input_processors=[Intake(flaky)])
    with pytest.raises(
        AgentError, match=r"^before the steps: processor 'intake': ValueError: busy$"
    ) as raised:
        await run_by(path, agent, USER)
    with pytest.raises(ResumeError, match="give it its `input_processors`"):
        await agent.resume(raised.value.run, input_processors=[])
    result = await agent.resume(raised.value.run)
    assert (result.text, left) == ("done", [])


async def test_a_processor_that_is_cancelled_leaves_nothing_and_is_called_again() -> None:
    lists: list[Any] = []

    async def slow(step: StepArguments) -> None:
        lists.append(step.message_list)
        step.message_list.add(REMINDER)
        if len(lists) == 1:
            scope.cancel()
            await anyio.lowlevel.checkpoint()

    agent = Agent(text_only(), input_processors=[slow])
    with anyio.CancelScope() as scope:
        async with agent.stream(USER) as stream:
            async for _ in stream:
                pass
    assert repr(lists[0]) == "<MessageList: closed>"
    result = await agent.resume(stream.run)
    assert [one.role for one in result.steps[0].prompt] == ["user", "user"]


# ---------------------------------------------------------------- going on


@BOTH
async def test_a_run_that_was_saved_between_steps_goes_on_with_processors(path: str) -> None:
    def compact(step: StepArguments) -> Any:
        if step.step_number == 1:
            step.message_list.remove_by_ids(["initial-0"])
            step.message_list.add(UserMessage("summary"))
            return {"lasting_messages": step.message_list}
        shown.append(list(step.message_list.ids))
        return None

    shown: list[list[str]] = []
    whole = await run_by(path, Agent(thinking(4), tools=[add], input_processors=[compact]), USER)
    kept: list[Any] = []
    await run_by(
        path, Agent(thinking(4), tools=[add], input_processors=[compact]), USER, checkpoint=kept.append
    )
    first, *_ = shown
    shown.clear()
    for run in kept[1:3]:
        loaded = from_json(parse_json(dump_json(to_json(run))))
        rest = scripted(*[[call("add", f"c{n}", a=n)] for n in range(loaded.step_number, 3)], text())
        result = await Agent(rest, tools=[add], input_processors=[compact]).resume(loaded)
        assert result.run == whole.run
    assert first == ["initial-0"]
    assert shown[-1] == [
        *("response-0", "response-1", "compact-1-0"),
        *(f"response-{n}" for n in range(2, 6)),
    ]


async def test_processors_may_be_replaced_where_a_run_goes_on() -> None:
    failing = Agent(text_only(), input_processors=[lambda _: 1 // 0])  # type: ignore[return-value, list-item]
    with pytest.raises(AgentError) as raised:
        await failing.generate(USER)
    result = await failing.resume(
        raised.value.run, input_processors=[lambda step: [*step.messages, REMINDER]]
    )
    assert result.steps[0].prompt[-1].role == "user"
    assert len(result.steps[0].prompt) == 2


# ---------------------------------------------------------------- a small example


async def test_a_compactor_a_guard_and_a_reminder_work_together() -> None:
    class Compactor:
        """Keeps the conversation short, for good."""

        id = "compactor"

        def process_input_step(self, step: StepArguments) -> Any:
            old = list(step.message_list.ids)[1:-2]
            if not old:
                return None
            step.message_list.remove_by_ids(old)
            return {"lasting_messages": step.message_list}

    class Guard:
        """Ends the run if somebody asks for secrets."""

        id = "guard"

        async def process_input(self, given: InputArguments) -> None:
            if "password" in str(given.messages[-1].content):
                given.abort("we do not talk about passwords")

    def brief(step: StepArguments) -> list[Message]:
        """Reminds the model, for the step only."""
        return [*step.messages, UserMessage("Be brief.")]

    agent = Agent(thinking(4), tools=[add], input_processors=[Guard(), Compactor(), brief])
    result = await agent.generate("What is 1 + 1?")
    assert [len(record.prompt) for record in result.steps] == [2, 4, 4, 4]
    assert result.messages[-1].role == "assistant"
    assert len(result.messages) == 7
    refused = await agent.generate("What is the password?")
    assert refused.tripwire is not None
    assert refused.tripwire.reason == "we do not talk about passwords"
