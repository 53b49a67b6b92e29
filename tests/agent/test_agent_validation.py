"""Prompts that providers refuse, from every place that messages come from, and how to send them anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import anyio
import attrs
import pytest

from agent.kit import add, call, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentError, AgentResult, CallArguments
from agentcore.agent.middleware import (
    AgentStreamContext,
    AgentStreamStage,
    CallAgent,
    CallModel,
    InvokeModelContext,
    InvokeModelStage,
)
from agentcore.agent.models import ScriptedModel
from agentcore.agent.models.base import ModelResponse
from agentcore.errors import MissingToolResultsError, RefusedPromptError
from agentcore.machine.processors import InputArguments, StepArguments
from agentcore.messages import chains
from agentcore.messages.chains import PromptState
from agentcore.messages.messages import Message, UserMessage
from agentcore.messages.prompt import Rounds
from agentcore.messages.values import thaw, vector
from agentcore.records.history import fork
from agentcore.records.saved import from_json, to_json
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from refusals import REFUSED, SYSTEM, TAKEN, calls, results
from rulebook import states

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])

Messages = list[Message]
Made = Callable[[Messages], tuple[dict[str, Any], dict[str, Any]]]


class Returning:
    """A processor that returns its messages at one step, or for the input."""

    id = "p"

    def __init__(self, messages: Messages, *, where: str) -> None:
        self._messages = messages
        self._where = where

    def process_input(self, _: InputArguments) -> Any:
        return self._messages if self._where == "input" else None

    def process_input_step(self, step: StepArguments) -> Any:
        if self._where == "list" and step.step_number == 1:
            step.message_list.remove_by_ids(step.message_list.ids)
            step.message_list.add(self._messages)
        return self._messages if self._where == "step" and step.step_number == 1 else None


def at_step_1(result: dict[str, Any]) -> Callable[[StepArguments], Any]:
    return lambda step: result if step.step_number == 1 else None


def rewriting(messages: Messages) -> Callable[[InvokeModelContext], InvokeModelContext | None]:
    def reword(context: InvokeModelContext) -> InvokeModelContext | None:
        if context.step_number != 1:
            return None
        return attrs.evolve(context, request=attrs.evolve(context.request, prompt=messages))

    return reword


def around(messages: Messages) -> Any:
    async def reword(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        return await call_next(rewriting(messages)(context) or context)

    return reword


def begins_with(messages: Messages) -> Callable[[AgentStreamContext], AgentStreamContext]:
    return lambda context: attrs.evolve(context, messages=messages)


# Each place: what an agent has, what a call is given, the path of its messages, and who returned them when.
SOURCES: Final[dict[str, tuple[Made, str, str | None, int | None]]] = {
    "history": (lambda bad: ({}, {"messages": bad}), "$.messages", None, None),
    "prepare_call": (
        lambda bad: ({"prepare_call": lambda _: {"messages": bad}}, {"prompt": "u"}),
        "$.messages",
        "prepare_call",
        None,
    ),
    "process_input": (
        lambda bad: ({"input_processors": [Returning(bad, where="input")]}, {"prompt": "u"}),
        "$.messages",
        "p",
        None,
    ),
    "messages": (
        lambda bad: ({"prepare_step": at_step_1({"messages": bad})}, {"prompt": "u"}),
        "$.messages",
        "prepare_step",
        1,
    ),
    "lasting_messages": (
        lambda bad: ({"prepare_step": at_step_1({"lasting_messages": bad})}, {"prompt": "u"}),
        "$.lasting_messages",
        "prepare_step",
        1,
    ),
    "a processor": (
        lambda bad: ({"input_processors": [Returning(bad, where="step")]}, {"prompt": "u"}),
        "$.messages",
        "p",
        1,
    ),
    "a message list": (
        lambda bad: ({"input_processors": [Returning(bad, where="list")]}, {"prompt": "u"}),
        "$.messages",
        "p",
        1,
    ),
    "an input handler": (
        lambda bad: ({"middleware": [InvokeModelStage.input(rewriting(bad))]}, {"prompt": "u"}),
        "$.prompt",
        "middleware reword",
        1,
    ),
    "a wrap": (
        lambda bad: ({"middleware": [InvokeModelStage.wrap(around(bad))]}, {"prompt": "u"}),
        "$.prompt",
        "middleware reword",
        1,
    ),
    "a handler of the call": (
        lambda bad: ({"middleware": [AgentStreamStage.input(begins_with(bad))]}, {"prompt": "u"}),
        "$.messages",
        None,
        None,
    ),
}


def model_of() -> ScriptedModel:
    """A model that has a tool called in its first step."""
    return scripted([call("add", "first", a=1)], text())


def agent_of(model: ScriptedModel, fields: dict[str, Any]) -> Agent[None]:
    return Agent(model, tools=[add], **fields)


def with_path(path: str, messages: str) -> str:
    return messages + path.removeprefix("$.messages")


@states(Difference.PROMPTS_VALIDATED)
@BOTH
@pytest.mark.parametrize("source", SOURCES)
async def test_what_providers_refuse_is_refused_wherever_the_messages_come_from(
    source: str, path: str
) -> None:
    made, where, returned_by, step_number = SOURCES[source]
    asked_before = 1 if step_number == 1 else 0
    for name, (messages, rule, place, call_id) in REFUSED.items():
        model = model_of()
        fields, given = made(messages)
        with pytest.raises(AgentError) as failed:
            await run_by(path, agent_of(model, fields), **given)
        error = failed.value.__cause__
        assert isinstance(error, (RefusedPromptError, MissingToolResultsError)), name
        # System messages that hooks return are instructions, and stand elsewhere.
        if SYSTEM not in messages:
            assert error.path == with_path(place, where), name
        assert (error.returned_by, error.step_number) == (returned_by, step_number), name
        if isinstance(error, RefusedPromptError):
            assert (error.rule, error.tool_call_id) == (rule.value, call_id), name
        else:
            assert (rule, error.tool_call_ids) == (Rule.PROMPT_MISSING_RESULTS, (call_id,)), name
        assert len(model.calls) == len(failed.value.run.steps) == asked_before, name
        said = str(failed.value)
        is_before = failed.value.step_number is None
        assert is_before == (source == "process_input" and {*map(type, messages)} == {type(SYSTEM)}), name
        begins = "before the steps" if is_before else f"step {asked_before}"
        assert said.startswith(f"{begins}: {type(error).__name__}: {error.path}: "), name
        assert said.count("step ") + said.count("before the steps:") == 1, name
        assert said.count(f"(returned by {returned_by}") == (returned_by is not None), name


@pytest.mark.parametrize("source", SOURCES)
async def test_what_providers_take_is_sent_wherever_the_messages_come_from(source: str) -> None:
    made, _, _, step_number = SOURCES[source]
    for name, messages in TAKEN.items():
        model = model_of()
        fields, given = made(messages)
        await run_by("generate", agent_of(model, fields), **given)
        assert len(model.calls) == 2, name
        if step_number == 1 and SYSTEM not in messages:
            assert model.calls[1].prompt[-1].role == messages[-1].role or messages[-1].role == "tool", name


@BOTH
@pytest.mark.parametrize("source", SOURCES)
async def test_without_validation_all_of_it_is_sent_but_calls_without_results(source: str, path: str) -> None:
    made = SOURCES[source][0]
    is_rewritten = SOURCES[source][1] == "$.prompt"
    for name, (messages, rule, *_) in REFUSED.items():
        if source == "process_input" and {*map(type, messages)} == {type(SYSTEM)}:
            continue  # a run of no messages does not start
        model = model_of()
        fields, given = made(messages)
        agent = agent_of(model, {**fields, "validate_prompt": False})
        if rule is Rule.PROMPT_MISSING_RESULTS and not is_rewritten:
            with pytest.raises(AgentError, match="MissingToolResultsError"):
                await run_by(path, agent, **given)
        else:
            await run_by(path, agent, **given)
            assert len(model.calls) == 2, name


# ---------------------------------------------------------------- who returned them, and when


async def test_a_lasting_edit_that_shows_later_is_named_with_its_own_step() -> None:
    def hook(step: StepArguments) -> Any:
        if step.step_number == 1:
            return {"lasting_messages": [UserMessage("u"), results("c")], "messages": step.messages}
        return {"messages": [UserMessage("hides it")]} if step.step_number == 2 else None

    model = scripted(*([call("add", name, a=1)] for name in "abc"), text())
    with pytest.raises(AgentError) as failed:
        await Agent(model, tools=[add], prepare_step=hook).generate("u")
    error = failed.value.__cause__
    assert isinstance(error, RefusedPromptError)
    assert (error.path, error.returned_by, error.step_number) == (
        "$.messages[1].content[0]",
        "prepare_step",
        1,
    )
    assert str(failed.value).startswith("step 3: RefusedPromptError: ")
    assert str(failed.value).endswith("(returned by prepare_step at step 1)")


async def test_the_last_of_the_processors_that_returned_messages_is_named() -> None:
    class First(Returning):
        id = "first"

    class Last(Returning):
        id = "last"

    class Idle:
        id = "idle"

        def process_input_step(self, _: StepArguments) -> Any:
            return {"tool_choice": "auto"}

        def process_input(self, _: InputArguments) -> Any:
            return {"system": "s"}

    bad: Messages = [UserMessage("u"), results("c")]
    for where in ("input", "step"):
        processors: list[Any] = [First([UserMessage("v")], where=where), Last(bad, where=where), Idle()]
        with pytest.raises(AgentError) as failed:
            await Agent(model_of(), tools=[add], input_processors=processors).generate("u")
        error = failed.value.__cause__
        assert isinstance(error, RefusedPromptError)
        assert error.returned_by == "last"


async def test_a_processor_that_returned_no_messages_is_not_named() -> None:
    class Instructs:
        id = "instructs"

        def process_input(self, _: InputArguments) -> Any:
            return {"system": "s"}

    with pytest.raises(AgentError) as failed:
        await Agent(model_of(), tools=[add], input_processors=[Instructs()]).generate([results("c")])
    assert "returned by" not in str(failed.value)


async def test_what_the_model_itself_said_is_no_hook_s_fault() -> None:
    class Edits(Returning):
        id = "edits"

    twice = [call("add", "c", a=1), call("add", "c", a=2)]
    every: list[dict[str, Any]] = [
        {"input_processors": [Edits([UserMessage("v")], where="input")]},
        {"prepare_step": lambda s: {"lasting_messages": s.messages} if s.step_number == 0 else None},
        {"prepare_call": lambda _: {"messages": [UserMessage("v")]}},
        {},
    ]
    for fields in every:
        agent = Agent(scripted(twice, text()), tools=[add])
        with pytest.raises(AgentError) as failed:
            await attrs.evolve(agent, **fields).generate("u")
        error = failed.value.__cause__
        assert isinstance(error, RefusedPromptError)
        assert (error.path, error.returned_by) == ("$.messages[1].content[1]", None)
        assert len(failed.value.run.steps) == 1


async def test_messages_of_a_fork_were_returned_by_nobody() -> None:
    agent = Agent(scripted([call("add", "a", a=1)], text()), tools=[add])
    run = (await agent.generate("u")).run
    other = fork(run, 1, messages=[UserMessage("u"), results("c")])
    with pytest.raises(AgentError) as failed:
        await agent.resume(other)
    error = failed.value.__cause__
    assert isinstance(error, RefusedPromptError)
    assert (error.path, error.returned_by) == ("$.messages[1].content[0]", None)


async def test_prepare_call_is_not_named_for_messages_that_it_did_not_return() -> None:
    def only_more_steps(arguments: CallArguments) -> dict[str, Any]:
        return {"name": arguments.agent.name}

    with pytest.raises(AgentError) as failed:
        await Agent(model_of(), tools=[add], prepare_call=only_more_steps).generate([results("c")])
    assert "returned by" not in str(failed.value)


# ---------------------------------------------------------------- middleware


@pytest.mark.parametrize("begins_alike", [True, False])
async def test_a_fault_in_what_middleware_adds_has_its_place_in_the_request(*, begins_alike: bool) -> None:
    def add_orphan(context: InvokeModelContext) -> InvokeModelContext:
        prompt = [*context.request.prompt, UserMessage("x"), results("c")]
        if not begins_alike:
            prompt = [UserMessage("other"), *prompt]
        return attrs.evolve(context, request=attrs.evolve(context.request, prompt=prompt))

    agent = Agent(model_of(), tools=[add], system="s", middleware=[InvokeModelStage.input(add_orphan)])
    with pytest.raises(AgentError) as failed:
        await agent.generate("u")
    assert failed.value.path == f"$.prompt[{3 if begins_alike else 4}].content[0]"


async def test_middleware_may_add_results_to_a_round_and_calls_that_waited_stay_excused() -> None:
    def note(context: InvokeModelContext) -> InvokeModelContext:
        more: Messages = [calls("x"), results("x"), UserMessage("go on")]
        request = attrs.evolve(context.request, prompt=[*context.request.prompt, *more])
        return attrs.evolve(context, request=request)

    def first(context: InvokeModelContext) -> InvokeModelContext:
        request = attrs.evolve(context.request, prompt=[UserMessage("!"), *context.request.prompt])
        return attrs.evolve(context, request=request)

    for handler in (note, first):
        model = scripted(text())
        agent = Agent(model, middleware=[InvokeModelStage.input(handler)])
        await agent.generate(TAKEN["an approved call whose answer comes late"])
        assert len(model.calls) == 1


@BOTH
async def test_a_handler_may_answer_itself_what_no_model_could_be_asked(path: str) -> None:
    async def says_so(context: AgentStreamContext, call_next: CallAgent) -> AgentResult[Any]:
        if context.messages[-1].content == "":
            return context.answered("Say something.")
        return await call_next(context)

    agent = Agent(scripted(text()), middleware=[AgentStreamStage.wrap(says_so)])
    empty = await run_by(path, agent, "")
    assert (empty.text, empty.run.settings.validate_prompt) == ("Say something.", False)
    said = await run_by(path, agent, "hi")
    assert (said.text, said.run.settings.validate_prompt) == ("done", True)


async def test_a_model_that_takes_the_place_of_one_that_holds_the_history_is_sent_no_orphan() -> None:
    other = scripted(text(), model_id="other")

    def use_other(context: InvokeModelContext) -> InvokeModelContext:
        return attrs.evolve(context, model=other)

    holding = scripted(text(), holds_history=True)
    agent = Agent(holding, middleware=[InvokeModelStage.input(use_other)])
    with pytest.raises(AgentError) as failed:
        await agent.generate([results("c")])
    assert failed.value.path == "$.prompt[0].content[0]"
    assert len(other.calls) == 0


# ---------------------------------------------------------------- models that hold the history


def held(*, holds_history: bool, model_id: str = "m") -> ScriptedModel:
    return scripted([call("add", "a", a=1)], text(), model_id=model_id, holds_history=holds_history)


@states(Rule.PROMPT_HISTORY_ELSEWHERE)
async def test_a_model_that_holds_the_history_is_sent_results_of_its_calls_and_an_empty_prompt() -> None:
    only_new = Agent(
        held(holds_history=True),
        tools=[add],
        prepare_step=lambda step: {"messages": step.messages[-1:] if step.step_number else []},
    )
    result = await only_new.generate("u")
    assert [[message.role for message in step.prompt] for step in result.steps] == [[], ["tool"]]


class Naming:
    """A processor that names a model, by its id or as it is."""

    id = "naming"

    def __init__(self, model: Any) -> None:
        self._model = model

    def process_input_step(self, _: StepArguments) -> Any:
        return {"model": self._model, "messages": [results("c")]}


@pytest.mark.parametrize("holds", [True, False])
async def test_what_counts_is_the_model_that_the_step_asks(*, holds: bool) -> None:
    asked, other = (
        held(holds_history=holds, model_id="asked"),
        held(holds_history=not holds, model_id="other"),
    )
    for named in (asked, "asked"):
        agent = Agent(other, models=[asked], tools=[add], input_processors=[Naming(named)])
        if holds:
            await agent.generate("u")
            assert asked.calls
        else:
            with pytest.raises(AgentError, match="the result of tool call 'c'"):
                await agent.generate("u")
    back = Agent(asked, tools=[add], input_processors=[Naming("asked")])
    if holds:
        await back.generate("u")
    else:
        with pytest.raises(AgentError, match="result of tool call"):
            await back.generate("u")


async def test_a_model_that_says_nothing_of_it_holds_nothing() -> None:
    class Plain:
        provider = "p"
        model_id = "plain"
        inner = scripted(text())

        def __init__(self) -> None:
            self.generate = self.inner.generate
            self.stream = self.inner.stream

    with pytest.raises(AgentError, match="result of tool call"):
        await Agent(Plain()).generate([results("c")])


# ---------------------------------------------------------------- a setting of the run


BAD: Final[Messages] = [UserMessage("u"), results("c")]


async def test_one_call_may_send_what_the_agent_refuses_and_the_other_way_round() -> None:
    careful, careless = Agent(scripted(text())), Agent(scripted(text()), validate_prompt=False)
    await careful.generate(BAD, validate_prompt=False)
    with pytest.raises(AgentError):
        await careful.generate(BAD)
    with pytest.raises(AgentError):
        await careless.generate(BAD, validate_prompt=True)
    async with careful.stream(BAD, validate_prompt=False) as stream:
        assert [event async for event in stream]


def by_call(arguments: CallArguments) -> dict[str, Any]:
    return {"validate_prompt": not arguments.agent.validate_prompt}


async def test_prepare_call_may_turn_it_off() -> None:
    await Agent(scripted(text()), prepare_call=by_call).generate(BAD)


def test_it_is_on_or_off() -> None:
    with pytest.raises(TypeError):
        Agent(scripted(), validate_prompt=None)  # type: ignore[arg-type]


async def test_a_run_that_goes_on_keeps_what_it_began_with_and_a_fork_may_change_it() -> None:
    broken = scripted(ValueError("down"), text())
    with pytest.raises(AgentError) as failed:
        await Agent(broken, validate_prompt=False).generate(BAD)
    run = failed.value.run
    for again in (run, from_json(thaw(to_json(run)))):
        assert again.settings.validate_prompt is False
        await Agent(scripted(text())).resume(again)
    with pytest.raises(AgentError) as refused:
        await Agent(scripted(text())).generate(BAD)
    saved = from_json(thaw(to_json(refused.value.run)))
    with pytest.raises(AgentError):
        await Agent(scripted(text()), validate_prompt=False).resume(saved)
    settings = attrs.evolve(saved.settings, validate_prompt=False)
    await Agent(scripted(text())).resume(fork(saved, 0, settings=settings))


async def test_a_run_of_a_model_that_holds_the_history_is_saved_as_such() -> None:
    result = await Agent(held(holds_history=True), tools=[add]).generate(BAD)
    assert from_json(thaw(to_json(result.run))) == result.run
    named = held(holds_history=True, model_id="n")
    other = Agent(held(holds_history=False), tools=[add], input_processors=[Naming(named)])
    run = (await other.generate("u")).run
    assert from_json(thaw(to_json(run))) == run


async def test_a_run_that_was_saved_without_the_setting_sends_its_prompts_as_they_are() -> None:
    result = await Agent(scripted(text()), validate_prompt=False).generate(BAD)
    saved = thaw(to_json(result.run))
    del saved["settings"]["validatePrompt"], saved["settings"]["holdsHistory"]
    assert from_json(saved) == result.run


# ---------------------------------------------------------------- cost


def messages_read(history: Iterable[Message], hook: dict[str, Any]) -> list[int]:
    """How many messages are read for each step, the history with the first."""
    counts = [0]

    after = chains._rounds_after

    def counting(state: PromptState, read: Sequence[Any]) -> Rounds:
        counts[-1] += len(read)
        return after(state, read)

    def finished(_: object) -> None:
        counts.append(0)

    answers = [[call("add", f"s{number}", a=1)] for number in range(5)]
    agent = Agent(scripted(*answers, text()), tools=[add], on_step_finish=finished, **hook)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chains, "_rounds_after", counting)
        anyio.run(lambda: agent.generate(messages=history))
    return counts


def reminding(context: InvokeModelContext) -> InvokeModelContext:
    request = attrs.evolve(context.request, prompt=[*context.request.prompt, UserMessage("!")])
    return attrs.evolve(context, request=request)


@pytest.mark.parametrize(
    "hook",
    [
        {},
        {"prepare_step": lambda step: {"messages": [*step.messages, UserMessage("!")]}},
        {"middleware": [InvokeModelStage.input(reminding)]},
    ],
    ids=["no hook", "prepare_step", "middleware"],
)
def test_to_look_at_a_prompt_costs_what_is_new_whatever_the_history(
    hook: dict[str, Any],
) -> None:
    rounds = [
        each
        for number in range(700)
        for each in (UserMessage("u"), calls(f"h{number}"), results(f"h{number}"))
    ]
    short = messages_read(rounds[:3], hook)
    long = messages_read(vector(rounds), hook)
    assert long[1:] == short[1:]
    assert long[0] - short[0] == len(rounds) - 3
